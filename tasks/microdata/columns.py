"""Columns other than quasi-identifiers, in integer form: those others may know, and those that are sensitive."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tasks.core.errors import DataError, row_positions
from tasks.microdata.coded import CodedColumn
from tasks.request.model import ReleaseRequest, Role, SensitivityWeights, ValueType

UNKNOWN = 0.0
KNOWN = 1.0


def known_probabilities(request: ReleaseRequest) -> dict[str, float]:
    """Probability that each outbound attribute is publicly known of a person.

    Where the request does not say, a quasi-identifier is known and nothing else is.
    """
    default = {Role.QUASI: KNOWN}
    return {
        name: attribute.known_probability
        if attribute.known_probability is not None
        else default.get(attribute.role, UNKNOWN)
        for name, attribute in request.attributes.items()
        if attribute.role is not Role.DIRECT
    }


def sensitivities(request: ReleaseRequest) -> dict[str, SensitivityWeights]:
    """Weights of the sensitive attributes; all 1 where the request does not say."""
    return {
        name: attribute.sensitivity or SensitivityWeights()
        for name, attribute in request.attributes.items()
        if attribute.role is Role.SENSITIVE
    }


def absent_values(frame: pd.DataFrame, request: ReleaseRequest) -> tuple[str, ...]:
    """One sentence for each sensitive column with weights for values that no record has, as misspelt ones would be."""
    return tuple(
        f"sensitivity.values ({name}) weighs {absent} of {len(given.values)} values that no record has"
        for name, given in sensitivities(request).items()
        if (absent := len(given.values.keys() - set(frame[name].dropna().unique())))
    )


def code_columns(frame: pd.DataFrame, request: ReleaseRequest) -> dict[str, CodedColumn]:
    """Code the columns other than quasi-identifiers that are counted or weighted, or that an intruder holds.

    Those are what the combined score needs, what the intruder of record linkage knows, and what k-anonymity makes
    demands of.

    Parameters
    ----------
    frame : DataFrame
        Text columns, missing cells as NA.
    request : ReleaseRequest

    Raises
    ------
    DataError
        If a column whose order counts has values without one.
    """
    weighed, ordered = weighed_attributes(request), ordered_attributes(request)
    return {
        name: code_column(
            frame[name],
            weighed.get(name),
            order=order_of(frame[name], request.attributes[name].type) if name in ordered else None,
        )
        for name in coded_attributes(request)
    }


def coded_attributes(request: ReleaseRequest) -> tuple[str, ...]:
    """Names of the columns that ``code_columns`` codes, in the order of the request."""
    known = {name for name, probability in known_probabilities(request).items() if probability > 0}
    demands = request.policy.generalization.k_anonymity
    demanded = {one.attribute for _, _, one in demands.of_attributes} if demands else set[str]()
    wanted = known.union(weighed_attributes(request), request.policy.linkage.known or (), demanded)
    wanted -= set(request.quasi_identifiers)
    return tuple(name for name in request.attributes if name in wanted)


def weighed_attributes(request: ReleaseRequest) -> dict[str, SensitivityWeights]:
    """Weights of the sensitive attributes that weigh anything."""
    return {name: given for name, given in sensitivities(request).items() if given.attribute > 0}


def ordered_attributes(request: ReleaseRequest) -> frozenset[str]:
    """Names of the attributes whose order counts, by which their codes grow."""
    demands = request.policy.generalization.k_anonymity
    return frozenset(one.attribute for one in demands.closeness if one.ordered) if demands else frozenset()


def code_column(
    values: pd.Series, sensitivity: SensitivityWeights | None, *, order: NDArray[np.float64] | None = None
) -> CodedColumn:
    """Code one column of text and weigh its values.

    Parameters
    ----------
    values : Series
    sensitivity : Sensitivity or None
    order : array of shape (n_records,), optional
        Place of each record's value, by which the codes are to grow; they grow by first appearance where not given.
    """
    codes, levels = pd.factorize(values)
    places = None
    if order is not None:
        first = np.unique(codes, return_index=True)[1][-len(levels) :] if len(levels) else np.zeros(0, dtype=np.intp)
        places = order[first]
    return weighed_column(codes, levels, sensitivity, places)


def weighed_column(
    codes: NDArray[np.integer],
    levels: pd.Index,
    sensitivity: SensitivityWeights | None,
    places: NDArray[np.float64] | None = None,
) -> CodedColumn:
    """A column whose values are numbered already.

    Parameters
    ----------
    codes : array of shape (n_records,)
        Position of each record's value in ``levels``; −1 where it is missing.
    levels : Index
        Distinct values, in order of appearance.
    sensitivity : Sensitivity or None
    places : array of shape (n_levels,), optional
        Place of each value, by which the codes are to grow.
    """
    if places is not None:
        sequence = np.argsort(places, kind="stable")
        place = np.append(np.argsort(sequence), -1)
        codes, levels = place[codes], levels[sequence]
    numbers = np.where(codes < 0, len(levels), codes)
    weights = np.zeros(len(levels) + 1)
    if sensitivity is not None:
        weights[:-1] = [
            sensitivity.attribute * sensitivity.values.get(str(level), sensitivity.default) for level in levels
        ]
    return CodedColumn(numbers.astype(np.min_scalar_type(len(levels))), weights)


def order_of(values: pd.Series, kind: ValueType) -> NDArray[np.float64]:
    """Place of each value among numbers or dates, missing values last.

    Raises
    ------
    DataError
        If a value is neither, or the column is of text.
    """
    held = values.notna().to_numpy(dtype=np.bool_)
    place = np.full(len(values), np.inf)
    if kind is ValueType.DATE:
        dates = pd.to_datetime(values[held].astype(object), format="ISO8601", errors="coerce", utc=True)
        found = dates.to_numpy(dtype="datetime64[ns]").astype(np.int64).astype(np.float64)
        place[held] = np.where(dates.isna(), np.nan, found)
    elif kind is not ValueType.TEXT:
        place[held] = pd.to_numeric(values[held].astype(object), errors="coerce").to_numpy(dtype=np.float64)
    else:
        place[held] = np.nan
    unplaced = np.flatnonzero(np.isnan(place))
    if len(unplaced):
        raise DataError(
            "closeness of ordered values is demanded of a column that has no order",
            where=f"column {values.name}, {row_positions(unplaced)}",
            expected="an attribute of type integer, number or date, and such values",
            got=f"type {kind.value}, {len(unplaced)} values without a place",
            fix="give the attribute its type and correct the values, or leave “ordered” out",
        )
    return place

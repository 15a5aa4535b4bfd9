"""Records as feature matrices for clusterings and classifiers, and a sample of the records where they are many."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.preprocessing import OneHotEncoder

from tasks.assessments.utility.numeric_change import Floats, check_squarable, varies
from tasks.candidate.candidate import Candidate
from tasks.core.errors import ParameterError
from tasks.request.model import ValueType

CATEGORIES = 12
"""Indicator columns that a categorical attribute takes at most, the one for all other values included."""
_LARGEST = 1e15


@dataclass(frozen=True)
class Features:
    """Records as points: standardised numbers first, then 0/1 indicators of categories."""

    matrix: Floats
    """Array of shape (n_records, n_features)."""
    n_numeric: int
    """Leading columns that are numeric."""


def features(
    numeric: Mapping[str, NDArray[np.number]],
    categorical: Mapping[str, NDArray[np.integer]],
    *,
    scaled_as: Mapping[str, NDArray[np.number]] | None = None,
    categories: int = CATEGORIES,
) -> Features:
    """Feature matrix of named columns.

    Parameters
    ----------
    numeric : mapping of str to array of shape (n_records,)
        Less their mean and over their standard deviation; a column that does not vary becomes 0.
    categorical : mapping of str to array of int, shape (n_records,)
        Codes of values or of released groups; a missing value is a code of its own. One indicator a code.
    scaled_as : mapping of str to array, optional
        Columns whose mean and standard deviation are used in place of the numeric columns' own, so that two versions
        of a file share one scale.
    categories : int
        Indicators that a categorical column takes at most, from 2: where it has more codes, the rarest share one.

    Raises
    ------
    ParameterError
        If there are no columns or no records, a number is missing, infinite or too large to be squared, or a number of
        the one version is more than 1e15 standard deviations of the other away.
    """
    if not any(len(column) for column in (*numeric.values(), *categorical.values())):
        raise ParameterError(
            "there is nothing to make features of",
            where="columns",
            expected="at least one column with a record",
            got="none",
            fix="release more attributes or records",
        )
    parts = []
    for name, column in numeric.items():
        scale = np.asarray((scaled_as or numeric)[name], dtype=np.float64)
        check_squarable(name, np.asarray(column, dtype=np.float64))
        check_squarable(name, scale)
        part = (column - scale.mean()) / scale.std() if varies(scale) else np.zeros(len(column))
        if not (np.abs(part) <= _LARGEST).all():
            raise ParameterError(
                "a number is too far from those it is compared with",
                where=name,
                expected="numbers within 1e15 standard deviations",
                got="others",
                fix="mask the attribute less",
            )
        parts.append(part)
    encoder = OneHotEncoder(max_categories=categories, sparse_output=False, dtype=np.float64)
    parts += [encoder.fit_transform(codes[:, None]) for codes in categorical.values()]
    return Features(np.column_stack(parts), len(numeric))


def both_versions(
    candidate: Candidate, rows: NDArray[np.intp], without: str | None = None
) -> tuple[Features, Features]:
    """Some records as features, original and released: groups and values as categories, numbers as they are.

    Where a masked number is missing it is the mean of the others, and whether it is missing a category.

    Raises ParameterError where ``features`` does.
    """
    request, columns = candidate.request, candidate.masked
    tuples = candidate.prepared.tuple_of_record[rows]
    numbers: dict[str, tuple[Floats, Floats]] = {}
    codes: dict[str, tuple[NDArray[np.integer], NDArray[np.integer]]] = {}
    for name in request.outbound:
        if name == without:
            continue
        if name in columns.names:
            place = columns.names.index(name)
            numbers[name] = columns.original[rows, place], columns.masked[rows, place]
            absent = np.isnan(numbers[name][0])
            if absent.any():
                before, after = (np.where(absent, _mean(side[~absent]), side) for side in numbers[name])
                numbers[name] = before, after
                codes[f"{name} is missing"] = absent.astype(np.int64), absent.astype(np.int64)
        elif name in request.quasi_identifiers:
            axis = request.quasi_identifiers.index(name)
            codes[name] = candidate.prepared.data.codes[tuples, axis], candidate.generalization.cells[tuples, axis]
        else:
            text = candidate.frame[name].iloc[rows].astype("str")
            if request.attributes[name].type in (ValueType.INTEGER, ValueType.NUMBER):
                values = pd.to_numeric(text, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
                if np.isfinite(values).all():
                    numbers[name] = values, values
                    continue
            found = pd.factorize(text)[0].astype(np.int64) + 1
            codes[name] = found, found
    first, second = ({name: pair[side] for name, pair in numbers.items()} for side in (0, 1))
    return (
        features(first, {name: pair[0] for name, pair in codes.items()}),
        features(second, {name: pair[1] for name, pair in codes.items()}, scaled_as=first),
    )


def _mean(values: Floats) -> float:
    """Mean of some values; 0 of none."""
    return float(values.mean()) if len(values) else 0.0


def sample(n_records: int, at_most: int, generator: np.random.Generator) -> NDArray[np.intp]:
    """Positions of a simple random sample of the records, growing; all of them where they are few enough.

    Nothing is drawn where all records are taken.
    """
    if n_records <= at_most:
        return np.arange(n_records)
    return np.sort(generator.choice(n_records, size=at_most, replace=False, shuffle=False))

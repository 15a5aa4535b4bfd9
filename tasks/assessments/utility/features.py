"""Columns as a feature matrix for clusterings and classifiers, and a sample of the records where they are many."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import OneHotEncoder

from tasks.assessments.utility.checks import Floats, Ints, checked_codes, checked_numbers, refused, varies

CATEGORIES = 12
"""Indicator columns that a categorical attribute takes at most, the one for all other values included."""


@dataclass(frozen=True)
class Pooled:
    """Values of an attribute too rare for an indicator of their own."""

    name: str
    values: int
    records: int


@dataclass(frozen=True)
class Features:
    """Records as points: standardised numbers first, then 0/1 indicators of categories."""

    matrix: Floats
    """Array of shape (n_records, n_features)."""
    n_numeric: int
    """Leading columns that are numeric."""
    pooled: tuple[Pooled, ...] = ()
    """Attributes with values that share the indicator “other”."""


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
        If there are no columns or no records, columns differ in length, a number is missing or not finite, codes are
        not whole numbers, ``scaled_as`` lacks a column, or ``categories`` is below 2.
    """
    if categories < 2:
        raise refused("the number of indicators is outside its range", "categories", "from 2", str(categories))
    n_records = len(next(iter({**numeric, **categorical}.values()), ()))
    if n_records == 0:
        raise refused("there is nothing to make features of", "columns", "at least one column with a record", "none")
    parts = [_standardised(name, column, n_records, scaled_as) for name, column in numeric.items()]
    pooled = []
    for name, column in categorical.items():
        codes = checked_codes(column, n_records, name)
        indicators, rare = _indicators(name, codes, categories)
        parts.append(indicators)
        # The encoder calls the rarest of exactly as many codes as allowed infrequent too; alone, it shares nothing.
        pooled += [rare] if rare.values > 1 else []
    return Features(np.column_stack(parts), len(numeric), tuple(pooled))


def sample(n_records: int, at_most: int, generator: np.random.Generator) -> NDArray[np.intp]:
    """Positions of a simple random sample of the records, growing; all of them where they are few enough.

    Parameters
    ----------
    n_records : int
    at_most : int
        Records to draw, from 1.
    generator : numpy.random.Generator
        Not used where all records are taken.

    Raises
    ------
    ParameterError
        If there are no records or none is to be drawn.
    """
    if n_records < 1 or at_most < 1:
        raise refused(
            "there is nothing to draw", "sample", "records and a size from 1", f"{at_most} of {n_records} records"
        )
    if n_records <= at_most:
        return np.arange(n_records)
    return np.sort(generator.choice(n_records, size=at_most, replace=False, shuffle=False))


def _standardised(
    name: str, column: NDArray[np.number], n_records: int, scaled_as: Mapping[str, NDArray[np.number]] | None
) -> Floats:
    values = _column(name, column)
    if len(values) != n_records:
        raise refused("a column does not fit the others", name, f"{n_records} records", f"{len(values)}")
    if scaled_as is not None and name not in scaled_as:
        raise refused("a column has no scale", name, "a column of that name in scaled_as", "none")
    scale = values if scaled_as is None else _column(name, scaled_as[name])
    if not varies(scale):
        return np.zeros(n_records)
    standardised: Floats = (values - scale.mean()) / scale.std()
    return standardised


def _column(name: str, column: NDArray[np.number]) -> Floats:
    values = np.asarray(column)
    return checked_numbers(values[:, None] if values.ndim == 1 else values, (name,), "numeric columns")[:, 0]


def _indicators(name: str, codes: Ints, categories: int) -> tuple[Floats, Pooled]:
    encoder = OneHotEncoder(max_categories=categories, sparse_output=False, dtype=np.float64)
    indicators: Floats = encoder.fit_transform(codes[:, None])
    rare = encoder.infrequent_categories_[0]
    values = np.empty(0, dtype=np.int64) if rare is None else rare
    return indicators, Pooled(name, len(values), int(np.isin(codes, values).sum()))

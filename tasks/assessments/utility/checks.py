"""Checks of the inputs of every utility measure; no message holds a data value."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tasks.core.errors import ParameterError, row_positions

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_LARGEST_TO_SQUARE = 1e140
_LARGEST_FEATURE = 1e15


def checked_numbers(values: ArrayLike, names: Sequence[str], where: str) -> Floats:
    """A table of numbers, or a refusal.

    Parameters
    ----------
    values : array_like of shape (n_records, n_attributes)
        Whole or floating-point numbers.
    names : sequence of str, length n_attributes
    where : str
        Name of the table, for messages.

    Raises
    ------
    ParameterError
        If the table is empty, not two-dimensional or not numeric, if the names do not fit, or if a value is missing,
        infinite or beyond ±1e140, whose square is not a number.
    """
    given = np.asarray(values)
    if given.dtype.kind not in "iuf":
        raise refused("the values are not numbers", where, "whole or floating-point numbers", "another type of value")
    if given.ndim != 2 or 0 in given.shape:
        raise refused(
            "there is nothing to compare",
            where,
            "a table of at least one record and one attribute",
            f"an array of shape {given.shape}",
        )
    if given.shape[1] != len(names):
        raise refused("the names do not fit the table", where, f"{given.shape[1]} names", f"{len(names)}")
    numbers = np.asarray(given, dtype=np.float64)
    for name, column in zip(names, numbers.T, strict=True):
        with np.errstate(invalid="ignore"):
            wrong = np.flatnonzero(~(np.abs(column) <= _LARGEST_TO_SQUARE))
        if len(wrong):
            raise refused(
                "a value is missing, infinite or too large to be squared",
                f"{where}, {name}, {row_positions(wrong)}",
                "a number within ±1e140 in every record",
                f"{len(wrong)} without",
            )
    return numbers


def check_features(original: Floats, released: Floats) -> None:
    """Refuse two feature matrices that are not of the same records, or hold what no distance can be taken of."""
    if original.ndim != 2 or released.ndim != 2 or len(original) != len(released) or 0 in original.shape:
        raise refused(
            "the two files cannot be paired",
            "original and released features",
            "two tables of the same records",
            f"shapes {original.shape} and {released.shape}",
        )
    for where, matrix in (("original features", original), ("released features", released)):
        if not (np.abs(matrix) <= _LARGEST_FEATURE).all():
            raise refused("a feature is missing, infinite or too large", where, "numbers within ±1e15", "others")


def checked_codes(codes: ArrayLike, n_records: int, where: str) -> Ints:
    """Codes of one column as whole numbers, one a record, or a refusal."""
    given = np.asarray(codes)
    if given.dtype.kind not in "iu" or given.shape != (n_records,):
        raise refused(
            "the codes do not fit the records",
            where,
            f"a column of {n_records} whole numbers",
            f"an array of shape {given.shape} and type {given.dtype}",
        )
    return given.astype(np.int64)


def checked_counts(counts: ArrayLike, where: str, *, smallest: int = 0) -> Ints:
    """A vector of counts of at least ``smallest`` each that add up to something, or a refusal."""
    given = np.asarray(counts)
    if given.dtype.kind not in "iu" or given.ndim != 1 or given.size == 0 or given.min() < smallest or not given.any():
        raise refused(
            "the counts cannot be used",
            where,
            f"whole numbers from {smallest}, not all 0",
            f"an array of shape {given.shape} and type {given.dtype}, or other numbers",
        )
    return given.astype(np.int64)


def varies(column: Floats) -> bool:
    """Whether a column has a standard deviation: two values that differ, and by enough for a double to square."""
    with np.errstate(under="ignore"):
        return bool(column.min() < column.max() and column.std() > 0)


def refused(what: str, where: str, expected: str, got: str) -> ParameterError:
    """The error of a measure that cannot be taken."""
    return ParameterError(what, where=where, expected=expected, got=got, fix="correct the parameters or the data")

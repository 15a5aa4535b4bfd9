"""Records as codes with the sensitivity of their values: what the combined risk is computed from, checked."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tasks.errors import ParameterError, row_positions

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Column = NDArray[np.integer]
Sensitivities = Sequence[ArrayLike] | Floats


@dataclass(frozen=True)
class Sensitivity:
    """How sensitive an attribute's values are: by code, or record by record."""

    weights: Floats
    by_record: bool = False

    @property
    def present(self) -> bool:
        """Whether any value is sensitive at all."""
        return bool(self.weights.any())


@dataclass(frozen=True)
class CodedTable:
    """Rows of codes, column by column."""

    columns: tuple[Column, ...]
    """Codes of each attribute, each of shape (n_rows,), of the smallest type that holds them."""
    cardinalities: tuple[int, ...]
    counts: Integers | None
    """Records that each row stands for; None where each is one record."""
    sensitivities: tuple[Sensitivity, ...]

    def __len__(self) -> int:
        return len(self.columns[0])

    @property
    def records(self) -> int:
        """Records of all rows."""
        return len(self) if self.counts is None else int(self.counts.sum())

    def sensitivity(self, attribute: int, rows: slice | NDArray[np.integer]) -> Floats:
        """Weight W(A)·W(r(A)) of some rows."""
        own = self.sensitivities[attribute]
        found: Floats = own.weights[rows] if own.by_record else own.weights[self.columns[attribute][rows]]
        return found


def coded_table(
    codes: ArrayLike, cardinalities: Sequence[int], sensitivities: Sensitivities, counts: ArrayLike | None
) -> CodedTable:
    """Check records and weights and lay them out by column.

    Parameters
    ----------
    codes : array of int of shape (n_rows, n_attributes)
        Codes from 0, below the attribute's cardinality.
    cardinalities : sequence of int of length n_attributes
    sensitivities : sequence of n_attributes items, or array of float of shape (n_rows, n_attributes)
        Each item an array of W(A)·W(value) by code, or one number for all values; an array with the shape of
        ``codes`` holds the weight of each record. From 0 to 1.
    counts : array of int of shape (n_rows,), optional
        Records that each row stands for, from 1.

    Raises
    ------
    ParameterError
        If any of it has another shape or range; places are named, values are not.
    """
    rows = np.asarray(codes)
    if rows.ndim != 2 or 0 in rows.shape:
        raise _refused("codes", "at least one row and one column", f"an array of shape {rows.shape}")
    if rows.dtype.kind not in "iu":
        raise _refused("codes", "whole numbers", f"an array of {rows.dtype}")
    sizes = _checked_cardinalities(cardinalities, rows.shape[1])
    columns = tuple(_checked_column(rows[:, place], size, place) for place, size in enumerate(sizes))
    return CodedTable(
        columns=columns,
        cardinalities=sizes,
        counts=None if counts is None else _checked_counts(counts, len(rows)),
        sensitivities=_checked_sensitivities(sensitivities, rows.shape, sizes),
    )


def _checked_cardinalities(cardinalities: Sequence[int], attributes: int) -> tuple[int, ...]:
    sizes = np.asarray(cardinalities)
    if sizes.shape != (attributes,) or sizes.dtype.kind not in "iu" or (sizes < 1).any():
        raise _refused(
            "cardinalities",
            f"a whole number from 1 for each of the {attributes} columns",
            f"an array of {sizes.dtype}, shape {sizes.shape}",
        )
    return tuple(int(size) for size in sizes)


def _checked_column(column: Column, size: int, place: int) -> Column:
    if column.min() < 0 or column.max() >= size:
        wrong = np.flatnonzero((column < 0) | (column >= size))
        raise _refused(
            f"codes, column index {place}, {row_positions(wrong)}",
            "codes from 0 below the cardinality",
            f"{len(wrong)} others",
        )
    return np.ascontiguousarray(column, dtype=np.min_scalar_type(size - 1))


def _checked_counts(counts: ArrayLike, rows: int) -> Integers:
    records = np.asarray(counts)
    if records.shape != (rows,) or records.dtype.kind not in "iu":
        raise _refused(
            "counts",
            f"a whole number for each of the {rows} rows",
            f"an array of {records.dtype}, shape {records.shape}",
        )
    if records.min() < 1:
        wrong = np.flatnonzero(records < 1)
        raise _refused(f"counts, {row_positions(wrong)}", "at least one record a row", f"{len(wrong)} rows with less")
    return records.astype(np.int64)


def _checked_sensitivities(
    sensitivities: Sensitivities, shape: tuple[int, ...], sizes: tuple[int, ...]
) -> tuple[Sensitivity, ...]:
    if isinstance(sensitivities, np.ndarray) and sensitivities.ndim == 2:
        if sensitivities.shape != shape:
            raise _refused("sensitivities", f"the shape of the codes, {shape}", f"shape {sensitivities.shape}")
        return tuple(
            Sensitivity(_checked_weights(column, len(column), place), by_record=True)
            for place, column in enumerate(sensitivities.T)
        )
    if len(sensitivities) != len(sizes):
        raise _refused("sensitivities", f"one item for each of the {len(sizes)} columns", f"{len(sensitivities)}")
    return tuple(
        Sensitivity(_checked_weights(item, size, place))
        for place, (item, size) in enumerate(zip(sensitivities, sizes, strict=True))
    )


def _checked_weights(item: ArrayLike, length: int, place: int) -> Floats:
    where = f"sensitivities, column index {place}"
    try:
        weights = np.asarray(item, dtype=np.float64)
    except (TypeError, ValueError):
        raise _refused(where, "numbers", "something else") from None
    if weights.ndim == 0:
        weights = np.full(length, weights)
    if weights.shape != (length,):
        raise _refused(where, f"one number, or {length} of them", f"an array of shape {weights.shape}")
    wrong = ~((weights >= 0) & (weights <= 1))
    if wrong.any():
        raise _refused(where, "finite weights from 0 to 1", f"{int(wrong.sum())} outside")
    return weights


def _refused(where: str, expected: str, got: str) -> ParameterError:
    return ParameterError(
        "the combined risk cannot be computed from this input",
        where=where,
        expected=expected,
        got=got,
        fix="correct the input",
    )

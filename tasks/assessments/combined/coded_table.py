"""Records as codes with the sensitivity of their values: the checked input of the combined risk."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tasks.core.errors import ParameterError, row_positions

Floats = NDArray[np.float64]
Integers = NDArray[np.integer]
Sensitivities = Sequence[ArrayLike] | Floats
_BLOCK = 2**14
_MAXIMUM_CARDINALITY = 2**31
_MAXIMUM_RECORDS = 2**53


@dataclass(frozen=True)
class Sensitivity:
    """Sensitivity of an attribute's values: by code, or record by record."""

    weights: Floats
    by_record: bool = False

    @property
    def present(self) -> bool:
        """Whether any value is sensitive at all."""
        return bool(self.weights.any())


@dataclass(frozen=True)
class CodedTable:
    """Rows of codes, column by column."""

    columns: Mapping[int, Integers]
    """Codes of each attribute, shape (n_rows,), contiguous."""
    cardinalities: tuple[int, ...]
    sensitivities: tuple[Sensitivity, ...]
    counts: Integers | None
    """Records that each row stands for, shape (n_rows,); None where each is one record."""
    rows: int

    def __len__(self) -> int:
        return self.rows

    def number(self, rows: slice | Integers) -> int:
        """Number of rows that are chosen."""
        return len(range(*rows.indices(self.rows))) if isinstance(rows, slice) else len(rows)

    def cells(self, attributes: Iterable[int], rows: slice | Integers = slice(None)) -> NDArray[np.int32]:
        """Number of each row's combination of values, the last attribute fastest; must be below 2^31."""
        numbers = np.zeros(self.number(rows), dtype=np.int32)
        for attribute in attributes:
            numbers *= self.cardinalities[attribute]
            np.add(numbers, self.columns[attribute][rows], out=numbers, casting="same_kind")
        return numbers

    def sensitivity(self, attribute: int, rows: slice | Integers) -> Floats:
        """Weight W(A)·W(r(A)) of some rows."""
        own = self.sensitivities[attribute]
        if own.by_record:
            return own.weights[rows]
        found: Floats = np.take(own.weights, self.columns[attribute][rows])
        return found

    def leading(self, attribute: int) -> NDArray[np.uint16]:
        """Codes of an attribute, their last bits dropped so that 16 are left: a sort by them takes linear time."""
        spare = max((self.cardinalities[attribute] - 1).bit_length() - 16, 0)
        return (self.columns[attribute] >> spare).astype(np.uint16, copy=False)

    def reordered(self, order: NDArray[np.intp], attributes: Iterable[int]) -> "CodedTable":
        """The rows in another order, with some of the attributes."""
        own = {attribute: np.take(self.columns[attribute], order) for attribute in attributes}
        return CodedTable(
            columns=own,
            cardinalities=self.cardinalities,
            sensitivities=tuple(
                Sensitivity(given.weights[order], by_record=True) if given.by_record and place in own else given
                for place, given in enumerate(self.sensitivities)
            ),
            counts=None if self.counts is None else self.counts[order],
            rows=len(order),
        )


def counted(groups: Integers, size: int, counts: Integers | None, partitions: int) -> NDArray[np.int64]:
    """Records of each group, counted in parts of the rows and added up.

    Parameters
    ----------
    groups : array of int of shape (n_rows,)
        From 0, below ``size``.
    size : int
    counts : array of int of shape (n_rows,), optional
        Records of each row; one where not given.
    partitions : int
        From 1; the result does not depend on it.
    """
    total = np.zeros(0, dtype=np.int64)
    for part in range(partitions):
        rows = slice(part * len(groups) // partitions, (part + 1) * len(groups) // partitions)
        records = np.bincount(groups[rows], None if counts is None else counts[rows], size)
        total = records.astype(np.int64, copy=False) if part == 0 else total + records.astype(np.int64, copy=False)
    return total


def coded_table(
    codes: ArrayLike, cardinalities: Sequence[int], sensitivities: Sensitivities, counts: ArrayLike | None = None
) -> CodedTable:
    """Check records and weights, and lay them out by column.

    Parameters
    ----------
    codes : array of int of shape (n_rows, n_attributes)
        From 0, below the attribute's cardinality.
    cardinalities : sequence of int of length n_attributes
    sensitivities : sequence of n_attributes items, or array of float of shape (n_rows, n_attributes)
        Each item an array of W(A)·W(value) by code, or one number for all values; an array with the shape of
        ``codes`` holds the weight of each record. From 0 to 1.
    counts : array of int of shape (n_rows,), optional
        Records that each row stands for, from 1.

    Raises
    ------
    ParameterError
        If any of it has another shape or range; names places, never values.
    """
    rows = np.asarray(codes)
    if rows.ndim != 2 or 0 in rows.shape:
        raise _refused("codes", "at least one row and one column", f"an array of shape {rows.shape}")
    if rows.dtype.kind not in "iu":
        raise _refused("codes", "whole numbers", f"an array of {rows.dtype}")
    sizes = _checked_cardinalities(cardinalities, rows.shape[1])
    return CodedTable(
        columns=dict(enumerate(_checked_columns(rows, sizes))),
        cardinalities=sizes,
        sensitivities=_checked_sensitivities(sensitivities, rows.shape, sizes),
        counts=None if counts is None else _checked_counts(counts, len(rows)),
        rows=len(rows),
    )


def _checked_cardinalities(cardinalities: Sequence[int], attributes: int) -> tuple[int, ...]:
    sizes = np.asarray(cardinalities)
    if sizes.shape != (attributes,) or sizes.dtype.kind not in "iu" or sizes.min() < 1:
        raise _refused(
            "cardinalities",
            f"a whole number from 1 for each of the {attributes} columns",
            f"an array of {sizes.dtype}, shape {sizes.shape}",
        )
    if sizes.max() > _MAXIMUM_CARDINALITY:
        raise _refused(
            f"cardinalities, column index {int(sizes.argmax())}",
            f"at most {_MAXIMUM_CARDINALITY:,} different values",
            "more",
            fix="number the values afresh, from 0 without gaps",
        )
    return tuple(int(size) for size in sizes)


def _checked_columns(rows: Integers, sizes: tuple[int, ...]) -> Integers:
    """Codes by column in the smallest type that holds all, laid out block by block for the sake of memory."""
    unsigned = np.dtype(rows.dtype.str.replace("i", "u"))
    smallest = np.min_scalar_type(max(sizes) - 1)
    by_column = rows.T.flags.c_contiguous and rows.dtype.itemsize <= smallest.itemsize
    columns = rows.T if by_column else np.empty(rows.shape[::-1], dtype=smallest)
    highest = np.zeros(len(sizes), dtype=np.uint64)
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK]
        np.maximum(highest, block.view(unsigned).max(axis=0), out=highest)  # a negative code is a huge one
        if not by_column:
            columns[:, start : start + _BLOCK] = block.astype(smallest).T
    for place, size in enumerate(sizes):
        if int(highest[place]) >= size:
            wrong = np.flatnonzero((rows[:, place] < 0) | (rows[:, place] >= size))
            raise _refused(
                f"codes, column index {place}, {row_positions(wrong[:1000])}",
                "codes from 0 below the column's cardinality",
                f"{len(wrong)} others",
            )
    return columns


def _checked_counts(counts: ArrayLike, rows: int) -> Integers:
    records = np.asarray(counts)
    if records.shape != (rows,) or records.dtype.kind not in "iu":
        raise _refused(
            "counts",
            f"a whole number for each of the {rows} rows",
            f"an array of {records.dtype}, shape {records.shape}",
        )
    wrong = np.flatnonzero(records < 1)
    if len(wrong):
        raise _refused(f"counts, {row_positions(wrong[:1000])}", "at least one record a row", f"{len(wrong)} with none")
    if records.sum(dtype=np.float64) >= _MAXIMUM_RECORDS:
        raise _refused("counts", "fewer than 2^53 records in all", "more")
    return records.astype(np.int64)


def _checked_sensitivities(
    sensitivities: Sensitivities, shape: tuple[int, ...], sizes: tuple[int, ...]
) -> tuple[Sensitivity, ...]:
    if isinstance(sensitivities, np.ndarray) and sensitivities.ndim == 2:
        if sensitivities.shape != shape:
            raise _refused("sensitivities", f"the shape of the codes, {shape}", f"shape {sensitivities.shape}")
        columns = enumerate(sensitivities.T)
        return tuple(
            Sensitivity(_checked_weights(column, shape[0], place), by_record=True) for place, column in columns
        )
    if not isinstance(sensitivities, list | tuple | np.ndarray):
        raise _refused("sensitivities", "a list with an item for each column", type(sensitivities).__name__)
    if len(sensitivities) != len(sizes):
        expected = f"one item for each of the {len(sizes)} columns"
        raise _refused("sensitivities", expected, str(len(sensitivities)))
    items = enumerate(zip(sensitivities, sizes, strict=True))
    return tuple(Sensitivity(_checked_weights(item, size, place)) for place, (item, size) in items)


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
    wrong = int(np.count_nonzero(~((weights >= 0) & (weights <= 1))))
    if wrong:
        raise _refused(where, "finite weights from 0 to 1", f"{wrong} others")
    return weights


def _refused(where: str, expected: str, got: str, fix: str = "correct the input") -> ParameterError:
    return ParameterError(
        "the combined risk cannot be computed from this input",
        where=where,
        expected=expected,
        got=got,
        fix=fix,
    )

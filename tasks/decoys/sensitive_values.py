"""Values of the other columns for decoy records: plausible together and with the class, nobody's own.

Each column is drawn in turn from a tree learned on the real records, given the class and the columns before it: a decoy
falls into a leaf and takes the value of a real record there (sequential CART synthesis: Reiter 2005; Nowok, Raab &
Dibben 2016). So values occur as often as among real records that are alike, alone and together. A numeric column whose
values are mostly different would carry a real record's value into a decoy, where a search finds it twice; it is drawn
between neighbouring values of the leaf instead, on the column's own grid of decimals.

A decoy whose values agree with a real record's in all columns is drawn again. Where the columns have few values,
vectors are common and nobody's own; with ``common_from`` those are allowed that so many real records share, without
which the absence of common vectors would give decoys away.

Two values that no real record has together can be impossible together, and a reader sees that at a glance. A decoy with
such a pair is drawn again as well, a limited number of times.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from tasks.decoys.generalized_release import Floats
from tasks.errors import ParameterError

Column = NDArray[np.number]
Columns = Mapping[str, Column]

_LEAF = 5
"""Real records that a leaf holds at least."""
_TRAINING = 20_000
"""Real records that a tree learns from at most."""
_DRAWS = 100
"""Times that a record is drawn before the columns are held to have nothing to offer but copies."""
_PAIRED_DRAWS = 20
"""Of these, draws in which a pair of values that no real record has counts as well."""
_DECIMALS = 15
"""Decimals that are told apart: a decoy written with more than real records have is known at a glance."""


@dataclass(frozen=True)
class Drawn:
    """Values of the decoy records, in their order; shows none."""

    columns: dict[str, Column] = field(repr=False)
    """Named and typed as the real columns; each of shape (n_decoys,)."""
    copies: float
    """Share of the decoys whose values agree with some real record's in all columns, 0 to 1; 0 unless common ones are
    allowed."""
    own_copies: float
    """Share of the decoys that copy a vector which fewer real records share than is allowed; always 0."""
    draws: int
    """Draws of the record that took most."""


def draw_values(
    columns: Columns,
    context: Floats,
    decoy_context: Floats,
    generator: np.random.Generator,
    *,
    common_from: int | None = None,
) -> Drawn:
    """Draw the values of decoy records.

    Parameters
    ----------
    columns : mapping of str to array of shape (n_records,)
        Columns beside the quasi-identifiers, in the order in which they are drawn; integers are codes of values (a
        missing value is a code of its own), floats are numbers (NaN is missing). All original records: no decoy copies
        a suppressed one either.
    context : array of shape (n_records, n_features)
        What the values may depend on: the place of each record's class (``tasks.decoys.plausibility.seen``).
    decoy_context : array of shape (n_decoys, n_features)
        The same of the decoys.
    generator : numpy.random.Generator
        The same generator gives the same values.
    common_from : int, optional
        Real records that share a vector from which on a decoy may have it too, from 2; never where not given.

    Raises
    ------
    ParameterError
        If columns and contexts do not fit one another, or some decoy is a copy however often it is drawn.
    """
    n_records = _check(columns, context, decoy_context, common_from)
    sample = np.sort(generator.permutation(n_records)[:_TRAINING])
    models = _learned(columns, context, sample, generator)
    real, pairs = Counter(_vectors(columns)), _Pairs.of(columns, models)
    drawn = {name: np.empty(len(decoy_context), dtype=column.dtype) for name, column in columns.items()}
    pending, draws = np.arange(len(decoy_context)), 0
    while len(pending):
        if draws == _DRAWS:
            raise _only_copies(len(pending), len(decoy_context), len(columns), common_from)
        draws += 1
        _draw(models, drawn, decoy_context, pending, generator)
        vectors = _vectors({name: column[pending] for name, column in drawn.items()})
        again = np.array([_is_own(real[vector], common_from) for vector in vectors], dtype=bool)
        if draws <= _PAIRED_DRAWS:
            again |= pairs.unseen({name: column[pending] for name, column in drawn.items()})
        pending = pending[again]
    shared = [real[vector] for vector in _vectors(drawn)]
    number = max(len(shared), 1)
    return Drawn(
        columns=drawn,
        copies=sum(count > 0 for count in shared) / number,
        own_copies=sum(_is_own(count, common_from) for count in shared) / number,
        draws=draws,
    )


def _is_own(records: int, common_from: int | None) -> bool:
    return records > 0 and (common_from is None or records < common_from)


@dataclass(frozen=True)
class _Model:
    """One column's tree, with the values of the training records by leaf."""

    name: str
    tree: DecisionTreeClassifier | DecisionTreeRegressor
    leaves: NDArray[np.intp]
    """Leaves, growing."""
    starts: NDArray[np.intp]
    """First value of each leaf; one more at the end."""
    values: Column
    """Values ordered by leaf; within a leaf growing, NaN last, where they are drawn between."""
    known: NDArray[np.intp]
    """Values of each leaf that are not NaN."""
    between: bool
    decimals: int | None

    def draw(self, features: Floats, generator: np.random.Generator) -> Column:
        leaf = np.searchsorted(self.leaves, self.tree.apply(features.astype(np.float32)))
        start, stop = self.starts[leaf], self.starts[leaf + 1]
        place = generator.random(len(leaf))
        if not self.between:
            taken: Column = self.values[start + np.floor(place * (stop - start)).astype(np.intp)]
            return taken
        known = self.known[leaf]
        counted = place * (stop - start)
        missing = counted >= known
        exact = start + np.where(missing, 0.0, counted / np.maximum(known, 1) * (known - 1))
        lower = np.floor(exact).astype(np.intp)
        first, second = self.values[lower], self.values[np.minimum(lower + 1, stop - 1)]
        # Beside the last known value stands NaN where some are missing; nothing of it is taken.
        between = first + np.where(exact > lower, (exact - lower) * (second - first), 0.0)
        value = np.where(missing, np.nan, between)
        drawn: Column = value if self.decimals is None else np.round(value, self.decimals) + 0.0
        return drawn


@dataclass(frozen=True)
class _Pairs:
    """Pairs of values that real records have together, of columns whose values are taken from real records."""

    names: tuple[tuple[str, str], ...]
    seen: tuple[NDArray[np.int64], ...]
    """Numbers of the pairs of each two columns, growing."""
    values: Mapping[str, Column]
    """Values of each column, growing, NaN last."""

    @classmethod
    def of(cls, columns: Columns, models: list["_Model"]) -> "_Pairs":
        """The pairs of all records."""
        taken = [model.name for model in models if not model.between]
        values = {name: np.unique(columns[name]) for name in taken}
        names = tuple(combinations(taken, 2))
        numbers = {name: np.unique(columns[name], return_inverse=True)[1].astype(np.int64) for name in taken}
        seen = tuple(np.unique(numbers[one] * len(values[other]) + numbers[other]) for one, other in names)
        return cls(names, seen, values)

    def unseen(self, drawn: Columns) -> NDArray[np.bool_]:
        """Whether each drawn record has a pair that no real one has."""
        numbers = {name: np.searchsorted(values, drawn[name]) for name, values in self.values.items()}
        found = np.zeros(len(next(iter(drawn.values()))), dtype=bool)
        for (one, other), pairs in zip(self.names, self.seen, strict=True):
            found |= ~np.isin(numbers[one] * len(self.values[other]) + numbers[other], pairs)
        return found


def _learned(
    columns: Columns, context: Floats, sample: NDArray[np.intp], generator: np.random.Generator
) -> list[_Model]:
    features, models = [context[sample]], []
    for name, column in columns.items():
        values = column[sample]
        filled = _filled(values)
        kind = DecisionTreeRegressor if values.dtype.kind == "f" else DecisionTreeClassifier
        tree = kind(min_samples_leaf=min(_LEAF, len(sample)), random_state=int(generator.integers(2**31)))
        matrix = np.column_stack(features).astype(np.float32)
        tree.fit(matrix, filled)
        between = values.dtype.kind == "f" and len(np.unique(values)) > len(values) / 2
        leaf = tree.apply(matrix)
        order = np.lexsort((values, leaf)) if between else np.argsort(leaf, kind="stable")
        leaves, starts = np.unique(leaf[order], return_index=True)
        bounds = np.append(starts, len(order))
        known = np.add.reduceat((~np.isnan(values[order])).astype(np.intp), starts)
        decimals = _decimals(values) if between else None
        models.append(_Model(name, tree, leaves, bounds, values[order], known, between, decimals))
        features.append(filled)
    return models


def _draw(
    models: list[_Model],
    drawn: dict[str, Column],
    context: Floats,
    rows: NDArray[np.intp],
    generator: np.random.Generator,
) -> None:
    features = [context[rows]]
    for model in models:
        values = model.draw(np.column_stack(features), generator)
        drawn[model.name][rows] = values
        features.append(_filled(values, model.values))


def _filled(values: Column, like: Column | None = None) -> Floats:
    """Numbers with NaN as a number below all others of the column, as a tree needs them."""
    numbers = values.astype(np.float64)
    missing = np.isnan(numbers)
    if missing.any():
        known = numbers if like is None else like.astype(np.float64)
        known = known[np.isfinite(known)]
        lowest, spread = (known.min(), np.ptp(known)) if len(known) else (0.0, 0.0)
        numbers[missing] = lowest - max(spread, 1.0)
    return numbers


def _decimals(values: Column) -> int | None:
    """Decimals that all values of a column have at most; None where they are more than can be told."""
    finite = values[np.isfinite(values)]
    for decimals in range(_DECIMALS + 1):
        if (np.round(finite, decimals) == finite).all():
            return decimals
    return None


def _vectors(columns: Columns) -> list[bytes]:
    """All values of each record as one key; equal for equal values, NaN among them."""
    matrix = np.column_stack([column.astype(np.float64) for column in columns.values()]) + 0.0
    matrix[np.isnan(matrix)] = np.nan
    return [row.tobytes() for row in matrix]


def _check(columns: Columns, context: Floats, decoy_context: Floats, common_from: int | None) -> int:
    lengths = {len(column) for column in columns.values()} | {len(context)}
    kinds = all(column.ndim == 1 and column.dtype.kind in "iuf" for column in columns.values())
    if not columns or not kinds or len(lengths) > 1 or not len(context):
        raise ParameterError(
            "the columns cannot be learned from",
            where="columns",
            expected="at least one column of codes or numbers, with a value for each of the records, from 1",
            got=f"{len(columns)} columns of {', '.join(map(str, sorted(lengths)))} records",
            fix="give whole columns as integer codes or floating-point numbers",
        )
    for name, column in columns.items():
        if np.isinf(column).any():
            raise ParameterError(
                "a column holds infinite numbers",
                where=f"column {name}",
                expected="finite numbers, NaN where missing",
                got=f"{int(np.isinf(column).sum())} infinite",
                fix="mark them as missing",
            )
    finite = np.isfinite(context).all() and np.isfinite(decoy_context).all()
    if context.ndim != 2 or decoy_context.ndim != 2 or context.shape[1] != decoy_context.shape[1] or not finite:
        raise ParameterError(
            "the decoys' classes do not fit the real ones",
            where="context and decoy_context",
            expected="two tables of the same features, finite",
            got=f"shapes {context.shape} and {decoy_context.shape}",
            fix="describe both kinds of class alike",
        )
    if common_from is not None and common_from < 2:
        raise ParameterError(
            "a vector that one record has is not common",
            where="common_from",
            expected="from 2, or not given",
            got=str(common_from),
            fix="give the number of records from which on a vector is nobody's own",
        )
    return len(context)


def _only_copies(pending: int, decoys: int, columns: int, common_from: int | None) -> ParameterError:
    rule = "at all" if common_from is None else f"that fewer than {common_from} real records share"
    return ParameterError(
        "decoys cannot be told apart from real records in their other columns",
        where=f"{columns} columns",
        expected=f"in {_DRAWS} draws a vector of values for each decoy that copies no real record's {rule}",
        got=f"none for {pending} of {decoys} decoy records",
        fix="allow vectors that several real records share (common_from, or a smaller one), or draw more columns",
    )

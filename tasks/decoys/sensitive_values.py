"""Values of the other columns for decoy records: plausible together and with the class, and no person's own.

Each column is drawn in turn from a tree learned on the real records, given the class and the columns before it: a decoy
falls into a leaf and takes the value of a real record there (sequential CART synthesis: Reiter 2005; Nowok, Raab &
Dibben 2016). So values occur as often as among real records that are alike, alone and together. A numeric column whose
values are mostly different would carry a real record's value into a decoy, where a search finds it twice; it is drawn
between neighbouring values of the leaf instead, as round as one of them and on the column's own grid
(``tasks.decoys.value_grid``).

A decoy whose values agree with a real record's in all columns is drawn again. Where the columns have few values,
vectors are common and no person's own; with ``common_from`` those are allowed that so many real records share, without
which the absence of common vectors would give decoys away.

Two values that no real record has together can be impossible together, and a reader sees that easily. A decoy with such
a pair is drawn again as well, a limited number of times; so is one that breaks what holds in all real records
(``tasks.decoys.value_rules``).
"""

from collections import Counter
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from tasks.core.errors import ParameterError
from tasks.decoys.generalized_release import Floats
from tasks.decoys.value_rules import (
    Column,
    Columns,
    Kinds,
    MissingTogether,
    Rule,
    SeenPairs,
    orders,
)
from tasks.decoys.value_trees import Model, learned, seen_as

__all__ = ["Column", "Columns", "Drawn", "draw_values"]

_TRAINING = 20_000
"""Real records that a tree learns from at most."""
_DRAWS = 100
"""Times that a record is drawn before the columns are held to have nothing to offer but copies."""
_PAIRED_DRAWS = 20
"""Number of these draws in which a pair of values that no real record has counts as well."""
_RULED_DRAWS = 60
"""Draws in which an order, a sum or missing values unlike all real records' count."""
_NUMBERS: Kinds = MappingProxyType({})


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
    kinds: Kinds = _NUMBERS,
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
    kinds : mapping of str to ValueKind, optional
        Of columns of floats that are not numbers: dates as whole days since 1970, and values out of a list.

    Raises
    ------
    ParameterError
        If columns and contexts do not fit one another, or some decoy is a copy however often it is drawn.
    """
    n_records = _check(columns, context, decoy_context, common_from)
    sample = np.sort(generator.permutation(n_records)[:_TRAINING])
    models = learned(columns, context, sample, kinds, generator)
    real = Counter(_vectors(columns))
    pairs = SeenPairs.of(columns, frozenset(model.name for model in models if model.takes), kinds)
    totals = [model.total for model in models if model.total is not None]
    rules: tuple[Rule, ...] = (*orders(columns, kinds), MissingTogether.of(columns), *totals)
    drawn = {name: np.empty(len(decoy_context), dtype=column.dtype) for name, column in columns.items()}
    pending, draws = np.arange(len(decoy_context)), 0
    while len(pending):
        if draws == _DRAWS:
            raise _only_copies(len(pending), len(decoy_context), len(columns), common_from)
        draws += 1
        _draw(models, drawn, decoy_context, pending, generator)
        now = {name: column[pending] for name, column in drawn.items()}
        vectors = _vectors(now)
        again = np.array([_is_own(real[vector], common_from) for vector in vectors], dtype=bool)
        if draws <= _PAIRED_DRAWS:
            again |= pairs.broken(now)
        for rule in rules if draws <= _RULED_DRAWS else ():
            again |= rule.broken(now)
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


def _draw(
    models: list[Model],
    drawn: dict[str, Column],
    context: Floats,
    rows: NDArray[np.intp],
    generator: np.random.Generator,
) -> None:
    features = [context[rows]]
    for model in models:
        drawn[model.name][rows] = model.draw(np.column_stack(features), drawn, rows, generator)
        if model.total is not None:
            drawn[model.name][rows] = model.total.fill(drawn, rows)
        features += seen_as(drawn[model.name][rows], model.kind, model.values)


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

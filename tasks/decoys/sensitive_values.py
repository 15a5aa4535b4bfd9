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
from types import MappingProxyType

import numpy as np

from tasks.core.errors import ParameterError
from tasks.decoys.classes import Floats, Rows
from tasks.decoys.value_rules import (
    LEAST_RECORDS,
    Column,
    Columns,
    Kinds,
    Order,
    SeenPairs,
    Sum,
    as_paired,
    missing_of,
    orders,
)
from tasks.decoys.value_trees import ColumnModel, learned, seen_as

_TRAINING = 20_000
"""Real records that a tree learns from at most."""
_DRAWS = 100
"""Times that a record is drawn before the columns are held to have nothing to offer but copies."""
_PAIRED_DRAWS = 20
"""Number of these draws in which a pair of values that no real record has counts as well."""
_RULED_DRAWS = 60
"""Draws in which an order, a sum or missing values unlike all real records' count."""
_NUMBERS: Kinds = MappingProxyType({})


def draw_values(
    columns: Columns,
    context: Floats,
    decoy_context: Floats,
    generator: np.random.Generator,
    *,
    common_from: int | None = None,
    kinds: Kinds = _NUMBERS,
) -> dict[str, Column]:
    """Draw the values of decoy records.

    Parameters
    ----------
    columns : mapping of str to array of shape (n_records,)
        Columns beside the quasi-identifiers, at least one, in the order in which they are drawn; integers are codes of
        values (a missing value is a code of its own), floats are numbers (NaN is missing). All original records: no
        decoy copies a suppressed one either.
    context : array of shape (n_records, n_features)
        What the values may depend on: the place of each record's class; finite.
    decoy_context : array of shape (n_decoys, n_features)
        The same of the decoys.
    generator : numpy.random.Generator
        The same generator gives the same values.
    common_from : int, optional
        Real records that share a vector from which on a decoy may have it too, from 2; never where not given.
    kinds : mapping of str to ValueKind, optional
        Of columns of floats that are not numbers: dates as whole days since 1970, and values out of a list.

    Returns
    -------
    dict of str to array of shape (n_decoys,)
        Named and typed as the real columns.

    Raises
    ------
    ParameterError
        If some decoy is a copy however often it is drawn.
    """
    sample = np.sort(generator.permutation(len(context))[:_TRAINING])
    models = learned(columns, context, sample, kinds, generator)
    real = Counter(_vectors(columns))
    taken = frozenset(model.name for model in models if model.takes)
    pairs, missing = SeenPairs.of(as_paired(columns, taken, kinds)), SeenPairs.of(missing_of(columns))
    rules: list[Order | Sum] = [*orders(columns, kinds), *(model.total for model in models if model.total is not None)]
    drawn = {name: np.empty(len(decoy_context), dtype=column.dtype) for name, column in columns.items()}
    pending = np.arange(len(decoy_context))
    for number in range(_DRAWS):
        if not len(pending):
            return drawn
        _draw(models, drawn, decoy_context, pending, generator)
        now = {name: column[pending] for name, column in drawn.items()}
        shared = np.array([real[vector] for vector in _vectors(now)])
        again = (shared > 0) & (shared < (common_from or np.inf))
        if number < _PAIRED_DRAWS:
            again |= pairs.broken(as_paired(now, taken, kinds))
        if number < _RULED_DRAWS:
            for rule in rules:
                again |= rule.broken(now)
            if len(context) >= LEAST_RECORDS and missing.values:
                again |= missing.broken(missing_of(now))
        pending = pending[again]
    if not len(pending):
        return drawn
    copied = "at all" if common_from is None else f"that fewer than {common_from} real records share"
    raise ParameterError(
        "decoys cannot be told apart from real records in their other columns",
        where=f"{len(columns)} columns",
        expected=f"in {_DRAWS} draws a vector of values for each decoy that copies no real record's {copied}",
        got=f"none for {len(pending)} of {len(decoy_context)} decoy records",
        fix="allow vectors that several real records share (common_from, or a smaller one), or draw more columns",
    )


def _draw(
    models: list[ColumnModel], drawn: dict[str, Column], context: Floats, rows: Rows, generator: np.random.Generator
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

"""Coalitions: one recipient's records as seen by recipients who pool their copies.

They are assumed to know which rows are one person's: columns released as collected often show it. A record's candidates
are the people who match all of its cells; for an adversary who knows the rules, those to whom every rule gives exactly
these cells. Its class is the records with the same cells in all copies. A copy that lacks a record says nothing about
it; records that another copy lacks for decoys count as held.

Here all cells are of the same trees, so that an intersection is a cell of the count cube;
``tasks.reassessment.pooling`` counts copies of different hierarchies.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tasks.candidate.groups import released_tuples
from tasks.core.errors import StageFailed
from tasks.generalization.game.count_index import CountIndex, Generalization, matching_people
from tasks.generalization.game.transparency import effective_sizes
from tasks.generalization.generalize import population_cells
from tasks.generalization.kanonymity.classes import fold
from tasks.generalization.setting import follower_of, generalized_against, table_under, weights_of
from tasks.generalization.suppression import class_sizes
from tasks.microdata.hierarchy import Codes
from tasks.microdata.tuples import Counts
from tasks.request.model import LARGER_IS_BETTER, Measure, Recipient, ReleaseRequest

Flags = NDArray[np.bool_]
Figures = Mapping[Measure, float]


@dataclass(frozen=True)
class PooledCopy:
    """A copy that a coalition has, by rows: kinds of records of the copy in question."""

    cells: Codes
    """Released cell of each row; anything where the copy lacks it. Shape (n_rows, n_attributes of this copy)."""
    present: Flags
    """Whether the copy has each row."""
    own: Codes
    """Cell that the rule gives each population tuple, shape (n_population_tuples, n_attributes of this copy)."""
    counted: Flags | None = None
    """Whether a record of each population tuple would be released; None where every one would."""

    def at(self, rows: NDArray[np.intp]) -> "PooledCopy":
        """Some of the rows."""
        return replace(self, cells=self.cells[rows], present=self.present[rows])


@dataclass(frozen=True)
class Coalition:
    """One recipient's copy as a coalition sees it."""

    recipients: tuple[str, ...]
    """Recipients who pool their copies, in the order of the request."""
    copy: Generalization
    """The recipient's copy, with the groups that are left: people, those whose own cell it is, and those listed."""
    classes: Counts
    """Records of the copy with the same cells in all copies, by data tuple; 0 where it has none."""
    numbers: Counts
    """Number of each data tuple, equal for those with the same cells in all copies."""
    cells: Codes
    """The cell that lies in all copies' cells of each data tuple: of each attribute the least general group."""


def same_cells(copies: Sequence[PooledCopy]) -> Counts:
    """Number of each row, equal for rows with the same cells in all copies."""
    return fold(np.column_stack([np.where(copy.present[:, None], copy.cells + 1, 0) for copy in copies]))[0]


def people_by_rule(copies: Sequence[PooledCopy], people: Counts) -> Counts:
    """People to whom the rule of every copy that has a row gives exactly that row's cells; 0 where no copy has it.

    ``people``: of each population tuple, by kind (population, register); the result has shape (n_rows, n_kinds).
    """
    found = np.zeros((len(copies[0].present), people.shape[1]), dtype=np.int64)
    for rows, having in _by_presence(copies):
        numbers, _ = fold(np.column_stack([np.concatenate([copy.cells[rows], copy.own]) for copy in having]))
        counted = np.ones(len(people), dtype=np.bool_)
        for copy in having:
            if copy.counted is not None:
                counted &= copy.counted
        for kind in range(people.shape[1]):
            left = np.where(counted, people[:, kind], 0)
            found[rows, kind] = effective_sizes(numbers[: len(rows)], numbers[len(rows) :], left)
    return found


def _by_presence(copies: Sequence[PooledCopy]) -> Iterable[tuple[NDArray[np.intp], list[PooledCopy]]]:
    """Rows that the same copies have, and these copies; none of rows that no copy has."""
    patterns, pattern_of = np.unique(np.column_stack([copy.present for copy in copies]), axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        if pattern.any():
            rows = np.flatnonzero(pattern_of.ravel() == number)
            yield rows, [copies[place] for place in np.flatnonzero(pattern).tolist()]


def intersections(table: CountIndex, copies: Sequence[PooledCopy]) -> Codes:
    """The cell that lies in all cells of each row: of each attribute the least general, one lying inside the other."""
    cells = np.zeros_like(copies[0].cells)
    for rows, having in _by_presence(copies):
        stacked = np.stack([copy.cells[rows] for copy in having])
        by_axis = [hierarchy.sizes[stacked[:, :, axis]] for axis, hierarchy in enumerate(table.hierarchies)]
        least = np.stack(by_axis, axis=2).argmin(axis=0)
        cells[rows] = np.take_along_axis(stacked, least[None], axis=0)[0]
    return cells


def coalitions_of(
    table: CountIndex, generalization: Generalization, kept: Flags, request: ReleaseRequest, recipient: Recipient
) -> tuple[Coalition, ...]:
    """Coalitions that a recipient may be in under the policy; none where it has no terms on collusion.

    ``kept``: whether the recipient's copy has each tuple's records. Raises ``StageFailed`` if another's copy cannot be
    made.
    """
    sets = request.coalitions(recipient)
    if not sets:
        return ()
    others = {member.id: member for members in sets for member in members}
    copies = {name: _of_another(table, request, one) for name, one in others.items() if name != recipient.id}
    copies[recipient.id] = _pooled(table, generalization, kept, request, recipient)
    made = ([copy for member in members if (copy := copies[member.id]) is not None] for members in sets)
    return tuple(_coalition(table, generalization, kept, *one) for one in zip(sets, made, strict=True))


def _coalition(
    table: CountIndex,
    generalization: Generalization,
    kept: Flags,
    members: Sequence[Recipient],
    copies: Sequence[PooledCopy],
) -> Coalition:
    counts = table.population.counts
    kinds = counts[:, None] if table.listed is None else np.column_stack([counts, table.listed])
    effective, cells = people_by_rule(copies, kinds), intersections(table, copies)
    classes, numbers = np.zeros(len(kept), dtype=np.int64), same_cells(copies).astype(np.int64)
    classes[kept] = class_sizes(numbers[kept], table.data.counts[kept])
    copy = replace(
        generalization,
        people=matching_people(table, cells),
        effective=effective[:, 0],
        listed=None if table.listed is None else effective[:, 1],
    )
    return Coalition(tuple(member.id for member in members), copy, classes, numbers, cells)


def _of_another(table: CountIndex, request: ReleaseRequest, recipient: Recipient) -> PooledCopy | None:
    """Another recipient's copy, as the gate makes it; None where all of its records are suppressed."""
    game = follower_of(request, recipient, table.population.total, from_below=table.from_below)
    made = generalized_against(table_under(table, request), request, recipient, game)
    try:
        kept = released_tuples(table, made, request.policy.generalization.minimum_class_size)
    except StageFailed:
        return None
    return _pooled(table, made, kept, request, recipient)


def _pooled(
    table: CountIndex, made: Generalization, kept: Flags, request: ReleaseRequest, recipient: Recipient
) -> PooledCopy:
    return PooledCopy(made.cells, kept, own_cells(table, made, request, recipient), made.counted)


def own_cells(
    table: CountIndex, generalization: Generalization, request: ReleaseRequest, recipient: Recipient
) -> Codes:
    """Cell that the rule of a recipient's copy gives each population tuple, (n_population_tuples, n_attributes)."""
    if generalization.own is not None:
        return generalization.own
    game = follower_of(request, recipient, table.population.total, from_below=table.from_below)
    under, cell_weights = table_under(table, request), request.policy.generalization.cell_weights
    return population_cells(under, generalization.method, game, weights_of(request), cell_weights)


def worst(alone: Figures, by_coalition: Iterable[Figures]) -> dict[Measure, float]:
    """Gate figures: for each measure, the worst of the copy alone and of every coalition."""
    figures = dict(alone)
    for seen in by_coalition:
        for measure, figure in seen.items():
            figures[measure] = (min if measure in LARGER_IS_BETTER else max)(figures[measure], figure)
    return figures

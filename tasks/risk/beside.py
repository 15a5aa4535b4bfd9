"""Copies laid beside each other: the groups that are left of a copy's records for a hand that holds others as well.

Whoever holds several copies of the same people's records is taken to know which rows are one person's. A record's
candidates are then the people who match all of its cells, which is the least general level of each attribute among the
copies; to somebody who knows the rules, those whom every rule gives exactly these cells. Its class is the records with
the same cells in all copies. A copy that lacks a record says nothing of it.

Looked at is what the hand makes of one recipient's records, by this recipient's own terms, as the hand's other
recipients are by theirs in their own records of decision. Records that another's copy misses for decoys count as held.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tasks.errors import StageFailed
from tasks.generalization.play import Played, Table, population_cells
from tasks.generalization.problem import fold
from tasks.generalization.raised import matching_people
from tasks.generalization.setting import follower_of, played_against, table_under, weights_of
from tasks.generalization.suppression import class_sizes
from tasks.linkage.transparency import effective_sizes
from tasks.microdata.hierarchy import Codes
from tasks.microdata.tuples import Counts
from tasks.request.model import LARGER_IS_BETTER, Measure, Recipient, ReleaseRequest
from tasks.risk.groups import released_groups
from tasks.risk.profile import recipient_profile
from tasks.risk.released import released_tuples
from tasks.risk.sequential import beliefs
from tasks.risk.sequential import gate_figures as sequential_figures

Flags = NDArray[np.bool_]
Figures = Mapping[Measure, float]


@dataclass(frozen=True)
class HeldCopy:
    """A copy that a hand holds."""

    cells: Codes
    """Released cell of each data tuple, in axis positions."""
    kept: Flags
    """Whether the copy has each tuple's records."""
    own: Codes
    """Cell that the rule gives each population tuple."""
    counted: Flags | None = None
    """Whether a record of each population tuple would be released; None where every one would."""


@dataclass(frozen=True)
class Seen:
    """What a hand sees of each data tuple; arrays of length n_tuples, 0 where no copy has the tuple's records."""

    people: Counts
    """People who match the cells of all copies that have it."""
    effective: Counts
    """Those of them whom each rule gives the very cell."""
    listed: Counts | None
    """The latter in the external register; None without one."""
    kinds: NDArray[np.intp]
    """Equal for tuples with the same cells in all copies."""
    cells: Codes
    """The cell that lies in all of them, in axis positions; shape (n_tuples, n_attributes)."""


@dataclass(frozen=True)
class Hand:
    """One recipient's copy in a hand with others."""

    recipients: tuple[str, ...]
    """Whose copies it holds, in the order of the request."""
    probability: float
    """That these come together."""
    copy: Played
    """The recipient's copy, with the groups that are left: people, those whose own cell it is, and those listed."""
    classes: Counts
    """Records of the copy with the same cells in all copies, by data tuple; 0 where it has none."""
    cells: Codes
    """The cell that lies in all copies' cells of each data tuple: of each attribute the least general group."""


def seen_together(table: Table, copies: Sequence[HeldCopy]) -> Seen:
    """What a hand sees that holds some copies.

    Parameters
    ----------
    table : Table
    copies : sequence of HeldCopy
        Of records generalized by its hierarchies, without groups outside of these.
    """
    n_tuples, present = len(table.data), np.column_stack([copy.kept for copy in copies])
    people, effective = np.zeros(n_tuples, dtype=np.int64), np.zeros(n_tuples, dtype=np.int64)
    listed = None if table.listed is None else np.zeros(n_tuples, dtype=np.int64)
    cells = np.zeros_like(copies[0].cells)
    patterns, pattern_of = np.unique(present, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        rows = np.flatnonzero(pattern_of.ravel() == number)
        having = [copies[place] for place in np.flatnonzero(pattern).tolist()]
        if not having:
            continue
        cells[rows] = _intersection(table, [copy.cells[rows] for copy in having])
        people[rows] = matching_people(table, cells[rows])
        released, own, counted = _joint(having, rows)
        effective[rows] = effective_sizes(released, own, np.where(counted, table.population.counts, 0))
        if listed is not None and table.listed is not None:
            listed[rows] = effective_sizes(released, own, np.where(counted, table.listed, 0))
    columns = [np.where(copy.kept, column + 1, 0).astype(np.intp) for copy in copies for column in copy.cells.T]
    return Seen(people, effective, listed, fold(columns)[0], cells)


def _intersection(table: Table, cells: Sequence[Codes]) -> Codes:
    """The cell that lies in all of some cells of each tuple, one inside the other on every attribute."""
    stacked = np.stack(cells)
    sizes = np.stack([hierarchy.sizes[stacked[:, :, axis]] for axis, hierarchy in enumerate(table.hierarchies)], axis=2)
    least = sizes.argmin(axis=0)
    found: Codes = np.take_along_axis(stacked, least[None], axis=0)[0]
    return found


def _joint(copies: Sequence[HeldCopy], rows: NDArray[np.intp]) -> tuple[Counts, Counts, Flags]:
    """Numbers of the tuples' cells in all copies, of those that the rules give the population, and who counts."""
    columns = [
        np.concatenate([copy.cells[rows, axis], copy.own[:, axis]]).astype(np.intp)
        for copy in copies
        for axis in range(copy.own.shape[1])
    ]
    numbers = fold(columns)[0].astype(np.int64)
    counted = np.ones(len(copies[0].own), dtype=np.bool_)
    for copy in copies:
        if copy.counted is not None:
            counted &= copy.counted
    return numbers[: len(rows)], numbers[len(rows) :], counted


def hands_of(
    table: Table, played: Played, kept: Flags, request: ReleaseRequest, recipient: Recipient
) -> tuple[Hand, ...]:
    """Hands that the policy says a recipient's copy may be in with others; none where it says nothing of collusion.

    Parameters
    ----------
    table : Table
        Of the request, or of one that differs in k alone.
    played : Played
        The recipient's method.
    kept : array of shape (n_tuples,)
        Whether his copy has each tuple's records.
    request : ReleaseRequest
    recipient : Recipient
        Of that request.

    Raises
    ------
    StageFailed
        If another's copy cannot be made.
    """
    hands = request.hands(recipient)
    if not hands:
        return ()
    mine = _held(table, played, kept, request, recipient)
    copies: dict[str, HeldCopy | None] = {recipient.id: mine}
    found = []
    for members, probability in hands:
        for member in members:
            if member.id not in copies:
                copies[member.id] = _of_another(table, request, member)
        others = [copies[member.id] for member in members if member.id != recipient.id]
        seen = seen_together(table, [mine, *(copy for copy in others if copy is not None)])
        classes = np.zeros(len(kept), dtype=np.int64)
        classes[kept] = class_sizes(seen.kinds[kept].astype(np.int64), table.data.counts[kept])
        copy = replace(played, people=seen.people, effective=seen.effective, listed=seen.listed)
        found.append(Hand(tuple(member.id for member in members), probability, copy, classes, seen.cells))
    return tuple(found)


def _of_another(table: Table, request: ReleaseRequest, recipient: Recipient) -> HeldCopy | None:
    """Another recipient's copy, as the gate makes it; None where all of its records are suppressed."""
    policy = request.policy.generalization
    under, game = table_under(table, request), follower_of(request, recipient, table.population.total)
    played = played_against(under, request, recipient, game)
    try:
        kept = released_tuples(table, played, policy.minimum_class_size)
    except StageFailed:
        return None
    return _held(table, played, kept, request, recipient)


def _held(table: Table, played: Played, kept: Flags, request: ReleaseRequest, recipient: Recipient) -> HeldCopy:
    own = played.own
    if own is None:
        game = follower_of(request, recipient, table.population.total)
        weights, policy = weights_of(request), request.policy.generalization
        own = population_cells(table_under(table, request), played.method, game, weights, policy.cell_weights)
    return HeldCopy(played.cells, kept, own, played.counted)


def planned_beside(
    table: Table, hands: Iterable[Hand], kept: Flags, recipient: Recipient
) -> tuple[dict[Measure, float], ...]:
    """What gates judge of a recipient who plans, by hand.

    Raises
    ------
    ParameterError
        If his plan cannot be solved.
    """
    found = []
    for hand in hands:
        profile = recipient_profile(recipient, hand.copy, kept).profile
        found.append(sequential_figures(beliefs(profile, released_groups(table, hand.copy, kept, profile.prior))))
    return tuple(found)


def worst(alone: Figures, beside: Iterable[Figures]) -> dict[Measure, float]:
    """The figures that gates judge: of each measure the worst of the copy alone and of every hand that may hold it."""
    figures = dict(alone)
    for hand in beside:
        for measure, figure in hand.items():
            figures[measure] = (min if measure in LARGER_IS_BETTER else max)(figures[measure], figure)
    return figures

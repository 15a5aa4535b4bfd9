"""Coalitions of recipients of delivered copies: each copy on the population of the first, and gates' figures."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from tasks.adversary.profile import derive_profile
from tasks.assessments.identity.facts import RiskView, TransparentRisk
from tasks.assessments.identity.identity import risk_view, transparent_risk
from tasks.assessments.registry import SEQUENTIAL
from tasks.assessments.sequential.sequential import beliefs
from tasks.assessments.sequential.sequential import gate_figures as sequential_figures
from tasks.candidate.coalition import worst
from tasks.candidate.groups import groups
from tasks.core.errors import StageFailed
from tasks.delivery.kept import Kept
from tasks.delivery.released_file import keyed_order, read_cells
from tasks.generalization.setting import own_follower
from tasks.microdata.hierarchy import Codes
from tasks.reassessment.intersection import Bools, check_room
from tasks.reassessment.population import Ground, found_in, leaves_in, rule_of, table_of
from tasks.reassessment.scoring import Delivered, Today
from tasks.reassessment.together import LaidCopy, Together, laid_together
from tasks.request.model import Measure, Recipient

MEASURED_TOGETHER = frozenset(
    {
        Measure.TRANSPARENT_MAXIMUM,
        Measure.TRANSPARENT_MEAN,
        Measure.TRANSPARENT_ATTACKED,
        Measure.TRANSPARENT_EXPECTED,
        Measure.PROSECUTOR_MAXIMUM,
        Measure.PROSECUTOR_MEAN,
        Measure.JOURNALIST_MAXIMUM,
        Measure.JOURNALIST_MEAN,
        Measure.SMALLEST_CLASS,
    }
    | SEQUENTIAL.gate_measures
)
"""Measures that follow from the groups alone, so that they can be measured of several copies."""


def held_together(
    copies: Sequence[LaidCopy], today: Today, holders: Iterable[Recipient]
) -> tuple[dict[Measure, float], Together]:
    """Gate figures of the records of the first of some pooled copies, at the groups that are left.

    Parameters
    ----------
    copies : sequence of LaidCopy
        The one in question first.
    today : Today
        Of the copy in question: population, policy.
    holders : iterable of Recipient
        Those who share the copies, at least one, with their terms; the figures are the worst of them.

    Raises
    ------
    StageFailed
        If the cells have too many intersections to be counted.
    """
    policy, table = today.request.policy, table_of(today.ground, today.request)
    population = today.ground.population
    found = laid_together(copies, population.codes, population.counts, table.listed, table.memory_limit)
    residual = risk_view(found.records, found.people, found.records, policy.risk_threshold, policy.small_cell)
    figures: dict[Measure, float] = {}
    for holder in holders:
        follower = own_follower(today.request, holder, population.total)
        informed = transparent_risk(found.people, found.effective, found.records, follower)
        profile = derive_profile(holder, *_densest(found)).profile
        planned = beliefs(profile, groups(table, found.effective, found.listed, found.records, profile.prior))
        own = _figures(residual, informed) | sequential_figures(planned)
        figures = worst(own, [figures] if figures else [])
    return figures, found


def copy_of(delivered: Delivered, ground: Ground, memory_limit: int = 2**30) -> LaidCopy:
    """A delivered copy on the population of another one.

    Parameters
    ----------
    delivered : Delivered
    ground : Ground
    memory_limit : int
        Bytes that the values of an attribute's groups may take.

    Raises
    ------
    StageFailed
        If the population does not have its attributes, or has them in other values, if the file cannot be read, or its
        groups take more memory.
    """
    kept, names = delivered.kept, tuple(ground.hierarchies)
    missing = [name for name in kept.hierarchies if name not in ground.hierarchies]
    if missing:
        raise _not_pooled(delivered, f"its {', '.join(missing)}", "a population without")
    values = {name: tree.labels[0] for name, tree in ground.hierarchies.items()}
    codes = leaves_in(kept, values, ground.population.codes)
    if (codes.max(axis=0, initial=-1) < 0).any():
        raise _not_pooled(delivered, "the values of its quasi-identifiers", "others, such as another way to write them")
    place = found_in(kept, codes)
    there = place >= 0
    if kept.played.counted is not None:
        there[there] = kept.played.counted[place[there]]
    rule = rule_of(kept)
    cells = read_cells(delivered.source, tuple(kept.hierarchies), kept.axis_labels)
    held, people = _real(delivered, len(cells))
    members, released, own = [], np.empty_like(cells[held]), np.full((len(codes), cells.shape[1]), -1, dtype=np.int32)
    for axis, name in enumerate(kept.hierarchies):
        used, numbers = np.unique(cells[held, axis], return_inverse=True)
        released[:, axis] = numbers.ravel()
        check_room(len(used), len(values[name]), memory_limit)
        members.append(_members(kept, axis, used, values[name]))
        given = rule[place[there], axis]
        found = np.minimum(np.searchsorted(used, given), len(used) - 1)
        own[there, axis] = np.where(used[found] == given, found, -1)
    return LaidCopy(tuple(names.index(name) for name in kept.hierarchies), tuple(members), released, people, own)


def _real(delivered: Delivered, rows: int) -> tuple[NDArray[np.intp], NDArray[np.bytes_]]:
    """The rows of the file that are records, and whose each is."""
    named, decoys = len(delivered.kept.people), len(delivered.decoys)
    if rows != named + decoys:
        raise StageFailed(
            "what was kept of the release does not fit its file",
            where=f"release {delivered.record.release_id[:12]} to {delivered.recipient}",
            expected="a name for each record",
            got="more or fewer",
            fix="restore .releasegate/kept from a backup",
        )
    kept = np.concatenate([np.arange(named), np.full(decoys, -1)])[keyed_order(rows, delivered.order)]
    real = np.flatnonzero(kept >= 0)
    return real, delivered.kept.people[kept[real]]


def _members(kept: Kept, axis: int, positions: Codes, values: Sequence[str]) -> Bools:
    """Values of the other population that each group holds."""
    tree = list(kept.hierarchies.values())[axis]
    leaf = tree.encode(np.asarray(values, dtype=object))
    known = leaf >= 0
    members = np.zeros((len(positions), len(values)), dtype=np.bool_)
    for row, position in enumerate(positions):
        if position < tree.axis_length:
            holds = tree.positions[:, tree.axis_levels[position]] == position
        else:
            holds = kept.grouped[axis] == position
        members[row, known] = holds[leaf[known]]
    return members


def _figures(residual: RiskView, informed: TransparentRisk) -> dict[Measure, float]:
    return {
        Measure.TRANSPARENT_MAXIMUM: informed.maximum_risk,
        Measure.TRANSPARENT_MEAN: informed.mean_risk,
        Measure.TRANSPARENT_ATTACKED: informed.attacked_share,
        Measure.TRANSPARENT_EXPECTED: informed.expected_reidentifications,
        Measure.PROSECUTOR_MAXIMUM: residual.prosecutor.maximum,
        Measure.PROSECUTOR_MEAN: residual.prosecutor.mean,
        Measure.JOURNALIST_MAXIMUM: residual.journalist.maximum,
        Measure.JOURNALIST_MEAN: residual.journalist.mean,
        Measure.SMALLEST_CLASS: float(residual.smallest_class),
    }


def _densest(found: Together) -> tuple[int | None, int]:
    if found.listed is None:
        return None, 1
    people = np.maximum(found.effective, 1)
    place = int(np.argmax(found.listed / people))
    return int(found.listed[place]), int(people[place])


def _not_pooled(delivered: Delivered, expected: str, got: str) -> StageFailed:
    return StageFailed(
        "a release cannot be pooled with this one",
        where=f"release {delivered.record.release_id[:12]} to {delivered.recipient}",
        expected=f"a population that has {expected}",
        got=got,
        fix="name a population with the quasi-identifiers of all of them with --under",
    )

"""Pooled copies of several releases: the groups that each record still hides in (``tasks.candidate.coalition``).

A record that is released twice, at different generalizations, is known to be in the intersection of both cells. Cells
of one tree are nested or apart; those of different hierarchies, and of one whose levels cross, may overlap, so that an
intersection is a set of values that no level has. Here a cell is therefore what it is: a set of values of each
attribute, and each copy is laid on the population of the first.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tasks.adversary.derived_profile import derive_profile
from tasks.assessments.identity.outcome import risk_view, transparent_risk
from tasks.assessments.identity.score import risk_figures
from tasks.assessments.registry import IDENTITY, SEQUENTIAL
from tasks.assessments.sequential.assessment import gate_figures as sequential_figures
from tasks.assessments.sequential.assessment import judged_belief
from tasks.candidate.candidate import Candidate
from tasks.candidate.coalition import PooledCopy, people_by_rule, same_cells, worst
from tasks.candidate.groups import densest, groups
from tasks.core.errors import StageFailed
from tasks.decision.remedies import revoking
from tasks.delivery.kept import Kept, Names
from tasks.generalization.setting import own_follower
from tasks.microdata.hierarchy import Codes
from tasks.microdata.tuples import Counts, distinct_tuples
from tasks.reassessment.population import Flags, TodaysPopulation, leaves_in, rule_on, table_of
from tasks.reassessment.scoring import Delivered, TodaysCopy
from tasks.request.model import Measure, Recipient

_MOST_PAIRS = 2 * 10**11
"""Pairs of an intersection and a combination of values past which they are not compared."""

MEASURED_TOGETHER = SEQUENTIAL.gate_measures | IDENTITY.gate_measures - {
    Measure.SUPPRESSED_SHARE,
    Measure.INFORMATION_KEPT,
    Measure.PUBLISHER_PAYOFF,
}
"""Measures that follow from the groups alone, so that they can be measured of several copies."""


@dataclass(frozen=True)
class LaidCopy:
    """A released copy, laid on the combinations of values of one population."""

    members: Mapping[int, Flags]
    """By attribute of the population that it has, the values that each of its groups holds; shape (n_groups,
    n_values)."""
    cells: Codes
    """Group of each released record on each of these attributes, shape (n_records, n_own_attributes)."""
    people: NDArray[np.bytes_]
    """Name of each record's person, each once; shape (n_records,)."""
    own: Codes
    """Cell that the rule gives each combination of values of the population, −1 where it gives none; shape (n_tuples,
    n_own_attributes)."""


@dataclass(frozen=True)
class PooledCells:
    """Records of the first copy by the cells that they have in all; arrays of length n_signatures."""

    records: Counts
    """Records with the same cells in all copies: their class in the files."""
    people: Counts
    """People of the population who match all of these cells."""
    effective: Counts
    """People among them to whom each rule gives this very cell."""
    listed: Counts | None
    """The latter in the external register; None without one."""
    shared: int
    """Records of the first copy that some other copy has too."""
    narrowed: int
    """Shared records that fewer people match than match their cell in the first copy."""


def held_together(
    copies: Sequence[LaidCopy], today: TodaysCopy, holders: Iterable[Recipient], ground: TodaysPopulation
) -> tuple[dict[Measure, float], PooledCells]:
    """Gate figures of the records of the first of some pooled copies, at the groups that are left.

    `today` is that of the first copy, the one in question; of `holders`, who share the copies, at least one, the worst
    figures count. `ground` is the population that the copies are laid on, that of today or the same by more attributes
    (``by_more_attributes``). StageFailed says that the cells have too many intersections to be counted.
    """
    policy, table = today.request.policy, table_of(today.ground, today.request)
    population = ground.population
    found = laid_together(copies, population.codes, population.counts, table.listed)
    residual = risk_view(found.records, found.people, found.records, policy.risk_threshold, policy.small_cell)
    figures: dict[Measure, float] = {}
    for holder in holders:
        follower = own_follower(today.request, holder, population.total, from_below=table.from_below)
        informed = transparent_risk(found.people, found.effective, found.records, follower)
        profile = derive_profile(holder, *densest(found.effective, found.listed)).profile
        planned = judged_belief(profile, groups(table, found.effective, found.listed, found.records, profile.prior))
        own = risk_figures(residual, informed) | sequential_figures((planned,), holder.stakes.loss)
        figures = worst(own, [figures] if figures else [])
    return figures, found


def laid_together(
    copies: Sequence[LaidCopy], codes: Codes, people: Counts, listed: Counts | None = None
) -> PooledCells:
    """Groups of the first copy's records that are left for a holder of the other copies as well.

    `codes` are the values of each distinct combination of the population, shape (n_tuples, n_attributes); `people` have
    it, and `listed` of them are in the external register, shape (n_tuples,). StageFailed says that the cells have too
    many intersections to be counted.
    """
    by_record = [_pooled(copy, pd.Index(copy.people).get_indexer(pd.Index(copies[0].people))) for copy in copies]
    _, first, records = np.unique(same_cells(by_record), return_index=True, return_counts=True)
    pooled = [copy.at(first) for copy in by_record]
    matching, alone = (_matching(copies[:count], pooled, codes, people) for count in (len(copies), 1))
    effective = people_by_rule(pooled, people[:, None] if listed is None else np.column_stack([people, listed]))
    others = np.column_stack([np.zeros(len(first), dtype=np.bool_), *(copy.present for copy in pooled[1:])]).any(axis=1)
    return PooledCells(
        records=records.astype(np.int64),
        people=matching,
        effective=effective[:, 0],
        listed=None if listed is None else effective[:, 1],
        shared=int(records[others].sum()),
        narrowed=int(records[matching < alone].sum()),
    )


def _pooled(copy: LaidCopy, place: NDArray[np.intp]) -> PooledCopy:
    """A copy by the records of the first one, which are in some of its rows."""
    given = np.asarray((copy.own >= 0).all(axis=1))
    return PooledCopy(copy.cells[place], place >= 0, np.maximum(copy.own, 0), given)


def _matching(copies: Sequence[LaidCopy], pooled: Sequence[PooledCopy], codes: Codes, people: Counts) -> Counts:
    """People who match all cells of each row of the pooled copies."""
    held, codes, people = _folded(copies, codes, people)
    n_rows = len(pooled[0].present)
    if n_rows * len(codes) > _MOST_PAIRS:
        raise StageFailed(
            "releases cannot be pooled: their cells have too many intersections",
            where=f"{n_rows:,} intersections, {len(codes):,} combinations of values",
            expected=f"at most {_MOST_PAIRS:.0e} pairs of them",
            got=f"{n_rows * len(codes):.1e}",
            fix="release fewer quasi-identifiers, or wider groups; to re-assess a copy, name a population with fewer "
            "combinations of values: releasegate reassess RELEASE --under POPULATION",
        )
    found = np.zeros(n_rows, dtype=np.int64)
    sets = {axis: _sets(held, pooled, axis, codes) for axis in range(codes.shape[1])}
    finest_first = sorted(sets, key=lambda axis: -sets[axis][1].shape[1])
    _count(np.arange(n_rows), [(axis, *sets[axis]) for axis in finest_first], codes, people, found)
    return found


def _sets(
    held: Sequence[Mapping[int, Flags]], pooled: Sequence[PooledCopy], attribute: int, codes: Codes
) -> tuple[NDArray[np.intp], Flags]:
    """Values of an attribute that are in all cells of a row: which set it is, and what each of the sets holds."""
    cells = [
        (members[attribute], np.where(rows.present, rows.cells[:, list(members).index(attribute)], -1))
        for members, rows in zip(held, pooled, strict=False)
        if attribute in members
    ]
    if not cells:
        return np.zeros(len(pooled[0].present), dtype=np.intp), np.ones((1, codes[:, attribute].max() + 1), np.bool_)
    used, which = np.unique(np.column_stack([cell for _, cell in cells]), axis=0, return_inverse=True)
    sets = np.ones((len(used), cells[0][0].shape[1]), dtype=np.bool_)
    for (groups_hold, _), cell in zip(cells, used.T, strict=True):
        sets &= groups_hold[cell] | (cell < 0)[:, None]
    return which.ravel(), sets


def _count(
    rows: NDArray[np.intp],
    attributes: Sequence[tuple[int, NDArray[np.intp], Flags]],
    codes: Codes,
    people: Counts,
    found: Counts,
) -> None:
    """Count the people of some combinations in some rows, those with the same set of the first attribute at once."""
    if not attributes:
        found[rows] = people.sum()
        return
    (attribute, which, sets), *others = attributes
    rows = rows[np.argsort(which[rows], kind="stable")]
    for alike in np.split(rows, np.flatnonzero(np.diff(which[rows])) + 1):
        inside = sets[which[alike[0]]][codes[:, attribute]]
        _count(alike, others, codes[inside], people[inside], found)


def _folded(copies: Sequence[LaidCopy], codes: Codes, people: Counts) -> tuple[list[dict[int, Flags]], Codes, Counts]:
    """Values that every group of all copies holds or lacks alike folded into one, and equal combinations added up."""
    held, codes = [dict(copy.members) for copy in copies], codes.copy()
    for attribute in range(codes.shape[1]):
        having = [members for members in held if attribute in members]
        stacked = [members[attribute] for members in having] or [np.zeros((1, codes[:, attribute].max() + 1), bool)]
        _, first, atoms = np.unique(np.concatenate(stacked), axis=1, return_index=True, return_inverse=True)
        codes[:, attribute] = atoms.ravel()[codes[:, attribute]]
        for members in having:
            members[attribute] = members[attribute][:, first]
    codes, place = np.unique(codes, axis=0, return_inverse=True)
    return held, codes, np.bincount(place.ravel(), weights=people, minlength=len(codes)).astype(np.int64)


def by_more_attributes(ground: TodaysPopulation, kept: Kept) -> TodaysPopulation:
    """The population by attributes that only an earlier copy has as well, where it counted the same people.

    That copy has all attributes of the population, and as many people of each combination of these. Otherwise, and
    where a register counts people or some had no value of such an attribute, the population is returned as it is.
    """
    own, then = ground.hierarchies, kept.hierarchies
    more = {name: tree for name, tree in then.items() if name not in own}
    unclear = ground.register is not None or any(tree.missing_leaf >= 0 for tree in more.values())
    if unclear or not more or not own.keys() <= then.keys():
        return ground
    leaves = {name: tree.encode(np.asarray(then[name].labels[0], dtype=object)) for name, tree in (own | more).items()}
    codes = np.column_stack([leaves[name][codes] for name, codes in zip(then, kept.population.codes.T, strict=True)])
    codes = codes[:, [list(then).index(name) for name in leaves]]
    if (codes < 0).any():
        return ground
    trees, counts, now = own | more, kept.population.counts, ground.population
    same, _ = distinct_tuples(codes[:, : len(own)], list(own.values()), counts)
    if not (np.array_equal(same.keys, now.keys) and np.array_equal(same.counts, now.counts)):
        return ground
    return replace(ground, hierarchies=trees, population=distinct_tuples(codes, list(trees.values()), counts)[0])


def copy_of(delivered: Delivered, ground: TodaysPopulation, memory_limit: int = 2**30) -> LaidCopy:
    """A delivered copy on the population of another one.

    StageFailed says that the population does not have its attributes, or has them in other values, the file cannot be
    read, or the values of an attribute's groups take more bytes than the limit.
    """
    kept = delivered.kept
    rows, order = delivered.rows(tuple(kept.hierarchies), kept.axis_labels)
    lacking = {name for name in kept.hierarchies if name not in ground.hierarchies}
    kept, rows, missing = without_whole(kept, rows, lacking)
    if missing:
        several, names = len(missing) > 1, ", ".join(missing)
        raise _not_pooled(
            delivered,
            f"that copy has the quasi-identifier{'s' * several} {names}, which this one has not, and no "
            "population was counted by the quasi-identifiers of both",
            f"declare {names} here too, with {'hierarchies' if several else 'the hierarchy'} of that request; or take "
            "its population and no further quasi-identifiers",
        )
    leaves = leaves_in(kept, ground.hierarchies, ground.population.codes)
    unlike = leaves.max(axis=0, initial=-1) < 0
    if unlike.any():
        names = ", ".join(name for name, differs in zip(kept.hierarchies, unlike, strict=True) if differs)
        raise _not_pooled(
            delivered, f"that copy and this one have no value of {names} in common", "write these values alike in both"
        )
    real = order < len(kept.people)
    return _laid(kept, (rows[real], kept.people[order[real]]), ground, leaves, memory_limit)


def without_whole(kept: Kept, rows: Codes, names: Collection[str]) -> tuple[Kept, Codes, tuple[str, ...]]:
    """A copy without those of some attributes that it has in one group of all values: as if it had never had them.

    Such a group tells nobody apart, neither among the rows of the file, decoys included, nor among the people to whom
    the rule gives a cell. An attribute stays if the rest of the rule depends on it: who knows a person's value knows
    then to which cells of the others it leads.

    Parameters
    ----------
    rows : array of shape (n_rows, n_attributes)
        Cells of the rows of the file.
    names : collection of str
        Attributes that are not wanted.

    Returns
    -------
    kept, rows
        Without them; unchanged where one has to stay.
    stay : tuple of str
        Names of attributes that have to stay, none where all can go.
    """
    trees, made, people = kept.hierarchies, kept.generalization, kept.population
    axes = [axis for axis, name in enumerate(trees) if name not in names]
    if len(axes) == len(trees):
        return kept, rows, ()
    parted = {name: tree for name, tree in trees.items() if name not in names}
    if made.own is None or not parted:
        return kept, rows, tuple(name for name in trees if name in names)
    counted = np.ones(len(people), dtype=np.bool_) if made.counted is None else made.counted
    stay = tuple(
        name
        for axis, (name, tree) in enumerate(trees.items())
        if name in names
        and not (
            len(used := np.unique(np.concatenate([rows[:, axis], made.own[counted, axis]]))) == 1
            and _members(kept, axis, used, tree.labels[0]).all()
        )
    )
    population, place = distinct_tuples(people.codes[:, axes], list(parted.values()), people.counts)
    rule = np.where(counted[:, None], made.own, -1)
    _, first = np.unique(place, return_index=True)
    if stay or (rule != rule[first][place]).any():
        return kept, rows, stay or tuple(name for name in trees if name in names)
    left = replace(
        made,
        levels=made.levels[:, axes],
        cells=made.cells[:, axes],
        own=made.own[first][:, axes],
        counted=None if made.counted is None else counted[first],
    )
    kept = replace(
        kept,
        hierarchies=parted,
        axis_labels=tuple(kept.axis_labels[axis] for axis in axes),
        grouped=tuple(kept.grouped[axis] for axis in axes),
        population=population,
        generalization=left,
    )
    return kept, rows[:, axes], ()


def copy_of_candidate(candidate: Candidate, kept: Kept, ground: TodaysPopulation) -> LaidCopy:
    """A copy that is not delivered yet, on its own population, with its names as they will be kept.

    Errors are those of ``copy_of``.
    """
    cells = candidate.generalization.cells[candidate.prepared.tuple_of_record[candidate.rows]]
    leaves = leaves_in(kept, ground.hierarchies, ground.population.codes)
    limit = candidate.request.policy.generalization.memory_limit_mb * 2**20
    return _laid(kept, (cells, kept.people), ground, leaves, limit)


def _laid(
    kept: Kept, records: tuple[Codes, Names], ground: TodaysPopulation, leaves: Codes, memory_limit: int
) -> LaidCopy:
    """A copy by its records' cells and names."""
    rule, _, counted = rule_on(kept, leaves)
    names, cells, people = list(ground.hierarchies), records[0].copy(), records[1]
    own, members = np.full(rule.shape, -1, dtype=np.int32), {}
    for axis, name in enumerate(kept.hierarchies):
        values = ground.hierarchies[name].labels[0]
        used, numbers = np.unique(cells[:, axis], return_inverse=True)
        if len(used) * len(values) > memory_limit:
            raise StageFailed(
                "releases cannot be pooled: an attribute has too many groups of too many values",
                where=f"{len(used):,} groups, {len(values):,} values",
                expected="as many as policy.generalization.memory_limit_mb has room for",
                got=f"{len(used) * len(values) // 2**20:,} MB",
                fix="raise policy.generalization.memory_limit_mb",
            )
        members[names.index(name)] = _members(kept, axis, used, values)
        cells[:, axis] = numbers.ravel()
        own[counted, axis] = pd.Index(used).get_indexer(pd.Index(rule[counted, axis]))
    return LaidCopy(members, cells, people, own)


def _members(kept: Kept, axis: int, positions: Codes, values: Sequence[str]) -> Flags:
    """Values of the other population that each group holds."""
    tree = list(kept.hierarchies.values())[axis]
    leaf = tree.encode(np.asarray(values, dtype=object))
    known, members = leaf >= 0, np.zeros((len(positions), len(values)), dtype=np.bool_)
    for row, position in enumerate(positions):
        named = position < tree.axis_length
        groups_of = tree.positions[:, tree.axis_levels[position]] if named else kept.grouped[axis]
        members[row, known] = (groups_of == position)[leaf[known]]
    return members


def _not_pooled(delivered: Delivered, why: str, alike: str) -> StageFailed:
    """A copy that lacks what another can be compared by; whoever reports it names that copy."""
    return StageFailed(
        f"{why}, so that the two cannot be compared",
        fix=f"{alike}; or revoke that copy, where it was never delivered or is destroyed: "
        f"{revoking(delivered.record.release_id, delivered.record.recipient.id)}",
    )

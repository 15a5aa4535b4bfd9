"""Decoys of all recipients of a release together: their assignment, and the classes that every copy lacks.

Recipients whose copies are generalized alike and whose decoys have the same band of risk factors share a *file* of the
assignment. Recipients who get no decoys hold copies too, and may compare them: what others keep is missing from theirs.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from tasks.core.errors import ParameterError
from tasks.decoys.assignment import assign
from tasks.decoys.candidates import Candidates, RiskBand, find_candidates
from tasks.decoys.class_table import ClassTable, no_classes
from tasks.decoys.generalized_release import Flags, GeneralizedRelease
from tasks.decoys.lineage import Lineage, canonical_cells
from tasks.decoys.offer import offered, real_classes
from tasks.decoys.removal import Assignment, Ground, Wanted, ground
from tasks.decoys.same_origin import of_same_origin
from tasks.generalization.transparency import cell_numbers
from tasks.request.model import DecoyPolicy


@dataclass(frozen=True, eq=False)
class Asked:
    """One recipient's copy, before decoys."""

    recipient: str
    form: str
    """Equal for recipients whose copies are generalized alike."""
    release: GeneralizedRelease = field(repr=False)
    classes: int
    """Decoy classes that it is to get; 0 for none."""
    band: RiskBand
    """Risk multiplication factors that they may have; of no meaning where it gets none."""

    @property
    def file(self) -> tuple[str, float, float]:
        """Facts that recipients of one file have in common."""
        return (self.form, self.band.minimum, self.band.maximum) if self.classes else (self.form, 0.0, 0.0)


@dataclass(frozen=True)
class Plan:
    """The assignment of a first version."""

    asked: tuple[Asked, ...]
    minimum: int
    place: Ground
    found: Assignment
    candidates: tuple[Candidates | None, ...] = field(repr=False)
    """Candidates of each file; None where no recipient is to have decoys."""

    @cached_property
    def files(self) -> tuple[Asked, ...]:
        """The first recipient of each file."""
        return _firsts(self.asked)

    @property
    def holders(self) -> tuple[str, ...]:
        """Recipients with decoys, in the order of the shares; those beyond are seats."""
        return tuple(one.recipient for one in self.asked if one.classes)

    @cached_property
    def missing_classes(self) -> dict[str, Flags]:
        """Whether each released class of each recipient's file is missing from its copy."""
        starts = np.cumsum([0, *[len(table) for table in self.place.files]])
        kept = np.concatenate([share.kept + starts[share.generalization] for share in self.found.shares])
        gone = self.place.removed_for(kept)
        names = _names(self.asked)
        shares = dict(zip(self.holders, self.found.shares, strict=False))
        missing = {}
        for one in self.asked:
            number = names.index(one.file)
            flags = gone[starts[number] : starts[number + 1]].copy()
            if one.recipient in shares:
                flags[shares[one.recipient].kept] = False
            missing[one.recipient] = flags
        return missing


def plan(
    asked: Sequence[Asked],
    axes: Sequence[Lineage],
    policy: DecoyPolicy,
    minimum: int,
    generator: np.random.Generator,
) -> Plan:
    """Assign decoys and kept classes to all recipients.

    Parameters
    ----------
    asked : sequence of Asked
        All recipients of the release, one or more with decoys.
    axes : sequence of Lineage
        Of the hierarchies and of groups outside them.
    policy : DecoyPolicy
    minimum : int
        Smallest class, released or decoy, k, from 1.
    generator : numpy.random.Generator
        The same generator gives the same plan.

    Raises
    ------
    ParameterError
        If no recipient is to have decoys, there are no candidates, no assignment exists, or a copy would miss too many
        records; says what would do.
    StageFailed
        If the search for an assignment came to no end.
    """
    names, firsts, ratio = _names(asked), _firsts(asked), policy.kept_per_decoy
    seat = _greediest(asked)
    wanted = [Wanted(one.classes, names.index(one.file)) for one in asked if one.classes]
    wanted += [Wanted(seat.classes, names.index(seat.file))] * policy.seats
    candidates = tuple(find_candidates(one.release, minimum) if one.classes else None for one in firsts)
    files = [real_classes(one.release) for one in firsts]
    tables: list[ClassTable] = []
    for number, (one, own) in enumerate(zip(firsts, candidates, strict=True)):
        most = sum(want.decoys for want in wanted if want.generalization == number)
        barred = None if own is None else of_others(own, [*files, *tables], axes)
        tables.append(
            no_classes(len(axes))
            if own is None
            else offered(one.release, own, one.band, generator, most=most, ratio=ratio, barred=barred)
        )
    place = ground(files, tables, axes)
    budget = missing_limit(asked, policy)
    found = assign(place, wanted, ratio, generator, budget=budget)
    return _checked(Plan(tuple(asked), minimum, place, found, candidates), budget)


def missing_limit(asked: Sequence[Asked], policy: DecoyPolicy) -> int:
    """Most records that any copy may miss: the policy's share of the smallest file."""
    smallest = min(int(one.release.classes.sizes.sum()) for one in asked)
    return int(round(policy.missing_limit * smallest, 6))


def _greediest(asked: Sequence[Asked]) -> Asked:
    """The first of the recipients who are to get most."""
    wanting = [one for one in asked if one.classes]
    if not wanting:
        raise ParameterError(
            "no copy is left that decoys could be placed in",
            where="recipients",
            expected="at least one recipient with decoys whose data can be generalized",
            got="none",
            fix="see why the recipients with decoys have no copy; others can be released to without them",
        )
    return max(wanting, key=lambda one: one.classes)


def _names(asked: Sequence[Asked]) -> list[tuple[str, float, float]]:
    return list(dict.fromkeys(one.file for one in asked))


def _firsts(asked: Sequence[Asked]) -> tuple[Asked, ...]:
    by_name = {one.file: one for one in reversed(asked)}
    return tuple(by_name[name] for name in _names(asked))


def of_others(candidates: Candidates, tables: Sequence[ClassTable], axes: Sequence[Lineage]) -> Flags:
    """Whether each candidate is of the same origin as a class of some tables."""
    cells = canonical_cells(candidates.cells, axes, "candidates")
    found = np.zeros(len(cells), dtype=bool)
    for number, table in enumerate(tables, start=1):
        found |= of_same_origin(cells, canonical_cells(table.cells, axes, f"file {number}"), axes)
    return found


def _checked(made: Plan, budget: int) -> Plan:
    """The plan, if copies without decoys do not miss more than the budget either.

    Raises
    ------
    ParameterError
        If one does.
    """
    for one in made.asked:
        check_missing(
            one, made.missing_classes[one.recipient], budget, or_else="fewer decoys or a lower kept_per_decoy"
        )
    return made


def check_missing(one: Asked, missing: Flags, budget: int, *, or_else: str = "") -> None:
    """Refuse classes missing from a copy if they hold more records than the budget.

    Raises
    ------
    ParameterError
        If they do.
    """
    lost = int(one.release.classes.sizes[missing].sum())
    if lost > budget:
        raise ParameterError(
            "a copy would miss more records than policy.decoys.missing_limit allows",
            where=f"the copy of {one.recipient}",
            expected=f"at most {budget} records",
            got=str(lost),
            fix="raise policy.decoys.missing_limit" + (f", or ask for {or_else}" if or_else else ""),
        )


def missing_tuples(release: GeneralizedRelease, missing: Flags) -> Flags:
    """Whether each data tuple's records are in a class that is missing; shape (n_data_tuples,)."""
    numbers = cell_numbers(release.cells, release.axis_sizes)
    gone = np.unique(numbers[release.kept])[missing]
    flags: Flags = release.kept & np.isin(numbers, gone)
    return flags

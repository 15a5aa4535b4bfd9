"""Decoys of all recipients of a release together: their assignment, and the classes that every copy lacks.

Recipients whose copies are generalized alike share a *file*; those whose decoys also have the same band of risk factors
share an *offer* of it. Recipients who get no decoys hold copies too, and may compare them: what others keep is missing
from theirs.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tasks.candidate.candidate import Candidate
from tasks.core.errors import ParameterError
from tasks.decoys.assignment import Assignment, AssignmentProblem, Demand, Offer, assign
from tasks.decoys.classes import ClassTable, Flags, Lineage, lineages, of_same_origin
from tasks.decoys.decoy_cells import DecoyCells, RiskBand, find_decoy_cells, offered, ranked
from tasks.decoys.linked_release import LinkedRelease
from tasks.request.model import DecoyPolicy, DecoyTerms


@dataclass(frozen=True, eq=False)
class CopyToMark:
    """One recipient's copy, before decoys."""

    recipient: str
    form: str
    """Equal for recipients whose copies are generalized alike."""
    release: LinkedRelease = field(repr=False)
    classes: int
    """Decoy classes that it is to get; 0 for none."""
    band: RiskBand
    """Risk multiplication factors that they may have; of no meaning where it gets none."""

    @property
    def offer(self) -> tuple[str, RiskBand]:
        """What recipients of one offer have in common."""
        return self.form, self.band


def copies_to_mark(candidates: Sequence[Candidate]) -> tuple[CopyToMark, ...]:
    """The copies of some recipients; those that are generalized alike share one release."""
    releases: dict[str, LinkedRelease] = {}
    copies = []
    for candidate in candidates:
        release = LinkedRelease.of(candidate)
        form = hashlib.sha256(
            b"".join(part.tobytes() for part in (release.cells, release.released, release.own))
        ).hexdigest()
        # Who asks for none may hold some of a version before; detection is then measured on the usual band.
        terms = candidate.recipient.decoys or DecoyTerms(classes=1)
        classes = terms.classes if candidate.recipient.decoys else 0
        band = RiskBand(terms.minimum_risk_factor, terms.maximum_risk_factor)
        copies.append(CopyToMark(candidate.recipient.id, form, releases.setdefault(form, release), classes, band))
    return tuple(copies)


def axes_of(candidate: Candidate) -> tuple[Lineage, ...]:
    """Lineage of each attribute of a candidate, Safe Harbor's groups outside the hierarchies included.

    Raises
    ------
    HierarchyError
        If the levels of a hierarchy cross.
    """
    outside = [axis.positions if axis.extra_labels else None for axis in candidate.index.safe_harbor]
    return lineages(candidate.index.hierarchies, outside)


def minimum_class(candidate: Candidate) -> int:
    """Smallest class, released or decoy, k."""
    policy = candidate.request.policy.generalization
    return max(policy.minimum_class_size, policy.k_anonymity.k if policy.k_anonymity else 1)


@dataclass(frozen=True)
class DecoyPlan:
    """The assignment of a first version."""

    problem: AssignmentProblem
    found: Assignment
    holders: tuple[str, ...]
    """Recipients with decoys, in the order of the shares; those beyond are seats."""
    demands: tuple[Demand, ...]
    files: tuple[str, ...]
    """Form of the copies of each file."""

    def decoys(self, share: int) -> ClassTable:
        """Decoy classes of a share."""
        return self.problem.offers[self.demands[share].offer].classes.take(self.found.shares[share].decoys)

    def missing(self, copy: CopyToMark) -> Flags:
        """Whether each released class is missing from a copy, for what others keep."""
        starts, file = self.problem.starts, self.files.index(copy.form)
        kept = np.concatenate([share.kept + starts[share.file] for share in self.found.shares])
        missing: Flags = self.problem.removed_for(kept)[starts[file] : starts[file + 1]]
        if copy.recipient in self.holders:
            missing[self.found.shares[self.holders.index(copy.recipient)].kept] = False
        return missing


def plan(
    copies: Sequence[CopyToMark],
    axes: Sequence[Lineage],
    policy: DecoyPolicy,
    minimum: int,
    generator: np.random.Generator,
) -> DecoyPlan:
    """Assign decoys and kept classes to all recipients.

    Parameters
    ----------
    copies : sequence of CopyToMark
        Of all recipients of the release.
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
        If no recipient is to have decoys, there are no cells for them, no assignment exists, or a copy would miss too
        many records; says what would do.
    StageFailed
        If the search for an assignment came to no end.
    """
    marked = [one for one in copies if one.classes]
    if not marked:
        raise ParameterError(
            "no copy is left that decoys could be placed in",
            where="recipients",
            expected="at least one recipient with decoys whose data can be generalized",
            got="none",
            fix="see why the recipients with decoys have no copy; others can be released to without them",
        )
    forms = {one.form: one.release for one in copies}
    files, names = tuple(forms), list(dict.fromkeys(one.offer for one in marked))
    demands = [Demand(names.index(one.offer), one.classes) for one in marked]
    seat = max(marked, key=lambda one: one.classes)
    demands += [Demand(names.index(seat.offer), seat.classes)] * policy.seats
    tables, offers = [release.classes for release in forms.values()], list[Offer]()
    for number, (form, band) in enumerate(names):
        cells = find_decoy_cells(forms[form], minimum)
        barred = of_others(cells, [*tables, *[offer.classes for offer in offers]], axes)
        order = ranked(cells, band, generator, ratio=policy.kept_per_decoy, barred=barred)
        most = sum(one.decoys for one in demands if one.offer == number)
        made = offered(cells, order, generator, most=most, ratio=policy.kept_per_decoy)
        offers.append(Offer(files.index(form), made))
    problem = AssignmentProblem(tuple(tables), tuple(offers), tuple(axes))
    budget = missing_limit(copies, policy)
    found = assign(problem, demands, policy.kept_per_decoy, generator, budget=budget)
    made_plan = DecoyPlan(problem, found, tuple(one.recipient for one in marked), tuple(demands), files)
    for one in copies:
        fix = "raise policy.decoys.missing_limit, or ask for fewer decoys or a lower kept_per_decoy"
        check_missing(one, made_plan.missing(one), budget, fix)
    return made_plan


def missing_limit(copies: Sequence[CopyToMark], policy: DecoyPolicy) -> int:
    """Most records that any copy may miss: the policy's share of the smallest file."""
    smallest = min(int(one.release.classes.records.sum()) for one in copies)
    return int(round(policy.missing_limit * smallest, 6))


def check_missing(one: CopyToMark, missing: Flags, budget: int, fix: str) -> None:
    """Refuse classes missing from a copy if they hold more records than the budget.

    Raises
    ------
    ParameterError
        If they do.
    """
    lost = int(one.release.classes.records[missing].sum())
    if lost > budget:
        raise ParameterError(
            "a copy would miss more records than policy.decoys.missing_limit allows",
            where=f"the copy of {one.recipient}",
            expected=f"at most {budget} records",
            got=str(lost),
            fix=fix,
        )


def of_others(cells: DecoyCells, tables: Sequence[ClassTable], axes: Sequence[Lineage]) -> Flags:
    """Whether each cell is of the same origin as a class of some tables."""
    return np.asarray(np.any([of_same_origin(cells.cells, table.cells, axes) for table in tables], axis=0))

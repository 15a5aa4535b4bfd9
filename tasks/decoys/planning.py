"""Decoys of all recipients of a release together: their assignment, and the classes that every copy lacks.

Recipients whose copies are generalized alike share a *file*; those whose decoys also have the same band of risk factors
share an *offer* of it. Recipients who get no decoys hold copies too, and may compare them: what others keep is missing
from theirs.

A recipient who holds two versions of a release compares them; recipients who come later compare with those who came
before. So

* a holder's decoys and kept classes stay its own in every version, and no other holder ever gets one of the same
  origin, even where the holder is not asked for any more;
* a newcomer takes a seat that was planned in the first version: its kept classes are missing from every copy already.
  Without a seat there are none: all that others hold is no longer any recipient's own;
* in a later version, real classes of the same origin as a decoy of any recipient are withheld from all copies, so that
  a decoy's cell holds its decoys and nothing else, now as before.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tasks.candidate.candidate import Candidate, Randomness
from tasks.core.errors import ParameterError
from tasks.decoys.assignment import Assignment, AssignmentProblem, Demand, Offer, assign
from tasks.decoys.classes import ClassTable, Flags, Lineage, canonical_cells, canonical_table, levels_of, lineages
from tasks.decoys.decoy_cells import DecoyCells, RiskBand, find_decoy_cells, offered, ranked
from tasks.decoys.linked_release import LinkedRelease
from tasks.decoys.manifest import DecoyManifest, Holder, Record, Version, hierarchies_digest
from tasks.decoys.origins import Origins, Placed, Roster, rosters_of
from tasks.microdata.hierarchy import Codes, Hierarchy
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
        """Properties that recipients of one offer have in common."""
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

    Raises as ``lineages``.
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

    def evasion(self, copies: Sequence[CopyToMark]) -> float:
        """Least share of the records of a copy with decoys that stand alone beside another copy."""
        shares = []
        for number, one in enumerate(one for name in self.holders for one in copies if one.recipient == name):
            real, kept = one.release.classes.records, self.found.shares[number].kept
            alone = int(real[kept].sum() + self.decoys(number).records.sum())
            rows = int(real[~self.missing(one)].sum() + self.decoys(number).records.sum())
            shares.append(alone / rows)
        return min(shares)

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
    """Assign decoys and kept classes to the recipients of all copies; `minimum` is the smallest class, k, from 1.

    A ParameterError says that no recipient is to have decoys, there are no cells for them, no assignment exists, or a
    copy would miss too many records, and what would do; StageFailed that the search came to no end.
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
    blend = all(band.blends for _, band in names)
    tables, offers = [release.classes for release in forms.values()], list[Offer]()
    rosters = rosters_of(list(forms.values()))
    for number, (form, band) in enumerate(names):
        cells = find_decoy_cells(forms[form], minimum)
        others = [*enumerate(tables), *[(offer.file, offer.classes) for offer in offers]]
        barred = of_others(cells, files.index(form), others, Origins(axes, rosters))
        order = ranked(cells, band, generator, ratio=policy.kept_per_decoy, barred=barred)
        most = sum(one.decoys for one in demands if one.offer == number)
        made = offered(cells, order, generator, most=most, ratio=policy.kept_per_decoy, by_people=band.blends)
        offers.append(Offer(files.index(form), made))
    problem = AssignmentProblem(tuple(tables), tuple(offers), tuple(axes), by_people=blend, rosters=rosters)
    budget = missing_limit(copies, policy)
    found = assign(problem, demands, policy.kept_per_decoy, generator, budget=budget)
    made_plan = DecoyPlan(problem, found, tuple(one.recipient for one in marked), tuple(demands), files)
    for one in copies:
        fix = "raise policy.decoys.missing_limit, or ask for fewer decoys or a lower kept_per_decoy"
        check_missing(one, made_plan.missing(one), budget, fix)
    return made_plan


def costly_plan(
    copies: Sequence[CopyToMark],
    axes: Sequence[Lineage],
    policy: DecoyPolicy,
    minimum: int,
    generators: Randomness,
) -> tuple[DecoyPlan, int]:
    """A plan with the fewest kept classes a decoy, from the policy's own, that evasion costs enough; and that number.

    Raises as ``plan``; a ParameterError says what evasion costs at most where more kept classes cannot be had.
    """
    ratio, best = policy.kept_per_decoy, 0.0
    while True:
        try:
            raised = policy.model_copy(update={"kept_per_decoy": ratio})
            made = plan(copies, axes, raised, minimum, generators("plan"))
        except ParameterError:
            if ratio == policy.kept_per_decoy:
                raise
            raise ParameterError(
                "decoys cannot be made as costly to evade as policy.decoys.evasion_cost asks",
                where="policy.decoys.evasion_cost",
                expected=f"at least {policy.evasion_cost:g} of the records of each copy with decoys",
                got=f"at most {best:.4f}, with {ratio - 1} kept classes a decoy or fewer",
                fix="lower evasion_cost, raise missing_limit, or ask for more decoy classes",
            ) from None
        best = made.evasion(copies)
        if best >= policy.evasion_cost:
            return made, ratio
        ratio += 1


def missing_limit(copies: Sequence[CopyToMark], policy: DecoyPolicy) -> int:
    """Most records that any copy may miss: the policy's share of the smallest file."""
    smallest = min(int(one.release.classes.records.sum()) for one in copies)
    return int(round(policy.missing_limit * smallest, 6))


def check_missing(one: CopyToMark, missing: Flags, budget: int, fix: str) -> None:
    """Raise a ParameterError if the classes missing from a copy hold more records than the budget."""
    lost = int(one.release.classes.records[missing].sum())
    if lost > budget:
        raise ParameterError(
            "a copy would miss more records than policy.decoys.missing_limit allows",
            where=f"the copy of {one.recipient}",
            expected=f"at most {budget} records",
            got=str(lost),
            fix=fix,
        )


def of_others(cells: DecoyCells, file: int, others: Sequence[tuple[int, ClassTable]], origins: Origins) -> Flags:
    """Whether each cell of a file is of the same origin as a class of some files' tables."""
    placed = Placed(cells.cells, np.full(len(cells), file))
    return np.asarray(np.any([origins.related(placed, Placed.of([table], [file])) for file, table in others], axis=0))


def manifest_of(
    made: DecoyPlan, ratio: int, release: str, hierarchies: Sequence[Hierarchy], rows: Sequence[Sequence[Record]]
) -> DecoyManifest:
    """The manifest of a first version, with the decoy records of each share, seats included."""
    files, axes = made.problem.files, made.problem.axes
    holders = tuple(
        Holder(
            recipient=made.holders[number] if number < len(made.holders) else None,
            generalization=share.file,
            decoys=canonical_table(made.decoys(number), axes),
            kept=canonical_table(files[share.file].take(share.kept), axes),
            rows=tuple(rows[number]),
        )
        for number, share in enumerate(made.found.shares)
    )
    rosters = tuple(roster.written() for roster in made.problem.rosters)
    version = Version(release, tuple(canonical_table(table, axes) for table in files), rosters)
    return DecoyManifest(hierarchies_digest(hierarchies), ratio, (version,), holders)


def continued(
    manifest: DecoyManifest,
    copies: Sequence[CopyToMark],
    release_id: str,
    hierarchies: Sequence[Hierarchy],
    axes: Sequence[Lineage],
    *,
    budget: int,
) -> tuple[DecoyManifest, dict[str, Flags]]:
    """The manifest with a further version and its newcomers, and the classes that the copy of each recipient misses.

    A recipient who holds decoys keeps them, whatever it asks for now; no copy may miss more records than the budget. A
    ParameterError says that this version does not match the earlier ones, a new recipient has no seat, or a copy would
    miss too much.
    """
    if hierarchies_digest(hierarchies) != manifest.hierarchies:
        raise ParameterError(
            "the hierarchies are not those of the first version",
            where="hierarchies",
            expected="the same values and groups, in the same order, in every version of a release with decoys",
            got="others",
            fix="use the hierarchies of the first version, or make a release of its own for new recipients",
        )
    by_rule = bool(manifest.versions[-1].rosters)
    if not by_rule and any(one.release.remainders for one in copies):
        raise ParameterError(
            "remainder classes cannot follow versions without them",
            where="the method of " + ", ".join(one.recipient for one in copies if one.release.remainders),
            expected="methods without remainder classes, as in the first version",
            got="remainder classes",
            fix="give these recipients the method of the version before, or make a release of its own",
        )
    file_of = {holder.recipient: holder.generalization for holder in manifest.holders if holder.recipient is not None}
    holders, rosters = list(manifest.holders), list[str]()
    for one in copies:
        if one.classes and one.recipient not in manifest.recipients:
            file_of[one.recipient] = _file_as(one, copies, file_of)
            _take_seat(holders, one, file_of[one.recipient])
    files = []
    for number, before in enumerate(manifest.versions[-1].files):
        own = [one for one in copies if file_of.get(one.recipient) == number]
        if len({one.form for one in own}) > 1:
            raise ParameterError(
                "recipients whose copies were generalized alike are to get different ones",
                where=", ".join(one.recipient for one in own),
                expected="the generalization of the version that is continued",
                got="several",
                fix="give them the same method and stakes as in the version before",
            )
        files.append(canonical_table(own[0].release.classes, axes) if own else before)
        if by_rule:
            rosters.append(Roster.of(own[0].release).written() if own else manifest.versions[-1].rosters[number])
        decoys = [holder.decoys.cells for holder in holders if holder.generalization == number]
        if own and decoys:
            _check_levels(own[0].release, np.concatenate(decoys), axes, f"file {number + 1}")
    version = Version(release_id, tuple(files), tuple(rosters))
    grown = replace(manifest, holders=tuple(holders), versions=(*manifest.versions, version))
    missing = {one.recipient: missing_from(one, grown, axes) for one in copies}
    for one in copies:
        check_missing(one, missing[one.recipient], budget, "raise policy.decoys.missing_limit")
    return grown, missing


def missing_from(one: CopyToMark, manifest: DecoyManifest, axes: Sequence[Lineage]) -> Flags:
    """Classes that a copy lacks: of the origin of any decoy or kept class, but for those that it keeps itself."""
    cells = canonical_table(one.release.classes, axes).cells
    taken = [table for other in manifest.holders for table in (other.kept, other.decoys)]
    files = [number for other in manifest.holders for number in (other.generalization,) * 2]
    rosters = [Roster.read(text) for text in manifest.versions[0].rosters]
    if rosters:
        rosters.append(Roster.of(one.release))
    mine = Placed(cells, np.full(len(cells), len(manifest.versions[0].files)))
    missing = Origins(axes, rosters).related(mine, Placed.of(taken, files))
    for holder in manifest.holders:
        if holder.recipient == one.recipient:
            own = {cell.tobytes() for cell in holder.kept.cells}
            missing &= [cell.tobytes() not in own for cell in cells]
    return missing


def _file_as(newcomer: CopyToMark, copies: Sequence[CopyToMark], file_of: Mapping[str, int]) -> int:
    """The file of a recipient of an earlier version whose copy is generalized as the newcomer's."""
    for one in copies:
        if one.recipient in file_of and one.form == newcomer.form:
            return file_of[one.recipient]
    raise ParameterError(
        "no earlier recipient's copy is generalized like the new recipient's",
        where=f"recipient {newcomer.recipient}",
        expected="the generalization and the stakes of a recipient of the version that is continued",
        got="others",
        fix="give it those of such a recipient, or make a release of its own, without “continues”, for new recipients",
    )


def _take_seat(holders: list[Holder], newcomer: CopyToMark, file: int) -> None:
    seats = [n for n, one in enumerate(holders) if one.recipient is None and one.generalization == file]
    if not seats:
        raise ParameterError(
            "there is no seat for a further recipient",
            where=f"recipient {newcomer.recipient}",
            expected="a free seat for each new recipient, in a copy of its generalization",
            got=f"{sum(one.recipient is None for one in holders)} seats, over all generalizations",
            fix="plan more seats in the first version of the next release; in this one all real classes are held "
            "by somebody, and a new recipient's decoys could be found by comparing copies",
        )
    planned = len(holders[seats[0]].decoys)
    if newcomer.classes != planned:
        raise ParameterError(
            "a newcomer asks for more or fewer decoy classes than a seat holds",
            where=f"recipient {newcomer.recipient}",
            expected=f"{planned} decoy classes, as were planned for every seat",
            got=str(newcomer.classes),
            fix="ask for as many, or make a release of its own, without “continues”, for new recipients",
        )
    holders[seats[0]] = replace(holders[seats[0]], recipient=newcomer.recipient)


def _check_levels(release: LinkedRelease, decoys: Codes, axes: Sequence[Lineage], where: str) -> None:
    """Refuse a file of other levels than the decoys have, or other remainder classes: they would not look like it."""
    if release.remainders:
        real, asked = canonical_cells(release.own, axes), decoys
    else:
        real, asked = levels_of(canonical_cells(release.classes.cells, axes), axes), levels_of(decoys, axes)
    known = {tuple(row) for row in np.unique(real, axis=0).tolist()}
    others = sum(tuple(row) not in known for row in asked.tolist())
    if others:
        raise ParameterError(
            "this version does not match the earlier ones",
            where=where,
            expected="the generalization of the first version, so that decoys look like real classes in both",
            got=f"other {'classes' if release.remainders else 'levels'} than {others} of the decoys have",
            fix="generalize it as the first version, or make a release of its own for recipients who hold none of this "
            "one",
        )

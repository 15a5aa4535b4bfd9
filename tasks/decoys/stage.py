"""The decoys of a release: planned or continued, their records drawn, and what became of each copy.

Pure but for the generators that are passed in; ``flows.pipeline.work`` reads and writes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from tasks.candidate.candidate import Candidate, Randomness
from tasks.core.errors import ParameterError
from tasks.decision.decoy_facts import AttemptFact, ChoiceFact, DecoyFact, DetectabilityFact, StatisticsFact
from tasks.decoys.classes import ClassTable, Flags, joined
from tasks.decoys.collusion import MarkedCopy, collusion
from tasks.decoys.copy_statistics import appended, statistics_fact
from tasks.decoys.decoy_cells import find_decoy_cells, offered, ranked
from tasks.decoys.detectability import LEAST_DECOYS, Planned, detectability
from tasks.decoys.linked_release import missing_tuples
from tasks.decoys.manifest import DecoyManifest, Holder, Record
from tasks.decoys.origins import Origins, Roster
from tasks.decoys.planning import (
    CopyToMark,
    DecoyPlan,
    axes_of,
    continued,
    copies_to_mark,
    costly_plan,
    manifest_of,
    minimum_class,
    missing_limit,
    of_others,
)
from tasks.decoys.records import (
    ClassRecords,
    RealRecords,
    as_texts,
    at_rows,
    draw_records,
    outbound_columns,
    refuse_own_values,
)
from tasks.decoys.value_formulas import Column, Columns
from tasks.microdata.hierarchy import Codes
from tasks.pseudonyms.pseudonyms import LARGEST
from tasks.request.model import ReleaseRequest

_TRIALS = (30, 60)
"""Fewest and most decoy classes that detection is measured on."""
_CELLS_A_TRIAL = 10
"""Cells of the band for each of them: decoys that use up the cells there are stand out more than a release's few."""


@dataclass(frozen=True)
class Planted:
    """The decoys of a release, with the facts reported of them; shows none."""

    manifest: DecoyManifest = field(repr=False)
    missing: dict[str, Flags] = field(repr=False)
    """By recipient, whether each data tuple's records are missing from its copy for others' kept classes."""
    facts: dict[str, DecoyFact]
    """By recipient with decoys; the commitment is not in them yet."""


def plant(
    candidates: Sequence[Candidate], release_id: str, before: DecoyManifest | None, generators: Randomness
) -> Planted:
    """Give every recipient who is to have decoys some, or those that it has by the manifest of the version before.

    One candidate a recipient, of one request and its data; at least one recipient asks for decoys, or holds some. A
    ParameterError says what would make decoys feasible; StageFailed is a search for an assignment that came to no end.
    """
    work = _Planting(candidates, generators)
    policy, trees = work.first.request.policy.decoys, work.first.index.hierarchies
    choice = None
    if before is None:
        made, ratio = costly_plan(work.copies, work.axes, policy, work.minimum, generators)
        manifest = manifest_of(made, ratio, release_id, trees, work.records_of(made))
        missing = {one.recipient: made.missing(one) for one in work.copies}
        found = made.found
        choice = ChoiceFact(status=found.status, bound=found.bound, worst_missing=found.worst_missing)
    else:
        budget = missing_limit(work.copies, policy)
        manifest, missing = continued(before, work.copies, release_id, trees, work.axes, budget=budget)
    tuples = {one.recipient: missing_tuples(one.release, missing[one.recipient]) for one in work.copies}
    return Planted(manifest, tuples, work.facts(manifest, missing, choice))


class _Planting:
    """Materials and measures shared by all decoys of a release."""

    def __init__(self, candidates: Sequence[Candidate], generators: Randomness) -> None:
        self.generators, self.first = generators, candidates[0]
        self.columns = outbound_columns(self.first.frame, self.first.request, self.first.masked)
        refuse_own_values(self.columns)
        refuse_repeated_identifiers(self.first.frame, self.first.request)
        self.axes, self.copies = axes_of(self.first), copies_to_mark(candidates)
        self.minimum = minimum_class(self.first)
        self._real = dict[str, RealRecords]()

    def real(self, one: CopyToMark) -> RealRecords:
        """The records of a copy; the same for copies generalized alike, whose relations are found once."""
        made = RealRecords(one.release, self.first.prepared.tuple_of_record, self.columns)
        return self._real.setdefault(one.form, made)

    def records_of(self, made: DecoyPlan) -> list[tuple[Record, ...]]:
        """Decoy records of each share, seats included."""
        generator, rows = self.generators("values"), list[tuple[Record, ...]]([()] * len(made.demands))
        common_from = self.first.request.policy.decoys.common_from
        for file, form in enumerate(made.files):
            shares = [number for number, share in enumerate(made.found.shares) if share.file == file]
            if shares:
                one = next(one for one in self.copies if one.form == form)
                tables = [made.decoys(number) for number in shares]
                drawn = draw_records(self.real(one), tables, generator, common_from=common_from)
                for number, part in zip(shares, drawn, strict=True):
                    rows[number] = as_texts(part, self.columns, self.first)
        if self.first.request.pseudonyms:
            rows = with_identifiers(rows, self.first.frame, self.first.request, self.generators("identifiers"))
        return rows

    def facts(
        self, manifest: DecoyManifest, missing: Mapping[str, Flags], choice: ChoiceFact | None
    ) -> dict[str, DecoyFact]:
        """Facts of each copy with decoys."""
        copies = {one.recipient: one for one in self.copies}
        holders = {holder.recipient: holder for holder in manifest.holders if holder.recipient in copies}
        held = [marked_copy(manifest, holder, missing[str(name)]) for name, holder in holders.items()]
        rosters = [Roster.read(text) for text in manifest.versions[-1].rosters]
        learned = collusion(held, self.axes, self.generators("collusion"), rosters=rosters)
        detected: dict[object, DetectabilityFact | None] = {}
        facts = {}
        for holder in holders.values():
            one = copies[str(holder.recipient)]
            if one.offer not in detected:
                detected[one.offer] = self._detected(one, holder, manifest)
            classes = one.release.classes
            facts[one.recipient] = DecoyFact(
                count=len(holder.rows),
                commitment_sha256="0" * 64,
                classes=len(holder.decoys),
                kept_per_decoy=manifest.ratio,
                planned_probability=1 / (1 + manifest.ratio),
                recipients=len(holders),
                missing=int(classes.records[missing[one.recipient]].sum()),
                choice=choice,
                collusion=learned,
                detectability=detected[one.offer],
                attempts=attempts(classes.take(~missing[one.recipient]), holder.decoys),
                statistics=self._statistics(one, holder, missing[one.recipient]),
            )
        return facts

    def _detected(self, one: CopyToMark, holder: Holder, manifest: DecoyManifest) -> DetectabilityFact | None:
        """Whether decoys drawn on the same terms can be distinguished; None where there are too few cells for them."""
        generator, cells = self.generators("detection"), find_decoy_cells(one.release, self.minimum)
        files = manifest.versions[-1].files
        others = [(number, table) for number, table in enumerate(files) if number != holder.generalization]
        origins = Origins(self.axes, [Roster.read(text) for text in manifest.versions[-1].rosters])
        most = int(np.clip(int(cells.in_band(one.band).sum()) // _CELLS_A_TRIAL, *_TRIALS))
        try:
            barred = of_others(cells, holder.generalization, others, origins) if others else None
            order = ranked(cells, one.band, generator, ratio=manifest.ratio, barred=barred)
        except ParameterError:
            return None
        table = offered(cells, order, generator, most=most, ratio=manifest.ratio, by_people=one.band.blends)
        if min(len(table), len(one.release.classes)) < LEAST_DECOYS:
            return None
        real, common = self.real(one), self.first.request.policy.decoys.common_from
        (drawn,) = draw_records(real, [table], generator, common_from=common)
        planned = None
        if self.columns.by_name:
            held = [other for other in manifest.holders if other.generalization == holder.generalization and other.rows]
            planned = Planned(
                real.rules, tuple(self._held(one, other) for other in held), len(holder.rows), 1 / (1 + manifest.ratio)
            )
        return detectability(one.release, drawn, real.released, self.columns.kinds, generator, planned=planned)

    def _held(self, one: CopyToMark, holder: Holder) -> ClassRecords:
        """A holder's decoys, which may be of a version before, with their groups where released classes have them."""
        cells = holder.decoys.cells.copy()
        for axis, line in enumerate(self.axes):
            for position in np.unique(one.release.classes.cells[:, axis]):
                cells[holder.decoys.cells[:, axis] == line.canonical[position], axis] = position
        table = ClassTable(cells, holder.decoys.records, holder.decoys.people)
        return ClassRecords(table, self.columns.read(holder.rows), np.repeat(np.arange(len(table)), table.records))

    def _statistics(self, one: CopyToMark, holder: Holder, missing: Flags) -> StatisticsFact:
        """The copy against the same copy without decoys and with no class missing."""
        request, class_of_tuple = self.first.request, one.release.class_of_tuple
        class_of_record = class_of_tuple[self.first.prepared.tuple_of_record]
        whole = np.flatnonzero(class_of_record >= 0)
        left = whole[~missing[class_of_record[whole]]]
        cells, names = one.release.classes.cells[class_of_record], request.quasi_identifiers
        decoys = np.repeat(holder.decoys.cells, holder.decoys.records, axis=0)
        before = _with_groups(at_rows(self.columns.values, whole), cells[whole], names)
        rest = _with_groups(at_rows(self.columns.values, left), cells[left], names)
        after = appended(rest, _with_groups(self.columns.read(holder.rows), decoys, names))
        return statistics_fact(before, after, request.policy.utility.target)


def _with_groups(columns: Columns, cells: Codes, names: Sequence[str]) -> dict[str, Column]:
    """Columns with released groups before them, as codes."""
    groups: dict[str, Column] = {name: cells[:, axis].astype(np.int64) for axis, name in enumerate(names)}
    return groups | dict(columns)


def marked_copy(manifest: DecoyManifest, holder: Holder, missing: Flags) -> MarkedCopy:
    """A holder's copy of the last version as others see it."""
    real = manifest.versions[-1].files[holder.generalization].take(~missing)
    decoy = np.arange(len(real) + len(holder.decoys)) >= len(real)
    return MarkedCopy(joined([real, holder.decoys]), decoy, holder.generalization)


def attempts(real: ClassTable, decoys: ClassTable) -> AttemptFact:
    """Risk of a copy with decoys in it, and of its real classes, at least one, alone; the gate judges these.

    A decoy lies in a cell of its own and changes no real record's risk. It changes what an intruder finds: part of the
    attempts, and the riskiest above all, hit a person who is not in the data.
    """
    every = joined([real, decoys])
    linked, is_real = 1 / np.maximum(every.people, 1), np.arange(len(every)) < len(real)
    at_risk = every.records * linked
    riskiest = linked >= linked[is_real].max()
    return AttemptFact(
        subjects_maximum=linked[is_real].max(),
        subjects_mean=at_risk[is_real].sum() / real.records.sum(),
        shown_maximum=linked.max(),
        shown_mean=at_risk.sum() / every.records.sum(),
        success=at_risk[is_real].sum() / every.records.sum(),
        lured=every.records[riskiest & ~is_real].sum() / every.records[riskiest].sum(),
    )


def withheld_with(candidate: Candidate, missing: Flags) -> Flags:
    """Tuples that a copy lacks: those its method withholds, and those missing for others' kept classes."""
    withheld = candidate.generalization.withheld
    return missing if withheld is None else missing | withheld


def refuse_repeated_identifiers(frame: pd.DataFrame, request: ReleaseRequest) -> None:
    """Refuse a column of pseudonyms whose identifiers repeat, by a ParameterError that names it.

    The pseudonym of a decoy is in one row, so that it would stand out among those in several.
    """
    for name in request.pseudonyms:
        repeated = int(frame[name].duplicated().sum())
        if repeated:
            raise ParameterError(
                "decoys have no pseudonyms like those of a column",
                where=f"column {name}",
                expected="an identifier of its own in each record",
                got=f"{repeated} records whose identifier an earlier record has",
                fix="withhold the column (role: withheld), or leave the decoys out",
            )


def with_identifiers(
    shares: Sequence[Sequence[Record]], frame: pd.DataFrame, request: ReleaseRequest, generator: np.random.Generator
) -> list[tuple[Record, ...]]:
    """Decoy records of each share with an identifier that nobody else has in each column of pseudonyms."""
    rows, names = sum(map(len, shares)), request.pseudonyms
    taken = {str(value) for name in names for value in frame[name].dropna()}
    drawn: list[str] = []
    while len(drawn) < rows * len(names):
        number = str(generator.integers(LARGEST))
        if number not in taken:
            taken.add(number)
            drawn.append(number)
    own = iter(drawn)
    return [tuple({**row, **{name: next(own) for name in names}} for row in share) for share in shares]

"""One released copy while it is assessed again: the inputs at its release, the inputs of today, and its coalitions."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from datetime import date, datetime, timedelta
from itertools import combinations, islice
from math import comb
from pathlib import Path
from typing import Literal

import numpy as np

from flows.library.policies import PolicyShelf
from flows.releases.cases import wait_and_settle
from flows.releases.delivered import DeliveredCopy, read_kept
from flows.releases.program import code_fact
from flows.releases.released_copies import Party, ReleasedCopies, ReleasedCopy
from flows.workspace.progress import step
from tasks.assessments.identity.uncertain.facts import UncertaintyFact
from tasks.core.canonical import digest
from tasks.core.errors import PopulationError, ReleasegateError, StageFailed
from tasks.core.files import file_sha256
from tasks.decision.context import DecisionContext, InvolvedPeople
from tasks.decision.disclosure_rounding import count
from tasks.decision.gates import agreement_gate, changes_gate, decoy_gate, judge_gates
from tasks.decision.overrides import GateOverrides, is_gate_override, with_overrides
from tasks.decision.record import GateResult, NotAssessed, PolicyFact
from tasks.decision.verdict import is_over, utc_day
from tasks.delivery.kept import Names
from tasks.ledger.entry import Event
from tasks.microdata.read import read_files, table_files
from tasks.reassessment import compare
from tasks.reassessment.commitments import commitments_then, commitments_today, not_measured
from tasks.reassessment.held_copies import few_changed, least_class
from tasks.reassessment.pooling import MEASURED_TOGETHER, LaidCopy, by_more_attributes, copy_of, held_together
from tasks.reassessment.population import TodaysPopulation, todays_population
from tasks.reassessment.record import (
    GateComparison,
    PooledCopies,
    Reassessment,
    ReassessmentInputs,
    RequestFrom,
    TodaysVerdict,
)
from tasks.reassessment.request import asked_today, policy_from
from tasks.reassessment.scoring import TodaysCopy, score_alone, score_with_originals
from tasks.request.load import LoadedRequest, load_request
from tasks.request.model import Measure, Recipient

_MOST_SETS = 50
"""Most sets of recipients who might share that are compared; the number left out is reported."""

_Kind = Literal["same recipient", "declared", "compared"]


@dataclass(frozen=True)
class TodaysFiles:
    """Inputs that replace those of the request."""

    policy: Path | None = None
    population: Path | None = None
    request: Path | None = None
    roots: tuple[Path, ...] = ()


AS_ASKED = TodaysFiles()
"""Everything as the request has it."""


_Held = tuple[LaidCopy, Recipient, bool]
"""A copy on the population of the assessed one, with its holder, and whether it has decoys."""


class CopyReassessment:
    """One copy while it is assessed: everything about it is read and compared with the records at once."""

    def __init__(self, own: DeliveredCopy, departures: ReleasedCopies, options: TodaysFiles, now: datetime) -> None:
        self.own, self.departures, self.now = own, departures, now
        self.not_measured: list[NotAssessed] = []
        self._laid: dict[str, _Held] = {}
        self.copy, self.decided, self.delivered = own.copy, own.record, own.delivered
        self._people: dict[str, Names] = {self.copy.name: self.delivered.kept.people}
        self.then = own.loaded(options.roots)
        self.request_from, found = self._request_of_today(options)
        policy = None if options.policy is None else policy_from(options.policy)
        self.asked = asked_today(self.then, self.copy.recipient, found, policy, options.population)
        """The request as it is judged today; the recipient of the copy comes first."""
        self.request = self.asked.request
        self.world = self._world(named=options.population is not None)
        self._ground = None if self.world is None else self.world.ground
        """Today's population, by the attributes of further copies where it can be."""
        entries = {one.sha256: one for one in own.ledger.entries(event=Event.OVERRIDDEN)}
        found_overrides = [entries[name] for name in self.decided.overrides if name in entries]
        self.overrides = tuple(GateOverrides.of(one) for one in found_overrides if is_gate_override(one))

    def _request_of_today(self, options: TodaysFiles) -> tuple[RequestFrom, LoadedRequest | None]:
        """Source of today's request, and the request; None where the one that was kept is taken."""
        then, named = self.then, options.request
        if named is None and not then.path.is_file():
            return "kept, none there", None
        try:
            place, roots = (named, options.roots) if named else (then.path, then.roots)
            found = load_request(place, roots, PolicyShelf(self.own.workspace.root))
        except ReleasegateError as error:
            if named is not None:
                raise
            self._note("today's request", f"taken as it was kept; {error.in_one_line()}")
            return "kept, another unreadable", None
        request, made = found.request, then.request
        kept = (request.quasi_identifiers, request.person_id, request.of_rows, list(request.tables))
        if kept != (made.quasi_identifiers, made.person_id, made.of_rows, list(made.tables)):
            return "kept, another of other data", None
        return "where it lay" if named is None else "named", found

    def _world(self, *, named: bool) -> TodaysCopy | None:
        """Today's request and population; None where the population cannot be read.

        Raises PopulationError if the caller has `named` a file that is no population.
        """
        try:
            if self.request.population.lacks and self._sha256("population") != self.decided.population.sha256:
                self._note("population", "the table changed, and the counts from the file are not kept")
                return None
            return TodaysCopy(self.request, todays_population(self.asked, self.delivered.kept))
        except StageFailed:
            raise
        except ReleasegateError as error:
            if named and isinstance(error, PopulationError):
                raise
            self._note("population", error.in_one_line())
            return None

    def record(self, due: date) -> Reassessment:
        """Assess the copy under today's terms and compare the result with the decision."""
        decided, policy, today = self.decided, self.request.policy, utc_day(self.now)
        world = self.world
        originals, gone = self._originals()
        limits, uncertainty = self._commitments()
        gates = (*self._gates(originals, uncertainty), *limits)
        made = self.then.request
        terms = self.request.policy.reassessment
        parties = self.departures.parties(made, made.recipient(self.copy.recipient), terms.together)
        others, apart = self._beside(frozenset[str]().union(*parties))
        others += [one for one in self.departures.of_the_same_people(self.copy) if one not in (*others, *apart)]
        related = {self.copy.release_id, *(one.release_id for one in others)}
        unrelated = {one.release_id for one in apart if one.recipient in parties[0]} - related
        judged, coalitions, left_out = self._coalitions(others, parties)
        agreement = self.request.recipients[0].agreement
        lapses = compare.lapses(decided, agreement, today)
        population = None if world is None else self._sha256("population")
        inputs = ReassessmentInputs(
            record_sha256=digest(decided),
            delivered_sha256=str(decided.delivered_sha256),
            request_sha256=digest(
                self.request.model_dump(mode="json", exclude={"population": {"path"}, "external_data": {"path"}})
            ),
            request_from=self.request_from,
            dataset_sha256=decided.dataset.source_sha256 if originals else None,
            population_sha256=population,
            external_sha256=self._sha256("external_data"),
            code=code_fact(),
            in_force=not is_over(agreement.expires, today),
            lapsing=compare.named(lapses),
            others=tuple(sorted(one.name for one in others)),
            hindrances=(
                *(f"{one.stage}: {one.reason}" for one in self.not_measured),
                *(f"{one.kind}, {' '.join(one.releases)}: {one.cannot}" for one in coalitions if one.cannot),
            ),
        )
        people = None if world is None else world.ground.population.total
        found = Reassessment(
            release_id=self.copy.release_id,
            recipient=self.copy.recipient,
            organisation=decided.recipient.organisation,
            title=decided.title,
            released_at=self.copy.released.at,
            reassessed_at=self.now,
            verdict=compare.verdict_of(gates, coalitions, self.not_measured),
            before=TodaysVerdict.HOLDS,
            because=(),
            causes=compare.causes(
                decided,
                then=self.then.request,
                now=self.request,
                inputs=inputs,
                people=people,
                data=gone,
                further=sorted({one.release_id for one in judged} - {self.copy.release_id}),
            ),
            gates=gates,
            uncertainty_then=decided.risk and decided.risk.uncertainty and decided.risk.uncertainty.approved,
            uncertainty=uncertainty,
            coalitions=coalitions,
            sets_left_out=left_out,
            unrelated=tuple(sorted(unrelated)),
            lapses=lapses,
            not_measured=tuple(self.not_measured),
            people_then=decided.population.people,
            people=people,
            strangers=0 if world is None else world.ground.strangers,
            rows_in=decided.dataset.rows_in,
            rows=decided.dataset.rows_out,
            decoyed=decided.decoys is not None,
            policy=PolicyFact.of(policy),
            policy_then=decided.policy,
            every_days=policy.reassessment.every_days,
            due=due,
            next_due=today + timedelta(days=policy.reassessment.every_days),
            inputs=inputs,
        )
        return found.model_copy(update={"because": compare.reasons(found)})

    def _note(self, stage: str, reason: str) -> None:
        self.not_measured.append(NotAssessed(stage=stage, reason=reason))

    def _originals(self) -> tuple[Path | None, str]:
        """The original data, where they are still the same; else the reason that they are not."""
        gone = "are gone"
        with suppress(ReleasegateError, OSError):
            path = self.then.resolve(self.then.request.dataset.path, "dataset.path")
            tables = {name: file_sha256(one) for name, one in table_files(self.then).items()}
            same = tables == {one.name: one.source_sha256 for one in self.decided.dataset.tables}
            if same and file_sha256(path) == self.decided.dataset.source_sha256:
                return path, ""
            gone = "have changed"
        for stage in ("validation", "record linkage", "utility"):
            self._note(stage, f"the original data {gone}")
        return None, gone

    def _gates(self, originals: Path | None, uncertainty: UncertaintyFact | None) -> tuple[GateComparison, ...]:
        """The gates then and today: with the originals, else from the bytes alone, as far as they can be measured."""
        decided, policy, world = self.decided, self.request.policy, self.world
        if world is not None and originals is not None:
            try:
                frame = read_files(originals, table_files(self.then), self.request)
                again = score_with_originals(self.delivered, world, frame, self._context(), uncertainty)
            except ReleasegateError as error:
                self._note("a stage", error.in_one_line())
            else:
                unmeasured = () if uncertainty else (Measure.PASSING_PROBABILITY,)
                return compare.compared_gates(compare.alone(decided.gates), again.gates, unmeasured)
        figures: dict[Measure, float] = {}
        if world is not None:
            step("scoring the delivered bytes alone")
            figures = score_alone(self.delivered, world, uncertainty)
        results = compare.rounded(judge_gates(policy.gates, figures), decoyed=decided.decoys is not None)
        missing = [gate.id for gate in results if gate.measured is None]
        then = compare.alone(decided.gates)
        return compare.compared_gates(then, self._excused((*self._conditions(), *results)), missing)

    def _excused(self, gates: Sequence[GateResult]) -> tuple[GateResult, ...]:
        """Gates; those that the release's overrides cover are marked."""
        answered = [one for one in self.overrides if one.recipient == self.copy.recipient]
        return with_overrides(gates, answered, self.request.policy.review.overridable)

    def _commitments(self) -> tuple[tuple[GateComparison, ...], UncertaintyFact | None]:
        """Limits of a budget then and today, and the gates under uncertain terms of today."""
        then = commitments_then(self.delivered)
        if self.world is not None:
            try:
                limits, uncertainty = commitments_today(self.delivered, self.world)
                return compare.compared_gates(then, limits), uncertainty
            except ReleasegateError as error:
                self._note("budget and uncertain terms", error.in_one_line())
        return compare.compared_gates(then, not_measured(then), [gate.id for gate in then]), None

    def _conditions(self) -> tuple[GateResult, ...]:
        agreement = agreement_gate(self.request.recipients[0].agreement, utc_day(self.now))
        if self.decided.decoys is None:
            return (agreement,)
        detectable = decoy_gate(self.decided.decoys, self.request.policy.decoys.maximum_detectability)
        return agreement, *compare.rounded([detectable], decoyed=True)

    def _context(self) -> DecisionContext:
        decided = self.decided
        population_sha256 = str(self._sha256("population"))
        kept = {"policy": decided.policy.enrolled} if digest(self.request.policy) == decided.policy.sha256 else {}
        if population_sha256 == decided.population.sha256:
            kept["population"] = decided.population.enrolled
        return DecisionContext(
            release_id=decided.release_id,
            request_sha256=decided.request_sha256,
            dataset_sha256=decided.dataset.source_sha256,
            tables_sha256={one.name: one.source_sha256 for one in decided.dataset.tables},
            population_sha256=population_sha256,
            code=code_fact(),
            seed_commitment_sha256=decided.seed_commitment_sha256,
            requested_at=decided.requested_at,
            people=InvolvedPeople(**decided.model_dump(include={one.name for one in fields(InvolvedPeople)})),
            decided_at=self.now,
            prev_record_sha256=self.own.ledger.head().sha256,
            inputs_id=decided.inputs_id,
            overrides=self.overrides,
            supersedes={} if decided.supersedes is None else {self.copy.recipient: decided.supersedes},
            enrolments={place: fact for place, fact in kept.items() if fact is not None},
        )

    def _sha256(self, part: Literal["population", "external_data"]) -> str | None:
        """SHA-256 of a file of today's request; None where it names none, or it cannot be read."""
        named = getattr(self.request, part)
        if named is None:
            return None
        if named.path is None:  # people are counted in the file, as they were at the release
            return self.decided.population.sha256
        try:
            return file_sha256(self.asked.resolve(named.path, f"{part}.path"))
        except (ReleasegateError, OSError):
            return None

    def _beside(self, party: Party) -> tuple[list[ReleasedCopy], list[ReleasedCopy]]:
        """Other copies that some recipients hold: some that may have people of this one, others that have none."""
        sharing, apart = list[ReleasedCopy](), list[ReleasedCopy]()
        for one in self.departures.held:
            if one.recipient in party and one.name != self.copy.name:
                with suppress(ReleasegateError):
                    kept = read_kept(self.own.workspace, one.release_id, one.recipient)
                    self._people[one.name] = kept.people
                    self._ground = self._ground and by_more_attributes(self._ground, kept)
                named = self._people.get(one.name)
                has_none = named is not None and not np.isin(named, self.delivered.kept.people).any()
                (apart if has_none else sharing).append(one)
        return sharing, apart

    def _coalitions(
        self, others: Sequence[ReleasedCopy], parties: Sequence[Party]
    ) -> tuple[tuple[ReleasedCopy, ...], tuple[PooledCopies, ...], int]:
        """All copies that are judged with this one; coalitions, those that are judged first; sets left out."""
        terms, made = self.request.policy.reassessment, self.then.request
        pooling = parties[1 : 1 + len(made.coalitions(made.recipient(self.copy.recipient)))]
        same = parties[0]
        further = sorted({one.recipient for one in others} - same)
        pairs = (chosen for size in range(1, terms.colluding) for chosen in combinations(further, size))
        sets: list[tuple[_Kind, frozenset[str]]] = [
            ("same recipient", same),
            *(("declared", one) for one in parties[1:]),
            *(("compared", same | set(one)) for one in islice(pairs, _MOST_SETS)),
        ]
        left_out = max(sum(comb(len(further), size) for size in range(1, terms.colluding)) - _MOST_SETS, 0)
        coalitions, judged, seen = [], list[ReleasedCopy](), set[frozenset[str]]()
        for kind, members in sets:
            copies = tuple(one for one in others if one.recipient in members)
            names = frozenset(one.name for one in copies)
            if copies and names not in seen:
                seen.add(names)
                judged += copies if kind != "compared" else ()
                coalitions.append(self._coalition(kind, copies, decided_with=members in pooling))
        return tuple(judged), tuple(coalitions), left_out

    def _coalition(self, kind: _Kind, others: Sequence[ReleasedCopy], *, decided_with: bool) -> PooledCopies:
        """Findings on a coalition that holds this copy and others.

        Overrides count only where the release was decided with these copies in mind.
        """
        copies = (self.copy, *others)
        found = PooledCopies(
            kind=kind,
            recipients=tuple(dict.fromkeys(one.recipient for one in copies)),
            releases=tuple(dict.fromkeys(one.release_id for one in copies)),
            judged=kind != "compared",
        )
        if self.world is None or self._ground is None:
            return found.model_copy(update={"cannot": "the population of today cannot be read"})
        try:
            held = [self._held(one, self._ground) for one in copies]
            holders = {holder.id: holder for _, holder, _ in reversed(held)}
            figures, together = held_together([laid for laid, _, _ in held], self.world, holders.values(), self._ground)
        except ReleasegateError as error:
            return found.model_copy(update={"cannot": error.in_one_line()})
        decoyed = any(has_decoys for _, _, has_decoys in held)
        gates = [gate for gate in self.request.policy.gates if gate.measure in MEASURED_TOGETHER]
        now = compare.rounded(judge_gates(gates, figures), decoyed=decoyed)
        if decided_with:
            now = self._excused(now)
        if kind != "compared" and self._few_changed(copies):
            now = (*now, changes_gate(least_class(self.request)))
        then = [gate for gate in self.decided.gates if gate.id in {one.id for one in now}]
        return found.model_copy(
            update={
                "gates": compare.compared_gates(then, now),
                "shared": count(together.shared) if decoyed else together.shared,
                "narrowed": count(together.narrowed) if decoyed else together.narrowed,
            }
        )

    def _few_changed(self, copies: Sequence[ReleasedCopy]) -> bool:
        """Whether this copy, or a later one among some, changes few people without a reason."""
        order = [one for one in self.departures.copies if one in copies]
        least = least_class(self.request)
        for place, one in enumerate(order[order.index(self.copy) :], order.index(self.copy)):
            new = self._people[one.name]
            before = [
                earlier
                for earlier in order[:place]
                if earlier.release_id != one.release_id and np.isin(self._people[earlier.name], new).any()
            ]
            if before and few_changed(new, [self._people[earlier.name] for earlier in before], least):
                copy = replace(self.own, copy=one)
                given = copy.loaded().request.changes_since
                explained = given is not None and given.release == before[-1].release_id
                if not (explained and copy.record.reviews_required > 0):
                    return True
        return False

    def _held(self, one: ReleasedCopy, ground: TodaysPopulation) -> _Held:
        """A copy laid on today's population, once."""
        if one.name in self._laid:
            return self._laid[one.name]
        memory = self.request.policy.generalization.memory_limit_mb * 2**20
        copy, holder = self.own, self.request.recipients[0]
        if one != self.copy:
            wait_and_settle(copy.workspace, copy.ledger, one.release_id)
            copy = replace(copy, copy=one)
            holder = copy.loaded().request.recipient(one.recipient)
        self._laid[one.name] = copy_of(copy.delivered, ground, memory), holder, copy.record.decoys is not None
        return self._laid[one.name]

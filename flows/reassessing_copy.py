"""One released copy while it is assessed again: the inputs at its release, the inputs of today, and its coalitions."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import cached_property
from itertools import combinations, islice
from math import comb
from pathlib import Path
from typing import Literal

from flows.delivered import (
    Departures,
    Left,
    delivered_of,
    left_at,
    place_of_request,
    record_of,
    request_of,
    settle,
)
from flows.identity import code_fact
from flows.progress import step
from flows.workspace import Workspace
from tasks.assessments.identity.uncertainty_facts import UncertaintyFact
from tasks.core.canonical import digest
from tasks.core.errors import ReleasegateError, StageFailed
from tasks.core.files import file_sha256
from tasks.decision.context import DecisionContext
from tasks.decision.gates import agreement_gate, decoy_gate, judge_gates
from tasks.decision.overrides import GateOverrides, is_gate_override, with_overrides
from tasks.decision.record import DecisionRecord, GateResult, NotAssessed, PolicyFact
from tasks.decision.verdict import is_over, utc_day
from tasks.ledger.entry import Event
from tasks.ledger.store import Ledger
from tasks.microdata.read import read_microdata
from tasks.reassessment import compare, dates
from tasks.reassessment.commitments import commitments_then, commitments_today, not_measured
from tasks.reassessment.pooling import MEASURED_TOGETHER, LaidCopy, copy_of, held_together
from tasks.reassessment.population import todays_population
from tasks.reassessment.record import (
    GateComparison,
    PooledCopies,
    Reassessment,
    ReassessmentInputs,
    RequestFrom,
    TodaysVerdict,
)
from tasks.reassessment.request import asked_today, kind_of, policy_from
from tasks.reassessment.scoring import Delivered, Today, score_alone, score_with_originals
from tasks.request.load import LoadedRequest, load_request
from tasks.request.model import Measure, Recipient, ReleaseRequest

_MOST_SETS = 50
"""Sets of recipients who might share that are compared; how many are left out is reported."""

_Kind = Literal["same recipient", "declared", "compared"]


@dataclass(frozen=True)
class TodaysFiles:
    """Inputs that replace those of the request."""

    policy: Path | None = None
    population: Path | None = None
    request: Path | None = None
    roots: tuple[Path, ...] = ()

    @classmethod
    def of(cls, files: Sequence[Path], roots: tuple[Path, ...]) -> "TodaysFiles":
        """From files of any of the three kinds, told apart by what they hold; the last of a kind counts."""
        return cls(**{kind_of(file): file for file in files}, roots=roots)


AS_ASKED = TodaysFiles()
"""Everything as the request has it."""


_Held = tuple[LaidCopy, Recipient, bool]
"""A copy on the population of the one that is assessed, who holds it, and whether it has decoys."""


@dataclass
class CopyReassessment:
    """One copy while it is assessed."""

    workspace: Workspace
    ledger: Ledger
    departures: Departures
    copy: Left
    options: TodaysFiles
    now: datetime
    not_measured: list[NotAssessed] = field(default_factory=list)
    _laid: dict[str, _Held] = field(default_factory=dict)

    @cached_property
    def decided(self) -> DecisionRecord:
        """The decision by which the copy was released."""
        return record_of(self.workspace, self.ledger, self.copy)

    @cached_property
    def delivered(self) -> Delivered:
        """The copy's bytes and what was kept of it, each compared with what was recorded."""
        return delivered_of(self.workspace, self.copy, self.decided)

    @cached_property
    def then(self) -> LoadedRequest:
        """The request as it was decided on."""
        path, roots = place_of_request(self.ledger, self.copy.release_id)
        return request_of(self.delivered.kept, path, [*roots, *self.options.roots])

    @cached_property
    def _request_of_today(self) -> tuple[RequestFrom, LoadedRequest | None]:
        """Source of today's request, and the request; None where the one that was kept is taken."""
        then, made = self.then, self.then.request
        if self.options.request is not None:
            origin: RequestFrom = "named"
            found = load_request(self.options.request, self.options.roots)
        elif then.path.is_file():
            origin = "where it lay"
            try:
                found = load_request(then.path, then.roots)
            except ReleasegateError as error:
                self._note("today's request", f"taken as it was kept; {error.in_one_line()}")
                return "kept, another unreadable", None
        else:
            return "kept, none there", None
        request = found.request
        same = request.quasi_identifiers == made.quasi_identifiers
        same = same and request.dataset.record_id == made.dataset.record_id
        return (origin, found) if same else ("kept, another of other data", None)

    @cached_property
    def asked(self) -> LoadedRequest:
        """The request as it is judged today: terms named by the caller, or of the request at this one's path."""
        policy = None if self.options.policy is None else policy_from(self.options.policy)
        request = self._request_of_today[1]
        return asked_today(self.then, self.copy.recipient, request, policy, self.options.population)

    @cached_property
    def request(self) -> ReleaseRequest:
        """The same; the recipient of the copy comes first."""
        return self.asked.request

    @cached_property
    def world(self) -> Today | None:
        """Today's request and population; None where the population cannot be read."""
        try:
            return Today(self.request, todays_population(self.asked, self.delivered.kept))
        except StageFailed:
            raise
        except ReleasegateError as error:
            self._note("population", error.in_one_line())
            return None

    def record(self, before: TodaysVerdict, due: date) -> Reassessment:
        """Assess the copy under today's terms and compare the result with the decision.

        Parameters
        ----------
        before : TodaysVerdict
            Verdict of the re-assessment before.
        due : date
            When this one was to be made.
        """
        decided, policy, today = self.decided, self.request.policy, utc_day(self.now)
        world = self.world
        originals, gone = self._originals()
        limits, uncertainty = self._commitments()
        gates = (*self._gates(originals, uncertainty), *limits)
        others = self.departures.of_the_same_people(self.copy)
        self._note_silent()
        judged, coalitions, left_out = self._coalitions(others)
        agreement = self.request.recipients[0].agreement
        lapses = dates.lapses(decided, agreement, today)
        population = None if world is None else self._sha256("population")
        inputs = ReassessmentInputs(
            record_sha256=digest(decided),
            delivered_sha256=str(decided.delivered_sha256),
            request_sha256=digest(
                self.request.model_dump(mode="json", exclude={"population": {"path"}, "external_data": {"path"}})
            ),
            request_from=self._request_of_today[0],
            dataset_sha256=decided.dataset.source_sha256 if originals else None,
            population_sha256=population,
            external_sha256=self._sha256("external_data"),
            code=code_fact(),
            in_force=not is_over(agreement.expires, today),
            lapsing=dates.named(lapses),
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
            released_at=left_at(self.copy),
            reassessed_at=self.now,
            verdict=compare.verdict_of(gates, coalitions, self.not_measured),
            before=before,
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
            unrelated=self._unrelated(others),
            lapses=lapses,
            not_measured=tuple(self.not_measured),
            people_then=decided.population.people,
            people=people,
            strangers=0 if world is None else world.ground.strangers,
            rows_in=decided.dataset.rows_in,
            rows=decided.dataset.rows_out,
            decoyed=decided.decoys is not None,
            policy=PolicyFact(
                id=policy.id,
                version=policy.version,
                sha256=digest(policy),
                risk_threshold=policy.risk_threshold,
                validity_days=policy.validity_days,
                small_cell=policy.small_cell,
                reassess_days=policy.reassessment.every_days,
            ),
            policy_then=decided.policy,
            every_days=policy.reassessment.every_days,
            due=due,
            next_due=dates.due_on(today, policy.reassessment.every_days),
            inputs=inputs,
        )
        return found.model_copy(update={"because": compare.reasons(found)})

    def _note(self, stage: str, reason: str) -> None:
        self.not_measured.append(NotAssessed(stage=stage, reason=reason))

    def _note_silent(self) -> None:
        silent = sorted(self.departures.silent - {self.copy.name})
        if silent:
            self._note(
                "pooled copies",
                "it is unknown whether these are of the same people, since their decision records are not in their "
                f"bundles: {', '.join(silent)}; restore them from a backup",
            )

    def _originals(self) -> tuple[Path | None, str]:
        """The original data, where they are still the same; else what has become of them."""
        request, path, gone = self.then.request, None, "are gone"
        try:
            path = self.then.resolve(request.dataset.path, "dataset.path")
            if file_sha256(path) == self.decided.dataset.source_sha256:
                return path, ""
            gone = "have changed"
        except (ReleasegateError, OSError):
            pass
        for stage in ("validation", "record linkage", "utility"):
            self._note(stage, f"the original data {gone}")
        return None, gone

    def _gates(self, originals: Path | None, uncertainty: UncertaintyFact | None) -> tuple[GateComparison, ...]:
        """The gates then and today: with the originals, else from the bytes alone, as far as they can be measured."""
        decided, policy, world = self.decided, self.request.policy, self.world
        if world is not None and originals is not None:
            try:
                frame = read_microdata(originals, self.request)
                again = score_with_originals(self.delivered, world, frame, self._context(), uncertainty)
            except ReleasegateError as error:
                self._note("a stage", error.in_one_line())
            else:
                unmeasured = () if uncertainty else (Measure.PASSING_PROBABILITY,)
                return compare.compared_gates(decided.gates, again.gates, unmeasured)
        figures: dict[Measure, float] = {}
        if world is not None:
            step("scoring the delivered bytes alone")
            figures = score_alone(self.delivered, world, uncertainty)
        results = self._rounded(judge_gates(policy.gates, figures), decoyed=decided.decoys is not None)
        missing = [gate.id for gate in results if gate.measured is None]
        return compare.compared_gates(decided.gates, self._excused((*self._conditions(), *results)), missing)

    def _excused(self, gates: Sequence[GateResult]) -> tuple[GateResult, ...]:
        """Gates, those marked that overrides cover which the release rests on."""
        answered = [one for one in self._overrides() if one.recipient == self.copy.recipient]
        return with_overrides(gates, answered, self.request.policy.review.overridable)

    @staticmethod
    def _rounded(gates: Sequence[GateResult], *, decoyed: bool) -> tuple[GateResult, ...]:
        return tuple(map(compare.rounded, gates)) if decoyed else tuple(gates)

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
        """Gates that need no figure of today."""
        agreement = agreement_gate(self.request.recipients[0].agreement, utc_day(self.now))
        if self.decided.decoys is None:
            return (agreement,)
        detectable = decoy_gate(self.decided.decoys, self.request.policy.decoys.maximum_detectability)
        return agreement, compare.rounded(detectable)

    def _context(self) -> DecisionContext:
        decided = self.decided
        return DecisionContext(
            release_id=decided.release_id,
            request_sha256=decided.request_sha256,
            dataset_sha256=decided.dataset.source_sha256,
            population_sha256=str(self._sha256("population")),
            code=code_fact(),
            seed_commitment_sha256=decided.seed_commitment_sha256,
            requested_at=decided.requested_at,
            decided_at=self.now,
            prev_record_sha256=self.ledger.head().sha256,
            inputs_id=decided.inputs_id,
            overrides=self._overrides(),
            supersedes={} if decided.supersedes is None else {self.copy.recipient: decided.supersedes},
        )

    def _overrides(self) -> tuple[GateOverrides, ...]:
        """Those that the release rests on."""
        entries = {one.sha256: one for one in self.ledger.entries(event=Event.OVERRIDDEN)}
        found = [entries[name] for name in self.decided.overrides if name in entries]
        return tuple(GateOverrides.of(one) for one in found if is_gate_override(one))

    def _sha256(self, part: Literal["population", "external_data"]) -> str | None:
        """SHA-256 of a file of today's request; None where it names none, or it cannot be read."""
        named = getattr(self.request, part)
        if named is None:
            return None
        try:
            return file_sha256(self.asked.resolve(named.path, f"{part}.path"))
        except (ReleasegateError, OSError):
            return None

    def _unrelated(self, others: Sequence[Left]) -> tuple[str, ...]:
        same = self.departures.same_recipient(self.copy)
        known = {self.copy.release_id, *(one.release_id for one in others)}
        return tuple(sorted({one.release_id for one in self.departures.copies if one.recipient in same} - known))

    # Coalitions

    def _coalitions(self, others: Sequence[Left]) -> tuple[tuple[Left, ...], tuple[PooledCopies, ...], int]:
        """All copies that are judged with this one; coalitions, those that are judged first; sets left out."""
        terms, made = self.request.policy.reassessment, self.then.request
        same = self.departures.same_recipient(self.copy)
        pooling = [
            same | {one.id for one in members} for members in made.coalitions(made.recipient(self.copy.recipient))
        ]
        own = any(one.recipient in same for one in others)
        sets: list[tuple[_Kind, frozenset[str]]] = [("same recipient", same)] if own else []
        sets += [("declared", one) for one in pooling]
        sets += [("declared", same | set(one)) for one in terms.together if same & set(one)]
        further = sorted({one.recipient for one in others} - same)
        pairs = (chosen for size in range(1, terms.colluding) for chosen in combinations(further, size))
        sets += [("compared", same | set(one)) for one in islice(pairs, _MOST_SETS)]
        left_out = max(sum(comb(len(further), size) for size in range(1, terms.colluding)) - _MOST_SETS, 0)
        coalitions, judged, seen = [], list[Left](), set[frozenset[str]]()
        for kind, members in sets:
            copies = tuple(one for one in others if one.recipient in members)
            names = frozenset(one.name for one in copies)
            if copies and names not in seen:
                seen.add(names)
                judged += copies if kind != "compared" else ()
                coalitions.append(self._coalition(kind, copies, decided_with=members in pooling))
        return tuple(judged), tuple(coalitions), left_out

    def _coalition(self, kind: _Kind, others: Sequence[Left], *, decided_with: bool) -> PooledCopies:
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
        if self.world is None:
            return found.model_copy(update={"cannot": "the population of today cannot be read"})
        try:
            held = [self._held(one, self.world) for one in copies]
            holders = {holder.id: holder for _, holder, _ in reversed(held)}
            figures, together = held_together([laid for laid, _, _ in held], self.world, holders.values())
        except ReleasegateError as error:
            return found.model_copy(update={"cannot": error.in_one_line()})
        decoyed = any(has_decoys for _, _, has_decoys in held)
        gates = [gate for gate in self.request.policy.gates if gate.measure in MEASURED_TOGETHER]
        now = self._rounded(judge_gates(gates, figures), decoyed=decoyed)
        if decided_with:
            now = self._excused(now)
        then = [gate for gate in self.decided.gates if gate.id in {one.id for one in now}]
        return found.model_copy(
            update={
                "gates": compare.compared_gates(then, now),
                "shared": compare.told_count(together.shared, decoyed=decoyed),
                "narrowed": compare.told_count(together.narrowed, decoyed=decoyed),
            }
        )

    def _held(self, one: Left, world: Today) -> _Held:
        """A copy laid on today's population, once."""
        if one.name in self._laid:
            return self._laid[one.name]
        memory = self.request.policy.generalization.memory_limit_mb * 2**20
        if one == self.copy:
            decided, delivered, holder = self.decided, self.delivered, self.request.recipients[0]
        else:
            settle(self.workspace, self.ledger, one.release_id)
            decided = record_of(self.workspace, self.ledger, one)
            delivered = delivered_of(self.workspace, one, decided)
            request = request_of(delivered.kept, *place_of_request(self.ledger, one.release_id)).request
            holder = request.recipient(one.recipient)
        self._laid[one.name] = copy_of(delivered, world.ground, memory), holder, decided.decoys is not None
        return self._laid[one.name]

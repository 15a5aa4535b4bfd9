"""One released copy while it is assessed again: the inputs at its release, the inputs of today, and its coalitions."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import cached_property
from itertools import combinations, islice
from math import comb
from pathlib import Path

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
from tasks.reassessment.coalitions import MEASURED_TOGETHER, copy_of, held_together
from tasks.reassessment.population import Ground, ground_of
from tasks.reassessment.promised import not_measured, promised_then, promised_today
from tasks.reassessment.record import Again, CoalitionAgain, GateAgain, InputsAgain, Reassessment, RequestFrom
from tasks.reassessment.request import Wanted, asked_today, policy_from
from tasks.reassessment.scoring import Delivered, Today, score_alone, score_with_originals
from tasks.reassessment.together import LaidCopy
from tasks.request.load import LoadedRequest, load_request
from tasks.request.model import Measure, Recipient, ReleaseRequest

_MOST_SETS = 50
"""Sets of recipients who might share that are compared; how many are left out is reported."""


@dataclass(frozen=True)
class Options:
    """Inputs that replace those of the request."""

    policy: Path | None = None
    population: Path | None = None
    request: Path | None = None
    roots: tuple[Path, ...] = ()


AS_ASKED = Options()
"""Everything as the request has it."""


@dataclass
class Case:
    """One copy while it is assessed."""

    workspace: Workspace
    ledger: Ledger
    departures: Departures
    copy: Left
    options: Options
    now: datetime
    before: Again
    due: date
    not_measured: list[NotAssessed] = field(default_factory=list)

    @property
    def today(self) -> date:
        """Day of the re-assessment, UTC."""
        return utc_day(self.now)

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
    def wanted(self) -> Wanted:
        """Inputs of today: named by the caller, or as in the request at this one's path."""
        policy = None if self.options.policy is None else policy_from(self.options.policy)
        return Wanted(request=self._request_of_today[1], policy=policy, population=self.options.population)

    @cached_property
    def _request_of_today(self) -> tuple[RequestFrom, LoadedRequest | None]:
        """Source of today's request, and the request; None where the one that was kept is taken."""
        if self.options.request is not None:
            origin: RequestFrom = "named"
            found = load_request(self.options.request, self.options.roots)
        elif self.then.path.is_file():
            origin = "where it lay"
            try:
                found = load_request(self.then.path, self.then.roots)
            except ReleasegateError as error:
                reason = f"taken as it was kept; {error.in_one_line()}"
                self.not_measured.append(NotAssessed(stage="today's request", reason=reason))
                return "kept, another unreadable", None
        else:
            return "kept, none there", None
        return (origin, found) if _is_of(found.request, self.then.request) else ("kept, another of other data", None)

    @cached_property
    def asked(self) -> LoadedRequest:
        """The request as it is judged today."""
        return asked_today(self.then, self.copy.recipient, self.wanted)

    @cached_property
    def recipient(self) -> Recipient:
        """Recipient of the copy, on today's terms."""
        return self.asked.request.recipients[0]

    def record(self) -> Reassessment:
        """Score, compare, and say what is to be said."""
        decided, asked = self.decided, self.asked
        ground = self._ground()
        dataset = self._dataset()
        limits, uncertainty = self._promised(ground)
        gates, rows = self._gates(ground, dataset, uncertainty)
        gates += limits
        others = self.departures.of_the_same_people(self.copy)
        self._note_silent()
        judged, coalitions, left_out = self._coalitions(ground, others)
        next_due = dates.due_on(self.today, asked.request.policy.reassessment.every_days)
        lapses = dates.lapses(decided, self.recipient.agreement, self.today)
        verdict = compare.verdict_of(gates, coalitions, self.not_measured)
        in_force = not is_over(self.recipient.agreement.expires, self.today)
        population = None if ground is None else self._file("population")
        external = self._file("external_data")
        found = compare.causes(
            decided,
            then=self.then.request,
            now=asked.request,
            population=None if ground is None or population is None else (population, ground.population.total),
            code=code_fact().model_dump(mode="json"),
            dataset_sha256=dataset[1],
            external=(_external_then(decided), external),
            origin=self._request_of_today[0],
            further=sorted({one.release_id for one in judged} - {self.copy.release_id}),
            in_force=in_force,
        )
        policy = asked.request.policy
        uncertain_then = None if decided.risk is None else decided.risk.uncertainty
        chance_then = None if uncertain_then is None else uncertain_then.approved
        same = uncertainty is not None and uncertainty.approved == chance_then
        return Reassessment(
            release_id=self.copy.release_id,
            recipient=self.copy.recipient,
            organisation=decided.recipient.organisation,
            title=decided.title,
            released_at=left_at(self.copy),
            reassessed_at=self.now,
            verdict=verdict,
            before=self.before,
            because=compare.reasons(
                verdict,
                gates,
                coalitions,
                [f"{one.stage}: {one.reason}" for one in self.not_measured],
                found,
                records=decided.dataset.rows_out,
                collected=decided.dataset.rows_in,
                small_cell=policy.small_cell,
                chance="" if same else compare.chances(chance_then, uncertainty),
            ),
            causes=found,
            gates=gates,
            uncertainty_then=chance_then,
            uncertainty=uncertainty,
            coalitions=coalitions,
            sets_left_out=left_out,
            unrelated=self._unrelated(others),
            lapses=lapses,
            not_measured=tuple(self.not_measured),
            people_then=decided.population.people,
            people=None if ground is None else ground.population.total,
            strangers=0 if ground is None else ground.strangers,
            rows_in=decided.dataset.rows_in,
            rows=rows,
            decoyed=decided.decoys is not None,
            policy=_policy_fact(asked),
            policy_then=decided.policy,
            every_days=policy.reassessment.every_days,
            due=self.due,
            next_due=next_due,
            inputs=InputsAgain(
                record_sha256=digest(decided),
                delivered_sha256=str(decided.delivered_sha256),
                request_sha256=digest(
                    asked.request.model_dump(mode="json", exclude={"population": {"path"}, "external_data": {"path"}})
                ),
                request_from=self._request_of_today[0],
                dataset_sha256=decided.dataset.source_sha256 if dataset[0] else None,
                population_sha256=population,
                external_sha256=external,
                code=code_fact(),
                in_force=in_force,
                lapsing=dates.named(lapses),
                others=tuple(sorted(one.name for one in others)),
                hindrances=(
                    *(f"{one.stage}: {one.reason}" for one in self.not_measured),
                    *(f"{one.kind}, {' '.join(one.releases)}: {one.cannot}" for one in coalitions if one.cannot),
                ),
            ),
        )

    def _note_silent(self) -> None:
        silent = sorted(self.departures.silent - {self.copy.name})
        if silent:
            self.not_measured.append(
                NotAssessed(
                    stage="pooled copies",
                    reason="nobody can say whether these are of the same people, since the record that was decided on "
                    f"is not in their bundles: {', '.join(silent)}; restore them from a backup",
                )
            )

    def _ground(self) -> Ground | None:
        try:
            return ground_of(self.asked, self.delivered.kept)
        except StageFailed:
            raise
        except ReleasegateError as error:
            self._cannot("population", error)
            return None

    def _dataset(self) -> tuple[Path | None, str | None]:
        """The original data, where they are still the same; and the SHA-256 of what is in their place."""
        request = self.then.request
        try:
            path = self.then.resolve(request.dataset.path, "dataset.path")
            found = file_sha256(path)
        except (ReleasegateError, OSError):
            self._without("the original data are gone")
            return None, None
        if found != self.decided.dataset.source_sha256:
            self._without("the original data have changed")
            return None, found
        return path, found

    def _without(self, why: str) -> None:
        self.not_measured += [
            NotAssessed(stage=stage, reason=why) for stage in ("validation", "record linkage", "utility")
        ]

    def _cannot(self, stage: str, error: ReleasegateError) -> None:
        self.not_measured.append(NotAssessed(stage=stage, reason=error.in_one_line()))

    def _gates(
        self, ground: Ground | None, dataset: tuple[Path | None, str | None], uncertainty: UncertaintyFact | None
    ) -> tuple[tuple[GateAgain, ...], int | None]:
        decided = self.decided
        if ground is None:
            now, unmeasured = self._conditions(), [gate.measure.value for gate in self.asked.request.policy.gates]
            judged = judge_gates(self.asked.request.policy.gates, {})
            return compare.gates_again(decided.gates, (*now, *judged), unmeasured), decided.dataset.rows_out
        today = Today(self.asked.request, ground)
        if dataset[0] is not None:
            try:
                frame = read_microdata(dataset[0], self.asked.request)
                again = score_with_originals(self.delivered, today, frame, self._circumstances(), uncertainty)
                unjudged = () if uncertainty else (Measure.PASSING_PROBABILITY,)
                return compare.gates_again(decided.gates, again.gates, unjudged), again.dataset.rows_out
            except ReleasegateError as error:
                self._cannot("a stage", error)
        step("scoring the delivered bytes alone")
        figures, policy = score_alone(self.delivered, today, uncertainty), self.asked.request.policy
        results, missing = compare.judged_alone(policy, figures, self._conditions(), decoyed=decided.decoys is not None)
        return compare.gates_again(decided.gates, self.excused(results), missing), decided.dataset.rows_out

    def excused(self, gates: Sequence[GateResult]) -> tuple[GateResult, ...]:
        """Gates, those marked that overrides cover which the release rests on."""
        answered = [one for one in self._overrides() if one.recipient == self.copy.recipient]
        return with_overrides(gates, answered, self.asked.request.policy.review.overridable)

    def _promised(self, ground: Ground | None) -> tuple[tuple[GateAgain, ...], UncertaintyFact | None]:
        """Limits of a budget then and today, and the gates under uncertain terms of today."""
        then = promised_then(self.delivered)
        if ground is not None:
            try:
                today = promised_today(self.delivered, Today(self.asked.request, ground))
                return compare.gates_again(then, today.budget), today.uncertainty
            except ReleasegateError as error:
                self._cannot("budget and uncertain terms", error)
        return compare.gates_again(then, not_measured(then), [gate.id for gate in then]), None

    def _conditions(self) -> tuple[GateResult, ...]:
        """Gates that need no figure of today."""
        agreement, decoys = agreement_gate(self.recipient.agreement, self.today), self.decided.decoys
        if decoys is None:
            return (agreement,)
        limit = self.asked.request.policy.decoys.maximum_detectability
        return agreement, compare.rounded(decoy_gate(decoys, limit))

    def _circumstances(self) -> DecisionContext:
        decided = self.decided
        return DecisionContext(
            release_id=decided.release_id,
            request_sha256=decided.request_sha256,
            dataset_sha256=decided.dataset.source_sha256,
            population_sha256=str(self._file("population")),
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

    def _file(self, part: str) -> str | None:
        """SHA-256 of a file of today's request; None where it names none, or it cannot be read."""
        named = getattr(self.asked.request, part)
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

    def _coalitions(
        self, ground: Ground | None, others: Sequence[Left]
    ) -> tuple[tuple[Left, ...], tuple[CoalitionAgain, ...], int]:
        """All copies that are judged with this one; coalitions, those that are judged first; sets left out."""
        terms = self.asked.request.policy.reassessment
        same = self.departures.same_recipient(self.copy)
        own = tuple(one for one in others if one.recipient in same)
        made = self.then.request
        pooling = [
            same | {one.id for one in members} for members in made.coalitions(made.recipient(self.copy.recipient))
        ]
        sets: list[tuple[str, frozenset[str]]] = [("same recipient", same)] if own else []
        sets += [("declared", one) for one in pooling]
        sets += [("declared", same | set(one)) for one in terms.together if same & set(one)]
        further = sorted({one.recipient for one in others} - same)
        pairs = (chosen for size in range(1, terms.colluding) for chosen in combinations(further, size))
        sets += [("compared", same | set(one)) for one in islice(pairs, _MOST_SETS)]
        left_out = max(sum(comb(len(further), size) for size in range(1, terms.colluding)) - _MOST_SETS, 0)
        coalitions, judged, seen = [], list[Left](), set[frozenset[str]]()
        laid = _Laid(self, ground)
        for kind, members in sets:
            copies = tuple(one for one in others if one.recipient in members)
            names = frozenset(one.name for one in copies)
            if not copies or names in seen:
                continue
            seen.add(names)
            if kind != "compared":
                judged += copies
            coalitions.append(laid.coalition(kind, copies, answered_for=members in pooling))
        return tuple(judged), tuple(coalitions), left_out


@dataclass(frozen=True)
class _Held:
    """A copy on the population of another one."""

    copy: LaidCopy
    holder: Recipient
    decoyed: bool


class _Laid:
    """Copies laid on one population, each once."""

    def __init__(self, case: Case, ground: Ground | None) -> None:
        self._case, self._ground = case, ground
        self._copies: dict[str, _Held | ReleasegateError] = {}

    def coalition(self, kind: str, others: Sequence[Left], *, answered_for: bool) -> CoalitionAgain:
        """Knowledge of a coalition that has this copy and others.

        Whether overrides count that the release rests on: they do where it was decided with these copies in mind.
        """
        case = self._case
        told = {
            "kind": kind,
            "recipients": tuple(dict.fromkeys(one.recipient for one in (case.copy, *others))),
            "releases": tuple(dict.fromkeys(one.release_id for one in (case.copy, *others))),
            "judged": kind != "compared",
        }
        if self._ground is None:
            return CoalitionAgain.model_validate({**told, "cannot": "the population of today cannot be read"})
        try:
            laid = [self._laid(one, self._ground) for one in (case.copy, *others)]
            holders = {one.holder.id: one.holder for one in reversed(laid)}
            today = Today(case.asked.request, self._ground)
            held = held_together([one.copy for one in laid], today, holders.values())
        except ReleasegateError as error:
            return CoalitionAgain.model_validate({**told, "cannot": error.in_one_line()})
        gates = [gate for gate in case.asked.request.policy.gates if gate.measure in MEASURED_TOGETHER]
        decoyed = any(one.decoyed for one in laid)
        now = [compare.rounded(gate) if decoyed else gate for gate in judge_gates(gates, held.figures)]
        if answered_for:
            now = list(case.excused(now))
        then = [gate for gate in case.decided.gates if gate.id in {one.id for one in now}]
        return CoalitionAgain.model_validate(
            {
                **told,
                "gates": compare.gates_again(then, now),
                "shared": compare.told_count(held.together.shared, decoyed=decoyed),
                "narrowed": compare.told_count(held.together.narrowed, decoyed=decoyed),
            }
        )

    def _laid(self, one: Left, ground: Ground) -> _Held:
        found = self._copies.get(one.name)
        if found is None:
            try:
                found = self._lay(one, ground)
            except ReleasegateError as error:
                found = error
            self._copies[one.name] = found
        if isinstance(found, ReleasegateError):
            raise found
        return found

    def _lay(self, one: Left, ground: Ground) -> _Held:
        case = self._case
        if one == case.copy:
            return _Held(
                copy_of(case.delivered, ground, _memory(case)), case.recipient, case.decided.decoys is not None
            )
        settle(case.workspace, case.ledger, one.release_id)
        record = record_of(case.workspace, case.ledger, one)
        delivered = delivered_of(case.workspace, one, record)
        request = request_of(delivered.kept, *place_of_request(case.ledger, one.release_id)).request
        return _Held(
            copy_of(delivered, ground, _memory(case)), request.recipient(one.recipient), record.decoys is not None
        )


def _memory(case: Case) -> int:
    return case.asked.request.policy.generalization.memory_limit_mb * 2**20


def _is_of(request: ReleaseRequest, made: ReleaseRequest) -> bool:
    """Whether a request that lies where another one lay is about the same kind of data."""
    return request.quasi_identifiers == made.quasi_identifiers and request.dataset.record_id == made.dataset.record_id


def _external_then(decided: DecisionRecord) -> str | None:
    sequential = None if decided.risk is None else decided.risk.sequential
    return None if sequential is None else sequential.external.sha256


def _policy_fact(asked: LoadedRequest) -> PolicyFact:
    policy = asked.request.policy
    return PolicyFact(
        id=policy.id,
        version=policy.version,
        sha256=digest(policy),
        risk_threshold=policy.risk_threshold,
        validity_days=policy.validity_days,
        small_cell=policy.small_cell,
        reassess_days=policy.reassessment.every_days,
    )

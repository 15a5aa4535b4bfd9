"""One copy that has left while it is assessed again: what is of then, what is of today, and the copies beside it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import cached_property
from itertools import combinations, islice
from pathlib import Path

from flows.cases import finish_additions
from flows.delivered import (
    Departures,
    Left,
    delivered_of,
    left_at,
    place_of_request,
    record_of,
    request_of,
)
from flows.identity import code_fact
from flows.progress import step
from flows.workspace import Workspace
from tasks.decision.assemble import Circumstances
from tasks.decision.gates import agreement_gate, decoy_gate, judge_gates
from tasks.decision.overrides import GateOverrides, is_gate_override
from tasks.decision.record import DecisionRecord, GateResult, NotAssessed, PolicyFact, digest
from tasks.decision.verdict import is_over, utc_day
from tasks.errors import ReleasegateError, StageFailed, WorkspaceError
from tasks.ledger.entry import Event
from tasks.ledger.store import Ledger
from tasks.microdata.read import file_sha256, read_microdata
from tasks.reassessment import compare, dates
from tasks.reassessment.hands import MEASURED_TOGETHER, copy_of, held_together
from tasks.reassessment.population import Ground, ground_of
from tasks.reassessment.record import Again, GateAgain, Hand, InputsAgain, Reassessment
from tasks.reassessment.request import Wanted, asked_today, policy_from
from tasks.reassessment.scoring import Delivered, Today, score_alone, score_with_originals
from tasks.reassessment.together import Copy
from tasks.request.load import LoadedRequest, load_request
from tasks.request.model import Recipient, ReleaseRequest

_MOST_SETS = 50
"""Sets of colluding recipients that are laid beside each other; those that are left out are named."""


@dataclass(frozen=True)
class Options:
    """What is taken in place of what the request says."""

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
        """The decision that the copy left by."""
        with self.workspace.alone(self.copy.release_id, wait_seconds=30.0):
            finish_additions(self.workspace, self.ledger, self.copy.release_id)
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
        """What is of today: named by the caller, or as the request has it that lies where this one lay."""
        named = self.options.request
        request = None
        if named is not None:
            request = load_request(named, self.options.roots)
        elif self.then.path.is_file():
            try:
                there = load_request(self.then.path, self.then.roots)
                request = there if _is_of(there.request, self.then.request) else None
            except ReleasegateError as error:
                self.not_measured.append(
                    NotAssessed(stage="today's request", reason=f"taken as it was kept; {error.in_one_line()}")
                )
        policy = None if self.options.policy is None else policy_from(self.options.policy)
        return Wanted(request=request, policy=policy, population=self.options.population)

    @cached_property
    def asked(self) -> LoadedRequest:
        """The request as it is judged today."""
        return asked_today(self.then, self.copy.recipient, self.wanted)

    @cached_property
    def recipient(self) -> Recipient:
        """Who has the copy, on today's terms."""
        return self.asked.request.recipients[0]

    def record(self) -> Reassessment:
        """Score, compare, and say what is to be said."""
        decided, asked = self.decided, self.asked
        ground = self._ground()
        dataset = self._dataset()
        gates, rows = self._gates(ground, dataset)
        beside = self._beside
        judged, hands = self._hands(ground, beside)
        next_due = dates.due_on(self.today, asked.request.policy.reassessment.every_days)
        lapses = dates.lapses(decided, self.recipient.agreement, next_due, self.today)
        verdict = compare.verdict_of(gates, hands, self.not_measured)
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
            further=sorted({one.release_id for one in judged} - {self.copy.release_id}),
            in_force=in_force,
        )
        policy = asked.request.policy
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
                hands,
                [f"{one.stage}: {one.reason}" for one in self.not_measured],
                found,
                records=decided.dataset.rows_out,
                small_cell=policy.small_cell,
            ),
            causes=found,
            gates=gates,
            hands=hands,
            not_beside=self._not_beside(beside),
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
                dataset_sha256=decided.dataset.source_sha256 if dataset[0] else None,
                population_sha256=population,
                external_sha256=external,
                code=code_fact(),
                in_force=in_force,
                lapsing=dates.named(lapses),
                others=tuple(sorted(one.name for one in beside)),
                hindrances=tuple(f"{one.stage}: {one.reason}" for one in self.not_measured),
            ),
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
        self, ground: Ground | None, dataset: tuple[Path | None, str | None]
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
                again = score_with_originals(self.delivered, today, frame, self._circumstances())
                return compare.gates_again(decided.gates, again.gates), again.dataset.rows_out
            except WorkspaceError:
                raise
            except ReleasegateError as error:
                self._cannot("a stage", error)
        step("scoring the delivered bytes alone")
        figures = score_alone(self.delivered, today)
        results, missing = compare.judged_alone(
            self.asked.request.policy, figures, self._conditions(), decoyed=decided.decoys is not None
        )
        return compare.gates_again(decided.gates, results, missing), decided.dataset.rows_out

    def _conditions(self) -> tuple[GateResult, ...]:
        """Gates that need no figure of today."""
        agreement, decoys = agreement_gate(self.recipient.agreement, self.today), self.decided.decoys
        if decoys is None:
            return (agreement,)
        limit = self.asked.request.policy.decoys.maximum_detectability
        return agreement, compare.rounded(decoy_gate(decoys, limit))

    def _circumstances(self) -> Circumstances:
        decided = self.decided
        entries = {one.sha256: one for one in self.ledger.entries(event=Event.OVERRIDDEN)}
        overrides = [entries[name] for name in decided.overrides if name in entries and is_gate_override(entries[name])]
        return Circumstances(
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
            overrides=tuple(GateOverrides.of(one) for one in overrides),
            supersedes={} if decided.supersedes is None else {self.copy.recipient: decided.supersedes},
        )

    def _file(self, part: str) -> str | None:
        """SHA-256 of a file of today's request; None where it names none, or it cannot be read."""
        named = getattr(self.asked.request, part)
        if named is None:
            return None
        try:
            return file_sha256(self.asked.resolve(named.path, f"{part}.path"))
        except (ReleasegateError, OSError):
            return None

    @cached_property
    def _beside(self) -> tuple[Left, ...]:
        return self.departures.beside(self.copy)

    def _not_beside(self, beside: Sequence[Left]) -> tuple[str, ...]:
        same, known = self.departures.hands(self.copy), {self.copy.release_id, *(one.release_id for one in beside)}
        others = {one.release_id for one in self.departures.copies if one.recipient in same}
        return tuple(sorted(others - known))

    def _hands(self, ground: Ground | None, beside: Sequence[Left]) -> tuple[tuple[Left, ...], tuple[Hand, ...]]:
        """Copies in one hand, those that are judged first; and all copies that are judged with this one."""
        terms = self.asked.request.policy.reassessment
        same = self.departures.hands(self.copy)
        own = tuple(one for one in beside if one.recipient in same)
        sets: list[tuple[str, frozenset[str]]] = [("same recipient", same)] if own else []
        sets += [("declared", same | set(one)) for one in terms.together if same & set(one)]
        others = sorted({one.recipient for one in beside} - same)
        pairs = (chosen for size in range(1, terms.colluding) for chosen in combinations(others, size))
        sets += [("compared", same | set(one)) for one in islice(pairs, _MOST_SETS)]
        hands, judged, seen = [], list[Left](), set[frozenset[str]]()
        laid = _Laid(self, ground)
        for kind, members in sets:
            copies = tuple(one for one in beside if one.recipient in members)
            names = frozenset(one.name for one in copies)
            if not copies or names in seen:
                continue
            seen.add(names)
            if kind != "compared":
                judged += copies
            hands.append(laid.hand(kind, copies))
        return tuple(judged), tuple(hands)


@dataclass(frozen=True)
class _Held:
    """A copy on the population of another one."""

    copy: Copy
    holder: Recipient
    decoyed: bool


class _Laid:
    """Copies laid on one population, each once."""

    def __init__(self, case: Case, ground: Ground | None) -> None:
        self._case, self._ground = case, ground
        self._copies: dict[str, _Held | ReleasegateError] = {}

    def hand(self, kind: str, others: Sequence[Left]) -> Hand:
        """What somebody learns who has this copy and others."""
        case = self._case
        told = {
            "kind": kind,
            "recipients": tuple(dict.fromkeys(one.recipient for one in (case.copy, *others))),
            "releases": tuple(dict.fromkeys(one.release_id for one in (case.copy, *others))),
            "judged": kind != "compared",
        }
        if self._ground is None:
            return Hand.model_validate({**told, "cannot": "the population of today cannot be read"})
        try:
            laid = [self._laid(one, self._ground) for one in (case.copy, *others)]
            holders = {one.holder.id: one.holder for one in reversed(laid)}
            today = Today(case.asked.request, self._ground)
            held = held_together([one.copy for one in laid], today, holders.values())
        except WorkspaceError:
            raise
        except ReleasegateError as error:
            return Hand.model_validate({**told, "cannot": error.in_one_line()})
        gates = [gate for gate in case.asked.request.policy.gates if gate.measure in MEASURED_TOGETHER]
        decoyed = any(one.decoyed for one in laid)
        now = [compare.rounded(gate) if decoyed else gate for gate in judge_gates(gates, held.figures)]
        then = [gate for gate in case.decided.gates if gate.id in {one.id for one in now}]
        return Hand.model_validate(
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
            return _Held(copy_of(case.delivered, ground), case.recipient, case.decided.decoys is not None)
        record = record_of(case.workspace, case.ledger, one)
        delivered = delivered_of(case.workspace, one, record)
        request = request_of(delivered.kept, *place_of_request(case.ledger, one.release_id)).request
        return _Held(copy_of(delivered, ground), request.recipient(one.recipient), record.decoys is not None)


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

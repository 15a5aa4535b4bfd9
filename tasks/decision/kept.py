"""Facts of a decision that the ledger keeps besides its verdict, so that an audit needs no bundle.

They are taken from the decision record and add nothing to it: names, days, hashes, and figures of the whole file.
Nothing about decoys is kept, neither their gate nor their figures; numbers of records of a copy that has some are
rounded like the record's other counts (``tasks.decision.disclosure_rounding``), since an audit compares copies.
"""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal

from pydantic import Field

from tasks.core.fact import Fact, Interval, Sha256
from tasks.decision.disclosure_rounding import count
from tasks.decision.gates import DECOYS_DETECTABLE
from tasks.decision.record import DecisionRecord, GateResult, Verdict

Intruder = Literal["uninformed", "informed", "masked"]
"""Knowledge of an intruder: the file alone, also the generalization and masking methods, or masked numbers only."""


class KeptAgreement(Fact):
    """The agreement that the decision rests on."""

    id: str
    expires: date


class KeptPolicy(Fact):
    """The policy that was applied."""

    id: str
    version: str
    sha256: Sha256
    small_cell: int
    reassess_days: int | None = Field(default=None, description="Days after which the release is assessed again.")


class KeptGate(Fact):
    """The result of one of the policy's thresholds; its title and unit follow from its id."""

    id: str
    comparison: Literal["at most", "at least"]
    measured: float | None = None
    threshold: float
    passed: bool
    interval: Interval | None = None
    people: int | None = None


class KeptRisk(Fact):
    """Risk of the file that would be released, from a recipient who knows how it was made."""

    highest: float = Field(description="Of a record, in one attempt.")
    expected: float = Field(description="Expected re-identifications.")
    planned: float | None = Field(
        default=None, description="Highest from a sequential adversary; None where that was not measured."
    )


class KeptAttack(Fact):
    """The strongest attack of one kind of intruder who holds the original file."""

    intruder: Intruder
    title: str
    share: float = Field(description="Expected share of people linked to their own record.")
    low: float
    high: float
    baseline: float = Field(description="Share that guessing reaches.")
    people: int
    proves_something: bool


class KeptDecision(Fact):
    """Facts of a decision; a later version may have other fields."""

    version: Literal[1] = 1
    requested_by: str
    organisation: str
    purpose: str
    agreement: KeptAgreement
    policy: KeptPolicy
    dataset: str = Field(description="Title of the data.")
    source_sha256: Sha256
    output_sha256: Sha256 | None = None
    records: int | None = Field(
        default=None, description="Records of the file that would leave; None where none was made."
    )
    valid_from: date
    valid_until: date
    reviews_required: int
    reviewers: tuple[str, ...]
    officers: tuple[str, ...]
    gates: tuple[KeptGate, ...]
    risk: KeptRisk | None = Field(default=None, description="None where it was not measured.")
    attacks: tuple[KeptAttack, ...]
    prior_release_ids: tuple[str, ...] | None = Field(
        default=None, description="Earlier releases to the recipient; None where a version did not keep them."
    )


@dataclass(frozen=True)
class JudgedRecipient:
    """Recipient of a judged release, with the agreement in force."""

    id: str
    agreement: KeptAgreement


@dataclass(frozen=True)
class JudgedFile:
    """File to be delivered; None where none was made."""

    output_sha256: str | None


@dataclass(frozen=True)
class JudgedDecision:
    """The parts of a decision that ``tasks.decision.standing`` reads, made from the ledger without any bundle."""

    release_id: str
    recipient: JudgedRecipient
    dataset: JudgedFile
    decision: Verdict
    reasons: tuple[str, ...]
    requested_by: str
    decided_at: datetime
    reviews_required: int
    reviewers: tuple[str, ...]
    officers: tuple[str, ...]
    valid_from: date
    valid_until: date


Judged = DecisionRecord | JudgedDecision
"""A decision on one recipient's release."""


def kept_decision(record: DecisionRecord) -> KeptDecision:
    """Facts of a decision that the ledger keeps."""
    rows = record.dataset.rows_out
    return KeptDecision(
        requested_by=record.requested_by,
        organisation=record.recipient.organisation,
        purpose=record.recipient.purpose,
        agreement=KeptAgreement(id=record.recipient.agreement.id, expires=record.recipient.agreement.expires),
        policy=KeptPolicy.model_validate(record.policy.model_dump(include=set(KeptPolicy.model_fields))),
        dataset=record.dataset.title,
        source_sha256=record.dataset.source_sha256,
        output_sha256=record.dataset.output_sha256,
        records=None if rows is None else _people(record, rows),
        valid_from=record.valid_from,
        valid_until=record.valid_until,
        reviews_required=record.reviews_required,
        reviewers=record.reviewers,
        officers=record.officers,
        gates=tuple(
            _gate(record, gate) for gate in record.gates if gate.comparison != "is" and gate.id != DECOYS_DETECTABLE
        ),
        risk=_risk(record),
        attacks=_attacks(record),
        prior_release_ids=record.recipient.prior_release_ids,
    )


def _gate(record: DecisionRecord, gate: GateResult) -> KeptGate:
    kept = KeptGate.model_validate(gate.model_dump(include=set(KeptGate.model_fields)))
    return kept if gate.people is None else kept.model_copy(update={"people": _people(record, gate.people)})


def _risk(record: DecisionRecord) -> KeptRisk | None:
    if record.risk is None:
        return None
    transparent, sequential = record.risk.transparent, record.risk.sequential
    planned = None
    if sequential is not None:
        planned = next(one.maximum_risk for one in sequential.residual if one.belief == sequential.judged)
    return KeptRisk(highest=transparent.maximum_risk, expected=transparent.expected_reidentifications, planned=planned)


def _attacks(record: DecisionRecord) -> tuple[KeptAttack, ...]:
    fact = record.risk.linkage if record.risk else None
    if fact is None:
        return ()
    strongest: tuple[tuple[Intruder, str | None], ...] = (
        ("uninformed", fact.strongest_uninformed),
        ("informed", fact.strongest_informed),
        ("masked", fact.strongest_masked),
    )
    attacks = [(intruder, fact.attack(attack_id)) for intruder, attack_id in strongest if attack_id is not None]
    return tuple(
        KeptAttack(
            intruder=intruder,
            title=attack.title,
            people=_people(record, attack.figure.people),
            **attack.figure.model_dump(include={"share", "low", "high", "baseline", "proves_something"}),
        )
        for intruder, attack in attacks
    )


def _people(record: DecisionRecord, number: int) -> int:
    """A number of people; rounded in a copy with decoys, whose number could be derived from it otherwise."""
    return number if record.decoys is None else count(number)

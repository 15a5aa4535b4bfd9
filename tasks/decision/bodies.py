"""Bodies of the entries that verification reads back; one place for their keys.

Each function makes the body of the event that it is named for. ``tasks.delivery.verification`` compares bundles with
``decided``, ``released``, ``published`` and ``signed``; ``tasks.decision.standing`` follows a release by its votes, its
overrides and its end. Overridden gates are read by ``tasks.decision.overrides``, ``beside`` by
``tasks.decision.redecision``, ``determined`` and re-assessments by ``tasks.audit``, comments by the page alone.

All carry a recipient but ``published``, which concerns the whole release. For one release, ``decided`` precedes
``published``; ``released`` and ``published`` are written in one transaction, after the bundle is sealed and before it
is moved. The last ``voted``, every ``reviewed``, ``approved`` and ``released`` are one transaction too. Bodies of other
events are the writer's choice.

``determined`` keeps facts of a decision besides its verdict, so that an audit needs no bundle. They are taken from the
decision record and add nothing to it: names, days, hashes, and figures of the whole file. Nothing about decoys is kept,
neither their gate nor their figures; numbers of records of a copy that has some are rounded like the record's other
counts (``tasks.decision.disclosure_rounding``), since an audit compares copies.
"""

from collections.abc import Sequence
from datetime import date
from typing import Literal

from pydantic import Field

from tasks.core.canonical import digest
from tasks.core.fact import Fact, Interval, Sha256
from tasks.core.people import WorkflowRole
from tasks.decision.disclosure_rounding import count
from tasks.decision.gates import DECOYS_DETECTABLE
from tasks.decision.record import DecisionRecord, GateResult
from tasks.decision.votes import Ballot
from tasks.decision.written_figures import RecordCounts, counts_records

_MOST_REASONS = 40
_LONGEST_REASON = 1000

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
    requester_id: str = ""
    handed_in_by: str = Field(default="", description="Login, account or token that the request came from.")
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
    expert_signs: bool | None = Field(
        default=None, description="Whether votes wait for the expert's signature; left out where not."
    )
    signed_votes: bool | None = Field(default=None, description="Whether each vote must be signed; left out where not.")
    reviewers: tuple[str, ...]
    officers: tuple[str, ...]
    gates: tuple[KeptGate, ...]
    risk: KeptRisk | None = Field(default=None, description="None where it was not measured.")
    attacks: tuple[KeptAttack, ...]
    prior_release_ids: tuple[str, ...] | None = Field(
        default=None, description="Earlier releases to the recipient; None where a version did not keep them."
    )


def decided(record: DecisionRecord, beside: Sequence[int] = ()) -> dict[str, object]:
    """Body of ``decided``: the verdict, its reasons, the digest of the record's canonical bytes, and what is kept.

    Where there are any, also the entries of other copies of the same party, by their sequence (``beside``), and the
    decision that this one replaces.
    """
    before = record.decided_before
    return {
        **({"beside": list(beside)} if beside else {}),
        **({} if before is None else {"decided_before": before.model_dump(mode="json")}),
        "decision": record.decision.value,
        "reasons": list(record.reasons),
        "record_sha256": digest(record),
        "inputs": record.of_inputs,
        "overrides": list(record.overrides),
        "supersedes": record.supersedes,
        "determined": kept_decision(record).model_dump(mode="json", exclude_none=True),
    }


def released(output_sha256: str, delivered_sha256: str | None = None, **after_review: str) -> dict[str, object]:
    """Body of ``released``: the SHA-256 of the clear file and, if it is encrypted, of the delivered one.

    After review also those of ``manifest.json``, certificate, approval and determination.
    """
    encrypted = delivered_sha256 not in (None, output_sha256)
    return {
        "output_sha256": output_sha256,
        **({"delivered_sha256": delivered_sha256} if encrypted else {}),
        **after_review,
    }


def published(manifest_sha256: str) -> dict[str, object]:
    """Body of ``published``: the SHA-256 of the bundle's ``manifest.json``."""
    return {"manifest_sha256": manifest_sha256}


def voted(ballot: Ballot, person: str = "") -> dict[str, object]:
    """Body of ``voted``: the reviewer by name and id, the record, and the commitment; not the vote."""
    committed = {"record_sha256": ballot.record_sha256, "commitment": ballot.commitment}
    return {"reviewer": ballot.reviewer, "person": person, **committed}


def handed_in(people: Sequence[str]) -> dict[str, object]:
    """Body of ``handed in``, a request submitted again by another login: ids of enrolled people who have or had it."""
    return {"people": list(people)}


def reviewed(ballot: Ballot) -> dict[str, object]:
    """Body of ``reviewed``: the vote, and the nonce with which anyone can check it against its commitment."""
    return {"reviewer": ballot.reviewer, "vote": ballot.vote, "reason": ballot.reason, "nonce": ballot.nonce}


def outcome(record_sha256: str) -> dict[str, object]:
    """Body of ``approved`` and ``rejected``: the record that was voted on."""
    return {"record_sha256": record_sha256}


def signed(*, by: str | None, **signature: str) -> dict[str, object]:
    """Body of ``signed``: the SHA-256 of record, report, signed PDF and certificate, and the certificate's subject.

    ``by`` is the person who submitted the signature, who need not be the expert.
    """
    return {**signature} if by is None else {**signature, "by": by}


def revoked(by: str, role: WorkflowRole, reason: str, officer_of: str = "") -> dict[str, object]:
    """Body of ``revoked``: person, role and reason, and whose officer it was where the policy does not say so."""
    body: dict[str, object] = {"by": by, "role": role.value, "reason": reason}
    return body | {"officer_of": officer_of} if officer_of else body


def overridden(by: str, reason: str, person: str = "") -> dict[str, object]:
    """Body of ``overridden`` that puts a rejected release before its reviewers again: officer, by name and id; why."""
    return {"by": by, "person": person, "reason": reason}


def gates_overridden(
    by: str, reason: str, record: DecisionRecord, gates: Sequence[GateResult], valid_until: date
) -> dict[str, object]:
    """Body of ``overridden`` for gates of a blocked record, with each figure that the officer saw and its threshold."""
    return {
        "by": by,
        "reason": reason,
        "blocked_record_sha256": digest(record),
        "inputs": record.of_inputs,
        "valid_until": valid_until.isoformat(),
        "gates": [
            gate.model_dump(mode="json", include={"id", "title", "unit", "measured", "comparison", "threshold"})
            for gate in gates
        ],
    }


def commented(by: str, person: str, comment: str) -> dict[str, object]:
    """Body of ``commented``: the person by name and id, and the comment."""
    return {"by": by, "person": person, "comment": comment}


def superseded(by_release: str) -> dict[str, object]:
    """Body of ``superseded``: the release that took its place."""
    return {"by_release": by_release}


def expired(valid_until: date) -> dict[str, object]:
    """Body of ``expired``: the last day that has passed."""
    return {"valid_until": valid_until.isoformat()}


class ReassessedBody(Fact):
    """Body of ``reassessed``: the verdict on a delivered copy, and that of the re-assessment before."""

    record_sha256: str = Field(description="Of the decision.")
    verdict: str
    before: str = Field(description="Verdict of the re-assessment before; the first one follows on the decision.")
    reassessment_sha256: str | None = Field(description="Of the re-assessment's record; None where none could be made.")
    gates: tuple[str, ...] = Field(description="Gates that are not as they were when the release was decided.")
    because: tuple[str, ...] = Field(description="Reasons, a sentence each.")
    due: date = Field(description="The last day for this one.")
    next_due: date
    repeated: bool = Field(description="Whether nothing has changed since a re-assessment whose record is there.")


def reassessed(body: ReassessedBody) -> dict[str, object]:
    """Body of ``reassessed``, its reasons cut to what an entry may hold."""
    reasons = [text[:_LONGEST_REASON] for text in body.because[:_MOST_REASONS]]
    return {**body.model_dump(mode="json"), "because": reasons}


def kept_decision(record: DecisionRecord) -> KeptDecision:
    """Facts of a decision that the ledger keeps."""
    rows = record.dataset.rows_out
    return KeptDecision(
        requested_by=record.requested_by,
        requester_id=record.requester_id,
        handed_in_by=record.handed_in_by,
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
        expert_signs=record.expert_signs or None,
        signed_votes=record.signed_votes or None,
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
    people = gate.people
    if record.dataset.rows_out is None and counts_records(gate.id):  # else known from the number of its records
        people = people or RecordCounts.of(record).of_share(gate.id)
    return kept if people is None else kept.model_copy(update={"people": _people(record, people)})


def _risk(record: DecisionRecord) -> KeptRisk | None:
    if record.risk is None:
        return None
    transparent, sequential = record.risk.transparent, record.risk.sequential
    planned = sequential and sequential.judged_in(sequential.residual).maximum_risk
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

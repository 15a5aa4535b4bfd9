"""The audit report: the one record of a period, which PDF, CSV and terminal render.

It holds what the ledger knows up to the end of the last day, in UTC. No field holds a value of the data; numbers of
people obey the small-cell rule. Nothing is computed here.
"""

from datetime import date, datetime
from typing import Literal

from pydantic import Field

from tasks.core.fact import Fact
from tasks.decision.bodies import Intruder

SCHEMA_VERSION: Literal["releasegate/audit/1"] = "releasegate/audit/1"
Lapse = Literal[30, 60, 90]
"""Days after the last day of the period within which something ends."""


class RecordRange(Fact):
    """A number of people's records: exact where both ends agree, else a range that discloses no small count."""

    low: int
    high: int


class ShareRange(Fact):
    """A share of people between 0 and 1: exact where both ends agree, else a range that discloses no small count."""

    low: float
    high: float


class AuditRow(Fact):
    """A row of a table, based on an entry of the ledger."""

    entry: int = Field(description="Number of the entry.")


class TimedRow(AuditRow):
    """A row of what happened at a time."""

    at: datetime


class ChainProblem(Fact):
    """The first problem of a broken ledger."""

    entry: int | None = Field(description="First wrong entry; None where all are right and the database is not.")
    what: str
    expected: str
    got: str


class Contradiction(Fact):
    """Entries that are intact but cannot all be true."""

    release_id: str
    recipient: str
    where: str
    what: str


class ChainResult(Fact):
    """The check of the whole ledger, later entries included."""

    intact: bool
    entries: int = Field(description="Entries in the ledger.")
    verified: int = Field(description="Entries found right, up to the first wrong one.")
    head: int = Field(description="Number of the last entry found right.")
    head_sha256: str
    signatures: int = Field(description="Signatures found right.")
    keys: int = Field(description="Keys of people that were registered.")
    noted_outside: int = Field(description="Heads and fingerprints from outside the ledger that it was compared with.")
    problem: ChainProblem | None
    unreadable: tuple[int, ...] = Field(description="Entries that cannot be read, and are missing from this report.")
    contradictions: tuple[Contradiction, ...]
    other_events: dict[str, int] = Field(description="Entries of kinds that this version does not know, by kind.")


class RequestRow(AuditRow):
    """A request, or its part for one recipient, with its outcome."""

    requested_at: datetime
    release_id: str | None = Field(description="None where the request was refused before it had one.")
    title: str | None
    requested_by: str | None
    login: str
    recipient: str | None = Field(description="None where it concerns all of them.")
    outcome: str = Field(description="State at the end of the period, or: refused, failed, none recorded.")
    outcome_at: datetime | None
    reasons: tuple[str, ...]


class FileRow(AuditRow):
    """A delivered file, with the cumulative exposure to its recipient, this file included."""

    released_at: datetime
    in_period: bool
    recipient: str
    organisation: str
    release_id: str
    dataset: str
    source_sha256: str
    file_sha256: str = Field(description="Of the clear file.")
    delivered_sha256: str | None = Field(description="Of what was delivered; None where that is the clear file.")
    purpose: str
    records: RecordRange | None
    highest_risk: float | None = Field(description="Of a record, from a recipient who knows how the file was made.")
    expected: float | None = Field(description="Expected re-identifications by such a recipient.")
    state: str
    overridden: tuple[str, ...] = Field(description="Failed gates that an officer has overridden.")
    number: int = Field(description="Number of the file among those to this recipient.")
    copy_of_data: int = Field(description="Number of the file among those to this recipient from the same data.")
    cumulative_records: RecordRange
    cumulative_expected: float


class RecipientRow(Fact):
    """Cumulative exposure to one recipient."""

    recipient: str
    organisation: str
    files: int
    files_in_period: int
    datasets: int = Field(description="Distinct source files, by their hash.")
    records: RecordRange
    expected: float
    highest_risk: float | None
    last_released_at: datetime


class CopyRow(AuditRow):
    """A copy that a recipient has."""

    release_id: str
    recipient: str
    organisation: str


class CertificateRow(CopyRow):
    """A determination in force, whose file was delivered."""

    valid_from: date
    valid_until: date
    days_left: int
    lapses_within: Lapse | None


class RenewalRow(AuditRow):
    """A later determination on the same data for the same recipient."""

    decided_at: datetime
    recipient: str
    release_id: str
    verdict: str
    earlier_release_id: str
    earlier_verdict: str
    earlier_valid_until: date
    changed: bool = Field(description="Whether one of the two was blocked and the other was not.")
    days_late: int | None = Field(description="Days after the last day of the earlier one; None where in time.")


class ReassessmentRow(TimedRow):
    """A re-assessment of a delivered copy."""

    release_id: str
    recipient: str
    verdict: str
    before: str = Field(description="Verdict of the re-assessment before; for the first one, that the decision holds.")
    changed: bool
    repeated: bool = Field(description="Whether nothing had changed since an earlier one.")
    gates: tuple[str, ...] = Field(description="Gates that have changed since the decision.")
    days_late: int | None = Field(description="Days after its due date; None where in time.")


class OverdueRow(CopyRow):
    """A delivered copy that is overdue for re-assessment."""

    last: datetime | None = Field(description="Last re-assessment; None where there was none.")
    due: date
    days_late: int


class BlockedTodayRow(CopyRow):
    """A delivered copy that may be in use and that its last re-assessment would block."""

    at: datetime = Field(description="Time of that re-assessment.")
    state: str
    because: tuple[str, ...]
    next_due: date | None = Field(description="Day of the next assessment; None where it is not recorded.")


class PastDueRow(CopyRow):
    """A determination that has ended while its file may still be in use."""

    valid_until: date
    days_past: int
    renewed_by: str | None = Field(description="A later release of the same data to the recipient, if there is one.")


class InterventionRow(TimedRow):
    """An override or a revocation of a decided release."""

    in_period: bool
    what: str
    release_id: str
    recipient: str | None
    by: str
    role: str
    reason: str
    figures: tuple[str, ...] = Field(description="For an override of gates: gate, figure that the officer saw, bound.")
    until: date | None = Field(description="Last day on which an override of gates could be used.")
    login: str
    signed: bool
    outcome: str = Field(description="State of the release at the end of the period.")


class AuditPolicyRow(TimedRow):
    """The first decision under a different policy than the one before it."""

    policy: str
    version: str
    sha256: str
    before_version: str | None
    before_sha256: str | None
    same_version: bool = Field(description="Whether the contents changed and the version did not.")
    release_id: str
    requested_by: str
    login: str


class KeyRow(TimedRow):
    """A key that was registered, retired or rotated."""

    what: str
    name: str | None
    roles: tuple[str, ...]
    login: str


class SignedRow(TimedRow):
    """A determination whose PDF an expert has signed."""

    release_id: str
    recipient: str | None
    subject: str = Field(description="Subject of the certificate.")
    by: str | None = Field(description="Person who submitted the signature, where one is named.")
    signed_sha256: str
    login: str


class NearRow(AuditRow):
    """A figure that passed a gate close to its threshold."""

    decided_at: datetime
    release_id: str
    recipient: str
    gate: str
    title: str
    measured: str
    asked: str
    used: float = Field(description="Part of the threshold that the figure uses, at most 1.")
    outcome: str


class AuditGateRow(Fact):
    """All figures that one gate was applied to in the period."""

    gate: str
    title: str
    judged: int
    failed: int
    near: int
    compared: int = Field(description="Figures whose part used is defined and may be disclosed.")
    lowest: float | None = Field(description="Least part used; None where none is compared.")
    median: float | None
    highest: float | None


class AuditAttackRow(AuditRow):
    """The strongest attack of one kind of intruder on one recipient's file."""

    decided_at: datetime
    release_id: str
    recipient: str
    intruder: Intruder
    attack: str
    share: ShareRange = Field(description="Expected share of people linked to their own record.")
    interval: ShareRange | None = Field(description="95 % interval; None where it would disclose a small count.")
    baseline: float
    people: RecordRange
    proves_something: bool
    verdict: str


class TraceRow(TimedRow):
    """An attempt to open a sealed decoy manifest, or crosswalks of pseudonyms."""

    release_id: str
    by: str
    incident: str | None = Field(description="Rows of a file, people, or pseudonyms.")
    verdict: str
    named: tuple[str, ...] = Field(description="Recipients that the ledger names; merely suspected ones are left out.")
    reason: str | None
    released_at: datetime | None = Field(description="First delivery of a copy of the release.")
    response: str | None
    response_entry: int | None
    response_at: datetime | None
    response_hours: float | None


class AgreementRow(AuditRow):
    """An agreement under which copies were delivered, and which has ended or ends soon."""

    agreement: str
    recipient: str
    organisation: str
    expires: date
    days_left: int = Field(description="Negative once it has ended.")
    lapses_within: Lapse | None
    files: int


class DestructionRow(AuditRow):
    """A copy that is to be destroyed."""

    release_id: str
    recipient: str
    file_sha256: str
    because: str
    due: date
    days_past: int


class ExceptionRow(TimedRow):
    """An exception from the separation of duties."""

    release_id: str
    recipient: str
    what: str
    who: str


class Duties(Fact):
    """Separation of duties: whether requesters, reviewers and officers were different people, by name."""

    votes: int
    overrides: int
    deliveries: int
    unsigned_votes: int
    votes_from_requesters_login: int = Field(description="Of those without a signature.")
    self_reviews: int = Field(
        default=0,
        description="Votes and overrides by the requester, or without a signature from the login of the request.",
    )
    exceptions: tuple[ExceptionRow, ...]


class AttackCount(Fact):
    """Attacks of one kind of intruder in one interval."""

    intruder: Intruder
    attacks: int
    median: float
    highest: float


class AuditInterval(Fact):
    """A part of the period."""

    first_day: date
    last_day: date
    outcomes: dict[str, int] = Field(description="Requests made in it, by outcome at the end of the period.")
    attacks: tuple[AttackCount, ...]


class AuditReport(Fact):
    """The audit of a period."""

    schema_version: Literal["releasegate/audit/1"] = SCHEMA_VERSION
    program: str = Field(description="Version of the program that made the report.")
    first_day: date
    last_day: date
    made_at: datetime
    near_from: float = Field(description="Part of what a gate allows from which a figure is near the threshold.")
    small_cell: int = Field(description="Smallest number of people that is disclosed where no policy says otherwise.")
    outcomes: dict[str, int] = Field(description="Requests made in the period, by outcome at its end.")
    chain: ChainResult
    intervals: tuple[AuditInterval, ...]
    requests: tuple[RequestRow, ...] = Field(description="Made in the period, or with their outcome in it.")
    recipients: tuple[RecipientRow, ...]
    files: tuple[FileRow, ...] = Field(description="All delivered files, since the ledger began.")
    certificates: tuple[CertificateRow, ...] = Field(description="In force at the end of the period.")
    reassessments: int = Field(description="Re-assessments that the ledger records up to the last day.")
    reassessed: tuple[ReassessmentRow, ...] = Field(description="Re-assessments of the period.")
    overdue: tuple[OverdueRow, ...] = Field(description="Copies whose re-assessment was due before the last day.")
    blocked_today: tuple[BlockedTodayRow, ...] = Field(
        default=(), description="Copies that may be in use and that their last re-assessment would block."
    )
    renewals: tuple[RenewalRow, ...]
    past_due: tuple[PastDueRow, ...]
    interventions: tuple[InterventionRow, ...] = Field(
        description="Overrides, since the ledger began; revocations, in the period."
    )
    policies: tuple[AuditPolicyRow, ...]
    keys: tuple[KeyRow, ...]
    signed: tuple[SignedRow, ...]
    gates: tuple[AuditGateRow, ...]
    near: tuple[NearRow, ...]
    attacks: tuple[AuditAttackRow, ...]
    traces: tuple[TraceRow, ...]
    agreements: tuple[AgreementRow, ...]
    destructions: tuple[DestructionRow, ...]
    duties: Duties

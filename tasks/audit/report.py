"""The audit report: the one truth about a period, which PDF, CSV and terminal render.

It says what the ledger knows up to the end of the last day, in UTC, and nothing that came later. What entries of older
versions do not hold is None, “not recorded”. No field holds a value of the data; numbers of people obey the small-cell
rule here already. Nothing here computes anything.
"""

from datetime import date, datetime
from typing import Literal

from pydantic import Field

from tasks.decision.fact import Fact
from tasks.ledger.determined import Intruder

SCHEMA_VERSION: Literal["releasegate/audit/1"] = "releasegate/audit/1"
Lapse = Literal[30, 60, 90]
"""Days after the last day of the period within which something ends."""


class Records(Fact):
    """A number of people's records: exact where both ends agree, else a range that tells no small count."""

    low: int
    high: int


class Share(Fact):
    """A share of people between 0 and 1: exact where both ends agree, else a range that tells no small count."""

    low: float
    high: float


class Row(Fact):
    """A line of a table; it rests on an entry of the ledger."""

    entry: int = Field(description="Number of the entry.")


class Problem(Fact):
    """What is wrong with the ledger."""

    entry: int | None = Field(description="First wrong entry; None where all are right and the database is not.")
    what: str
    expected: str
    got: str


class Contradiction(Fact):
    """Entries that are intact and cannot all be true."""

    release_id: str
    recipient: str
    where: str
    what: str


class Chain(Fact):
    """The check of the whole ledger, later entries included."""

    intact: bool
    entries: int = Field(description="Entries in the ledger.")
    verified: int = Field(description="Entries found right, up to the first wrong one.")
    head: int = Field(description="Number of the last entry found right.")
    head_sha256: str
    signatures: int = Field(description="Signatures found right.")
    keys: int = Field(description="Keys of people that were registered.")
    noted_outside: int = Field(description="Heads and fingerprints from outside the ledger that it was compared with.")
    problem: Problem | None
    unreadable: tuple[int, ...] = Field(description="Entries that cannot be read, and are missing in this report.")
    contradictions: tuple[Contradiction, ...]
    other_events: dict[str, int] = Field(description="Entries of kinds that this version does not know, by kind.")


class RequestRow(Row):
    """A request, or its part for one recipient, and what came of it."""

    requested_at: datetime
    release_id: str | None = Field(description="None where the request was refused before it had one.")
    title: str | None
    requested_by: str | None
    login: str
    recipient: str | None = Field(description="None where it concerns all of them.")
    outcome: str = Field(description="State at the end of the period, or: refused, failed, none recorded.")
    outcome_at: datetime | None
    reasons: tuple[str, ...]


class FileRow(Row):
    """A file that has left, and what its recipient has got in all, this file included."""

    released_at: datetime
    in_period: bool
    recipient: str
    organisation: str | None
    release_id: str
    dataset: str | None
    source_sha256: str | None
    file_sha256: str = Field(description="Of the clear file.")
    delivered_sha256: str | None = Field(description="Of what was delivered; None where that is the clear file.")
    purpose: str | None
    records: Records | None
    highest_risk: float | None = Field(description="Of a record, from a recipient who knows how the file was made.")
    expected: float | None = Field(description="Expected re-identifications by such a recipient.")
    state: str
    overridden: tuple[str, ...] = Field(description="Gates that it does not pass, and that an officer answers for.")
    number: int = Field(description="Which file to this recipient.")
    copy_of_data: int | None = Field(description="Which file to this recipient made from the same data.")
    cumulative_records: Records
    cumulative_expected: float
    not_recorded: int = Field(description="Files so far of which records or risk are not recorded; sums lack them.")


class RecipientRow(Fact):
    """What one recipient has got in all."""

    recipient: str
    organisation: str | None
    files: int
    files_in_period: int
    datasets: int = Field(description="Different source files, by their hash.")
    records: Records
    expected: float
    highest_risk: float | None
    not_recorded: int
    last_released_at: datetime


class CertificateRow(Row):
    """A determination under which a file is out and may be used."""

    release_id: str
    recipient: str
    organisation: str | None
    valid_from: date | None
    valid_until: date | None
    days_left: int | None
    lapses_within: Lapse | None


class RenewalRow(Row):
    """A later determination on the same data for the same recipient."""

    decided_at: datetime
    recipient: str
    release_id: str
    verdict: str
    earlier_release_id: str
    earlier_verdict: str
    earlier_valid_until: date | None
    changed: bool = Field(description="Whether a gate blocked one of the two and not the other.")
    days_late: int | None = Field(description="Days after the last day of the earlier one; None where it was in time.")


class ReassessmentRow(Row):
    """A copy that has left and was assessed again."""

    at: datetime
    release_id: str
    recipient: str
    verdict: str
    before: str = Field(description="Verdict of the re-assessment before; of the first one, that the decision holds.")
    changed: bool
    repeated: bool = Field(description="Whether nothing had changed since one that was recorded already.")
    gates: tuple[str, ...] = Field(description="Gates that are not as they were when the release was decided.")
    days_late: int | None = Field(description="Days after the last one on which it was due; None where in time.")


class OverdueRow(Row):
    """A copy that has left and was to be assessed again by now."""

    release_id: str
    recipient: str
    organisation: str | None
    last: datetime | None = Field(description="When it was last; None where it never was.")
    due: date
    days_late: int


class PastDueRow(Row):
    """A determination that has ended while its file is out."""

    release_id: str
    recipient: str
    organisation: str | None
    valid_until: date
    days_past: int
    renewed_by: str | None = Field(description="A later release of the same data to the recipient, if any was made.")


class InterventionRow(Row):
    """What a person has done to a decided release."""

    at: datetime
    in_period: bool
    what: str
    release_id: str
    recipient: str | None
    by: str
    role: str
    reason: str
    figures: tuple[str, ...] = Field(description="Of an override of gates: gate, figure that the officer saw, bound.")
    until: date | None = Field(description="Last day on which an override of gates could be used.")
    login: str
    signed: bool
    outcome: str = Field(description="State of the release at the end of the period.")


class PolicyRow(Row):
    """The first decision under another policy than the one before it."""

    at: datetime
    policy: str
    version: str
    sha256: str
    before_version: str | None
    before_sha256: str | None
    same_version: bool = Field(description="Whether the contents changed and the version did not.")
    release_id: str
    requested_by: str
    login: str


class KeyRow(Row):
    """A key that was registered, retired or rotated."""

    at: datetime
    what: str
    name: str | None
    roles: tuple[str, ...]
    login: str


class SignedRow(Row):
    """A determination whose PDF an expert has signed."""

    at: datetime
    release_id: str
    recipient: str | None
    subject: str = Field(description="Whose certificate.")
    by: str | None = Field(description="Who brought the signature, where a person is named.")
    signed_sha256: str
    login: str


class NearRow(Row):
    """A figure that a gate let pass close to its threshold."""

    decided_at: datetime
    release_id: str
    recipient: str
    gate: str
    title: str
    measured: str
    asked: str
    used: float = Field(description="Part of what the gate allows that the figure takes, at most 1.")
    outcome: str


class GateRow(Fact):
    """All figures that one gate judged in the period."""

    gate: str
    title: str
    judged: int
    failed: int
    near: int
    compared: int = Field(description="Figures of which the part used can be told and may be shown.")
    lowest: float | None = Field(description="Least part used; None where none is compared.")
    median: float | None
    highest: float | None


class AttackRow(Row):
    """The strongest attack of one kind of intruder on one recipient's file."""

    decided_at: datetime
    release_id: str
    recipient: str
    intruder: Intruder
    attack: str
    share: Share = Field(description="Expected share of people linked to their own record.")
    interval: Share | None = Field(description="95 % interval; None where it would tell a small count.")
    baseline: float
    people: Records
    proves_something: bool
    verdict: str


class TraceRow(Row):
    """A time at which a sealed manifest was opened, or tried to be."""

    at: datetime
    release_id: str
    by: str
    incident: str | None = Field(description="Rows of a file, or people.")
    verdict: str
    named: tuple[str, ...] = Field(description="Recipients whom the ledger names; those merely suspected are left out.")
    reason: str | None
    released_at: datetime | None = Field(description="When the first copy of the release left.")
    response: str | None
    response_entry: int | None
    response_at: datetime | None
    response_hours: float | None


class AgreementRow(Row):
    """An agreement under which copies are out, and which ends soon or has ended."""

    agreement: str
    recipient: str
    organisation: str
    expires: date
    days_left: int = Field(description="Negative once it has ended.")
    lapses_within: Lapse | None
    files: int


class DestructionRow(Row):
    """A copy that is to be destroyed."""

    release_id: str
    recipient: str
    file_sha256: str
    because: str
    due: date
    days_past: int


class ExceptionRow(Row):
    """Duties that were not kept apart."""

    at: datetime
    release_id: str
    recipient: str
    what: str
    who: str


class Duties(Fact):
    """Whether those who ask, review and answer were different people; by the names in the ledger."""

    votes: int
    overrides: int
    deliveries: int
    unsigned_votes: int
    votes_from_requesters_login: int = Field(description="Of those without a signature.")
    exceptions: tuple[ExceptionRow, ...]


class AttackCount(Fact):
    """Attacks of one kind of intruder in one interval."""

    intruder: Intruder
    attacks: int
    median: float
    highest: float


class Interval(Fact):
    """A part of the period."""

    first_day: date
    last_day: date
    outcomes: dict[str, int] = Field(description="Requests made in it, by outcome at the end of the period.")
    attacks: tuple[AttackCount, ...]


class AuditReport(Fact):
    """What the ledger tells of a period."""

    schema_version: Literal["releasegate/audit/1"] = SCHEMA_VERSION
    program: str = Field(description="Version of the program that made the report.")
    first_day: date
    last_day: date
    made_at: datetime
    near_from: float = Field(description="Part of what a gate allows from which on a figure is near the threshold.")
    small_cell: int = Field(description="Smallest number of people that is told where no policy says otherwise.")
    not_recorded: int = Field(description="Decisions of older versions, of which the ledger keeps the verdict alone.")
    outcomes: dict[str, int] = Field(description="Requests made in the period, by outcome at its end.")
    chain: Chain
    intervals: tuple[Interval, ...]
    requests: tuple[RequestRow, ...] = Field(description="Made in the period, or with their outcome in it.")
    recipients: tuple[RecipientRow, ...]
    files: tuple[FileRow, ...] = Field(description="All that have left, since the ledger began.")
    certificates: tuple[CertificateRow, ...] = Field(description="In force at the end of the period.")
    reassessments: int = Field(description="Re-assessments that the ledger records up to the last day.")
    reassessed: tuple[ReassessmentRow, ...] = Field(description="Those of the period.")
    overdue: tuple[OverdueRow, ...] = Field(description="Copies whose re-assessment was due before the last day.")
    renewals: tuple[RenewalRow, ...]
    past_due: tuple[PastDueRow, ...]
    interventions: tuple[InterventionRow, ...] = Field(
        description="Overrides, since the ledger began; revocations, in the period."
    )
    policies: tuple[PolicyRow, ...]
    keys: tuple[KeyRow, ...]
    signed: tuple[SignedRow, ...]
    gates: tuple[GateRow, ...]
    near: tuple[NearRow, ...]
    attacks: tuple[AttackRow, ...]
    traces: tuple[TraceRow, ...]
    agreements: tuple[AgreementRow, ...]
    destructions: tuple[DestructionRow, ...]
    duties: Duties

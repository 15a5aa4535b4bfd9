"""Tables of an audit report in print: which rows, in which columns, in which words.

A table shows a bounded number of rows; all of them are in the CSV and JSON files. Nothing is computed here.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from reports import numbers
from reports.audit_cells import (
    DASH,
    INTRUDERS,
    MOST_ROWS,
    NOT_RECORDED,
    UNBROKEN,
    UNPROVEN,
    Column,
    Listing,
    clipped,
    day_text,
    hours_text,
    part,
    records_text,
    release_text,
    risk_text,
    share_text,
    summed,
    time_text,
    who,
)
from tasks.audit.report import (
    AgreementRow,
    AttackRow,
    AuditReport,
    CertificateRow,
    DestructionRow,
    ExceptionRow,
    FileRow,
    GateRow,
    InterventionRow,
    KeyRow,
    NearRow,
    OverdueRow,
    PastDueRow,
    PolicyRow,
    ReassessmentRow,
    RecipientRow,
    RenewalRow,
    RequestRow,
    Row,
    SignedRow,
    TraceRow,
)

AnyRow = TypeVar("AnyRow", bound=Row)


class Tables:
    """The tables of one report; entries that are not proven are marked.

    Parameters
    ----------
    report : AuditReport
    """

    def __init__(self, report: AuditReport) -> None:
        self._report = report
        problem = report.chain.problem
        self._broken_at = problem.entry if problem else None

    def requests(self) -> Listing:
        """Requests and outcomes."""
        columns = (
            Column("Entry, requested", 18),
            Column("Release, title", 21),
            Column("Asked by (login)", 13),
            Column("Recipient", 12),
            Column("Outcome", 18),
            Column("Why", 18),
        )
        return self._latest("Requests and what came of them", columns, self._report.requests, self._request, "requests")

    def _request(self, row: RequestRow) -> tuple[str, ...]:
        return (
            f"{self._entry(row)} {time_text(row.requested_at)}",
            f"{release_text(row.release_id)}{', ' + row.title if row.title else ''}",
            f"{row.requested_by or NOT_RECORDED} ({row.login})",
            row.recipient or "all",
            f"{row.outcome}{' ' + time_text(row.outcome_at) if row.outcome_at else ''}",
            clipped("; ".join(row.reasons)) or DASH,
        )

    def recipients(self) -> Listing:
        """What each recipient has got in all."""
        columns = (
            Column("Recipient", 26),
            Column("Files", 9, is_figure=True),
            Column("in the period", 11, is_figure=True),
            Column("Data sets", 9, is_figure=True),
            Column("Records", 15, is_figure=True),
            Column("Expected re-identifications", 16, is_figure=True),
            Column("Highest risk", 14, is_figure=True),
        )
        rows = self._report.recipients
        shown = tuple(_recipient(row) for row in rows[:MOST_ROWS])
        caption = "Cumulative exposure by recipient, since the ledger began"
        return Listing(caption, columns, shown, len(rows), "recipients.csv")

    def files(self) -> Listing:
        """Every file that has left."""
        columns = (
            Column("Recipient", 14),
            Column("No.", 5, is_figure=True),
            Column("Entry, released", 18),
            Column("Release, data", 19),
            Column("Records", 10, is_figure=True),
            Column("so far", 11, is_figure=True),
            Column("Highest risk", 12, is_figure=True),
            Column("State", 11),
        )
        return self._latest("Files that have left, by recipient", columns, self._report.files, self._file, "files")

    def _file(self, row: FileRow) -> tuple[str, ...]:
        copy = row.copy_of_data or 1
        again = f" (copy {numbers.integer(copy)} of these data)" if copy > 1 else ""
        return (
            row.recipient,
            numbers.integer(row.number),
            f"{self._entry(row)} {time_text(row.released_at)}",
            f"{release_text(row.release_id)}, {row.dataset or 'data ' + NOT_RECORDED}{again}",
            records_text(row.records),
            summed(row.cumulative_records, row.not_recorded),
            risk_text(row.highest_risk),
            f"{row.state}; {numbers.integer(len(row.overridden))} overridden" if row.overridden else row.state,
        )

    def certificates(self) -> Listing:
        """Determinations in force."""
        columns = (
            Column("Entry", 10),
            Column("Release", 17),
            Column("Recipient", 33),
            Column("Valid until", 16),
            Column("Days left", 11, is_figure=True),
            Column("Lapses within", 13),
        )
        rows = self._report.certificates
        return self._first(
            "Determinations in force, the first to lapse first", columns, rows, self._certificate, "certificates"
        )

    def _certificate(self, row: CertificateRow) -> tuple[str, ...]:
        return (
            self._entry(row),
            release_text(row.release_id),
            who(row.recipient, row.organisation),
            day_text(row.valid_until),
            NOT_RECORDED if row.days_left is None else numbers.integer(row.days_left),
            f"{row.lapses_within} days" if row.lapses_within else DASH,
        )

    def past_due(self) -> Listing:
        """Determinations that have ended while their file is out."""
        columns = (
            Column("Entry", 10),
            Column("Release", 17),
            Column("Recipient", 33),
            Column("Valid until", 14),
            Column("Days past", 10, is_figure=True),
            Column("Determined anew by", 16),
        )
        rows = self._report.past_due
        return self._first("Past their last day, file still out", columns, rows, self._past, "past_due")

    def _past(self, row: PastDueRow) -> tuple[str, ...]:
        return (
            self._entry(row),
            release_text(row.release_id),
            who(row.recipient, row.organisation),
            day_text(row.valid_until),
            numbers.integer(row.days_past),
            release_text(row.renewed_by) if row.renewed_by else "none recorded",
        )

    def reassessed(self) -> Listing:
        """Re-assessments of the period."""
        columns = (
            Column("Entry, time", 18),
            Column("Release", 15),
            Column("Recipient", 15),
            Column("Verdict", 17),
            Column("Before", 17),
            Column("Gates changed", 18),
            Column("Late by days", 10, is_figure=True),
        )
        rows = self._report.reassessed
        return self._latest("Assessed again", columns, rows, self._again, "reassessed")

    def _again(self, row: ReassessmentRow) -> tuple[str, ...]:
        return (
            f"{self._entry(row)} {time_text(row.at)}",
            release_text(row.release_id),
            row.recipient,
            f"{row.verdict}{', nothing has changed' if row.repeated else ''}",
            row.before,
            ", ".join(row.gates) or "none",
            "in time" if row.days_late is None else numbers.integer(row.days_late),
        )

    def overdue(self) -> Listing:
        """Copies that were to be assessed again."""
        columns = (
            Column("Entry", 10),
            Column("Release", 17),
            Column("Recipient", 35),
            Column("Last assessed again", 16),
            Column("Due", 12),
            Column("Days late", 10, is_figure=True),
        )
        rows = self._report.overdue
        return self._first("To be assessed again", columns, rows, self._overdue, "overdue")

    def _overdue(self, row: OverdueRow) -> tuple[str, ...]:
        return (
            self._entry(row),
            release_text(row.release_id),
            who(row.recipient, row.organisation),
            time_text(row.last) if row.last else "never",
            day_text(row.due),
            numbers.integer(row.days_late),
        )

    def renewals(self) -> Listing:
        """The same data determined anew for the same recipient."""
        columns = (
            Column("Entry, decided", 18),
            Column("Recipient", 15),
            Column("Release, verdict", 20),
            Column("Earlier one, verdict", 20),
            Column("Verdict changed", 12),
            Column("Late by days", 15, is_figure=True),
        )
        rows = self._report.renewals
        return self._latest("The same data determined anew", columns, rows, self._renewal, "renewals")

    def _renewal(self, row: RenewalRow) -> tuple[str, ...]:
        late = "in time" if row.days_late is None else numbers.integer(row.days_late)
        return (
            f"{self._entry(row)} {time_text(row.decided_at)}",
            row.recipient,
            f"{release_text(row.release_id)}, {row.verdict}",
            f"{release_text(row.earlier_release_id)}, {row.earlier_verdict}",
            "yes" if row.changed else "no",
            NOT_RECORDED if row.earlier_valid_until is None else late,
        )

    def interventions(self) -> Listing:
        """Overrides and revocations."""
        columns = (
            Column("Entry, time", 18),
            Column("What", 11),
            Column("Release, recipient", 17),
            Column("By (login)", 18),
            Column("Reason", 24),
            Column("State now", 12),
        )
        rows = self._report.interventions
        caption = "Overrides, since the ledger began, and revocations of the period"
        return self._latest(caption, columns, rows, self._intervention, "interventions")

    def _intervention(self, row: InterventionRow) -> tuple[str, ...]:
        signed = "signed" if row.signed else "not signed"
        return (
            f"{self._entry(row)} {time_text(row.at)}",
            row.what if row.in_period else f"{row.what}, before the period",
            f"{release_text(row.release_id)}, {row.recipient or 'all'}",
            f"{row.by}, {row.role} ({row.login}; {signed})",
            clipped("; ".join((row.reason, *row.figures, *([f"until {day_text(row.until)}"] if row.until else [])))),
            row.outcome,
        )

    def policies(self) -> Listing:
        """Policies taken into use."""
        columns = (
            Column("Entry, time", 18),
            Column("Policy, version", 19),
            Column("SHA-256", 14),
            Column("Before", 17),
            Column("First release", 15),
            Column("Asked for by (login)", 17),
        )
        rows = self._report.policies
        return self._latest("Policies taken into use", columns, rows, self._policy, "policies")

    def _policy(self, row: PolicyRow) -> tuple[str, ...]:
        before = DASH
        if row.before_version is not None:
            same = "; same version, other contents" if row.same_version else ""
            before = f"{row.before_version}, {numbers.short(row.before_sha256 or '')}{same}"
        return (
            f"{self._entry(row)} {time_text(row.at)}",
            f"{row.policy}, {row.version}",
            numbers.short(row.sha256),
            before,
            release_text(row.release_id),
            f"{row.requested_by} ({row.login})",
        )

    def gates(self) -> Listing:
        """All figures by gate."""
        columns = (
            Column("Gate", 42),
            Column("Judged", 10, is_figure=True),
            Column("Failed", 10, is_figure=True),
            Column("Near", 10, is_figure=True),
            Column("Part used, median", 14, is_figure=True),
            Column("highest", 14, is_figure=True),
        )
        rows = self._report.gates
        shown = tuple(_gate(row) for row in rows)
        return Listing("Figures of the period by gate", columns, shown, len(rows), "gates.csv")

    def near(self) -> Listing:
        """Figures near their thresholds."""
        columns = (
            Column("Entry, decided", 18),
            Column("Release, recipient", 17),
            Column("Gate", 24),
            Column("Measured", 11, is_figure=True),
            Column("Allowed", 12),
            Column("Part used", 8, is_figure=True),
            Column("State", 10),
        )
        rows = self._report.near
        return self._first("Figures near their threshold, the nearest first", columns, rows, self._near, "near")

    def _near(self, row: NearRow) -> tuple[str, ...]:
        return (
            f"{self._entry(row)} {time_text(row.decided_at)}",
            f"{release_text(row.release_id)}, {row.recipient}",
            row.title,
            row.measured,
            row.asked,
            numbers.percent(row.used),
            row.outcome,
        )

    def attacks(self) -> Listing:
        """Results of attacks: a line a file, with the strongest attack of each kind of intruder."""
        columns = (
            Column("Entry, decided", 18),
            Column("Release, recipient", 16),
            *(Column(f"Linked {INTRUDERS[kind]}", 15, is_figure=True) for kind in INTRUDERS),
            Column("Guessing", 10, is_figure=True),
            Column("Verdict", 11),
        )
        by_file: dict[int, list[AttackRow]] = {}
        for row in self._report.attacks:
            by_file.setdefault(row.entry, []).append(row)
        shown = tuple(self._attacked(rows) for rows in list(by_file.values())[-MOST_ROWS:])
        caption = "Share of people linked by the strongest attack, with its 95 % interval"
        return Listing(caption, columns, shown, len(by_file), "attacks.csv", "The latest")

    def _attacked(self, rows: Sequence[AttackRow]) -> tuple[str, ...]:
        first = rows[0]
        by_kind = {row.intruder: row for row in rows}
        return (
            f"{self._entry(first)} {time_text(first.decided_at)}",
            f"{release_text(first.release_id)}, {first.recipient}",
            *(_linked(by_kind.get(kind)) for kind in INTRUDERS),
            numbers.percent(max(row.baseline for row in rows)),
            first.verdict,
        )

    def traces(self) -> Listing:
        """Decoy sightings."""
        columns = (
            Column("Entry, traced", 18),
            Column("Release, first out", 18),
            Column("By (login); of", 14),
            Column("Verdict", 19),
            Column("Named", 13),
            Column("Response", 18),
        )
        return self._latest("Traces and responses", columns, self._report.traces, self._trace, "traces")

    def _trace(self, row: TraceRow) -> tuple[str, ...]:
        response = "none recorded"
        if row.response_at is not None and row.response_hours is not None:
            response = f"{row.response} {time_text(row.response_at)}, after {hours_text(row.response_hours)}"
        out = time_text(row.released_at) if row.released_at else "not delivered"
        return (
            f"{self._entry(row)} {time_text(row.at)}",
            f"{release_text(row.release_id)} {out}",
            f"{row.by}; {row.incident or NOT_RECORDED}",
            f"{row.verdict}{': ' + clipped(row.reason) if row.reason else ''}",
            ", ".join(row.named) or "nobody",
            response,
        )

    def agreements(self) -> Listing:
        """Agreements that end or have ended."""
        columns = (
            Column("Entry", 10),
            Column("Agreement", 22),
            Column("Recipient", 32),
            Column("Last day", 14),
            Column("Days left", 12, is_figure=True),
            Column("Files out", 10, is_figure=True),
        )
        rows = self._report.agreements
        caption = "Agreements that have ended or end within 90 days"
        return self._first(caption, columns, rows, self._agreement, "agreements")

    def _agreement(self, row: AgreementRow) -> tuple[str, ...]:
        return (
            self._entry(row),
            row.agreement,
            who(row.recipient, row.organisation),
            day_text(row.expires),
            numbers.integer(row.days_left) if row.days_left >= 0 else "ended",
            numbers.integer(row.files),
        )

    def destructions(self) -> Listing:
        """Copies to be destroyed."""
        columns = (
            Column("Entry", 10),
            Column("Release", 16),
            Column("Recipient", 18),
            Column("File, SHA-256", 16),
            Column("Because", 16),
            Column("Since", 13),
            Column("Days", 11, is_figure=True),
        )
        rows = self._report.destructions
        caption = "Copies to be destroyed, the longest due first"
        return self._first(caption, columns, rows, self._destruction, "destructions")

    def _destruction(self, row: DestructionRow) -> tuple[str, ...]:
        return (
            self._entry(row),
            release_text(row.release_id),
            row.recipient,
            numbers.short(row.file_sha256),
            row.because,
            day_text(row.due),
            numbers.integer(row.days_past),
        )

    def exceptions(self) -> Listing:
        """Duties that were not kept apart."""
        columns = (
            Column("Entry, time", 18),
            Column("Release, recipient", 22),
            Column("What", 40),
            Column("Who", 20),
        )
        rows = self._report.duties.exceptions
        return self._latest("Exceptions", columns, rows, self._exception, "duty_exceptions")

    def _exception(self, row: ExceptionRow) -> tuple[str, ...]:
        return (
            f"{self._entry(row)} {time_text(row.at)}",
            f"{release_text(row.release_id)}, {row.recipient}",
            row.what,
            row.who,
        )

    def keys(self) -> Listing:
        """Keys registered, retired, rotated."""
        columns = (
            Column("Entry, time", 20),
            Column("What", 22),
            Column("Whose", 25),
            Column("Roles", 18),
            Column("Login", 15),
        )
        return self._latest("Keys of the period", columns, self._report.keys, self._key, "keys")

    def _key(self, row: KeyRow) -> tuple[str, ...]:
        return (
            f"{self._entry(row)} {time_text(row.at)}",
            row.what,
            row.name or DASH,
            ", ".join(row.roles) or DASH,
            row.login,
        )

    def signed(self) -> Listing:
        """Signed determinations."""
        columns = (
            Column("Entry, time", 18),
            Column("Release, recipient", 22),
            Column("Certificate of", 26),
            Column("Brought by (login)", 20),
            Column("Signed PDF", 14),
        )
        return self._latest("Determinations signed in the period", columns, self._report.signed, self._sign, "signed")

    def _sign(self, row: SignedRow) -> tuple[str, ...]:
        return (
            f"{self._entry(row)} {time_text(row.at)}",
            f"{release_text(row.release_id)}, {row.recipient or 'all'}",
            clipped(row.subject),
            f"{row.by or DASH} ({row.login})",
            numbers.short(row.signed_sha256),
        )

    def contradictions(self) -> Listing:
        """Entries that cannot all be true."""
        columns = (Column("Release, recipient", 30), Column("Where", 25), Column("What", 45))
        rows = self._report.chain.contradictions
        shown = tuple(
            (f"{release_text(row.release_id)}, {row.recipient}", row.where, clipped(row.what))
            for row in rows[:MOST_ROWS]
        )
        return Listing("Entries that contradict each other", columns, shown, len(rows), "contradictions.csv")

    def _latest(
        self,
        caption: str,
        columns: tuple[Column, ...],
        rows: Sequence[AnyRow],
        cells: Callable[[AnyRow], tuple[str, ...]],
        file: str,
    ) -> Listing:
        """The rows of the latest entries, in their order."""
        kept = rows
        if len(rows) > MOST_ROWS:
            latest = set(sorted(range(len(rows)), key=lambda place: rows[place].entry)[-MOST_ROWS:])
            kept = [row for place, row in enumerate(rows) if place in latest]
        return Listing(caption, columns, tuple(cells(row) for row in kept), len(rows), f"{file}.csv", "The latest")

    def _first(
        self,
        caption: str,
        columns: tuple[Column, ...],
        rows: Sequence[AnyRow],
        cells: Callable[[AnyRow], tuple[str, ...]],
        file: str,
    ) -> Listing:
        """The rows that come first."""
        return Listing(caption, columns, tuple(cells(row) for row in rows[:MOST_ROWS]), len(rows), f"{file}.csv")

    def _entry(self, row: Row) -> str:
        unproven = self._broken_at is not None and row.entry >= self._broken_at
        return f"#{row.entry}{UNPROVEN if unproven else ''}"


def _recipient(row: RecipientRow) -> tuple[str, ...]:
    return (
        who(row.recipient, row.organisation),
        numbers.integer(row.files),
        numbers.integer(row.files_in_period),
        numbers.integer(row.datasets),
        summed(row.records, row.not_recorded),
        f"{'≥ ' if row.not_recorded else ''}{numbers.risk(row.expected)}",
        risk_text(row.highest_risk),
    )


def _gate(row: GateRow) -> tuple[str, ...]:
    return (
        row.title,
        numbers.integer(row.judged),
        numbers.integer(row.failed),
        numbers.integer(row.near),
        DASH if row.median is None else part(row.median),
        DASH if row.highest is None else part(row.highest),
    )


def _linked(row: AttackRow | None) -> str:
    if row is None:
        return DASH
    around = ""
    if row.interval:
        around = f" ({numbers.percent_range(row.interval.low, row.interval.high).replace('–', UNBROKEN)})"
    proves = "" if row.proves_something else "; as guessing"
    return f"{share_text(row.share)}{around}{proves}"

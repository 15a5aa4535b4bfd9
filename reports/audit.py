"""The audit of a period as a PDF: the audit report, rendered.

Only the format of figures is decided here, and there is no clock: the same report gives the same bytes. The
report itself is embedded as ``audit.json``.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from reports import numbers
from reports.audit_cells import MOST_ROWS
from reports.audit_figures import audit_figures
from reports.audit_tables import listings
from reports.charting import Figure
from reports.pdf import Attached, write_pdf
from reports.smallcell import SmallCellRule
from reports.statements import VerdictText
from reports.templating import render
from tasks.audit.people import OVERRIDES, REVOCATION
from tasks.audit.report import AuditReport, ChainResult
from tasks.core.canonical import canonical_json, digest

REPORT_NAME = "audit.json"

_TITLES = {
    "summary": "Summary",
    "requests": "Requests and their outcomes",
    "exposure": "Releases and cumulative exposure",
    "validity": "Determinations in force",
    "reassessment": "Re-assessments",
    "interventions": "Overrides, revocations and policies",
    "thresholds": "Releases near their thresholds",
    "attacks": "Results of attacks",
    "traces": "Decoy sightings",
    "agreements": "Agreements and destruction",
    "duties": "Separation of duties",
    "chain": "The ledger",
    "reading": "How to read this report",
}


@dataclass(frozen=True)
class AuditSection:
    """A numbered section: its key names anchor and template."""

    number: int
    key: str
    title: str


def sections() -> tuple[AuditSection, ...]:
    """The sections, numbered in order; each is there in every audit, and says so where nothing is recorded."""
    return tuple(AuditSection(number, key, title) for number, (key, title) in enumerate(_TITLES.items(), start=1))


def render_audit(report: AuditReport) -> bytes:
    """The audit as tagged PDF/A-3a with the report attached.

    Raises
    ------
    StageFailed
        If it cannot be rendered in full.
    """
    drawn, content = audit_figures(report), canonical_json(report)
    sha256 = hashlib.sha256(content).hexdigest()
    return write_pdf(
        _html(report, drawn, sha256),
        assets={f"{name}.svg": figure.svg for name, figure in drawn.items()},
        attachments=[Attached(REPORT_NAME, content, "The audit report that this document renders")],
        moment=report.made_at,
        identifier=sha256[:32],
    )


def audit_html(report: AuditReport) -> str:
    """The audit as the HTML that the PDF is made from; figures are referred to as ``asset:<name>.svg``."""
    return _html(report, audit_figures(report), digest(report))


def _html(report: AuditReport, drawn: Mapping[str, Figure], sha256: str) -> str:
    return render(
        SmallCellRule(report.small_cell),
        "audit.html",
        report=report,
        verdict=verdict_text(report.chain),
        period=f"{numbers.day(report.first_day)} to {numbers.day(report.last_day)}",
        moment=numbers.utc(report.made_at).strftime("%Y-%m-%dT%H:%M:%SZ"),
        sections=sections(),
        figures=drawn,
        tables=listings(report),
        outcomes=", ".join(f"{numbers.integer(count)} {name}" for name, count in report.outcomes.items()),
        delivered=sum(row.in_period for row in report.files),
        lapsing=[
            sum(row.days_left is not None and row.days_left <= days for row in report.certificates)
            for days in (30, 60, 90)
        ],
        overrides=[row for row in report.interventions if row.what in OVERRIDES],
        revocations=[row for row in report.interventions if row.what == REVOCATION],
        overridden=sum(bool(row.overridden) for row in report.files),
        late=sum(row.days_late is not None for row in report.renewals),
        changed=sum(row.changed for row in report.renewals),
        again_late=sum(row.days_late is not None for row in report.reassessed),
        again_changed=sum(row.changed for row in report.reassessed),
        unanswered=sum(row.response is None for row in report.traces),
        most_rows=MOST_ROWS,
        unfinished=report.last_day == numbers.utc(report.made_at).date(),
        report_sha256=sha256,
    )


def verdict_text(chain: ChainResult) -> VerdictText:
    """Result of the check of the ledger, for the box on the first page."""
    entries = f"{numbers.integer(chain.entries)} {'entry' if chain.entries == 1 else 'entries'}"
    if chain.problem is not None:
        entry = chain.problem.entry
        if entry is None:
            return VerdictText(
                "✗",
                "The ledger is broken",
                "blocked",
                f"{_sentence(chain.problem.what)} All {entries} are right by themselves, but their storage is not, "
                "so that nothing in this report is proven.",
            )
        return VerdictText(
            "✗",
            f"The ledger is broken from entry {entry} on",
            "blocked",
            f"{_sentence(chain.problem.what)} What this report takes from entry {entry} and from later ones is not "
            f"proven; such lines are marked †. Of {entries}, {numbers.integer(chain.verified)} were found right.",
        )
    if chain.contradictions or chain.unreadable:
        return VerdictText(
            "!",
            "The ledger is unchanged and contradicts itself",
            "awaiting",
            f"All {entries} are as they were written, but some cannot be read or cannot all be true; see the section "
            "on the ledger.",
        )
    signed = "none is signed"
    if chain.signatures:
        noun = "signature is" if chain.signatures == 1 else "signatures are"
        signed = f"{numbers.integer(chain.signatures)} {noun} right"
    return VerdictText(
        "✓",
        "The ledger is unchanged",
        "approved",
        f"All {entries} are as they were written and in order; {signed}. Compare the head below with one that "
        "was noted outside the ledger.",
    )


def _sentence(clause: str) -> str:
    return f"{clause[:1].upper()}{clause[1:]}."

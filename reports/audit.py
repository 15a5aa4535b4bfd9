"""The audit of a period as a document: the audit report, rendered, and embedded as ``audit.json``.

Only the format of figures is decided here, and there is no clock: the same report gives the same bytes.
"""

import hashlib
from collections.abc import Callable, Iterator

from reports import audit_charts, numbers
from reports.audit_tables import MOST_ROWS, listing
from reports.document import (
    Block,
    Document,
    Facts,
    Paragraph,
    Section,
    Signatures,
    VerdictBox,
    digest_text,
    failed,
    plural,
    sentence_start,
    strong,
    text,
)
from reports.pdf import Attachment, write_document
from reports.templating import document_html, rendering
from tasks.audit.people import OVERRIDES, REVOCATION
from tasks.audit.report import AuditReport, ChainResult
from tasks.core.canonical import canonical_json, digest

REPORT_NAME = "audit.json"


def render_audit(report: AuditReport) -> bytes:
    """The audit as tagged PDF/A-3a with the report attached.

    Raises
    ------
    StageFailed
        If it cannot be rendered in full.
    """
    content = canonical_json(report)
    attachment = Attachment(REPORT_NAME, content, "The audit report that this document renders")
    return write_document(audit(report), [attachment], hashlib.sha256(content).hexdigest()[:32])


def audit_html(report: AuditReport) -> str:
    """The audit as the HTML that the PDF is made from; charts are referred to as ``asset:<name>.svg``."""
    return document_html(audit(report))


def audit(report: AuditReport) -> Document:
    """The audit as a document; a section without entries says so."""
    period = f"{numbers.day(report.first_day)} to {numbers.day(report.last_day)}"
    with rendering("audit"):
        return Document(
            kind="Audit of data releases",
            title=period,
            name=f"Audit of data releases, {period}",
            author=f"releasegate {report.program}",
            description=f"Audit of data releases from the ledger, {period}",
            head=f"Audit {report.first_day} to {report.last_day} · {verdict_box(report.chain).words}",
            foot=f"Audit of data releases · {numbers.day(report.made_at)}",
            moment=report.made_at,
            version=report.program,
            sections=[
                Section(key, title, tuple(write(report)), str(number))
                for number, (key, title, write) in enumerate(_SECTIONS, start=1)
            ],
            guide=(),
        )


def verdict_box(chain: ChainResult) -> VerdictBox:
    """Result of the check of the ledger."""
    entries = plural(chain.entries, "entry", "entries")
    if chain.problem is not None:
        what, entry = f"{sentence_start(chain.problem.what)}.", chain.problem.entry
        if entry is None:
            return VerdictBox(
                "✗",
                "The ledger is broken",
                "blocked",
                f"{what} All {entries} are right by themselves, but their storage is not, so that nothing in this "
                "report is proven.",
            )
        return VerdictBox(
            "✗",
            f"The ledger is broken from entry {entry} on",
            "blocked",
            f"{what} What this report takes from entry {entry} and from later ones is not proven; such lines are "
            f"marked †. Of {entries}, {numbers.integer(chain.verified)} were found right.",
        )
    if chain.contradictions or chain.unreadable:
        return VerdictBox(
            "!",
            "The ledger is unchanged and contradicts itself",
            "awaiting",
            f"All {entries} are as they were written, but some cannot be read or cannot all be true; see the section "
            "on the ledger.",
        )
    signed = (
        f"{plural(chain.signatures, 'signature is', 'signatures are')} right" if chain.signatures else "none is signed"
    )
    return VerdictBox(
        "✓",
        "The ledger is unchanged",
        "approved",
        f"All {entries} are as they were written and in order; {signed}. Compare the head below with one that was "
        "noted outside the ledger.",
    )


def _summary(report: AuditReport) -> Iterator[Block]:
    overrides = [row for row in report.interventions if row.what in OVERRIDES]
    revocations = sum(row.what == REVOCATION for row in report.interventions)
    outcomes = ", ".join(f"{numbers.integer(count)} {name}" for name, count in report.outcomes.items())
    overridden = sum(bool(row.overridden) for row in report.files)
    unfinished = (
        f"; that day has not ended, and entries after {numbers.minute(report.made_at)} are missing"
        if report.last_day == numbers.utc(report.made_at).date()
        else ""
    )
    unanswered = sum(row.response is None for row in report.traces)
    files = (
        text("; {} with overridden gates", failed(plural(overridden, "file was delivered", "files were delivered")))
        if overridden
        else ""
    )
    yield verdict_box(report.chain)
    yield Paragraph(
        "Facts from the ledger of the gate only: no file of a release was opened for this report. It shows what was "
        f"known at the end of {numbers.day(report.last_day)}, in UTC{unfinished}."
    )
    yield Facts(
        [
            ("Requests", f"{outcomes}, at the end of the period" if outcomes else "none was made in the period"),
            (
                "Files delivered",
                f"{plural(sum(row.in_period for row in report.files), 'file')} in the period; "
                f"{plural(len(report.files), 'file')} to {plural(len(report.recipients), 'recipient')} since the "
                "ledger began",
            ),
            ("In force", f"{plural(len(report.certificates), 'determination')}; {_lapsing(report)}"),
            (
                "Past their last day",
                text("{} with the file still in use", failed(plural(len(report.past_due), "determination")))
                if report.past_due
                else "none",
            ),
            (
                "Overrides",
                text(
                    "{} in the period, {} since the ledger began; {} in the period{}",
                    numbers.integer(sum(row.in_period for row in overrides)),
                    numbers.integer(len(overrides)),
                    plural(revocations, "revocation"),
                    files,
                ),
            ),
            ("Policies", plural(len(report.policies), "change") if report.policies else "none was changed"),
            ("Near a threshold", f"{plural(len(report.near), 'figure')} of releases that were not blocked"),
            (
                "Decoy sightings",
                f"{plural(len(report.traces), 'trace')}; {numbers.integer(unanswered)} without a recorded response"
                if report.traces
                else "no trace is recorded",
            ),
            (
                "Destruction",
                text(
                    "{} to be destroyed; no certificate of destruction is recorded",
                    failed(plural(len(report.destructions), "copy", "copies")),
                )
                if report.destructions
                else "no copy is due",
            ),
            (
                "Separation of duties",
                failed(plural(len(report.duties.exceptions), "exception"))
                if report.duties.exceptions
                else "no exception",
            ),
            (
                "Head of the ledger",
                text("entry {}, {}", numbers.integer(report.chain.head), digest_text(report.chain.head_sha256)),
            ),
            (
                "Made",
                text(
                    "{}, by releasegate {}; SHA-256 of the report {}",
                    numbers.minute(report.made_at),
                    report.program,
                    digest_text(digest(report)),
                ),
            ),
        ]
    )
    yield Signatures([("Prepared by", "Date, signature"), ("Examined by", "Date, signature")])


def _lapsing(report: AuditReport) -> str:
    """Determinations that expire soon."""
    counts = [
        numbers.integer(sum(row.days_left is not None and row.days_left <= days for row in report.certificates))
        for days in (30, 60, 90)
    ]
    return "expiring within 30 days: {}, within 60: {}, within 90: {}".format(*counts)


def _either(report: AuditReport, tables: tuple[str, ...], intro: str, otherwise: str) -> Iterator[Block]:
    """Tables with their introduction; where the first has no rows, a sentence instead."""
    shown = [listing(report, table) for table in tables]
    if shown[0].rows:
        yield Paragraph(intro, "intro")
        yield from shown
    else:
        yield Paragraph(otherwise)


def _requests(report: AuditReport) -> Iterator[Block]:
    intro = (
        "Requests that were made or reached their outcome in the period. A request for several recipients has a line "
        "for each. Refused requests could not be used; failed ones were stopped by an error, and nothing was "
        "delivered. The reason is the one given by the gate, the reviewers or an officer."
    )
    yield from audit_charts.outcomes(report)
    yield from _either(report, ("requests",), intro, "No request was made or reached its outcome in the period.")


def _exposure(report: AuditReport) -> Iterator[Block]:
    intro = (
        "All files delivered since the ledger began, because exposure accumulates: a recipient of several files of "
        "the same data can compare them. Expected re-identifications are those by a recipient who knows how the file "
        "was made and makes one attempt on each record where that pays; the sum over files assumes that attempts are "
        "independent. Two files may contain records of the same people."
    )
    yield from audit_charts.exposure(report)
    yield from _either(report, ("recipients", "files"), intro, "No file was delivered since the ledger began.")


def _validity(report: AuditReport) -> Iterator[Block]:
    intro = (
        "A certificate is in force while its determination is and its file has been delivered: "
        f"{numbers.integer(len(report.certificates))} at the end of the period; {_lapsing(report)}."
    )
    yield from _either(
        report, ("certificates",), intro, "No determination of a delivered file is in force at the end of the period."
    )


def _reassessment(report: AuditReport) -> Iterator[Block]:
    made, renewed = "none recorded", "none in the period"
    if report.reassessments:
        late, changed = (
            sum(row.days_late is not None for row in report.reassessed),
            sum(row.changed for row in report.reassessed),
        )
        made = (
            f"{numbers.integer(report.reassessments)} recorded up to the end of the period, "
            f"{numbers.integer(len(report.reassessed))} of them in it: late: {late}; with a changed verdict: {changed}"
        )
    if report.renewals:
        late, changed = (
            sum(row.days_late is not None for row in report.renewals),
            sum(row.changed for row in report.renewals),
        )
        renewed = (
            f"{numbers.integer(len(report.renewals))} in the period; late: {late}; blocked before and no longer "
            f"blocked, or the reverse: {changed}"
        )
    overdue = (
        text(
            "{} due for re-assessment before the last day.",
            failed(plural(len(report.overdue), "copy was", "copies were")),
        )
        if report.overdue
        else "No copy is overdue."
    )
    yield Paragraph(text("Re-assessments of delivered copies: {}. {}", made, overdue))
    yield from (listing(report, name) for name in ("reassessed", "overdue") if getattr(report, name))
    yield Paragraph(f"Renewed determinations of the same data for the same recipient: {renewed}.")
    yield from (listing(report, name) for name in ("renewals",) if report.renewals)
    yield from _either(
        report,
        ("past_due",),
        "The determinations below have ended, but their files may still be in use, so that a re-assessment is due.",
        "No determination has ended while its file may still be in use.",
    )


def _interventions(report: AuditReport) -> Iterator[Block]:
    yield from _either(
        report,
        ("interventions",),
        "All overrides are listed, also those from before the period: an officer has answered for failed gates, or "
        "has reopened a release that its reviewers rejected. A name without a signature is only a claim; the login "
        "is shown beside it.",
        "No override is recorded since the ledger began, and no revocation in the period.",
    )
    yield from _either(
        report,
        ("policies",),
        "Each request includes its policy. The table lists each decision whose policy differs from that of the "
        "decision before it, with the requester.",
        "No decision of the period was made under a different policy than the one before it.",
    )


def _thresholds(report: AuditReport) -> Iterator[Block]:
    intro = (
        f"A figure is near its threshold if it uses {numbers.percent(report.near_from)} or more of what the gate "
        "allows: the measured figure over an upper bound, or a lower bound over the measured figure. Thresholds of 0 "
        "are left out. Figures about fewer people than the policy's small cell are not compared."
    )
    yield from audit_charts.gates(report)
    yield from _either(report, ("gates",), intro, "No figures of gates are recorded in the period.")
    if report.near:
        yield listing(report, "near")
    elif report.gates:
        yield Paragraph("No figure of a release that was not blocked was near its threshold.")


def _attacks(report: AuditReport) -> Iterator[Block]:
    intro = (
        "Before delivery, each file is attacked as an intruder would who holds the original file. The table lists "
        "the strongest attack of each kind of intruder, with the share of people whom it links to their own records "
        "and the share that guessing links. Where the rows are a sample, the interval shows the uncertainty of the "
        "share."
    )
    yield from audit_charts.attacks(report)
    yield from _either(report, ("attacks",), intro, "No result of an attack is recorded in the period.")


def _traces(report: AuditReport) -> Iterator[Block]:
    yield from _either(
        report,
        ("traces",),
        "Each attempt to open a sealed decoy manifest to find the source of an incident. Recipients appear where the "
        "ledger names them; merely suspected recipients are known to the incident responder only. The response is "
        "the first revocation after the trace, up to the end of the period: of the release to a named recipient, or "
        "to any recipient where none was named. The time at which an incident was discovered is not recorded.",
        "No trace is recorded in the period.",
    )


def _agreements(report: AuditReport) -> Iterator[Block]:
    yield from _either(
        report,
        ("agreements",),
        "Agreements that have ended or will end soon, under which files were delivered:",
        "No agreement under which a file was delivered has ended or ends within 90 days.",
    )
    yield from _either(
        report,
        ("destructions",),
        "Certificates bind recipients to destroy the file and all copies when the agreement ends, and to confirm it "
        "in writing; a release that was revoked is listed from that day on. No confirmations are recorded: the "
        "ledger has no entry for them, so compare this list with your files.",
        "No copy is due to be destroyed. The ledger does not record certificates of destruction.",
    )


def _duties(report: AuditReport) -> Iterator[Block]:
    duties = report.duties
    found = text("{}.", failed(plural(len(duties.exceptions), "exception"))) if duties.exceptions else "No exception."
    yield Paragraph(
        text(
            "Computed from {}, {} and {} of the period: whether the requester, the reviewers and the officers of "
            "each release were different people named in its policy, and whether each delivered file had its "
            "approvals. {}",
            plural(duties.votes, "vote"),
            plural(duties.overrides, "override"),
            plural(duties.deliveries, "delivery", "deliveries"),
            found,
        )
    )
    if duties.votes:
        yield Paragraph(
            f"{numbers.integer(duties.unsigned_votes)} of the votes "
            f"{'carries' if duties.unsigned_votes == 1 else 'carry'} no signature; "
            f"{numbers.integer(duties.votes_from_requesters_login)} of these came from the login that made the "
            "request. Without a signature, a name is only a claim."
        )
    if duties.exceptions:
        yield listing(report, "exceptions")


def _chain(report: AuditReport) -> Iterator[Block]:
    chain, outside = report.chain, "; none was given for this report"
    if chain.noted_outside:
        outside = (
            f", of which {numbers.integer(chain.noted_outside)} {'was' if chain.noted_outside == 1 else 'were'} "
            "compared"
        )
    state = "Every entry, every link, every signature and the guards of the database are intact."
    if not chain.intact:
        state = (
            f"{verdict_box(chain).words}. Stop releasing, restore the ledger from a backup, and find out who changed "
            "it."
        )
    yield Paragraph(
        f"{state} The check covers the whole ledger, entries after the period included. A person who can rewrite the "
        "database can rewrite the whole chain; only a comparison with heads or key fingerprints noted outside the "
        f"ledger detects that{outside}.",
        "" if chain.intact else "failed",
    )
    facts: list[tuple[str, str]] = [
        ("Entries", f"{numbers.integer(chain.entries)}, of which {numbers.integer(chain.verified)} were found right"),
        ("Last right entry", text("{}, SHA-256 {}", numbers.integer(chain.head), digest_text(chain.head_sha256))),
        (
            "Signatures",
            f"{numbers.integer(chain.signatures)} found right; keys registered: {numbers.integer(chain.keys)}",
        ),
    ]
    if chain.problem:
        place = "" if chain.problem.entry is None else f", entry {numbers.integer(chain.problem.entry)}"
        facts += [
            ("What is wrong", strong(f"{chain.problem.what}{place}")),
            ("Expected, found", f"{chain.problem.expected}; {chain.problem.got}"),
        ]
    if chain.unreadable:
        facts.append(
            (
                "Unreadable entries",
                f"{numbers.integer(len(chain.unreadable))}, missing from this report; the first is "
                f"{numbers.integer(chain.unreadable[0])}",
            )
        )
    facts += [
        ("Other entries", f"{numbers.integer(count)} “{kind}”, a kind that this version does not know")
        for kind, count in chain.other_events.items()
    ]
    yield Facts(facts)
    if chain.contradictions:
        yield listing(report, "contradictions")
    yield from _either(
        report, ("signed",), "Determinations that experts have signed:", "No determination was signed in the period."
    )
    yield from _either(
        report,
        ("keys",),
        "Keys that were registered, retired or rotated:",
        "No key was registered, retired or rotated in the period.",
    )


def _reading(report: AuditReport) -> Iterator[Block]:
    lacking = "every decision in this ledger has its figures."
    if report.not_recorded:
        lacking = (
            f"{numbers.integer(report.not_recorded)} of the decisions {'was' if report.not_recorded == 1 else 'were'} "
            "entered by a version that kept the verdict alone, so that figures, validity, agreement and policy are "
            "missing here and sums are lower bounds (≥)."
        )
    yield Paragraph(
        text(
            "Times and days are in UTC. A release is named by the first twelve digits of its id; # is the number of "
            "the entry that a line is based on, and `releasegate verify ledger` checks the entries. States are "
            f"those at the end of the period. Long texts are shortened, and at most {numbers.integer(MOST_ROWS)} rows "
            "of a table are printed: all rows, in full, are in the CSV files and in `audit.json`, which is attached "
            "to this document."
        )
    )
    yield Paragraph(
        f"“Not recorded” marks facts that the ledger does not hold: {lacking} “None recorded” marks actions that "
        "would have an entry if they had been done through the gate."
    )
    yield Paragraph(
        f"Numbers of people below the small cell of the policy ({numbers.integer(report.small_cell)} where none says "
        "otherwise) are shown as bounds, and so are sums and shares that would disclose them. Numbers of requests, "
        "releases and files are not numbers of people."
    )
    yield Paragraph(
        "The report contains no value of the data, no record, and nothing about which records of a copy are decoys, "
        "or how many."
    )


_SECTIONS: tuple[tuple[str, str, Callable[[AuditReport], Iterator[Block]]], ...] = (
    ("summary", "Summary", _summary),
    ("requests", "Requests and their outcomes", _requests),
    ("exposure", "Releases and cumulative exposure", _exposure),
    ("validity", "Determinations in force", _validity),
    ("reassessment", "Re-assessments", _reassessment),
    ("interventions", "Overrides, revocations and policies", _interventions),
    ("thresholds", "Releases near their thresholds", _thresholds),
    ("attacks", "Results of attacks", _attacks),
    ("traces", "Decoy sightings", _traces),
    ("agreements", "Agreements and destruction", _agreements),
    ("duties", "Separation of duties", _duties),
    ("chain", "The ledger", _chain),
    ("reading", "How to read this report", _reading),
)

"""The audit of a period as a document, with the report embedded as ``audit.json``; the same report, the same bytes."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sized

from reports.audit_tables import MOST_ROWS, activity, listing
from reports.model import numbers
from reports.model.document import (
    Block,
    Document,
    Facts,
    Paragraph,
    Section,
    Signatures,
    VerdictBox,
    digest_text,
    failed,
    kept,
    sentence_start,
    strong,
    text,
)
from reports.pdf import Attachment, write_document
from reports.templating import rendering
from tasks.audit.people import OVERRIDES, REVOCATION
from tasks.audit.report import AuditReport, ChainResult
from tasks.core.canonical import canonical_json, digest
from tasks.core.plural import plural

REPORT_NAME = "audit.json"


def render_audit(report: AuditReport) -> bytes:
    """The audit as tagged PDF/A-3a with the report attached."""
    content = canonical_json(report)
    attachment = Attachment(REPORT_NAME, content, "The audit report that this document renders")
    return write_document(audit(report), [attachment], hashlib.sha256(content).hexdigest()[:32])


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
                Section(key, title, tuple(_blocks(report, key)), str(number))
                for number, (key, title) in enumerate(_SECTIONS.items(), start=1)
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
    unanswered = sum(row.response is None for row in report.traces)
    unfinished = files = ""
    if report.last_day == numbers.utc(report.made_at).date():
        unfinished = f"; that day has not ended, and entries after {numbers.minute(report.made_at)} are missing"
    if overridden:
        words = plural(overridden, "file was delivered", "files were delivered")
        files = text("; {} with overridden gates", failed(words))

    def warning(rows: Sized, one: str, many: str, template: str, otherwise: str) -> str:
        return text(template, failed(plural(len(rows), one, many))) if rows else otherwise

    yield verdict_box(report.chain)
    yield (
        "Facts from the ledger of the gate only: no file of a release was opened for this report. It shows what was "
        f"known at the end of {numbers.day(report.last_day)}, in UTC{unfinished}."
    )
    yield Facts(
        [
            (
                "Would be blocked today",
                warning(
                    report.blocked_today, "copy", "copies", "{} that may be in use; see the re-assessments", "none"
                ),
            ),
            ("Self-reviews", _self_reviews(report)),
            ("Policies", _changed_policies(report)),
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
                warning(report.past_due, "determination", "", "{} with the file still in use", "none"),
            ),
            ("Near a threshold", f"{plural(len(report.near), 'figure')} of releases that were not blocked"),
            (
                "Decoy sightings",
                f"{plural(len(report.traces), 'trace')}; {numbers.integer(unanswered)} without a recorded response"
                if report.traces
                else "no trace is recorded",
            ),
            (
                "Destruction",
                warning(
                    report.destructions,
                    "copy",
                    "copies",
                    "{} to be destroyed; no certificate of destruction is recorded",
                    "no copy is due",
                ),
            ),
            ("Separation of duties", warning(report.duties.exceptions, "exception", "", "{}", "no exception")),
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


def _self_reviews(report: AuditReport) -> str:
    found = report.duties.self_reviews
    if not found:
        return "none"
    return text(
        "{} by a requester, or from the login of the request",
        failed(plural(found, "vote or override", "votes or overrides")),
    )


def _changed_policies(report: AuditReport) -> str:
    if not report.policies:
        return "none was changed"
    changes = sum(row.before_sha256 is not None for row in report.policies)
    first = f"{plural(len(report.policies) - changes, 'policy', 'policies')} for the first time"
    words = failed(plural(changes, "change"))
    return words if changes == len(report.policies) else f"{words}; {first}" if changes else first


def _lapsing(report: AuditReport) -> str:
    counts = [
        numbers.integer(sum(row.days_left is not None and row.days_left <= days for row in report.certificates))
        for days in (30, 60, 90)
    ]
    return "expiring within 30 days: {}, within 60: {}, within 90: {}".format(*counts)


def _blocks(report: AuditReport, section: str) -> Iterator[Block]:
    """A section: what is said of it in particular, then its tables, each group with its introduction."""
    if section in _WRITERS:
        yield from _WRITERS[section](report)
    for tables, intro, otherwise in _LISTED.get(section, ()):
        shown = [listing(report, table) for table in tables]
        if shown[0].rows:
            yield from [Paragraph(intro, "intro")] if intro else []
            yield from (table for table in shown if table.rows)
        elif otherwise:
            yield otherwise


def _validity(report: AuditReport) -> Iterator[Block]:
    if report.certificates:
        yield (
            "A certificate is in force while its determination is and its file has been delivered: "
            f"{numbers.integer(len(report.certificates))} at the end of the period; {_lapsing(report)}."
        )


def _requests(report: AuditReport) -> Iterator[Block]:
    table = activity(report)
    if table.rows:
        yield table


def _reassessment(report: AuditReport) -> Iterator[Block]:
    made, renewed = "none recorded", "none in the period"
    counts = [
        (sum(row.days_late is not None for row in rows), sum(row.changed for row in rows))
        for rows in (report.reassessed, report.renewals)
    ]
    if report.reassessments:
        made = (
            f"{numbers.integer(report.reassessments)} recorded up to the end of the period, "
            f"{numbers.integer(len(report.reassessed))} of them in it: late: {counts[0][0]}; with a changed verdict: "
            f"{counts[0][1]}"
        )
    if report.renewals:
        renewed = (
            f"{numbers.integer(len(report.renewals))} in the period; late: {counts[1][0]}; blocked before and no "
            f"longer blocked, or the reverse: {counts[1][1]}"
        )
    overdue: str = "No copy is overdue."
    if report.overdue:
        copies = failed(plural(len(report.overdue), "copy was", "copies were"))
        overdue = text("{} due for re-assessment before the last day.", copies)
    yield text(
        "Re-assessments of delivered copies: {}. {} Renewed determinations of the same data for the same recipient: "
        "{}.",
        made,
        overdue,
        renewed,
    )


def _thresholds(report: AuditReport) -> Iterator[Block]:
    if report.gates:
        yield (
            f"A figure is near its threshold if it uses {numbers.percent(report.near_from)} or more of what the gate "
            "allows: the measured figure over an upper bound, or a lower bound over the measured figure. Thresholds of "
            "0 are left out. Figures about fewer people than the policy's small cell are not compared."
        )


def _duties(report: AuditReport) -> Iterator[Block]:
    duties = report.duties
    found = text("{}.", failed(plural(len(duties.exceptions), "exception"))) if duties.exceptions else "No exception."
    yield text(
        "Computed from {}, {} and {} of the period: whether the requester, the reviewers and the officers of each "
        "release were different people named in its policy, and whether each delivered file had its approvals. {}",
        plural(duties.votes, "vote"),
        plural(duties.overrides, "override"),
        plural(duties.deliveries, "delivery", "deliveries"),
        found,
    )
    if duties.votes:
        yield (
            f"{numbers.integer(duties.unsigned_votes)} of the votes "
            f"{'carries' if duties.unsigned_votes == 1 else 'carry'} no signature; "
            f"{numbers.integer(duties.votes_from_requesters_login)} of these came from the login that made the "
            "request. Without a signature, a name is only a claim."
        )


def _chain(report: AuditReport) -> Iterator[Block]:
    chain, outside = report.chain, "; none was given for this report"
    if chain.noted_outside:
        verb = "was" if chain.noted_outside == 1 else "were"
        outside = f", of which {numbers.integer(chain.noted_outside)} {verb} compared"
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
    problem, unreadable = chain.problem, map(numbers.integer, chain.unreadable[:1])
    place = "" if problem is None or problem.entry is None else f", entry {numbers.integer(problem.entry)}"
    yield Facts(
        kept(
            (
                "Entries",
                f"{numbers.integer(chain.entries)}, of which {numbers.integer(chain.verified)} were found right",
            ),
            ("Last right entry", text("{}, SHA-256 {}", numbers.integer(chain.head), digest_text(chain.head_sha256))),
            (
                "Signatures",
                f"{numbers.integer(chain.signatures)} found right; keys registered: {numbers.integer(chain.keys)}",
            ),
            ("What is wrong", strong(f"{problem.what}{place}")) if problem else None,
            ("Expected, found", f"{problem.expected}; {problem.got}") if problem else None,
            *(
                (
                    "Unreadable entries",
                    f"{numbers.integer(len(chain.unreadable))}, missing from this report; the first is {first}",
                )
                for first in unreadable
            ),
            *(
                ("Other entries", f"{numbers.integer(count)} “{kind}”, a kind that this version does not know")
                for kind, count in chain.other_events.items()
            ),
        )
    )


def _reading(report: AuditReport) -> Iterator[Block]:
    yield text(
        "Times and days are in UTC. A release is named by the first twelve digits of its id; # is the number of the "
        "entry that a line is based on, and `releasegate verify ledger` checks the entries. States are those at the "
        f"end of the period. Long texts are shortened, and at most {numbers.integer(MOST_ROWS)} rows of a table are "
        "printed: all rows, in full, are in the CSV files and in `audit.json`, which is attached to this document."
    )
    yield (
        "“Not recorded” marks facts that the ledger does not hold, “none recorded” actions that would have an entry if "
        "they had been done through the gate. Numbers of people below the small cell of the policy "
        f"({numbers.integer(report.small_cell)} where none says otherwise) are shown as bounds, and so are sums and "
        "shares that would disclose them. Numbers of requests, releases and files are not numbers of people. The "
        "report contains no value of the data, no record, and nothing about which records of a copy are decoys, or how "
        "many."
    )


_SECTIONS = {
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
"""Titles of the sections by key."""
_WRITERS: Mapping[str, Callable[[AuditReport], Iterator[Block]]] = {
    "summary": _summary,
    "requests": _requests,
    "validity": _validity,
    "reassessment": _reassessment,
    "thresholds": _thresholds,
    "duties": _duties,
    "chain": _chain,
    "reading": _reading,
}
_LISTED: Mapping[str, tuple[tuple[tuple[str, ...], str, str], ...]] = {
    "requests": (
        (
            ("requests",),
            "Requests that were made or reached their outcome in the period. A request for several recipients has a "
            "line for each. Refused requests could not be used; failed ones were stopped by an error, and nothing was "
            "delivered. The reason is the one given by the gate, the reviewers or an officer.",
            "No request was made or reached its outcome in the period.",
        ),
    ),
    "exposure": (
        (
            ("recipients", "files"),
            "All files delivered since the ledger began, because exposure accumulates: a recipient of several files "
            "of the same data can compare them. Expected re-identifications are those by a recipient who knows how "
            "the file was made and makes one attempt on each record where that pays; the sum over files assumes that "
            "attempts are independent. Two files may contain records of the same people.",
            "No file was delivered since the ledger began.",
        ),
    ),
    "validity": (
        (("certificates",), "", "No determination of a delivered file is in force at the end of the period."),
    ),
    "reassessment": (
        (("reassessed",), "", ""),
        (
            ("blocked_today",),
            "The copies below may be in use, and their last re-assessment would not release them. An officer decides "
            "what follows.",
            "",
        ),
        (("overdue",), "", ""),
        (("renewals",), "", ""),
        (
            ("past_due",),
            "The determinations below have ended, but their files may still be in use, so that a re-assessment is due.",
            "No determination has ended while its file may still be in use.",
        ),
    ),
    "interventions": (
        (
            ("interventions",),
            "All overrides are listed, also those from before the period: an officer has overridden failed gates, "
            "or has reopened a release that its reviewers rejected. A name without a signature is only a claim; the "
            "login is shown beside it.",
            "No override is recorded since the ledger began, and no revocation in the period.",
        ),
        (
            ("policies",),
            "Each request includes its policy. The table lists each decision whose policy differs from that of the "
            "decision before it, with the requester.",
            "No decision of the period was made under a different policy than the one before it.",
        ),
    ),
    "thresholds": (
        (("gates",), "", "No figures of gates are recorded in the period."),
        (("near",), "", "No figure of a release that was not blocked was near its threshold."),
    ),
    "attacks": (
        (
            ("attacks",),
            "Before delivery, each file is attacked as an intruder would who knows everybody's original values of the "
            "columns that its request takes as known. The table lists "
            "the strongest attack of each kind of intruder, with the share of people whom it links to their own "
            "records and the share that guessing links. Where the rows are a sample, the interval shows the "
            "uncertainty of the share.",
            "No result of an attack is recorded in the period.",
        ),
    ),
    "traces": (
        (
            ("traces",),
            "Each attempt to open a sealed decoy manifest or crosswalks for an incident. Recipients appear where "
            "the ledger names them; merely suspected recipients are known to the incident responder only. The "
            "response is the first revocation after the trace, up to the end of the period: of the release to a named "
            "recipient, or to any recipient where none was named. The time at which an incident was discovered is not "
            "recorded.",
            "No trace is recorded in the period.",
        ),
    ),
    "agreements": (
        (
            ("agreements",),
            "Agreements that have ended or will end soon, under which files were delivered:",
            "No agreement under which a file was delivered has ended or ends within 90 days.",
        ),
        (
            ("destructions",),
            "Certificates bind recipients to destroy the file and all copies when the agreement ends, and to confirm "
            "it in writing; a release that was revoked is listed from that day on. No confirmations are recorded: the "
            "ledger has no entry for them, so compare this list with your files.",
            "No copy is due to be destroyed. The ledger does not record certificates of destruction.",
        ),
    ),
    "duties": ((("exceptions",), "", ""),),
    "chain": (
        (("contradictions",), "", ""),
        (("signed",), "Determinations that experts have signed:", "No determination was signed in the period."),
        (
            ("keys",),
            "Keys that were registered, retired or rotated:",
            "No key was registered, retired or rotated in the period.",
        ),
    ),
}
"""Tables of the sections in groups: with an introduction where the first has rows, and a sentence where it has none."""

"""The verdict, the determination statement, limitations and scope, and how to read the document."""

from collections.abc import Iterator
from dataclasses import replace

from reports.model import numbers
from reports.model.document import (
    Block,
    Bullets,
    Facts,
    Paragraph,
    Signatures,
    Table,
    digest_text,
    kept,
    text,
)
from reports.model.methods import method_text
from reports.model.record_view import RecordView
from reports.model.statements import enrolled, not_assessed, tested, verdict_box
from reports.sections.answer import answer
from reports.sections.assumptions import assumptions
from tasks.core.plural import listed, plural
from tasks.decision.gates import EARLIER_COPIES
from tasks.decision.record import Verdict
from tasks.decision.remedies import remedies
from tasks.request.model import Role

_RULE = (
    "a person with appropriate knowledge of and experience with generally accepted statistical and scientific "
    "principles and methods for rendering information not individually identifiable: (i) applying such principles and "
    "methods, determines that the risk is very small that the information could be used, alone or in combination with "
    "other reasonably available information, by an anticipated recipient to identify an individual who is a subject of "
    "the information; and (ii) documents the methods and results of the analysis that justify such determination."
)
_STATEMENTS = {
    Verdict.APPROVED: (
        "The release described in this document passed every gate of the policy {policy}{but}. The person who signs as "
        "expert determines on this evidence that the risk is very small that the information in the file could be "
        "used, alone or in combination with other reasonably available information, by the anticipated recipient, "
        "{who}, to identify an individual who is a subject of the information."
    ),
    Verdict.BLOCKED: (
        "The release described in this document is blocked under the policy {policy}. No determination that the risk "
        "is very small can be made on this evidence for {who}. The document records what was examined, what was found "
        "and why the release may not proceed."
    ),
    Verdict.AWAITING_REVIEW: (
        "The measurements for the release described in this document are complete under the policy {policy}. A "
        "determination for {who} is made only when the votes that the policy requires are cast and the expert has "
        "signed; until then nothing may be delivered."
    ),
}


def decision(view: RecordView) -> Iterator[Block]:
    """The first page."""
    record, blocked = view.record, view.blocked
    yield verdict_box(record)
    if view.overridden and not blocked:
        verb = "has failed and is" if len(view.overridden) == 1 else "have failed and are"
        yield Paragraph(
            f"Exception: {numbers.integer(len(view.overridden))} of {numbers.integer(len(record.gates))} gates {verb} "
            f"overridden by {listed(record.answering)}, for the reasons below.",
            "strong",
        )
    if blocked:
        closed = [gate for gate in record.gates if not gate.passed and not gate.overridden]
        gates = f"{numbers.integer(len(closed))} of {plural(len(record.gates), 'gate')}" if closed else "the gate"
        yield Paragraph(f"The release to {record.recipient.organisation} is blocked by {gates}:", "lead")
    else:
        yield from answer(view)
    if blocked or len(record.reasons) > 1:
        if not blocked:
            yield Paragraph("Reasons", "label")
        yield Bullets(record.reasons, "reasons")
    else:
        yield from record.reasons
    output = record.dataset.output_sha256
    valid = f"{numbers.day(record.valid_from)} to {numbers.day(record.valid_until)}"
    decided = numbers.minute(record.decided_at)
    yield Facts(
        kept(
            ("Release", digest_text(record.release_id)),
            ("Recipient", f"{record.recipient.organisation} ({record.recipient.id})"),
            ("File to be released", text("SHA-256 {}", digest_text(output))) if output else None,
            ("Source file", text("SHA-256 {}", digest_text(record.dataset.source_sha256))),
            ("Decided", decided) if blocked else ("Validity", f"{valid}; decided {decided}"),
            ("Policy", f"{record.policy.id}, version {record.policy.version}{enrolled(record.policy.enrolled)}"),
            ("Purpose", record.recipient.purpose),
            ("Method", method_text(record.risk.game.method).in_plain_words) if record.risk else None,
            ("Withheld: nobody has reviewed them", view.names(Role.UNREVIEWED))
            if view.fields(Role.UNREVIEWED)
            else None,
            ("Supersedes", text("release {}", digest_text(record.supersedes))) if record.supersedes else None,
        )
    )
    yield Signatures(_signatures(view))
    if blocked:
        yield from _after_a_block(view)


def _signatures(view: RecordView) -> list[tuple[str, ...]]:
    """Who signs, and as what: nobody determines or approves a release that is blocked."""
    record, need, sign = view.record, view.record.reviews_required, "Date, signature"
    if view.blocked:
        expert = ("Seen by the expert", record.expert, sign) if record.expert else None
        return kept(("Seen by the requester", record.requester, sign), expert)
    reviewers = f"Reviewers required: {numbers.integer(need)}" if need else "No reviewer required by the policy"
    return [
        ("Expert", record.expert or "not named in the request", sign),
        ("Requested by", record.requester, sign),
        (reviewers, "For the organisation", sign),
    ]


def _after_a_block(view: RecordView) -> Iterator[Block]:
    """Remedies for the closed gates, then the measured figures, which are no permission."""
    record = view.record
    yield Paragraph("What would change it", "label")
    search = text(
        "`releasegate explain {}` tries changes and names the smallest that would pass.",
        numbers.short(record.release_id),
    )
    tried = record.risk is not None and all(gate.passed for gate in record.gates if gate.id == EARLIER_COPIES)
    yield Bullets(kept(*remedies(record), search if tried else None), "reasons")
    yield Paragraph("What was measured", "label")
    yield from (replace(one, style="") for one in answer(view))


def statement(view: RecordView) -> Iterator[Block]:
    """The determination statement and its legal basis."""
    record = view.record
    policy = f"“{record.policy.id}”, version {record.policy.version}"
    but = ", except those that are overridden" if view.overridden else ""
    words = _STATEMENTS[record.decision].format(policy=policy, who=record.recipient.organisation, but=but)
    yield Paragraph(words, "lead")
    standard = "The standard is that of the HIPAA Privacy Rule, 45 CFR 164.514(a) and (b)(1)."
    criteria = (
        ", and section E10.3 of the evidence takes the three European criteria (Opinion 05/2014) in turn: whether a "
        "person can be picked out (singling out), found in other data (linkability) or learnt about (inference)"
    )
    policy_fixes = (
        "Where the Privacy Rule does not apply to the data, it is the yardstick that the policy has chosen"
        f"{criteria if record.risk else ''}. The Rule does not fix what “very small” means; the organisation has fixed "
        "it in its policy: section 3 has the figures beside its thresholds, section E8 of the evidence their "
        "precedents."
    )
    if view.blocked:
        yield f"{standard} With this verdict there is no determination to sign. {policy_fixes}"
        return
    yield Paragraph(f"{standard} Health information is not individually identifiable when", "intro")
    yield Paragraph(_RULE, "quote")
    signs = (
        "The request names no expert: until a qualified person signs, this document is evidence for a determination "
        "and not one itself."
    )
    if record.expert:
        signs = f"The determination is that of {record.expert}, and takes effect with the signature below the decision."
    if record.decision is Verdict.APPROVED:
        by = "the gates and of the reviewers' votes" if record.reviews else "the gates"
        when = "before the expert signs" if record.expert else "without that signature"
        early = "" if record.expert_signs else f"; the policy lets the file leave {when}"
        signs += f" “Approved” is the result of {by}{early}."
    yield (
        "This document and its evidence are the record required by (ii). The program that wrote them measures and "
        f"compares; it does not determine. {signs} {policy_fixes}"
    )


def limitations(view: RecordView) -> Iterator[Block]:
    """The assumptions, numbered."""
    if view.record.risk is not None:
        yield (
            "The determination holds as far as these assumptions do. Each is stated so that it can be challenged; "
            "where one fails, the determination must be made again."
        )
    yield Bullets(
        [
            text('<span class="number">A{}</span>**{}.** {}', place, title, words)
            for place, (title, words) in enumerate(assumptions(view.record), start=1)
        ],
        "assumptions",
    )


def scope(view: RecordView) -> Iterator[Block]:
    """Assessments made and omitted."""
    record, decoys = view.record, view.record.decoys
    done = tested(record) if record.risk else "examined the file and stopped there"
    pooled = ", except for copies of this release that coalitions may pool" if view.has_coalitions else ""
    compared = ""
    if decoys and decoys.collusion:
        compared = ", except for what copies of this release disclose of each other's decoys"
    differencing = "Comparison (differencing) of releases"
    apart = "Files delivered at different times or to different recipients were not compared with each other"
    earlier = record.earlier
    if earlier and all(one.shares_people is not None and not one.cannot for one in earlier.copies):
        differencing = "Comparison (differencing) with copies of other parties"
        apart = "Copies of recipients who are not assumed to share with this one were not compared with its copy"
    yield f"For this release the gate {done}. A determination covers what was tested and nothing else."
    yield Table(
        "Tests that are not part of this determination",
        "Test 30 | Why, and what is not covered 70",
        kept(
            *((one.stage, one.reason) for one in not_assessed(record)),
            (differencing, f"{apart}{pooled}{compared}."),
            (
                "Leaks of the original data",
                "Decoys name the recipient whose copy was used. The original data hold none: a leak from them cannot "
                "be traced, nor an incident that hits no decoy.",
            )
            if decoys
            else None,
            (
                "Stability of the values (replicability)",
                "How stable each column is over time was not rated; every quasi-identifier counts as if it never "
                "changed, which overstates the risk where it does.",
            ),
        ),
    )


def guide(view: RecordView) -> Iterator[Block]:
    """Instructions for reading the document."""
    limit, sequential = numbers.integer(view.cells.limit), view.sequential
    hidden = ", except for those of the sequential adversary that would disclose such a count" if sequential else ""
    series = ", or, for the sequential adversary, that the series of attempts does" if sequential else ""
    yield Paragraph("How to read this document", "label")
    yield Bullets(
        kept(
            text(
                "It renders one decision record, which is attached to the determination as `decision.json`; where the "
                "two differ, the record holds."
            ),
            f"Counts of 1 to {numbers.integer(view.cells.limit - 1)} records or people appear as “<{limit}”. Counts "
            "and shares that would disclose such a count appear as a bound, without an interval, or as “not shown” "
            "(CMS Cell Size Suppression Policy). Probabilities and expected values are not counts and are shown in "
            f"full{hidden}."
            if view.cells.limit > 1
            else None,
            f"A risk is the probability that an attempt at a record names the right person{series}. Risks are given "
            "to four significant digits.",
            "The combined score is not a probability and may exceed 1."
            if view.combined and not view.combined.exclusive
            else None,
            "Amounts are in units of one currency, per record; the request does not name the currency.",
            "Times are in UTC. Hashes are SHA-256, shortened to twelve digits in the page heads only.",
        )
    )

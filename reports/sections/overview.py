"""The verdict, the determination statement, limitations and scope, and how to read the document."""

from collections.abc import Iterator

from reports import numbers
from reports.assumptions import assumptions
from reports.document import (
    Block,
    Bullets,
    Column,
    Facts,
    Paragraph,
    Signatures,
    Table,
    digest_text,
    figures,
    passed,
    small,
    strong,
    text,
)
from reports.methods import method_text
from reports.record_view import RecordView
from reports.statements import not_assessed, tested, verdict_box
from tasks.decision.record import Verdict
from tasks.request.model import Measure

_RULE = (
    "a person with appropriate knowledge of and experience with generally accepted statistical and scientific "
    "principles and methods for rendering information not individually identifiable: (i) applying such principles and "
    "methods, determines that the risk is very small that the information could be used, alone or in combination with "
    "other reasonably available information, by an anticipated recipient to identify an individual who is a subject of "
    "the information; and (ii) documents the methods and results of the analysis that justify such determination."
)


def decision(view: RecordView) -> Iterator[Block]:
    """The first page."""
    record, blocked = view.record, view.blocked
    yield verdict_box(record)
    if view.overridden and not blocked:
        one = len(view.overridden) == 1
        yield Paragraph(
            f"Exception: {numbers.integer(len(view.overridden))} of the gates "
            f"{'has failed and is' if one else 'have failed and are'} overridden. "
            f"{', '.join(record.answering)} {'answers' if len(record.answering) == 1 else 'answer'} for it, for the "
            "reasons below.",
            "strong",
        )
    yield Paragraph("Reasons", "label")
    yield Bullets(record.reasons, "reasons")
    output, valid = (
        record.dataset.output_sha256,
        f"{numbers.day(record.valid_from)} to {numbers.day(record.valid_until)}",
    )
    open_gates = sum(gate.passed for gate in record.gates)
    excused = f"; {numbers.integer(len(view.overridden))} failed and overridden" if view.overridden else ""
    yield Facts(
        [
            ("Release", digest_text(record.release_id)),
            ("Recipient", f"{record.recipient.organisation} ({record.recipient.id})"),
            ("File to be released", text("SHA-256 {}", digest_text(output)) if output else "none was made"),
            ("Source file", text("SHA-256 {}", digest_text(record.dataset.source_sha256))),
            (
                "Validity",
                f"{'not valid for any delivery' if blocked else valid}; decided {numbers.minute(record.decided_at)}",
            ),
            ("Policy", f"{record.policy.id}, version {record.policy.version}"),
            ("Purpose", record.recipient.purpose),
            *([("Method", method_text(record.risk.game.method).title)] if record.risk else []),
            *([("Masked", ", ".join(view.masked))] if view.masked else []),
            ("Gates", f"{numbers.integer(open_gates)} of {numbers.integer(len(record.gates))} passed{excused}"),
            *([("Supersedes", text("release {}", digest_text(record.supersedes)))] if record.supersedes else []),
        ]
    )
    if record.risk is not None:
        yield _highest_risks(view)
    reviewers = f"Reviewers required: {numbers.integer(record.reviews_required)}"
    yield Signatures(
        [
            (
                "Acknowledged by the expert" if blocked else "Expert",
                record.expert or "not named in the request",
                "Date, signature",
            ),
            ("Requested by", record.requested_by, "Date, signature"),
            (
                reviewers if record.reviews_required else "No reviewer required by the policy",
                "For the organization",
                "Date, signature",
            ),
        ]
    )


def _highest_risks(view: RecordView) -> Table:
    risk = view.risk
    journalist, informed = risk.initial.journalist.maximum, Measure.TRANSPARENT_MAXIMUM
    rows = [
        (
            "a prosecutor, who knows that a person is in the file",
            risk.initial.prosecutor.maximum,
            risk.residual.prosecutor.maximum,
            Measure.PROSECUTOR_MAXIMUM,
        ),
        ("a journalist, who does not", journalist, risk.residual.journalist.maximum, Measure.JOURNALIST_MAXIMUM),
        ("a recipient who also knows how the file was made", journalist, risk.transparent.maximum_risk, informed),
    ]
    if risk.coalitions:
        rows.append(
            ("the same, in a coalition", journalist, max(one.maximum_risk for one in risk.coalitions), informed)
        )
    if risk.sequential:
        before, after = view.judged(risk.sequential.initial), view.judged(risk.sequential.residual)
        rows.append(
            (
                "a sequential adversary, who plans a series of attempts",
                before.maximum_risk,
                after.maximum_risk,
                Measure.SEQUENTIAL_MAXIMUM,
            )
        )

    def outcome(measure: str) -> str:
        gate = view.gate(measure)
        return passed(yes=gate.passed, overridden=gate.overridden) if gate else small("none on this")

    return Table(
        "Highest risk of a record before and after, beside the policy's threshold",
        (
            Column("As seen by", 46),
            *figures("before", "after", width=12),
            Column("threshold", 13, "figure"),
            Column("gate", 17),
        ),
        [
            (who, numbers.risk(before), strong(numbers.risk(after)), numbers.risk(risk.threshold), outcome(measure))
            for who, before, after, measure in rows
        ],
        whole=True,
    )


def statement(view: RecordView) -> Iterator[Block]:
    """The determination statement and its legal basis."""
    record = view.record
    policy, who = f"“{record.policy.id}”, version {record.policy.version}", record.recipient.organisation
    yield Paragraph(
        {
            Verdict.APPROVED: (
                f"The release described in this document passed every gate of the policy {policy}. The person who "
                "signs as expert determines on this evidence that the risk is very small that the information in the "
                "file could be used, alone or in combination with other reasonably available information, by the "
                f"anticipated recipient, {who}, to identify an individual who is a subject of the information."
            ),
            Verdict.BLOCKED: (
                f"The release described in this document is blocked under the policy {policy}. No determination that "
                f"the risk is very small can be made on this evidence for {who}. The document records what was "
                "examined, what was found and why the release may not proceed."
            ),
            Verdict.AWAITING_REVIEW: (
                f"The measurements for the release described in this document are complete under the policy {policy}. "
                f"A determination for {who} is made only when the votes that the policy requires are in and the "
                "expert has signed; until then nothing may be delivered."
            ),
        }[record.decision],
        "lead",
    )
    yield Paragraph(
        "The standard is that of the HIPAA Privacy Rule, 45 CFR 164.514(a) and (b)(1). Health information is not "
        "individually identifiable when"
    )
    yield Paragraph(_RULE, "quote")
    signs = (
        "The request names no expert: until a qualified person signs, this document is evidence for a determination "
        "and not one itself."
    )
    if view.blocked:
        signs = "With this verdict there is no determination to sign."
    elif record.expert:
        signs = f"The determination is that of {record.expert} and takes effect with the signature on the first page."
    yield Paragraph(
        "This document is the record required by (ii). The program that wrote it measures and compares; it does not "
        f"determine. {signs} Where the Privacy Rule does not apply to the data, the statement is to be read as an "
        "assessment against the same standard."
    )
    yield Paragraph(
        "The Rule does not fix what “very small” means. The organization has fixed it in its policy: section 10 "
        "lists the thresholds with their precedents, section 17 the figures that were compared with them."
    )


def limitations(view: RecordView) -> Iterator[Block]:
    """The assumptions, numbered."""
    yield Paragraph(
        "The determination holds as far as these assumptions do. Each is stated so that it can be challenged; where "
        "one fails, the determination must be made again."
    )
    yield Bullets(
        [
            text('<span class="number">A{}</span>**{}.** {}', place, one.title, one.text)
            for place, one in enumerate(assumptions(view.record), start=1)
        ],
        "assumptions",
    )


def scope(view: RecordView) -> Iterator[Block]:
    """What was and was not assessed."""
    record, decoys = view.record, view.record.decoys
    done = (
        f"For this release the gate {tested(record)}."
        if record.risk
        else "For this release the gate examined the file and stopped there."
    )
    yield Paragraph(
        f"A determination covers what was tested and nothing else. {done} The following was not part of it."
    )
    pooled = ", except for copies of this release that coalitions may pool" if view.has_coalitions else ""
    compared = (
        ", except for what copies of this release disclose of each other's decoys"
        if decoys and decoys.collusion
        else ""
    )
    yield Table(
        "Tests that are not part of this determination",
        (Column("Test", 30), Column("Why, and what is not covered", 70)),
        [
            *((one.stage, one.reason) for one in not_assessed(record)),
            (
                "Differencing between releases",
                "Files delivered at different times or to different recipients were not compared with each "
                f"other{pooled}{compared}.",
            ),
            *(
                [
                    (
                        "Leaks of the original data",
                        "Decoys name the recipient whose copy was used. The original data hold none: a leak by "
                        "somebody who has them cannot be traced, nor an incident that hits no decoy.",
                    )
                ]
                if decoys
                else []
            ),
            (
                "Replicability of the attributes",
                "How stable each attribute is over time was not rated; every quasi-identifier counts as if it never "
                "changed, which overstates the risk where it does.",
            ),
        ],
    )


def guide(view: RecordView) -> Iterator[Block]:
    """How to read the document."""
    limit, sequential = view.cells.limit, view.sequential
    items: list[str] = [
        text(
            "It renders one decision record, which is attached as `decision.json`; where the two differ, the record "
            "holds."
        )
    ]
    if limit > 1:
        planned = (
            ", except for those of the sequential adversary that would disclose such a count" if sequential else ""
        )
        items.append(
            f"Counts of 1 to {numbers.integer(limit - 1)} records or people appear as “<{numbers.integer(limit)}”. "
            "Counts and shares that would disclose such a count appear as a bound or as “not shown” (CMS Cell Size "
            f"Suppression Policy). Probabilities and expected values are not counts and are shown in full{planned}."
        )
    planned = ", or, for the sequential adversary, that the series of attempts does" if sequential else ""
    items.append(
        f"A risk is the probability that an attempt at a record names the right person{planned}. Risks are given to "
        "four significant digits."
    )
    if view.combined and not view.combined.exclusive:
        items.append("The combined score is not a probability and may exceed 1.")
    if view.linkage:
        items.append(
            f"A share of people linked that stands for fewer than {numbers.integer(limit)}, or for all but fewer than "
            f"{numbers.integer(limit)}, appears as a bound and without its interval."
        )
    items.append("Amounts are in units of one currency, per record; the request does not name the currency.")
    items.append("Times are in UTC. Hashes are SHA-256, shortened to twelve digits in the page heads only.")
    yield Paragraph("How to read this document", "label")
    yield Bullets(items)

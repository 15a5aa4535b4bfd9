"""A re-assessment as a document, with its record embedded as ``reassessment.json``; the same record, the same bytes."""

import hashlib
from collections.abc import Iterator
from dataclasses import replace

from reports.model import numbers
from reports.model.document import (
    DASH,
    Block,
    Bullets,
    Document,
    Facts,
    Heading,
    Paragraph,
    Row,
    Section,
    Signatures,
    Table,
    VerdictBox,
    digest_text,
    failed,
    lines,
    passed,
    said,
    sentence_start,
    small,
    strong,
    text,
)
from reports.model.smallcell import SmallCellRule
from reports.pdf import Attachment, write_document
from reports.templating import rendering
from tasks.core.canonical import canonical_json
from tasks.core.plural import plural
from tasks.reassessment.compare import chances, written
from tasks.reassessment.record import GateComparison, PooledCopies, Reassessment, TodaysVerdict
from tasks.request.model import Measure

RECORD_NAME = "reassessment.json"
_HEAD = "Gate 44 | Then 13p | Today 13p | Allowed 16p | Gate today 14"

_KINDS = {
    "same recipient": "All copies that this recipient has; judged",
    "declared": "Copies of recipients who share under the policy; judged",
    "compared": "Copies of recipients who might share; compared, and not judged",
}
_VERDICTS = {
    TodaysVerdict.HOLDS: VerdictBox(
        "✓", "The decision holds", "approved", "{} would be released today: every gate that passed then passes today."
    ),
    TodaysVerdict.BLOCKED: VerdictBox(
        "✗",
        "It would be blocked today",
        "blocked",
        "{} would not be released today. It has been delivered; an officer decides what follows: {revoke}to have "
        "it destroyed, to change the agreement, or to leave it and state why.",
    ),
    TodaysVerdict.CANNOT: VerdictBox(
        "!",
        "It cannot be re-assessed",
        "awaiting",
        "{} fails no gate that could be judged, and not all could be. This blocks nothing and needs attention.",
    ),
}
_ENDED = VerdictBox("–", "Its gates would pass today", "over", "Every gate that passed then passes today for {}.")
"""The decision holds on a copy whose release has ended."""


def render_reassessment(record: Reassessment, ended: str = "") -> bytes:
    """The re-assessment as tagged PDF/A-3a with the record attached; `ended` says when and how the release ended."""
    content = canonical_json(record)
    attachment = Attachment(RECORD_NAME, content, "The record that this document renders")
    return write_document(reassessment(record, ended), [attachment], hashlib.sha256(content).hexdigest()[:32])


def reassessment(record: Reassessment, ended: str = "") -> Document:
    """The re-assessment as a document; `ended` says when and how the release ended, which comes first."""
    box = verdict_box(record, ended=bool(ended))
    first: list[Block] = [ended, box] if ended else [box]
    with rendering("re-assessment"):
        missing = [text("**{}**: {}", one.stage, one.reason) for one in record.not_measured]
        sections = [
            ("decision", "", first),
            ("reasons", "Reasons", _reasons(record)),
            ("gates", "Gates then and today", _gates(record)),
            *([("missing", "Not measured", [Bullets(missing)])] if missing else []),
            ("coalitions", "Pooled copies", _coalitions(record)),
            ("dates", "Dates that end", _dates(record)),
        ]
        return Document(
            kind="Re-assessment of a delivered release",
            title=record.title,
            name=f"Re-assessment of a release to {record.organisation}",
            author=f"releasegate {record.inputs.code.version}",
            description="Re-assessment of a delivered release",
            head=f"{record.title} · {record.recipient} · {box.words}",
            foot=f"Re-assessment · {numbers.day(record.reassessed_at)}",
            moment=record.reassessed_at,
            version=record.inputs.code.version,
            compact=True,
            sections=[Section(key, title, tuple(blocks)) for key, title, blocks in sections],
        )


def verdict_box(record: Reassessment, *, ended: bool) -> VerdictBox:
    """Verdict on the copy, which the recipient of a release that has ended may still hold."""
    box = _ENDED if ended and record.verdict is TodaysVerdict.HOLDS else _VERDICTS[record.verdict]
    whose = f"file that {record.organisation} {'still ' if ended else ''}has"
    copy = f"the {whose}" if box is _ENDED else f"The {whose}"
    return replace(box, meaning=box.meaning.format(copy, revoke="" if ended else "to revoke it, "))


def _reasons(record: Reassessment) -> Iterator[Block]:
    inputs, then = record.inputs, numbers.integer(record.people_then)
    people = f"{then} people when it was released; today's could not be read"
    if record.people is not None:
        people = f"{numbers.integer(record.people)} people; {then} when it was released"
    if record.people is not None and record.strangers:
        people += f"; {numbers.integer(record.strangers)} more have values that the hierarchies of the release lack"
    changed = text(": {}", failed("the verdict has changed")) if record.changed else "; the verdict is the same"
    original = failed("not available: only the delivered bytes were scored")
    if inputs.dataset_sha256:
        original = text("the same bytes, SHA-256 {}", digest_text(inputs.dataset_sha256))
    due = "is due" if record.due > record.reassessed_at.date() else "was due"
    yield Bullets(record.because, "reasons")
    yield Facts(
        [
            ("Release", text("{}, to {} ({})", digest_text(record.release_id), record.organisation, record.recipient)),
            ("Delivered", numbers.minute(record.released_at)),
            (
                "File",
                text(
                    "SHA-256 {}: the delivered bytes, compared with record and ledger",
                    digest_text(inputs.delivered_sha256),
                ),
            ),
            ("Verdict before", text("{}{}", record.before.value, changed)),
            ("Population", people),
            (
                "Policy",
                f"{record.policy.id}, version {record.policy.version}; {record.policy_then.id}, version "
                f"{record.policy_then.version} when it was released",
            ),
            ("Original data", original),
            ("Program", text("version {}, {}", inputs.code.version, digest_text(inputs.code.commit))),
            (
                "Assessed again",
                f"{numbers.minute(record.reassessed_at)}; it {due} by {numbers.day(record.due)}"
                + f", and is due again by {numbers.day(record.next_due)}" * (record.next_due != record.due),
            ),
        ]
    )


def _gates(record: Reassessment) -> Iterator[Block]:
    yield said(
        "What was measured when the release was decided, and the figures of the same bytes under today's population, "
        "policy, terms and program. How the file was made stays as it was.",
        "Figures of this copy are rounded, as in its determination." if record.decoyed else None,
    )
    yield Table("Gates of this copy by itself", _HEAD, [_gate_row(gate, record) for gate in record.gates])
    chance = chances(record.uncertainty_then, record.uncertainty)
    if chance:
        judged = any(gate.id == Measure.PASSING_PROBABILITY and gate.threshold is not None for gate in record.gates)
        rest = "the verdict follows from the terms as declared"
        if judged:
            rest = "a gate judges its lower end, the others the terms as declared"
        yield f"{chance} The interval is that of the draws; {rest}."


def _gate_row(gate: GateComparison, record: Reassessment, *, judged: bool = True) -> Row:
    """A row of the table: part used of today's threshold; where nothing is judged, no gate passes or fails."""
    then, before = _written(gate, gate.measured_then, gate.threshold_then, record)
    today, allowed = _written(gate, gate.measured, gate.threshold, record)
    if gate.open is None:
        outcome = small("no gate today") if gate.threshold is None and gate.comparison != "is" else failed("not judged")
    elif not judged:
        outcome = small("within" if gate.open else "beyond")
    elif gate.open:
        outcome = failed("overridden") if gate.overridden else passed(yes=True)
    else:
        outcome = passed(yes=False)
    moved = gate.threshold_then is not None and gate.threshold is not None and gate.threshold != gate.threshold_then
    note = f"{before} allowed when it was released" if moved else gate.because if gate.comparison == "is" else ""
    return lines(gate.title, small(lines(text("`{}`", gate.id), note))), then, strong(today), allowed, outcome


def _written(
    gate: GateComparison, measured: float | None, threshold: float | None, record: Reassessment
) -> tuple[str, str]:
    if threshold is None:
        return DASH, DASH
    figure, asked = written(record, gate, measured, threshold)
    return DASH if measured is None else figure, asked


def _coalitions(record: Reassessment) -> Iterator[Block]:
    if record.coalitions:
        yield (
            "A recipient who has several copies of the same people's records is assumed to know which rows are one "
            "person's. A record then hides among the people who match all of its cells; a recipient who knows the "
            "rules keeps only those to whom each rule gives exactly these. Figures that depend on groups alone are "
            "measured of several copies; linkage, attributes and utility are not. No gate is judged by copies that are "
            "only compared."
        )
        for one in record.coalitions:
            yield from _coalition(one, record)
    notes = said(
        None if record.coalitions else "No other copy of the same people has been delivered.",
        f"Recipients who might share: {plural(record.sets_left_out, 'further set')} of them were not compared, since "
        "they are too many."
        if record.sets_left_out
        else None,
        "Releases to this recipient that are not recorded as of the same people, and were not pooled with it: "
        f"{', '.join(map(numbers.short, record.unrelated))}."
        if record.unrelated
        else None,
    )
    yield from [notes] if notes else []


def _coalition(found: PooledCopies, record: Reassessment) -> Iterator[Block]:
    cells, words = SmallCellRule(record.policy.small_cell), f"They could not be pooled: {found.cannot}."
    if not found.cannot and found.shared is not None and found.narrowed is not None:
        words = (
            f"Records that are in other copies too: {cells.count(found.shared)}. Of these, hidden among fewer people "
            f"than in this copy alone: {cells.part(found.narrowed, found.shared)}."
        )
    yield Heading(f"{', '.join(found.recipients)}: {plural(len(found.releases), 'release')}")
    yield Paragraph(f"{_KINDS[found.kind]}. {words}", "intro" if found.gates else "")
    if found.gates:
        rows = [_gate_row(gate, record, judged=found.judged) for gate in found.gates]
        yield Table("Gates of this copy's records, pooled with the others", _HEAD, rows)


def _dates(record: Reassessment) -> Iterator[Block]:
    if record.lapses:
        yield Table(
            "Agreements, validity and other dates that end within 90 days or have ended",
            "Kind 17 | Name 33 | Last day 14 | Days left 12p | Consequence 24",
            [
                (
                    sentence_start(one.what),
                    digest_text(one.name) if len(one.name) == 64 else one.name,
                    numbers.day(one.last_day),
                    numbers.integer(one.days_left) if one.within else failed("ended"),
                    one.explained,
                )
                for one in record.lapses
            ],
        )
    else:
        yield "Nothing that the release depends on ends within 90 days."
    yield Signatures([("Seen by", "Date, signature"), ("Action taken", "Date, signature of an officer")])

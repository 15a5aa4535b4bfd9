"""A re-assessment as a document: its record, rendered, and embedded as ``reassessment.json``.

Nothing is computed here but how figures are written, and there is no clock: the same record gives the same bytes.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import replace

from reports import numbers
from reports.charting import Chart, Panel, line_key
from reports.document import (
    DASH,
    Block,
    Bullets,
    Column,
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
    plural,
    sentence_start,
    small,
    strong,
    text,
)
from reports.marks import AFTER, ALARM, BAND, EDGE, INK, MUTED, Box, ChartAxis, Dots, Line, Mark, rows_axis, vertical
from reports.pdf import Attachment, write_document
from reports.smallcell import SmallCellRule
from reports.templating import document_html, rendering
from tasks.core.canonical import canonical_json
from tasks.reassessment.compare import chances, written
from tasks.reassessment.record import GateComparison, PooledCopies, Reassessment, TodaysVerdict
from tasks.request.model import Measure

RECORD_NAME = "reassessment.json"

_KINDS = {
    "same recipient": "All copies that this recipient has; judged",
    "declared": "Copies of recipients whom the policy takes to share; judged",
    "compared": "Copies of recipients who might share; compared, and not judged",
}
_BEYOND = 1.25
"""End of the chart's axis: figures beyond are drawn there."""
_DOTS = (
    ("then", Dots((), INK, filled=False, radius=3.0)),
    ("today", Dots((), AFTER, radius=2.0)),
    ("today, copies pooled", Dots((), ALARM, "diamond", radius=2.5)),
)


def render_reassessment(record: Reassessment) -> bytes:
    """The re-assessment as tagged PDF/A-3a with the record attached.

    Raises
    ------
    StageFailed
        If it cannot be rendered in full.
    """
    content = canonical_json(record)
    attachment = Attachment(RECORD_NAME, content, "The record that this document renders")
    return write_document(reassessment(record), [attachment], hashlib.sha256(content).hexdigest()[:32])


def reassessment_html(record: Reassessment) -> str:
    """The re-assessment as the HTML that the PDF is made from; its chart is referred to as ``asset:<name>.svg``."""
    return document_html(reassessment(record))


def reassessment(record: Reassessment) -> Document:
    """The re-assessment as a document."""
    box = verdict_box(record)
    with rendering("re-assessment"):
        sections = [
            ("decision", "", [box]),
            ("reasons", "Reasons", _reasons(record)),
            ("gates", "Gates then and today", _gates(record)),
            *(
                [
                    (
                        "missing",
                        "What could not be measured",
                        [Bullets([text("**{}**: {}", one.stage, one.reason) for one in record.not_measured])],
                    )
                ]
                if record.not_measured
                else []
            ),
            ("coalitions", "Pooled copies", _coalitions(record)),
            ("dates", "What ends", _dates(record)),
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


def verdict_box(record: Reassessment) -> VerdictBox:
    """Verdict on the copy."""
    file = f"The file that {record.organisation} has"
    if record.verdict is TodaysVerdict.HOLDS:
        return VerdictBox(
            "✓",
            "The decision holds",
            "approved",
            f"{file} would be released today: every gate that was open then is open today.",
        )
    if record.verdict is TodaysVerdict.BLOCKED:
        return VerdictBox(
            "✗",
            "It would be blocked today",
            "blocked",
            f"{file} would not be released today. It has been delivered; an officer decides what follows: to revoke "
            "it, to have it destroyed, to change the agreement, or to leave it and say why.",
        )
    return VerdictBox(
        "!",
        "It cannot be re-assessed",
        "awaiting",
        f"{file} fails no gate that could be judged, and not all could be. This blocks nothing; somebody has to look "
        "into it.",
    )


def _reasons(record: Reassessment) -> Iterator[Block]:
    inputs, people = (
        record.inputs,
        f"{numbers.integer(record.people_then)} people when it was released; today's could not be read",
    )
    if record.people is not None:
        people = f"{numbers.integer(record.people)} people; {numbers.integer(record.people_then)} when it was released"
        if record.strangers:
            people += f"; {numbers.integer(record.strangers)} more have values that the hierarchies of the release lack"
    changed = text(": {}", failed("the verdict has changed")) if record.changed else "; the verdict is the same"
    original = failed("not available: only the delivered bytes were scored")
    if inputs.dataset_sha256:
        original = text("the same bytes, SHA-256 {}", digest_text(inputs.dataset_sha256))
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
                f"{numbers.minute(record.reassessed_at)}; it was due by {numbers.day(record.due)}, and is due again "
                f"by {numbers.day(record.next_due)}",
            ),
        ]
    )


def _gates(record: Reassessment) -> Iterator[Block]:
    rounded = " Figures of this copy are rounded, as in its determination." if record.decoyed else ""
    yield Paragraph(
        "What was measured when the release was decided, and what the same bytes come to under today's population, "
        f"policy, terms and program. How the file was made stays as it was.{rounded}"
    )
    yield from thresholds_chart(record)
    yield _table("Gates of this copy by itself", [_gate_row(gate, record) for gate in record.gates])
    chance = chances(record.uncertainty_then, record.uncertainty)
    if chance:
        judged = any(gate.id == Measure.PASSING_PROBABILITY and gate.threshold is not None for gate in record.gates)
        rest = (
            "a gate judges its lower end, the others the terms as declared"
            if judged
            else "the verdict follows from the terms as declared"
        )
        yield Paragraph(f"{chance} The interval is that of the draws; {rest}.")


def _table(caption: str, rows: list[Row]) -> Table:
    pairs = (Column(title, width, "pair") for title, width in (("Then", 13), ("Today", 13), ("Allowed", 16)))
    return Table(caption, (Column("Gate", 44), *pairs, Column("Gate today", 14)), rows)


def _used(gate: GateComparison, *, then: bool) -> float | None:
    """Part of a threshold that is used; None of one that is 0, or asks for a least value."""
    measured, threshold = (gate.measured_then, gate.threshold_then) if then else (gate.measured, gate.threshold)
    if gate.comparison != "at most" or measured is None or not threshold or threshold < 0 or measured < 0:
        return None
    return measured / threshold


def thresholds_chart(record: Reassessment) -> Iterator[Chart]:
    """Share used of each threshold, then, today and with pooled copies; nothing where none can be used in part."""
    gates = [gate for gate in record.gates if _used(gate, then=False) is not None or _used(gate, then=True) is not None]
    judged = [one for one in record.coalitions if one.judged]
    marks: list[Mark] = [Box((1, EDGE), (-EDGE, EDGE), BAND), vertical(1)]
    pooled, beyond = False, []
    for row, gate in enumerate(gates):
        together = [_used(one, then=False) for seen in judged for one in seen.gates if one.id == gate.id]
        worst = max((part for part in together if part is not None), default=None)
        pooled |= worst is not None
        parts = (_used(gate, then=True), _used(gate, then=False), worst)
        ends = [part for part in parts if part is not None]
        marks.append(Line(((min(ends), row), (max(ends), row)), MUTED, 1))
        marks += [
            replace(dots, points=((part, row),))
            for part, (_, dots) in zip(parts, _DOTS, strict=True)
            if part is not None
        ]
        if max(parts[1] or 0, worst or 0) > 1:
            beyond.append(gate.title)
    told = f"Beyond what is allowed today: {'; '.join(beyond)}." if beyond else "None is beyond what is allowed today."
    ticks = ((0, "0"), (0.25, "25%"), (0.5, "50%"), (0.75, "75%"), (1, "100%"), (_BEYOND, "125%\nor more"))
    x = ChartAxis(-0.02, _BEYOND + 0.0, "part of what the gate allows", ticks)
    if gates:
        yield Chart(
            "reassessment-thresholds",
            f"For {len(gates)} gates the part of the threshold that is used, when released and today. {told}",
            "What part of each threshold is used: hollow when it was released, filled "
            f"today{', a diamond where several copies are pooled' if judged else ''}. Shaded: not allowed.",
            [[Panel(x, rows_axis([gate.title for gate in gates]), marks)]],
            66 + 17 * len(gates),
            [line_key(words, dots) for words, dots in _DOTS[: 3 if pooled else 2]],
        )


def _gate_row(gate: GateComparison, record: Reassessment, *, judged: bool = True) -> Row:
    """A row of the table; where nothing is judged, the gate is not said to open or to close."""
    then, before = _written(gate, gate.measured_then, gate.threshold_then, record)
    today, allowed = _written(gate, gate.measured, gate.threshold, record)
    if gate.open is None:
        outcome = small("no gate today") if gate.threshold is None and gate.comparison != "is" else failed("not judged")
    elif not judged:
        outcome = small("within" if gate.open else "beyond")
    elif gate.open:
        outcome = failed("overridden") if gate.overridden else text('<span class="passed">✓ open</span>')
    else:
        outcome = failed("✗ closed")
    moved = gate.threshold_then is not None and gate.threshold is not None and gate.threshold != gate.threshold_then
    note = f"{before} allowed when it was released" if moved else gate.because if gate.comparison == "is" else ""
    return lines(gate.title, small(lines(text("`{}`", gate.id), note))), then, strong(today), allowed, outcome


def _written(
    gate: GateComparison, measured: float | None, threshold: float | None, record: Reassessment
) -> tuple[str, str]:
    """A measured figure and what is allowed."""
    if threshold is None:
        return DASH, DASH
    figure, asked = written(record, gate, measured, threshold)
    return DASH if measured is None else figure, asked


def _coalitions(record: Reassessment) -> Iterator[Block]:
    if record.coalitions:
        yield Paragraph(
            "A recipient who has several copies of the same people's records is taken to know which rows are one "
            "person's. A record then hides among the people who match all of its cells; whoever knows the rules "
            "keeps only those to whom each rule gives exactly these. What depends on groups alone is measured of "
            "several copies; linkage, attributes and utility are not. Copies that are only compared show what their "
            "recipients would learn if they shared: no gate is judged by them."
        )
        for one in record.coalitions:
            yield from _coalition(one, record)
    else:
        yield Paragraph("No other copy of the same people has been delivered.")
    if record.sets_left_out:
        yield Paragraph(
            f"Recipients who might share: {plural(record.sets_left_out, 'further set')} of them were not compared, "
            "since they are too many."
        )
    if record.unrelated:
        yield Paragraph(
            "Releases to this recipient that nothing says are of the same people, and that were not pooled with it: "
            f"{', '.join(map(numbers.short, record.unrelated))}."
        )


def _coalition(found: PooledCopies, record: Reassessment) -> Iterator[Block]:
    cells, said = SmallCellRule(record.policy.small_cell), f"They could not be pooled: {found.cannot}."
    if not found.cannot and found.shared is not None and found.narrowed is not None:
        said = (
            f"Records that are in other copies too: {cells.count(found.shared)}. Of these, hidden among fewer people "
            f"than in this copy alone: {cells.part(found.narrowed, found.shared)}."
        )
    yield Heading(f"{', '.join(found.recipients)}: {plural(len(found.releases), 'release')}")
    yield Paragraph(f"{_KINDS[found.kind]}. {said}", "intro" if found.gates else "")
    if found.gates:
        yield _table(
            "Gates of this copy's records, pooled with the others",
            [_gate_row(gate, record, judged=found.judged) for gate in found.gates],
        )


def _dates(record: Reassessment) -> Iterator[Block]:
    if record.lapses:
        yield Table(
            "What the release depends on that ends within 90 days or has ended",
            (
                Column("What", 17),
                Column("Which", 33),
                Column("Last day", 14),
                Column("Days left", 12, "pair"),
                Column("What follows", 24),
            ),
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
        yield Paragraph("Nothing that the release depends on ends within 90 days.")
    yield Signatures([("Seen by", "Date, signature"), ("What is done about it", "Date, signature of an officer")])

"""Two releases side by side: terms, columns, gates and risks, with what differs marked."""

from collections.abc import Iterable, Iterator, Sequence

from reports.model import numbers
from reports.model.document import DASH, Row, Table, strong
from reports.model.methods import method_text, treatment_text
from reports.model.record_view import RecordView
from tasks.decision.record import DecisionRecord

_HEAD = "{} 34 | {} 29 | {} 29 | Differs 8"


def compared(one: DecisionRecord, other: DecisionRecord) -> tuple[Table, ...]:
    """Tables of what the two have; the second is the one that is looked at."""
    sides = RecordView(one), RecordView(other)
    names = tuple(f"{numbers.short(side.record.release_id)}, {numbers.day(side.record.decided_at)}" for side in sides)
    parts = (
        ("Terms", "Term", _terms),
        ("Columns and how they leave", "Column", _columns),
        ("Gates", "Gate: measured; required", _gates),
        ("Risks", "Risk after generalization", _risks),
    )
    return tuple(
        Table(title, _HEAD.format(what, *names), _rows([dict(write(side)) for side in sides]))
        for title, what, write in parts
    )


def _rows(found: Sequence[dict[str, str]]) -> list[Row]:
    """A row for each name that either has."""
    left, right = found
    rows: list[Row] = []
    for name in dict.fromkeys((*right, *left)):
        pair = left.get(name, DASH), right.get(name, DASH)
        rows.append((name, *pair, strong("yes") if pair[0] != pair[1] else "no"))
    return rows


def _terms(side: RecordView) -> Iterable[tuple[str, str]]:
    record, recipient = side.record, side.record.recipient
    yield "Title", record.title
    yield "Recipient", f"{recipient.organisation} ({recipient.id})"
    yield "Verdict of the gate", record.decision.value
    yield "Requested by", record.requester
    yield "Purpose", recipient.purpose
    yield "Agreement", f"{recipient.agreement.id}, until {numbers.day(recipient.agreement.expires)}"
    yield "Valid", f"{numbers.day(record.valid_from)} to {numbers.day(record.valid_until)}"
    yield "Policy", f"{record.policy.id}, version {record.policy.version}"
    yield "Contents of the policy", numbers.short(record.policy.sha256)
    yield "Reviews required", numbers.integer(record.reviews_required)
    yield "Controls", "; ".join(recipient.controls) or DASH
    for name, value in (
        ("Benefit", recipient.benefit),
        ("Loss", recipient.loss),
        ("Gain", recipient.gain),
        ("Cost", recipient.cost),
    ):
        yield name, numbers.amount(value)
    yield "Data", record.dataset.title
    yield "Source file, SHA-256", numbers.short(record.dataset.source_sha256)
    yield "Population", numbers.integer(record.population.people)
    yield "Method", DASH if record.risk is None else method_text(record.risk.game.method).title
    yield "Masked", ", ".join(side.masked) or DASH


def _columns(side: RecordView) -> Iterator[tuple[str, str]]:
    for field in side.record.fields:
        leaves = treatment_text(field.treatment)
        yield field.name, f"{field.role}: {leaves}"


def _gates(side: RecordView) -> Iterator[tuple[str, str]]:
    for row in side.gates:
        outcome = "overridden" if row.gate.overridden else "passed" if row.gate.passed else "failed"
        yield row.gate.heading, f"{row.measured}; {row.asked}; {outcome}"


def _risks(side: RecordView) -> Iterator[tuple[str, str]]:
    risk = side.record.risk
    if risk is None:
        return
    after = risk.residual
    for who, figure in (("prosecutor", after.prosecutor), ("journalist", after.journalist)):
        yield f"Highest, {who}", numbers.risk(figure.maximum)
        yield f"Mean, {who}", numbers.risk(figure.mean)
        yield (
            f"Records above the threshold, {who}",
            side.cells.share(figure.over_threshold / figure.records, figure.records),
        )
    yield "Highest, informed recipient", numbers.risk(risk.transparent.maximum_risk)
    yield "Expected re-identifications", numbers.amount(risk.transparent.expected_reidentifications)
    yield "Marketer", numbers.risk(after.marketer)

"""Gate results in print, in the words that reasons and explanations use too."""

from dataclasses import dataclass

from reports import numbers
from tasks.decision.measures import write_result
from tasks.decision.record import DecisionRecord, GateResult
from tasks.request.model import Measure


@dataclass(frozen=True)
class GateRow:
    """One row of the gate table."""

    title: str
    id: str
    measured: str
    asked: str
    unit: str
    passed: bool
    because: str
    """Precedent of a threshold; for a condition, what was found."""
    is_condition: bool
    """A condition that no policy can switch off, in contrast to a policy's threshold."""


def gate_rows(record: DecisionRecord) -> tuple[GateRow, ...]:
    """The record's gates, in its order."""
    return tuple(_row(record, gate) for gate in record.gates)


def released_records(record: DecisionRecord) -> int:
    """Records that were measured for release, whether or not a file was then written; those that came in, if none."""
    return record.dataset.rows_in if record.risk is None else record.risk.residual.prosecutor.records


def _row(record: DecisionRecord, gate: GateResult) -> GateRow:
    total = record.dataset.rows_in if gate.id == Measure.SUPPRESSED_SHARE else released_records(record)
    measured, asked = write_result(gate, records=total, small_cell=record.policy.small_cell)
    if gate.interval is not None:
        low, high = numbers.risk(gate.interval.low), numbers.risk(gate.interval.high)
        measured += f" ({low} to {high}, {numbers.percent(gate.interval.level)} interval)"
    return GateRow(
        title=gate.title,
        id=gate.id,
        measured=measured,
        asked=asked,
        unit=gate.unit,
        passed=gate.passed,
        because=gate.because,
        is_condition=gate.comparison == "is",
    )

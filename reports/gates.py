"""Gate results in print, in the words that reasons and explanations use too."""

import math
from dataclasses import dataclass

from reports import numbers
from reports.linkage import gate_text
from reports.smallcell import HIDDEN, SmallCellRule
from tasks.core.fact import Interval
from tasks.decision.gates import DECOYS_DETECTABLE
from tasks.decision.measures import write_result
from tasks.decision.record import DecisionRecord, GateResult
from tasks.request.model import Measure

_UNITS = {DECOYS_DETECTABLE: "area under the ROC curve"}
"""Units of gates that are no measure of the policy's."""


_WITHOUT_SUPPRESSED = frozenset({Measure.INFORMATION_KEPT, Measure.PUBLISHER_PAYOFF})
"""Figures in which a suppressed record counts as nothing."""


@dataclass(frozen=True)
class GateRow:
    """One row of the gate table."""

    title: str
    id: str
    measured: str
    interval: str
    """Interval around a figure that is an estimate; empty for exact ones, and where it would reveal a small count."""
    asked: str
    unit: str
    passed: bool
    overridden: bool
    """Failed, and an officer answers for it."""
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


def _linked(record: DecisionRecord, gate: GateResult) -> str | None:
    fact = record.risk.linkage if record.risk else None
    if fact is None or gate.measured is None:
        return None
    return gate_text(gate, fact, SmallCellRule(record.policy.small_cell))


def _coarse(record: DecisionRecord, gate: GateResult) -> str | None:
    """Information kept or payoff where few records were suppressed, which count as nothing in it; None elsewhere.

    The report shows the same figure before suppression: the difference would reveal how few there are.
    """
    cells, rows_in = SmallCellRule(record.policy.small_cell), record.dataset.rows_in
    if (
        gate.id not in _WITHOUT_SUPPRESSED
        or gate.measured is None
        or not cells.hides(rows_in - released_records(record))
    ):
        return None
    step = numbers.grain(cells.limit / rows_in)
    if step is None:
        return HIDDEN
    scale = 1.0 if gate.id == Measure.INFORMATION_KEPT else max(record.recipient.benefit, 1e-9)
    below = step * scale * math.floor(gate.measured / scale / step + 1e-9)
    return f"over {numbers.percent(below) if gate.id == Measure.INFORMATION_KEPT else numbers.amount(below)}"


def _interval(gate: GateResult, interval: Interval) -> str:
    share = gate.unit.startswith("share")
    ends = f"{numbers.risk(interval.low)} to {numbers.risk(interval.high)}"
    text = f"{numbers.percent(interval.level)} interval " + (
        numbers.percent_range(interval.low, interval.high) if share else ends
    )
    end, name = (interval.low, "lower") if gate.comparison == "at least" else (interval.high, "upper")
    return f"{text}, its {name} end is judged" if gate.measured == end else text


def _row(record: DecisionRecord, gate: GateResult) -> GateRow:
    total = record.dataset.rows_in if gate.id == Measure.SUPPRESSED_SHARE else released_records(record)
    measured, asked = write_result(gate, records=total, small_cell=record.policy.small_cell)
    bound = _linked(record, gate) or _coarse(record, gate)
    return GateRow(
        title=gate.title,
        id=gate.id,
        measured=bound or measured,
        interval="" if bound or gate.interval is None else _interval(gate, gate.interval),
        asked=asked,
        unit=gate.unit or _UNITS.get(gate.id, ""),
        passed=gate.passed,
        overridden=gate.overridden is not None,
        because=gate.because,
        is_condition=gate.comparison == "is",
    )

"""Figures for reviewers that no gate judges, and the columns that leave, with their form."""

from collections.abc import Iterator

from reports.model import numbers
from reports.model.document import Row, Table
from reports.model.methods import treatment_text
from reports.model.record_view import RecordView
from tasks.decision.bodies import Intruder, kept_decision
from tasks.decision.record import DecisionRecord
from tasks.request.measures import MEASURES
from tasks.request.model import Measure

_LINKED: dict[Intruder, Measure] = {
    "uninformed": Measure.LINKED_UNINFORMED,
    "informed": Measure.LINKED_INFORMED,
    "masked": Measure.LINKED_MASKED,
}


def unjudged(record: DecisionRecord) -> Table | None:
    """Measured figures without a gate, each beside what it compares with; None where nothing was measured."""
    view = RecordView(record)
    rows = list(_rows(view)) if record.risk else []
    if not rows:
        return None
    return Table("Figures that no gate judges", "Figure 46 | Measured 22r | Beside it 32", rows)


def leaving_columns(record: DecisionRecord) -> Table:
    """Every column with its role and treatment, those that leave first; no count of values."""
    fields = sorted(record.fields, key=lambda field: not field.released)
    return Table(
        "Columns of the source file",
        "Column 20 | Leaves 10 | Role 18 | How 52",
        [
            (field.name, "yes" if field.released else "no", field.role, treatment_text(field.treatment))
            for field in fields
        ],
    )


def _rows(view: RecordView) -> Iterator[Row]:
    risk, record = view.risk, view.record
    threshold = numbers.risk(risk.threshold)
    sides = (
        ("prosecutor", risk.residual.prosecutor, Measure.PROSECUTOR_MAXIMUM),
        ("journalist", risk.residual.journalist, Measure.JOURNALIST_MAXIMUM),
    )
    for who, side, measure in sides:
        if measure not in view.gated:
            share = view.cells.share(side.over_threshold / side.records, side.records)
            yield (
                f"Records whose {who} risk is above the policy's threshold of {threshold}",
                share,
                (f"highest {numbers.risk(side.maximum)}, mean {numbers.risk(side.mean)}"),
            )
    yield (
        "Records that a marketer links rightly, expected share",
        numbers.risk(risk.residual.marketer),
        (f"before: {numbers.risk(risk.initial.marketer)}"),
    )
    for attack in kept_decision(record).attacks:
        measure = _LINKED[attack.intruder]
        if measure not in view.gated:
            share = view.cells.share(attack.share, attack.people)
            yield MEASURES[measure].title, share, f"guessing: {numbers.percent(attack.baseline)}; {attack.title}"
    sequential = view.sequential
    if sequential is not None and Measure.SEQUENTIAL_MAXIMUM not in view.gated:
        planned = sequential.judged_in(sequential.residual).maximum_risk
        yield MEASURES[Measure.SEQUENTIAL_MAXIMUM].title, numbers.risk(planned), f"threshold {threshold}"

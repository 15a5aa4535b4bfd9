"""Figures that other columns or other copies make worse: page and table say what the gate judged."""

from typing import Any

import pytest

from tasks.decision.earlier_facts import EarlierFact
from tasks.decision.record import DecisionRecord
from tasks.request.model import Measure
from tests.reports.test_coalitions_report import SEEN
from tests.support import records, special_records, texts
from tests.support.rendered import determination_html

NONE_PAYS = "no attempt pays at the amounts of section 3"
WORSE = {
    Measure.TRANSPARENT_MAXIMUM: 1 / 23,
    Measure.TRANSPARENT_ATTACKED: 0.7318,
    Measure.SEQUENTIAL_MAXIMUM: 0.99,
    Measure.PROSECUTOR_MAXIMUM: 1.0,
}


def with_columns(figures: dict[Measure, float]) -> dict[str, Any]:
    """A released column beside the quasi-identifiers makes figures worse."""
    record = records.approved()
    fact = special_records.columns().model_copy(update={"whole_row": {one.value: figures[one] for one in figures}})
    return {"further": {**record.further, "columns": fact.model_dump(mode="json")}, "gates": gates(figures)}


def with_rows(figures: dict[Measure, float]) -> dict[str, Any]:
    """Rows of a person that others know make figures worse; that of the informed recipient has a row of its own."""
    record = records.approved()
    fact = special_records.events({one.value: figures[one] for one in figures})
    return {"further": {**record.further, "events": fact.model_dump(mode="json")}, "gates": gates(figures)}


def with_copies(figures: dict[Measure, float]) -> dict[str, Any]:
    """Earlier copies held by the same party make figures worse."""
    return {"earlier": EarlierFact(hand=("university",), figures=figures), "gates": gates(figures)}


def with_coalition(figures: dict[Measure, float]) -> dict[str, Any]:
    """A coalition's sequential figure is in the gate alone."""
    figures = {Measure.SEQUENTIAL_MAXIMUM: figures[Measure.SEQUENTIAL_MAXIMUM]}
    risk = records.approved().risk
    assert risk is not None
    return {"risk": risk.model_copy(update={"coalitions": (SEEN,)}), "gates": gates(figures, alone=False)}


def gates(figures: dict[Measure, float], *, alone: bool = True) -> tuple[Any, ...]:
    """Gates with worse figures, as the decision judges them."""
    return tuple(
        gate.model_copy(
            update={
                "measured": figures[gate.id],
                "alone": gate.measured if alone else None,
                "passed": figures[gate.id] <= gate.threshold,
            }
        )
        if gate.id in figures
        else gate
        for gate in records.approved().gates
    )


def shown(record: DecisionRecord) -> dict[str, str]:
    return {name: " ".join(text.split()) for name, text in texts.sections(determination_html(record)).items()}


@pytest.mark.parametrize(
    ("changes", "why", "alone"),
    [
        (with_columns, "with what relationship also reveals", "by the quasi-identifiers alone"),
        (with_rows, "with what others know of a person's rows", "without these"),
        (with_copies, "with other copies held by the same party", "by this copy alone"),
        (with_coalition, "in a coalition", "by this copy alone"),
    ],
)
def test_the_page_and_the_table_have_the_sequential_figure_that_the_gate_judged(
    changes: Any, why: str, alone: str
) -> None:
    """The copy alone has 0, which is named as such beside the figure judged and nowhere by itself."""
    told = shown(records.changed(records.approved(), **changes(WORSE)))
    assert (
        f"An attacker who makes repeated attempts for as long as they pay succeeds, {why}, with a probability of at "
        f"most 0.99; {alone} no attempt pays."
    ) in told["decision"]
    assert NONE_PAYS not in told["decision"]
    title = "somebody who tries again for as long as it pays (sequential adversary)"
    assert f"{title}, {alone} (0: no attempt pays)" in told["judged"]
    assert f"the same, {why} 0.63 0.99 0.09 ✗ failed" in told["judged"]


def test_a_figure_that_nothing_makes_worse_stands_by_itself() -> None:
    told = shown(records.approved())
    assert NONE_PAYS in told["decision"]
    assert "that is not a risk of zero" in told["decision"]
    assert "alone (0: no attempt pays)" not in told["judged"]


def test_no_attempt_pays_is_not_said_without_more_where_records_are_worth_a_single_one() -> None:
    """The sequential adversary weighs a penalty, which the gate on records worth attacking does not."""
    only = {Measure.TRANSPARENT_ATTACKED: 0.7318}
    page = shown(records.changed(records.approved(), **with_columns(only)))["decision"]
    assert "who weighs all declared terms, such as a penalty, no attempt pays" in page
    assert "by gain and cost of an attempt alone, some records are worth attacking" in page


def test_a_prosecutor_above_whoever_knows_more_is_explained() -> None:
    """Of one record alike the prosecutor has 1; 23 people fit it."""
    record, note = records.approved(), "The informed recipient's is one over the people whom a record fits"
    assert record.risk is not None
    seen = record.risk.residual.prosecutor.model_copy(update={"maximum": 1 / 75})
    residual = record.risk.residual.model_copy(update={"prosecutor": seen})
    low = records.changed(record, risk=record.risk.model_copy(update={"residual": residual}))
    assert note not in shown(low)["judged"]
    told = shown(records.changed(low, **with_columns(WORSE)))
    assert "in the file (prosecutor), by the quasi-identifiers alone 1 0.01333 – no gate" in told["judged"]
    assert "the same, with what relationship also reveals 1 1 – no gate" in told["judged"]
    assert "the same, with what relationship also reveals 1 0.04348 0.09 ✓ passed" in told["judged"]
    assert note in told["judged"]
    ungated = "may find that person's record with a probability of up to 1; no gate limits that."
    assert ungated in told["decision"]
    assert ungated not in shown(low)["decision"]

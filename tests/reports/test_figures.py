import xml.etree.ElementTree as ET

import pytest

from reports.determination import charts as figures
from reports.model.charts import ALARM, PARTLY
from reports.model.document import Table
from reports.model.record_view import RecordView
from reports.model.smallcell import SmallCellRule
from reports.sections.identity import risk_axis, shown_bins
from reports.sections.stakes import other_stakes
from tasks.core.errors import StageFailed
from tasks.core.fact import Bin
from tasks.decision.record import DecisionRecord
from tests.support import records, texts
from tests.support.rendered import determination_html

NAMES = ["risk", "sequential", "sensitivity", "combined", "transparent"]


def words(svg: bytes) -> str:
    """The labels of a figure."""
    return " | ".join(texts.drawn_texts(svg))


def with_method(record: DecisionRecord, method: str) -> DecisionRecord:
    assert record.risk is not None
    game = record.risk.game.model_copy(update={"method": method})
    outcomes = tuple(outcome.model_copy(update={"method": method, "chosen": True}) for outcome in game.outcomes[:1])
    game = game.model_copy(update={"outcomes": outcomes})
    return records.changed(record, risk=record.risk.model_copy(update={"game": game}))


def test_every_figure_is_drawn_and_says_in_words_what_it_shows() -> None:
    drawn = figures(records.blocked())
    assert list(drawn) == NAMES
    for figure in drawn.values():
        assert ET.fromstring(figure.svg).tag.endswith("svg")  # noqa: S314  (our own)
        assert len(figure.alt) > 60
        assert figure.caption.endswith(".")
    assert "23.38% of the records lie there" in drawn["transparent"].alt
    assert "an attempt pays beyond 0.01333" in words(drawn["transparent"].svg)


def test_nothing_is_drawn_where_nothing_was_measured() -> None:
    assert figures(records.validation_failed()) == {}


def test_the_same_record_is_drawn_with_the_same_bytes() -> None:
    first, second = figures(records.approved()), figures(records.approved())
    assert [figure.svg for figure in first.values()] == [figure.svg for figure in second.values()]


def test_no_bar_is_drawn_as_attempted_where_nothing_is_worth_an_attempt() -> None:
    """The highest risk is 1/75, the very point beyond which an attempt pays, in the middle of an interval."""
    approved, blocked = figures(records.approved()), figures(records.blocked())
    for colour in (ALARM, PARTLY):
        assert colour.lower() not in approved["transparent"].svg.decode().lower()
        assert colour.lower() in blocked["transparent"].svg.decode().lower()


def test_the_last_filled_interval_ends_at_the_highest_risk() -> None:
    bins = (Bin(low=0, high=0.01, records=40), Bin(low=0.01, high=0.02, records=20), Bin(low=0.02, high=1, records=0))
    shown = shown_bins(bins, 1 / 75, SmallCellRule(11))
    assert [(part.low, part.high, part.records) for part in shown] == [(0, 0.01, 40), (0.01, 1 / 75, 20), (0.02, 1, 0)]


def test_an_axis_without_a_filled_bin_still_holds_its_marks() -> None:
    axis = risk_axis((), (0.09, 1.5), "risk", largest=2)
    assert axis.at(0.09) < axis.at(1.5)


def test_too_few_records_are_not_drawn() -> None:
    record = records.approved()
    assert record.risk is not None
    few = record.risk.transparent.model_copy(update={"histogram": (Bin(low=0, high=1, records=9),)})
    drawn = figures(records.changed(record, risk=record.risk.model_copy(update={"transparent": few})))
    assert "too few records to show" in words(drawn["transparent"].svg)


def test_a_method_that_the_report_cannot_explain_stops_it() -> None:
    with pytest.raises(StageFailed, match="cannot explain"):
        determination_html(with_method(records.approved(), "something-new"))


def test_labels_are_text_and_never_formulas() -> None:
    record = records.approved()
    fields = tuple(
        field.model_copy(update={"name": "cost $x$ & <y>"}) if field.name == "age" else field for field in record.fields
    )
    assert record.risk is not None
    weights = record.risk.game.weights | {"cost $x$ & <y>": 1.0}
    game = record.risk.game.model_copy(update={"weights": weights})
    changed = records.changed(record, fields=fields, risk=record.risk.model_copy(update={"game": game}))
    assert "cost $x$ & <y> , 97.12% kept" in texts.sections(determination_html(changed))["utility"]


def frontier_of(record: DecisionRecord, **changes: object) -> Table:
    assert record.risk is not None
    assert record.risk.game.frontier is not None
    fact = record.risk.game.frontier.model_copy(update=changes)
    game = record.risk.game.model_copy(update={"frontier": fact})
    changed = records.changed(record, risk=record.risk.model_copy(update={"game": game}))
    return next(one for one in other_stakes(RecordView(changed)) if isinstance(one, Table))


def test_other_stakes_are_told_with_how_many_games_they_took() -> None:
    fine, coarse = frontier_of(records.approved()), frontier_of(records.blocked(), games=9)
    rows = {row[0]: row[1:] for row in fine.rows}
    assert [column.title for column in fine.columns][3] == "L 300"
    assert rows["1,200"][2] == "<b>1,147</b><br><b>0%</b>", "at the stakes of the request"
    assert rows["4,800"][4] == "4,160<br>0%"
    assert "V changes no choice of this method: 5 games, one for each L" in fine.caption
    assert "The gain G equals L" in fine.caption
    assert "9 games were solved; the grid is coarse because each point needs its own." in coarse.caption
    assert any("41.19%" in cell for row in coarse.rows for cell in row)
    served = frontier_of(with_method(records.approved(), "safe-harbor"), games=1)
    assert "The file depends on no stakes" in served.caption


def test_stakes_without_a_file_and_few_attacked_records_are_said_so() -> None:
    record = records.approved()
    assert record.risk is not None
    assert record.risk.game.frontier is not None
    none = {"publisher_payoff": None, "attacked_share": None, "information_kept": None}
    first, second, *others = record.risk.game.frontier.points
    points = (first.model_copy(update=none), second.model_copy(update={"attacked_share": 3 / records.ROWS}), *others)
    row = frontier_of(record, points=points).rows[0]
    assert row[:2] == ("300", "no file<br>no file")
    assert row[2].endswith("&lt;0.03%")


def test_a_gain_beside_the_loss_is_named() -> None:
    record = records.approved()
    assert record.risk is not None
    assert record.risk.game.frontier is not None
    points = tuple(one.model_copy(update={"gain": 10 * one.loss}) for one in record.risk.game.frontier.points)
    table = frontier_of(record, points=points)
    assert "The gain G (in brackets) keeps its ratio to L" in table.caption
    assert table.columns[3].title == "L 300 (3,000)"

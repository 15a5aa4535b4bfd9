"""What a determination says of how good its partition is."""

from typing import Any

import pytest

from reports.model.record_view import RecordView
from reports.sections.answer import usefulness
from tasks.assessments.identity.facts import DivisionFact
from tasks.decision.record import DecisionRecord
from tests.support import records, texts
from tests.support.rendered import determination_html

EXACT = DivisionFact(payoff=737.6249, bound=832.99, exact=True, gap=0.0)


def section(division: DivisionFact | None, **game: Any) -> str:
    record: DecisionRecord = records.approved()
    assert record.risk is not None
    changed = record.risk.game.model_copy(update={"division": division, **game})
    document = determination_html(records.changed(record, risk=record.risk.model_copy(update={"game": changed})))
    return " ".join(texts.sections(document)["method"].split())


def test_nothing_is_said_without_a_partition() -> None:
    assert "The partition pays" not in section(None)


def test_the_exact_recursion_is_optimal_whatever_bounds_all_divisions() -> None:
    text = section(EXACT)
    assert "The partition pays 737.62 units per person of the population by the people who match. It is optimal" in text
    assert "below the best" not in text
    assert "737.62 units per record" in section(EXACT, cell_weights="data")


def test_a_bounded_partition_says_how_far_below_the_best_it_may_be_and_never_too_little() -> None:
    text = section(DivisionFact(payoff=548.06, bound=814.151, exact=False, gap=266.091))
    assert "at most 266.10 units per person of the population below the best" in text
    assert "pays more than 814.16." in text
    assert "optimal" not in text
    closed = section(DivisionFact(payoff=548.06, bound=548.06, exact=False, gap=0.0))
    assert "It is optimal: no division of the population of its kind pays more." in closed


@pytest.mark.parametrize(
    ("weights", "told"),
    [
        ({"age": 1.0, "sex": 1.0, "zip": 1.0}, "%.<br>"),
        ({"age": 2.0, "sex": 2.0, "zip": 2.0}, "%.<br>"),
        ({"age": 10.0, "sex": 1.0, "zip": 1.0}, "%, where age counts 10 times as much."),
        ({"age": 10.0, "sex": 1.0, "zip": 1.0, "race": 10.0, "job": 1.0, "pay": 0.0},
         "%, where age and race count 10 times as much and pay counts for nothing."),
    ],
    ids=["alike", "alike at 2", "one", "several"],
)  # fmt: skip
def test_what_weighs_more_in_the_information_kept_is_said(weights: dict[str, float], told: str) -> None:
    record = records.approved()
    assert record.risk is not None
    game = record.risk.game.model_copy(update={"weights": weights})
    weighed = records.changed(record, risk=record.risk.model_copy(update={"game": game}))
    assert told in str(usefulness(RecordView(weighed)))

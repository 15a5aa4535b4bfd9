"""The frontier over V and L against a request that states the stakes of each point, played and scored from new."""

from pathlib import Path
from typing import Any

import pytest

from tasks.assessments.identity.other_terms import COARSE, FINE, frontier
from tasks.assessments.identity.score import score
from tasks.core.errors import StageFailed
from tasks.generalization.generalize import generalize
from tasks.generalization.setting import game_table, payoffs_of, weights_of
from tasks.request.model import Measure, Method
from tests.support.tiny import Change, changed, tiny_prepared, tiny_request
from tests.support.worlds import WITHOUT_TERMS

NO_ATTACK = {method for method in Method if method.value.startswith("no-attack")}


def stakes(**terms: float) -> Change:
    def change(document: dict[str, Any]) -> None:
        document["recipients"][0]["stakes"] = terms

    return change


def method(name: Method) -> Change:
    return changed("policy", "generalization", "method", to=name.value)


@pytest.mark.slow
@pytest.mark.parametrize("generalization", WITHOUT_TERMS)
@pytest.mark.parametrize("size", [1, 2])
def test_each_point_is_what_a_request_with_its_stakes_gives(tmp_path: Path, generalization: Method, size: int) -> None:
    minimum = changed("policy", "generalization", "minimum_class_size", to=size)
    loaded = tiny_request(tmp_path, method(generalization), minimum, stakes(benefit=90, loss=60, gain=80, cost=10))
    prepared = tiny_prepared(loaded)
    table = game_table(loaded.request, prepared)
    recipient = loaded.request.recipients[0]
    found = frontier(table, loaded.request, recipient)
    own = generalize(table, generalization, payoffs_of(recipient), weights_of(loaded.request))
    again = frontier(table, loaded.request, recipient, own)
    assert (again.points, again.games) == (found.points, found.games)
    few = {Method.NO_ATTACK_REMAINDER} | ({Method.NO_ATTACK_COMMON} if loaded.request.budget else set())
    expected = FINE if generalization in {*NO_ATTACK, Method.SAFE_HARBOR} - few else COARSE
    assert found.benefit_factors == found.loss_factors == expected
    assert len(found.points) == len(expected) ** 2
    assert found.games == (
        1 if generalization is Method.SAFE_HARBOR else len(expected) if generalization in NO_ATTACK else 9
    )
    released = 0
    for place, point in enumerate(found.points):
        row, column = divmod(place, len(expected))
        assert (point.benefit, point.loss, point.gain) == (
            90 * expected[row],
            60 * expected[column],
            80 * expected[column],
        )
        terms = {"benefit": point.benefit, "loss": point.loss, "gain": point.gain}
        other = tiny_request(tmp_path, method(generalization), minimum, stakes(**terms, cost=10)).request
        recipient = other.recipients[0]
        fresh = game_table(other, prepared)
        try:
            outcome = generalize(fresh, generalization, payoffs_of(recipient), weights_of(other))
            figures = score(fresh, outcome, other, recipient, prepared.distinct_values, compare=()).figures
        except StageFailed:
            assert (point.publisher_payoff, point.attacked_share, point.information_kept) == (None, None, None)
            continue
        released += 1
        assert point.publisher_payoff == pytest.approx(figures[Measure.PUBLISHER_PAYOFF])
        released_share = 1 - figures[Measure.SUPPRESSED_SHARE]
        assert point.attacked_share == pytest.approx(figures[Measure.TRANSPARENT_ATTACKED] * released_share)
        assert point.information_kept == pytest.approx(figures[Measure.INFORMATION_KEPT])
    assert released


def test_stakes_under_which_nobody_can_be_protected_have_no_figures(tmp_path: Path) -> None:
    """27 people in all: from a gain of 280 an attempt at a cost of 10 pays on everybody."""
    loaded = tiny_request(tmp_path, method(Method.NO_ATTACK_PARTITION), stakes(benefit=90, loss=70, cost=10))
    table = game_table(loaded.request, tiny_prepared(loaded))
    points = frontier(table, loaded.request, loaded.request.recipients[0]).points
    assert [point.publisher_payoff is None for point in points] == [False, False, False, False, True] * 5

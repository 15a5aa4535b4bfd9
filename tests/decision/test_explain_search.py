from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.decision.explain.levers import FACTORS, WIDER, WIDTH, Lever
from tasks.decision.explain.trial import OutOfGames, nearest_flip, outwards
from tests.support.examples import examples

COST = Lever("cost", "recipients[0].stakes.cost", 4.0, 0.0, 1e12)
SIZE = Lever("class", "policy.generalization.minimum_class_size", 1, 1, 1_000_000, whole=True)


def test_grid_goes_outwards_from_the_present_value() -> None:
    assert list(outwards(COST, up=True)) == [4.4, 5.0, 6.0, 8.0, 12.0, 20.0, 40.0, 120.0, 400.0]
    assert list(outwards(COST, up=False)) == [3.636, 3.2, 2.667, 2.0, 1.333, 0.8, 0.4, 0.1333, 0.04]


def test_grid_of_whole_numbers_has_each_once_and_stays_within_range() -> None:
    assert list(outwards(SIZE, up=True)) == [2, 3, 5, 10, 30, 100]
    assert list(outwards(SIZE, up=False)) == []
    assert list(outwards(Lever("k", "k", 10, 1, 40, whole=True), up=True)) == [11, 13, 15, 20, 30, 40]
    assert list(outwards(Lever("k", "k", 10, 1, 40, whole=True), up=False)) == [9, 8, 6, 5, 3, 2, 1]


def test_grid_ends_at_the_largest_stake() -> None:
    assert list(outwards(Lever("cost", "c", 9e11, 0.0, 1e12), up=True)) == [9.9e11, 1e12]


@pytest.mark.parametrize(("at", "up"), [(4.01, True), (5.31, True), (399.0, True), (3.99, False), (0.0401, False)])
def test_finds_the_turn_to_within_its_width(at: float, up: bool) -> None:
    found = nearest_flip(COST, lambda value: value >= at if up else value <= at, up=up)
    assert found is not None
    assert at <= found <= at * (1 + WIDTH) if up else at / (1 + WIDTH) <= found <= at


def test_an_island_of_other_verdicts_is_found_though_both_ends_agree() -> None:
    assert nearest_flip(COST, lambda value: 9 <= value <= 13, up=True) == pytest.approx(9, rel=WIDTH)


NONE = Lever("fee", "recipients[0].adversary.access_cost", 0.0, 0.0, 1e12, also=(0.0, 3.0, 40.0))
FEE = Lever("fee", "recipients[0].adversary.access_cost", 50.0, 0.0, 1e12, also=(0.0, 3.0, 40.0))


def test_values_beside_the_grid_are_tried_in_their_order() -> None:
    assert list(outwards(NONE, up=True)) == [3.0, 40.0]
    assert list(outwards(NONE, up=False)) == []
    assert list(outwards(FEE, up=False)) == [45.45, 40.0, 33.33, 25.0, 16.67, 10.0, 5.0, 3.0, 1.667, 0.5, 0.0]


@pytest.mark.parametrize("at", [39.0, 3.001, 2.0, 0.31, 0.0123])
def test_from_nothing_upwards(at: float) -> None:
    found = nearest_flip(NONE, lambda value: value >= at, up=True)
    assert found is not None
    assert at <= found <= at * (1 + WIDTH)
    assert nearest_flip(NONE, lambda value: value > 40, up=True) is None


@pytest.mark.parametrize("at", [49.0, 3.0, 0.4, 0.0123])
def test_down_to_nothing(at: float) -> None:
    found = nearest_flip(FEE, lambda value: value <= at, up=False)
    assert found is not None
    assert at / (1 + WIDTH) <= found <= at
    assert nearest_flip(FEE, lambda value: value == 0, up=False) == 0


def test_few_values_are_tried_where_each_takes_long() -> None:
    few = replace(COST, few=True)
    assert list(outwards(few, up=True)) == [6.0, 12.0, 40.0, 400.0]
    found = nearest_flip(few, lambda value: value >= 59, up=True)
    assert found is not None
    assert 59 <= found <= 59 * (1 + WIDER)


def test_where_no_more_games_may_be_solved_the_nearest_so_far_is_given() -> None:
    tried = list[float]()

    def flips(value: float) -> bool:
        if len(tried) == 6:
            raise OutOfGames
        tried.append(value)
        return value >= 59

    assert nearest_flip(replace(COST, few=True), flips, up=True) == 71.13
    assert tried == [6.0, 12.0, 40.0, 400.0, 126.5, 71.13]
    with pytest.raises(OutOfGames):
        nearest_flip(COST, flips, up=True)


def test_nothing_beyond_the_grid_is_found() -> None:
    assert nearest_flip(COST, lambda value: value > 400, up=True) is None
    assert nearest_flip(COST, lambda value: value > 4, up=False) is None


@pytest.mark.parametrize("at", range(2, 101))
def test_whole_numbers_are_exact_as_far_as_the_width_asks(at: int) -> None:
    assert nearest_flip(SIZE, lambda value: value >= at, up=True) == at


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=6).map(sorted), st.booleans(), st.floats(1e-3, 1e6))
@settings(max_examples=examples(60), deadline=None)
def test_what_is_found_was_tried_and_the_value_before_it_keeps_the_verdict(
    turns: list[float], up: bool, current: float
) -> None:
    tried: dict[float, bool] = {}

    def flips(value: float) -> bool:
        tried[value] = sum(value >= turn * current for turn in turns) % 2 != sum(turn <= 1 for turn in turns) % 2
        return tried[value]

    found = nearest_flip(Lever("cost", "c", current, 0.0, 1e12), flips, up=up)
    if found is None:
        assert len(tried) == len(FACTORS)
        assert not any(tried.values())
        return
    assert tried[found]
    nearer = [value for value in tried if (current < value < found if up else found < value < current)]
    assert not any(tried[value] for value in nearer)
    neighbour = max([*nearer, current]) if up else min([*nearer, current])
    assert max(found, neighbour) <= min(found, neighbour) * (1 + WIDTH) * 1.001

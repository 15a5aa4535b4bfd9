"""Payoffs, information loss and its weights, by hand (Wan et al. 2015, eqs. 1-4 and Table 3)."""

from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.core.errors import RequestError
from tasks.generalization.game.payoffs import InformationLoss, Payoffs, information_loss_weights
from tasks.generalization.game.problem import Problem, value_profiles
from tasks.generalization.kanonymity.classes import fold
from tasks.microdata.cube import DenseCube, Lattice
from tasks.microdata.hierarchy import hierarchy_from_rows
from tests.support.examples import examples

TABLE_2 = Payoffs(benefit=1200, loss=300, gain=300, cost=4)
AGE = hierarchy_from_rows("age", [["1", "1-2", "*"], ["2", "1-2", "*"], ["3", "3-4", "*"], ["4", "3-4", "*"]], "test")
SEX = hierarchy_from_rows("sex", [["M", "*"], ["F", "*"]], "test")


def test_payoffs_by_hand() -> None:
    people = np.array([1, 7, 74, 75, 76, 1000])
    assert TABLE_2.attacked(people).tolist() == [True, True, True, False, False, False]
    value = np.array([1200.0, 1000, 500, 500, 500, 0])
    np.testing.assert_allclose(TABLE_2.publisher(value, people), [900, 1000 - 300 / 7, 500 - 300 / 74, 500, 500, 0])
    np.testing.assert_allclose(TABLE_2.adversary(people), [296, 300 / 7 - 4, 300 / 74 - 4, 0, 0, 0])
    assert TABLE_2.safe_group == 75


def test_a_record_of_nobody_known_counts_as_one_person() -> None:
    nobody = np.array([0])
    assert TABLE_2.attacked(nobody).all()
    assert TABLE_2.publisher(np.array([1200.0]), nobody) == 900
    assert TABLE_2.adversary(nobody) == 296
    dear = Payoffs(benefit=100, loss=50, gain=8, cost=9)
    assert not dear.attacked(np.array([0, 1])).any()
    assert dear.adversary(nobody) == 0


def test_who_attacks_follows_from_the_gain_and_what_is_lost_from_the_loss() -> None:
    payoffs = Payoffs(benefit=100, loss=50, gain=8, cost=2)
    people = np.array([3, 4])
    assert payoffs.attacked(people).tolist() == [True, False]
    np.testing.assert_allclose(payoffs.publisher(np.array([100.0, 100.0]), people), [100 - 50 / 3, 100])
    np.testing.assert_allclose(payoffs.adversary(people), [8 / 3 - 2, 0])


@settings(deadline=None, max_examples=examples(100))
@given(cents=st.integers(1, 10_000), people=st.integers(2, 5000))
def test_a_tie_is_no_attack_whatever_decimals_the_stakes_have(cents: int, people: int) -> None:
    payoffs = Payoffs(benefit=1, loss=1, gain=cents * people / 100, cost=cents / 100)
    assert payoffs.attacked(np.array([people - 1, people, people + 1])).tolist() == [True, False, False]


def test_weight_presets() -> None:
    names, declared = ["age", "race", "Sex", "zip"], [2.0, 0.5, 3.0, 1.0]
    assert information_loss_weights("declared", names, declared).tolist() == declared
    assert information_loss_weights("printed", names, declared).tolist() == [1, 1, 1, 1]
    assert information_loss_weights("table7", names, declared).tolist() == [1, 1, 0, 1]
    assert information_loss_weights("table7", ["gender", "zip"], [1.0, 1.0]).tolist() == [0, 1]


def test_table7_needs_an_attribute_to_leave_out() -> None:
    with pytest.raises(RequestError, match="table7"):
        information_loss_weights("table7", ["age", "zip"], [1.0, 1.0])


def test_information_kept_by_hand() -> None:
    loss = InformationLoss((AGE, SEX), np.array([1.0, 0.5]))
    maximum = log(4) + 0.5 * log(2)
    assert loss.maximum == pytest.approx(maximum)
    leaf, pair, everything = 0, 4, 6
    cells = np.array([[leaf, 0], [pair, 0], [leaf, 2], [pair, 2], [everything, 2]], dtype=np.int32)
    lost = np.array([0, log(2), 0.5 * log(2), 1.5 * log(2), maximum])
    np.testing.assert_allclose(loss.kept(cells), 1 - lost / maximum, atol=1e-15)


def test_information_loss_counts_values_of_the_domain_not_of_the_data() -> None:
    cube = DenseCube(np.ones([7, 3], dtype=np.int32))
    problem = Problem((AGE, SEX), InformationLoss((AGE, SEX), np.ones(2)), TABLE_2, cube)
    value, _ = problem.evaluate(np.array([[0, 0]], dtype=np.int32), np.array([[1, 0]], dtype=np.int32))
    assert value[0] == pytest.approx(1200 * (1 - log(2) / log(8)))


@pytest.mark.parametrize("weights", [[0.0, 0.0], [0.0, 1.0]])
def test_without_a_weight_that_counts_there_is_no_game(weights: list[float]) -> None:
    alone = hierarchy_from_rows("only", [["x", "*"]], "test")
    with pytest.raises(RequestError, match="no quasi-identifier counts"):
        _ = InformationLoss((AGE, alone), np.array(weights)).maximum


def test_quasi_identifiers_of_one_value_are_named_and_no_weight_is_blamed() -> None:
    alone = hierarchy_from_rows("only", [["x", "*"]], "test")
    with pytest.raises(RequestError, match="single value") as caught:
        _ = InformationLoss((alone,), np.ones(1)).maximum
    assert (caught.value.got, "weight" in str(caught.value)) == ("one value in only", False)


def test_intensity_by_hand() -> None:
    lattice = Lattice((6, 4, 2, 6))
    assert len(lattice) == 288
    levels = np.array([[0, 0, 0, 0], [0, 3, 1, 0], [0, 0, 0, 2], [5, 3, 1, 5]], dtype=np.int32)
    np.testing.assert_allclose(lattice.intensity(levels), [0, 4 / 14, 2 / 14, 1])


def test_equal_groups_are_named_at_the_lowest_level() -> None:
    race = hierarchy_from_rows("race", [["White", "White", "*"], ["Black", "Other", "*"], ["Asian", "Other", "*"]], "t")
    problem = Problem((race,), InformationLoss((race,), np.ones(1)), TABLE_2, DenseCube(np.ones(6, dtype=np.int32)))
    white = race.positions[race.encode(["White"])[0]]
    assert race.axis_labels[white[1]] == "White"
    assert white[0] != white[1]
    np.testing.assert_array_equal(problem.canonical(white[:, None])[:, 0], [white[0], white[0], white[2]])


@settings(deadline=None, max_examples=examples(50))
@given(
    rows=st.integers(1, 4).flatmap(
        lambda width: st.lists(st.tuples(*[st.integers(0, 3)] * width), min_size=1, max_size=30)
    )
)
def test_fold_numbers_distinct_rows(rows: list[tuple[int, ...]]) -> None:
    number, members = fold(np.array(rows))
    assert sorted(rows[member] for member in members) == sorted(set(rows))
    assert [rows[members[profile]] for profile in number] == rows


def test_profiles_keep_apart_what_differs_in_value_or_floor() -> None:
    race = hierarchy_from_rows("race", [["White", "White", "*"], ["Black", "Other", "*"], ["Asian", "Other", "*"]], "t")
    problem = Problem((race,), InformationLoss((race,), np.ones(1)), TABLE_2, DenseCube(np.ones(6, dtype=np.int32)))
    codes = race.encode(["White", "Black", "Asian"])[:, None]
    profile, members = value_profiles(problem, codes, None)
    assert len(members) == 2
    assert profile[1] == profile[2] != profile[0]
    profile, members = value_profiles(problem, codes, np.array([[0], [0], [1]], dtype=np.int32))
    assert len(members) == len(set(profile)) == 3

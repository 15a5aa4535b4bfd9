"""The game on Adult-TN: figures of the method's reproduction of Wan et al. 2015, to the last digit stated there."""

import numpy as np
import pytest

from tasks.assessments.identity.outcome import policy_outcome, transparent_risk
from tasks.generalization.game.exact import GameRule, solve
from tasks.generalization.game.partition import partition
from tasks.generalization.game.payoffs import Payoffs
from tasks.generalization.generalize import generalize
from tasks.generalization.paper_searches import backward_induction, lattice_search
from tasks.microdata.cube import SparseCube, cells_at
from tasks.request.model import Method
from tests.reference.continued_search import continued_search
from tests.support import adult

WORKED = ("48", "Asian-Pac-Islander", "Female", "38363")


def worked_codes() -> np.ndarray:
    return np.array([[tree.encode([value])[0] for tree, value in zip(adult.table().hierarchies, WORKED, strict=True)]])


def worked_payoff(preset: str, levels: list[int]) -> tuple[float, int]:
    problem = adult.problem(preset)
    value, people = problem.evaluate(worked_codes(), np.array([levels], dtype=np.int32))
    return float(problem.payoffs.publisher(value, people)[0]), int(people[0])


def test_data_are_the_whole_of_adult() -> None:
    table = adult.table()
    assert table.data.total == 32_561
    assert table.population.total == 6_339_942
    assert len(adult.problem().lattice) == 288
    assert table.people.form == "dense"
    assert table.cube_cells == 235 * 11 * 3 * 757


def test_worked_example_is_best_without_race_and_sex() -> None:
    problem = adult.problem()
    nodes, payoffs = solve(problem, worked_codes())
    cell = cells_at(worked_codes(), problem.lattice.nodes[nodes], problem.hierarchies)[0]
    labels = [tree.axis_labels[position] for tree, position in zip(problem.hierarchies, cell, strict=True)]
    assert labels == ["48", "*", "*", "38363"]
    assert payoffs[0] == pytest.approx(1049.68, abs=0.005)


@pytest.mark.parametrize(
    ("preset", "levels", "payoff", "people", "digits"),
    [
        ("table7", [0, 3, 1, 0], 1049.68, 76, 2),
        ("table7", [0, 0, 0, 2], 776.30, 7, 2),
        ("printed", [0, 3, 1, 0], 995.9, 76, 1),
        ("printed", [0, 0, 0, 2], 795.8, 7, 1),
    ],
)
def test_worked_example_under_both_formulas(
    preset: str, levels: list[int], payoff: float, people: int, digits: int
) -> None:
    got, group = worked_payoff(preset, levels)
    assert round(got, digits) == payoff
    assert group == people


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        (Method.SAFE_HARBOR, (849.26, 0.43, 0.0, 0.1432, 2.77)),
        (Method.BASIC, (1195.29, 2.67, 62.74, 0.0278, 21.97)),
        (Method.SH_FRIENDLY, (849.57, 0.16, 0.0, 0.1452, 1.69)),
        (Method.NO_ATTACK, (1175.79, 0.0, 62.49, 0.0476, 0.0)),
    ],
)
def test_table_7(method: Method, expected: tuple[float, ...]) -> None:
    outcome = policy_outcome(adult.table(), adult.generalization(method), adult.PAYOFFS)
    figures = (
        round(outcome.publisher_payoff, 2),
        round(outcome.adversary_payoff, 2),
        round(100 * outcome.most_specific_share, 2),
        round(outcome.mean_generalization, 4),
        round(100 * outcome.naive_attacked_share, 2),
    )
    assert figures == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "cell_weights", "publisher", "attacked"),
    [
        (Method.NO_ATTACK_PARTITION, "population", 1146.82, 0.0),
        (Method.NO_ATTACK_PARTITION, "data", 1148.86, 0.0),
        (Method.BASIC_PARTITION, "population", 1194.53, 22.13),
        (Method.BASIC_PARTITION, "data", 1195.22, 22.05),
    ],
)
def test_partition_keeps_its_promise_to_an_informed_recipient(
    method: Method, cell_weights: str, publisher: float, attacked: float
) -> None:
    table, generalization = adult.table(), adult.generalization(method, cell_weights)
    outcome = policy_outcome(table, generalization, adult.PAYOFFS)
    assert round(outcome.publisher_payoff, 2) == publisher
    assert round(100 * outcome.transparent_attacked_share, 2) == attacked
    np.testing.assert_array_equal(generalization.effective, generalization.people)
    if method is Method.NO_ATTACK_PARTITION:
        assert generalization.people.min() == 75


def test_a_strategy_for_each_record_does_not() -> None:
    table = adult.table()
    basic = adult.generalization(Method.BASIC)
    risk = transparent_risk(basic.people, basic.effective, table.data.counts, adult.PAYOFFS)
    assert round(risk.naive_expected_reidentifications) == 385
    assert round(risk.expected_reidentifications, 1) == 598.8
    safe = adult.generalization(Method.NO_ATTACK)
    risk = transparent_risk(safe.people, safe.effective, table.data.counts, adult.PAYOFFS)
    assert risk.naive_expected_reidentifications == 0
    assert round(risk.expected_reidentifications, 1) == 287.0
    assert round(100 * risk.attacked_share, 2) == 11.48


def test_one_recoding_for_everybody_has_no_gap() -> None:
    generalization = adult.generalization(Method.SAFE_HARBOR)
    np.testing.assert_array_equal(generalization.effective, generalization.people)


def test_lattice_search_as_printed() -> None:
    problem, data = adult.problem(), adult.table().data
    nodes, _, searched = lattice_search(problem, data.codes)
    value, people = problem.evaluate(data.codes, problem.lattice.nodes[nodes])
    _, best = solve(problem, data.codes)
    optimal = problem.payoffs.publisher(value, people) >= best - 1e-9
    assert round(100 * data.counts @ optimal / data.total, 2) == 99.63
    assert round(data.counts @ searched / data.total, 2) == 4.17


def test_all_exact_searches_agree_on_a_sample_of_the_data() -> None:
    problem, codes = adult.problem(), adult.table().data.codes[::16]
    nodes, payoffs = solve(problem, codes)
    slow_nodes, slow_payoffs, _ = backward_induction(problem, codes)
    continued_nodes, continued_payoffs, _ = continued_search(problem, codes)
    np.testing.assert_array_equal(nodes, slow_nodes)
    np.testing.assert_array_equal(nodes, continued_nodes)
    np.testing.assert_allclose(payoffs, slow_payoffs, rtol=0, atol=1e-9)
    np.testing.assert_allclose(payoffs, continued_payoffs, rtol=0, atol=1e-9)


@pytest.mark.slow
def test_sparse_counts_solve_alike_on_a_sample_of_the_data() -> None:
    dense, table = adult.problem(), adult.table()
    codes = table.data.codes[::64]
    sparse = type(dense)(
        dense.hierarchies, dense.loss, dense.payoffs, SparseCube(table.population, table.population, table.hierarchies)
    )
    for rule in GameRule:
        np.testing.assert_array_equal(solve(dense, codes, rule)[0], solve(sparse, codes, rule)[0])
    with pytest.raises(TypeError):
        partition(dense, sparse.people, GameRule.BASIC)


def test_pooled_copies_of_two_recipients_give_finer_groups_away() -> None:
    table, insurer = adult.table(), Payoffs(benefit=1200, loss=300, gain=3000, cost=4)
    one = adult.generalization(Method.NO_ATTACK_PARTITION)
    other = generalize(table, Method.NO_ATTACK_PARTITION, insurer, adult.weights())
    assert (one.people.min(), other.people.min()) == (75, 750)
    both = cells_at(table.data.codes, np.minimum(one.levels, other.levels), table.hierarchies)
    people, records = table.people.count(both), table.data.counts
    assert round(100 * records[people < 75].sum() / table.data.total, 1) == 12.6
    assert records[people == 1].sum() == 10

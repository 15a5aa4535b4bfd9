"""The solvers of the plan by name: the case study's figures by each, their agreement, and the bounds on their work."""

from dataclasses import replace

import numpy as np
import pytest

from tasks.assessments.sequential import solvers
from tasks.assessments.sequential.solvers import SOLVERS, PlanSolution, solve_plans
from tasks.candidate.groups import Groups
from tests.support.adversary_profiles import CASE_STUDY, RISING

EACH = pytest.mark.parametrize("name", SOLVERS)


def groups(sizes: list[int], records: list[int], external: int = 60) -> Groups:
    candidates = np.array(sizes)
    return Groups(candidates, candidates / external, np.array(records), external)


def solved(profile: object, found: Groups, name: str) -> tuple[PlanSolution, PlanSolution]:
    known, unknown = solve_plans(profile, found, name)  # type: ignore[arg-type]
    assert (known.belief, unknown.belief) == ("known group", "unknown group")
    return known, unknown


@EACH
def test_the_case_study(name: str) -> None:
    # All candidates of 10 and of 47 are tried, nobody of 48; records of equal groups are solved once.
    known, unknown = solved(CASE_STUDY, groups([48, 10, 47, 10, 0], [7, 2, 3, 5, 9]), name)
    assert known.groups == known.solved == known.compared == 3
    assert known.records_share == 1
    assert known.expected_reidentifications == pytest.approx(0.63 * (2 + 3 + 5))
    for one in (known, unknown):
        assert one.value_difference <= 1e-6
        assert one.risk_difference <= 1e-10
    assert known.compared_with == ("two-level-lp" if name == "recursion" else "recursion")
    assert all(number > 0 for number in known.work.values())


@EACH
def test_partial_exploitation(name: str) -> None:
    # Fig. 8: of 20 candidates 7 are tried, of 30 none.
    known, _ = solved(RISING, groups([20, 30], [10, 10]), name)
    assert known.expected_reidentifications == pytest.approx(10 * 0.63 * 7 / 20)


@pytest.mark.parametrize(
    ("name", "limit", "bound"), [("two-level-lp", "MOST_VARIABLES", 100), ("value-iteration", "MOST_STATES", 100)]
)
def test_the_smallest_groups_are_solved_as_far_as_the_work_is_bounded(
    name: str, limit: str, bound: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(solvers, limit, bound)
    known, _ = solved(CASE_STUDY, groups([40, 2, 45], [1, 3, 4]), name)
    assert (known.groups, known.solved, known.compared) == (3, 1, 1)
    assert known.records_share == 3 / 8
    assert known.expected_reidentifications == pytest.approx(3 * 0.63)


@EACH
def test_nobody_is_listed(name: str) -> None:
    known, unknown = solved(CASE_STUDY, groups([0], [4]), name)
    for one in (known, unknown):
        assert (one.groups, one.solved, one.expected_reidentifications) == (0, 0, 0)


@EACH
def test_one_group_of_everybody(name: str) -> None:
    _, unknown = solved(replace(CASE_STUDY, access_cost=0.0), groups([30], [2], external=30), name)
    assert unknown.expected_reidentifications == pytest.approx(2 * 0.63)

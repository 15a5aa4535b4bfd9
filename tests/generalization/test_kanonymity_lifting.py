"""Local recoding releases suppressed records at more general nodes, keeps every constraint and is measured as it is."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings

from tasks.core.errors import ParameterError, StageFailed
from tasks.generalization.constraints.diversity import DistinctDiversity
from tasks.generalization.kanonymity.lifting import lift
from tasks.generalization.kanonymity.metrics import Metric
from tasks.generalization.kanonymity.optimum import search
from tasks.microdata.hierarchy import hierarchy_from_rows
from tests.support.adult_lattice import adult_lattice
from tests.support.examples import examples
from tests.support.lattice_cases import Case, cases

LETTERS = [[leaf + digit, leaf, "*"] for leaf in "abcd" for digit in "12"]


@settings(max_examples=examples(40), deadline=None)
@given(cases(limits=[0.3, 0.6, 1.0]))
def test_every_class_satisfies_every_constraint_and_the_loss_is_that_of_the_file(case: Case) -> None:
    codes, trees = case.codes, case.hierarchies
    for metric in Metric:
        try:
            found = search(codes, trees, case.k, case.limit, metric, constraints=case.constraints)
        except StageFailed:
            assert not case.allowed()
            continue
        lifted = lift(codes, trees, case.k, found, constraints=case.constraints)
        released = np.flatnonzero(~lifted.suppressed)
        groups = case.groups([tuple(row) for row in lifted.levels.tolist()], released.tolist())
        assert all(case.satisfied(cell, members) for cell, members in groups.items())
        numbers = [np.flatnonzero(lifted.classes == number).tolist() for number in range(len(lifted.class_sizes))]
        assert sorted(numbers) == sorted(groups.values())
        assert lifted.class_sizes.tolist() == [len(members) for members in numbers]
        assert lifted.value == pytest.approx(case.values(lifted.levels, lifted.suppressed)[metric], rel=1e-9, abs=1e-9)
        assert not (lifted.suppressed & ~found.suppressed).any()
        assert (lifted.levels[~found.suppressed] == found.levels).all()
        assert lifted.lifted_records == found.suppressed_records - np.count_nonzero(lifted.suppressed)
        values = [lifted.value_before, *(one.value for one in lifted.rounds)]
        assert values[0] == found.value
        assert values[-1] == lifted.value
        assert all(later < earlier for earlier, later in pairwise(values))


def test_rounds_worked_by_hand() -> None:
    """Thirty records share a leaf; of the other six, three share a letter and the rest nothing below the top."""
    tree = hierarchy_from_rows("q", LETTERS, "a test")
    values = ["d1"] * 30 + ["a1", "a1", "a2", "b1", "b2", "c1"]
    codes = tree.encode(values)[:, None]
    found = search(codes, [tree], 3, 0.2, "loss")
    assert (found.levels, found.suppressed_records) == ((0,), 6)
    assert found.value == pytest.approx(6 / 36)
    lifted = lift(codes, [tree], 3, found)
    # three records lose 1/7 in place of 1; at the top nothing is saved by Loss, so the others stay suppressed
    assert [(one.levels, one.records) for one in lifted.rounds] == [((1,), 3)]
    assert lifted.value == pytest.approx((3 / 7 + 3) / 36)
    assert lifted.suppressed.tolist() == [False] * 33 + [True] * 3
    assert lifted.levels[:, 0].tolist() == [0] * 30 + [1] * 3 + [2] * 3
    assert lifted.class_sizes[lifted.classes[:33]].tolist() == [30] * 30 + [3] * 3


def test_discernibility_lifts_to_the_top_what_shares_nothing_else() -> None:
    tree = hierarchy_from_rows("q", LETTERS, "a test")
    codes = tree.encode(["d1"] * 9 + ["a1", "b1", "c1"])[:, None]
    found = search(codes, [tree], 3, 0.4, "discernibility")
    assert found.value == 9**2 + 3 * 12
    lifted = lift(codes, [tree], 3, found)
    assert (lifted.value, lifted.lifted_records) == (9**2 + 3**2, 3)


def test_a_constraint_holds_back_what_k_alone_would_lift() -> None:
    tree = hierarchy_from_rows("q", LETTERS, "a test")
    codes = tree.encode(["d1"] * 9 + ["a1", "a1", "a2"])[:, None]
    sensitive = np.array([0, 1] * 4 + [0] + [1] * 3)
    diverse = [DistinctDiversity(sensitive, 2)]
    found = search(codes, [tree], 3, 0.4, "loss", constraints=diverse)
    assert found.suppressed_records == 3
    assert lift(codes, [tree], 3, found).lifted_records == 3
    assert lift(codes, [tree], 3, found, constraints=diverse).rounds == ()


def test_nothing_is_done_where_nothing_is_suppressed() -> None:
    tree = hierarchy_from_rows("q", LETTERS, "a test")
    codes = tree.encode(["a1", "a1"])[:, None]
    found = search(codes, [tree], 2, 0, "loss")
    lifted = lift(codes, [tree], 2, found)
    assert (lifted.rounds, lifted.value, lifted.suppressed.any()) == ((), found.value, False)


def test_adult_gets_nearly_all_records_back() -> None:
    trees, codes = adult_lattice()
    found = search(codes, trees, 5, 0.02, "loss")
    lifted = lift(codes, trees, 5, found)
    assert lifted.class_sizes.min() >= 5
    assert lifted.lifted_records >= 0.95 * found.suppressed_records
    assert lifted.value < found.value - 0.005


def test_another_file_is_refused() -> None:
    tree = hierarchy_from_rows("q", LETTERS, "a test")
    codes = tree.encode(["a1", "a1", "b1"])[:, None]
    found = search(codes, [tree], 2, 0.4, "loss")
    with pytest.raises(ParameterError, match="not of these records"):
        lift(codes[:2], [tree], 2, found)
    with pytest.raises(ParameterError, match="not of these records"):
        lift(codes, [tree], 2, replace(found, levels=(0, 0)))

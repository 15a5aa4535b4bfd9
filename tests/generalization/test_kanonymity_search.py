"""The search finds the optimum that evaluating every node finds, for every metric and constraint."""

import numpy as np
import pytest
from hypothesis import given, settings

from tasks.core.errors import ParameterError, StageFailed
from tasks.generalization.constraints.closeness import TCloseness
from tasks.generalization.constraints.diversity import EntropyDiversity
from tasks.generalization.constraints.k_map import KMap
from tasks.generalization.kanonymity import classes
from tasks.generalization.kanonymity.metrics import Metric
from tasks.generalization.kanonymity.optimum import search
from tasks.microdata.cube import DenseCube, dense_cube
from tasks.microdata.hierarchy import hierarchy_from_rows
from tests.support.adult_lattice import adult_lattice
from tests.support.examples import examples
from tests.support.lattice_cases import Case, cases
from tests.support.worlds import count_tuples

PAIRS = [["a1", "a", "*"], ["a2", "a", "*"], ["b1", "b", "*"], ["b2", "b", "*"]]
FLAG = [["n", "*"], ["y", "*"]]


def _search(case: Case, metric: str | Metric, **more: object):
    return search(case.codes, case.hierarchies, case.k, case.limit, metric, constraints=case.constraints, **more)


def _check_against_all_nodes(case: Case) -> None:
    allowed = case.allowed()
    for metric in Metric:
        if not allowed:
            with pytest.raises(StageFailed, match="within the suppression limit"):
                _search(case, metric)
            continue
        found = _search(case, metric)
        least = min(values[metric] for _, values in allowed.values())
        tied = [
            (out.sum(), levels)
            for levels, (out, values) in allowed.items()
            if values[metric] <= least + 1e-9 * max(1, least)
        ]
        out, values = allowed[found.levels]
        assert found.value == pytest.approx(least, rel=1e-9, abs=1e-9)
        assert found.value == pytest.approx(values[metric], rel=1e-9, abs=1e-9)
        assert found.levels == min(tied)[1] or min(tied)[0] == len(out)
        assert found.suppressed.tolist() == out.tolist()
        assert found.nodes_evaluated <= found.nodes_total == len(case.nodes())
        _check_classes(case, found.levels, found.classes, found.class_sizes, out)


def _check_classes(case: Case, levels: tuple[int, ...], of_record: np.ndarray, sizes: np.ndarray, out: np.ndarray):
    released = np.flatnonzero(~out)
    expected = case.groups([levels] * len(out), released.tolist()).values()
    by_number = [np.flatnonzero(of_record == number).tolist() for number in range(len(sizes))]
    assert sorted(by_number) == sorted(expected)
    assert sizes.tolist() == [len(members) for members in by_number]
    assert (of_record[out] == -1).all()


@pytest.mark.slow
@settings(max_examples=examples(30), deadline=None)
@given(cases())
def test_the_optimum_is_that_of_all_nodes(case: Case) -> None:
    _check_against_all_nodes(case)


@pytest.mark.slow
@settings(max_examples=examples(15), deadline=None)
@given(case=cases())
def test_counting_by_hash_with_little_kept_finds_the_same(case: Case) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(classes, "_CELLS_A_ROW", 0)
        patch.setattr(classes, "_CELLS_AT_LEAST", 0)
        patch.setattr(classes, "_ROWS_KEPT", 10)
        _check_against_all_nodes(case)


def _small() -> tuple[np.ndarray, tuple]:
    """Six records a1n ×2, a2n ×2, b1n, b2y over two attributes."""
    trees = (hierarchy_from_rows("q", PAIRS, "a test"), hierarchy_from_rows("f", FLAG, "a test"))
    q, f = trees[0].encode(["a1", "a1", "a2", "a2", "b1", "b2"]), trees[1].encode(["n", "n", "n", "n", "n", "y"])
    return np.column_stack([q, f]), trees


def test_every_metric_of_a_table_worked_by_hand() -> None:
    codes, trees = _small()
    found = {metric: search(codes, trees, 2, 0.34, metric) for metric in Metric}
    # 2² + 2² + 2 · 6 at the leaves is no less than 4² + 2² with nothing suppressed, and of ties that is taken
    squares = found.pop(Metric.DISCERNIBILITY)
    assert (squares.value, squares.levels, squares.suppressed_records) == (20, (1, 1), 0)
    assert all(one.levels == (0, 0) and one.suppressed.tolist() == [False] * 4 + [True] * 2 for one in found.values())
    assert all(one.class_sizes.tolist() == [2, 2] for one in found.values())
    # two of six records withheld
    assert found[Metric.PRECISION].value == pytest.approx(1 / 3)
    assert found[Metric.LOSS].value == pytest.approx(1 / 3)
    q = 2 * np.log2(6) / (4 * np.log2(3) + 2 * np.log2(6))
    f = (np.log2(6 / 5) + np.log2(6)) / (5 * np.log2(6 / 5) + np.log2(6))
    assert found[Metric.NON_UNIFORM_ENTROPY].value == pytest.approx((q + f) / 2)


def test_the_limit_counts_records_and_a_record_more_changes_the_optimum() -> None:
    codes, trees = _small()
    assert search(codes, trees, 2, 2 / 6, "loss").suppressed_records == 2
    # One record withheld at (2, 0): x is 1 and 1/6.
    one = search(codes, trees, 2, 1 / 6, "loss")
    assert (one.levels, one.suppressed.tolist()) == ((2, 0), [False] * 5 + [True])
    assert one.value == pytest.approx((2 * 7 / 6) ** 0.5 - 1)
    # None at (1, 1): x is 1/3 and 1.
    none = search(codes, trees, 2, 0.16, "loss")
    assert (none.levels, none.suppressed_records) == ((1, 1), 0)
    assert none.value == pytest.approx((4 / 3 * 2) ** 0.5 - 1)


def test_a_more_general_node_may_suppress_more_under_entropy_diversity() -> None:
    tree = hierarchy_from_rows("q", FLAG, "a test")
    codes = tree.encode(["n", "n", "y", "y", "y", "y", "y"])[:, None]
    diverse = [EntropyDiversity(np.array([0, 1, 0, 0, 0, 0, 0]), 2)]
    found = search(codes, [tree], 1, 0.75, "loss", constraints=diverse)
    assert (found.levels, found.suppressed.tolist()) == ((0,), [False] * 2 + [True] * 5)
    with pytest.raises(StageFailed, match="within the suppression limit"):
        search(codes, [tree], 1, 0.7, "loss", constraints=diverse)


def test_k_map_counts_people_where_records_are_few() -> None:
    tree = hierarchy_from_rows("q", PAIRS, "a test")
    people = dense_cube(count_tuples({("a1",): 9, ("a2",): 1, ("b1",): 3, ("b2",): 3}, [tree]), [tree])
    codes = tree.encode(["a1", "a2", "b1"])[:, None]
    found = search(codes, [tree], 1, 0, "precision", constraints=[KMap(people, 3)])
    assert found.levels == (1,)
    assert search(codes, [tree], 1, 0.34, "precision", constraints=[KMap(people, 3)]).suppressed.tolist() == [
        False,
        True,
        False,
    ]


def test_closeness_of_ordered_values_is_less_than_of_values_as_such() -> None:
    """A class of code 1 alone against 0, 1, 2 in equal parts: 2/3 to move, but each over half of the range only."""
    tree = hierarchy_from_rows("q", FLAG, "a test")
    codes, sensitive = tree.encode(["n", "y", "y"])[:, None], np.array([1, 0, 2])
    ordered = search(codes, [tree], 1, 0, "loss", constraints=[TCloseness(sensitive, 0.34, ordered=True)])
    assert ordered.levels == (0,)
    assert search(codes, [tree], 1, 0, "loss", constraints=[TCloseness(sensitive, 0.66)]).levels == (1,)
    assert search(codes, [tree], 1, 0, "loss", constraints=[TCloseness(sensitive, 2 / 3)]).levels == (0,)


def test_the_whole_file_may_be_suppressed_only_where_that_is_allowed() -> None:
    codes, trees = _small()
    unlike = [TCloseness(np.array([0, 1, 2, 3, 4, 5]), 0.0), EntropyDiversity(np.zeros(6, dtype=int), 2)]
    found = search(codes, trees, 2, 1, "loss", constraints=unlike)
    assert found.suppressed.all()
    assert found.value == pytest.approx(1)
    assert len(found.class_sizes) == 0
    with pytest.raises(StageFailed):
        search(codes, trees, 2, 0.9, "loss", constraints=unlike)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("metric", "levels", "value", "suppressed"),
    [
        ("precision", (4, 0, 0, 0, 3, 1, 0, 2), 0.4466568032633821, 491),
        ("non-uniform entropy", (4, 0, 0, 1, 2, 2, 0, 1), 0.4728078486025494, 453),
        ("discernibility", (0, 0, 1, 2, 3, 2, 2, 1), 8_125_181, 135),
        ("loss", (3, 0, 0, 1, 2, 1, 1, 2), 0.30690584215123917, 543),
    ],
)
def test_adult_with_eight_attributes(metric: str, levels: tuple[int, ...], value: float, suppressed: int) -> None:
    """The optima of evaluating all 6,480 nodes, as the benchmark does."""
    trees, codes = adult_lattice()
    found = search(codes, trees, 5, 0.02, metric)
    assert (found.levels, found.suppressed_records, found.nodes_total) == (levels, suppressed, 6480)
    assert found.value == pytest.approx(value, rel=1e-12)
    assert found.class_sizes.min() >= 5
    assert found.class_sizes.sum() == len(codes) - suppressed
    assert found.nodes_evaluated < 1000


def _people_of_one_attribute() -> DenseCube:
    tree = hierarchy_from_rows("q", PAIRS, "a test")
    return dense_cube(count_tuples({("a1",): 1}, [tree]), [tree])


def _refusals() -> list[tuple[dict[str, object], str]]:
    codes, trees = _small()
    sensitive = np.zeros(6, dtype=int)
    return [
        ({"codes": codes[:, :1]}, "do not fit the hierarchies"),
        ({"codes": codes.astype(float)}, "do not fit the hierarchies"),
        ({"codes": codes[:0]}, "do not fit the hierarchies"),
        ({"codes": codes + 3}, "outside its hierarchy"),
        ({"codes": codes - 1}, "outside its hierarchy"),
        ({"k": 0}, "cannot be used"),
        ({"k": 2.0}, "cannot be used"),
        ({"k": True}, "cannot be used"),
        ({"k": 7}, "larger than the file"),
        ({"suppression_limit": -0.1}, "outside its range"),
        ({"suppression_limit": 2}, "outside its range"),
        ({"suppression_limit": float("nan")}, "outside its range"),
        ({"metric": "height"}, "no such metric"),
        ({"constraints": [TCloseness(sensitive[:5], 0.1)]}, "do not fit the records"),
        ({"constraints": [TCloseness(sensitive - 1, 0.1)]}, "do not fit the records"),
        ({"constraints": [TCloseness(sensitive + 0.5, 0.1)]}, "do not fit the records"),
        ({"constraints": [TCloseness(sensitive + 2**40, 0.1)]}, "too large"),
        ({"constraints": [KMap(_people_of_one_attribute(), 2)]}, "not counted over the same hierarchies"),
        ({"codes": np.zeros((6, 25), dtype=int), "hierarchies": trees[1:] * 25}, "more nodes than can be searched"),
    ]


@pytest.mark.parametrize(("change", "message"), _refusals())
def test_what_cannot_be_searched_is_refused(change: dict[str, object], message: str) -> None:
    codes, trees = _small()
    given = {"codes": codes, "hierarchies": trees, "k": 2, "suppression_limit": 0.1, "metric": "loss"} | change
    with pytest.raises(ParameterError, match=message):
        search(**given)

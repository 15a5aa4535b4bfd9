"""What generalization loses: by hand, by plain loops over records, and by what must hold for any file."""

import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.assessments.utility.generalization_loss import Released, generalization_loss, released
from tasks.candidate.released import released_tuples
from tasks.core.errors import ParameterError
from tasks.generalization.game import Payoffs
from tasks.generalization.play import play
from tasks.generalization.setting import game_table
from tasks.microdata.hierarchy import Hierarchy, hierarchy_from_rows
from tasks.request.model import Method
from tests.support.examples import examples
from tests.support.tiny import changed, tiny_prepared, tiny_request

PAIR = hierarchy_from_rows("a", [["a1", "*"], ["a2", "*"]], "a")
FOUR = hierarchy_from_rows("b", [["b1", "b12", "*"], ["b2", "b12", "*"], ["b3", "b34", "*"], ["b4", "b34", "*"]], "b")
NINE = hierarchy_from_rows("c", [[str(leaf), f"under {leaf // 3 * 3 + 3}", "*"] for leaf in range(9)], "c")
HALVES = hierarchy_from_rows(
    "c", [[str(leaf), f"pair {leaf // 2}", f"half {leaf // 3}", "all"] for leaf in range(6)], "c", levels_may_cross=True
)
LONE = hierarchy_from_rows("one", [["only", "*"]], "one")


def released_at(
    trees: list[Hierarchy], leaves: list[list[int]], levels: list[list[int]], records: list[int], kept: list[bool]
) -> Released:
    """Tuples released each at its own levels, equal groups at equal positions."""
    codes = np.array(leaves, dtype=np.int32)
    cells = np.column_stack(
        [tree.finest[tree.positions[codes[:, i], np.array(levels)[:, i]]] for i, tree in enumerate(trees)]
    )
    return Released(
        names=tuple(tree.name for tree in trees),
        groupings=tuple(tree.positions for tree in trees),
        leaves=codes,
        cells=cells,
        records=np.array(records),
        kept=np.array(kept),
    )


BY_HAND = released_at([PAIR, FOUR], [[0, 0], [0, 1], [1, 2]], [[0, 1], [0, 1], [0, 0]], [2, 1, 1], [True, True, False])
"""Four records: (a1, b1) twice and (a1, b2), released as (a1, b12); (a2, b3), left out."""


def test_by_hand() -> None:
    found = generalization_loss(BY_HAND, minimum_class_size=2)
    first, second = found.attributes
    assert (first.name, second.name) == ("a", "b")
    assert (first.loss, second.loss) == (0.25, 0.5)
    assert first.non_uniform_entropy == pytest.approx(2 / (3 * math.log2(4 / 3) + 2))
    assert second.non_uniform_entropy == pytest.approx((2 * math.log2(1.5) + math.log2(3) + 2) / 6)
    assert (first.certainty_penalty, second.certainty_penalty) == (0.25, 0.625)
    assert found.loss == pytest.approx(math.sqrt(1.25 * 1.5) - 1)
    assert (found.mean_loss, found.certainty_penalty) == (0.375, 0.4375)
    assert (found.discernibility.value, found.discernibility.least, found.discernibility.most) == (13, 6, 16)
    assert found.discernibility.share == 0.7
    assert (found.class_size.value, found.class_size.most, found.class_size_over_minimum) == (2, 4, 1)
    assert found.class_size.least == pytest.approx(4 / 3)
    assert found.class_size.share == pytest.approx(0.25)
    assert (found.classes, found.records, found.suppressed_records) == (1, 4, 1)


def test_weights_count_in_the_weighted_means_only() -> None:
    even, heavy = generalization_loss(BY_HAND), generalization_loss(BY_HAND, weights=[3, 1])
    assert heavy.mean_loss == pytest.approx((3 * 0.25 + 0.5) / 4)
    assert heavy.certainty_penalty == pytest.approx((3 * 0.25 + 0.625) / 4)
    assert heavy.loss == even.loss
    assert heavy.attributes == even.attributes


def test_as_much_as_de_waal_and_willenborg_lose_when_all_are_recoded_alike() -> None:
    file = released_at([FOUR], [[0], [1], [2], [3]], [[1]] * 4, [1, 3, 2, 2], [True] * 4)
    lost = math.log2(4 / 1) + 3 * math.log2(4 / 3) + 4 * math.log2(4 / 2)
    full = math.log2(8 / 1) + 3 * math.log2(8 / 3) + 4 * math.log2(8 / 2)
    assert generalization_loss(file).non_uniform_entropy == pytest.approx(lost / full)


def test_an_attribute_with_one_value_has_no_figures_and_no_part_in_the_means() -> None:
    file = released_at([LONE, PAIR], [[0, 0], [0, 1]], [[1, 1], [0, 0]], [1, 1], [True, True])
    found = generalization_loss(file)
    lone = found.attributes[0]
    assert (lone.loss, lone.non_uniform_entropy, lone.certainty_penalty) == (None, None, None)
    assert (found.loss, found.mean_loss, found.certainty_penalty) == (0.5, 0.5, 0.5)
    alone = generalization_loss(released_at([LONE], [[0]], [[0]], [5], [True]))
    assert (alone.loss, alone.mean_loss, alone.non_uniform_entropy, alone.certainty_penalty) == (None,) * 4
    assert (alone.discernibility.share, alone.class_size.share) == (None, None)


def test_a_file_whose_records_are_all_alike_has_no_entropy_to_lose() -> None:
    found = generalization_loss(released_at([FOUR], [[2]], [[1]], [7], [True]))
    assert (found.non_uniform_entropy, found.loss) == (None, pytest.approx(1 / 3))


def _by_record(file: Released) -> dict[str, list[float] | float]:
    """Every measure from the records one by one, with sets of leaves."""
    records = [row for row, count in enumerate(file.records.tolist()) for _ in range(count)]
    n, losses, penalties, entropies = len(records), [], [], []
    for axis, grouping in enumerate(file.groupings):
        domain = set(range(len(grouping)))
        groups = []
        for row in records:
            cell = file.cells[row, axis]
            group = {leaf for leaf in domain if cell in grouping[leaf]}
            groups.append(group if file.kept[row] else domain)
        values = [int(file.leaves[row, axis]) for row in records]
        losses.append(sum(len(group) - 1 for group in groups) / n / (len(domain) - 1))
        penalties.append(sum(len(group) / len(domain) for group in groups if len(group) > 1) / n)
        lost = [
            -math.log2(values.count(v) / sum(other in g for other in values))
            for v, g in zip(values, groups, strict=True)
        ]
        full = [-math.log2(values.count(v) / n) for v in values]
        entropies.append(sum(lost) / sum(full) if sum(full) > 0 else math.nan)
    sizes = Counter(tuple(file.cells[row]) for row in records if file.kept[row])
    suppressed = sum(not file.kept[row] for row in records)
    return {
        "loss": losses,
        "penalty": penalties,
        "entropy": entropies,
        "discernibility": float(sum(size**2 for size in sizes.values()) + suppressed * n),
        "average": n / (len(sizes) + (suppressed > 0)),
    }


def _same_as_by_record(file: Released) -> None:
    found, slow = generalization_loss(file), _by_record(file)
    assert [attribute.loss for attribute in found.attributes] == pytest.approx(slow["loss"])
    assert [attribute.certainty_penalty for attribute in found.attributes] == pytest.approx(slow["penalty"])
    entropies = [math.nan if a.non_uniform_entropy is None else a.non_uniform_entropy for a in found.attributes]
    assert entropies == pytest.approx(slow["entropy"], nan_ok=True, abs=1e-12)
    assert found.discernibility.value == slow["discernibility"]
    assert found.class_size.value == pytest.approx(slow["average"])


@st.composite
def _files(draw: st.DrawFn, trees: tuple[Hierarchy, ...] = (FOUR, NINE)) -> Released:
    leaf = st.tuples(*(st.integers(0, tree.n_leaves - 1) for tree in trees))
    leaves = draw(st.lists(leaf, min_size=1, max_size=8, unique=True))
    level = st.tuples(*(st.integers(0, tree.n_levels - 1) for tree in trees))
    many = len(leaves)
    return released_at(
        list(trees),
        [list(one) for one in leaves],
        [list(draw(level)) for _ in range(many)],
        draw(st.lists(st.integers(1, 4), min_size=many, max_size=many)),
        draw(st.lists(st.booleans(), min_size=many, max_size=many)),
    )


@settings(deadline=None, max_examples=examples(60))
@given(file=st.one_of(_files(), _files((FOUR, HALVES))))
def test_as_plain_loops_over_records(file: Released) -> None:
    _same_as_by_record(file)


def _figures(file: Released) -> list[float]:
    found = generalization_loss(file)
    figures = [found.loss, found.mean_loss, found.certainty_penalty, found.non_uniform_entropy]
    return [0.0 if figure is None else figure for figure in figures]


@settings(deadline=None, max_examples=examples(60))
@given(file=_files(), data=st.data())
def test_generalizing_or_leaving_out_one_more_tuple_never_lowers_a_loss(file: Released, data: st.DataObject) -> None:
    row, axis = data.draw(st.integers(0, len(file.records) - 1)), data.draw(st.integers(0, 1))
    tree = (FOUR, NINE)[axis]
    level = int(tree.axis_levels[file.cells[row, axis]])
    cells, kept = file.cells.copy(), file.kept.copy()
    if data.draw(st.booleans()) and level + 1 < tree.n_levels:
        cells[row, axis] = tree.positions[file.leaves[row, axis], level + 1]
    else:
        kept[row] = False
    for before, after in zip(_figures(file), _figures(replace(file, cells=cells, kept=kept)), strict=True):
        assert after >= before - 1e-12
        assert -1e-12 <= before <= 1 + 1e-12


@settings(deadline=None, max_examples=examples(40))
@given(file=_files())
def test_nothing_is_lost_as_collected_and_everything_when_all_is_left_out(file: Released) -> None:
    as_collected = np.column_stack([tree.positions[file.leaves[:, i], 0] for i, tree in enumerate((FOUR, NINE))])
    raw = generalization_loss(replace(file, cells=as_collected, kept=np.ones_like(file.kept)))
    assert (raw.loss, raw.mean_loss, raw.certainty_penalty) == (0, 0, 0)
    assert raw.non_uniform_entropy in (0, None)
    assert raw.discernibility.value == raw.discernibility.least
    assert raw.class_size.value == raw.class_size.least
    nothing = generalization_loss(replace(file, kept=np.zeros_like(file.kept)))
    assert nothing.loss == pytest.approx(1)
    assert (nothing.mean_loss, nothing.certainty_penalty) == (1, 1)
    assert nothing.non_uniform_entropy in (1, None)
    assert (nothing.discernibility.value, nothing.class_size.value) == (
        nothing.discernibility.most,
        nothing.class_size.most,
    )


@settings(deadline=None, max_examples=examples(40))
@given(file=_files(), data=st.data())
def test_merging_classes_never_lowers_discernibility_or_class_size(file: Released, data: st.DataObject) -> None:
    levels = [data.draw(st.integers(0, 2)), data.draw(st.integers(0, 2))]
    found = []
    for raised in (levels, [min(level + 1, 2) for level in levels]):
        cells = np.column_stack([tree.positions[file.leaves[:, i], raised[i]] for i, tree in enumerate((FOUR, NINE))])
        found.append(generalization_loss(replace(file, cells=cells, kept=np.ones_like(file.kept))))
    assert found[1].discernibility.value >= found[0].discernibility.value
    assert found[1].class_size.value >= found[0].class_size.value


@pytest.mark.parametrize("method", [Method.SAFE_HARBOR, Method.BASIC, Method.COMMON])
def test_a_generalization_file_with_safe_harbors_own_groups(method: Method, tmp_path: Path) -> None:
    loaded = tiny_request(tmp_path, changed("policy", "generalization", "minimum_class_size", to=1))
    table = game_table(loaded.request, tiny_prepared(loaded))
    played = play(table, method, Payoffs(benefit=90, loss=60, gain=60, cost=10), np.ones(3))
    kept = released_tuples(table, played, 1)
    kept[0] = False
    _same_as_by_record(released(table, played, kept))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cells": np.array([[1, 4], [0, 4], [1, 2]])}, "does not hold it"),
        ({"leaves": np.array([[0, 0], [0, 1], [1, 9]])}, "does not hold it"),
        ({"records": np.array([2, 0, 1])}, "counts cannot be used"),
        ({"records": np.array([2, 1])}, "does not fit"),
        ({"kept": np.array([1, 1, 0])}, "what is kept"),
        ({"groupings": (PAIR.positions,)}, "does not fit"),
    ],
)
def test_a_file_that_does_not_fit_its_original_is_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        generalization_loss(replace(BY_HAND, **change))  # type: ignore[arg-type]


@pytest.mark.parametrize("weights", [[1], [0, 0], [-1, 2], [math.nan, 1], [math.inf, 1]])
def test_weights_that_cannot_be_used_are_refused(weights: list[float]) -> None:
    with pytest.raises(ParameterError, match="weights"):
        generalization_loss(BY_HAND, weights=weights)


def test_a_class_size_below_one_is_refused() -> None:
    with pytest.raises(ParameterError, match="minimum class size"):
        generalization_loss(BY_HAND, minimum_class_size=0)

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
from tasks.candidate.groups import released_tuples
from tasks.generalization.game.payoffs import Payoffs
from tasks.generalization.generalize import generalize
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
    loss = generalization_loss(BY_HAND)
    found = loss.file
    first, second = loss.attributes
    assert (first.name, second.name) == ("a", "b")
    assert (first.loss, second.loss) == (0.25, 0.5)
    assert first.entropy == pytest.approx(2 / (3 * math.log2(4 / 3) + 2))
    assert second.entropy == pytest.approx((2 * math.log2(1.5) + math.log2(3) + 2) / 6)
    assert (first.certainty_penalty, second.certainty_penalty) == (0.25, 0.625)
    assert found.loss == pytest.approx(math.sqrt(1.25 * 1.5) - 1)
    assert found.certainty_penalty == 0.4375
    assert (found.discernibility, found.discernibility_share) == (13, 0.7)
    assert found.average_class_size == 2
    assert found.original_class_size == pytest.approx(4 / 3)
    assert (loss.records, loss.suppressed) == (4, 1)


def test_weights_count_in_the_weighted_means_only() -> None:
    even, heavy = generalization_loss(BY_HAND), generalization_loss(BY_HAND, weights=np.array([3.0, 1.0]))
    assert heavy.file.certainty_penalty == pytest.approx((3 * 0.25 + 0.625) / 4)
    assert heavy.file.loss == even.file.loss
    assert heavy.attributes == even.attributes


def test_as_much_as_de_waal_and_willenborg_lose_when_all_are_recoded_alike() -> None:
    file = released_at([FOUR], [[0], [1], [2], [3]], [[1]] * 4, [1, 3, 2, 2], [True] * 4)
    lost = math.log2(4 / 1) + 3 * math.log2(4 / 3) + 4 * math.log2(4 / 2)
    full = math.log2(8 / 1) + 3 * math.log2(8 / 3) + 4 * math.log2(8 / 2)
    assert generalization_loss(file).file.entropy == pytest.approx(lost / full)


def test_an_attribute_with_one_value_has_no_figures_and_no_part_in_the_means() -> None:
    file = released_at([LONE, PAIR], [[0, 0], [0, 1]], [[1, 1], [0, 0]], [1, 1], [True, True])
    found = generalization_loss(file)
    lone = found.attributes[0]
    assert (lone.loss, lone.entropy, lone.certainty_penalty) == (None, None, None)
    assert (found.file.loss, found.file.certainty_penalty) == (0.5, 0.5)
    alone = generalization_loss(released_at([LONE], [[0]], [[0]], [5], [True])).file
    assert (alone.loss, alone.certainty_penalty, alone.entropy, alone.discernibility_share) == (0, 0, 0, None)


def test_a_file_whose_records_are_all_alike_has_no_entropy_to_lose() -> None:
    found = generalization_loss(released_at([FOUR], [[2]], [[1]], [7], [True]))
    assert (found.attributes[0].entropy, found.file.loss) == (None, pytest.approx(1 / 3))


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
    entropies = [math.nan if a.entropy is None else a.entropy for a in found.attributes]
    assert entropies == pytest.approx(slow["entropy"], nan_ok=True, abs=1e-12)
    assert found.file.discernibility == slow["discernibility"]
    assert found.file.average_class_size == pytest.approx(slow["average"])


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
    found = generalization_loss(file).file
    return [found.loss, found.certainty_penalty, found.entropy]


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
    raw = generalization_loss(replace(file, cells=as_collected, kept=np.ones_like(file.kept))).file
    assert (raw.loss, raw.certainty_penalty, raw.entropy) == (0, 0, 0)
    assert raw.discernibility_share in (0, None)
    assert raw.average_class_size == raw.original_class_size
    nothing = generalization_loss(replace(file, kept=np.zeros_like(file.kept))).file
    assert (nothing.loss, nothing.certainty_penalty) == (pytest.approx(1), 1)
    assert nothing.entropy in (1, 0)
    assert nothing.discernibility_share in (1, None)
    assert nothing.average_class_size == file.records.sum()


@settings(deadline=None, max_examples=examples(40))
@given(file=_files(), data=st.data())
def test_merging_classes_never_lowers_discernibility_or_class_size(file: Released, data: st.DataObject) -> None:
    levels = [data.draw(st.integers(0, 2)), data.draw(st.integers(0, 2))]
    found = []
    for raised in (levels, [min(level + 1, 2) for level in levels]):
        cells = np.column_stack([tree.positions[file.leaves[:, i], raised[i]] for i, tree in enumerate((FOUR, NINE))])
        found.append(generalization_loss(replace(file, cells=cells, kept=np.ones_like(file.kept))).file)
    assert found[1].discernibility >= found[0].discernibility
    assert found[1].average_class_size >= found[0].average_class_size


@pytest.mark.parametrize("method", [Method.SAFE_HARBOR, Method.BASIC, Method.COMMON])
def test_a_generalization_file_with_safe_harbors_own_groups(method: Method, tmp_path: Path) -> None:
    loaded = tiny_request(tmp_path, changed("policy", "generalization", "minimum_class_size", to=1))
    table = game_table(loaded.request, tiny_prepared(loaded))
    generalization = generalize(table, method, Payoffs(benefit=90, loss=60, gain=60, cost=10), np.ones(3))
    kept = released_tuples(table, generalization, 1)
    kept[0] = False
    _same_as_by_record(released(table, generalization, kept))

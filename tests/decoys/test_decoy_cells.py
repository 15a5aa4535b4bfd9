"""Candidates by hand, and against sets of labels counted one by one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.core.errors import ParameterError
from tasks.decoys.classes import ClassTable
from tasks.decoys.decoy_cells import DecoyCells, RiskBand, find_decoy_cells
from tasks.decoys.linked_release import LinkedRelease
from tasks.microdata.hierarchy import hierarchy_from_rows
from tasks.microdata.tuples import Tuples
from tests.support.examples import examples
from tests.support.recoded import recoded_alike, recoded_by_class
from tests.support.worlds import People, World, count_tuples, worlds

PAIR = hierarchy_from_rows("a", [["a0", "*"], ["a1", "*"]], "a")
NINE = hierarchy_from_rows("c", [[f"c{leaf}", f"third {leaf // 3}", "*"] for leaf in range(9)], "c")
TREES = (PAIR, NINE)
PEOPLE = {
    ("a0", "c0"): 4, ("a0", "c1"): 6, ("a0", "c3"): 6, ("a0", "c6"): 1, ("a0", "c8"): 3,
    ("a1", "c0"): 3, ("a1", "c4"): 2, ("a1", "c7"): 8,
}  # fmt: skip
RECORDS = {("a0", "c0"): 2, ("a0", "c1"): 1, ("a0", "c3"): 2, ("a1", "c0"): 1}


def by_hand(minimum: int = 2, listed: People | None = None) -> LinkedRelease:
    """Six cells of people 10, 6, 4 and 3, 2, 8; records 3, 2, 0 and 1, 0, 0: the single record is suppressed."""
    population = count_tuples(PEOPLE, TREES)
    register = None
    if listed is not None:
        register = np.zeros(len(population), dtype=np.int64)
        named = count_tuples(listed, TREES)
        register[population.find(named.keys)] = named.counts
    return recoded_alike(count_tuples(RECORDS, TREES), population, TREES, (0, 1), minimum=minimum, listed=register)


def labels(found: DecoyCells | ClassTable) -> list[tuple[str, ...]]:
    return [tuple(tree.axis_labels[place] for tree, place in zip(TREES, cell, strict=True)) for cell in found.cells]


def test_by_hand() -> None:
    release = by_hand()
    assert release.classes.records.tolist() == [3, 2]
    assert release.classes.people.tolist() == [10, 6]
    found = find_decoy_cells(release, 2)
    assert found.least_linked == 6
    assert labels(found) == [("a0", "third 2"), ("a1", "third 1"), ("a1", "third 2")]
    assert found.people.tolist() == found.pool.tolist() == [4, 2, 8]
    assert found.in_band(RiskBand(0.75, 1.5)).tolist() == [True, False, True]


def test_a_suppressed_record_keeps_its_cell_from_being_a_decoys() -> None:
    assert ("a1", "third 0") not in labels(find_decoy_cells(by_hand(), 2))


def test_a_larger_minimum_leaves_fewer_candidates() -> None:
    assert find_decoy_cells(by_hand(), 3).people.tolist() == [4, 8]
    assert len(find_decoy_cells(by_hand(), 9)) == 0


def test_with_a_register_only_those_listed_can_be_decoys() -> None:
    listed = {("a0", "c0"): 4, ("a0", "c6"): 1, ("a0", "c8"): 1, ("a1", "c4"): 1, ("a1", "c7"): 5}
    found = find_decoy_cells(by_hand(listed=listed), 2)
    assert (found.people.tolist(), found.pool.tolist()) == ([4, 8], [2, 5])
    assert np.exp(found.release.seen(found.cells)[:, -1]).tolist() == pytest.approx([3, 6])
    assert found.least_linked == 6


def test_classes_that_nobody_matches_do_not_count_in_the_least() -> None:
    records = RECORDS | {("a0", "c5"): 2, ("a1", "c8"): 2}
    people = {value: count for value, count in PEOPLE.items() if value not in {("a0", "c3"), ("a1", "c7")}}
    release = recoded_alike(count_tuples(records, TREES), count_tuples(people, TREES), TREES, (0, 1), minimum=2)
    found = find_decoy_cells(release, 2)
    assert release.classes.people.tolist() == [10, 0, 0]
    assert found.least_linked == 10


def test_a_population_that_matches_no_class_is_refused() -> None:
    outside, people = count_tuples({("a1", "c8"): 3}, TREES), count_tuples({("a0", "c0"): 9}, TREES)
    with pytest.raises(ParameterError, match="nobody in the population matches"):
        find_decoy_cells(recoded_alike(outside, people, TREES, (0, 1), minimum=1), 1)


def test_nothing_is_shown_of_a_release_or_its_candidates() -> None:
    release = by_hand()
    shown = repr(find_decoy_cells(release, 2)) + repr(release) + repr(release.classes)
    assert "array" not in shown


Cell = tuple[frozenset[str], ...]


class ByLabels:
    """A world's release with each value generalized by levels of its own, in sets of labels."""

    def __init__(self, world: World, levels: dict[tuple[str, ...], tuple[int, ...]], minimum: int) -> None:
        self.world, self.levels = world, levels
        self.own = {value: self.cell(value) for value in world.all_values}
        sizes: dict[Cell, int] = {}
        for value, count in world.records.items():
            sizes[self.own[value]] = sizes.get(self.own[value], 0) + count
        self.released = {cell: size for cell, size in sizes.items() if size >= minimum}

    def cell(self, value: tuple[str, ...]) -> Cell:
        groups = []
        for rows, leaf, level in zip(self.world.rows, value, self.levels[value], strict=True):
            above = next(row[level] for row in rows if row[0] == leaf)
            groups.append(frozenset(row[0] for row in rows if row[level] == above))
        return tuple(groups)

    @staticmethod
    def inside(value: tuple[str, ...], cell: Cell) -> bool:
        return all(leaf in group for leaf, group in zip(value, cell, strict=True))

    def count(self, counts: People, cell: Cell) -> int:
        return sum(count for value, count in counts.items() if self.inside(value, cell))

    def candidates(self, minimum: int) -> dict[Cell, tuple[int, int]]:
        pool: dict[Cell, int] = {}
        for value, count in self.world.people.items():
            if not any(self.inside(value, cell) for cell in self.released):
                pool[self.own[value]] = pool.get(self.own[value], 0) + count
        found = {}
        for cell, size in pool.items():
            if size >= minimum and not self.count(self.world.records, cell):
                found[cell] = (self.count(self.world.people, cell), size)
        return found

    def release(self, *, overlapping: bool) -> LinkedRelease:
        trees = self.world.hierarchies
        data, population = (self.world.tuples(counts) for counts in (self.world.records, self.world.people))
        cells, own = self._positions(data), self._positions(population)
        kept = np.array([self.named(cell) in self.released for cell in cells])
        return recoded_by_class(data, population, trees, cells=cells, kept=kept, own=own, overlapping=overlapping)

    def _positions(self, tuples: Tuples) -> np.ndarray:
        trees = self.world.hierarchies
        rows = []
        for codes in tuples.codes:
            value = tuple(tree.labels[0][code] for tree, code in zip(trees, codes, strict=True))
            places = zip(trees, codes, self.levels[value], strict=True)
            rows.append([tree.finest[tree.positions[code, level]] for tree, code, level in places])
        return np.array(rows, dtype=np.int32).reshape(len(tuples), len(trees))

    def named(self, cell: np.ndarray) -> Cell:
        groups = []
        for tree, place in zip(self.world.hierarchies, cell, strict=True):
            members = tree.positions[:, tree.axis_levels[place]] == place
            groups.append(frozenset(np.array(tree.labels[0])[members]))
        return tuple(groups)


@st.composite
def generalized(draw: st.DrawFn, *, alike: bool) -> tuple[ByLabels, int]:
    world = draw(worlds(max_attributes=2))
    heights = [len(rows[0]) for rows in world.rows]
    node = st.tuples(*(st.integers(0, height - 1) for height in heights))
    minimum = draw(st.integers(1, 4))
    if alike:
        levels = draw(node)
        return ByLabels(world, dict.fromkeys(world.all_values, levels), minimum), minimum
    return ByLabels(world, {value: draw(node) for value in world.all_values}, minimum), minimum


def _agree(case: ByLabels, release: LinkedRelease, minimum: int) -> None:
    classes = release.classes
    released = {case.named(cell): size for cell, size in zip(classes.cells, classes.records.tolist(), strict=True)}
    assert released == case.released
    people = {case.named(cell): count for cell, count in zip(classes.cells, classes.people.tolist(), strict=True)}
    assert people == {cell: case.count(case.world.people, cell) for cell in case.released}
    if not any(people.values()):
        with pytest.raises(ParameterError):
            find_decoy_cells(release, minimum)
        return
    found = find_decoy_cells(release, minimum)
    assert found.least_linked == min(count for count in people.values() if count)
    columns = (found.people, found.pool)
    rows = zip(found.cells, *(column.tolist() for column in columns), strict=True)
    assert {case.named(cell): tuple(counts) for cell, *counts in rows} == case.candidates(minimum)


@pytest.mark.slow
@settings(max_examples=examples(20), deadline=None)
@given(generalized(alike=True))
def test_recoded_alike_agrees_with_labels_counted_one_by_one(case: tuple[ByLabels, int]) -> None:
    by_labels, minimum = case
    if not by_labels.released:
        return
    world = by_labels.world
    levels = next(iter(by_labels.levels.values()))
    data, people = world.tuples(world.records), world.tuples(world.people)
    _agree(by_labels, recoded_alike(data, people, world.hierarchies, levels, minimum=minimum), minimum)
    _agree(by_labels, by_labels.release(overlapping=False), minimum)
    _agree(by_labels, by_labels.release(overlapping=True), minimum)


@settings(max_examples=examples(40), deadline=None)
@given(generalized(alike=False))
def test_overlapping_cells_agree_with_labels_counted_one_by_one(case: tuple[ByLabels, int]) -> None:
    by_labels, minimum = case
    if by_labels.released:
        _agree(by_labels, by_labels.release(overlapping=True), minimum)

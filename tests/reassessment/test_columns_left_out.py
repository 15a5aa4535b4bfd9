"""Columns that an earlier copy has and a later one leaves out: whole ones count as absent, others by its population."""

from dataclasses import replace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.delivery.kept import Kept
from tasks.generalization.game.count_index import Generalization
from tasks.microdata.hierarchy import MISSING, Codes, hierarchy_from_rows, with_leaf_apart
from tasks.microdata.tuples import distinct_tuples
from tasks.reassessment.pooling import LaidCopy, PooledCells, by_more_attributes, copy_of, laid_together, without_whole
from tasks.reassessment.population import TodaysPopulation
from tasks.reassessment.scoring import Delivered
from tasks.request.model import Method
from tests.support.examples import examples

AGE = hierarchy_from_rows("age", [[str(age), "young" if age < 2 else "old", "*"] for age in range(4)], "age")
SEX = hierarchy_from_rows("sex", [["F", "*"], ["M", "*"]], "sex")
ZIP = hierarchy_from_rows("zip", [["1", "near", "*"], ["2", "near", "*"], ["3", "far", "*"]], "zip")
TREES = {tree.name: tree for tree in (AGE, SEX, ZIP)}
ALL = list(TREES)
TOP = ZIP.axis_length - 1


def kept_of(people: Codes, counts: np.ndarray, own: Codes, names: list[bytes], counted: np.ndarray | None) -> Kept:
    """What is kept of a copy that gives combinations of values these cells, of age, sex and zip."""
    population, _ = distinct_tuples(people, [AGE, SEX, ZIP], counts)
    cells, none = own[:0], np.empty(0)
    made = Generalization(
        *(Method.NO_ATTACK, cells, cells, none, none.astype(int), none.astype(int)), own=own, counted=counted
    )
    labels = tuple(tree.axis_labels for tree in TREES.values())
    named, grouped = np.array(names, dtype="S16"), tuple(tree.groups[:, -1] for tree in TREES.values())
    return Kept(b"", TREES, labels, grouped, population, made, none.astype(bool), named, None)


def ground_of(kept: Kept, names: list[str]) -> TodaysPopulation:
    """The population of a copy, by some of the attributes."""
    trees = {name: TREES[name] for name in names}
    axes = [list(TREES).index(name) for name in names]
    people, _ = distinct_tuples(kept.population.codes[:, axes], list(trees.values()), kept.population.counts)
    return TodaysPopulation(trees, people, None, {}, 0)


def delivered_of(kept: Kept, cells: Codes) -> Delivered:
    """The file with these cells, by record; its rows are shuffled as rows of a delivered file are."""
    seed = bytes(16)
    order = np.random.Generator(np.random.PCG64(0)).permutation(len(cells))
    rows = [",".join(f'"{kept.axis_labels[axis][one]}"' for axis, one in enumerate(row)) for row in cells[order]]
    source = pa.py_buffer("\n".join(['"age","sex","zip"', *rows, ""]).encode())
    return Delivered(cast("Any", None), kept, source, (), seed, cast("Any", None))


def lines(found: PooledCells) -> list[tuple[int, ...]]:
    """Figures of each record, sorted."""
    assert found.listed is not None
    held = zip(found.records, found.people, found.effective, found.listed, strict=True)
    return sorted(tuple(map(int, one)) for one in held for _ in range(int(one[0])))


def other_copy(ground: TodaysPopulation, tuples: Codes, names: np.ndarray, groups: list[np.ndarray]) -> LaidCopy:
    """A copy of age and sex in any groups, which may cross those of the other."""
    members = {axis: np.array([group == number for number in range(2)]) for axis, group in enumerate(groups)}
    codes = ground.population.codes
    own, cells = (
        np.column_stack([group[one[:, axis]] for axis, group in enumerate(groups)]) for one in (codes, tuples)
    )
    return LaidCopy(members, cells.astype(np.int32), names, own.astype(np.int32))


def drawn(seed: int) -> tuple[np.random.Generator, Codes, np.ndarray]:
    """Combinations of values of a population, and people of each."""
    draws = np.random.default_rng(seed)
    people = np.unique(np.column_stack([draws.integers(0, n, size=20) for n in (4, 2, 3)]), axis=0).astype(np.int32)
    return draws, people, draws.integers(1, 9, size=len(people))


def both_ways(draws: np.random.Generator, kept: Kept, own: Codes, grounds: list[TodaysPopulation]) -> list[list[Any]]:
    """Figures of the records of a copy and another of age and sex, on some populations."""
    people = kept.population.codes
    tuples = draws.integers(0, len(people), size=len(kept.people))
    delivered, groups = delivered_of(kept, own[tuples]), [draws.integers(0, 2, size=size) for size in (4, 2)]
    held = np.flatnonzero(draws.random(len(tuples)) < 0.7)
    found = []
    for ground in grounds:
        copies = [copy_of(delivered, ground), other_copy(ground, people[tuples[held]], kept.people[held], groups)]
        assert set(copies[0].members) == set(range(len(ground.hierarchies)))
        codes, counts = ground.population.codes, ground.population.counts
        orders = (copies, copies[::-1]) if len(held) else (copies,)
        found.append([lines(laid_together(order, codes, counts, counts)) for order in orders])
    return found


NAMES = [f"person {number}".encode() for number in range(12)]


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_groups_are_the_same_with_a_whole_column_and_without_it(seed: int) -> None:
    """The same two copies, of a population that has the column and of one that lacks it: the figures of each record."""
    draws, people, counts = drawn(seed)
    levels = draws.integers(0, (3, 2), size=(4, 2, 2))[people[:, 0], people[:, 1]]
    whole = np.full(len(people), TOP)
    own = np.column_stack(
        [AGE.positions[people[:, 0], levels[:, 0]], SEX.positions[people[:, 1], levels[:, 1]], whole]
    ).astype(np.int32)
    kept = kept_of(people, counts, own, NAMES, (draws.random((4, 2)) < 0.8)[people[:, 0], people[:, 1]])
    with_it, without = both_ways(draws, kept, own, [ground_of(kept, names) for names in (ALL, ["age", "sex"])])
    assert with_it == without


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_people_are_told_apart_by_a_column_that_only_the_earlier_copy_has(seed: int) -> None:
    """Any rule, and the earlier copy's population by the attributes of both: as if it had been asked for these."""
    draws, people, counts = drawn(seed)
    levels = draws.integers(0, (3, 2, 3), size=people.shape)
    own = np.column_stack(
        [tree.positions[people[:, axis], levels[:, axis]] for axis, tree in enumerate(TREES.values())]
    ).astype(np.int32)
    kept = kept_of(people, counts, own, NAMES, draws.random(len(people)) < 0.8)
    wider = by_more_attributes(ground_of(kept, ["sex", "age"]), kept)
    assert list(wider.hierarchies) == ["sex", "age", "zip"]
    asked = ground_of(kept, ["age", "sex"])
    asked, wider = (by_more_attributes(asked, kept), ground_of(kept, ALL))
    by_copy, by_request = both_ways(draws, kept, own, [asked, wider])
    assert by_copy == by_request


FOUR = np.array([[0, 0, 0], [0, 0, 2], [3, 0, 0], [3, 0, 2]], dtype=np.int32)
"""Ages 0 and 3 in areas 1 and 3, of one sex."""
COUNTS = np.array([6, 4, 5, 7])
BY_AGE = np.array([[AGE.positions[code, 1], SEX.axis_length - 1, TOP] for code in (0, 0, 3, 3)], dtype=np.int32)
"""Young or old, and nothing else."""


def test_people_of_all_areas_are_counted_together() -> None:
    """6 + 4 are young and 5 + 7 old, in whatever area; one record of each age."""
    kept = kept_of(FOUR, COUNTS, BY_AGE, [b"a", b"b"], None)
    ground = ground_of(kept, ["age"])
    laid = copy_of(delivered_of(kept, BY_AGE[[1, 2]]), ground)
    found = laid_together([laid], ground.population.codes, ground.population.counts)
    assert sorted(zip(found.people, found.effective, strict=True)) == [(10, 10), (12, 12)]
    assert set(laid.members) == {0}


def changed(place: int, axis: int, position: int) -> Codes:
    """The rule by age with another cell for one combination."""
    own = BY_AGE.copy()
    own[place, axis] = position
    return own


@pytest.mark.parametrize(
    ("own", "rows", "stay"),
    [
        (BY_AGE, changed(0, 2, ZIP.positions[0, 0]), ("zip",)),
        (BY_AGE, changed(0, 2, ZIP.positions[0, 1]), ("zip",)),
        (changed(3, 2, ZIP.positions[2, 1]), BY_AGE, ("zip",)),
        (changed(0, 0, AGE.axis_length - 1), BY_AGE, ("sex", "zip")),
        (np.column_stack([BY_AGE[:, :2], np.full(4, ZIP.positions[0, 1])]), BY_AGE, ("zip",)),
    ],
    ids=["a row has a value", "a row has a group", "the rule has a group", "ages by area", "never the whole"],
)
def test_a_column_that_tells_anybody_apart_stays(own: Codes, rows: Codes, stay: tuple[str, ...]) -> None:
    """“Ages by area”: the young of one area leave without their age, so that an age shows who is elsewhere."""
    kept = kept_of(FOUR, COUNTS, own.astype(np.int32), [b"a"], None)
    assert without_whole(kept, rows, {"sex", "zip"}) == (kept, rows, stay)


def test_who_is_left_out_of_the_file_counts_as_part_of_the_rule() -> None:
    """The young of one area are suppressed, so that a young record shows that somebody is of the other."""
    counted = np.array([False, True, True, True])
    kept = kept_of(FOUR, COUNTS, BY_AGE, [b"a"], counted)
    assert without_whole(kept, BY_AGE, {"zip"})[2] == ("zip",)
    alike = kept_of(FOUR, COUNTS, BY_AGE, [b"a"], np.array([False, False, True, True]))
    left, _, stay = without_whole(alike, BY_AGE, {"zip"})
    assert (stay, left.generalization.counted is not None) == ((), True)
    assert np.asarray(left.generalization.counted).tolist() == [False, True]


def test_nothing_is_left_of_a_copy_without_any_column() -> None:
    whole = np.array([[tree.axis_length - 1 for tree in TREES.values()]] * 4, dtype=np.int32)
    kept = kept_of(FOUR, COUNTS, whole, [b"a"], None)
    assert without_whole(kept, whole, set(TREES))[2] == ("age", "sex", "zip")
    ruleless = replace(kept, generalization=replace(kept.generalization, own=None))
    assert without_whole(ruleless, whole, {"zip"})[2] == ("zip",)


def test_a_population_by_more_attributes_has_the_people_of_the_earlier_copy() -> None:
    kept = kept_of(FOUR, COUNTS, BY_AGE, [b"a"], None)
    wider = by_more_attributes(ground_of(kept, ["age"]), kept)
    assert list(wider.hierarchies) == ALL
    assert (wider.population.codes.tolist(), wider.population.counts.tolist()) == (FOUR.tolist(), COUNTS.tolist())
    assert by_more_attributes(wider, kept) is wider


@pytest.mark.parametrize("case", ["other people", "other values", "a value lacking", "another column", "a register"])
def test_other_people_are_not_taken_for_those_of_the_earlier_copy(case: str) -> None:
    kept = kept_of(FOUR, COUNTS, BY_AGE, [b"a"], None)
    ground = ground_of(kept, ["age"])
    if case == "other people":
        kept = kept_of(FOUR, COUNTS + np.array([0, 0, 0, 1]), BY_AGE, [b"a"], None)
    if case == "other values":
        ages = hierarchy_from_rows("age", [["0", "*"], ["1", "*"], ["2", "*"]], "age")
        ground = replace(ground, hierarchies={"age": ages})
    if case == "a value lacking":
        kept = replace(kept, hierarchies=TREES | {"zip": with_leaf_apart(ZIP, MISSING)})
    if case == "another column":
        people, _ = distinct_tuples(FOUR[:, [0, 1]], [AGE, SEX], COUNTS)
        ground = replace(ground, hierarchies={"age": AGE, "race": replace(SEX, name="race")}, population=people)
    if case == "a register":
        ground = replace(ground, register=cast("Any", object()))
    assert by_more_attributes(ground, kept) is ground

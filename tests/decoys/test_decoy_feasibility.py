"""The room for decoys by hand, and against the candidates that are found one release at a time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.core.errors import ParameterError
from tasks.decoys.candidates import RiskBand, close_to_minimum, find_candidates
from tasks.decoys.feasibility import Counted, Setting, counted, feasibility_table, room_at
from tasks.microdata.cube import SparseCube, dense_cube
from tasks.microdata.hierarchy import hierarchy_from_rows
from tasks.microdata.tuples import Tuples
from tests.support.examples import examples
from tests.support.recoded import recoded_alike
from tests.support.worlds import World, count_tuples, worlds

TREES = (
    hierarchy_from_rows("a", [["a0", "*"], ["a1", "*"]], "a"),
    hierarchy_from_rows("c", [[f"c{leaf}", f"third {leaf // 3}", "*"] for leaf in range(9)], "c"),
)
DATA = count_tuples({("a0", "c0"): 3, ("a0", "c3"): 2, ("a1", "c0"): 1}, TREES)
POPULATION = count_tuples(
    {("a0", "c0"): 10, ("a0", "c3"): 6, ("a0", "c6"): 4, ("a1", "c0"): 3, ("a1", "c4"): 2, ("a1", "c7"): 8}, TREES
)
WIDE = RiskBand(1e-6, 1e6)


def counts(data: Tuples, population: Tuples, trees: tuple, *, dense: bool) -> Counted:
    if dense:
        return counted(data, population, trees, dense_cube(data, trees), dense_cube(population, trees))
    cubes = (SparseCube(part, population, trees) for part in (data, population))
    return counted(data, population, trees, *cubes)


@pytest.mark.parametrize("dense", [True, False])
def test_by_hand(dense: bool) -> None:
    room = room_at(counts(DATA, POPULATION, TREES, dense=dense), (0, 1), 2, RiskBand(0.75, 1.5))
    assert (room.classes, room.close_to_minimum, room.least_linked) == (2, 2, 6)
    assert (room.suppressed_records, room.records, room.suppressed_share) == (1, 6, 1 / 6)
    assert (room.published, room.published_people) == (3, 9)
    assert (room.riskier, room.riskier_people) == (2, 6)
    assert (room.in_band, room.in_band_people) == (2, 12)
    assert [room.recipients(each) for each in (1, 2, 3)] == [2, 1, 0]


def test_the_table_has_a_row_for_each_setting() -> None:
    settings_ = [Setting(2, 0.2, (0, 1)), Setting(2, 0.1, (0, 1)), Setting(1, 0.0, (1, 2))]
    rows = feasibility_table(counts(DATA, POPULATION, TREES, dense=True), settings_, WIDE)
    assert [row.setting for row in rows] == settings_
    assert [row.within_limit for row in rows] == [True, False, True]
    assert [row.room.in_band for row in rows] == [3, 3, 0]


def test_a_release_of_nothing_has_no_room() -> None:
    room = room_at(counts(DATA, POPULATION, TREES, dense=True), (0, 1), 9, WIDE)
    assert (room.classes, room.least_linked, room.riskier, room.published, room.in_band) == (0, None, 0, 0, 0)
    assert room.suppressed_share == 1


def test_wrong_parameters_are_refused() -> None:
    cells = counts(DATA, POPULATION, TREES, dense=True)
    with pytest.raises(ParameterError, match="levels do not fit"):
        room_at(cells, (0, 9), 2, WIDE)
    with pytest.raises(ParameterError, match="minimum class size"):
        room_at(cells, (0, 1), 0, WIDE)
    with pytest.raises(ParameterError, match="number of decoy classes"):
        room_at(cells, (0, 1), 2, WIDE).recipients(0)
    nobody = Tuples(DATA.codes[:0], DATA.counts[:0], DATA.keys[:0])
    with pytest.raises(ParameterError, match="nothing to find decoys for"):
        counts(nobody, POPULATION, TREES, dense=True)


@settings(max_examples=examples(40), deadline=None)
@given(worlds(max_attributes=2), st.integers(1, 4), st.data())
def test_room_is_what_the_candidates_of_the_release_are(world: World, minimum: int, data: st.DataObject) -> None:
    trees = world.hierarchies
    levels = tuple(data.draw(st.integers(0, tree.n_levels - 1)) for tree in trees)
    records, people = world.tuples(world.records), world.tuples(world.people)
    band = RiskBand(0.5, 2)
    room = room_at(counts(records, people, trees, dense=True), levels, minimum, band)
    assert room == room_at(counts(records, people, trees, dense=False), levels, minimum, band)
    release = recoded_alike(records, people, trees, levels, minimum=minimum)
    assert room.suppressed_records == records.counts[~release.kept].sum()
    if room.least_linked is None:
        assert not release.kept.any() or not release.classes.people.any()
        return
    strict, loose = (find_candidates(release, minimum, strict=strict) for strict in (True, False))
    assert room.least_linked == strict.least_linked
    assert room.classes == len(release.classes)
    assert room.close_to_minimum == close_to_minimum(release.classes.sizes, minimum)
    assert (room.riskier, room.riskier_people) == (strict.riskier.sum(), strict.people[strict.riskier].sum())
    assert (room.published, room.published_people) == (loose.riskier.sum(), loose.people[loose.riskier].sum())
    assert room.in_band == np.count_nonzero(strict.in_band(band))

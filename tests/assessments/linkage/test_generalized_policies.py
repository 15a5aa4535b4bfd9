"""Every policy under linkage: where preimages are whole cells there is no gap; on Adult-TN the others have one."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tasks.assessments.linkage.generalized import own_cell_linkage
from tasks.assessments.linkage.problem.generalized_files import (
    generalized_files,
    index_groups,
    leaf_numbers,
    people_matching,
)
from tasks.core.errors import StageFailed
from tasks.generalization.game.count_index import CountIndex, Generalization
from tasks.generalization.game.safe_harbor import safe_harbor_axis
from tasks.generalization.game.transparency import cell_numbers
from tasks.generalization.game.zip3 import zip_table
from tasks.generalization.generalize import generalize, population_cells
from tasks.generalization.suppression import suppressed
from tasks.request.model import Method, SafeHarborRule
from tests.reference.partial_linkage import partial_linkage, played_release, policy_cells, whole_linkage
from tests.reference.sampled_persons import sampled_persons
from tests.support import adult
from tests.support.examples import examples
from tests.support.worlds import WITHOUT_TERMS, World, worlds

WHOLE_CELLS = (Method.SAFE_HARBOR, Method.COMMON, Method.BASIC_PARTITION, Method.NO_ATTACK_PARTITION)


def played_world(world: World, method: Method, cell_weights: str) -> tuple[CountIndex, Generalization]:
    trees = world.hierarchies
    axes = tuple(safe_harbor_axis(tree, SafeHarborRule.NONE, zip_table()) for tree in trees)
    table = CountIndex(trees, axes, world.tuples(world.records), world.tuples(world.people), 2**20)
    try:
        return table, generalize(table, method, world.payoffs, np.array(world.weights), cell_weights)
    except StageFailed:
        assume(False)
        raise


@settings(deadline=None, max_examples=examples(40))
@given(world=worlds(), method=st.sampled_from(WHOLE_CELLS), cell_weights=st.sampled_from(["population", "data"]))
def test_where_preimages_are_whole_cells_knowing_the_rule_gains_nothing(
    world: World, method: Method, cell_weights: str
) -> None:
    table, generalization = played_world(world, method, cell_weights)
    found = whole_linkage(table, generalization)
    np.testing.assert_array_equal(generalization.people, generalization.effective)
    assert found.matching == found.likely == found.own_cell


@settings(deadline=None, max_examples=examples(40))
@given(world=worlds(), method=st.sampled_from(WITHOUT_TERMS), cell_weights=st.sampled_from(["population", "data"]))
def test_who_knows_the_rule_knows_the_cells_of_the_population(world: World, method: Method, cell_weights: str) -> None:
    table, generalization = played_world(world, method, cell_weights)
    kept = ~suppressed(cell_numbers(generalization.cells, table.axis_sizes), table.data.counts, 2)
    assume(kept.any())
    found = whole_linkage(table, generalization, kept)
    assert found.own_cell.n == table.data.counts[kept].sum()
    assert found.own_cell.single_candidates == found.own_cell.certain_matches
    cells = population_cells(table, method, world.payoffs, np.array(world.weights), cell_weights)
    place = table.population.find(table.data.keys)
    np.testing.assert_array_equal(cells[place[place >= 0]], generalization.cells[place >= 0])


@pytest.mark.slow
@settings(deadline=None, max_examples=examples(20))
@given(world=worlds())
def test_whoever_knows_the_rule_of_remainder_classes_links_one_record_of_each(world: World) -> None:
    """A prosecutor's file: each person of it points to all its records of their class and to no others."""
    table, generalization = played_world(world, Method.NO_ATTACK_REMAINDER, "population")
    records: dict[tuple[int, ...], int] = {}
    for cell, count in zip(map(tuple, generalization.cells.tolist()), table.data.counts.tolist(), strict=True):
        records[cell] = records.get(cell, 0) + count
    found = whole_linkage(table, generalization).own_cell
    assert found.expected_correct == pytest.approx(len(records))
    assert found.single_candidates == found.certain_matches == sum(count == 1 for count in records.values())
    assert found.n == sum(records.values())


@pytest.mark.slow
@pytest.mark.parametrize("method", WHOLE_CELLS)
def test_adult_under_policies_of_whole_cells_has_no_gap(method: Method) -> None:
    found = whole_linkage(adult.table(), adult.generalization(method))
    assert found.matching == found.likely == found.own_cell
    assert found.closest.expected_correct <= found.own_cell.expected_correct


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "gap", "smallest", "percent"),
    [
        (Method.BASIC, 996, (2, 1), (32.53, 61.23, 61.62, 61.63)),
        (Method.NO_ATTACK, 3741, (75, 1), (35.01, 57.03, 58.85, 59.47)),
        (Method.SH_FRIENDLY, 73, (3, 1), (9.53, 11.43, 11.46, 11.46)),
    ],
)
def test_adult_under_a_strategy_for_each_record_has_one(
    method: Method, gap: int, smallest: tuple[int, int], percent: tuple[float, ...]
) -> None:
    found = whole_linkage(adult.table(), adult.generalization(method))
    attacks = (found.closest, found.matching, found.likely, found.own_cell)
    generalization, counts = adult.generalization(method), adult.table().data.counts
    assert counts[generalization.effective < generalization.people].sum() == gap
    assert (generalization.people.min(), generalization.effective.min()) == smallest
    assert tuple(round(100 * attack.share_correct, 2) for attack in attacks) == percent
    assert found.matching.certain_matches < found.own_cell.certain_matches
    assert all(attack.proves_something for attack in attacks)


def test_a_sample_of_adult_tells_what_all_of_it_does() -> None:
    table, generalization = adult.table(), adult.generalization(Method.NO_ATTACK)
    persons = sampled_persons(played_release(table, generalization), 2000, np.random.default_rng(1))
    everybody = whole_linkage(table, generalization)
    sample = whole_linkage(table, generalization, persons=persons)
    assert sample.own_cell.n == 2000
    for name in ("closest", "matching", "likely", "own_cell"):
        low, high = getattr(sample, name).interval
        assert low < getattr(everybody, name).share_correct < high


@pytest.mark.slow
def test_partial_knowledge_of_adult() -> None:
    table, generalization = adult.table(), adult.generalization(Method.NO_ATTACK)
    population = policy_cells(table, Method.NO_ATTACK, adult.PAYOFFS, adult.weights())
    release = played_release(table, generalization)
    names = ("closest", "matching", "likely", "own_cell", "likeliest_own_cell")
    found = partial_linkage(release, Method.NO_ATTACK, population, [0, 3])
    percent = [round(100 * getattr(found, name).share_correct, 2) for name in names]
    assert percent == [36.34, 38.84, 41.17, 40.44, 41.39]
    full = partial_linkage(release, Method.NO_ATTACK, population, [0, 1, 2, 3])
    whole = whole_linkage(table, generalization)
    assert full.own_cell == full.likeliest_own_cell == whole.own_cell
    assert (full.closest, full.matching, full.likely) == (whole.closest, whole.matching, whole.likely)
    assert own_cell_linkage(generalized_files(release)) == full.own_cell


def test_people_are_counted_as_the_cube_counts_them() -> None:
    table, generalization = adult.table(), adult.generalization(Method.BASIC)
    counted = people_matching(
        index_groups(table), generalization.cells, table.population.codes, table.population.counts
    )
    np.testing.assert_array_equal(counted, generalization.people)


def test_ages_can_be_compared_as_amounts() -> None:
    table, generalization = adult.table(), adult.generalization(Method.NO_ATTACK)
    groups = index_groups(table, [leaf_numbers(table.hierarchies[0]), None, None, None])
    release = played_release(table, generalization, groups=groups)
    assert release.axis_sizes == table.axis_sizes
    assert groups[0].numbers is not None
    assert groups[3].numbers is None

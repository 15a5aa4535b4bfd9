"""Cells that could have become a decoy: counted by hand, and against every cell compared one by one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.decoys import chances
from tasks.decoys.chances import Comparable, DecoyChances, at_least, raked
from tasks.decoys.classes import joined, lineages
from tasks.decoys.manifest import DecoyManifest, Holder
from tasks.decoys.origins import Origins, Placed
from tasks.microdata.cube import cells_at
from tasks.microdata.tuples import distinct_tuples
from tests.reference.cells_within import encloses
from tests.support.decoy_tables import table, tree
from tests.support.decoy_world import world
from tests.support.examples import examples

TREE = tree("value", 2, 5)
"""25 leaves at positions 0 to 24, five groups at 25 to 29, the top at 30."""
AXES = lineages([TREE])


def cells(positions):
    return np.array(positions, dtype=np.int32).reshape(-1, 1)


def placed(classes):
    return Placed(classes, np.zeros(len(classes), dtype=np.intp))


def counted(n_cells, n_hit):
    """Too few real classes to weigh cells by."""
    return Comparable(n_cells, n_hit, min(1.0, n_hit / n_cells))


def made(people, real, decoys, owners, hit):
    population, _ = distinct_tuples(cells(range(25)), [TREE], np.array(people))
    held = [
        [position for position, one in zip(decoys, owners, strict=True) if one == owner]
        for owner in sorted(set(owners))
    ]
    tables = [table([[position] for position in own], [4] * len(own), [10] * len(own)) for own in held]
    return DecoyChances(manifest(*tables), Origins(AXES), placed(cells(real)), cells(hit), population)


def manifest(*tables):
    """Each holder's decoys; what it keeps has no say here."""
    return DecoyManifest("digest", 1, (), tuple(Holder(str(n), 0, own, own) for n, own in enumerate(tables)))


class TestByHand:
    def test_what_counts(self):
        """Of 25 leaves ten are real, one is another's decoy, one the recipient's other: thirteen and it, in h one."""
        found = made([10] * 25, range(10), [10, 11, 12], [0, 0, 1], [10, 12])
        assert found.beside(0) == counted(13, 1)
        assert found.beside(1) == counted(13, 1)
        assert found.beside(2) == counted(13, 1)

    def test_a_general_tuple_hits_all_that_it_holds(self):
        """Group 29 is leaves 20 to 24."""
        assert made([10] * 25, range(10), [20], [0], [29]).beside(0) == counted(15, 5)

    def test_cells_are_of_the_decoys_level(self):
        """Groups of five: 25 and 26 hold real leaves, 27 to 29 do not; the leaf 22 lies in the last."""
        assert made([10] * 25, range(10), [28], [0], [22]).beside(0) == counted(3, 1)

    def test_real_people_in_any_part_bar_a_cell(self):
        """Leaf 12 is real, so group 27 is none that could be drawn; so is leaf 4 of the real group 25."""
        assert made([10] * 25, [*range(5, 10), 12, 25], [28], [0], [28]).beside(0) == counted(2, 1)
        assert made([10] * 25, [25], [10], [0], [10]).beside(0) == counted(20, 1)

    def test_a_decoy_where_somebody_real_has_come_to_lie_still_counts(self):
        """As the only one: no other cell has a group that a real class has."""
        assert made([10] * 25, range(11), [10], [0], []).beside(0) == counted(1, 0)

    def test_cells_hold_about_as_many_people(self, monkeypatch):
        """Leaf 10 holds 12: 8 to 18 are within a factor of 1.5, 0 and 100 within none."""
        monkeypatch.setattr(chances, "ENOUGH", 3)
        people = [10] * 10 + [12, 7, 8, 18, 19, 0, 100, 5, 27, 28, *[100] * 5]
        found = made(people, range(10), [10], [0], range(10, 25))
        assert found.beside(0) == counted(3, 3)

    @pytest.mark.parametrize(("enough", "n_cells"), [(3, 3), (4, 6), (6, 6), (7, 8), (8, 8), (9, 9), (99, 9)])
    def test_too_few_are_sought_further_away(self, monkeypatch, enough, n_cells):
        """Within 1.5: 7.1 to 15.75; within 2.25: 4.7 to 23.6; within 3.375: 3.1 to 35.4; within 5.06: 2.1 to 53.2."""
        monkeypatch.setattr(chances, "ENOUGH", enough)
        people = [10] * 10 + [10.5, 8, 15, 16, 5, 23, 24, 4, 53, 2, 54, 0, 0, 0, 100]
        people = [int(2 * number) for number in people]
        assert made(people, range(10), [10], [0], []).beside(0).cells == n_cells

    def test_hits_of_the_recipients_other_decoys_make_no_chance_above_one(self):
        assert made([10] * 25, range(10), range(10, 25), [0] * 15, range(10, 25)).beside(0) == Comparable(1, 15, 1.0)

    def test_as_many_of_several(self):
        """Of chances of 1/2, 1/3 and 1/4: none by 6/24, one by 11/24, two by 6/24, all by 1/24."""
        chances = [1 / 2, 1 / 3, 1 / 4]
        assert [at_least(number, chances) for number in range(5)] == pytest.approx([1, 18 / 24, 7 / 24, 1 / 24, 0])


class TestRaking:
    def test_by_hand(self):
        """Cells 20 of 0 and 60 of 1, reference half and half: weights 2 and 2/3."""
        weights = raked([np.repeat([0, 1], [20, 60])], [np.repeat([0, 1], [30, 30])])
        assert weights[:20] == pytest.approx(2)
        assert weights[20:] == pytest.approx(2 / 3)

    def test_every_attribute_is_met(self):
        rng = np.random.default_rng(0)
        cells, like = (
            rng.integers(0, 4, (2, 4000)),
            np.stack([rng.choice(4, 900, p=p) for p in ([0.1, 0.2, 0.3, 0.4],) * 2]),
        )
        weights = raked(list(cells), list(like))
        for values, wanted in zip(cells, like, strict=True):
            shares = np.bincount(values, weights=weights) / weights.sum()
            assert shares == pytest.approx(np.bincount(wanted) / len(wanted), abs=0.01)

    def test_none_weighs_more_than_ten_times_the_mean_before_it_is_taken_again(self):
        weights = raked([np.repeat([0, 1], [1000, 2])], [np.repeat([0, 1], [1, 999])])
        assert weights.max() / weights.min() <= 100 + 1e-9

    @pytest.mark.parametrize(("n_cells", "n_like"), [(39, 1000), (1000, 39), (1000, 0), (1, 0)])
    def test_too_few_count_alike(self, n_cells, n_like):
        assert raked([np.arange(n_cells)], [np.arange(n_like)]).tolist() == [1.0] * n_cells

    def test_a_hit_where_real_classes_are_is_likelier(self):
        """Of some 500 cells half have a low value of the first attribute; of 120 real classes nine in ten."""
        trees, axes = (TREE, TREE), lineages([TREE, TREE])
        grid = np.stack(np.meshgrid(range(25), range(25), indexing="ij"), -1).reshape(-1, 2).astype(np.int32)
        population, _ = distinct_tuples(grid, trees, np.full(len(grid), 10))
        rng = np.random.default_rng(0)
        low = grid[:, 0] < 13
        real = np.zeros(len(grid), dtype=bool)
        real[rng.choice(np.flatnonzero(low), 108, replace=False)] = True
        real[rng.choice(np.flatnonzero(~low), 12, replace=False)] = True
        decoy = grid[~real & low][:1]
        held = manifest(table(decoy.tolist(), [4], [10]))
        found = DecoyChances(held, Origins(axes), placed(grid[real]), grid[~real & low], population).beside(0)
        assert found.hit / found.cells < 0.55
        assert found.chance == pytest.approx(0.9, abs=0.06)


@pytest.mark.slow
@settings(max_examples=examples(6), deadline=None)
@given(st.integers(0, 5), st.lists(st.integers(0, 10**6), max_size=30))
def test_against_every_cell(number, seeds):
    """Each cell of the decoys' level, one at a time: outside the real classes and others' decoys, and hit or not."""
    here = world()
    holders = here.manifest.holders
    decoys = joined([holder.decoys for holder in holders])
    owners = np.repeat(np.arange(len(holders)), [len(holder.decoys) for holder in holders])
    real = here.problem.files[0].cells
    hit = here.population.codes[[seed % len(here.population) for seed in seeds]].reshape(-1, 3)
    row = int(np.flatnonzero(owners == number)[0])
    found = DecoyChances(here.manifest, Origins(here.axes), placed(real), hit, here.population).beside(row)
    own = decoys.cells[row]
    levels = np.array([line.levels[position] for line, position in zip(here.axes, own, strict=True)], dtype=np.int32)
    every = np.unique(cells_at(here.population.codes, levels, here.trees), axis=0)

    def meets(cell, others):
        inside = np.ones(len(others), dtype=bool)
        for axis, line in enumerate(here.axes):
            mine = np.full(len(others), cell[axis])
            inside &= encloses(line, mine, others[:, axis]) | encloses(line, others[:, axis], mine)
        return bool(inside.any())

    people = dict(zip(map(tuple, every.tolist()), here.people.count(every).tolist(), strict=True))
    n_own, others = people[tuple(own.tolist())], decoys.cells[owners != number]
    for factor in chances.FACTORS:
        near = [
            cell
            for cell in every
            if n_own / factor <= people[tuple(cell.tolist())] <= n_own * factor
            and not meets(cell, real)
            and not meets(cell, others)
            and all(cell[axis] in real[:, axis] or own[axis] not in real[:, axis] for axis in range(3))
        ]
        mine = {tuple(cell) for cell in decoys.cells[owners == number].tolist()} - {tuple(own.tolist())}
        drawable = [cell for cell in near if tuple(cell.tolist()) not in mine]
        if len(drawable) >= chances.ENOUGH:
            break
    assert (found.cells, found.hit) == (len(drawable), sum(meets(cell, hit) for cell in near))

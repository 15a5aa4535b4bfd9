"""Assignments by hand, and against all assignments tried one by one."""

from itertools import combinations, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.core.errors import ParameterError
from tasks.decoys.assignment import AssignmentProblem, Demand, Offer, assign, even_hands, least_missing
from tasks.decoys.classes import half_octaves, lineages
from tests.support.decoy_tables import leaf_sets, related, table, tree
from tests.support.examples import examples

TREE = tree("value", 2, 5)
"""25 leaves at positions 0 to 24, five groups at 25 to 29, the top at 30."""
AXES = lineages([TREE])
SETS = [leaf_sets(TREE)]
ONE = Demand(0, 1)


def column(positions, records, people):
    return table([[position] for position in positions], records, people)


def problem(files, *offers):
    return AssignmentProblem(tuple(files), tuple(Offer(file, classes) for file, classes in offers), AXES)


def looks(classes):
    return list(zip(classes.records.tolist(), half_octaves(classes.people).tolist(), strict=True))


def pairs(first, second):
    return related(first.cells, second.cells, SETS)


def check_promises(made, demands, ratio, found):
    """What an assignment promises, by comparing sets of leaves."""
    kept = [(share.file, row) for share in found.shares for row in share.kept.tolist()]
    assert len(set(kept)) == len(kept)
    for (file, row), (other, second) in combinations(kept, 2):
        assert not pairs(made.files[file].take([row]), made.files[other].take([second]))
    decoys = [
        (one.offer, row) for one, share in zip(demands, found.shares, strict=True) for row in share.decoys.tolist()
    ]
    assert sorted(decoys) == [(n, row) for n, offer in enumerate(made.offers) for row in range(len(offer.classes))]
    for one, share in zip(demands, found.shares, strict=True):
        offer = made.offers[one.offer]
        assert (len(share.decoys), share.file) == (one.decoys, offer.file)
        held = sorted(looks(made.files[share.file].take(share.kept)))
        assert held == sorted(looks(offer.classes.take(share.decoys)) * ratio)
        gone = {g for f, row in kept for _, g in pairs(made.files[f].take([row]), made.files[share.file])}
        assert set(share.removed.tolist()) == gone - set(share.kept.tolist())
        assert share.missing == made.files[share.file].records[share.removed].sum()


def slow_least(made, demands, ratio):
    """Least worst missing records over all assignments, by trying them all; None where there is none."""
    related_rows = {
        (f, a, g, b)
        for f, first in enumerate(made.files)
        for g, second in enumerate(made.files)
        for a, b in pairs(first, second)
    }
    deals = []
    for number, offer in enumerate(made.offers):
        places = [place for place, one in enumerate(demands) if one.offer == number for _ in range(one.decoys)]
        deals.append({tuple(zip(order, looks(offer.classes), strict=True)) for order in permutations(places)})
    least = None
    for deal in product(*deals):
        wanted = [
            sorted(look for part in deal for place, look in part if place == n) * ratio for n in range(len(demands))
        ]
        files = [made.offers[one.offer].file for one in demands]
        options = [
            [
                held
                for held in combinations(range(len(made.files[file])), len(want))
                if sorted(looks(made.files[file].take(list(held)))) == sorted(want)
            ]
            for file, want in zip(files, wanted, strict=True)
        ]
        for picks in product(*options):
            kept = [(file, row) for file, held in zip(files, picks, strict=True) for row in held]
            if any((f, a, g, b) in related_rows for (f, a), (g, b) in combinations(kept, 2)):
                continue
            worst = 0
            for file, held in zip(files, picks, strict=True):
                gone = {b for f, a in kept for b in range(len(made.files[file])) if (f, a, file, b) in related_rows}
                worst = max(worst, sum(int(made.files[file].records[row]) for row in gone - set(held)))
            least = worst if least is None else min(least, worst)
    return least


def random_case(seed, files):
    """Two recipients, a few classes of few sizes; files beyond the first and overlapping cells at random."""
    rng = np.random.default_rng(seed)
    tables, offers, demands = [], [], []
    for file in range(files):
        cells = rng.choice(31 if rng.random() < 0.5 else 15, 6, replace=False)
        tables.append(column(cells, rng.integers(2, 4, 6), rng.choice([8, 9], 6)))
        number = 3 - files
        cells = np.array([20, 22]) + file
        offers.append((file, column(cells[:number], rng.integers(2, 4, number), rng.choice([8, 9], number))))
        demands += [Demand(file, 1)] * number
    return problem(tables, *offers), demands, int(rng.integers(1, 3))


class TestHandWorked:
    """Sizes 2, 2, 2, 5, 5, 5, 9, all linked alike."""

    REAL = column(range(7), [2, 2, 2, 5, 5, 5, 9], [40] * 7)

    def offering(self, *sizes, people=42):
        return problem([self.REAL], (0, column(range(10, 10 + len(sizes)), sizes, [people] * len(sizes))))

    def test_two_recipients(self):
        """Each misses what the other keeps: of the decoys of 2 and 5 somebody misses the 5."""
        made = self.offering(2, 5)
        found = assign(made, [ONE, ONE], 1, np.random.default_rng(0))
        assert (found.status, found.worst_missing, found.bound) == ("optimal", 5, 5)
        check_promises(made, [ONE, ONE], 1, found)

    def test_ratio_of_three(self):
        assert assign(self.offering(2, 5), [ONE, ONE], 3, np.random.default_rng(0)).worst_missing == 15

    def test_decoys_are_dealt_evenly(self):
        """9 with 2, 5 with 5: the worst-off misses 11."""
        made = self.offering(9, 5, 5, 2)
        found = assign(made, [Demand(0, 2)] * 2, 1, np.random.default_rng(0))
        assert (found.status, found.worst_missing) == ("optimal", 11)

    def test_people_half_an_octave_apart_do_not_go_together(self):
        with pytest.raises(ParameterError) as refused:
            assign(self.offering(2, people=80), [ONE], 1, np.random.default_rng(0))
        assert "at most 0" in refused.value.got

    def test_refusal_says_what_would_do(self):
        with pytest.raises(ParameterError) as refused:
            assign(self.offering(2, 5, 5), [Demand(0, 2), ONE], 3, np.random.default_rng(0))
        assert "lower policy.decoys.kept_per_decoy" in refused.value.fix
        assert "ask for 2 decoy classes at most" in refused.value.fix

    def test_fewer_cells_than_are_asked_for(self):
        with pytest.raises(ParameterError, match="not enough decoys"):
            assign(self.offering(2), [ONE, ONE], 1, np.random.default_rng(0))

    def test_budget(self):
        made = self.offering(2, 5)
        assert assign(made, [ONE] * 2, 1, np.random.default_rng(0), budget=5).worst_missing == 5
        with pytest.raises(ParameterError) as refused:
            assign(made, [ONE] * 2, 1, np.random.default_rng(0), budget=4)
        assert "no assignment misses fewer" in refused.value.got
        assert "allow 5 records" in refused.value.fix

    def test_finer_and_coarser_copies(self):
        """One recipient's class is a leaf, the other's the leaf's group: keeping the leaf removes the whole group."""
        fine, coarse = column([0, 1, 5, 6], [2] * 4, [40] * 4), column([25, 26], [4, 4], [80] * 2)
        made = problem([fine, coarse], (0, column([10], [2], [40])), (1, column([29], [4], [80])))
        demands = [ONE, Demand(1, 1)]
        found = assign(made, demands, 1, np.random.default_rng(0))
        assert found.status == "optimal"
        assert [share.missing for share in found.shares] == [4, 4]
        check_promises(made, demands, 1, found)

    def test_two_offers_of_one_file_share_its_classes(self):
        """Three classes of 2: an offer of two and one of one have room at ratio 1, and not at 2."""
        made = problem([self.REAL], (0, column([10, 11], [2, 2], [40, 40])), (0, column([12], [2], [40])))
        demands = [ONE, ONE, Demand(1, 1)]
        found = assign(made, demands, 1, np.random.default_rng(0))
        check_promises(made, demands, 1, found)
        assert found.worst_missing == 4
        with pytest.raises(ParameterError):
            assign(made, demands, 2, np.random.default_rng(0))

    def test_nothing_of_an_assignment_is_shown(self):
        made = self.offering(2, 5)
        shown = repr(assign(made, [ONE, ONE], 1, np.random.default_rng(0))) + repr(made)
        assert "kept" not in shown
        assert "array" not in shown


class TestAgainstAllAssignments:
    @settings(max_examples=examples(25), deadline=None)
    @given(st.integers(0, 10**6), st.integers(1, 2))
    def test_least_worst_missing(self, seed, files):
        made, demands, ratio = random_case(seed, files)
        least = slow_least(made, demands, ratio)
        try:
            found = assign(made, demands, ratio, np.random.default_rng(seed))
        except ParameterError:
            assert least is None
            return
        check_promises(made, demands, ratio, found)
        assert found.bound <= least <= found.worst_missing
        if found.status == "optimal":
            assert found.worst_missing == least

    def test_cases_are_mostly_solved_and_proven(self):
        """Guards the property above against cases that have no solution, or none that is proven."""
        proven = 0
        for seed in range(40):
            made, demands, ratio = random_case(seed, 1 + seed % 2)
            try:
                proven += assign(made, demands, ratio, np.random.default_rng(seed)).status == "optimal"
            except ParameterError:
                continue
        assert proven >= 10


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.data())
@settings(max_examples=examples(40), deadline=None)
def test_no_hands_are_more_even_than_the_bound(sizes, data):
    number = data.draw(st.sampled_from([n for n in range(1, len(sizes) + 1) if len(sizes) % n == 0]))
    decoys = [number] * (len(sizes) // number)
    hands = even_hands(np.array(sizes), decoys)
    assert [len(hand) for hand in hands] == decoys
    assert sorted(size for hand in hands for size in hand) == sorted(sizes)
    assert [sum(hand) for hand in hands] == sorted((sum(hand) for hand in hands), reverse=True)
    best = max(
        min(sum(order[place : place + number]) for place in range(0, len(sizes), number))
        for order in permutations(sizes)
    )
    assert least_missing(np.array(sizes), decoys) <= sum(sizes) - best
    if number <= 2:
        assert least_missing(np.array(sizes), decoys) == sum(sizes) - best


def large_case():
    """One file recoded alike: 900 classes, and 24 cells that look like some of them."""
    rng = np.random.default_rng(1)
    trees = [tree("a", 1, 12), tree("b", 1, 10), tree("c", 1, 12)]
    cells = np.stack(np.meshgrid(*[np.arange(t.n_leaves) for t in trees]), -1).reshape(-1, 3)
    cells = cells[rng.permutation(len(cells))]
    sizes, people = 2 + rng.geometric(0.3, 900), rng.integers(20, 60, 900)
    common = np.flatnonzero(sizes <= 5)[:24]
    real, offer = table(cells[:900], sizes, people), table(cells[900:924], sizes[common], people[common])
    return AssignmentProblem((real,), (Offer(0, offer),), lineages(trees))


def test_the_same_generator_gives_the_same_and_another_others():
    made, demands = large_case(), [Demand(0, 2)] * 12
    first, second, other = (assign(made, demands, 2, np.random.default_rng(seed)) for seed in (3, 3, 4))
    assert first.status == "optimal"
    assert all(np.array_equal(a.kept, b.kept) for a, b in zip(first.shares, second.shares, strict=True))
    assert any(not np.array_equal(a.kept, b.kept) for a, b in zip(first.shares, other.shares, strict=True))
    assert first.worst_missing == other.worst_missing

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.decoys.classes import half_octaves, lineages
from tasks.decoys.collusion import MarkedCopy, collusion
from tests.support.decoy_tables import leaf_sets, related, table, tree
from tests.support.decoy_world import world
from tests.support.examples import examples

TREE = tree("value", 2, 3)
AXES = lineages([TREE])
SETS = [leaf_sets(TREE)]


def copy(positions, records, people, decoys):
    classes = table([[position] for position in positions], records, people)
    return MarkedCopy(classes, np.isin(np.arange(len(positions)), decoys))


def slow(held, group):
    """Figures of one subset, by comparing sets of leaves class by class."""
    suspects = []
    for i in group:
        others = [related(held[i].classes.cells, held[j].classes.cells, SETS) for j in group if j != i]
        matched = {row for pairs in others for row, _ in pairs}
        for row in set(range(len(held[i].classes))) - matched:
            people = half_octaves(held[i].classes.people)[row]
            suspects.append((i, (held[i].classes.records[row], people), bool(held[i].decoy[row])))
    decoys = sum(one[2] for one in suspects)

    def greatest(kind):
        shares = [np.mean([s[2] for s in suspects if kind(s) == key]) for key in {kind(s) for s in suspects}]
        return max(shares, default=0.0)

    return (
        decoys,
        len(suspects) - decoys,
        decoys / len(suspects) if suspects else 0.0,
        greatest(lambda s: s[0]),
        greatest(lambda s: s[1]),
        greatest(lambda s: (s[0], s[1])),
    )


@st.composite
def held_copies(draw):
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    made = []
    for _ in range(draw(st.integers(1, 4))):
        n = int(rng.integers(1, 7))
        cells = rng.choice(TREE.axis_length, n, replace=False)
        made.append(copy(cells, rng.integers(2, 4, n), rng.choice([8, 30], n), rng.choice(n, rng.integers(1, n + 1))))
    return made


class TestFigures:
    def test_hand_worked(self):
        """Each of two has a class of both, one of its own and a decoy; the decoys differ from the rest in size."""
        first = copy([0, 1, 2], [5, 5, 3], [10, 10, 10], [2])
        second = copy([0, 3, 4], [5, 5, 5], [10, 10, 10], [2])
        alone, both = collusion([first, second], AXES, np.random.default_rng(0))
        assert (alone.colluders, alone.sets, alone.exhaustive) == (1, 2, True)
        assert alone.probability == pytest.approx(1 / 3)
        assert (both.suspects_decoys, both.suspects_real, both.probability, both.worst) == (2, 2, 0.5, 0.5)
        assert both.informed == both.worst_informed == 1.0

    def test_decoy_that_another_has_too(self):
        """The second copy has the group of the first one's decoy."""
        first, second = copy([0, 1], [5, 5], [8, 8], [0]), copy([9, 3], [5, 5], [8, 8], [1])
        both = collusion([first, second], AXES, np.random.default_rng(0))[1]
        assert TREE.axis_labels[9] == "0*"
        assert (both.suspects_decoys, both.suspects_real) == (1, 0)

    @settings(max_examples=examples(40), deadline=None)
    @given(held_copies())
    def test_against_a_slow_attack(self, held):
        for found in collusion(held, AXES, np.random.default_rng(0)):
            figures = np.array([slow(held, group) for group in combinations(range(len(held)), found.colluders)])
            mean, worst = figures.mean(axis=0), figures.max(axis=0)
            ours = (found.suspects_decoys, found.suspects_real, found.probability, found.informed)
            assert ours == pytest.approx(tuple(mean[[0, 1, 2, 4]]))
            assert (found.worst, found.worst_informed) == pytest.approx((worst[3], worst[5]))
            assert found.exhaustive


class TestGuarantee:
    @pytest.mark.parametrize("ratio", [1, 2])
    def test_optimal_assignment_gives_the_formula_to_all_subsets(self, ratio):
        here = world(4, 2, ratio)
        found = collusion(here.held, here.axes, np.random.default_rng(0))
        assert [one.colluders for one in found] == [1, 2, 3, 4]
        assert found[0].probability < 0.05
        for one in found[1:]:
            assert one.probability == one.worst == pytest.approx(1 / (1 + ratio))
            assert one.informed == one.worst_informed == pytest.approx(1 / (1 + ratio))

    def test_subsets_are_drawn_where_there_are_many(self):
        here = world()
        found = collusion(here.held, here.axes, np.random.default_rng(0), subsets=10)
        assert [(one.sets, one.exhaustive) for one in found] == [
            (6, True), (10, False), (10, False), (10, False), (6, True), (1, True)
        ]  # fmt: skip

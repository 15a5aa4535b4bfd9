"""The chance that kept classes of one holder alone are hit, against all draws of who keeps what."""

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.decoys.chances import only_keeper, single_hits
from tasks.decoys.classes import joined, lineages
from tasks.decoys.manifest import DecoyManifest, Holder, Version
from tasks.decoys.origins import Origins
from tests.support.decoy_tables import table, tree
from tests.support.examples import every, examples

TREE = tree("value", 2, 5)
AXES = lineages([TREE])


def classes(positions, records=4):
    return table([[position] for position in positions], [records] * len(positions), [10] * len(positions))


def manifest(first, second=(), n_classes=7, seat=()):
    """Leaves of one bin; the first and second holder's kept ones, and a seat's."""
    holders = (
        Holder("a", 0, classes([20]), classes(first)),
        Holder("b", 0, classes([21]), classes(second)),
        Holder(None, 0, classes([22]), classes(seat)),
    )
    return DecoyManifest("digest", 1, (Version("r", (classes(range(n_classes)),)),), holders)


def answer(made, positions):
    return only_keeper(made, single_hits(made, np.array(positions, np.int32).reshape(-1, 1), Origins(AXES)), AXES)


def slow(own, others, hit, n_classes=7):
    """Share of all draws of own and other kept classes in which as many own ones are hit or more, and no others."""
    draws = list(permutations(range(n_classes), own + others))
    least = len(set(range(own)) & set(hit))
    good = [len(set(draw[:own]) & set(hit)) >= least and not set(draw[own:]) & set(hit) for draw in draws]
    return sum(good) / len(draws)


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(1, 2), st.integers(0, 2), st.sets(st.integers(0, 6), min_size=1))
def test_against_all_draws(own, others, hit):
    found = answer(manifest(range(own), range(own, own + others)), sorted(hit))
    mine, theirs = hit & set(range(own)), hit & set(range(own, own + others))
    if bool(mine) == bool(theirs):
        assert found is None
        return
    recipient, chance = found
    assert recipient == ("a" if mine else "b")
    if mine:
        assert chance == pytest.approx(slow(own, others, hit))


def test_bins_are_drawn_by_themselves():
    """Classes of another size are of another bin: 1 of 2 there and 1 of 3 here, each one kept of two holders' two."""
    made = manifest([0], [1], n_classes=3)
    other = table([[5], [6]], [9, 9], [10, 10])
    holders = (
        Holder("a", 0, classes([20]), joined([classes([0]), other.take(np.array([0]))])),
        made.holders[1],
        made.holders[2],
    )
    both = DecoyManifest("digest", 1, (Version("r", (joined([made.versions[0].files[0], other]),)),), holders)
    recipient, chance = answer(both, [0, 5])
    one_of_three_is_kept_and_own = (2 / 3) * (1 / 2)
    assert (recipient, chance) == ("a", pytest.approx(one_of_three_is_kept_and_own * (1 / 2)))


def test_seat_or_nobody():
    assert answer(manifest([0], [1], seat=[2]), [2, 5]) is None
    assert answer(manifest([0], [1]), [5]) is None
    assert answer(manifest([0], [1]), np.empty((0, 1))) is None


def test_tuples_of_several_classes_hit_none():
    """Group 25 is leaves 0 to 4."""
    assert answer(manifest([0], [6]), [25]) is None
    recipient, chance = answer(manifest([0], [6]), [25, 6])
    assert (recipient, chance) == ("b", pytest.approx(1 / 7))


@pytest.mark.slow
def test_a_false_alarm_is_no_likelier_than_it_says():
    """Whatever is hit, over all draws of who keeps what."""
    for n_hit in range(1, 7, every(1)):
        chances = []
        for own in combinations(range(6), 2):
            for other in combinations([one for one in range(6) if one not in own], 2):
                found = answer(manifest(own, other, n_classes=6), range(n_hit))
                if found is not None and found[0] == "a":
                    chances.append(found[1])
        for level in set(chances):
            assert sum(chance <= level + 1e-12 for chance in chances) / (15 * 6) <= level + 1e-12

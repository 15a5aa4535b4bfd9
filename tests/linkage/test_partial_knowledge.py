"""Which attributes and whose records the intruder has."""

from math import comb

import numpy as np
import pytest

from tasks.errors import ParameterError
from tasks.linkage.distance import distance_linkage
from tasks.linkage.figure import mean_share
from tasks.linkage.files import Knowledge, files_to_link
from tasks.linkage.knowledge import (
    attack_under,
    first_attributes,
    named_attributes,
    random_attributes,
    some_individuals,
)


def test_named_and_first_attributes() -> None:
    assert first_attributes(3) == Knowledge(attributes=(0, 1, 2))
    assert named_attributes(["age", "income", "tax"], ["tax", "age"]) == Knowledge(attributes=(2, 0))
    with pytest.raises(ParameterError, match="not in the file") as caught:
        named_attributes(["age", "income"], ["tax"])
    assert "tax" in str(caught.value)


def test_random_sets_differ_and_follow_the_seed() -> None:
    one, again, other = (random_attributes(8, 3, 12, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert one == again != other
    assert len(set(one)) == 12
    assert all(len(set(known.attributes or ())) == 3 for known in one)


def test_all_sets_where_fewer_exist_than_asked_for() -> None:
    sets = random_attributes(5, 2, 100, np.random.default_rng(1))
    assert len(set(sets)) == len(sets) == comb(5, 2)


def test_some_individuals() -> None:
    known = some_individuals(50, 7, np.random.default_rng(1))
    assert known == some_individuals(50, 7, np.random.default_rng(1))
    assert known.records is not None
    assert list(known.records) == sorted(set(known.records))
    assert len(known.records) == 7


def test_the_mean_over_the_first_attributes() -> None:
    rng = np.random.default_rng(1)
    original = rng.standard_normal((80, 3))
    masked = original + 0.2 * rng.standard_normal(original.shape)
    figures = attack_under(distance_linkage, original, masked, [first_attributes(i) for i in (1, 2, 3)])
    by_hand = [distance_linkage(files_to_link(original[:, :i], masked[:, :i])).share_correct for i in (1, 2, 3)]
    assert [figure.share_correct for figure in figures] == by_hand
    assert mean_share(figures) == pytest.approx(sum(by_hand) / 3)


@pytest.mark.parametrize("count", [0, -1, 1.5, True, "3"])
def test_counts_out_of_range(count: object) -> None:
    rng = np.random.default_rng(1)
    with pytest.raises(ParameterError, match="what the intruder knows"):
        first_attributes(count)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="what the intruder knows"):
        some_individuals(10, count, rng)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="what the intruder knows"):
        random_attributes(10, count, 3, rng)  # type: ignore[arg-type]


def test_more_than_the_file_has() -> None:
    rng = np.random.default_rng(1)
    with pytest.raises(ParameterError, match="from 1 to 10"):
        some_individuals(10, 11, rng)
    with pytest.raises(ParameterError, match="from 1 to 10"):
        random_attributes(10, 11, 3, rng)
    with pytest.raises(ParameterError, match="known attributes"):
        files_to_link(np.eye(3), np.eye(3), first_attributes(4))

"""A population must have room for the records; columns that are distributed otherwise than in it are named."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.core.errors import PopulationError
from tasks.microdata.fit import LARGEST_EXCESS, check_room, misfits
from tasks.microdata.hierarchy import MISSING, hierarchy_from_rows, with_leaf_apart
from tasks.microdata.tuples import Tuples

LEVELS = 50
AGES = {"age": hierarchy_from_rows("age", [[str(value), "*"] for value in range(LEVELS)], "age")}


def tuples(counts: np.ndarray) -> Tuples:
    """Counts of people by one column, whose values are numbered."""
    some = np.flatnonzero(counts)
    return Tuples(some[:, None].astype(np.int32), np.asarray(counts)[some].astype(np.int64), some.astype(np.int64))


@given(st.integers(0, 2**32 - 1), st.sampled_from([20, 200, 5000]))
def test_a_sample_of_the_population_fits_it_whatever_its_size(seed: int, records: int) -> None:
    """But for one draw in a thousand at most, and far fewer, since the bound is reached by a tenth at least."""
    generator = np.random.default_rng(seed)
    people = generator.integers(0, 400, LEVELS) + 1
    data, population = tuples(generator.multinomial(records, people / people.sum())), tuples(people)
    assert misfits(data, population, AGES) == {}


def test_the_population_of_others_does_not_fit() -> None:
    people = np.full(LEVELS, 1000)
    adults = np.where(np.arange(LEVELS) < 20, 0, 100)
    # 40 % of the people are no adults: so many records would have to be, less what chance explains of 3000.
    by_chance = 25 * np.sqrt(0.02 * 0.98 / 3000) + np.sqrt(np.log(1000) / 6000)
    assert misfits(tuples(adults), tuples(people), AGES) == {"age": np.floor(100 * (0.4 - by_chance)) / 100}


def test_a_multiplied_population_has_the_same_margins() -> None:
    """Which is why it is enrolled with its total."""
    adults, people = tuples(np.where(np.arange(LEVELS) < 20, 0, 10)), tuples(np.full(LEVELS, 1000))
    thousand = replace(people, counts=people.counts * 1000)
    assert misfits(adults, people, AGES) == misfits(adults, thousand, AGES)
    check_room(adults, thousand, "population")


def test_there_is_room_for_every_record() -> None:
    data = tuples(np.full(LEVELS, 100))
    check_room(data, data, "population")
    with pytest.raises(PopulationError) as refused:
        check_room(data, tuples(np.full(LEVELS, 99)), "population.path")
    assert (refused.value.where, refused.value.got) == ("population.path", "fewer people in all")


@pytest.mark.parametrize("beyond", [0, 1])
def test_a_combination_has_hardly_more_records_than_people(beyond: int) -> None:
    records, people = np.full(LEVELS, 100), np.full(LEVELS, 1000)
    people[0] = 100 - LARGEST_EXCESS * records.sum() - beyond
    if not beyond:
        check_room(tuples(records), tuples(people), "population")
        return
    with pytest.raises(PopulationError, match="more records than people"):
        check_room(tuples(records), tuples(people), "population")


def test_records_outside_the_population_are_left_to_validation() -> None:
    data, population = tuples(np.array([0, 5, 5])), tuples(np.array([100, 100, 0]))
    check_room(data, population, "population")


def test_missing_values_are_no_misfit() -> None:
    """Half of the records have no age, and the others are distributed as the population is."""
    lacking = {"age": with_leaf_apart(AGES["age"], MISSING)}
    people, records = np.full(LEVELS + 1, 100), np.full(LEVELS + 1, 20)
    people[-1], records[-1] = 1, 20 * LEVELS
    assert misfits(tuples(records), tuples(people), lacking) == {}

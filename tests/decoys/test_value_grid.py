"""The grid of a column: what step and habit its values have, and that drawn ones keep them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.decoys.value_grid import ValueGrid, ValueKind, human_steps, monthly, weekdays
from tests.support.examples import examples


def days(*texts: str) -> np.ndarray:
    return np.array(texts, dtype="datetime64[D]").astype(np.int64).astype(np.float64)


def grid_of(values: np.ndarray, kind: ValueKind = ValueKind.NUMBER) -> ValueGrid:
    grid = ValueGrid.of(values, kind)
    assert grid is not None
    return grid


@pytest.mark.parametrize(
    ("number", "step"), [(1, 1), (-3, 1), (15, 5), (30, 10), (75, 25), (50, 50), (1250, 250), (52000, 1000), (700, 100)]
)
def test_the_coarsest_step_that_people_count_in(number: int, step: int) -> None:
    assert human_steps(np.array([number])).tolist() == [step]


def test_nothing_is_rounder_than_zero() -> None:
    assert human_steps(np.array([0]))[0] > 10**15


@pytest.mark.parametrize(
    ("values", "decimals", "step"),
    [
        ([300, 500, 1100, np.nan], 0, 200),
        ([12, 36, 60], 0, 24),
        ([1.99, 4.99, 10.99], 2, 300),
        ([0.5, 1.5, 2.0], 1, 5),
        ([7, 7], 0, 1),
    ],
)
def test_decimals_and_common_step(values: list[float], decimals: int, step: int) -> None:
    grid = grid_of(np.array(values))
    assert (grid.is_date, grid.decimals, grid.step) == (False, decimals, step)
    assert "array" not in repr(grid)
    assert "known" not in repr(grid)


@pytest.mark.parametrize("values", [[1 / 3, 0.5, 2.0], [1e300, 2.0], [np.nan, np.nan], []])
def test_a_column_without_a_grid_has_none(values: list[float]) -> None:
    assert ValueGrid.of(np.array(values, dtype=np.float64)) is None


@pytest.mark.parametrize(
    ("texts", "shared"),
    [
        (["2020-01-31", "2020-02-29", "2021-06-30"], True),
        (["2020-01-01", "2020-04-01", "2021-07-01"], True),
        (["2020-01-30", "2020-03-30", "2021-08-30"], True),
        (["2020-01-06", "2020-01-13", "2021-01-04"], False),
        (["2020-01-06", "2020-01-07", "2021-01-04"], False),
    ],
)
def test_dates_lie_on_a_grid_of_days(texts: list[str], shared: bool) -> None:
    real = days(*texts)
    grid = grid_of(real, ValueKind.DATE)
    assert (grid.is_date, grid.decimals, grid.step) == (True, 0, int(np.gcd.reduce(np.diff(real).astype(int))))
    assert monthly(np.append(real, np.nan)) is shared
    np.testing.assert_array_equal(grid.values(grid.units(real)), real)
    ends = np.full(60, real[0]), np.full(60, real[2])
    drawn = grid.draw(ends, np.full(60, real[0]), np.random.default_rng(1))
    assert grid.on(drawn).all()
    assert len(np.unique(drawn)) > 1
    assert not np.isin(drawn, real).any()


@settings(max_examples=examples(80), deadline=None)
@given(
    st.lists(st.integers(-2000, 2000), min_size=2, max_size=25),
    st.sampled_from([1, 3, 12, 50, 100]),
    st.integers(0, 3),
    st.integers(0, 10),
    st.integers(0, 2**32 - 1),
)
def test_drawn_numbers_are_on_the_grid_between_their_neighbours_and_as_round_as_one(
    counts: list[int], step: int, decimals: int, offset: int, seed: int
) -> None:
    units = np.array(counts) * step + offset
    real = units / 10.0**decimals
    grid, generator = grid_of(real), np.random.default_rng(seed)
    ordered = np.sort(real)
    place = generator.integers(0, len(real) - 1, 40)
    low, high = ordered[place], ordered[place + 1]
    anchors = np.where(generator.random(40) < 0.5, low, high)
    drawn = grid.draw((low, high), anchors, generator)
    scaled = np.rint(drawn * 10.0**decimals).astype(np.int64)
    np.testing.assert_array_equal(scaled / 10.0**decimals, drawn)
    common = int(np.gcd.reduce(units))
    assert (scaled % common == 0).all() if common else (scaled == 0).all()
    assert ((scaled - units[0]) % max(int(np.gcd.reduce(np.diff(np.sort(units)))), 1) == 0).all()
    assert (low <= drawn).all()
    assert (drawn <= high).all()
    own = 10 ** (decimals - grid.decimals)
    before, after = (human_steps(np.rint(x * 10.0**decimals).astype(np.int64) // own) for x in (anchors, drawn))
    np.testing.assert_array_equal(before, after)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.integers(-4000, 20000), min_size=2, max_size=25), st.integers(0, 2**32 - 1))
def test_drawn_dates_have_the_weekday_of_their_anchor(numbers: list[int], seed: int) -> None:
    real = np.sort(np.array([*numbers, 3, 5], dtype=np.float64))
    grid, generator = grid_of(real, ValueKind.DATE), np.random.default_rng(seed)
    place = generator.integers(0, len(real) - 1, 40)
    low, high = real[place], real[place + 1]
    drawn = grid.draw((low, high), low, generator)
    assert (low <= drawn).all()
    assert (drawn <= high).all()
    np.testing.assert_array_equal(weekdays(drawn), weekdays(low))


def test_roundness_is_that_of_the_column() -> None:
    """Nine in ten multiples of 0.5, the others odd hundredths: the shares are those of the neighbours, to 2 points."""
    generator = np.random.default_rng(3)
    units = np.where(
        generator.random(4000) < 0.9, generator.integers(0, 4000, 4000) * 50, generator.integers(0, 200000)
    )
    real = np.sort(units / 100)
    place = generator.integers(0, 3980, 8000)
    low, high = real[place], real[place + 19]
    anchors = np.where(generator.random(8000) < 0.5, low, high)
    drawn = grid_of(real).draw((low, high), anchors, generator)
    shares = []
    for part in (anchors, drawn):
        steps = human_steps(np.rint(part * 100).astype(np.int64))
        shares.append([(steps == step).mean() for step in (1, 5, 10, 25, 50, 100, 500, 1000)])
    assert np.abs(np.array(shares[0]) - np.array(shares[1])).max() < 0.02


def test_a_value_is_new_where_there_is_room() -> None:
    """Of 0, 100, …, 1000 three are free: nothing else is drawn between the ends."""
    real = np.array([0, 100, 200, 400, 500, 700, 800, 1000.0])
    drawn = grid_of(real).draw((np.zeros(80), np.full(80, 1000.0)), np.full(80, 100.0), np.random.default_rng(1))
    assert set(drawn.tolist()) == {300, 600, 900}


def test_nothing_between_gives_the_anchor_and_outside_gives_the_nearest_within_bounds() -> None:
    """By hand: Monday 2024-01-08 stays; from a Thursday on, Mondays are the 8th and, if 11th to 20th, the 15th."""
    real = days("2024-01-08", "2024-01-10", "2024-01-12")
    grid = grid_of(np.append(real, days("2024-01-11")), ValueKind.DATE)
    generator = np.random.default_rng(1)
    assert grid.draw((real[:1], real[1:2]), real[:1], generator).tolist() == real[:1].tolist()
    thursday = days("2024-01-11")
    within = (thursday, days("2024-01-20"))
    assert grid.draw((thursday, thursday), real[:1], generator, within).tolist() == days("2024-01-15").tolist()
    # No Monday within: the nearest day within is taken.
    narrow = (thursday, days("2024-01-12"))
    assert grid.draw((thursday, thursday), real[:1], generator, narrow).tolist() == thursday.tolist()


def test_weekdays_begin_on_monday() -> None:
    assert weekdays(days("1970-01-01", "1969-12-29", "2024-01-08", "2024-01-14")).tolist() == [3, 0, 0, 6]

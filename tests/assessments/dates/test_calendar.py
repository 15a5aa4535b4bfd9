"""What the calendar tells of offsets: by hand, and as by Bayes' rule over every offset of every person."""

from math import log2

import numpy as np
import pytest

from tasks.assessments.dates.calendar import offset_knowledge
from tests.assessments.dates.test_matching import Person, histories_of

MONDAY = 4  # 1970-01-05


def entropy(shares: np.ndarray) -> float:
    return -sum(share * log2(share) for share in shares if share > 0)


def test_dates_on_one_day_of_the_week_give_the_offset_modulo_7_away() -> None:
    """All visits are on Mondays, and the offsets are −3 to 3: one for each day of the week."""
    people: list[Person] = [
        (offset, frozenset({(MONDAY + 7 * week, 0) for week in range(3)})) for offset in (-3, 0, 1, 3)
    ]
    found = offset_knowledge(histories_of(people, 3))
    assert (found.weekday_guessed, found.guessed) == pytest.approx((1.0, 1.0))
    assert (found.weekday_bits, found.bits) == pytest.approx((log2(7), log2(7)))


def test_dates_spread_over_the_week_and_the_period_tell_nothing_in_its_middle() -> None:
    days = frozenset((day, 0) for day in range(70))
    middle: Person = (1, frozenset({(33, 0)}))
    found = offset_knowledge(histories_of([middle], 3))
    assert found.guessed == 1.0, "of a file with one date everybody knows the day"
    people: list[Person] = [(0, days), *[(1, frozenset({(day, 0)})) for day in range(30, 37)]]
    weekday = offset_knowledge(histories_of(people, 3))
    assert weekday.weekday_bits == pytest.approx(0.0, abs=0.02)


def test_the_ends_of_the_period_tell_of_the_offset() -> None:
    """Ten people have a date on each day of four weeks. Who is seen on the last day can only have come from before."""
    everybody: list[Person] = [(0, frozenset({(day, 0)})) for day in range(28) for _ in range(10)]
    last: list[Person] = [(3, frozenset({(27, 0)}))]
    low = offset_knowledge(histories_of(everybody, 3))
    high = offset_knowledge(histories_of([*everybody, *last * 50], 3))
    assert high.bits > low.bits > 0


def slow(people: list[Person], reach: int, weights: np.ndarray) -> tuple[float, float]:
    """Mean highest probability and information, by multiplying the weights of days, one person after the other."""
    guessed, bits = [], []
    for offset, dates in people:
        chances = np.array(
            [np.prod([weights[(day + offset - by) % 7] for day, _ in dates]) for by in range(-reach, reach + 1)]
        )
        chances /= chances.sum()
        residues = np.zeros(7)
        np.add.at(residues, np.arange(-reach, reach + 1) % 7, chances)
        before = np.bincount(np.arange(-reach, reach + 1) % 7, minlength=7) / (2 * reach + 1)
        guessed.append(residues.max())
        bits.append(entropy(before) - entropy(residues))
    return float(np.mean(guessed)), float(np.mean(bits))


@pytest.mark.parametrize("reach", [2, 3, 30])
def test_days_of_the_week_tell_as_much_as_by_bayes_rule(reach: int) -> None:
    generator = np.random.default_rng(3)
    usual = np.array([5, 4, 3, 3, 2, 1, 0.5])
    people: list[Person] = []
    for _ in range(60):
        days = generator.choice(70, 4, replace=False, p=np.tile(usual, 10) / usual.sum() / 10)
        people.append((int(generator.integers(-reach, reach + 1)), frozenset((int(day), 0) for day in days)))
    counts = np.bincount([day % 7 for _, dates in people for day, _ in dates], minlength=7)
    found = offset_knowledge(histories_of(people, reach))
    assert (found.weekday_guessed, found.weekday_bits) == pytest.approx(slow(people, reach, counts / counts.sum()))


def test_a_holiday_is_a_closed_day() -> None:
    """A hundred people a day, but on one day five: who is seen there one day off cannot have been moved onto it."""
    people: list[Person] = [(0, frozenset({(day, 0)})) for day in range(28) for _ in range(5 if day == 14 else 100)]
    assert offset_knowledge(histories_of(people, 3)).closed_days == 1

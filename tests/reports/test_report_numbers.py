import doctest
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reports.model import numbers
from tests.support.examples import examples

INSIDE = st.floats(min_value=1e-9, max_value=1, exclude_max=True, allow_nan=False)


def test_the_examples_of_the_module_hold() -> None:
    assert doctest.testmod(numbers).failed == 0


@settings(max_examples=examples(60))
@given(INSIDE)
def test_rounding_never_makes_a_probability_certain_or_impossible(value: float) -> None:
    assert numbers.risk(value) not in {"0", "1"}
    assert numbers.percent(value) not in {"0%", "100%"}


@settings(max_examples=examples(60))
@given(st.floats(min_value=0, max_value=1e12), INSIDE)
def test_what_is_rounded_up_never_falls_short(money: float, probability: float) -> None:
    assert float(numbers.amount_up(money).replace(",", "")) >= money
    text = numbers.risk_up(probability)
    assert text == ">0.9999" or "×" in text or float(text) >= probability


def test_an_amount_of_any_size_is_written() -> None:
    assert numbers.amount_up(1e30).startswith("1,000,000,000,000,000,019")


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (1.0, "1"), (0.5, "0.5"), (0.018934, "0.01893"), (0.000045678, "4.568 × 10⁻⁵"), (0.99996, ">0.9999")],
)
def test_risks(value: float, text: str) -> None:
    assert numbers.risk(value) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0%"),
        (1.0, "100%"),
        (0.05, "5%"),
        (0.23381, "23.38%"),
        (0.0001, "0.01%"),
        (0.00005, "0.005%"),
        (0.99995, ">99.99%"),
        (1e-9, "1 × 10⁻⁷%"),
    ],
)
def test_percentages(share: float, text: str) -> None:
    assert numbers.percent(share) == text


def test_a_moment_is_written_in_utc_whatever_its_zone() -> None:
    here = datetime(2026, 3, 10, 1, 30, tzinfo=timezone(timedelta(hours=11)))
    assert numbers.minute(here) == "9 March 2026, 14:30 UTC"
    assert numbers.minute(datetime(2026, 3, 9, 14, 30)) == "9 March 2026, 14:30 UTC"
    assert numbers.utc(here) == datetime(2026, 3, 9, 14, 30, tzinfo=UTC)
    assert numbers.day(date(2027, 12, 1)) == "1 December 2027"

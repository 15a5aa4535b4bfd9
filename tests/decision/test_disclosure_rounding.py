"""Figures of real rows in records with decoys: coarse enough to be nobody's checksum, never better than they are."""

import math
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.assessments.identity.facts import BudgetFact, CoalitionFact, DivisionFact, SharingFact
from tasks.decision.disclosure_rounding import bound, count, disclosure_rounded, downward, nearest, upward
from tasks.generalization.game.facts import LimitFact
from tests.support import decoy_records, records

NUMBERS = st.floats(min_value=1e-9, max_value=1e9, allow_nan=False)


def floats(part: Any) -> Iterator[float]:
    if isinstance(part, float):
        yield part
    elif isinstance(part, dict):
        for one in part.values():
            yield from floats(one)
    elif isinstance(part, list | tuple):
        for one in part:
            yield from floats(one)


@given(NUMBERS)
def test_rounding_keeps_to_its_side_and_three_digits(value: float) -> None:
    for rounded in (upward(value), downward(value), nearest(value)):
        assert nearest(rounded) == rounded
        assert math.isclose(rounded, value, rel_tol=0.0101)
    assert upward(value) >= value or math.isclose(upward(value), value, rel_tol=1e-12)
    assert downward(value) <= value or math.isclose(downward(value), value, rel_tol=1e-12)


@given(st.integers(min_value=0, max_value=10**9))
def test_counts_are_multiples_of_ten(number: int) -> None:
    assert count(number) % 10 == 0
    assert abs(count(number) - number) <= max(5, number / 180)


@given(st.floats(min_value=-5, max_value=5, allow_nan=False), st.sampled_from([0.01, 0.1]))
def test_a_bound_holds_and_none_says_nothing_happened(value: float, step: float) -> None:
    found = bound(value, step)
    assert found is not None
    assert found >= step * (1 - 1e-9)
    assert found >= abs(value) - 1e-6
    assert found <= max(abs(value), step) + step


def test_a_record_without_decoys_stays_as_it_is() -> None:
    record = records.approved()
    assert disclosure_rounded(record) is record


def test_figures_of_real_rows_have_three_digits() -> None:
    record = disclosure_rounded(decoy_records.approved())
    assert record.risk is not None
    assert record.utility is not None
    assert record.risk.linkage is not None
    parts = [record.risk.residual.model_dump(exclude={"prosecutor": {"histogram"}, "journalist": {"histogram"}})]
    parts += [record.risk.linkage.model_dump(), record.utility.model_dump()]
    parts += [outcome.model_dump() for outcome in record.risk.game.outcomes]
    assert all(nearest(value) == value for part in parts for value in floats(part))
    for figure in (record.risk.residual.prosecutor, record.risk.residual.journalist):
        assert all(one.records % 10 == 0 for one in figure.histogram)
        assert figure.over_threshold % 10 == 0
    assert all(records % 10 == 0 for field in record.fields for records in field.records_per_level)


def test_the_frontier_has_three_digits_at_the_stakes_of_the_request() -> None:
    record = decoy_records.approved()
    assert record.risk is not None
    odd = tuple(
        point.model_copy(update={"benefit": 1234.5, "loss": 0.12345}) for point in record.risk.game.frontier.points
    )
    frontier = record.risk.game.frontier.model_copy(update={"points": odd})
    game = record.risk.game.model_copy(update={"frontier": frontier})
    told = disclosure_rounded(records.changed(record, risk=record.risk.model_copy(update={"game": game})))
    for before, after in zip(odd, told.risk.game.frontier.points, strict=True):
        assert (after.benefit, after.loss, after.gain) == (before.benefit, before.loss, before.gain)
        for name in ("publisher_payoff", "attacked_share", "information_kept"):
            assert nearest(getattr(after, name)) == getattr(after, name) >= getattr(before, name) - 1e-9


def test_what_a_budget_uses_and_pays_has_three_digits_and_the_limits_are_the_policys() -> None:
    record = decoy_records.approved()
    assert record.risk is not None
    limits = (
        LimitFact(name="attacked records", limit=3256.1, used=3255.0, price=1.23456),
        LimitFact(name="information lost of age", limit=6512.2, used=4321.0987, price=0.0, kept=0.8672987),
    )
    budget = BudgetFact(
        limits=limits,
        least_people=1234,
        least_records=None,
        payoff=1186.8695,
        bound=1186.8697,
        without_budget=None,
        suppressed_records=0,
    )
    sharing = SharingFact(
        recipients={"a": 0.12345, "b": 0.87655}, own={"a": 1.23456, "b": None}, shared=1.1111, price=None
    )
    division = DivisionFact(payoff=1184.7182, bound=1184.7192, exact=False, gap=0.0010)
    game = record.risk.game.model_copy(update={"budget": budget, "sharing": sharing, "division": division})
    told = disclosure_rounded(records.changed(record, risk=record.risk.model_copy(update={"game": game})))
    assert told.risk is not None
    shown = told.risk.game.budget
    assert shown is not None
    assert [(one.limit, one.used, one.price, one.kept) for one in shown.limits] == [
        (3256.1, 3256.1, 1.24, None),
        (6512.2, 4330.0, 0.0, 0.867),
    ]
    assert (shown.least_people, shown.payoff, shown.bound) == (1234, 1190.0, 1190.0)
    assert told.risk.game.sharing == sharing.model_copy(update={"own": {"a": 1.24, "b": None}, "shared": 1.12})
    assert told.risk.game.division == DivisionFact(payoff=1190.0, bound=1190.0, exact=False, gap=0.001)


def test_what_coalitions_see_has_three_digits() -> None:
    record = decoy_records.approved()
    assert record.risk is not None
    seen = CoalitionFact(
        recipients=("a", "b"),
        narrowed_share=0.12345,
        smallest_group=1234,
        maximum_risk=1 / 1234,
        attacked_share=0.0,
        expected_reidentifications=0.0,
        mean_reidentification=0.0,
        maximum_reidentification=0.0,
    )
    told = disclosure_rounded(records.changed(record, risk=record.risk.model_copy(update={"coalitions": (seen,)})))
    assert told.risk is not None
    assert told.risk.coalitions == (seen.model_copy(update={"narrowed_share": 0.124, "maximum_risk": 0.000811}),)


def test_what_was_collected_is_exact() -> None:
    record = decoy_records.approved()
    assert record.risk is not None
    told = disclosure_rounded(record)
    assert told.risk is not None
    assert told.risk.initial == record.risk.initial
    assert told.statistics == record.statistics, "whoever has the copy and the data can compute it"


def test_no_gate_changes_sides() -> None:
    for record in (decoy_records.approved(), records.changed(records.blocked(), decoys=decoy_records.decoys())):
        for before, after in zip(record.gates, disclosure_rounded(record).gates, strict=True):
            assert after.passed == before.passed
            if before.measured is None or before.comparison == "is":
                assert after.measured == before.measured
            elif before.passed:
                assert after.measured is not None
                at_most = after.comparison == "at most"
                assert after.measured <= after.threshold if at_most else after.measured >= after.threshold


def test_what_decoys_change_is_a_bound() -> None:
    told = disclosure_rounded(decoy_records.approved()).decoys
    assert told is not None
    assert told.statistics is not None
    for one in told.statistics.columns:
        for value in (one.mean, one.total_variation, one.largest):
            assert value is None or (value == pytest.approx(round(value, 2)) and value >= 0.01)
    assert told.attempts is not None
    assert told.attempts.lured * 10 == pytest.approx(round(told.attempts.lured * 10))


def test_doing_it_twice_changes_nothing_more() -> None:
    once = disclosure_rounded(decoy_records.approved())
    assert disclosure_rounded(once) == once

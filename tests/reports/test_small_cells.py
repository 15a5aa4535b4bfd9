"""The small-cell rule against an attacker who knows the total, the labels and the rule itself."""

import itertools
from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reports.model.record_view import RecordView
from reports.model.smallcell import HIDDEN, SmallCellRule, counted
from reports.sections.utility import level_rows
from tasks.core.fact import Bin
from tasks.request.model import Measure
from tests.support import records
from tests.support.examples import examples

ELEVEN = SmallCellRule(11)


@pytest.mark.parametrize(("count", "text"), [(0, "0"), (1, "<11"), (10, "<11"), (11, "11"), (32_561, "32,561")])
def test_counts_of_one_to_ten_are_not_shown(count: int, text: str) -> None:
    assert ELEVEN.count(count) == text


@pytest.mark.parametrize(
    ("count", "total", "text"),
    [
        (0, 100, "0"),
        (3, 100, "<11"),
        (50, 100, "50"),
        (97, 100, ">89"),
        (100, 100, "100"),
        (9, 9, "<11"),
        (11, 12, ">1"),
    ],
)
def test_a_part_gives_neither_itself_nor_its_complement_away(count: int, total: int, text: str) -> None:
    assert ELEVEN.part(count, total) == text


@pytest.mark.parametrize(
    ("count", "total", "text"),
    [(0, 1000, "0%"), (3, 1000, "<1.10%"), (500, 1000, "50%"), (995, 1000, ">98.90%"), (5, 8, HIDDEN)],
)
def test_a_share_of_a_known_total_does_not_tell_a_small_count(count: int, total: int, text: str) -> None:
    assert ELEVEN.share(count / total, total) == text


def test_a_share_that_ties_make_fractional_is_held_to_the_same_limit() -> None:
    assert counted(0.25 / 2000, 2000) == 0.25
    assert counted(7 / 32_561, 32_561) == 7
    assert {ELEVEN.share(count / 2000, 2000) for count in (0.25, 0.5, 3, 10, 10.75)} == {"<0.55%"}
    assert {ELEVEN.share(1 - count / 2000, 2000) for count in (0.25, 0.5, 3, 10, 10.75)} == {">99.45%"}
    assert ELEVEN.share(11.5 / 2000, 2000) == "0.57%"


@pytest.mark.parametrize(
    ("counts", "texts"),
    [
        ((20, 30), ("20", "30")),
        ((0, 30), ("0", "30")),
        ((3, 20, 30), (HIDDEN, HIDDEN, "30")),
        ((3, 20, 20, 30), (HIDDEN, HIDDEN, HIDDEN, "30")),
        ((5, 6, 30), ("<11", "<11", "30")),
        ((2, 3, 30), (HIDDEN, HIDDEN, HIDDEN)),
        ((10, 10, 30), (HIDDEN, HIDDEN, HIDDEN)),
        ((3, 0, 0), (HIDDEN, "0", "0")),
    ],
)
def test_breakdowns_worked_by_hand(counts: tuple[int, ...], texts: tuple[str, ...]) -> None:
    assert ELEVEN.breakdown(counts) == texts


@pytest.mark.parametrize(("cells", "limit", "largest"), [(2, 3, 12), (3, 3, 9), (3, 4, 11), (4, 3, 6)])
def test_whoever_knows_total_and_rule_cannot_tell_a_small_count(cells: int, limit: int, largest: int) -> None:
    """All breakdowns that print alike and add up alike: in each hidden place a small count has an alternative."""
    rule = SmallCellRule(limit)
    alike = defaultdict(list)
    for counts in itertools.product(range(largest + 1), repeat=cells):
        if sum(counts) >= limit and set(counts) != {0, 1}:
            alike[sum(counts), rule.breakdown(counts)].append(counts)
    for (_, texts), candidates in alike.items():
        for place, text in enumerate(texts):
            if not text.isdigit():
                values = {counts[place] for counts in candidates}
                assert len(values) > 1 or min(values) >= limit or set(candidates[0]) == {1}
            else:
                assert not 0 < int(text) < limit


@settings(max_examples=examples(80))
@given(st.lists(st.integers(0, 40), min_size=1, max_size=9), st.integers(2, 15))
def test_joined_bins_hold_every_record_and_none_is_small(counts: list[int], limit: int) -> None:
    bins = [Bin(low=place, high=place + 1, records=count) for place, count in enumerate(counts)]
    joined = SmallCellRule(limit).bins(bins)
    if sum(counts) < limit:
        assert joined == ()
        return
    assert sum(part.records for part in joined) == sum(counts)
    assert all(part.records == 0 or part.records >= limit for part in joined)
    assert joined[0].low == 0
    assert joined[-1].high == len(counts)
    assert all(left.high == right.low for left, right in itertools.pairwise(joined))


def test_suppressed_records_do_not_follow_from_the_levels() -> None:
    """Six suppressed: the levels of an attribute must not add up to the released records in print."""
    record = records.awaiting_review()
    for field in record.fields:
        if field.records_per_level:
            rows = level_rows(RecordView(record), field)
            assert rows[-1][0] == "record suppressed"
            assert not rows[-1][2].isdigit()
            assert sum(not row[2][0].isdigit() for row in rows) >= 2
    sex = level_rows(RecordView(record), next(field for field in record.fields if field.name == "sex"))
    assert [row[2] for row in sex] == ["30,502", HIDDEN, HIDDEN]


def test_levels_that_do_not_fit_each_other_stop_the_report() -> None:
    record = records.approved()
    field = record.fields[1].model_copy(update={"groups_per_level": (121, 61)})
    with pytest.raises(ValueError, match="zip"):
        level_rows(RecordView(record), field)


def test_information_and_payoff_do_not_tell_few_suppressed_people() -> None:
    """Six of 32,561 suppressed: the same figures before suppression are shown too, and 6/32,561 is 0.02%."""
    record = records.awaiting_review()
    rows = {row.gate.id: row.measured for row in RecordView(record).gates}
    assert rows[Measure.INFORMATION_KEPT] == "over 95.50%"
    exact = {row.gate.id: row.measured for row in RecordView(records.approved()).gates}
    assert exact[Measure.INFORMATION_KEPT] == "95.1%"
    payoff = record.gates[-3].model_copy(update={"id": Measure.PUBLISHER_PAYOFF, "measured": 1146.82})
    paid = {row.gate.id: row.measured for row in RecordView(records.changed(record, gates=(payoff,))).gates}
    assert paid[Measure.PUBLISHER_PAYOFF] == "over 1,146.00"


@pytest.mark.parametrize("came_in", [300, 858, 32_561])
def test_the_records_left_out_do_not_follow_from_a_bound(came_in: int) -> None:
    """Whoever knows the records that came in and reads bounds only knows no more than that few were left out."""
    bounds = {(ELEVEN.share(3 / leaving, leaving), ELEVEN.share(1 - 3 / leaving, leaving)) for leaving in
              range(came_in - 10, came_in)}  # fmt: skip
    assert len(bounds) <= 2

"""Ledgers that are damaged or of other sizes: what an audit reads of them, and what it must not tell."""

import json
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.audit import cells
from tasks.audit.build import audit_report, checked_period
from tasks.audit.history import Period, read_history
from tasks.audit.report import AuditReport, RecordRange
from tasks.audit.requests import intervals
from tasks.core.canonical import canonical_json
from tasks.core.errors import BadInput
from tasks.ledger.chain import Examination
from tasks.ledger.entry import Head, Row
from tests.support.audited import NOW, QUARTER, Chronicle, busy_quarter
from tests.support.examples import examples
from tests.support.records import sha

TODAY = date(2026, 4, 10)


def audited(rows: list[Row]) -> AuditReport:
    examined = Examination(tuple(rows), Head(len(rows), "0" * 64), 0, 0, None, None)
    return audit_report(examined, QUARTER, noted_outside=0, made_at=NOW, program="0.1.0")


@pytest.mark.parametrize(
    ("first", "last", "what"),
    [
        (date(2026, 2, 1), date(2026, 1, 31), "the period ends before it begins"),
        (date(2026, 1, 1), date(2026, 4, 11), "the period has not ended"),
        (date(2026, 5, 1), date(2026, 6, 1), "the period has not ended"),
    ],
)
def test_days_that_are_no_period(first: date, last: date, what: str) -> None:
    with pytest.raises(BadInput) as refused:
        checked_period(first, last, TODAY)
    assert refused.value.what == what


@pytest.mark.parametrize(
    ("first", "told"), [(date(2026, 4, 10), "swap"), (date(2026, 5, 1), "up to today, 2026-04-10")]
)
def test_days_to_swap_are_both_past(first: date, told: str) -> None:
    with pytest.raises(BadInput) as refused:
        checked_period(first, date(2026, 4, 1), TODAY)
    assert told in refused.value.fix


def test_a_period_may_be_one_day_and_end_today() -> None:
    assert checked_period(TODAY, TODAY, TODAY) == Period(TODAY, TODAY)


@settings(max_examples=examples(60), deadline=None)
@given(st.dates(date(2020, 1, 1), date(2030, 1, 1)), st.integers(0, 4000))
def test_parts_of_a_period_cover_each_day_once(first: date, days: int) -> None:
    period = Period(first, first + timedelta(days=days))
    parts = intervals(period)
    assert parts[0].first == period.first
    assert parts[-1].last == period.last
    assert all(one.first <= one.last for one in parts)
    assert all(one.last + timedelta(days=1) == two.first for one, two in pairwise(parts))
    assert len(parts) <= 62


@settings(max_examples=examples(80), deadline=None)
@given(st.lists(st.integers(0, 40), max_size=6), st.integers(2, 20))
def test_sums_tell_no_small_part(counts: list[int], limit: int) -> None:
    told = cells.total(cells.records(count, limit) for count in counts)
    assert told.low <= sum(counts) <= told.high
    small = [count for count in counts if 0 < count < limit]
    assert told.high - told.low == len(small) * (limit - 2)


@settings(max_examples=examples(120), deadline=None)
@given(st.integers(0, 300), st.integers(1, 300), st.integers(2, 20))
def test_a_share_tells_no_small_count(count: int, people: int, limit: int) -> None:
    count = min(count, people)
    told = cells.share(count / people, people, limit)
    assert told.low - 1e-12 <= count / people <= told.high + 1e-12
    if 0 < count < limit:
        assert told.low == 0
        assert told.high * people >= min(limit, people) - 1e-9
    elif not 0 < people - count < limit:
        assert told.low == told.high


@pytest.mark.parametrize("facts", [None, {"version": 2}])
def test_a_decision_without_the_facts_of_this_version_is_unreadable(facts: dict[str, int] | None) -> None:
    log = Chronicle()
    log.request("other")
    log.decide("other")
    log.publish("own")
    decided = log.rows[1]
    body = json.loads(decided.body)
    body["determined"] = facts and body["determined"] | facts
    report = audited([log.rows[0], decided._replace(body=json.dumps(body)), *log.rows[2:]])
    assert report.chain.unreadable == (2,)
    assert [row.outcome for row in report.requests] == ["none recorded", "released"]
    assert [row.release_id for row in report.files] == [sha("own")]


def test_kinds_of_entries_that_are_not_known_are_counted() -> None:
    rows = busy_quarter().rows
    strange = rows[-1]._replace(sequence=len(rows) + 1, event="certified", at="2026-02-02T00:00:00Z")
    report = audited([*rows, strange, strange._replace(event="reassessed")])
    assert report.chain.other_events == {"certified": 1}
    assert report.reassessments == 1
    assert report.requests == audited(rows).requests


@pytest.mark.parametrize(
    "broken",
    [{"at": "yesterday"}, {"at": None}, {"body": "{"}, {"body": "[]"}, {"body": None}, {"event": 7}, {"actor": None}],
)
def test_a_row_that_cannot_be_read_is_named(broken: dict[str, object]) -> None:
    rows = busy_quarter().rows
    rows[6] = rows[6]._replace(**broken)
    report = audited(rows)
    assert report.chain.unreadable == (7,)
    assert 7 not in {row.entry for row in report.requests}


@pytest.mark.parametrize("decision", [None, 3, "perhaps"])
def test_a_decision_that_is_none_is_unreadable(decision: object) -> None:
    log = Chronicle()
    log.request("one")
    log.decide("one")
    body = json.loads(log.rows[1].body) | {"decision": decision}
    report = audited([log.rows[0], log.rows[1]._replace(body=json.dumps(body))])
    assert report.chain.unreadable == (2,)
    assert report.requests[0].outcome == "none recorded"


def test_times_of_other_zones_are_read_in_utc() -> None:
    rows = busy_quarter().rows
    moved = rows[0]._replace(at="2026-01-01T00:30:00+02:00")
    assert read_history([moved], QUARTER.last).entries[0].at == datetime(2025, 12, 31, 22, 30, tzinfo=UTC)


def test_small_numbers_of_people_stand_nowhere() -> None:
    """Seven records: no figure of them, nor of a gate from which they would follow."""
    log = Chronicle()
    log.publish(
        "few",
        records=7,
        gates=({"id": "released.smallest_class", "comparison": "at least", "measured": 7.0, "threshold": 7.0,
                "passed": True},),
        attacks=({"intruder": "informed", "title": "x", "share": 1 / 7, "low": 0.0257, "high": 0.5131,
                  "baseline": 0.5, "people": 7, "proves_something": False},),
    )  # fmt: skip
    report = log.audit()
    assert report.files[0].records == RecordRange(low=1, high=10)
    assert report.near == ()
    assert report.attacks[0].people == RecordRange(low=1, high=10)
    text = canonical_json(report).decode()
    assert not any(mark in text for mark in ("0.142857", "0.0257", "0.5131", '"measured":"7', ":7.0", ":7,"))


def test_what_the_ledger_holds_beside_stands_in_no_audit() -> None:
    """Paths, that decoys were asked for, the incident's hash and size, whom a trace suspected, commitments, nonces."""
    text = canonical_json(busy_quarter().audit()).decode()
    for row in busy_quarter().rows:
        body = json.loads(row.body)
        for name in ("incident_sha256", "commitment", "nonce", "request_path", "record_sha256"):
            assert str(body.get(name, "nothing of it")) not in text
    for name in ("decoys", "suspected", "total", "commitment"):
        assert f'"{name}"' not in text.replace('"verdict":"decoys"', "")

"""Missed schedules run once, and missed audits are made up, also after a restore from a backup."""

import json
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from flows.service.config import Service, service_of
from flows.service.schedules import Schedule, Schedules, next_due

SUNDAY = datetime(2026, 11, 1, 12, 0, tzinfo=UTC)


@dataclass
class Time:
    now: datetime = SUNDAY

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Time:
    return Time()


@pytest.fixture
def service(tmp_path: Path) -> Service:
    made = service_of(tmp_path / "workspace")
    made.queue.prepare()
    return made


@pytest.fixture
def schedules(service: Service, clock: Time) -> Schedules:
    made = Schedules(service, clock=clock)
    made.prepare()
    return made


def missed(schedules: Schedules) -> list[tuple[Schedule, datetime]]:
    return list(schedules.missed())


def test_cron_is_followed_in_its_time_zone() -> None:
    assert next_due("0 3 * * *", "UTC", SUNDAY) == datetime(2026, 11, 2, 3, 0, tzinfo=UTC)
    assert next_due("0 3 * * *", "Asia/Tokyo", SUNDAY) == datetime(2026, 11, 1, 18, 0, tzinfo=UTC)
    assert next_due("30 0 1 * *", "UTC", SUNDAY) == datetime(2026, 12, 1, 0, 30, tzinfo=UTC)


def test_a_new_service_has_missed_nothing(schedules: Schedules, clock: Time) -> None:
    assert missed(schedules) == []
    clock.now += timedelta(hours=14)
    assert missed(schedules) == [(Schedule.EXPIRE, datetime(2026, 11, 2, 0, 15, tzinfo=UTC))]


def test_five_missed_days_are_one_run(service: Service, schedules: Schedules, clock: Time) -> None:
    clock.now += timedelta(days=5)
    found = missed(schedules)
    assert [name for name, _ in found] == [Schedule.REASSESS, Schedule.EXPIRE]
    assert missed(schedules) == [], "its run has an hour to follow the schedule"
    with schedules.following(Schedule.REASSESS, clock.now) as follows:
        assert follows
    late = SUNDAY + timedelta(days=2)
    with Schedules(service, clock=clock).following(Schedule.REASSESS, late) as follows:
        assert not follows, "Prefect's own late run"
    clock.now += timedelta(hours=2)
    assert [name for name, _ in missed(schedules)] == [Schedule.EXPIRE], "what failed is tried again"


def test_a_run_that_fails_has_not_followed_its_schedule(schedules: Schedules, clock: Time) -> None:
    clock.now += timedelta(days=1)
    with pytest.raises(RuntimeError), schedules.following(Schedule.EXPIRE, clock.now):
        raise RuntimeError
    assert Schedule.EXPIRE in dict(missed(schedules))


def test_two_runs_at_once_are_one(service: Service, schedules: Schedules, clock: Time) -> None:
    clock.now += timedelta(days=1)
    with schedules.following(Schedule.EXPIRE, clock.now) as first:
        assert first
        with Schedules(service, clock=clock).following(Schedule.EXPIRE, clock.now) as second:
            assert not second


def test_no_audit_but_that_of_the_last_month_is_made_in_a_new_workspace(schedules: Schedules) -> None:
    assert schedules.months(date(2026, 11, 1)) == [(date(2026, 10, 1), date(2026, 10, 31))]


def test_missed_audits_are_made_up(service: Service, schedules: Schedules) -> None:
    schedules.audited(date(2026, 7, 31))
    months = [(date(2026, 8, 1), date(2026, 8, 31)), (date(2026, 9, 1), date(2026, 9, 30))]
    assert schedules.months(date(2026, 10, 1)) == months
    (service.workspace.root / "audits" / "audit-2026-08-01-2026-08-31").mkdir(parents=True)
    assert schedules.months(date(2026, 10, 1)) == months[1:], "one is there already"
    schedules.audited(date(2026, 9, 30))
    (service.workspace.root / "audits" / "audit-2026-08-01-2026-08-31").rmdir()
    assert schedules.months(date(2026, 10, 1)) == [], "handed on and removed"


def test_without_a_note_the_audits_that_are_there_say_where_to_go_on(service: Service, schedules: Schedules) -> None:
    for name in ("audit-2026-06-01-2026-06-30", "audit-2026-05-01-2026-05-31", "audit-of-ours"):
        (service.workspace.root / "audits" / name).mkdir(parents=True)
    assert [one[0].month for one in schedules.months(date(2026, 9, 15))] == [7, 8]


def test_a_restored_note_is_from_the_day_of_the_backup(service: Service, schedules: Schedules, clock: Time) -> None:
    note = service.workspace.private / "queue" / "schedules.json"
    kept = note.read_bytes()
    clock.now += timedelta(days=40)
    for name in Schedule:
        with schedules.following(name, clock.now):
            pass
    assert missed(schedules) == []
    note.write_bytes(kept)
    assert [name for name, _ in missed(Schedules(service, clock=clock))] == list(Schedule)


@pytest.mark.parametrize("damage", ["", "[]", '{"expire": "yesterday"}'])
def test_a_damaged_note_is_begun_anew(service: Service, schedules: Schedules, clock: Time, damage: str) -> None:
    note = service.workspace.private / "queue" / "schedules.json"
    note.write_text(damage)
    clock.now += timedelta(days=40)
    assert Schedule.EXPIRE not in dict(missed(schedules))
    schedules.prepare()
    assert set(json.loads(note.read_text())) >= {name.value for name in Schedule}

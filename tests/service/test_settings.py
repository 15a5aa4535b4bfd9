"""Settings are read with every mistake explained, and no value of the file repeated."""

from pathlib import Path

import jsonschema
import pytest

from flows.schemas import service_schema
from tasks.core.errors import RequestError
from tasks.service.settings import DEFAULTS, NewsKind, ServiceSettings, load_settings

SECRET = "https://hooks.example/QJXSECRET"


def read(tmp_path: Path, text: str) -> ServiceSettings:
    path = tmp_path / "service.yaml"
    path.write_text(text)
    return load_settings(path)


def test_the_version_alone_gives_the_defaults(tmp_path: Path) -> None:
    assert read(tmp_path, "schema_version: releasegate/service/1\n") == DEFAULTS
    assert DEFAULTS.schedules.audit == "30 0 1 * *"


def test_every_part_can_be_set(tmp_path: Path) -> None:
    settings = read(
        tmp_path,
        """
schema_version: releasegate/service/1
schedules: {reassess: "0 4 * * mon-fri", expire: null, audit: "*/5 0,12 1 jan-mar *", timezone: Europe/Berlin}
limits: {releases: 3, solvers: 2, queued: 10, attempts: 2}
inbox: {poll_seconds: 0.5, settle_seconds: 4}
orchestrator: {port: 4200, ui: true}
notifications:
  - {variable: RELEASEGATE_NOTIFY_OPERATIONS, events: [blocked, awaiting review]}
  - {variable: RELEASEGATE_NOTIFY_OFFICE, events: [revoked]}
""",
    )
    assert settings.schedules.expire is None
    assert settings.notifications[0].events == (NewsKind.BLOCKED, NewsKind.AWAITING_REVIEW)
    jsonschema.validate(settings.model_dump(mode="json", exclude_none=True), service_schema())


@pytest.mark.parametrize(
    ("line", "place", "told"),
    [
        ("schedules: {expire: every day}", "schedules.expire", "five fields of cron"),
        ("schedules: {timezone: Middle/Earth}", "schedules.timezone", "IANA"),
        ("limits: {releases: 0}", "limits.releases", "at least 1"),
        (f"counting: {{dask: '{SECRET}'}}", "counting.dask", "Running Dask scheduler"),
        (f"page: {{proxies: ['{SECRET}']}}", "page.proxies[0]", "addresses or networks"),
        ("limits: {attempts: 21}", "limits.attempts", "at most 20"),
        ("limits: {release: 1}", "limits.<key 1>", "releases, solvers, queued, attempts or outage_hours"),
        ("inbox: {poll_seconds: fast}", "inbox.poll_seconds", "between two polls"),
        ("notifications: [{variable: RELEASEGATE_NOTIFY_A}]", "notifications[0].events", "a person whom news concerns"),
        ("notifications: [{events: [blocked]}]", "notifications[0].variable", "environment"),
        (f"notifications: [{{variable: '{SECRET}', events: [blocked]}}]", "notifications[0].variable", "environment"),
    ],
)
def test_a_mistake_is_explained_without_its_value(tmp_path: Path, line: str, place: str, told: str) -> None:
    with pytest.raises(RequestError) as wrong:
        read(tmp_path, f"schema_version: releasegate/service/1\n{line}\n")
    (problem,) = wrong.value.problems
    assert (problem.path, problem.line) == (place, 2)
    assert told in problem.expected
    assert "QJXSECRET" not in str(wrong.value)


def test_several_mistakes_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="3 mistakes"):
        read(tmp_path, "limits: {releases: 0}\norchestrator: {port: 99999}\n")


@pytest.mark.parametrize(
    "text", ["", "[1, 2", "- a\n- b\n", "schema_version: [", "limits: {releases: 1, releases: 2}\n"]
)
def test_what_is_no_mapping_of_settings_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(RequestError):
        read(tmp_path, text)


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="cannot be read") as wrong:
        load_settings(tmp_path / "none.yaml")
    assert wrong.value.got == "no such file"

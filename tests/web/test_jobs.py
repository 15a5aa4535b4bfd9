"""Work that a page starts, where it cannot begin or its result is gone."""

import json
from pathlib import Path
from typing import Any

import pytest

from flows.web import jobs as web_jobs
from flows.web import release_pages
from flows.web.evidence import Evidence
from flows.web.jobs import RESULT, STEPS, Job, JobKind, Jobs, JobTerms
from flows.workspace.folders import open_workspace
from flows.workspace.locking import is_locked, try_lock
from tasks.core.errors import WorkspaceError
from tests.support.pages import WAITING, Pages

JOB = Job(JobKind.EXPLAIN, "0" * 64, "university")
ENDED = json.dumps({"at": "2026-03-16T10:00:00+00:00", "ended": True}) + "\n"


@pytest.fixture
def jobs(tmp_path: Path) -> Jobs:
    return Jobs(open_workspace(tmp_path / "workspace"), JobTerms())


def folder_of(tmp_path: Path) -> Path:
    return tmp_path / "workspace/.releasegate/jobs" / JOB.name


def test_work_that_cannot_begin_leaves_its_place_to_others(jobs: Jobs, tmp_path: Path) -> None:
    """Two places; a folder that cannot be made takes neither."""
    folder_of(tmp_path).parent.write_bytes(b"")
    for _ in range(3):
        with pytest.raises(OSError, match="jobs"):
            jobs.start(JOB)


def test_a_result_that_is_gone_is_told(jobs: Jobs, tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    folder.mkdir(parents=True)
    (folder / "job.lock").write_bytes(b"")
    (folder / STEPS).write_text(ENDED)
    state = jobs.state(JOB)
    assert state is not None
    assert (state.is_running, state.html) == (False, "")
    assert state.error["what"] == "the work ended before its result"


def test_work_that_ends_while_it_is_looked_at_has_ended(
    jobs: Jobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = folder_of(tmp_path)
    folder.mkdir(parents=True)
    for name in ("job.lock", STEPS):
        (folder / name).write_bytes(b"")
    (folder / RESULT).write_text("<p>One gate is tight.</p>")

    def ends(lock: Path) -> bool:
        (folder / STEPS).write_text(ENDED)
        return is_locked(lock)

    monkeypatch.setattr(web_jobs, "is_locked", ends)
    state = jobs.state(JOB)
    assert state is not None
    assert (state.is_running, state.error, state.html) == (False, {}, "<p>One gate is tight.</p>")


def test_a_page_whose_ledger_was_read_before_the_work_ended_looks_again(
    pages: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its list could lack what the work recorded."""
    visitor, place = pages.visitor("okafor"), f"/releases/{WAITING}/university"
    folder = pages.workspace.private / "jobs" / Job(JobKind.EXPLAIN, WAITING, "university").name
    folder.mkdir(parents=True)
    (folder / STEPS).write_bytes(b"")
    read = release_pages.evidence

    def ends(*given: Any, **named: Any) -> Evidence:
        found = read(*given, **named)
        (folder / STEPS).write_text(ENDED)
        (folder / RESULT).write_text("<p>One gate is tight.</p>")
        return found

    monkeypatch.setattr(release_pages, "evidence", ends)
    with try_lock(folder / "job.lock"):
        shown = visitor.get(place).text
    assert f'<div id="job-explain" hx-get="{place}"' in shown
    assert "One gate is tight." not in shown


def test_work_that_another_process_does_is_not_begun_twice(jobs: Jobs, tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    folder.mkdir(parents=True)
    (folder / STEPS).write_bytes(b"")
    with try_lock(folder / "job.lock") as taken:
        assert taken
        with pytest.raises(WorkspaceError, match="cannot begin now"):
            jobs.start(JOB)


@pytest.mark.slow
def test_a_page_follows_work_until_it_has_ended(pages: Pages) -> None:
    """A part of the page polls, its links work without scripts; polls use up no token of a form that is shown."""
    visitor, place = pages.visitor("okafor"), f"/releases/{WAITING}/university"
    folder = pages.workspace.private / "jobs" / Job(JobKind.EXPLAIN, WAITING, "university").name
    folder.mkdir(parents=True)
    (folder / STEPS).write_text(json.dumps({"step": "solving the game again"}) + "\n")
    polled = f'<div id="job-explain" hx-get="{place}"'
    headers = {"hx-request": "true", "hx-trigger": "job-explain"}
    with try_lock(folder / "job.lock"):
        shown = visitor.get(place).text
        assert polled in shown
        assert "solving the game again" in shown
        assert f'<noscript> <a href="{place}#explain">Reload the page</a>' in shown
        assert f'action="{place}/explain"' not in shown
        comment = visitor.fields(f"{place}/comment") | {"reason": "Is the agreement renewed yearly?"}
        for _ in range(80):
            assert polled in visitor.get(place, headers=headers).text
    (folder / STEPS).write_text(ENDED)
    (folder / RESULT).write_text("<p>One gate is tight.</p>")
    ended = visitor.get(place, headers=headers).text
    assert polled not in ended
    assert "One gate is tight." in ended
    assert f'action="{place}/explain"' in ended
    assert 'name="once" value=""' not in ended
    assert visitor.post(f"{place}/comment", comment).status_code == 303


def test_the_polls_of_a_page_are_no_use_of_its_session(pages: Pages) -> None:
    visitor = pages.visitor("okafor")
    for _ in range(4):
        pages.time.passes(minutes=5)
        headers = {"hx-request": "true", "hx-trigger": "job-reassess"}
        answer = visitor.get(f"/releases/{WAITING}/university", headers=headers)
    assert answer.status_code == 401

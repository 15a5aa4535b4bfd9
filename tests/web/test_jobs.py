"""Work that a page starts, where it cannot begin or its result is gone."""

import json
from pathlib import Path

import pytest

from flows.locking import held
from flows.web.jobs import STEPS, Job, JobKind, Jobs, JobTerms
from flows.workspace import open_workspace
from tasks.core.errors import WorkspaceError

JOB = Job(JobKind.EXPLAIN, "0" * 64, "university")


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
    (folder / STEPS).write_text(json.dumps({"at": "2026-03-16T10:00:00+00:00", "ended": True}) + "\n")
    state = jobs.state(JOB)
    assert state is not None
    assert (state.is_running, state.html) == (False, "")
    assert state.error["what"] == "the work ended before its result"


def test_work_that_another_process_does_is_not_begun_twice(jobs: Jobs, tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    folder.mkdir(parents=True)
    (folder / STEPS).write_bytes(b"")
    with held(folder / "job.lock") as taken:
        assert taken
        with pytest.raises(WorkspaceError, match="cannot begin now"):
            jobs.start(JOB)

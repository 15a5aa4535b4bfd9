"""The progress of a run, as far as its file tells it."""

import fcntl
from functools import partial
from pathlib import Path

from flows.studio.runs import LOCK, PROGRESS, read_state
from flows.workspace.told_progress import tell_in


def test_there_is_no_run_before_the_first(tmp_path: Path) -> None:
    assert read_state(tmp_path) is None


def test_steps_and_outcome_are_read_as_they_were_told(tmp_path: Path) -> None:
    (tmp_path / LOCK).touch()
    tell = partial(tell_in, tmp_path / PROGRESS)
    tell(request_sha256="ab")
    tell(step="reading the request")
    with (tmp_path / LOCK).open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        running = read_state(tmp_path)
    assert running is not None
    assert running.is_running
    assert [step.text for step in running.steps] == ["reading the request"]
    tell(release_id="cd", recipients=["registry"])
    ended = read_state(tmp_path)
    assert ended is not None
    assert (ended.is_running, ended.request_sha256, ended.release_id, ended.recipients, ended.error) == (
        False, "ab", "cd", ("registry",), {},
    )  # fmt: skip


def test_a_run_that_ended_before_its_outcome_says_so(tmp_path: Path) -> None:
    (tmp_path / LOCK).touch()
    tell_in(tmp_path / PROGRESS, step="risk")
    with (tmp_path / PROGRESS).open("a") as stream:
        stream.write('{"at": "2026-')
    found = read_state(tmp_path)
    assert found is not None
    assert found.error["what"] == "the run ended before its outcome"
    assert len(found.steps) == 1

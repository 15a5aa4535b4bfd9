"""A child process can be rung, and ends with what started it."""

import os
import time
from pathlib import Path

from flows.service.children import Child

LISTENING = """
import sys, time
from flows.server_process import end_with_parent

end_with_parent(int(sys.argv[1]), lambda: print("rung", flush=True))
print("there", flush=True)
time.sleep(60)
"""


def test_a_child_that_is_rung_hears_it_and_one_that_has_ended_does_no_harm(tmp_path: Path) -> None:
    log = tmp_path / "child.log"
    child = Child(["-c", LISTENING, str(os.getpid())], dict(os.environ), log)
    wait_for(log, ["there"])
    child.ring()
    child.ring()
    wait_for(log, ["there", "rung", "rung"])
    child.stop(at_once=True)
    child.ring()
    assert not child.is_alive


def wait_for(log: Path, lines: list[str]) -> None:
    deadline = time.monotonic() + 60
    while log.read_text().split() != lines:
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.02)

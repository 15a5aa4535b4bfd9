"""One process that workers of many commands and runs are forked from: what stages need is imported once.

Each command and run starts such a process of its own elsewhere, which takes three seconds of a processor.
"""

import atexit
import os
import subprocess
import sys
from functools import cache

from tests.support.world import ROOT, command

_SERVER = """
import sys
from multiprocessing import forkserver
from flows.pipeline.workers import start_fork_server
start_fork_server()
print(forkserver._forkserver._forkserver_address, flush=True)
sys.stdin.read()
"""
BRIEFLY = {"PYTHONPATH": os.pathsep.join([str(ROOT / "tests" / "support" / "brief"), str(ROOT)])}
"""In PYTHONPATH it makes the reports of runs brief."""
ADDRESS = "WORKERS_OF_TESTS"
"""The variable with its address, which ``tests/support/brief`` in PYTHONPATH reads."""
OUTAGES_SEEN_SOON = {"OUTAGES_OF_TESTS": "yes"}
"""With the same, a service sees within ten seconds that a server is away, and within one that it is back."""


@cache
def shared_workers() -> dict[str, str]:
    """The variable of the process that all of this process's tests share, whose workers write brief reports."""
    _, usual = command()
    process = subprocess.Popen(
        [sys.executable, "-c", _SERVER], env=usual | BRIEFLY, cwd=ROOT, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    atexit.register(process.stdin.close)
    return {ADDRESS: process.stdout.readline().strip()}

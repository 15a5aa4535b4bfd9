"""The service at rest: seconds from its start to the first healthy answer, and what its processes use while idle."""

import os
import shutil
import time
from pathlib import Path

from flows.workspace.folders import open_workspace
from tests.benchmarks.record import Benchmark, Row
from tests.support.serving import Serving, descendants

_WORK = Path(__file__).parents[2] / "build" / "bench" / "service"
_SETTLE_SECONDS = 20.0
_IDLE_SECONDS = 60.0
_TICKS = os.sysconf("SC_CLK_TCK")


def run() -> Benchmark:
    """A first start in a new workspace, a later one, and a minute without requests."""
    shutil.rmtree(_WORK, ignore_errors=True)
    inbox = _WORK / "inbox"
    inbox.mkdir(parents=True)
    serving = Serving(open_workspace(_WORK / "workspace"), inbox)
    first, started = _start(serving)
    serving.stop()
    later, _ = _start(serving)
    time.sleep(_SETTLE_SECONDS)
    before = _spent(serving)
    time.sleep(_IDLE_SECONDS)
    idle, memory = (_spent(serving) - before) / _IDLE_SECONDS, sum(map(_memory, _processes(serving)))
    serving.stop()
    shutil.rmtree(_WORK)
    rows = [
        Row(figure="first start, to the first healthy answer", ours=first, unit="s"),
        Row(figure="first start, processor time of all processes", ours=started, unit="s"),
        Row(figure="later start, to the first healthy answer", ours=later, unit="s"),
        Row(figure="idle, of one core", ours=100 * idle, unit="%"),
        Row(figure="idle, memory of all processes (PSS)", ours=memory, unit="MiB"),
    ]
    return {"name": "service", "title": "The service without requests", "rows": rows}


def _start(serving: Serving) -> tuple[float, float]:
    """Seconds until it is healthy, by the clock and of processors."""
    began = time.monotonic()
    serving.start()
    serving.wait(lambda: serving.told("the service answers"), "an address")
    serving.wait(lambda: serving.ask("/health")[0] == 200, "health")
    return time.monotonic() - began, _spent(serving)


def _processes(serving: Serving) -> list[int]:
    return [serving.pid, *descendants(serving.pid)]


def _spent(serving: Serving) -> float:
    """Seconds of processors that all processes have used."""
    fields = (Path(f"/proc/{one}/stat").read_text().rsplit(")", 1)[1].split() for one in _processes(serving))
    return sum(int(found[11]) + int(found[12]) for found in fields) / _TICKS


def _memory(process: int) -> float:
    """Proportional share of memory, in MiB: pages in common with others are counted in parts."""
    lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("Pss:")).split()[1]) / 1024

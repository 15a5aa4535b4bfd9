"""Seconds of whole commands, as a user waits for them: processor time of all their processes, and by the clock."""

import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

from tests.benchmarks import adult
from tests.benchmarks.record import Benchmark, Row
from tests.support import world

_WORK = Path(__file__).parents[2] / "build" / "bench" / "commands"
_SMALL = 600
"""Records of the small release."""


def run() -> Benchmark:
    """Help, a check, the example with its three recipients, and a small release to one; the faster of two runs each."""
    shutil.rmtree(_WORK, ignore_errors=True)
    request = _small_request()
    commands = {
        "--help": ("--help",),
        "check of Adult-TN": ("check", str(adult.EXAMPLE)),
        "release of Adult-TN to three recipients": ("release", str(adult.EXAMPLE), "--enrol", "--workspace"),
        f"release of {_SMALL} records to one recipient": ("release", str(request), "--enrol", "--workspace"),
    }
    rows: list[Row] = []
    for name, arguments in commands.items():
        processor, clock = (
            min(figures) for figures in zip(*(_spent(arguments, each) for each in range(2)), strict=True)
        )
        rows += [
            Row(figure=f"{name}, processor", ours=processor, unit="s"),
            Row(figure=f"{name}, by the clock", ours=clock, unit="s"),
        ]
    shutil.rmtree(_WORK)
    return {"name": "commands", "title": "Whole commands, a fresh workspace each", "rows": rows}


def _spent(arguments: tuple[str, ...], number: int) -> tuple[float, float]:
    command = [str(Path(sys.executable).with_name("releasegate")), *arguments]
    if arguments[-1] == "--workspace":
        command.append(str(_WORK / f"workspace-{Path(arguments[1]).parent.name}-{number}"))
    before, started = _children(), time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    clock = time.perf_counter() - started
    if done.returncode not in (0, 3):
        raise RuntimeError(f"releasegate {arguments[0]} ended with {done.returncode}: {done.stderr}")
    return _children() - before, clock


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _small_request() -> Path:
    """The world of the tests with its records repeated under new ids."""
    made = world.make_world(_WORK / "small")
    drawn = world.drawn_rows()
    made.write_rows([drawn[row % len(drawn)] | {"record_id": f"{row:04d}"} for row in range(_SMALL)])
    return made.request

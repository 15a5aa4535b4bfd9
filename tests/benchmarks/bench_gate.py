"""The whole gate as a user runs it, three recipients: Adult-TN, and the same drawn to a million records."""

import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

from tests.benchmarks import adult
from tests.benchmarks.record import Benchmark, Row

_WORK = Path(__file__).parents[2] / "build" / "bench" / "gate"
_MEBIBYTE = 1024 if sys.platform != "darwin" else 1024**2


def run() -> Benchmark:
    """Seconds and peak memory of ``releasegate release`` as a process; the smaller file first: the peak grows."""
    shutil.rmtree(_WORK, ignore_errors=True)
    rows: list[Row] = []
    for name, request in (
        ("32,561", adult.EXAMPLE),
        ("1,000,000", adult.drawn(adult.EXAMPLE, _WORK / "million", 1_000_000)),
    ):
        seconds, peak = _gate(request, _WORK / f"workspace-{name.replace(',', '')}")
        rows += [
            Row(figure=f"{name} records, three recipients, to the PDFs", ours=seconds, unit="s"),
            Row(figure=f"{name} records, peak memory of the largest process", ours=peak, unit="MiB"),
        ]
    shutil.rmtree(_WORK)
    return {"name": "gate", "title": "The gate end to end, a fresh workspace each", "rows": rows}


def _gate(request: Path, workspace: Path) -> tuple[float, float]:
    command = [
        str(Path(sys.executable).with_name("releasegate")),
        "release",
        str(request),
        "--enrol",
        "--workspace",
        str(workspace),
    ]
    started = time.perf_counter()
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - started
    if done.returncode not in (0, 3):
        raise RuntimeError(f"the gate ended with {done.returncode}: {done.stdout}")
    return seconds, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / _MEBIBYTE

"""An audit of a year from a ledger of 10,000 entries: the whole command, and its parts.

The processor's time is given beside the clock's, since other work on the machine makes the latter longer. One thread.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TypeVar

from reports.audit import render_audit
from reports.audit_csv import csv_files
from tasks.audit.build import audit_report
from tasks.audit.history import Period
from tasks.ledger.store import Ledger
from tests.benchmarks.record import Benchmark, Row
from tests.support.audited import long_ledger, write_ledger

ENTRIES = 10_000
LIMIT_SECONDS = 10.0
YEAR = Period(date(2024, 1, 1), date(2024, 12, 31))
_COMMAND = Path(sys.executable).with_name("releasegate")
_MADE = datetime(2025, 1, 7, 9, 0, tzinfo=UTC)
_Result = TypeVar("_Result")


def timed(work: Callable[[], _Result]) -> tuple[_Result, float]:
    """A result and the seconds of the processor that it took."""
    started = time.process_time()
    result = work()
    return result, time.process_time() - started


def command(workspace: Path) -> tuple[float, float]:
    """Seconds of the clock and of the processor that the whole command takes, start and PDF included.

    It runs once before, so that modules are compiled, as they are wherever Python may keep what it has compiled.
    """
    line = [_COMMAND, "audit", "--from", str(YEAR.first), "--to", str(YEAR.last), "-w", workspace, "-o", workspace]
    surroundings = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    surroundings |= {"OMP_NUM_THREADS": "1", "PYTHONPYCACHEPREFIX": str(workspace / "compiled")}
    subprocess.run(line, check=True, capture_output=True, env=surroundings)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    subprocess.run([*line, "--force"], check=True, capture_output=True, env=surroundings)
    seconds = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def run() -> Benchmark:
    """Time the command, then each part in this process."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder)
        log = long_ledger(ENTRIES)
        write_ledger(workspace / "ledger.sqlite", log.rows)
        seconds, processor = command(workspace)
        with Ledger.open(workspace / "ledger.sqlite", create=False) as ledger:
            examined, read = timed(ledger.examine)
    if examined.problem is not None:
        raise RuntimeError("the ledger of the benchmark is broken")
    report, computed = timed(lambda: audit_report(examined, YEAR, noted_outside=0, made_at=_MADE, program="benchmark"))
    _, tables = timed(lambda: csv_files(report))
    _, printed = timed(lambda: render_audit(report))
    if processor > LIMIT_SECONDS:
        raise RuntimeError(f"the audit took {processor:.1f} s of the processor, more than {LIMIT_SECONDS:g} s")
    figures: list[tuple[str, float]] = [
        (f"whole command, {len(log.rows):,} entries, clock", seconds),
        ("the same, processor", processor),
        ("read and verified, processor", read),
        (f"computed: {len(report.requests):,} requests, {len(report.files):,} files, processor", computed),
        ("CSV, processor", tables),
        ("PDF, processor", printed),
    ]
    rows: list[Row] = [{"figure": figure, "ours": value, "unit": "s"} for figure, value in figures]
    return {"name": "audit", "title": "The audit of a year", "rows": rows, "note": f"limit {LIMIT_SECONDS:g} s"}

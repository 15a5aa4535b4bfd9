"""Seconds to render the determinations of Adult-TN, stage alone: the record in, figures drawn, the PDF out."""

import io
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pikepdf

from reports.certificate import render_certificate
from reports.determination import render_determination
from tasks.decision.record import DecisionRecord, Verdict
from tests.benchmarks import adult
from tests.benchmarks.record import Benchmark, Row

_WORK = Path(__file__).parents[2] / "build" / "bench" / "report"
_MOST = 8.0
"""Seconds that a report of 25 pages may take."""
_PAGES = 25


def run() -> Benchmark:
    """Seconds a report, best of three, and for 25 pages; processor time, so that others at work count for little."""
    rows: list[Row] = []
    for record in _records():
        seconds, content = _best(record)
        with pikepdf.open(io.BytesIO(content)) as pdf:
            pages = len(pdf.pages)
        who = f"{record.recipient.id}, {record.decision.value}, {pages} pages"
        rows += [
            Row(figure=f"determination of {who}", ours=seconds, unit="s"),
            Row(figure=f"the same for {_PAGES} pages", ours=seconds * _PAGES / pages, unit="s"),
        ]
        if record.decision is Verdict.APPROVED:
            started = time.process_time()
            render_certificate(record)
            spent = time.process_time() - started
            rows.append(Row(figure=f"certificate of {record.recipient.id}", ours=spent, unit="s"))
    shutil.rmtree(_WORK)
    note = f"processor time; asked for: {_PAGES} pages in {_MOST:g} s"
    return {"name": "report", "title": "Reports of Adult-TN rendered, figures included", "rows": rows, "note": note}


def _best(record: DecisionRecord) -> tuple[float, bytes]:
    seconds, content = [], b""
    for _ in range(3):
        started = time.process_time()
        content = render_determination(record)
        seconds.append(time.process_time() - started)
    return min(seconds), content


def _records() -> list[DecisionRecord]:
    """What the gate decides on the example."""
    shutil.rmtree(_WORK, ignore_errors=True)
    command = [str(Path(sys.executable).with_name("releasegate")), "release", str(adult.EXAMPLE), "--enrol", "--json"]
    done = subprocess.run(
        [*command, "--workspace", str(_WORK)], capture_output=True, text=True, check=False, cwd=adult.EXAMPLE.parents[2]
    )
    if done.returncode not in (0, 3):
        raise RuntimeError(f"the gate ended with {done.returncode}: {done.stdout}")
    bundle = Path(json.loads(done.stdout)["bundle"])
    files = sorted((bundle / "decision").glob("*.json"))
    return [DecisionRecord.model_validate_json(file.read_bytes()) for file in files]

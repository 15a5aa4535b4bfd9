"""The gate and the counting of quasi-identifiers by size of the file: seconds, processor time and memory.

``SCALE`` in the environment is the largest power of ten of records: 6 where it is not given, which takes minutes; 7 for
the gate's ten million, 8 for a hundred million counted. A file that was made before is used again.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.benchmarks.record import Benchmark, Row
from tests.benchmarks.scale_data import example, quasi_identifiers

_ROOT = Path(__file__).parents[2]
_WORK = _ROOT / "build" / "bench" / "scale"
_LARGEST_GATE = 7
_LARGEST = 8
_ONE = ("state-university",)
_ALL = ("state-university", "data-broker", "insurer")
_ALL_FROM = 6
"""Power of ten from which three recipients are measured too."""


def run() -> Benchmark:
    """Measure each size in a process of its own."""
    largest = int(os.environ.get("SCALE", "6"))
    if not 5 <= largest <= _LARGEST:
        raise ValueError(f"SCALE is a power of ten from 5 to {_LARGEST}")
    rows: list[Row] = []
    for power in range(5, largest + 1):
        records = 10**power
        if power <= _LARGEST_GATE:
            for number, recipients in enumerate((_ONE, _ALL) if power >= _ALL_FROM else (_ONE,)):
                name = f"gate-{records}" + "-all" * number
                request = _made(name, lambda folder, n=records, who=recipients: example(folder, n, who))
                whom = f"{len(recipients)} recipients" if number else "one recipient"
                rows += _rows(f"{records:,} × 15 through the gate, {whom}", _measured("gate", request))
        request = _made(f"count-{records}", lambda folder, n=records: quasi_identifiers(folder, n))
        found = _measured("count", request)
        rows += _rows(f"{records:,} × 5 quasi-identifiers counted and scored", found)
        rows.append(Row(figure=f"{records:,}: distinct tuples", ours=found["tuples"]))
    return {"name": "scale", "title": "By size of the file", "rows": rows}


def _made(name: str, make: Callable[[Path], Path]) -> Path:
    folder = _WORK / name
    done = folder / "made"
    if not done.exists():
        make(folder)
        done.touch()
    return folder / "request.yaml"


def _measured(kind: str, request: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.benchmarks.scale_measured", kind, str(request)]
    done = subprocess.run(command, cwd=_ROOT, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _rows(name: str, found: dict[str, Any]) -> list[Row]:
    rows = [
        Row(figure=f"{name}: {step['step']}", ours=step["wall"], unit="s")
        for step in found["steps"]
        if step["wall"] >= 1
    ]
    rows.append(Row(figure=name, ours=found["wall"], unit="s"))
    rows.append(Row(figure=f"{name}, processor time", ours=found["processor"], unit="s"))
    rows.append(Row(figure=f"{name}, peak memory", ours=found["peak_mib"], unit="MiB"))
    return rows

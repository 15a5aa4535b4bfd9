"""Run the benchmarks: ``python -m tests.benchmarks [NAME …]`` runs all ``bench_*.py``, or those named.

Each runs in a process of its own, so that its peak memory is its own. Prints a table a benchmark and writes
``build/bench/<name>.json``. Exit code 1 if any of them failed.
"""

import argparse
import json
import sys
import traceback
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.context import SpawnContext
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from tests.benchmarks.record import Benchmark, Value, machine, measured

_HERE = Path(__file__).parent
_OUTPUT = _HERE.parents[1] / "build" / "bench"


def _shown(value: Value) -> str:
    if value is None:
        return "–"
    return f"{value:,.6g}" if isinstance(value, float) else str(value)


def _table(result: Benchmark, seconds: float, peak: float) -> Table:
    table = Table(title=result.get("title", result["name"]), title_justify="left", caption_justify="left")
    parts = [f"{seconds:.1f} s", f"peak {peak:,.0f} MiB", result.get("note", "")]
    table.caption = " · ".join(part for part in parts if part)
    table.add_column("figure", overflow="fold")
    for column in ("ours", "paper", "peer"):
        table.add_column(column, justify="right")
    table.add_column("unit")
    for row in result["rows"]:
        values = (row["ours"], row.get("paper"), row.get("peer"))
        table.add_row(row["figure"], *(_shown(value) for value in values), row.get("unit", ""))
    return table


def main(arguments: list[str]) -> int:
    """Run what is asked for; 0 when all ran."""
    known = sorted(path.stem for path in _HERE.glob("bench_*.py"))
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description="Reproduce and time the figures.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(name[len("bench_") :] for name in known))
    chosen = [f"bench_{name}" for name in parser.parse_args(arguments).names] or known
    if unknown := sorted(set(chosen) - set(known)):
        parser.error("no such benchmark: " + ", ".join(unknown))
    _OUTPUT.mkdir(parents=True, exist_ok=True)
    console = Console(width=None if sys.stdout.isatty() else 120)
    host = machine()
    console.print(", ".join(f"{key} {value}" for key, value in host.items()), highlight=False, soft_wrap=True)
    failed = False
    spawn = SpawnContext()
    for name in chosen:
        with ProcessPoolExecutor(max_workers=1, mp_context=spawn) as pool:
            try:
                result, seconds, peak = pool.submit(measured, name).result()
            except Exception:
                failed = True
                console.print(f"[bold]{name} failed[/]\n" + traceback.format_exc(), highlight=False)
                continue
        console.print(_table(result, seconds, peak))
        document: dict[str, Any] = {**result, "seconds": seconds, "peak_memory_mib": peak, "machine": host}
        (_OUTPUT / f"{result['name']}.json").write_text(json.dumps(document, indent=2, allow_nan=False) + "\n")
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

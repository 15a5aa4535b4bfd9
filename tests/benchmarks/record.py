"""What a benchmark returns, how a run of one is measured, and the machine it ran on."""

import importlib
import os
import platform
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import NotRequired, TypedDict

_RSS_UNIT = 1 if sys.platform == "darwin" else 1024

Value = float | int | str | None


class Row(TypedDict):
    """One figure: ours beside the paper's and a peer's, None where there is none."""

    figure: str
    ours: Value
    paper: NotRequired[Value]
    peer: NotRequired[Value]
    unit: NotRequired[str]


class Benchmark(TypedDict):
    """The result of a benchmark module's ``run()``; ``name`` is the file written to ``build/bench``."""

    name: str
    rows: list[Row]
    title: NotRequired[str]
    note: NotRequired[str]


def measured(module: str) -> tuple[Benchmark, float, float]:
    """Result, seconds and peak memory in MiB of one benchmark module; runs in the process that is measured."""
    started = time.perf_counter()
    result: Benchmark = importlib.import_module(f"tests.benchmarks.{module}").run()
    seconds = time.perf_counter() - started
    return result, seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _RSS_UNIT / 2**20


def machine() -> dict[str, Value]:
    """Processor, cores, memory, system, Python and the commit that ran."""
    root = Path(__file__).parents[2]
    commit = subprocess.run(["git", "-C", root, "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    return {
        "processor": _first_value(Path("/proc/cpuinfo"), "model name") or platform.processor() or platform.machine(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "commit": commit.stdout.strip() or "unknown",
    }


def _first_value(path: Path, key: str) -> str | None:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(key)), None)

"""``python -m tests.damaged``: damage files of every form at random, and see what ``init`` and ``check`` say."""

import argparse
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing.context import SpawnContext

from tests.damaged.running import listed

_EACH = 50


def main() -> int:
    """Run the mutants; 1 if one ends in anything but a result or a message without data."""
    parser = argparse.ArgumentParser(prog="python -m tests.damaged", description=__doc__)
    parser.add_argument("--times", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=24)
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    totals, started = Counter[str](), time.monotonic()
    with ProcessPoolExecutor(given.processes, mp_context=SpawnContext()) as pool:
        parts = [range(first, min(first + _EACH, given.times)) for first in range(0, given.times, _EACH)]
        for found in pool.map(partial(listed, seed=given.seed), parts):
            for ended in found:
                totals[f"{ended.command} {ended.outcome}"] += 1
                if ended.outcome == "WRONG":
                    print(f"{ended.command} {ended.file}, mutant {ended.number}:\n{ended.output}", flush=True)
    shown = ", ".join(f"{number} {outcome}" for outcome, number in sorted(totals.items()))
    print(f"{given.times} damaged files in {time.monotonic() - started:.0f} s: {shown}")
    return 1 if any("WRONG" in outcome for outcome in totals) else 0


if __name__ == "__main__":
    sys.exit(main())

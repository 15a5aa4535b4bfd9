"""``python -m tests.mutations``: change one thing of careful requests at random, and see what the gate approves."""

import argparse
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing.context import SpawnContext

from tests.mutations.running import run

WRONG = ("UNSAFE", "UNCLEAR")


def main() -> int:
    """Run the mutants; 1 if an unsafe file is approved, or something ends without a clear reason."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutations", description=__doc__)
    parser.add_argument("--times", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--all", action="store_true", help="print every outcome, not only those that are wrong")
    given = parser.parse_args()
    totals, started = Counter[str](), time.monotonic()
    with ProcessPoolExecutor(given.processes, mp_context=SpawnContext()) as pool:
        for ended in pool.map(partial(run, seed=given.seed), range(given.times)):
            totals[ended.outcome] += 1
            if given.all or ended.outcome in WRONG:
                print(f"{ended.outcome}: {ended.base}, {ended.change}: {ended.why}", flush=True)
    shown = ", ".join(f"{number} {outcome}" for outcome, number in sorted(totals.items()))
    print(f"{given.times} mutated requests in {time.monotonic() - started:.0f} s: {shown}")
    return 1 if set(WRONG) & totals.keys() else 0


if __name__ == "__main__":
    sys.exit(main())

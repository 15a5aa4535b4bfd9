"""``python -m tests.crashes --times 50 --seed 1``: kill releases and votes at random moments; say what was found."""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from tests.crashes.campaign import campaign
from tests.crashes.cases import CASES


def main() -> int:
    """Run a campaign; 1 if something did not hold, the folder then being left to be looked at."""
    parser = argparse.ArgumentParser(prog="python -m tests.crashes", description=__doc__)
    parser.add_argument("--times", type=int, default=50, help="kills (50)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=120.0, help="begin nothing more after so long (120)")
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES))
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="releasegate-crashes-"))
    told = campaign(
        folder,
        given.times,
        given.seed,
        cases=given.cases,
        most_seconds=60 * given.minutes,
        say=lambda text: print(text, flush=True),
    )
    seconds = sorted(told.seconds_to_finish) or [0.0]
    print(f"kills               {told.kills.total()} of {given.times}, seed {given.seed}; too late {told.too_late}")
    for moment, count in sorted(told.kills.items()):
        print(f"  {count:3}  {moment}")
    print(f"published bundles   {told.bundles}, all verified" if not told.wrong else "published bundles   see below")
    print(f"to finish           {seconds[len(seconds) // 2]:.1f} s in the middle, {seconds[-1]:.1f} s at most")
    print(f"in all              {told.seconds / 60:.1f} minutes")
    for text in told.wrong:
        print(f"WRONG: {text}")
    if told.wrong:
        print(f"left to be looked at: {folder}")
        return 1
    shutil.rmtree(folder)
    return 0 if told.kills.total() >= given.times else 1


if __name__ == "__main__":
    sys.exit(main())

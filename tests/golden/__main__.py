"""``python -m tests.golden [--update] [NAME …]``: compare the outputs with what is expected, or rewrite that."""

import argparse
import sys

from tests.golden.cases import CASES
from tests.golden.comparing import compared, made, rewrite


def main() -> int:
    """0 where nothing differs."""
    asked = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__)
    asked.add_argument("names", nargs="*", metavar="NAME", help=f"cases, all if none: {', '.join(CASES)}")
    asked.add_argument("--update", action="store_true", help="rewrite what is expected")
    asked.add_argument("--lines", type=int, default=12, help="lines of a difference that are printed of each file")
    given = asked.parse_args()
    unknown = set(given.names) - set(CASES)
    if unknown:
        asked.error(f"no such case: {', '.join(sorted(unknown))}")
    differ = 0
    for name, outputs in made(given.names or CASES):
        if given.update:
            rewrite(name, outputs)
            continue
        for difference in compared(name, outputs):
            differ += 1
            print(difference.shown(given.lines))
    if not given.update:
        print(f"{differ} files differ" if differ else "all outputs are as expected")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())

"""``python -m tests.attacks``: exchange every file at every border of a release, and say what leaves."""

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.attacks.exchanges import HARMLESS, WAYS, Told, quickly
from tests.attacks.openings import attacks, put
from tests.attacks.scenes import VARIANTS, Scene
from tests.attacks.workers import play_all

_SIGNS = {"identical": "=", "refused": "r", "blocked": "b", "unclear": "?", "LEAVES": "X"}


def main() -> int:
    """Run the attacks; 1 if anything leaves other than assessed, or is refused without a clear reason."""
    parser = argparse.ArgumentParser(prog="python -m tests.attacks", description=__doc__)
    parser.add_argument("--variants", nargs="+", choices=list(VARIANTS), default=list(VARIANTS))
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    given = parser.parse_args()
    totals, wrong, started = Counter[str](), list[Told](), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="releasegate-attacks-") as folder, quickly():
        for name in given.variants:
            scene = Scene(Path(folder) / name, VARIANTS[name])
            told = play_all(scene, given.processes)
            _show(scene, told)
            totals.update(one.outcome for one in told)
            wrong += [one for one in told if one.outcome not in HARMLESS]
            if name == VARIANTS["plain"].name:
                totals.update(_opened(scene))
    for one in wrong:
        print(f"{one.outcome}: {one.cell.variant}, {one.cell.thing}, before {one.border}, {one.cell.way}: {one.why}")
    shown = ", ".join(f"{number} {outcome}" for outcome, number in sorted(totals.items()))
    print(f"\n{totals.total()} attacks in {time.monotonic() - started:.0f} s: {shown}; {totals['LEAVES']} leave")
    return 1 if totals.keys() - HARMLESS else 0


def _opened(scene: Scene) -> Counter[str]:
    """Outcomes of everything that is put in an input's place when the gate opens it, a line for each kind."""
    totals = Counter[str]()
    for name in ("request.yaml", "data.csv"):
        found: dict[str, Counter[str]] = {}
        for kind, at in attacks(scene, name):
            outcome, why = put(scene, name, kind, at)
            found.setdefault(kind, Counter())[outcome] += 1
            if outcome not in HARMLESS:
                print(f"{outcome}: {kind} in place of {name}, at openings {sorted(at)}: {why}")
        print(f"\nin place of {name}, at any of the times that it is opened")
        for kind, outcomes in found.items():
            print(f"{kind:36}" + ", ".join(f"{number} {outcome}" for outcome, number in sorted(outcomes.items())))
            totals += outcomes
    return totals


def _show(scene: Scene, told: list[Told]) -> None:
    """A line for each thing: at each border, a sign for each way."""
    print(f"\n{scene.variant.name}: a column for each border, in it a sign for each way ({', '.join(WAYS)})")
    print(
        "signs: " + ", ".join(f"{sign} {outcome}" for outcome, sign in _SIGNS.items()) + ", · not there, or not tried"
    )
    for number, border in enumerate(scene.played.borders, start=1):
        print(f"  {number:2} {border}")
    found = {(one.cell.thing, one.cell.border, one.cell.way): _SIGNS[one.outcome] for one in told}
    columns = range(len(scene.played.borders))
    print(f"{'':36}" + " ".join(f"{number + 1:3}" for number in columns))
    for thing in dict.fromkeys(one.cell.thing for one in told):
        signs = ("".join(found.get((thing, number, way), "·") for way in WAYS) for number in columns)
        print(f"{thing[-35:]:36}{' '.join(signs)}", flush=True)


if __name__ == "__main__":
    sys.exit(main())

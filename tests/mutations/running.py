"""Runs of mutated requests, and what leaves beside what it truly gives away."""

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tasks.core.errors import ReleasegateError, StageCrashed
from tasks.decision.record import Verdict
from tests.attacks.exchanges import quickly
from tests.mutations.bases import BASES, Base, write_tree
from tests.mutations.mutate import Mutant, mutant
from tests.mutations.truth import highest_risk, identifiers_left
from tests.support.engines import in_process
from tests.support.world import World

THRESHOLD = 0.09


@dataclass(frozen=True)
class Ended:
    """What a mutated request came to."""

    base: str
    change: str
    outcome: str
    """Approved, blocked, refused, UNSAFE or UNCLEAR."""
    why: str = ""


def attempt(base: Base, mutated: Mutant, folder: Path) -> Ended:
    """Release under a mutated request; an approval is held against the file that it delivers."""
    world = World(folder / "world")
    base.write(world)
    for name, tree in mutated.trees.items():
        write_tree(world, name, tree)
    world.request.write_text(json.dumps(mutated.document, indent=1))
    try:
        outcome = world.run(in_process(folder))
    except StageCrashed as error:
        return Ended(base.name, mutated.change, "UNCLEAR", error.in_one_line())
    except ReleasegateError as error:
        return Ended(base.name, mutated.change, "refused", error.in_one_line())
    (record,) = outcome.records
    if record.decision is not Verdict.APPROVED:
        return Ended(base.name, mutated.change, "blocked", " ".join(record.reasons))
    (delivered,) = (outcome.bundle / "delivery").glob("*/data.csv")
    named = identifiers_left(base, delivered)
    if named:
        return Ended(base.name, mutated.change, "UNSAFE", f"delivers {', '.join(named)}")
    risk = highest_risk(base, mutated.trees, delivered)
    if risk > THRESHOLD:
        return Ended(base.name, mutated.change, "UNSAFE", f"true risk {risk:.4f}")
    return Ended(base.name, mutated.change, "approved", f"true risk {risk:.4f}")


def run(number: int, seed: int) -> Ended:
    """The mutant of a number, on each base in turn."""
    base = BASES[number % len(BASES)]()
    with tempfile.TemporaryDirectory(prefix="releasegate-mutants-") as folder, quickly():
        return attempt(base, mutant(base, np.random.default_rng([seed, number])), Path(folder))

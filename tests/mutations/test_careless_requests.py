"""Careless, honest requests: blocked for the right reason, approved after the remedy that is named, and recounted."""

import json
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from flows.gate.outcome import Outcome
from tasks.decision.record import Verdict
from tests.attacks.exchanges import quickly
from tests.mutations.bases import BASES, Base, patients, survey, visits
from tests.mutations.truth import highest_risk, identifiers_left
from tests.support.engines import in_process
from tests.support.world import World, releasegate_here

pytestmark = pytest.mark.slow

MOST = 4
"""Columns of the largest set that the approved files are recounted by."""
CARELESS: dict[str, tuple[Callable[[], Base], dict[str, dict[str, Any]], tuple[str, ...]]] = {
    "a survey": (
        survey,
        {"height": {"role": "sensitive"}, "pregnancies": {"role": "insensitive"}},
        ("height has ", "pregnancies reveals sex"),
    ),
    "visits": (
        visits,
        {"zip": {"role": "sensitive", "scan": False}, "born": {"role": "insensitive"}},
        ("zip is a column of the population", "born reveals age"),
    ),
    "patients": (
        patients,
        {"county": {"role": "insensitive"}, "admitted": {"role": "sensitive", "type": "date", "scan": False}},
        ("county", "admitted"),
    ),
}
"""A file, what its requester says too lightly, and what the gate answers."""


@pytest.fixture(scope="module", autouse=True)
def _quick() -> Iterator[None]:
    with quickly():
        yield


def released(world: World, document: dict[str, Any], folder: Path) -> Outcome:
    world.request.write_text(json.dumps(document, indent=1))
    return world.run(in_process(folder))


@pytest.mark.parametrize("name", CARELESS)
def test_careless_is_blocked_and_approved_after_the_remedy(name: str, tmp_path: Path) -> None:
    made, said, reasons = CARELESS[name]
    base, world = made(), World(tmp_path / "world")
    base.write(world)
    document = base.document()
    document["policy"] |= {"singling_out": {"columns": MOST}}
    document["attributes"] |= said
    (record,) = released(world, document, tmp_path).records
    assert record.decision is Verdict.BLOCKED
    told = " ".join(record.reasons)
    assert [reason for reason in reasons if reason not in told] == []

    shown = releasegate_here("check", world.request)
    assert shown.returncode == 3
    for column in said:
        document["attributes"][column] = remedied(base, column, shown.stdout)
    outcome = released(world, document | {"title": "Remedied"}, tmp_path)
    (record,) = outcome.records
    assert record.decision is Verdict.APPROVED, record.reasons
    (delivered,) = (outcome.bundle / "delivery").glob("*/data.csv")
    assert identifiers_left(base, delivered) == ()
    assert highest_risk(base, base.trees, delivered) <= record.policy.risk_threshold
    fact = record.further["singling_out"]
    assert singled_out(delivered, fact["known"]) == fact["singled_out"]


def remedied(base: Base, column: str, shown: str) -> dict[str, Any]:
    """A column's terms after the first remedy that ``check`` names."""
    if f"make {column} a quasi-identifier" in shown:
        return base.attributes[column]
    assert f"withhold {column} (role: withheld)" in shown
    return {"role": "direct identifier"}


def singled_out(delivered: Path, known: list[str]) -> int:
    """Records that are alone by some set of at most four known columns, each set counted by itself."""
    frame = pd.read_csv(delivered, dtype=str, keep_default_na=False)
    alone = np.zeros(len(frame), dtype=bool)
    for size in range(1, MOST + 1):
        for names in combinations([name for name in known if name in frame], size):
            alone |= (frame.groupby(list(names))[names[0]].transform("size") == 1).to_numpy()
    return int(alone.sum())


def test_the_bases_are_those_of_the_mutations() -> None:
    assert {made for made, _, _ in CARELESS.values()} == set(BASES)

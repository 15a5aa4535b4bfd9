"""A world whose population has cells that no record lies in, and three recipients, two of them with decoys."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.support import world as worlds
from tests.support.world import AGES, COLUMNS, QUASI_IDENTIFIERS, Row, World, recipient, write_table

ZIPS = tuple(f"{area}{number:02d}" for area in ("372", "381") for number in range(1, 13))
RECORDS = 900
TERMS = {"classes": 2}
GATES = [{"measure": "transparent.maximum_risk", "at_most": 0.5, "because": "a world of few people"}]
STAKES = {"benefit": 1200, "loss": 60, "cost": 4}
"""An attempt pays on fewer than 15 people."""
POLICY = {
    "gates": GATES,
    "decoys": {"common_from": 2, "kept_per_decoy": 1, "missing_limit": 0.1, "maximum_detectability": 1.0, "seats": 1},
}


@cache
def population_rows() -> tuple[Row, ...]:
    """Counts of people for every combination of values."""
    generator = np.random.default_rng(11)
    return tuple(
        {"age": str(age), "sex": sex, "zip": code, "count": str(generator.integers(1, 12))}
        for age, sex, code in product(AGES, ("F", "M"), ZIPS)
    )


@cache
def drawn_rows() -> tuple[Row, ...]:
    """Records of people drawn from the population: about one cell in two stays empty."""
    generator = np.random.default_rng(23)
    people = population_rows()
    counts = np.array([int(row["count"]) for row in people], dtype=float)
    drawn = generator.choice(len(people), RECORDS, p=counts / counts.sum())
    return tuple(
        {
            "record_id": f"{worlds.ID_MARK}-{number:04d}",
            "age": people[place]["age"],
            "sex": people[place]["sex"],
            "zip": people[place]["zip"],
            "diagnosis": str(generator.choice(worlds.DIAGNOSES)),
            "visits": str(generator.integers(-2, 9)),
            "note": f"=seen in room {generator.integers(2, 9)}",
        }
        for number, place in enumerate(drawn.tolist())
    )


def with_decoys(name: str, **terms: Any) -> dict[str, Any]:
    """A recipient whose copy is to hold decoys."""
    return recipient(name, **({"stakes": STAKES, "decoys": TERMS} | terms))


@contextmanager
def the_same_decoys() -> Iterator[None]:
    """The system's randomness that decoys are drawn from, the same each time, so that what they show does not vary."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("flows.pipeline.work.secrets", SimpleNamespace(token_bytes=lambda size: bytes(range(size))))
        yield


def make_decoyed_world(folder: Path) -> World:
    """Write a world: the clinic and the registry get decoys, the university does not."""
    world = World(folder)
    folder.mkdir(parents=True)
    write_table(world.data, drawn_rows(), COLUMNS)
    write_table(world.population, population_rows(), (*QUASI_IDENTIFIERS, "count"))
    world.write_ages(worlds.age_rows())
    world.ask(
        recipients=[with_decoys("clinic"), with_decoys("registry"), recipient("university", stakes=STAKES)],
        policy=POLICY,
    )
    return world

"""Worlds whose files have dates that leave shifted or relative: visits of patients, and one row a person."""

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from tests.support.longitudinal_world import COLUMNS as VISIT_COLUMNS
from tests.support.longitudinal_world import PERSON, visit_rows
from tests.support.world import COLUMNS, Row, World, drawn_rows, make_world, merged

DATES = ("visit", "discharge", "birth")
SHIFT = {"shift": "person", "days": 30}
GATES = [
    {"measure": "transparent.maximum_risk", "at_most": 0.09, "because": "EMA"},
    {"measure": "dates.alone_share", "at_most": 1, "because": "Measured here, not limited."},
]
VISITS: dict[str, Any] = merged(
    PERSON,
    {
        "attributes": {
            "visit": {"role": "insensitive", "type": "date", "of": "row", "date": SHIFT},
            "discharge": {"role": "insensitive", "type": "date", "of": "row", "date": {"relative_to": "visit"}},
            "birth": {"role": "direct identifier", "type": "date", "date": {"event": "birth"}},
        },
        "policy": {"gates": GATES},
    },
)
"""What a request says of visits with dates."""


def dated_visits(people: int = 240) -> list[Row]:
    """The rows of ``visit_rows``, with a visit, one to nine days until discharge, sometimes missing, and a birth."""
    generator = np.random.default_rng(11)
    rows = []
    for row in visit_rows(people):
        visit = date(2024, 1, 1) + timedelta(days=int(generator.integers(0, 366)))
        while visit.weekday() > 4:
            visit += timedelta(days=1)
        stay = timedelta(days=int(generator.integers(1, 10)))
        discharge = "" if generator.random() < 0.1 else (visit + stay).isoformat()
        born = date(2023 - int(row["age"]), 6, 15).isoformat()
        rows.append({**row, "visit": visit.isoformat(), "discharge": discharge, "birth": born})
    return rows


def make_dated_visits(folder: Path, **changes: Any) -> World:
    """Write a world of visits with dates whose request is approved."""
    world = make_world(folder)
    world.write_rows(dated_visits(), (*VISIT_COLUMNS, *DATES))
    world.ask(**merged(VISITS, changes))
    return world


PERSONS: dict[str, Any] = {
    "attributes": {
        "admitted": {"role": "sensitive", "type": "date", "date": SHIFT},
        "died": {"role": "sensitive", "type": "date", "date": {**SHIFT, "event": "death"}},
    },
    "policy": {"gates": GATES},
}
"""What a request says of one row a person with dates."""


def dated_persons() -> list[Row]:
    """The world's records with an admission, at midnight as some programs write it, and a death of one in five."""
    generator = np.random.default_rng(12)
    rows = []
    for row in drawn_rows():
        admitted = date(2024, 1, 1) + timedelta(days=int(generator.integers(0, 366)))
        died = admitted + timedelta(days=int(generator.integers(0, 100)))
        dates = {"admitted": f"{admitted} 00:00:00", "died": died.isoformat() if generator.random() < 0.2 else ""}
        rows.append({**row, **dates})
    return rows


def make_dated_persons(folder: Path, **changes: Any) -> World:
    """Write a world of people with dates whose request is approved."""
    world = make_world(folder)
    world.write_rows(dated_persons(), (*COLUMNS, "admitted", "died"))
    world.ask(**merged(PERSONS, changes))
    return world

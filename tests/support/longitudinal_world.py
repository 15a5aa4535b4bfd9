"""A world whose file has several rows per person: visits of patients."""

from pathlib import Path
from typing import Any

import numpy as np

from tests.support.world import DIAGNOSES, HARD_NOTES, ID_MARK, Row, World, drawn_rows, make_world, merged

COLUMNS = ("record_id", "patient", "age", "sex", "zip", "blood", "diagnosis", "visits", "note")
OF_ROW = {"of": "row", "known_probability": 0}
PERSON: dict[str, Any] = {
    "dataset": {"person": "patient"},
    "attributes": {
        "record_id": {"of": "row"},
        "patient": {"role": "direct identifier"},
        "blood": {"role": "sensitive", "known_probability": 0},
        "diagnosis": OF_ROW,
        "visits": OF_ROW,
        "note": OF_ROW,
    },
}
"""What a request says of such a file, beside what it says of any other."""


def visit_rows(people: int = 240, seed: int = 5) -> list[Row]:
    """From one to six visits of each patient, in mixed order; the patients are those of the world's records."""
    generator = np.random.default_rng(seed)
    rows = []
    for patient in drawn_rows()[:people]:
        blood = str(generator.choice(["A", "B", "0"]))
        person = {name: patient[name] for name in ("age", "sex", "zip")}
        rows += [
            person
            | {
                "patient": patient["record_id"],
                "blood": blood,
                "diagnosis": str(generator.choice(DIAGNOSES)),
                "visits": str(generator.integers(1, 9)),
                "note": HARD_NOTES[visit],
            }
            for visit in range(int(generator.integers(1, 7)))
        ]
    order = generator.permutation(len(rows))
    return [{"record_id": f"{ID_MARK}-V{number:05d}", **rows[place]} for number, place in enumerate(order)]


def make_visits(folder: Path, **changes: Any) -> World:
    """Write a world of visits whose request is approved for one recipient."""
    world = make_world(folder)
    world.write_rows(visit_rows(), COLUMNS)
    ask_for_visits(world, **changes)
    return world


def ask_for_visits(world: World, **changes: Any) -> Path:
    """Write the request; changes are merged into what it says of persons and rows."""
    return world.ask(**merged(PERSON, changes))

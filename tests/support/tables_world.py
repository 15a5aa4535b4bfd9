"""A world of three tables: patients, their visits, and laboratory values within visits."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from tests.support.world import DIAGNOSES, ID_MARK, Row, World, drawn_rows, make_world, merged, recipient, write_table

PATIENTS = ("patient", "age", "sex", "zip", "blood")
VISITS = ("patient", "visit_id", "year", "ward", "diagnosis")
LABS = ("patient", "visit_id", "lab_id", "test", "result")
WARDS = ("medicine", "surgery")
TESTS = ("sodium", "glucose")
UNKNOWN = {"known_probability": 0}
TERMS: dict[str, Any] = {
    "dataset": {"title": "Patients", "record_id": "patient", "person": "patient"},
    "attributes": {
        "patient": {"role": "pseudonym", "excused": {"by": "A. Steward", "because": "Visits are followed."}},
        "blood": {"role": "sensitive", **UNKNOWN},
    },
    "tables": {
        "visits": {
            "path": "visits.csv",
            "title": "Visits",
            "key": "visit_id",
            "attributes": {
                "visit_id": {"role": "pseudonym"},
                "year": {"role": "insensitive"},
                "ward": {"role": "insensitive"},
                "diagnosis": {"role": "sensitive", **UNKNOWN},
            },
        },
        "labs": {
            "path": "labs.csv",
            "key": "lab_id",
            "within": "visits",
            "attributes": {
                "lab_id": {"role": "direct identifier"},
                "test": {"role": "insensitive"},
                "result": {"role": "sensitive", "type": "integer", **UNKNOWN},
            },
        },
    },
}
"""What a request says of these tables, beside what it says of any file."""
_AGREEMENT = {"id": "DUA", "expires": "2030-12-31", "penalty": 5000, "detection_rate": 0.01}
COPY: dict[str, Any] = {
    "recipients": [
        recipient(name, agreement=_AGREEMENT, stakes={"benefit": 500, "loss": 200, "cost": 20})
        for name in ("university", "registry")
    ],
    "policy": {
        "events": {"known": 2, "people": 12},
        "generalization": {"k_anonymity": {"k": 60, "suppression_limit": 0.05}},
    },
}
"""Terms under which both copies are approved: a person must hide among more than ten."""


def table_rows(people: int = 240, seed: int = 11) -> tuple[list[Row], list[Row], list[Row]]:
    """Patients, their visits (some have none) and the laboratory values of these, each in mixed order."""
    generator = np.random.default_rng(seed)
    patients: list[Row] = []
    visits: list[Row] = []
    labs: list[Row] = []
    for patient in drawn_rows()[:people]:
        name = {"patient": patient["record_id"]}
        values = {column: patient[column] for column in ("age", "sex", "zip")}
        patients.append({**name, **values, "blood": str(generator.choice(["A", "B", "0"]))})
        for _ in range(int(generator.integers(0, 4))):
            visit = {"visit_id": f"{ID_MARK}-V{len(visits):05d}"}
            visits.append(
                {
                    **name,
                    **visit,
                    "year": str(generator.choice(["2024", "2025"])),
                    "ward": str(generator.choice(WARDS, p=[0.8, 0.2])),
                    "diagnosis": str(generator.choice(DIAGNOSES)),
                }
            )
            labs += [
                {
                    **name,
                    **visit,
                    "lab_id": f"{ID_MARK}-L{len(labs) + number:05d}",
                    "test": str(generator.choice(TESTS)),
                    "result": str(int(generator.integers(60, 80))),
                }
                for number in range(int(generator.integers(0, 3)))
            ]
    labs += [{"patient": patients[0]["patient"], "lab_id": f"{ID_MARK}-L99999", "test": "sodium", "result": "70"}]
    for rows in (patients, visits, labs):
        generator.shuffle(rows)  # type: ignore[arg-type]
    return patients, visits, labs


def make_tables(folder: Path, **changes: Any) -> World:
    """Write a world of three tables."""
    world = make_world(folder)
    patients, visits, labs = table_rows()
    write_table(world.data, patients, PATIENTS)
    write_table(folder / "visits.csv", visits, VISITS)
    write_table(folder / "labs.csv", labs, LABS)
    ask_for_tables(world, **changes)
    return world


def ask_for_tables(world: World, **changes: Any) -> Path:
    """Write the request; changes are merged into what it says of the tables."""
    path = world.ask(**merged(merged(TERMS, COPY), changes))
    document = json.loads(path.read_text())
    for name in ("record_id", "diagnosis", "visits", "note"):
        del document["attributes"][name]
    path.write_text(json.dumps(document, indent=1))
    return path

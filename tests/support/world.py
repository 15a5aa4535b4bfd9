"""A small world that the whole gate runs in: data, population, hierarchies, a request, and ways to spoil each.

The data are drawn with a fixed seed; the population covers them. The records hold cells that are hard to keep whole
(line breaks, quotes, text that starts like a formula) and marks that must turn up where they belong and nowhere else.
"""

import csv
import hashlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from flows.gate.outcome import Outcome
from flows.gate.release import run_release
from flows.workspace.actor import Clock, utc_now
from flows.workspace.folders import Workspace
from tests.support.enrolled import enrol_before, enrol_for

ROOT = Path(__file__).parents[2]
NOW = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
COLUMNS = ("record_id", "age", "sex", "zip", "diagnosis", "visits", "note")
QUASI_IDENTIFIERS = ("age", "sex", "zip")
AGES = range(20, 60)
ZIPS = ("37201", "37203", "37206", "38103", "38104", "38106")
DIAGNOSES = ("influenza", "migraine", "asthma", "fracture")
RECORDS = 240
ID_MARK = "QJXIDENTITY"
"""Every record id begins with it; no file of a workspace may hold it once a run has ended."""
SENSITIVE_MARK = "Vexillopathy"
"""A diagnosis; it leaves with the copies of approved recipients and is found nowhere else."""
HARD_NOTES = (
    "two lines\nof text",
    'says "well", leaves',
    '=HYPERLINK("x";"y")',
    "@SUM(1)",
    "+cmd|calc",
    "-cmd|calc",
    "\t=1+1",
    "-0.5",
    "-2+3+cmd|calc",
    "a,b,c",
    "näïve ☃",
)
STAKES = {"benefit": 1200, "loss": 300, "cost": 4}
QUICK_LINKAGE = {"learned": False}
"""Attacks without the search for learned distances, which takes a second a recipient."""
WHOLE_CELLS: dict[str, Any] = {"generalization": {"method": "no-attack-partition"}}
"""Whole cells in place of the remainder classes that the default method makes."""
PENALTY = {"penalty": 2000, "detection_rate": 0.2}
"""An attempt costs 400 in the mean, more than the 300 that success brings; without it groups of 75 are worth trying."""

Row = dict[str, str]


def recipient(name: str, *, expires: str = "2030-12-31", **terms: Any) -> dict[str, Any]:
    """A recipient of a request; further terms by name."""
    return {
        "id": name,
        "organisation": f"The {name}",
        "purpose": "research",
        "agreement": {"id": f"DUA-{name}", "expires": expires} | PENALTY,
        "stakes": STAKES,
    } | terms


UNIVERSITY = recipient("university")
BROKER = recipient("broker", method="no-attack")
"""Blocked: an informed recipient would attack what per-record No-Attack leaves."""
LAPSED = recipient("lapsed", expires="2025-12-31")


@cache
def drawn_rows() -> tuple[Row, ...]:
    """The records, the same each time."""
    generator = np.random.default_rng(20260302)
    rows = [
        {
            "record_id": f"{ID_MARK}-{number:04d}",
            "age": str(generator.choice(AGES)),
            "sex": str(generator.choice(["F", "M"])),
            "zip": str(generator.choice(ZIPS)),
            "diagnosis": str(generator.choice(DIAGNOSES)),
            "visits": str(generator.integers(-2, 9)),
            "note": HARD_NOTES[number] if number < len(HARD_NOTES) else f"seen in room {generator.integers(2, 9)}",
        }
        for number in range(RECORDS)
    ]
    rows[17]["diagnosis"] = SENSITIVE_MARK
    return tuple(rows)


@cache
def population_rows() -> tuple[Row, ...]:
    """Counts of people for every combination of values."""
    generator = np.random.default_rng(7)
    return tuple(
        {"age": str(age), "sex": sex, "zip": code, "count": str(generator.integers(4, 60))}
        for age, sex, code in product(AGES, ("F", "M"), ZIPS)
    )


def age_rows() -> list[list[str]]:
    """The hierarchy of ages in ARX form."""
    return [[str(age), f"{age // 5 * 5}-{age // 5 * 5 + 4}", f"{age // 10 * 10}s", "*"] for age in AGES]


@dataclass(frozen=True)
class World:
    """A folder with a request and what it names, and a workspace beside it."""

    folder: Path

    @property
    def data(self) -> Path:
        return self.folder / "data.csv"

    @property
    def population(self) -> Path:
        return self.folder / "population.csv"

    @property
    def ages(self) -> Path:
        return self.folder / "age.csv"

    @property
    def request(self) -> Path:
        return self.folder / "request.yaml"

    @property
    def workspace(self) -> Workspace:
        return Workspace(self.folder.parent / "workspace")

    def ask(self, **changes: Any) -> Path:
        """Write the request with some parts changed; mappings are merged, anything else is replaced.

        A changed policy has a version of its own, unless one is given.
        """
        document = merged(_document(), changes)
        policy = changes.get("policy", {})
        if isinstance(policy, dict) and policy and "version" not in policy:
            document["policy"]["version"] = "1-" + hashlib.sha256(repr(policy).encode()).hexdigest()[:8]
        # JSON is YAML, but for numbers that are none.
        self.request.write_text(json.dumps(document, indent=1, ensure_ascii=False).replace(": NaN", ": .nan"))
        return self.request

    def enrol(self, clock: Clock = utc_now) -> None:
        """Enrol what the request needs."""
        enrol_for(self.request, self.workspace.root, clock=clock)

    def write_rows(self, rows: list[Row] | tuple[Row, ...], columns: tuple[str, ...] = COLUMNS) -> None:
        """Write the microdata."""
        write_table(self.data, rows, columns)

    def spoil(self, **cells: Mapping[int, str]) -> None:
        """Change single cells: a mapping from row position, counted from 0, to text, for each column."""
        rows = [dict(row) for row in drawn_rows()]
        for column, changes in cells.items():
            for row, cell in changes.items():
                rows[row][column] = cell
        self.write_rows(rows)

    def uncover(self, *positions: int) -> None:
        """Take the people out of the population who have the quasi-identifiers of some records."""
        gone = [tuple(drawn_rows()[row][name] for name in QUASI_IDENTIFIERS) for row in positions]
        people = [row for row in population_rows() if tuple(row[name] for name in QUASI_IDENTIFIERS) not in gone]
        write_table(self.population, people, (*QUASI_IDENTIFIERS, "count"))

    def write_ages(self, rows: list[list[str]]) -> None:
        """Write the hierarchy of ages."""
        self.ages.write_text("".join(";".join(row) + "\n" for row in rows))

    def run(self, engine: Any, workspace: Path | None = None, **options: Any) -> Outcome:
        """Enrol what the request needs, and run the gate in this process."""
        root, terms = workspace or self.workspace.root, {"clock": lambda: NOW} | options
        enrol_for(self.request, root, terms.get("roots", ()), terms["clock"])
        return run_release(self.request, root, engine=engine, **terms)


def make_world(folder: Path) -> World:
    """Write a world whose request is approved for one recipient."""
    world = World(folder)
    folder.mkdir(parents=True)
    world.write_rows(drawn_rows())
    write_table(world.population, population_rows(), (*QUASI_IDENTIFIERS, "count"))
    world.write_ages(age_rows())
    world.ask()
    return world


def write_table(path: Path, rows: list[Row] | tuple[Row, ...], columns: tuple[str, ...]) -> None:
    """Write rows as CSV."""
    with path.open("w", newline="") as lines:
        writer = csv.DictWriter(lines, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _document() -> dict[str, Any]:
    return {
        "schema_version": "releasegate/request/1",
        "title": "Visits",
        "requested_by": "a.steward",
        "dataset": {"path": "data.csv", "title": "Patients", "source": "drawn", "record_id": "record_id"},
        "attributes": {
            "record_id": {"role": "direct identifier"},
            "age": {"role": "quasi-identifier", "type": "integer", "hierarchy": {"file": "age.csv"}},
            "sex": {"role": "quasi-identifier", "hierarchy": {"groups": {"levels": [{"*": ["F", "M"]}]}}},
            "zip": {"role": "quasi-identifier", "hierarchy": {"prefixes": {"keep": [3]}}, "safe_harbor": "zip"},
            "diagnosis": {"role": "sensitive", "known_probability": 0},
            "visits": {"role": "insensitive", "type": "integer", "known_probability": 0},
            "note": {"role": "insensitive", "known_probability": 0},
        },
        "population": {"path": "population.csv", "source": "drawn"},
        "recipients": [UNIVERSITY],
        "policy": {
            "id": "standard",
            "version": "1",
            "presence": "unknown",
            "generalization": {"adversary": "one-shot"},
            "linkage": QUICK_LINKAGE,
        },
    }


def merged(one: Any, other: Any) -> Any:
    """A document with another one's parts in place of its own; mappings are merged."""
    if not (isinstance(one, dict) and isinstance(other, dict)):
        return other
    both = {name: merged(part, other[name]) if name in other else part for name, part in one.items()}
    return both | {name: part for name, part in other.items() if name not in one}


def command(*arguments: str | Path) -> tuple[list[str], dict[str, str]]:
    """The command line and environment of ``releasegate`` in a process of its own."""
    ours = ("PREFECT_", "RELEASEGATE_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    environment["PYTHONPATH"] = str(ROOT)
    line = [sys.executable, "-c", "from flows.cli import main; main()", *map(str, arguments)]
    return line, environment


def releasegate(
    *arguments: str | Path, environment: Mapping[str, str] | None = None, **options: Any
) -> "subprocess.CompletedProcess[str]":
    """Run the command in a process of its own; what its request needs is enrolled before."""
    enrol_before(arguments)
    line, usual = command(*arguments)
    return subprocess.run(
        line,
        env=usual | dict(environment or {}),
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        **options,
    )


def releasegate_here(*arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    """The same command in this process, which has imported what it needs: seconds sooner."""
    from flows.cli.app import main

    enrol_before(arguments)
    line, out, err, code = ["releasegate", *map(str, arguments)], io.StringIO(), io.StringIO(), 0
    with patch.object(sys, "argv", line), redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else int(left.code is not None)
    return subprocess.CompletedProcess(line, code, out.getvalue(), err.getvalue())

"""Columns that tell of people: blocked, and approved with the remedy that `check` names."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reports.model.numbers import risk
from tasks.decision.record import Verdict
from tests.support.brief_reports import whole_report
from tests.support.examples import quick_and_slow
from tests.support.world import (
    COLUMNS,
    QUASI_IDENTIFIERS,
    WHOLE_CELLS,
    Row,
    World,
    drawn_rows,
    make_world,
    population_rows,
    write_table,
)

EXCUSE = {"excused": {"by": "Dana Whitfield", "because": "Recipients have it from us already."}}
WITHHOLD: dict[str, Any] = {"role": "withheld", "known_probability": None}
Cells = Callable[[int, Row, np.random.Generator], dict[str, str]]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path / "world")


def dead(number: int) -> bool:
    return number % 3 == 0


CASES: dict[str, tuple[Cells, dict[str, dict[str, Any]], str]] = {
    "year of birth beside age": (
        lambda _n, row, draw: {"born": str(2020 - int(row["age"]) - int(draw.integers(2)))},
        {"born": {"role": "insensitive", "type": "integer"}},
        "born reveals age",
    ),
    "postcode beside generalized postcode": (
        lambda _n, row, _draw: {"practice": row["zip"]},
        {"practice": {"role": "insensitive"}},
        "practice reveals zip",
    ),
    "pregnancies tell the sex that is hidden": (
        lambda _n, row, draw: {"pregnancies": str(draw.poisson(1.5) if row["sex"] == "F" else 0)},
        {"pregnancies": {"role": "insensitive", "type": "integer"}},
        "pregnancies reveals sex",
    ),
    "year of death tells a death that is withheld": (
        lambda n, _row, draw: {"death": str(dead(n)), "died": str(draw.integers(2001, 2009)) if dead(n) else ""},
        {"death": WITHHOLD, "died": {"role": "sensitive"}},
        "died reveals death",
    ),
    "parts of a date that is withheld": (
        lambda n, _row, draw: {"seen": f"20{10 + n % 7}-0{draw.integers(1, 10)}-11", "in": str(2010 + n % 7)},
        {"seen": {"type": "date"} | WITHHOLD, "in": {"role": "insensitive", "type": "integer"}},
        "in reveals year of seen",
    ),
    "follows from a quasi-identifier": (
        lambda _n, row, _draw: {"grown": str(int(row["age"]) >= 40)},
        {"grown": {"role": "insensitive"}},
        "grown follows from age",
    ),
    "follows from two quasi-identifiers": (
        lambda _n, row, _draw: {"group": str((int(row["zip"]) + (row["sex"] == "F")) % 2)},
        {"group": {"role": "insensitive"}},
        "group follows from sex and zip",
    ),
    "is told by two together": (
        lambda n, row, _draw: {"one": str(n % 2), "two": str(((row["sex"] == "F") + n) % 2)},
        {"one": {"role": "insensitive"}, "two": {"role": "insensitive"}},
        "one and two reveal sex",
    ),
    "is the sum of two": (
        lambda n, row, _draw: {"begun": str(n % 17), "lasts": str(int(row["age"]) - n % 17)},
        {"begun": {"role": "sensitive", "type": "integer"}, "lasts": {"role": "insensitive", "type": "integer"}},
        "begun and lasts reveal age by their sum or difference",
    ),
    "is stated to be unknown though it is named education": (
        lambda _n, _row, draw: {"education": f"level {draw.integers(4)}"},
        {"education": {"role": "insensitive"}},
        "education has “education” in its name or description, which others usually know",
    ),
    "is a town of which the population says nothing": (
        lambda _n, _row, draw: {"town": f"town {draw.integers(4)}"},
        {"town": {"role": "insensitive", "known_probability": None}},
        "town has “town” in its name or description, of which the population has no column",
    ),
    "nearly unique text": (
        lambda n, _row, _draw: {"mark": f"mark {chr(97 + n % 26)}{chr(97 + n // 26)}"},
        {"mark": {"role": "insensitive"}},
        "as many distinct values as records",
    ),
}

QUICK = {
    "year of birth beside age",
    "year of death tells a death that is withheld",
    "follows from two quasi-identifiers",
    "is stated to be unknown though it is named education",
    "is a town of which the population says nothing",
    "nearly unique text",
}
"""One that a column undoes, one that follows and one of values that are nearly unique; what is found of each column is
pinned in tests/assessments/columns."""


def widened(world: World, cells: Cells, attributes: dict[str, dict[str, Any]]) -> None:
    draw = np.random.default_rng(5)
    rows = [row | cells(number, row, draw) for number, row in enumerate(drawn_rows())]
    world.write_rows(rows, (*COLUMNS, *attributes))


def asked(world: World, attributes: dict[str, dict[str, Any]], **changes: Any) -> None:
    unknown = {
        name: one if one["role"] == "direct identifier" else {"known_probability": 0} | one
        for name, one in attributes.items()
    }
    world.ask(attributes=unknown, **{"policy": WHOLE_CELLS} | changes)


def judged(world: World, engine: Any) -> tuple[Verdict, str]:
    (record,) = world.run(engine).records
    return record.decision, " ".join(record.reasons)


@pytest.mark.slow
@pytest.mark.parametrize("case", quick_and_slow(QUICK, CASES))
def test_what_tells_of_people_is_blocked_until_the_remedy_is_taken(
    case: str, world: World, engine: Any, releasegate: Any
) -> None:
    cells, attributes, finding = CASES[case]
    widened(world, cells, attributes)
    asked(world, attributes)
    found = releasegate("check", world.request, "--workspace", world.workspace.root, "--json")
    assert found.code == 3
    named = {one["name"]: one for one in found.document["columns"]}
    assert any(finding in sentence for one in named.values() for sentence in one["finding"]), named
    column = found.document["unplaced"][0]
    assert f"withhold {column} (role: withheld)" in named[column]["remedy"]
    verdict, reasons = judged(world, engine)
    assert verdict is Verdict.BLOCKED
    assert finding in reasons

    asked(world, attributes | {column: attributes[column] | WITHHOLD})
    assert judged(world, engine)[0] is Verdict.APPROVED
    excused = attributes | {column: attributes[column] | EXCUSE}
    if hidden := [name for name, one in attributes.items() if one["role"] == "withheld"]:
        asked(world, excused)
        verdict, reasons = judged(world, engine)
        assert verdict is Verdict.BLOCKED
        assert "state “known_probability: 0” under" in reasons
        excused |= {name: attributes[name] | {"known_probability": 0} for name in hidden}
    asked(world, excused)
    (record,) = world.run(engine).records
    closed = {gate.id: gate for gate in record.gates if not gate.passed}
    assert "columns.unplaced" not in closed
    undone = case.startswith(("year of birth", "postcode", "pregnancies", "is told by two", "is the sum"))
    assert record.decision is (Verdict.BLOCKED if undone else Verdict.APPROVED)
    assert all("whole released row" in gate.because for gate in closed.values())


def test_words_of_a_withheld_category_are_no_identifiers(world: World, releasegate: Any) -> None:
    """“Other” is in both columns of the same people, which is no name that leaked."""
    kin = ("Husband", "Wife", "Own child", "Other relative")

    def cells(number: int, _row: Row, draw: np.random.Generator) -> dict[str, str]:
        other = number % 24 == 0
        job = "Other service" if other else str(draw.choice(["Sales", "Craft", "Farming"]))
        return {"kin": kin[3] if other else kin[number % 3], "job": job}

    attributes = {"kin": WITHHOLD, "job": {"role": "insensitive"}}
    widened(world, cells, attributes)
    asked(world, attributes)
    found = releasegate("check", world.request, "--workspace", world.workspace.root, "--json")
    assert [one for one in found.document["validation"]["checks"] if not one["passed"]] == []


@pytest.mark.slow
def test_a_nearly_unique_number_is_masked(world: World, engine: Any, releasegate: Any) -> None:
    attributes = {"cost": {"role": "insensitive", "type": "integer"}}
    widened(world, lambda _n, _row, draw: {"cost": str(draw.integers(1000, 9000))}, attributes)
    asked(world, attributes)
    found = releasegate("check", world.request, "--workspace", world.workspace.root, "--json")
    (one,) = found.document["columns"]
    assert one["remedy"].startswith("mask cost (masking: attributes: [cost], method: individual-ranking, k: 5)")
    assert judged(world, engine)[0] is Verdict.BLOCKED
    weak = {"attributes": ["cost"], "method": "additive-noise", "noise": 1e-6}
    asked(world, attributes, masking=[weak])
    assert releasegate("check", world.request, "--workspace", world.workspace.root, "--json").document["unplaced"]
    asked(world, attributes, masking=[{"attributes": ["cost"], "method": "individual-ranking", "k": 5}])
    assert "distinct values as records" not in judged(world, engine)[1]
    found = releasegate("check", world.request, "--workspace", world.workspace.root, "--json")
    assert (found.code, found.document["unplaced"]) == (0, [])


@pytest.mark.slow
def test_what_the_population_has_becomes_a_quasi_identifier(world: World, engine: Any, releasegate: Any) -> None:
    attributes: dict[str, dict[str, Any]] = {"smoker": {"role": "sensitive"}}
    widened(world, lambda _n, _row, draw: {"smoker": str(draw.choice(["yes", "no"]))}, attributes)
    people = [row | {"smoker": answer} for row in population_rows() for answer in ("yes", "no")]
    write_table(world.population, people, (*QUASI_IDENTIFIERS, "smoker", "count"))
    asked(world, attributes)
    found = releasegate("check", world.request, "--workspace", world.workspace.root, "--json")
    (one,) = found.document["columns"]
    assert one["finding"] == ["smoker is a column of the population"]
    assert one["remedy"].startswith("make smoker a quasi-identifier")
    assert judged(world, engine)[0] is Verdict.BLOCKED
    hierarchy = {"groups": {"levels": [{"*": ["yes", "no"]}]}}
    world.ask(attributes={"smoker": {"role": "quasi-identifier", "hierarchy": hierarchy}})
    assert judged(world, engine)[0] is Verdict.APPROVED


def test_nothing_is_found_of_columns_that_chance_alone_relates(world: World, releasegate: Any) -> None:
    names = [f"column{number}" for number in range(12)]
    attributes: dict[str, dict[str, Any]] = {name: {"role": "insensitive"} for name in names}
    sizes = (2, 2, 3, 5, 8, 13, 21, 34, 55, 70, 80, 90)
    cells: Cells = lambda _n, _row, draw: {  # noqa: E731
        name: f"value {draw.integers(size)}" for name, size in zip(names, sizes, strict=True)
    }
    widened(world, cells, attributes)
    asked(world, attributes)
    found = releasegate("check", world.request, "--workspace", world.workspace.root, "--json")
    assert (found.code, found.document["columns"]) == (0, [])


def test_generalization_that_an_excused_column_undoes_does_not_pass(world: World, engine: Any) -> None:
    """Ages are released in groups; with the exact age beside them in a column that is excused, classes are by year."""
    attributes = {"years": {"role": "insensitive", "type": "integer"}}
    widened(world, lambda _n, row, _draw: {"years": row["age"]}, attributes)
    asked(world, attributes | {"years": attributes["years"] | WITHHOLD})
    (before,) = world.run(engine).records
    asked(world, attributes | {"years": attributes["years"] | EXCUSE})
    (after,) = world.run(engine).records
    figures = [{gate.id: gate for gate in one.gates}["transparent.maximum_risk"] for one in (before, after)]
    assert before.decision is Verdict.APPROVED
    assert figures[1].alone == figures[0].measured
    assert figures[1].measured > figures[0].measured
    assert "whole released row leaves: years reveals" in figures[1].because
    assert figures[1].columns == ("years",)
    text = whole_report(after).decode()
    assert f"With what years also reveals, it is up to {risk(figures[1].measured)}." in text
    assert "the same, with what years also reveals" in text

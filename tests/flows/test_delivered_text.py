"""Text of a delivery: nothing in it that a spreadsheet runs, and no value of a person that was generalized away."""

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flows.incidents.incident_file import IncidentSource, read_incident
from tasks.core.errors import DataError, RequestError, StageFailed
from tests.support.search import files_holding
from tests.support.world import COLUMNS, QUASI_IDENTIFIERS, World, age_rows, drawn_rows, population_rows, write_table

RENAMED = {"sex": "@sex", "zip": "+zip", "note": "=note"}
SEXES = {"F": "=F", "M": "-M|x"}
NUMBER = re.compile(r"-[0-9.]+(e[0-9]+)?")
K_ANONYMOUS = {"policy": {"generalization": {"method": "k-anonymity", "k_anonymity": {"k": 12}}}}
RARE = "38199"


def renamed(row: dict[str, str]) -> dict[str, str]:
    return {RENAMED.get(name, name): SEXES.get(cell, cell) if name == "sex" else cell for name, cell in row.items()}


@pytest.fixture
def formulas(world: World) -> World:
    """The world with formulas for names of columns, values, groups and descriptions."""
    columns = tuple(RENAMED.get(name, name) for name in COLUMNS)
    write_table(world.data, [renamed(row) for row in drawn_rows()], columns)
    write_table(world.population, [renamed(row) for row in population_rows()], (*columns[1:4], "count"))
    world.write_ages([[row[0], f"=SUM({row[1]})", f"-{row[2]}", row[3]] for row in age_rows()])
    asked = json.loads(world.ask(delivery_format="csv", **K_ANONYMOUS).read_text())
    asked["attributes"]["sex"]["hierarchy"]["groups"]["levels"] = [{"*": list(SEXES.values())}]
    asked["attributes"]["note"]["description"] = "=HYPERLINK(1)"
    asked["attributes"] = {RENAMED.get(name, name): one for name, one in asked["attributes"].items()}
    asked["dataset"] |= {"title": "@SUM(1)", "source": "+1+1"}
    world.request.write_text(json.dumps(asked))
    return world


def cells_of(path: Path) -> Iterator[str]:
    if path.suffix == ".json":
        yield from texts_in(json.loads(path.read_bytes()))
        return
    with path.open(newline="", encoding="utf-8") as lines:
        for row in csv.reader(lines, delimiter=";" if path.parent.name == "hierarchies" else ","):
            yield from row


def texts_in(document: Any) -> Iterator[str]:
    if isinstance(document, str):
        yield document
    elif isinstance(document, dict | list):
        for part in document.values() if isinstance(document, dict) else document:
            yield from texts_in(part)


@pytest.mark.slow
def test_no_text_of_a_delivery_is_run_by_a_spreadsheet(formulas: World, engine: Any, releasegate: Any) -> None:
    made = formulas.run(engine)
    assert [record.decision.value for record in made.records] == ["approved"]
    delivery = made.bundle / "delivery" / "university"
    cells = {cell for path in delivery.rglob("*") if path.is_file() for cell in cells_of(path)}
    assert {"'@sex", "'+zip", "'=note", "'=HYPERLINK(1)", "'@SUM(1)", "'+1+1"} <= cells
    assert [cell for cell in cells if cell[:1] in "=+-@\t\r\n" and cell and not NUMBER.fullmatch(cell)] == []
    assert any(cell.startswith(("'=SUM", "'-", "'=F")) for cell in cells)
    incident = read_incident(IncidentSource(delivery / "data.csv"), ("age", "@sex", "+zip"))
    assert {"age", "@sex", "+zip", "=note"} <= set(incident.frame.columns)
    assert set(incident.frame["@sex"]) <= {"=F", "-M|x", "*"}
    workspace = ("--workspace", formulas.workspace.root)
    assert releasegate("verify", made.bundle).code == 0
    told = releasegate("reassess", "--all", *workspace, "--json")
    assert told.code == 0, told.out
    assert "blocked" not in told.out


def listed(delivery: Path, name: str) -> list[list[str]]:
    with (delivery / "hierarchies" / f"{name}.csv").open(newline="", encoding="utf-8") as lines:
        return list(csv.reader(lines, delimiter=";"))


def rare_in_the_file(world: World) -> None:
    """One person of the data has a ZIP code of their own, as nearly nobody of the population."""
    world.spoil(zip={3: RARE})
    some = [{"age": str(age), "sex": sex, "zip": RARE, "count": "1"} for age in range(20, 60) for sex in "FM"]
    write_table(world.population, [*population_rows(), *some], (*QUASI_IDENTIFIERS, "count"))


def test_a_value_that_was_generalized_away_is_nowhere_in_the_delivery(world: World, engine: Any) -> None:
    rare_in_the_file(world)
    world.ask(**K_ANONYMOUS)
    made = world.run(engine)
    assert [record.decision.value for record in made.records] == ["approved"]
    delivery = made.bundle / "delivery" / "university"
    assert files_holding(delivery, RARE) == []
    with (delivery / "data.csv").open(newline="", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    for name in QUASI_IDENTIFIERS:
        told = listed(delivery, name)
        assert {row[0] for row in told} == {row[name] for row in rows}
        assert len({len(row) for row in told}) == 1
        assert {row[-1] for row in told} == {"*"}


@pytest.mark.slow
def test_the_dictionary_has_the_labels_of_what_occurs(world: World, engine: Any) -> None:
    """Of values in the file alone, marked as they are; a label that identifies somebody blocks."""
    rare_in_the_file(world)
    codes = {"F": "=a woman", "M": "a man", "X": "Hapax"}
    labels = {"sex": codes, "zip": {RARE: "Quxville"}, "visits": {"-2": "lost", "99": "Hapax"}}
    asked = json.loads(world.ask(**K_ANONYMOUS).read_text())
    for name, given in labels.items():
        asked["attributes"][name]["labels"] = given
    world.request.write_text(json.dumps(asked))
    delivery = world.run(engine).bundle / "delivery" / "university"
    assert files_holding(delivery, "Hapax") == files_holding(delivery, "Quxville") == []
    columns = json.loads((delivery / "dictionary.json").read_bytes())["columns"]
    told = {one["name"]: one["labels"] for one in columns if "labels" in one}
    assert told == {"sex": {"F": "'=a woman", "M": "a man"}, "visits": {"-2": "lost"}}
    asked["attributes"]["sex"]["labels"]["F"] = "615-555-0100"
    world.request.write_text(json.dumps(asked))
    with pytest.raises(DataError, match="leave with the values look like identifiers") as caught:
        world.run(engine)
    assert caught.value.where == "attributes.sex.labels"
    assert "615-555-0100" not in str(caught.value)


def test_each_value_goes_on_with_the_groups_that_hold_it(world: World, engine: Any) -> None:
    made = world.run(engine)
    delivery = made.bundle / "delivery" / "university"
    whole = {row[0]: row for row in age_rows()}
    for row in listed(delivery, "age"):
        if row[0] in whole:
            assert row == whole[row[0]]
        else:  # a group stands for itself below its own level
            level = max(place for place, label in enumerate(row) if label == row[0])
            member = next(one for one in whole.values() if row[0] in one)
            assert row == [row[0]] * level + member[level:]


def test_a_domain_that_is_declared_public_is_listed_in_full(world: World, engine: Any) -> None:
    asked = json.loads(world.ask(**K_ANONYMOUS).read_text())
    asked["attributes"]["sex"]["hierarchy"]["public"] = True
    asked["attributes"]["age"]["hierarchy"] = {"intervals": {"minimum": 18, "maximum": 65, "widths": [4, 8]}}
    world.request.write_text(json.dumps(asked))
    delivery = world.run(engine).bundle / "delivery" / "university"
    assert listed(delivery, "sex") == [["F", "*"], ["M", "*"]]
    assert [row[0] for row in listed(delivery, "age")] == [str(age) for age in range(18, 66)]
    described = {one["name"]: one for one in json.loads((delivery / "dictionary.json").read_bytes())["columns"]}
    assert described["sex"]["listed"] != described["zip"]["listed"]


def test_values_that_come_from_the_population_cannot_be_declared_public(world: World, engine: Any) -> None:
    asked = json.loads(world.request.read_text())
    asked["attributes"]["zip"]["hierarchy"]["public"] = True
    world.request.write_text(json.dumps(asked))
    with pytest.raises(RequestError, match="prefixes"):
        world.run(engine)


def test_labels_above_those_released_carry_no_identifier_out_either(world: World, engine: Any) -> None:
    world.write_ages([[*row[:2], f"615-555-01{row[2][:2]}", row[3]] for row in age_rows()])
    with pytest.raises(StageFailed, match="not what its record says") as caught:
        world.run(engine)
    assert "age" in caught.value.got
    assert files_holding(world.workspace.root, "615-555-01") == []

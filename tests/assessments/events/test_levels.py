"""Choices of levels of rows by hand, and what they are compared with."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from flows.cli.app import app
from tasks.assessments.events.levels import LevelChoice, best_levels, level_choices
from tasks.candidate.candidate import CandidateSource
from tasks.core.errors import BadInput
from tasks.microdata.event_levels import as_collected, every_level
from tasks.microdata.prepared import prepare
from tasks.microdata.read import read_data
from tasks.request.levels import state_levels
from tasks.request.load import load_request

REQUEST = """\
schema_version: releasegate/request/1
title: Visits
requested_by: a.steward
dataset: {path: data.csv, title: Visits, source: drawn, record_id: visit, person: patient}
attributes:
  visit: {role: direct identifier, of: row}
  patient: {role: pseudonym}
  sex: {role: quasi-identifier, hierarchy: {groups: {levels: [{"*": [F, M]}]}}}
  day: {role: insensitive, of: row, hierarchy: {prefixes: {keep: [7], mask: ""}}, level: 0}
population: {self: true, source: the file}
recipients:
  - id: university
    organisation: University
    purpose: research
    agreement: {id: A-1, expires: 2030-01-01}
    stakes: {benefit: 1200, loss: 4, cost: 4}
policy: {id: rules, version: "1", presence: known, events: {known: 1, people: 6}}
"""
DAYS = 3 * ("2024-01-01", "2024-01-01", "2024-01-02", "2024-02-01", "2024-02-02")


@pytest.fixture
def request_file(tmp_path: Path) -> Path:
    rows = (f"v{place},p{place},F,{day}\n" for place, day in enumerate(DAYS))
    (tmp_path / "data.csv").write_text("visit,patient,sex,day\n" + "".join(rows))
    (tmp_path / "request.yaml").write_text(REQUEST)
    return tmp_path / "request.yaml"


def choices_of(request_file: Path) -> tuple[LevelChoice, ...]:
    loaded = load_request(request_file)
    frame = read_data(loaded)
    source = CandidateSource(loaded.request, prepare(loaded, frame), frame, lambda _: np.random.default_rng(3))
    (recipient,) = loaded.request.recipients
    raw = read_data(replace(loaded, request=as_collected(loaded.request)))
    return level_choices(source.candidate(recipient), every_level(raw, loaded.request))


def test_months_keep_more_than_days_that_are_mostly_withheld(request_file: Path) -> None:
    """By days the nine of whom three share a day are withheld; a month holds two of the four days."""
    found = choices_of(request_file)
    assert [(one.levels["day"], one.withheld_rows, one.fewest) for one in found] == [(1, 0, 6), (0, 9, 6), (2, 0, 15)]
    assert [one.kept for one in found] == pytest.approx([0.5, 0.4, 0.0])
    assert [one.payoff for one in found] == pytest.approx([600, 480, 0])


def test_the_level_that_the_request_states_changes_nothing(request_file: Path) -> None:
    before = choices_of(request_file)
    request_file.write_text(REQUEST.replace("level: 0", "level: 1"))
    assert choices_of(request_file) == before


def test_attributes_without_a_hierarchy_have_no_levels(request_file: Path) -> None:
    request_file.write_text(REQUEST.replace(', hierarchy: {prefixes: {keep: [7], mask: ""}}, level: 0', ""))
    with pytest.raises(BadInput, match="levels of rows cannot be compared"):
        choices_of(request_file)


def test_the_command_shows_the_best_first_and_takes_no_other_method(request_file: Path, tmp_path: Path) -> None:
    workspace = ("--workspace", str(tmp_path / "workspace"))
    shown = CliRunner().invoke(app, ["assess", "events", str(request_file), "--levels", *workspace])
    assert shown.exit_code == 0
    lines = [line.split() for line in shown.stdout.splitlines() if line.startswith("day ")]
    assert [(line[1], line[4]) for line in lines] == [("1", "50.00%"), ("0", "40.00%"), ("2", "0.00%")]
    for method in ("game", "decoys"):
        refused = CliRunner().invoke(app, ["assess", method, str(request_file), "--levels", *workspace])
        assert isinstance(refused.exception, BadInput)
        assert refused.exception.expected.startswith("with events")


def test_the_command_states_the_best_level_and_changes_nothing_else(request_file: Path, tmp_path: Path) -> None:
    before = REQUEST.replace("level: 0}", "level: 0}  # by day")
    request_file.write_text(before)
    command = ["assess", "events", str(request_file), "--write", "--workspace", str(tmp_path / "workspace")]
    refused = CliRunner().invoke(app, command)
    assert isinstance(refused.exception, BadInput)
    assert CliRunner().invoke(app, [*command, "--levels"]).exit_code == 0
    assert request_file.read_text() == before.replace("level: 0}", "level: 1}")


def test_the_best_levels_pay_most_over_all_copies() -> None:
    """Days pay one recipient 8 and the other nothing, months both 5."""

    def choice(day: int, payoff: float, most_rows: int | None = None) -> dict[str, Any]:
        return {"levels": {"day": day}, "payoff": payoff, "most_rows": most_rows}

    copies = [[choice(0, 8.0), choice(1, 5.0)], [choice(1, 5.0), choice(0, 0.0), choice(1, 20.0, most_rows=3)]]
    assert best_levels(copies) == ({"day": 1}, None)
    copies[0].append(choice(1, 0.0, most_rows=3))
    assert best_levels(copies) == ({"day": 1}, 3)


def test_caps_are_compared_at_the_levels_that_pay_most(request_file: Path, tmp_path: Path) -> None:
    """p0's further days are theirs alone; a withheld row is an event that two others must share, so that all lose one.

    A cap of one withholds the same: one row of fourteen people and four of p0's.
    """
    days = [(f"p{place}", day) for place in range(15) for day in ("2024-01-01", "2024-01-02")]
    days += [("p0", f"2024-03-0{day}") for day in (1, 2, 3)]
    rows = (f"v{place},{who},F,{day}\n" for place, (who, day) in enumerate(days))
    (tmp_path / "data.csv").write_text("visit,patient,sex,day\n" + "".join(rows))
    request_file.write_text(REQUEST.replace("known: 1, people: 6", "known: 1, people: 3"))
    by_days = {one.most_rows: one for one in choices_of(request_file) if one.levels["day"] == 0}
    assert set(by_days) == {None, 1, 2, 3}
    assert [by_days[cap].withheld_rows for cap in (None, 1, 2, 3)] == [18, 18, 18, 18]
    assert {one.kept for one in by_days.values()} == {15 / 33}


def test_the_command_states_a_cap_beside_the_level(request_file: Path) -> None:
    loaded = load_request(request_file)
    state_levels(loaded, {"day": 1}, 2)
    changed = load_request(request_file).request
    assert (changed.attributes["day"].level, changed.policy.events.most_rows) == (1, 2)


def test_rows_beyond_the_most_are_withheld_the_rarest_first(request_file: Path, tmp_path: Path) -> None:
    """A person with three days keeps the two that the twelve others have too."""
    days = [(f"p{place}", day) for place in range(13) for day in ("2024-01-01", "2024-01-02")]
    days.insert(1, ("p0", "2024-03-09"))
    rows = (f"v{place},{who},F,{day}\n" for place, (who, day) in enumerate(days))
    (tmp_path / "data.csv").write_text("visit,patient,sex,day\n" + "".join(rows))
    request_file.write_text(REQUEST.replace("people: 6", "most_rows: 2"))
    loaded = load_request(request_file)
    frame = read_data(loaded)
    source = CandidateSource(loaded.request, prepare(loaded, frame), frame, lambda _: np.random.default_rng(3))
    withheld = source.candidate(loaded.request.recipients[0]).withheld_rows
    assert withheld is not None
    assert np.flatnonzero(withheld).tolist() == [1]


def test_the_level_of_a_further_tables_attribute_is_stated_where_the_table_has_it(tmp_path: Path) -> None:
    day = '{role: insensitive, hierarchy: {prefixes: {keep: [7], mask: ""}}, level: 0}'
    text = REQUEST.replace("record_id: visit", "record_id: patient").replace(
        "  visit: {role: direct identifier, of: row}\n", ""
    )
    before = text[: text.index("  day:")] + (
        f"tables:\n  visits:\n    path: visits.csv\n    attributes:\n      day: {day}  # by day\n"
    )
    request = tmp_path / "request.yaml"
    request.write_text(before + text[text.index("population:") :])
    request.chmod(0o640)
    loaded = load_request(request)
    assert loaded.request.known_events == ("visits.day",)
    state_levels(loaded, {"visits.day": 1}, None)
    assert request.read_text() == loaded.content.decode().replace("level: 0}", "level: 1}")
    assert request.stat().st_mode & 0o777 == 0o640
    assert load_request(request).request.attributes["visits.day"].level == 1

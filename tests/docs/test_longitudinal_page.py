"""The chapter on longitudinal files: its request is approved as it stands, and its tables and figures come out."""

import csv
import json
import re
import shlex
from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest

from tasks.assessments.dates.calendar import offset_knowledge
from tasks.assessments.dates.histories import Histories
from tasks.assessments.dates.matching import Matches, matches_of_all, matches_of_known
from tasks.decision.record import Verdict
from tasks.request.measures import DATES
from tasks.request.model import Measure
from tests.draft.test_folder import LABS, PATIENTS, VISITS
from tests.support import omop
from tests.support.brief_reports import brief_reports
from tests.support.drafted import filled
from tests.support.engines import in_process
from tests.support.world import Row, World, releasegate_here, write_table

PAGE_FOLDER = Path(__file__).parents[2] / "docs"
PAGE = (PAGE_FOLDER / "longitudinal.md").read_text(encoding="utf-8")
SHOWN, TABLES = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
TOP = """\
schema_version: releasegate/request/1
title: Visits of the heart clinic
requested_by: dana.whitfield
population: {self: true, source: All patients of the clinic since 2023}
recipients:
  - id: university
    organisation: The university
    purpose: Readmissions
    agreement: {id: DUA-9, expires: 2028-12-31, penalty: 5000, detection_rate: 0.2}
    stakes: {benefit: 1200, loss: 300, cost: 4}
"""
BELOW = {
    "dataset:": """
  title: Visits 2023 to 2025
  source: Clinic information system, export of 2026-01-05""",
    "policy:": """
  id: visits
  version: "1\"""",
    "  gates:": """
    - {measure: transparent.maximum_risk, at_most: 0.09, because: EMA Policy 0070}
    - {measure: attribute.disclosed_share, at_most: 0, because: No class discloses a value.}
    - {measure: columns.unplaced, at_most: 0, because: No column reveals people.}""",
}
REQUEST = TOP + "".join(f"{line}{BELOW.get(line, '')}\n" for line in SHOWN.splitlines())
"""The parts that the page shows, and what every request has."""
OMOP_ROLES = {
    "pseudonym": "person_id",
    "quasi-identifier": "gender_concept_id race_concept_id ethnicity_concept_id year_of_birth",
    "insensitive": "visit_start_date condition_start_date visit_type_concept_id unit_concept_id quantity days_supply",
    "sensitive": """
        condition_concept_id drug_concept_id measurement_concept_id value_as_number value_as_concept_id
        visit_concept_id cause_concept_id
    """,
    "text": "note_text",
    "direct identifier": "birth_datetime person_source_value location_id provider_id care_site_id sig note_title",
    "unreviewed": "visit_start_datetime condition_source_value admitted_from_concept_id",
}
"""Columns of OMOP tables by the role that a draft gives them."""


def table(heading: str) -> list[list[str]]:
    match = re.search(rf"^\|\s*(?:\| )?{re.escape(heading)}.*\n\|[-| ]+\|\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    assert match, heading
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in match.group(1).splitlines()]


def visits(people: int) -> list[Row]:
    """Patients of five years of birth, few of whom have died, and from one to four visits of each, in mixed order."""
    generator, rows = np.random.default_rng(5), list[Row]()
    for number in range(people):
        born = date(1960 + number % 5, 1, 1) + timedelta(days=int(generator.integers(0, 365)))
        died = f"2026-01-{1 + number % 28:02d}" if generator.random() < 0.03 else ""
        for _ in range(int(generator.integers(1, 5))):
            admitted = date(2023, 1, 2) + timedelta(days=int(generator.integers(0, 1000)))
            row = {"patient": f"P-{number}", "sex": "FM"[number // 5 % 2], "born": str(born), "died": died}
            row |= {"admitted": str(admitted), "discharged": str(admitted + timedelta(days=int(generator.integers(9))))}
            rows.append({**row, "diagnosis": str(generator.choice(["I20", "I21", "I48", "I50"]))})
    return [{"visit": f"V-{number}", **rows[place]} for number, place in enumerate(generator.permutation(len(rows)))]


def written(folder: Path, rows: Sequence[Row]) -> World:
    """A world with the chapter's request."""
    world = World(folder / "world")
    world.folder.mkdir()
    world.request.write_text(REQUEST, encoding="utf-8")
    write_table(world.folder / "visits.csv", tuple(rows), tuple(rows[0]))
    return world


@pytest.mark.slow
def test_the_request_is_blocked_and_approved_as_the_page_says(tmp_path: Path) -> None:
    world = written(tmp_path, visits(1500))
    with brief_reports():
        (record,) = world.run(in_process(tmp_path)).records
    assert [gate.id for gate in record.gates if not gate.passed] == ["dates.alone_share"]
    assert 0.7 < record.further["dates"]["by_dates"]["share"] < 0.8
    text = REQUEST.replace("known: 2", "known: 1").replace('version: "1"', 'version: "2"')
    world.request.write_text(text, encoding="utf-8")
    with brief_reports():
        outcome = world.run(in_process(tmp_path))
    (record,) = outcome.records
    assert record.decision is Verdict.APPROVED, record.reasons
    assert 0.004 < record.further["dates"]["by_dates"]["share"] < 0.008
    with (outcome.bundle / "delivery/university/data.csv").open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert list(rows[0]) == ["patient", "sex", "born", "died", "admitted", "discharged", "diagnosis"]
    shares = {name: record.further["dates"][name]["share"] for name in ("with_class", "by_dates", "whole")}
    assert shares["whole"] > shares["with_class"] > shares["by_dates"]


@pytest.mark.slow
def test_a_row_that_cannot_be_is_reported_as_shown(tmp_path: Path) -> None:
    rows = visits(20)[:14]
    rows[4]["admitted"] = "1950-01-01"
    told = releasegate_here("check", written(tmp_path, rows).request)
    (shown,) = re.findall(r"^```text\n(.*?)\n```", PAGE, re.MULTILINE | re.DOTALL)
    assert " ".join(shown.split()) in " ".join(told.stdout.split()), told.stdout


def drawn(people: int, reach: int) -> tuple[Histories, np.ndarray]:
    """Visits on working days of three years, 5.5 a person in the mean, and classes of 50 people in the mean."""
    generator = np.random.default_rng(3)
    person = np.repeat(np.arange(people), generator.poisson(5.5, people))
    workdays = np.array([day for day in range(1096) if (day + 3) % 7 < 5])
    person, day = np.unique(np.column_stack([person, generator.choice(workdays, len(person))]), axis=0).T
    moved = generator.integers(-reach, reach + 1, people)
    classes = np.unique(generator.integers(0, people // 50, people), return_inverse=True)[1]
    return Histories(person, np.zeros(len(person), dtype=np.int64), day, day + moved[person], people, reach), classes


def percent(share: float) -> str:
    return f"{share * 100:.1f} %"


def found_by(matches: Matches) -> str:
    return percent(float((1 / matches.fewest).mean()))


@pytest.mark.slow
def test_the_shares_of_people_found_come_out() -> None:
    everybody = np.zeros(20_000, dtype=np.int64)
    rows = table("shifted by at most")
    for days, *shown in rows:
        histories, classes = drawn(20_000, int(days.removesuffix(" days")))
        assert shown == [
            found_by(matches_of_known(histories, everybody, 1)),
            found_by(matches_of_known(histories, everybody, 2)),
            found_by(matches_of_known(histories, classes, 2)),
            found_by(matches_of_all(histories, everybody)),
            percent(offset_knowledge(histories).guessed),
        ]
    assert len(rows) == 3


def test_the_gates_are_those_that_there_are() -> None:
    assert set(re.findall(r"`(dates\.\w+_share)`", PAGE)) == DATES | {Measure.DATES_OFFSET}


def commands(name: str, parent: Path) -> list[list[str]]:
    """Commands of a section on a folder, in words; the folder is in a parent."""
    blocks = re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    (found,) = (block.splitlines() for block in blocks if f"init {name}\n" in block)
    words = (shlex.split(line)[1:] for line in found)
    return [[str(parent / word) if word.split("/")[0] == name else word for word in line] for line in words]


def filled_in(request: Path) -> None:
    """The draft with what a steward fills in."""
    text = filled(request.read_text(encoding="utf-8"))
    text = text.replace("review: {required: 1}", "review: {required: 1, reviewers: [mary.okafor]}")
    request.write_text(text, encoding="utf-8")


@pytest.mark.slow
def test_the_commands_on_a_folder_of_tables_run(tmp_path: Path) -> None:
    for name, held in {"patients": PATIENTS, "visits": VISITS, "labs": LABS}.items():
        (tmp_path / "export").mkdir(exist_ok=True)
        held.to_csv(tmp_path / "export" / f"{name}.csv", index=False)
    draft, check = commands("export", tmp_path)
    assert releasegate_here(*draft).returncode == 0
    filled_in(tmp_path / "export/request.yaml")
    told = releasegate_here(*check)
    assert told.returncode == 0, told.stdout + told.stderr


@pytest.mark.slow
def test_the_commands_on_tables_of_omop_run_and_columns_have_their_roles(tmp_path: Path) -> None:
    omop.written(tmp_path / "cdm", omop.omop_tables())
    draft, check = commands("cdm", tmp_path)
    roles = json.loads(releasegate_here(*draft, "--json").stdout)
    columns = {
        **roles["columns"],
        **{name: one for of in roles["tables"].values() for name, one in of["columns"].items()},
    }
    expected = {name: role for role, names in OMOP_ROLES.items() for name in names.split()}
    empty = {name for name, one in columns.items() if "it holds no value" in one["reasons"][0]}
    for name in expected.keys() - empty:
        assert columns[name]["role"] == expected[name], name
    for place in set(omop.COLUMNS) - {"person", "death"}:
        assert columns[f"{place}_id" if place != "visit_occurrence" else "visit_occurrence_id"]["role"] == "pseudonym"
    filled_in(tmp_path / "cdm/request.yaml")
    told = releasegate_here(*check)
    assert told.returncode == 0, told.stdout + told.stderr


def test_the_lines_on_tables_are_those_of_the_hospital() -> None:
    example = (PAGE_FOLDER.parent / "examples/hospital/request.yaml").read_text(encoding="utf-8").splitlines()
    assert set(TABLES.splitlines()) <= set(example)


def test_the_table_of_tables_names_the_model() -> None:
    section = PAGE.partition("## OMOP")[2].partition("\n## ")[0]
    for name in (*omop.COLUMNS, "observation_period", "procedure_occurrence"):
        assert f"`{name}`" in section

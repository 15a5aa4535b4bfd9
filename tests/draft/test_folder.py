"""One request for the tables of a folder, and for tables of OMOP."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tasks.core.errors import DataError
from tasks.draft.draft import Draft, write_draft
from tasks.draft.folder import ProfiledFolder, Source, draft_folder, table_name
from tasks.draft.omop import CONCEPTS
from tasks.draft.stated import Stated
from tasks.microdata.build import read_arx
from tasks.microdata.read import read_text
from tasks.request.load import load_request
from tasks.request.model import ReleaseRequest, Role
from tests.draft.test_draft import frame
from tests.support.drafted import filled
from tests.support.omop import COLUMNS, omop_tables, written
from tests.support.world import releasegate_here

PATIENTS = frame(
    {"patient_id": [f"p{n}" for n in range(40)], "sex": ["F", "M"] * 20, "age": [*map(str, range(20, 60))]}
)
VISITS = frame(
    {
        "visit_id": [f"v{n}" for n in range(80)],
        "patient_id": [f"p{n % 40}" for n in range(80)],
        "admitted": [f"2024-01-{1 + n % 28:02d}" for n in range(80)],
        "diagnosis": list(np.random.default_rng(2).choice(["d1", "d2", "d3"], 80)),
        "ward": list(np.random.default_rng(3).choice(["w1", "w2"], 80)),
    }
)
LABS = frame(
    {
        "visit_id": [f"v{n // 2}" for n in range(60)],
        "patient_id": [f"p{n // 2}" for n in range(60)],
        "result": [f"{n % 7}.5" for n in range(60)],
    }
)


def drafted(tables: dict[str, pd.DataFrame]) -> Draft:
    return draft_folder(Source(f"{name}.csv", table) for name, table in tables.items())


def request_of(draft: Draft, folder: Path) -> ReleaseRequest:
    path, *_ = write_draft(draft, folder)
    path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")
    return load_request(path).request


def test_a_folder_is_one_request_of_people_and_tables(tmp_path: Path) -> None:
    draft = drafted({"labs": LABS, "patients": PATIENTS, "visits": VISITS})
    request = request_of(draft, tmp_path)
    assert (request.dataset.path, request.dataset.person, request.dataset.record_id) == (
        "patients.csv",
        "patient_id",
        "patient_id",
    )
    assert {name: (one.path, one.key, one.within) for name, one in request.tables.items()} == {
        "visits": ("visits.csv", "visit_id", None),
        "labs": ("labs.csv", None, "visits"),
    }
    assert {name: one.role for name, one in request.attributes.items()} == {
        "patient_id": Role.PSEUDONYM,
        "sex": Role.QUASI,
        "age": Role.QUASI,
        "visits.visit_id": Role.PSEUDONYM,
        "visits.admitted": Role.WITHHELD,
        "visits.diagnosis": Role.SENSITIVE,
        "visits.ward": Role.WITHHELD,
        "labs.result": Role.SENSITIVE,
    }
    assert "  labs: # each row belongs to a row of visits with the same patient_id\n" in draft.text
    for value in ("d1", "w1", "v7", "p3", "2024"):
        assert not re.search(rf"\b{value}\b", draft.text), value


def test_the_key_of_a_table_that_keeps_nothing_else_is_a_pseudonym(tmp_path: Path) -> None:
    """A table that keeps nothing would be refused."""
    texts = [f"Seen on day {n}, call 615-555-0{100 + n}, patient p{n % 40} goes home" for n in range(80)]
    notes = frame({"note_id": [f"n{n}" for n in range(80)], "patient_id": list(VISITS["patient_id"]), "note": texts})
    tables = {"patients": PATIENTS, "notes": notes}
    attributes = request_of(drafted(tables), tmp_path).attributes
    assert (attributes["notes.note_id"].role, attributes["notes.note"].role) == (Role.PSEUDONYM, Role.DIRECT)
    withheld = Stated(roles={"notes.note_id": Role.DIRECT})
    draft = ProfiledFolder.of(Source(f"{name}.csv", table) for name, table in tables.items()).draft(stated=withheld)
    (of_notes,) = draft.further.tables
    assert {one.role for one in of_notes.suggestions} == {Role.DIRECT}


def test_a_column_of_rows_that_tells_of_the_person_is_not_drafted_for_release() -> None:
    told = VISITS.assign(diagnosis=["d1", "d2"] * 40)  # as the sexes alternate
    draft = drafted({"patients": PATIENTS, "visits": told})
    (visits,) = draft.further.tables
    (one,) = (one for one in visits.suggestions if one.profile.name == "diagnosis")
    assert one.role is Role.UNREVIEWED
    assert "diagnosis reveals patients.sex: 97% of the information on it" in " ".join(one.reasons)


def test_files_without_rows_are_left_out_and_one_file_is_drafted_alone(tmp_path: Path) -> None:
    draft = drafted({"notes": frame({"patient_id": [], "text": []}), "patients": PATIENTS})
    request = request_of(draft, tmp_path)
    assert not request.tables
    assert request.dataset.path == "patients.csv"
    assert draft.further.left_out == ("notes: the file has no rows",)
    with pytest.raises(DataError, match="no file of the folder has rows"):
        drafted({"notes": frame({"text": []}), "visits": frame({"ward": []})})


def test_two_files_of_one_table_are_refused() -> None:
    with pytest.raises(DataError, match="two files make one table"):
        draft_folder([Source("Visits.csv", VISITS), Source("in/visits.parquet", VISITS)])
    assert [table_name(name) for name in ("a b.csv.gz", "7.parquet", "Ä.csv")] == ["a_b", "t7", "t_"]


@pytest.mark.slow
def test_init_drafts_a_folder_and_says_what_it_found(tmp_path: Path) -> None:
    for name, table in {"labs": LABS, "patients": PATIENTS, "visits": VISITS}.items():
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    (tmp_path / "readme.txt").write_text("no table", encoding="utf-8")
    told = json.loads(releasegate_here("init", tmp_path, "--json").stdout)
    assert told["person"] == "patient_id"
    assert told["tables"]["labs"]["within"] == "visits"
    assert told["tables"]["visits"]["columns"]["diagnosis"]["role"] == "sensitive"
    again = releasegate_here("init", tmp_path, "-o", tmp_path / "draft")
    assert again.returncode == 0
    assert "labs: each row belongs to a row of visits" in " ".join(again.stdout.split())
    empty = tmp_path / "empty"
    empty.mkdir()
    refused = releasegate_here("init", empty)
    assert refused.returncode == 2
    assert "the folder has no data files" in refused.stderr + refused.stdout
    (tmp_path / "patients.csv").unlink()
    refused = releasegate_here("init", tmp_path, "-o", tmp_path / "other")
    assert refused.returncode == 2
    assert "no column of these files can be told to be that of the person" in refused.stderr + refused.stdout
    assert not (tmp_path / "other").exists()


def read(folder: Path) -> list[Source]:
    return [Source(path.name, read_text(path)) for path in sorted(folder.glob("*.csv"))]


@pytest.mark.slow
@pytest.mark.parametrize("capitals", [False, True])
def test_tables_of_omop_are_drafted_with_their_roles(tmp_path: Path, *, capitals: bool) -> None:
    extra = {"observation_period": frame({"person_id": ["1"]}), "local_notes": frame({"x": ["1"]})}
    folder = written(tmp_path / "cdm", {**omop_tables(), **extra}, capitals=capitals)
    draft = draft_folder(read(folder))
    request = request_of(draft, folder)
    roles = {name.lower(): one.role for name, one in request.attributes.items()}
    assert set(request.tables) == set(COLUMNS) - {"person"}
    assert request.quasi_identifiers == tuple(
        name.upper() if capitals else name
        for name in ("gender_concept_id", "year_of_birth", "race_concept_id", "ethnicity_concept_id")
    )
    for name in ("birth_datetime", "month_of_birth", "day_of_birth", "location_id", "person_source_value"):
        assert roles[name] is Role.DIRECT
    for name in ("visit_start_datetime", "visit_source_value", "admitted_from_concept_id"):
        assert roles[f"visit_occurrence.{name}"] is Role.UNREVIEWED
    assert roles["condition_occurrence.condition_concept_id"] is Role.SENSITIVE
    assert roles["note.note_text"] is Role.TEXT
    dated = {name.lower() for name in request.dated}
    assert {"visit_occurrence.visit_end_date", "death.death_date", "note.note_date"} <= dated
    assert "drug_exposure.verbatim_end_date" not in dated  # empty
    assert {request.attributes[name].date.days for name in request.dated if request.attributes[name].date} == {30}
    assert {one.within for one in request.tables.values()} == {None, "visit_occurrence"}
    assert request.tables["death"].within is None
    sentences = draft.further.left_out
    assert any(one.startswith("observation_period: ") and "add it by hand" in one for one in sentences)
    assert "local_notes: no table of OMOP CDM 5.4" in sentences
    asked = re.findall(r'known_probability: "\?"', draft.text)
    assert len(asked) == 2  # how patients were seen, and of what they died
    (named,) = re.findall(r"^# Fill in below.*: known_probability of (.*)\.$", draft.text, re.M)
    assert named.lower() == "visit_occurrence.visit_concept_id, death.cause_concept_id"


def test_concepts_that_are_not_listed_go_to_a_file(tmp_path: Path) -> None:
    tables = omop_tables()
    person = tables["person"]
    person.loc[:30, "race_concept_id"] = "38003584"
    folder = written(tmp_path, {name: tables[name] for name in ("person", "death")})
    draft = draft_folder(read(folder))
    request = request_of(draft, folder)
    source = request.attributes["race_concept_id"].hierarchy
    assert source is not None
    assert source.file == "hierarchy-race-concept-id.csv"
    assert "38003584" not in draft.text
    hierarchy = read_arx("race_concept_id", folder / source.file)
    groups = dict(zip(hierarchy.labels[0], hierarchy.groups[:, 1], strict=True))
    assert set(hierarchy.labels[0]) == {
        *(one for group in CONCEPTS["race_concept_id"].levels[0].values() for one in group),
        "38003584",
    }
    assert groups["38003584"] == groups["0"] != groups["8515"]


def test_notes_in_another_language_are_withheld(tmp_path: Path) -> None:
    tables = omop_tables()
    tables["note"].loc[0, "language_concept_id"] = "4182504"
    folder = written(tmp_path, {name: tables[name] for name in ("person", "note")})
    draft = draft_folder(read(folder))
    (note,) = draft.further.tables
    (text,) = (one for one in note.suggestions if one.profile.name == "note_text")
    assert text.role is Role.UNREVIEWED
    assert "text.missed" not in draft.text

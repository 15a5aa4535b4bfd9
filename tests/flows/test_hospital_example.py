"""The hospital is made by its script, is what the example says, and is released to both recipients."""

import runpy
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from flows.gate.release import run_release
from flows.releases.cases import ReleaseAction
from flows.workspace.folders import Workspace
from tasks.assessments.events.facts import EventsFact
from tasks.decision.record import Verdict
from tests.support.acting import cast_vote
from tests.support.enrolled import enrol_for
from tests.support.world import NOW

HOSPITAL = Path(__file__).parents[2] / "examples" / "hospital"
PATIENTS = 6000
make: Callable[..., None] = runpy.run_path(str(HOSPITAL / "make.py"))["main"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example with fewer patients."""
    folder = tmp_path_factory.mktemp("examples") / "hospital"
    make(folder / "data", PATIENTS)
    shutil.copy(HOSPITAL / "request.yaml", folder)
    return folder


FILES = ("patients.csv.gz", "visits.csv.gz", "labs.csv.gz", "notes.csv.gz", "population.parquet")


@pytest.fixture(scope="module")
def tables(made: Path) -> dict[str, pd.DataFrame]:
    """The tables as text, by name."""
    names = ("patients", "visits", "labs", "notes")
    return {name: pd.read_csv(made / "data" / f"{name}.csv.gz", dtype=str, keep_default_na=False) for name in names}


def test_the_same_bytes_each_time(made: Path, tmp_path: Path) -> None:
    make(tmp_path, PATIENTS)
    for name in FILES:
        assert (tmp_path / name).read_bytes() == (made / "data" / name).read_bytes()


def test_patients_are_among_the_people(made: Path, tables: dict[str, pd.DataFrame]) -> None:
    people = pd.read_parquet(made / "data" / "population.parquet").astype(str)
    columns = ["age", "sex", "race", "zip"]
    patients = tables["patients"]
    assert patients["patient_id"].nunique() == len(patients) == PATIENTS
    stated = patients[patients["race"] != ""]
    assert 0.98 < len(stated) / PATIENTS < 1
    found = stated.value_counts(columns).to_frame("patients").join(people.set_index(columns), how="left")
    assert (found["patients"] <= found["count"].astype(int)).all()


def test_households_share_an_address_and_twins_a_date_of_birth(tables: dict[str, pd.DataFrame]) -> None:
    patients = tables["patients"]
    patients["family"] = patients["name"].str.split().str[1]
    home = patients.groupby(["address", "zip", "family"])
    assert 0.6 < (home["name"].transform("size") > 1).mean() < 0.9
    twins = patients[patients.duplicated(["address", "zip", "family", "born"], keep=False)]
    assert 0.01 < len(twins) / PATIENTS < 0.05
    born = patients["born"].str.split("-", expand=True).astype(int)
    before = (born[1] > 1) | (born[2] > 1)  # no birthday of the year before the first of January 2024
    assert (2024 - born[0] - before == patients["age"].astype(int)).all()


def test_rows_belong_to_visits_and_visits_to_the_season(tables: dict[str, pd.DataFrame]) -> None:
    visits = tables["visits"]
    assert visits["visit_id"].is_unique
    assert set(visits["patient_id"]) == set(tables["patients"]["patient_id"])
    for name in ("labs", "notes"):
        whose = tables[name].merge(
            visits, on="visit_id", how="left", suffixes=("", "_of_visit"), validate="many_to_one"
        )
        assert (whose["patient_id"] == whose["patient_id_of_visit"]).all()
        assert not (tables[name]["visit_id"] == "").any()
    day = pd.to_datetime(visits["admission"])
    weekday, month = day.dt.dayofweek.value_counts(), day.dt.month.value_counts()
    assert weekday[0] > 1.5 * weekday[6]
    assert month[1] > 1.3 * month[7]
    shares = visits["diagnosis"].value_counts(normalize=True)
    assert shares["E75"] < 0.002
    assert shares["I10"] > 0.1
    assert 0.005 < shares[""] < 0.02
    assert 0.05 < (tables["labs"]["result"] == "").mean() < 0.11


@pytest.mark.slow
def test_both_recipients_get_visits_in_which_two_known_ones_find_nobody(
    made: Path, tables: dict[str, pd.DataFrame], tmp_path: Path, engine: Any
) -> None:
    request, root = made / "request.yaml", tmp_path / "workspace"
    enrol_for(request, root, (), lambda: NOW)
    outcome = run_release(request, root, engine=engine, clock=lambda: NOW)
    for record in outcome.records:
        assert record.decision is Verdict.AWAITING_REVIEW, record.reasons
        fact = EventsFact.model_validate(record.further["events"])
        assert fact.known is not None
        assert fact.known.fewest >= 16
    for record in outcome.records:
        action = ReleaseAction(
            outcome.release_id,
            Workspace(root),
            by="r.adeyemi",
            reason="I have read 200 of the notes",
            recipient=record.recipient.id,
            clock=lambda: NOW,
        )
        cast_vote(action, "approve")
    folders = sorted((outcome.bundle / "delivery").iterdir())
    copies = [
        {path.stem: pd.read_csv(path, dtype=str) for path in (folder / "data.csv", *folder.glob("tables/*.csv"))}
        for folder in folders
    ]
    for copy in copies:
        assert set(copy) == {"data", "visits", "labs", "notes"}
        assert set(copy["visits"]["admission"].dropna()) == {"2024", "2025"}
        assert set(copy["visits"]["patient_id"]) <= set(copy["data"]["patient_id"])
        for name in ("labs", "notes"):
            assert set(copy[name]["visit_id"]) <= set(copy["visits"]["visit_id"])
        family = "|".join(tables["patients"]["name"].str.split().str[1].unique())
        assert not copy["notes"]["text"].str.contains(rf"\b(?:{family})\b").any()
    for name in ("data", "visits"):
        column = "patient_id" if name == "data" else "visit_id"
        assert not set(copies[0][name][column]) & set(copies[1][name][column])

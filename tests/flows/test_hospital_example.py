"""The hospital is made by its script, is what the example says, and is released to both recipients."""

import gzip
import runpy
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from flows.gate import run_release
from tasks.assessments.events.facts import EventsFact
from tasks.decision.record import Verdict
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


def test_the_same_bytes_each_time_and_patients_are_among_the_people(made: Path, tmp_path: Path) -> None:
    make(tmp_path, PATIENTS)
    for name in ("visits.csv.gz", "population.parquet"):
        assert (tmp_path / name).read_bytes() == (made / "data" / name).read_bytes()
    visits, people = pd.read_csv(tmp_path / "visits.csv.gz"), pd.read_parquet(tmp_path / "population.parquet")
    columns = ["age", "sex", "race", "zip"]
    patients = visits.drop_duplicates("patient_id")
    assert len(patients) == PATIENTS
    assert visits.groupby("patient_id")[columns].nunique().eq(1).all(axis=None)
    found = patients.value_counts(columns).to_frame("patients").join(people.set_index(columns), how="left")
    assert (found["patients"] <= found["count"]).all()
    weekday = pd.to_datetime(visits["admission"]).dt.dayofweek.value_counts()
    assert weekday[0] > 1.5 * weekday[6]


@pytest.mark.slow
def test_both_recipients_get_visits_in_which_two_known_ones_find_nobody(
    made: Path, tmp_path: Path, engine: Any
) -> None:
    request, root = made / "request.yaml", tmp_path / "workspace"
    enrol_for(request, root, (), lambda: NOW)
    outcome = run_release(request, root, engine=engine, clock=lambda: NOW)
    for record in outcome.records:
        assert record.decision is Verdict.APPROVED, record.reasons
        fact = EventsFact.model_validate(record.further["events"])
        assert fact.known is not None
        assert fact.known.fewest >= 16
    copies = [pd.read_csv(path, dtype=str) for path in sorted((outcome.bundle / "delivery").glob("*/data.csv"))]
    assert set(copies[0]["admission"].dropna()) == {"2024", "2025"}
    assert not set(copies[0]["patient_id"]) & set(copies[1]["patient_id"])
    with gzip.open(made / "data" / "visits.csv.gz", "rt") as lines:
        rows = sum(1 for _ in lines) - 1
    assert all(len(copy) <= rows for copy in copies)

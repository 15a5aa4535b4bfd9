"""Releases of files with missing values: every method under both readings, the report, and what comes after."""

import html
import shutil
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from flows.gate.outcome import Outcome
from flows.reassessment.copy_reassessment import AS_ASKED
from flows.reassessment.run import TodaysFiles, reassess
from tasks.assessments.registry import ASSESSMENTS
from tasks.candidate.assessment import Effort
from tasks.candidate.candidate import Candidate
from tasks.decision.record import Verdict
from tasks.microdata.hierarchy import MISSING
from tasks.microdata.missing_values import lacking_values
from tasks.reassessment.record import TodaysVerdict
from tasks.request.model import Method, MissingReading
from tests.support.brief_reports import whole_report
from tests.support.gaps import candidate_of, make_gaps, with_gaps
from tests.support.longitudinal_world import COLUMNS, make_visits, visit_rows
from tests.support.world import NOW, QUASI_IDENTIFIERS, Row, World, drawn_rows, population_rows, write_table

FEW = 0.02
K_ANONYMITY = {
    "k": 5,
    "suppression_limit": 0.2,
    "local_recoding": True,
    "diversity": [{"attribute": "diagnosis", "l": 2}],
}


def people_left(candidate: Candidate, reading: MissingReading) -> list[int]:
    """People whom each cell leaves to an adversary who knows everybody's values and whom all other records are of.

    Own group: and whose values are missing, so that nobody else can be behind a record without one. Any value: but not
    whose values are missing, so that behind a record without one may be whoever has its others.
    """
    trees = candidate.index.hierarchies

    def coded(rows: Sequence[Row]) -> np.ndarray:
        return np.column_stack([tree.encode([row[tree.name] for row in rows]) for tree in trees])

    people, true = coded(population_rows()), coded(drawn_rows())
    counts = np.array([int(row["count"]) for row in population_rows()])
    recorded = candidate.index.data.codes[candidate.prepared.tuple_of_record]
    found = []
    for cell in candidate.generalization.cells:
        holds = [
            (tree.finest[tree.positions] == at).any(axis=1) | (extra.positions == at)
            for tree, extra, at in zip(trees, candidate.index.safe_harbor, cell, strict=True)
        ]
        missing = [held.sum() == 1 and held[tree.missing_leaf] for held, tree in zip(holds, trees, strict=True)]

        def inside(codes: np.ndarray, holds: list[np.ndarray]) -> np.ndarray:
            return np.all([held[column] for held, column in zip(holds, codes.T, strict=True)], axis=0)

        may_be = [held | lone for held, lone in zip(holds, missing, strict=True)]
        own, elsewhere = inside(recorded, holds), inside(true, may_be) & ~inside(recorded, holds)
        if any(missing) and reading is MissingReading.OWN_GROUP:
            found.append(int(own.sum()))
        elif any(missing) or reading is MissingReading.OWN_GROUP:
            found.append(int(counts[inside(people, may_be)].sum() - elsewhere.sum()))
        else:
            found.append(int(counts[inside(people, may_be)].sum()))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("reading", MissingReading)
@pytest.mark.parametrize("method", Method)
def test_every_method_releases_files_with_missing_values_and_no_assessment_fails(
    tmp_path: Path, method: Method, reading: MissingReading
) -> None:
    terms = {"k_anonymity": K_ANONYMITY} if method is Method.K_ANONYMITY else {}
    world = make_gaps(tmp_path / "world", reading, method=method.value, **terms)
    candidate = candidate_of(world)
    made = candidate.generalization
    lacking = lacking_values(candidate.index.data.codes, candidate.index.hierarchies).any(axis=1)
    assert (lacking & candidate.released).sum() > 15
    assert (made.effective <= made.people).all()
    assert (made.people <= np.array(people_left(candidate, reading))).all()
    for one in ASSESSMENTS:
        if one.applies(candidate.request):
            one.assess(candidate, Effort.OWN)


def test_single_cells_are_suppressed_where_records_would_be_left_out(tmp_path: Path) -> None:
    """Remainder classes give “*” to single cells, those with missing values among them, and leave nobody out.

    One node for everybody loses more information under the same demand.
    """
    terms = {"k": 5, "suppression_limit": 0.0}
    local, alike = (
        candidate_of(make_gaps(tmp_path / name, method="k-anonymity", k_anonymity=terms | {"local_recoding": recoded}))
        for name, recoded in (("local", True), ("alike", False))
    )

    def kept(candidate: Candidate) -> float:
        released = candidate.released
        return float(candidate.generalization.kept[released] @ candidate.index.data.counts[released])

    assert kept(local) > kept(alike)
    assert local.records.sum() == 240
    trees, cells = local.index.hierarchies, local.generalization.cells
    top = np.column_stack([cells[:, axis] == tree.axis_length - 1 for axis, tree in enumerate(trees)])
    lacking = lacking_values(local.index.data.codes, trees)
    single = top.any(axis=1) & ~top.all(axis=1)
    assert local.index.data.counts[single].sum() > 24
    assert (single & (top & lacking).any(axis=1)).any(), "a missing value hides among the values of its group"
    _, classes = np.unique(cells, axis=0, return_inverse=True)
    assert np.bincount(classes.ravel(), local.index.data.counts).min() >= 5


@pytest.fixture(scope="module")
def made(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[World, Outcome]:
    """A release with missing values in quasi-identifiers and a sensitive column, by the default method."""
    world = make_gaps(tmp_path_factory.mktemp("gaps") / "world", share=FEW)
    outcome = world.run(engine)
    assert outcome.records[0].decision is Verdict.APPROVED, outcome.records[0].reasons
    return world, outcome


def test_a_missing_value_leaves_as_such_or_suppressed(made: tuple[World, Outcome]) -> None:
    _, outcome = made
    path = outcome.bundle / "delivery" / "university" / "data.csv"
    released = pd.read_csv(path, dtype=str, keep_default_na=False)
    rows = with_gaps(FEW)
    assert len(released) == len(rows)
    lacking = sum(row["sex"] == "" for row in rows)
    assert 0 < (released["sex"] == MISSING).sum() + (released["sex"] == "*").sum() >= lacking
    assert (released["sex"] != "").all()
    assert (released["visits"] == "").sum() == sum(row["visits"] == "" for row in rows) > 0
    assert (released["diagnosis"] == "").sum() == sum(row["diagnosis"] == "" for row in rows)


def test_record_and_report_say_how_missing_values_are_read(made: tuple[World, Outcome]) -> None:
    _, outcome = made
    (record,) = outcome.records
    assert record.dataset.missing is not None
    assert record.dataset.missing.quasi_identifiers == QUASI_IDENTIFIERS
    assert record.dataset.missing.sensitive == ("diagnosis",)
    assert record.population.people == sum(int(row["count"]) for row in population_rows())
    shown = html.unescape(whole_report(record).decode())
    assert "Others may know whose records lack a value of age, sex and zip" in shown
    assert "A missing value of diagnosis may be any value" in shown


def test_it_verifies_and_holds_when_assessed_again(made: tuple[World, Outcome], releasegate: Any) -> None:
    world, outcome = made
    root = world.workspace.root
    assert releasegate("verify", world.workspace.bundle(outcome.release_id), "--workspace", root).code == 0
    (found,) = reassess(outcome.release_id, world.workspace, AS_ASKED, clock=lambda: NOW + timedelta(days=30))
    assert found.verdict is TodaysVerdict.HOLDS, found.because
    assert found.record is not None
    then = {gate.id: gate.measured for gate in outcome.records[0].gates}
    now = {gate.id: gate.measured for gate in found.record.gates}
    assert {name: now[name] for name in then if name in now} == pytest.approx(
        {name: then[name] for name in then if name in now}
    )


def test_check_says_what_is_missing_and_what_the_reading_means(made: tuple[World, Outcome], releasegate: Any) -> None:
    world, _ = made
    told = releasegate("check", world.request, "--json")
    shown = " ".join(told.document["notes"])
    share = sum(row["sex"] == "" for row in with_gaps(FEW)) / 240
    assert "missing in the records: " in shown
    assert f"sex {share:.2%}" in shown
    assert "(policy.missing.quasi_identifiers: own group)" in shown
    assert "a missing value adds no diversity to a class" in shown
    assert "(policy.missing.sensitive: any value)" in shown


@pytest.mark.slow
def test_values_that_come_later_into_one_party_close_the_gates(
    made: tuple[World, Outcome], engine: Any, tmp_path: Path
) -> None:
    """Whoever has a record without its sex, and later with it, has a person whom nobody of the population matches."""
    place = tmp_path / "copy"
    shutil.copytree(made[0].folder.parent, place)
    world = World(place / "world")
    rows = with_gaps(FEW)
    for row, whole in zip(rows, drawn_rows(), strict=True):
        row["sex"] = whole["sex"]
    world.write_rows(rows)
    (record,) = world.run(engine, clock=lambda: NOW + timedelta(days=60)).records
    assert record.decision is Verdict.BLOCKED
    gate = next(one for one in record.gates if one.id == "transparent.maximum_risk")
    assert (gate.measured, gate.passed) == (1.0, False)
    assert gate.alone is not None
    assert gate.alone < gate.threshold


@pytest.mark.slow
def test_under_another_population_as_many_are_set_aside(made: tuple[World, Outcome], tmp_path: Path) -> None:
    """Twice the people: no risk is higher, and records without a value keep the people whom they had."""
    world, outcome = made
    twice = tmp_path / "twice.csv"
    people = [row | {"count": str(2 * int(row["count"]))} for row in population_rows()]
    write_table(twice, people, (*QUASI_IDENTIFIERS, "count"))
    today = TodaysFiles(population=twice)
    (found,) = reassess(outcome.release_id, world.workspace, today, clock=lambda: NOW + timedelta(days=40))
    assert found.record is not None, found.because
    then = {gate.id: gate.measured for gate in outcome.records[0].gates}
    now = {gate.id: gate.measured for gate in found.record.gates}
    assert now["transparent.maximum_risk"] == then["transparent.maximum_risk"] or (
        (now["transparent.maximum_risk"] or 1) < (then["transparent.maximum_risk"] or 0)
    )
    assert found.verdict is TodaysVerdict.HOLDS, found.because


@pytest.mark.slow
def test_rows_of_people_with_gaps_are_counted_and_disclosed_by_those_who_state_values(tmp_path: Path) -> None:
    """Visits of patients: ages, blood groups and diagnoses are missing for some."""
    world = make_visits(tmp_path / "world")
    rows, generator = visit_rows(), np.random.default_rng(3)
    gone = {row["patient"] for row in rows if generator.random() < 0.02}
    for row in rows:
        if row["patient"] in gone:
            row["age"] = row["blood"] = ""
        if generator.random() < 0.05:
            row["diagnosis"] = ""
    world.write_rows(rows, COLUMNS)
    candidate = candidate_of(world)
    tree = candidate.index.hierarchies[0]
    lacking = candidate.index.data.codes[:, 0] == tree.missing_leaf
    assert candidate.index.data.counts[lacking].sum() == len(gone), "people, not rows"
    for one in ASSESSMENTS:
        if one.applies(candidate.request):
            one.assess(candidate, Effort.OWN)


def test_decoys_are_not_assessed_beside_missing_values(made: tuple[World, Outcome], releasegate: Any) -> None:
    told = releasegate("assess", "decoys", made[0].request)
    assert told.code != 0
    assert "missing values, and decoys are required" in " ".join((told.out + told.err).split())

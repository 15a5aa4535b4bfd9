"""Releases without a full population table: the gate, the record, the report, and everything that comes after."""

import html
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from flows.gate.release import run_release
from flows.reassessment.run import TodaysFiles, reassess
from tasks.core.errors import BadInput, PopulationError
from tasks.decision.record import DecisionRecord, Verdict
from tasks.reassessment.record import TodaysVerdict
from tasks.request.model import PopulationBasis
from tests.support.brief_reports import whole_report
from tests.support.world import (
    NOW,
    QUASI_IDENTIFIERS,
    RECORDS,
    UNIVERSITY,
    World,
    drawn_rows,
    population_rows,
    recipient,
    write_table,
)

LATER = lambda: NOW + timedelta(days=30)  # noqa: E731
RISKS = [
    {"measure": "transparent.maximum_risk", "at_most": 0.09, "because": "a test"},
    {"measure": "sequential.maximum_risk", "at_most": 0.09, "because": "a test"},
]
ESTIMATED = [
    {"measure": f"estimated.{name}", "at_most": 0.01, "because": "a test"}
    for name in ("maximum_risk", "mean_risk", "unique_share")
]
SOURCE = "all patients of the clinic"


def ask(
    world: World,
    population: dict[str, Any],
    gates: list[dict[str, Any]] = RISKS,
    presence: str = "known",
    **changes: Any,
) -> None:
    terms = {"adversary": "one-shot", "method": "no-attack-partition", "cell_weights": "data"}
    policy = {"presence": presence, "gates": gates, "generalization": terms}
    world.ask(population={"path": None, "source": SOURCE, **population}, policy=policy, **changes)


def classes(record: DecisionRecord, bundle: Path) -> pd.Series:
    """Records of each class of the delivered file."""
    delivered = pd.read_csv(bundle / "delivery" / record.recipient.id / "data.csv", dtype=str)
    return delivered.groupby(list(QUASI_IDENTIFIERS)).size()


@pytest.mark.slow
@pytest.mark.parametrize("population", [{"self": True}, {"sampling_fraction": 0.01}])
def test_people_are_counted_in_the_file(
    world: World, engine: Any, releasegate: Any, population: dict[str, Any]
) -> None:
    sampled = "self" not in population
    ask(world, population, RISKS + ESTIMATED * sampled)
    world.population.unlink()
    checked = releasegate("check", world.request)
    assert checked.code == 0
    noted = "a random sample of 1% of 24,000 people" if sampled else "its own population of 240 people"
    told = " ".join((checked.out + checked.err).split())
    assert noted in told
    hidden = (
        "records hide among the file's 240 people, since others can know who is in it; it is a sample of 24,000"
        if sampled
        else "population of 240 people"
    )
    assert hidden in told
    outcome = world.run(engine)
    (record,) = outcome.records
    assert record.decision is Verdict.APPROVED, record.reasons
    basis = PopulationBasis.SAMPLE if sampled else PopulationBasis.FILE
    found = record.population
    assert (found.basis, found.people, found.sha256) == (basis, RECORDS, record.dataset.source_sha256)
    assert (found.size, found.sampling_fraction) == ((24_000, 0.01) if sampled else (None, 1.0))
    assert found.enrolled is not None
    measured = {gate.id: gate for gate in record.gates}
    smallest = classes(record, outcome.bundle).min()
    for name in ("transparent.maximum_risk", "prosecutor.maximum_risk"):
        assert measured[name].measured == pytest.approx(1 / smallest)
    assert record.risk is not None
    if sampled:
        fact = record.risk.sample
        assert fact is not None
        assert fact.maximum_risk == measured["estimated.maximum_risk"].measured < 1 / smallest
        assert measured["estimated.mean_risk"].interval == fact.mean_risk.interval
        assert fact.mean_risk.interval.low < 0.01 / smallest * 2
        assert fact.uniques.alone == 0
    else:
        assert record.risk.sample is None
    assert releasegate("verify", outcome.bundle, "--workspace", world.workspace.root).code == 0
    explained = releasegate("explain", outcome.release_id, "--workspace", world.workspace.root, "--json").document
    assert explained["exit_code"] == 0
    period = ("--from", "2026-01-01", "--to", "2026-03-31", "--output", world.folder)
    audited = releasegate("audit", *period, "--workspace", world.workspace.root)
    assert audited.code == 0, audited.err
    for refused in (("trace", outcome.bundle, world.data), ("assess", "decoys", world.request)):
        told = releasegate(*refused)
        assert told.code in {2, 3}
        assert "decoys" in told.err
    (again,) = reassess(outcome.release_id, world.workspace, TodaysFiles(), clock=LATER)
    assert (again.verdict, again.changed) == (TodaysVerdict.HOLDS, False)
    assert again.record is not None
    assert not again.record.not_measured
    assert not any(cause.kind == "population" for cause in again.record.causes)


@pytest.mark.parametrize(
    ("presence", "fraction"),
    [
        ("unknown", "from the size of the population, as the request states it"),
        ("known", "since others can know who is in the file: whoever is alone there is found"),
    ],
)
def test_the_determination_says_on_what_it_rests(world: World, engine: Any, presence: str, fraction: str) -> None:
    ask(world, {"size": 24_000}, RISKS + ESTIMATED, presence)
    (record,) = world.run(engine).records
    text = html.unescape(whole_report(record).decode())
    for said in (
        "the file's own counts of 240 people, who are assumed to be a random sample of 24,000, as the request states",
        "The file is a random sample",
        "Risk of the released records in the sampled population; gates use the upper ends",
        "Benedetti R, Franconi L (1998)",
        fraction,
    ):
        assert said in text


@pytest.mark.slow
def test_a_census_that_comes_later_is_counted_in_its_place(world: World, engine: Any, tmp_path: Path) -> None:
    ask(world, {"self": True})
    outcome = world.run(engine)
    table = tmp_path / "census.csv"
    write_table(table, population_rows(), (*QUASI_IDENTIFIERS, "count"))
    (again,) = reassess(outcome.release_id, world.workspace, TodaysFiles(population=table), clock=LATER)
    assert again.record is not None
    total = sum(int(row["count"]) for row in population_rows())
    assert (again.record.people_then, again.record.people) == (RECORDS, total)
    assert any(cause.kind == "population" for cause in again.record.causes)
    (before,) = outcome.records
    risk = next(gate.measured for gate in again.record.gates if gate.id == "transparent.maximum_risk")
    assert risk is not None
    assert risk < next(gate.measured or 0 for gate in before.gates if gate.id == "transparent.maximum_risk")


@pytest.mark.slow
def test_what_is_said_of_a_file_without_a_table_must_be_enrolled(world: World, engine: Any) -> None:
    ask(world, {"self": True})
    world.run(engine)
    ask(world, {"size": 24_000})
    with pytest.raises(BadInput, match="the population whose people are counted in the file is not enrolled"):
        run_release(world.request, world.workspace.root, engine=engine, clock=lambda: NOW)
    world.enrol(lambda: NOW)
    (record,) = run_release(world.request, world.workspace.root, engine=engine, clock=lambda: NOW).records
    assert record.population.enrolled is not None


def test_an_officer_enrols_and_ends_a_sampled_population(world: World, releasegate: Any) -> None:
    ask(world, {"size": 24_000})
    world.enrol()
    place = ("--workspace", world.workspace.root)
    listed = releasegate("enrol", "list", *place, "--json").document["enrolled"]
    (sample,) = [one for one in listed if one["kind"] == "sample"]
    assert (sample["size"], sample["sampling_fraction"], sample["source"]) == (24_000, None, SOURCE)
    assert "24,000 people, “all patients" in " ".join(releasegate("enrol", "list", *place).out.split())
    more = ("enrol", "sample", "--source", "members of the plan", "--fraction", "0.25", "--as", "a.steward", *place)
    assert releasegate(*more).code == 0
    assert releasegate("enrol", "sample", "--source", "nobody", "--as", "a.steward", *place).code == 2
    all_of_them = ("enrol", "sample", "--source", "the clinic", "--everybody", "--as", "a.steward", *place)
    assert releasegate(*all_of_them).code == 0
    assert releasegate(*all_of_them, "--size", "3").code == 2
    assert "everybody is in the file, “the clinic”" in " ".join(releasegate("enrol", "list", *place).out.split())
    ended = releasegate("enrol", "end", "sample", sample["sha256"][:10], "--as", "a.steward", *place)
    assert ended.code == 0
    left = releasegate("enrol", "list", *place, "--json").document["enrolled"]
    assert [one["sampling_fraction"] for one in left if one["kind"] == "sample"] == [0.25, None]


def test_a_population_smaller_than_the_file_is_refused(world: World, engine: Any) -> None:
    ask(world, {"size": RECORDS - 1})
    with pytest.raises(PopulationError, match="fewer people than the file has records"):
        world.run(engine)


@pytest.mark.slow
def test_a_table_without_sex_counts_people_where_sex_is_withheld(world: World, engine: Any) -> None:
    people: dict[tuple[str, str], int] = {}
    for row in population_rows():
        people[row["age"], row["zip"]] = people.get((row["age"], row["zip"]), 0) + int(row["count"])
    rows = [{"age": age, "zip": code, "count": str(count)} for (age, code), count in people.items()]
    write_table(world.population, rows, ("age", "zip", "count"))
    ask(world, {"path": "population.csv", "lacks": ["sex"]}, recipients=[UNIVERSITY, recipient("partner")])
    outcome = world.run(engine)
    for record in outcome.records:
        assert record.population.basis is PopulationBasis.TABLE_AND_FILE
        assert (record.population.people, record.population.lacks) == (sum(people.values()), ("sex",))
        delivered = pd.read_csv(outcome.bundle / "delivery" / record.recipient.id / "data.csv", dtype=str)
        assert set(delivered["sex"]) == {"*"}
        listed = (outcome.bundle / "delivery" / record.recipient.id).rglob("sex.csv")
        assert not any("population table" in path.read_text() for path in listed)
        fewest = min(
            sum(
                count
                for (age, code), count in people.items()
                if _in(age, cell["age"]) and code.startswith(cell["zip"].rstrip("*"))
            )
            for _, cell in delivered.drop_duplicates(list(QUASI_IDENTIFIERS)).iterrows()
        )
        measured = {gate.id: gate.measured for gate in record.gates}
        assert measured["transparent.maximum_risk"] == pytest.approx(1 / fewest)
    again = reassess(outcome.release_id, world.workspace, TodaysFiles(), clock=LATER)
    assert [one.verdict for one in again] == [TodaysVerdict.HOLDS] * 2
    write_table(world.population, rows[1:], ("age", "zip", "count"))
    (changed, _) = reassess(outcome.release_id, world.workspace, TodaysFiles(), clock=LATER)
    assert changed.record is not None
    assert any("the table changed" in one.reason for one in changed.record.not_measured)


def _in(age: str, group: str) -> bool:
    if group.endswith("s"):
        return int(age) // 10 * 10 == int(group[:-1])
    low, _, high = group.partition("-")
    return group == "*" or int(low) <= int(age) <= int(high or low)


def test_init_drafts_a_file_that_is_its_own_population(tmp_path: Path, world: World, releasegate: Any) -> None:
    releasegate("init", world.data, "--output", tmp_path / "draft")
    text = (tmp_path / "draft" / "request.yaml").read_text()
    assert "\n  self: true" in text
    assert "sampling_fraction" in text
    assert json.dumps(drawn_rows()[0]["record_id"]) not in text

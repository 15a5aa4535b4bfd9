"""Releases to sequential adversaries: penalties that let one pass, terms that block one alone, what may be left."""

import json
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from flows.gate.outcome import Outcome
from flows.workspace.progress import listening
from tasks.core.errors import BadInput
from tasks.core.files import file_sha256
from tasks.decision.record import DecisionRecord, Verdict
from tasks.ledger.entry import Event
from tasks.ledger.store import Ledger
from tasks.request.inputs import read_inputs
from tasks.request.load import load_request, take_snapshot
from tests.support.brief_reports import whole_report
from tests.support.enrolled import but_enrolments
from tests.support.search import files_holding, holds
from tests.support.world import (
    DIAGNOSES,
    ID_MARK,
    PENALTY,
    QUASI_IDENTIFIERS,
    RECORDS,
    SENSITIVE_MARK,
    World,
    age_rows,
    drawn_rows,
    make_world,
    population_rows,
    recipient,
    write_table,
)

FINED = recipient("fined")
FREE = recipient("free", agreement={"id": "DUA-free", "expires": "2030-12-31"})
UNSOLVABLE = recipient("unsolvable", adversary={"prior": 0.3})
"""The register lists half of the people, so that nobody can be in it with this prior."""
WEIGHTS = {SENSITIVE_MARK: 1.0, "influenza": 0.1}
PRIVATE = {"prepared.npz", "masked.npz", "collected.json"} | {
    f"{stage}-fined.json" for stage in ("sequential", "combined", "identity", "linkage", "utility")
}


def write_register(world: World, divisor: int = 2) -> Path:
    """Half of the people of every combination of values, by name."""
    rows = [row | {"count": str(int(row["count"]) // divisor)} for row in population_rows()]
    write_table(world.folder / "register.csv", rows, (*QUASI_IDENTIFIERS, "count"))
    return world.folder / "register.csv"


def ask(world: World, *recipients: dict[str, Any], **changes: Any) -> None:
    weights = {"values": WEIGHTS, "default": 0.5}
    world.ask(
        recipients=list(recipients),
        external_data={"path": "register.csv", "source": "the roll"},
        attributes={"diagnosis": {"sensitivity": weights}, "note": {"known_probability": 0.2}} | changes,
    )


@dataclass(frozen=True)
class Made:
    """A release to three recipients, and what its private folder held before the first decision."""

    world: World
    outcome: Outcome
    private: dict[str, dict[str, bool]]
    """By file, whether it held each of the marks."""

    def record(self, who: str) -> DecisionRecord:
        return next(record for record in self.outcome.records if record.recipient.id == who)


@pytest.fixture(scope="module")
def made(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Made:
    world = make_world(tmp_path_factory.mktemp("adversary") / "world")
    write_register(world)
    ask(world, FINED, FREE, UNSOLVABLE)
    private: dict[str, dict[str, bool]] = {}

    def look(step: str) -> None:
        if step == "deciding and reporting for fined":
            for path in (world.workspace.private / "runs").glob("*/*.*"):
                private[path.name] = {mark: holds(path.read_bytes(), mark) for mark in (ID_MARK, SENSITIVE_MARK)}

    with listening(look):
        return Made(world, world.run(engine), private)


def test_each_recipient_is_decided_by_itself(made: Made) -> None:
    assert {record.recipient.id: record.decision for record in made.outcome.records} == {
        "fined": Verdict.APPROVED,
        "free": Verdict.BLOCKED,
        "unsolvable": Verdict.BLOCKED,
    }
    for folder, kind in (("decision", "json"), ("report", "pdf")):
        assert sorted(path.name for path in (made.outcome.bundle / folder).iterdir()) == [
            f"{who}.{kind}" for who in ("fined", "free", "unsolvable")
        ]
    assert [path.name for path in (made.outcome.bundle / "delivery").iterdir()] == ["fined"]
    assert [path.name for path in (made.outcome.bundle / "certificate").iterdir()] == ["fined.pdf"]


def test_without_a_penalty_the_recipient_who_plans_blocks_the_release(made: Made) -> None:
    record = made.record("free")
    (closed,) = (gate for gate in record.gates if not gate.passed)
    assert closed.id == "sequential.maximum_risk"
    assert closed.measured is not None
    assert closed.measured > 0.09
    (reason,) = record.reasons
    assert reason.startswith("Highest risk of a record from repeated attempts: ")
    assert reason.endswith(" measured; at most 0.09 allowed.")


def test_with_a_penalty_the_same_cells_are_released(made: Made) -> None:
    fined, free = made.record("fined").risk, made.record("free").risk
    assert fined is not None
    assert free is not None
    assert fined.transparent == free.transparent
    assert fined.sequential is not None
    assert free.sequential is not None
    assert fined.sequential.residual[2].maximum_risk == 0
    assert (fined.sequential.profile.penalty, free.sequential.profile.penalty) == (PENALTY["penalty"], 0)
    assert fined.sequential.profile.origins["penalty"] == "agreement"
    assert fined.combined == free.combined


def test_a_prior_below_the_register_blocks_its_recipient_and_says_why(made: Made) -> None:
    record = made.record("unsolvable")
    assert record.risk is not None
    assert record.risk.sequential is None
    assert record.risk.combined is not None, "the other assessments are made"
    failure = record.reasons[-1]
    assert failure.startswith("sequential adversary: the declared prior is below what the register implies")
    assert "to do: " in failure
    assert "These stages did not finish: sequential adversary, delivery." in record.reasons
    assert "Highest risk of a record from repeated attempts: not measured; at most 0.09 allowed." in record.reasons
    assert "sequential adversary" in {one.stage for one in record.not_assessed}
    assert (made.outcome.bundle / "report" / "unsolvable.pdf").stat().st_size > 10_000


def largest_listed_share(made: Made) -> float:
    """Of the people of a released cell, those in the register; cells of a partition do not overlap."""
    delivered = pd.read_csv(made.outcome.bundle / "delivery" / "fined" / "data.csv", dtype=str)
    ages = {row[0]: set(row) for row in age_rows()}
    shares = []
    for cell in delivered[list(QUASI_IDENTIFIERS)].drop_duplicates().itertuples():
        within = [
            int(row["count"])
            for row in population_rows()
            if cell.age in ages[row["age"]]
            and cell.sex in {row["sex"], "*"}
            and cell.zip in {row["zip"], f"{row['zip'][:3]}**", "*"}
        ]
        shares.append(sum(count // 2 for count in within) / sum(within))
    return max(shares)


def test_the_register_is_the_external_data(made: Made) -> None:
    listed = sum(int(row["count"]) // 2 for row in population_rows())
    risk = made.record("fined").risk
    assert risk is not None
    assert risk.sequential is not None
    external = risk.sequential.external
    assert (external.kind, external.people, external.source) == ("register", listed, "the roll")
    assert external.sha256 == file_sha256(made.world.folder / "register.csv")
    assert risk.sequential.profile.prior == pytest.approx(largest_listed_share(made))
    assert risk.sequential.profile.origins["prior"].startswith("register: ")
    assert sum(one.records for one in risk.sequential.group_sizes) == RECORDS


def scores(frame: pd.DataFrame) -> "pd.Series[float]":
    """The combined score by plain grouping: three columns are known, the note in a fifth of all cases."""
    likelihood = pd.Series(0.0, index=frame.index)
    for size in range(5):
        for known in combinations([*QUASI_IDENTIFIERS, "note"], size):
            alike = frame.groupby(list(known))["visits"].transform("size") if known else len(frame)
            likelihood += (0.2 if "note" in known else 1.0) / alike
    return likelihood * frame["diagnosis"].map(WEIGHTS).fillna(0.5)


def test_the_combined_score_is_that_of_data_and_file(made: Made) -> None:
    """Counted anew with pandas, before from the data and after from the delivered bytes."""
    risk = made.record("fined").risk
    assert risk is not None
    assert risk.combined is not None
    assert risk.combined.known_probabilities == {"age": 1, "sex": 1, "zip": 1, "diagnosis": 0, "note": 0.2}
    assert risk.combined.known_sets == 16
    delivered = made.outcome.bundle / "delivery" / "fined" / "data.csv"
    files = {"initial": made.world.data, "residual": delivered}
    for name, path in files.items():
        figure, found = getattr(risk.combined, name), scores(pd.read_csv(path, dtype=str, keep_default_na=False))
        assert figure.records == len(found) == RECORDS
        assert figure.maximum == pytest.approx(found.max())
        assert figure.mean == pytest.approx(found.mean())
        assert figure.quantile == pytest.approx(found.quantile(0.99, interpolation="higher"))
        assert figure.above == (found > 1).sum()
    assert risk.combined.residual.mean < risk.combined.initial.mean
    assert {part.attributes for part in risk.combined.by_attribute} == {("diagnosis",)}


def test_the_file_as_delivered_carries_the_judged_figures(made: Made) -> None:
    (gate,) = (gate for gate in made.record("fined").gates if gate.id == "released.rescored_equal")
    assert gate.passed
    assert gate.because.startswith("All ")
    assert made.record("fined").dataset.output_sha256 == file_sha256(
        made.outcome.bundle / "delivery" / "fined" / "data.csv"
    )


def test_files_between_stages_hold_no_value_and_are_gone_afterwards(made: Made) -> None:
    """But for the private copies of the inputs, in a folder of their own, and the file itself."""
    assert PRIVATE | {"released-fined.csv"} <= made.private.keys()
    for name, held in made.private.items():
        assert held == {ID_MARK: False, SENSITIVE_MARK: name == "released-fined.csv"}, name
    runs = made.world.workspace.private / "runs"
    assert [path.suffix for path in runs.rglob("*")] == [".lock"]


def test_neither_records_nor_reports_nor_the_ledger_hold_a_value(made: Made, engine: Any) -> None:
    """Weights are given by value in the request, which stays where it is."""
    assert "request.yaml" in files_holding(made.world.folder, SENSITIVE_MARK)
    data = (made.outcome.bundle / "delivery" / "fined" / "data.csv").relative_to(made.world.workspace.root)
    assert files_holding(made.world.workspace.root, SENSITIVE_MARK) == [data.as_posix()]
    assert files_holding(made.world.workspace.root, ID_MARK) == []
    assert files_holding(engine.home, SENSITIVE_MARK) == []
    for path in (made.outcome.bundle / "decision").iterdir():
        assert not any(holds(path.read_bytes(), value) for value in DIAGNOSES)
    for report in map(whole_report, made.outcome.records):
        assert not any(holds(report, value) for value in (*DIAGNOSES, SENSITIVE_MARK, ID_MARK))


def test_a_changed_register_is_another_release(made: Made, releasegate: Any, tmp_path: Path) -> None:
    world = made.world
    loaded = load_request(world.request)
    inputs = read_inputs(loaded)
    before = (world.folder / "register.csv").read_bytes()
    try:
        write_register(world, 3)
        with pytest.raises(BadInput, match=r"external_data.path was changed while the gate was at work"):
            take_snapshot(loaded, inputs.by_place, tmp_path)
        told = releasegate("explain", made.outcome.release_id, "--workspace", world.workspace.root, "--json")
        assert told.code == 2
        assert "the external register changed since the decision" in told.document["error"]["what"]
    finally:
        (world.folder / "register.csv").write_bytes(before)


@pytest.mark.parametrize("method", ["fmdp", "combined"])
def test_assessed_alone_a_method_gives_the_figures_of_the_record(method: str, made: Made, releasegate: Any) -> None:
    ask(made.world, FINED, FREE)
    try:
        told = releasegate("assess", method, made.world.request, "--top", "3", "--json")
        shown = releasegate("assess", method, made.world.request)
    finally:
        ask(made.world, FINED, FREE, UNSOLVABLE)
    part = {"fmdp": "sequential", "combined": "combined"}[method]
    for who, document in told.document["recipients"].items():
        risk = made.record(who).risk
        assert risk is not None
        recorded = getattr(risk, part).model_dump(mode="json")
        records = document.pop("records", None)
        assert {"figures", "masking", "note"} < document.keys()
        assert {name: document[name] for name in recorded} == json.loads(json.dumps(recorded))
        assert (records is None) == (method == "fmdp")
        if records is not None:
            assert [one["rank"] for one in records] == [1, 2, 3]
            assert records[0]["score"] == pytest.approx(recorded["residual"]["maximum"])
            assert all(1 <= one["row"] <= RECORDS for one in records)
    assert shown.code == 0
    for text in (told.out, shown.out):
        assert not any(value in text for value in (*DIAGNOSES, SENSITIVE_MARK, ID_MARK))
    assert all(who in shown.out for who in ("fined", "free"))


@pytest.mark.slow
def test_a_policy_that_no_release_can_be_scored_by_is_refused(world: World, engine: Any) -> None:
    """Eighteen more columns that may be known, beside three that are: two million sets."""
    names = tuple(f"further{number}" for number in range(18))
    write_register(world)
    world.write_rows([row | dict.fromkeys(names, "x") for row in drawn_rows()], (*drawn_rows()[0], *names))
    ask(world, FINED, **{name: {"role": "insensitive", "known_probability": 0.5} for name in names})
    with pytest.raises(BadInput, match="too many sets of attributes") as caught:
        world.run(engine)
    assert caught.value.exit_code == 2
    assert caught.value.where == "epsilon"
    assert {"what", "where", "expected", "got", "fix"} == caught.value.fields().keys()
    assert list(world.workspace.releases.iterdir()) == []
    assert [path.suffix for path in (world.workspace.private / "runs").rglob("*")] == [".lock"]
    with Ledger.open(world.workspace.ledger, create=False) as ledger:
        assert [entry.event for entry in but_enrolments(ledger)] == [Event.REQUESTED, Event.REFUSED]

"""A mark planted in bad records of every kind is found in nothing that the gate writes or says."""

import json
import logging
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tasks.core.errors import StageFailed
from tasks.decision.record import DecisionRecord
from tests.support import world as worlds
from tests.support.brief_reports import whole_report
from tests.support.examples import quick_and_slow
from tests.support.search import files_holding, holds
from tests.support.shared_workers import BRIEFLY
from tests.support.world import ID_MARK, World, make_world, recipient

MARK = "QuollMark"
PLANTED = {
    "visits": {3: f"{MARK} times", 4: f"9{MARK}"},
    "note": {
        5: f"{MARK}@example.org",
        6: f"Dr {MARK}, 615-555-0143",
        7: f"{MARK} " * 100_000,
        8: f"see https://example.org/{MARK}",
        9: f"{MARK} 219-09-9999",
    },
    "record_id": {10: f"{MARK}-7", 11: f"{MARK}-7"},
    "diagnosis": {12: f"{MARK} of the bones"},
}
OPEN = [{"measure": "transparent.maximum_risk", "at_most": 1, "because": "a test of what comes after the gates"}]
FAILED = {
    "identifier in text",
    "name",
    "population coverage",
    "type",
    "email",
    "phone",
    "text length",
    "url",
    "ssn",
    "unique",
}


PLACES = (
    "flows.pipeline.work.prepare_file",
    "tasks.validation.run.validate",
    "tasks.assessments.sequential.assessment.plan",
    "flows.pipeline.work.mask_columns",
    "tasks.assessments.combined.assessment.combine",
    "tasks.assessments.linkage.assessment.attack",
    "tasks.assessments.utility.assessment.generalization_loss",
    "tasks.delivery.write.figures_of_file",
    "tasks.delivery.pseudonym_columns.pseudonyms_of",
    "tasks.delivery.write.keep_crosswalk",
    "flows.gate.publishing.seal",
)
"""Functions in which a fault of the program is played: one of each stage."""
QUICK = {
    "flows.pipeline.work.prepare_file",
    "tasks.assessments.linkage.assessment.attack",
    "flows.gate.publishing.seal",
}


@dataclass(frozen=True)
class Left:
    """What two runs with bad records left: one blocked, one refused."""

    world: World
    blocked: "worlds.subprocess.CompletedProcess[str]"
    refused: "worlds.subprocess.CompletedProcess[str]"
    around: Path
    """Home and folder for temporary files of both processes."""

    @property
    def bundle(self) -> Path:
        return Path(json.loads(self.blocked.stdout)["bundle"])


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Left:
    folder = tmp_path_factory.mktemp("canaries")
    world, around = make_world(folder / "world"), folder / "around"
    around.mkdir()
    surroundings = {"HOME": str(around), "TMPDIR": str(around), "XDG_CACHE_HOME": str(around), **BRIEFLY}
    line = ("release", world.request, "--workspace", world.workspace.root)
    world.spoil(**PLANTED)
    world.uncover(12, 13)
    blocked = worlds.releasegate(*line, "--json", environment=surroundings)
    world.spoil(age={4: f"{MARK}9"})
    refused = worlds.releasegate(*line, environment=surroundings)
    return Left(world, blocked, refused, around)


@pytest.mark.slow
def test_each_kind_of_bad_record_is_noticed(left: Left) -> None:
    assert left.blocked.returncode == 3, left.blocked.stderr
    document = json.loads(left.blocked.stdout)
    record = json.loads((left.bundle / "decision" / "university.json").read_bytes())
    failed = {check["id"].split("/")[0] for check in record["validation"]["checks"] if not check["passed"]}
    assert failed == FAILED
    assert document["recipients"][0]["decision"] == "blocked"
    assert "validation checks failed" in document["recipients"][0]["reasons"][0]


@pytest.mark.slow
def test_the_process_ends_with_code_2_and_says_why(left: Left) -> None:
    assert left.refused.returncode == 2
    assert left.refused.stdout == ""
    *progress, what, where, expected, got, fix = left.refused.stderr.splitlines()
    assert progress[-1] == "· reading data and population"
    assert what == "error: values are missing from a hierarchy"
    assert where == "  where: data.csv, column age, row 5"
    assert (expected[:12], got[:7], fix[:9]) == ("  expected: ", "  got: ", "  to do: ")


@pytest.mark.slow
def test_the_steward_is_told_the_rows_counted_from_1(left: Left) -> None:
    positions = json.loads(Path(json.loads(left.blocked.stdout)["positions"]).read_bytes())
    rows = {name.split("/")[0]: found for name, found in positions.items()}
    assert rows["unique"] == [11, 12]
    assert {13, 14} <= set(rows["population coverage"])
    assert rows["type"] == [4, 5]
    assert rows["email"] == [6]
    assert rows["text length"] == [8]


@pytest.mark.slow
def test_no_file_holds_the_mark(left: Left) -> None:
    assert holds(left.world.data.read_bytes(), MARK)
    assert files_holding(left.world.workspace.root, "Visits") != []
    assert files_holding(left.world.workspace.root, MARK) == []
    assert files_holding(left.around, MARK) == []
    record = DecisionRecord.model_validate_json((left.bundle / "decision" / "university.json").read_bytes())
    assert not holds(whole_report(record), MARK)


@pytest.mark.slow
def test_no_stream_holds_the_mark(left: Left) -> None:
    for told in (left.blocked, left.refused):
        assert not holds((told.stdout + told.stderr).encode(), MARK)


@pytest.mark.slow
def test_nothing_of_the_runs_is_kept(left: Left) -> None:
    runs = left.world.workspace.private / "runs"
    assert {path.suffix for path in runs.rglob("*")} == {".lock"}
    assert list(left.world.workspace.staging.iterdir()) == []
    assert not (left.bundle / "delivery").exists() or list((left.bundle / "delivery").iterdir()) == []


@pytest.mark.parametrize("place", quick_and_slow(QUICK, PLACES))
def test_a_fault_of_the_program_that_quotes_the_data_tells_nothing(
    *,
    place: str,
    world: World,
    orchestrator: Any,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Whatever an exception says, only its type and its place in the code are kept; orchestrator and logs included."""

    def quote(*given: object, **_more: object) -> None:
        raise ValueError(f"cannot convert {MARK} in {given}")

    monkeypatch.setattr(place, quote)
    caplog.set_level(logging.DEBUG)
    world.ask(
        attributes={"record_id": {"role": "pseudonym"}},
        recipients=[recipient("university")],
        masking=[{"attributes": ["visits"], "method": "rank-swapping", "p": 10}],
        policy={"gates": OPEN},
    )
    with pytest.raises(StageFailed) as caught:
        world.run(orchestrator)
    assert caught.value.got == "ValueError"
    assert caught.value.exit_code == 3
    printed = capfd.readouterr()
    told = "".join([*traceback.format_exception(caught.value), caplog.text, printed.out, printed.err])
    for mark in (MARK, ID_MARK):
        assert not holds(told.encode(), mark)
        assert files_holding(world.workspace.root, mark) == []
        assert files_holding(orchestrator.home, mark) == []
    assert [path.suffix for path in (world.workspace.private / "runs").rglob("*")] == [".lock"]
    assert list(world.workspace.staging.rglob("*.*")) == []

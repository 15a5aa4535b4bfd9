"""Dry runs of the gate: the figures and verdicts of a release, and nothing written that a release would write."""

import hashlib
import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from flows.cli.dry_run import shown_dry_run
from flows.gate.dry_run import DryRun, dry_run
from flows.workspace.folders import Workspace
from tasks.core.errors import BadInput
from tasks.decision.record import DecisionRecord, Verdict
from tests.flows.conftest import Here
from tests.support.decoyed_world import make_decoyed_world
from tests.support.world import NOW, WHOLE_CELLS, World, recipient


def dry(world: World, **options: Any) -> DryRun:
    here = lambda _: nullcontext(Here())  # noqa: E731
    with dry_run(world.request, world.workspace.root, clock=lambda: NOW, workers=here, **options) as made:
        return made


def written(workspace: Workspace) -> dict[str, str]:
    """Files of a workspace with their hashes; locks and the key of the vault are none that a release leaves."""
    files = [one for one in workspace.root.rglob("*") if one.is_file() and one.name != "decoy-keys"]
    return {str(one): hashlib.sha256(one.read_bytes()).hexdigest() for one in files}


def judged(record: DecisionRecord) -> list[object]:
    gates = [(gate.id, gate.measured, gate.threshold, gate.passed) for gate in record.gates]
    return [record.recipient.id, record.decision, record.reasons, gates]


def test_it_finds_what_the_release_then_decides_and_writes_nothing(world: World, engine: Any) -> None:
    world.ask(recipients=[recipient("university"), recipient("lab", expires="2020-01-01")])
    world.enrol(lambda: NOW)
    before = written(world.workspace)
    made = dry(world)
    assert written(world.workspace) == before
    released = world.run(engine)
    assert [judged(one) for one in made.recalled.records] == [judged(one) for one in released.records]
    assert {one.decision for one in released.records} == {Verdict.APPROVED, Verdict.BLOCKED}
    assert made.recalled.release_id == released.release_id
    assert [judged(one) for one in dry(world).recalled.records] == [judged(one) for one in released.records]


def test_without_a_workspace_the_terms_of_the_request_count_as_enrolled(world: World) -> None:
    left = sorted(Path(tempfile.gettempdir()).glob("releasegate-*"))
    (record,) = dry(world).recalled.records
    assert record.decision is Verdict.APPROVED
    assert not world.workspace.root.exists()
    assert sorted(Path(tempfile.gettempdir()).glob("releasegate-*")) == left


def test_earlier_copies_in_the_same_hand_count(world: World, engine: Any) -> None:
    gates = [{"measure": "transparent.maximum_risk", "at_most": 0.1, "because": "a small world"}]
    world.ask(policy={"gates": gates, **WHOLE_CELLS}, attributes={"zip": {"weight": 0.01}, "sex": {"weight": 0.01}})
    assert [one.decision for one in world.run(engine).records] == [Verdict.APPROVED]
    world.ask(policy={"gates": gates, **WHOLE_CELLS}, attributes={"age": {"weight": 0.01}, "sex": {"weight": 0.01}})
    (record,) = dry(world).recalled.records
    assert record.earlier is not None
    assert len(record.earlier.copies) == 1
    assert judged(record) == judged(world.run(engine).records[0])


def test_what_the_officers_have_not_enrolled_is_refused(world: World) -> None:
    world.enrol(lambda: NOW)
    world.ask(policy={"version": "2"})
    before = written(world.workspace)
    with pytest.raises(BadInput, match="the policy is not enrolled"):
        dry(world)
    assert written(world.workspace) == before


def test_whoever_has_the_data_may_try_a_policy_that_is_not_enrolled(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.ask(policy={"version": "1"})
    world.enrol(lambda: NOW)
    before = written(world.workspace)
    gates = [{"measure": "transparent.maximum_risk", "at_most": 0.0001, "because": "a stricter policy"}]
    world.ask(policy={"version": "1", "gates": gates})
    made = dry(world, any_policy=True)
    (record,) = made.recalled.records
    assert record.decision is Verdict.BLOCKED
    assert record.policy.enrolled is None
    (note,) = made.notes
    assert "is enrolled with other terms, and a release is refused until an officer enrols this one" in note
    assert written(world.workspace) == before
    assert shown_dry_run(world.request, world.workspace.root, []) == 3
    told = capsys.readouterr()
    assert told.out.startswith("WOULD BE BLOCKED  university")
    assert "note: Judged by the policy as written: standard/1 is enrolled with other terms" in " ".join(
        told.err.split()
    )
    with pytest.raises(BadInput, match="the policy is not the one that is enrolled"):
        dry(world)
    world.ask(policy={"version": "2"})
    (note,) = dry(world, any_policy=True).notes
    assert "/2 is not enrolled, and a release is refused until an officer enrols this one with" in note


def test_a_population_that_is_not_enrolled_is_refused_whatever_the_policy(world: World) -> None:
    world.enrol(lambda: NOW)
    world.ask(population={"source": "another source"})
    with pytest.raises(BadInput, match="not described as it was enrolled"):
        dry(world, any_policy=True)


@pytest.mark.slow
def test_decoys_and_crosswalks_of_a_dry_run_are_gone_with_it(tmp_path: Path) -> None:
    world = make_decoyed_world(tmp_path / "world")
    world.enrol(lambda: NOW)
    before = written(world.workspace)
    made = dry(world)
    assert [one.decoys is not None for one in made.recalled.records] == [True, True, False]
    assert written(world.workspace) == before


def test_pseudonyms_leave_no_crosswalk(world: World) -> None:
    world.ask(attributes={"record_id": {"role": "pseudonym"}})
    world.enrol(lambda: NOW)
    before = written(world.workspace)
    (record,) = dry(world).recalled.records
    assert record.decision is Verdict.APPROVED
    assert written(world.workspace) == before


@pytest.mark.slow
def test_the_commands_say_that_nothing_was_decided(world: World, releasegate: Any) -> None:
    world.ask(recipients=[recipient("university", expires="2020-01-01")])
    told = releasegate("release", world.request, "--dry-run", "--workspace", world.workspace.root)
    assert told.code == 3
    assert told.out.startswith("WOULD BE BLOCKED  university")
    assert "A dry run: nothing was decided, recorded or delivered." in told.out
    place = f"--workspace {world.workspace.root}"
    assert f"`releasegate explain {world.request} {place}`" in told.out
    assert f"`releasegate release {world.request} {place}`" in told.out
    assert not any(world.workspace.releases.iterdir())
    told = releasegate("release", world.request, "--dry-run", "--workspace", world.workspace.root, "--json")
    (only,) = told.document["recipients"]
    assert (told.document["dry_run"], only["decision"]) == (True, "blocked")
    told = releasegate("explain", world.request, "--workspace", world.workspace.root)
    assert told.code == 0
    assert told.out.startswith("WOULD BE BLOCKED  university")
    assert f"releasegate explain {world.request} --recipient university {place} --details" in told.out

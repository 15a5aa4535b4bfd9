"""Masking, record linkage and utility by the commands that release nothing."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tasks.assessments.linkage.facts import LinkageFact
from tasks.assessments.utility.facts import UtilityFact
from tasks.decision.record import DecisionRecord, Verdict
from tasks.request.measures import MEASURES
from tasks.request.model import Measure
from tests.support.engines import SharedEngine
from tests.support.world import DIAGNOSES, RECORDS, World, drawn_rows, make_world

SWAPPED = {"attributes": ["visits"], "method": "rank-swapping", "p": 2}
WEIGHED = {
    "visits": {
        "role": "sensitive",
        "type": "integer",
        "sensitivity": {"attribute": 0.5, "values": {"0": 0.1}},
        "known_probability": None,
    }
}
CONSTANT = "77123"
KNOWN = ["age", "sex", "zip", "visits"]
GATES = [
    {"measure": "transparent.maximum_risk", "at_most": 0.09, "because": "a test"},
    {"measure": "combined.maximum", "at_most": 100, "because": "a test"},
    {"measure": "linkage.masked_share", "at_most": 0.1, "because": "a test"},
    {"measure": "utility.loss", "at_most": 1, "because": "a test"},
]
VALUES = {*DIAGNOSES, "QJXIDENTITY", "seen in room"}


def masked(world: World, **changes: Any) -> World:
    world.ask(masking=[SWAPPED], attributes=WEIGHED, **changes)
    return world


def silent(told: Any) -> Any:
    assert not any(value in told.out + told.err for value in VALUES)
    return told


def test_check_says_what_is_masked_and_held(world: World, releasegate: Any) -> None:
    masked(world)
    told = silent(releasegate("check", world.request))
    assert told.code == 0
    assert "masked: visits by rank-swapping, p = 2" in told.out
    assert "assumed known to an attacker: age, sex, zip, visits" in told.out
    document = releasegate("check", world.request, "--json").document
    assert [(one["attributes"], one["method"]) for one in document["masking"]] == [(["visits"], "rank-swapping")]
    assert document["known"] == KNOWN


@pytest.mark.parametrize(
    ("cells", "masking", "what"),
    [
        (dict.fromkeys(range(RECORDS), CONSTANT), SWAPPED, "an attribute that is to be masked does not vary"),
        ({}, {"attributes": ["visits"], "method": "mdav", "k": 500}, "k"),
        ({}, {"attributes": ["visits"], "method": "rank-swapping", "p": 0.01}, "p"),
    ],
)
def test_check_refuses_what_cannot_be_masked(
    cells: dict[int, str], masking: dict[str, Any], what: str, world: World, releasegate: Any
) -> None:
    world.spoil(visits=cells)
    world.ask(masking=[masking])
    told = silent(releasegate("check", world.request, "--json"))
    assert told.code == 2
    error = told.document["error"]
    assert what in error["what"] or what in error["where"]
    assert "visits" in error["where"]
    assert CONSTANT not in told.out


def test_the_attacks_of_a_release(world: World, releasegate: Any) -> None:
    masked(world)
    as_json = silent(releasegate("assess", "linkage", world.request, "--json"))
    found = as_json.document["recipients"]["university"]
    figures, note = found.pop("figures"), found.pop("note")
    assert found.pop("masking")[0]["attributes"] == ["visits"]
    fact = LinkageFact.model_validate(found)
    assert list(fact.known) == KNOWN
    assert fact.partial
    assert len(fact.policies) > 1
    assert figures["linkage.informed_share"] >= figures["linkage.uninformed_share"] > 0
    assert "the release's will differ" in note
    assert releasegate("assess", "linkage", world.request, "--json").out == as_json.out

    told = silent(releasegate("assess", "linkage", world.request))
    assert told.code == 0
    assert all(attack.title[:20] in told.out for attack in fact.attacks)
    assert "Rank swapping" in told.out
    assert note in told.out


def test_nothing_is_said_of_masking_where_nothing_is_masked(world: World, releasegate: Any) -> None:
    for method in ("linkage", "utility"):
        told = silent(releasegate("assess", method, world.request))
        assert told.code == 0
        assert "masked with randomness" not in told.out
        found = releasegate("assess", method, world.request, "--json").document["recipients"]["university"]
        assert (found["masking"], found["note"]) == ([], "")


def test_the_utility_of_a_release(world: World, releasegate: Any) -> None:
    masked(world, policy={"id": "standard", "version": "1", "utility": {"target": "diagnosis"}})
    found = silent(releasegate("assess", "utility", world.request, "--json")).document["recipients"]["university"]
    figures, _, _ = found.pop("figures"), found.pop("note"), found.pop("masking")
    fact = UtilityFact.model_validate(found)
    assert figures == {"utility.loss": fact.file.loss}
    assert fact.numeric[0].name == "visits"
    assert sum(point.chosen for point in fact.curves[0].points) == 1

    told = silent(releasegate("assess", "utility", world.request))
    assert told.code == 0
    for heading in (
        "utility of the file",
        "Masked attributes: changes",
        "Associations of two attributes",
        "with 4 clusters",
        "Classifiers that predict diagnosis",
        "Rank swapping: visits",
    ):
        assert heading in told.out


def test_one_recipient_of_several(world: World, releasegate: Any) -> None:
    from tests.support.world import UNIVERSITY, recipient

    world.ask(recipients=[UNIVERSITY, recipient("second")])
    document = releasegate("assess", "linkage", world.request, "-r", "second", "--json").document
    assert list(document["recipients"]) == ["second"]
    told = releasegate("assess", "linkage", world.request, "-r", "nobody", "--json")
    assert (told.code, told.document["error"]["where"]) == (2, "--recipient")
    assert "university, second" in told.document["error"]["expected"]


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory, engine: SharedEngine) -> World:
    """A world whose release is blocked: swapping by two percent tells nearly whose number is whose."""
    world = make_world(tmp_path_factory.mktemp("linkage") / "world")
    rows = [{**row, "visits": str(place * 7 % RECORDS)} for place, row in enumerate(drawn_rows())]
    world.write_rows(rows)
    masked(world, policy={"gates": GATES, "linkage": {"learned": True}})
    (record,) = world.run(engine).records
    assert record.decision is Verdict.BLOCKED
    return world


def record_of(world: World) -> DecisionRecord:
    (path,) = world.workspace.releases.glob("*/decision/*.json")
    return DecisionRecord.model_validate_json(path.read_bytes())


@pytest.mark.slow
def test_why_a_release_is_blocked_by_its_attacks(released: World, releasegate: Any) -> None:
    """Recorded figures are found again, that of masked sensitive values too: they are masked with the release's key."""
    record = record_of(released)
    workspace = ("--workspace", released.workspace.root)
    (told,) = silent(releasegate("explain", record.release_id, *workspace, "--json")).document["recipients"]
    measured = {gate.id: gate.measured for gate in record.gates}
    assert told["figures"]["linkage.masked_share"] == measured["linkage.masked_share"]
    assert told["figures"]["combined.maximum"] == pytest.approx(measured["combined.maximum"])
    assert told["attacks"]["linkage.masked_share"]["attributes"] == ["visits"]
    (stronger,) = (flip for flip in told["flips"] if flip["changes"][0]["where"] == "masking[0].p")
    assert stronger["estimated"] == ["linkage.masked_share"]

    shown = silent(releasegate("explain", record.release_id, *workspace, "--details"))
    assert shown.code == 0
    assert told["attacks"]["linkage.masked_share"]["title"] in " ".join(shown.out.split())
    assert "p of rank-swapping of visits" in shown.out
    assert "≈" in shown.out
    assert MEASURES[Measure.LINKED_MASKED].title in shown.out


def test_without_the_key_masked_numbers_cannot_be_explained(released: World, releasegate: Any, tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    shutil.copytree(released.workspace.root, workspace)
    key = workspace / ".releasegate" / "key"
    (workspace / ".releasegate" / "ledger-head" / "noted").unlink()  # else the ledger is refused first
    for content in (None, b"x" * key.stat().st_size):
        key.unlink()
        if content:
            key.write_bytes(content)
        told = releasegate("explain", record_of(released).release_id, "--workspace", workspace, "--json")
        assert told.code == 2
        assert "the key that numbers were masked" in json.loads(told.out)["error"]["what"]
        key.touch()

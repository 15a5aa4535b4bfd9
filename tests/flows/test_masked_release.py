"""Releases with masked numbers: what leaves, who is blocked by what an intruder links, and that no original is left."""

import json
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from flows.gate import Outcome
from flows.progress import listening
from flows.workspace import Workspace
from tasks.decision.record import DecisionRecord, Verdict
from tasks.delivery.verification import verify_bundle
from tasks.errors import StageFailed
from tasks.ledger.store import Ledger
from tasks.linkage.attack import Attacked, Setting, attack
from tests.support.search import files_holding, pdf_parts
from tests.support.world import (
    COLUMNS,
    ID_MARK,
    RECORDS,
    SENSITIVE_MARK,
    UNIVERSITY,
    World,
    drawn_rows,
    make_world,
    recipient,
)

PARTNER = recipient("partner", stakes={"benefit": 1200, "loss": 300, "cost": 2})
"""Half the cost of an attempt asks for groups twice as large, so for other cells."""
UNLUCKY = recipient("unlucky")
"""Its attack fails; see ``attack_or_fail``."""
MASKING = [
    {"attributes": ["bill"], "method": "mdav", "k": 60},
    {"attributes": ["dose", "visits"], "method": "rank-swapping", "p": 80},
]
NUMBERS = {
    "bill": {"role": "sensitive", "type": "integer"},
    "dose": {"role": "insensitive", "type": "number", "description": "Milligrams a day"},
}
LINKED = {"measure": "linkage.informed_share", "at_most": 0.02, "because": "a test"}
RISK = {"measure": "transparent.maximum_risk", "at_most": 0.09, "because": "a test"}
UNMASKED = ("diagnosis", "note")
LONG = re.compile(rb"(?=(\d{12}))")
"""Bills have twelve digits, so that none is met by chance."""


def write_numbers(world: World) -> pd.DataFrame:
    """Give every record a bill of its own and a dose."""
    generator = np.random.default_rng(11)
    bills = generator.choice(9 * 10**11, RECORDS, replace=False) + 10**11
    doses = np.round(generator.gamma(4, 20, RECORDS), 5)
    rows = [
        row | {"bill": str(bill), "dose": repr(float(dose))}
        for row, bill, dose in zip(drawn_rows(), bills, doses, strict=True)
    ]
    world.write_rows(rows, (*COLUMNS, "bill", "dose"))
    return pd.DataFrame(rows)


def ask(world: World, *recipients: dict[str, Any], **changes: Any) -> None:
    world.ask(attributes=NUMBERS, masking=MASKING, recipients=list(recipients), **changes)


def attack_or_fail(setting: Setting, generator: np.random.Generator, **options: Any) -> Attacked:
    if setting.recipient.id == "unlucky":
        raise StageFailed("the attack met its match", where="a test", expected="luck", got="none", fix="try again")
    return attack(setting, generator, **options)


@dataclass(frozen=True)
class Masked:
    """A release to two recipients who are approved and one whose attack failed."""

    world: World
    frame: pd.DataFrame
    outcome: Outcome

    def record(self, who: str) -> DecisionRecord:
        return next(record for record in self.outcome.records if record.recipient.id == who)

    def delivered(self, who: str) -> pd.DataFrame:
        path = self.outcome.bundle / "delivery" / who / "data.csv"
        return pd.read_csv(path, dtype=str, keep_default_na=False)


@pytest.fixture(scope="module")
def masked(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Masked]:
    world = make_world(tmp_path_factory.mktemp("masked") / "world")
    frame = write_numbers(world)
    ask(world, UNIVERSITY, PARTNER, UNLUCKY)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("tasks.linkage.task.attack", attack_or_fail)
        yield Masked(world, frame, world.run(engine))


def test_each_recipient_is_decided_by_what_its_own_file_gives_away(masked: Masked) -> None:
    assert {record.recipient.id: record.decision for record in masked.outcome.records} == {
        "university": Verdict.APPROVED,
        "partner": Verdict.APPROVED,
        "unlucky": Verdict.BLOCKED,
    }
    assert sorted(path.name for path in (masked.outcome.bundle / "delivery").iterdir()) == ["partner", "university"]
    with Ledger.open(masked.world.workspace.ledger, create=False) as ledger:
        ledger.verify()
        assert list(verify_bundle(masked.outcome.bundle, ledger).delivered) == ["partner", "university"]


def test_a_failed_attack_blocks_its_recipient_and_says_why(masked: Masked) -> None:
    record = masked.record("unlucky")
    assert record.risk is not None
    assert (record.risk.linkage, record.utility) == (None, None)
    assert record.reasons == (
        "Records that an informed intruder links correctly by masked numbers alone: not measured; at most 9% allowed.",
        "These stages did not finish: record linkage, utility, delivery.",
        "record linkage: the attack met its match; where: a test; expected: luck; got: none; to do: try again",
    )
    assert "record linkage" in {one.stage for one in record.not_assessed}
    assert (masked.outcome.bundle / "report" / "unlucky.pdf").stat().st_size > 10_000


def test_the_record_tells_how_numbers_were_masked_and_attacked(masked: Masked) -> None:
    record = masked.record("university")
    assert [(one.attributes, one.method) for one in record.masking] == [
        (("bill",), "mdav"),
        (("dose", "visits"), "rank-swapping"),
    ]
    assert record.masking[0].parameters["k"] == 60
    assert record.masking[1].parameters == {"p": 80, "k": 192, "reading": "pair"}
    assert [one.rounded for one in record.masking] == [True, False]
    assert record.risk is not None
    linkage = record.risk.linkage
    assert linkage is not None
    assert linkage.known == ("age", "sex", "zip", "visits", "bill", "dose")
    assert {"groups-matching", "own-cell", "numbers-candidates", "numbers-joint", "all-joint"} <= {
        one.id for one in linkage.attacks
    }
    (gate,) = (gate for gate in record.gates if gate.id == "linkage.masked_share")
    assert gate.passed
    assert gate.measured == linkage.attack(linkage.strongest_masked or "").figure.share
    assert record.utility is not None
    assert {one.name for one in record.utility.numeric} == {"bill", "dose", "visits"}
    assert {field.name: field.treatment for field in record.fields if field.name in ("bill", "visits", "note")} == {
        "bill": "masked (mdav)",
        "visits": "masked (rank-swapping)",
        "note": "released as collected",
    }


def test_everybody_gets_the_same_masked_values(masked: Masked) -> None:
    """In other rows and beside other cells; so nothing is gained by averaging copies."""
    names = [*UNMASKED, "visits", "bill", "dose"]
    copies = [masked.delivered(who) for who in ("university", "partner")]
    first, second = (Counter(copy[names].itertuples(index=False, name=None)) for copy in copies)
    assert first == second
    assert copies[0]["bill"].tolist() != copies[1]["bill"].tolist()
    assert copies[0]["age"].value_counts().to_dict() != copies[1]["age"].value_counts().to_dict()


def test_what_leaves_is_masked(masked: Masked) -> None:
    copy, frame = masked.delivered("university"), masked.frame
    assert copy["bill"].nunique() == 4
    assert copy["bill"].value_counts().min() >= 60
    assert sum(copy["bill"].astype(int)) == pytest.approx(sum(frame["bill"].astype(int)), rel=1e-9)
    for name in ("dose", "visits"):
        assert sorted(copy[name].astype(float)) == sorted(frame[name].astype(float))
    unique = frame[frame.groupby(list(UNMASKED))["note"].transform("size") == 1]
    joined = unique.merge(copy.assign(note=copy["note"].str.removeprefix("'")), on=list(UNMASKED))
    assert len(joined) > 10
    assert (joined["dose_x"].astype(float) != joined["dose_y"].astype(float)).mean() > 0.5
    told = json.loads((masked.outcome.bundle / "delivery" / "university" / "dictionary.json").read_bytes())
    treatments = {column["name"]: column["treatment"] for column in told["columns"]}
    assert treatments["dose"] == "masked: rank-swapping, p = 80"
    assert treatments["bill"] == "masked: mdav, k = 60"


def readable(path: Path) -> Iterator[bytes]:
    content = path.read_bytes()
    yield content
    if content.startswith(b"%PDF"):
        yield from pdf_parts(content)


def test_no_original_number_is_in_anything_that_is_left(masked: Masked, engine: Any) -> None:
    """Bundle, ledger, logs, and the orchestrator's database and results."""
    originals, searched = {text.encode() for text in masked.frame["bill"]}, 0
    for folder in (masked.world.workspace.root, engine.home):
        for path in folder.rglob("*"):
            if path.is_file():
                searched += 1
                found = {match for part in readable(path) for match in LONG.findall(part)}
                assert not found & originals, path.name
    assert searched > 20
    assert {text.encode() for text in masked.frame["bill"]} <= set(LONG.findall(masked.world.data.read_bytes()))


def test_no_value_is_in_anything_but_the_delivered_files(masked: Masked, engine: Any) -> None:
    root = masked.world.workspace.root
    delivered = sorted(
        (masked.outcome.bundle / "delivery" / who / "data.csv").relative_to(root).as_posix()
        for who in ("university", "partner")
    )
    assert files_holding(root, SENSITIVE_MARK) == delivered
    assert files_holding(engine.home, SENSITIVE_MARK) == []
    for folder in (root, engine.home):
        assert files_holding(folder, ID_MARK) == []
    assert [path.suffix for path in (masked.world.workspace.private / "runs").rglob("*")] == [".lock"]


def test_the_same_request_gives_the_same_bytes(masked: Masked, engine: Any, tmp_path: Path) -> None:
    workspace = masked.world.workspace
    other = Workspace(tmp_path / "other")
    other.private.mkdir(parents=True)
    shutil.copyfile(workspace.key_file, other.key_file)
    steps: list[str] = []
    with listening(steps.append):
        again = masked.world.run(engine, other.root)
    assert (again.release_id, again.repeated) == (masked.outcome.release_id, False)
    assert "masking" in steps
    assert "linking the release for university to its originals" in steps
    files = [path.relative_to(masked.outcome.bundle) for path in masked.outcome.bundle.rglob("*") if path.is_file()]
    for name in files:
        assert (again.bundle / name).read_bytes() == (masked.outcome.bundle / name).read_bytes(), name


def test_another_release_of_the_same_values_masks_them_the_same(masked: Masked, engine: Any) -> None:
    """Another title makes another release, blocked here by what an informed intruder links; the masking is the same."""
    world = masked.world
    seen: dict[str, bytes] = {}

    def look(step: str) -> None:
        if step.startswith("deciding"):
            for path in (world.workspace.private / "runs").rglob("masked.npz"):
                with np.load(path) as arrays:
                    seen["masked"] = arrays["masked"].tobytes()

    try:
        ask(world, UNIVERSITY, title="Visits, once more", policy={"gates": [RISK, LINKED]})
        with listening(look):
            (record,) = world.run(engine).records
    finally:
        ask(world, UNIVERSITY, PARTNER, UNLUCKY)
    table = np.frombuffer(seen["masked"]).reshape(RECORDS, 3)
    copy = masked.delivered("university")
    before = Counter(copy[["bill", "dose", "visits"]].astype(float).itertuples(index=False, name=None))
    assert Counter(map(tuple, table.tolist())) == before
    assert record.release_id != masked.outcome.release_id
    assert record.decision is Verdict.BLOCKED
    (closed,) = (gate for gate in record.gates if not gate.passed)
    assert closed.id == "linkage.informed_share"
    assert closed.measured is not None
    assert closed.measured > 0.02
    assert record.reasons[0].startswith("Records that the strongest informed intruder links correctly: ")
    assert not (world.workspace.bundle(record.release_id) / "delivery" / "university").exists()

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

from flows.gate.outcome import Outcome
from flows.workspace.folders import Workspace
from flows.workspace.progress import listening
from tasks.assessments.linkage.assessment import attack
from tasks.assessments.linkage.facts import LinkageFact
from tasks.candidate.candidate import Candidate
from tasks.core.errors import StageFailed
from tasks.decision.gates import RESCORED_EQUAL
from tasks.decision.record import DecisionRecord, Verdict
from tasks.delivery.verification import verify_bundle
from tasks.ledger.store import Ledger
from tests.support.brief_reports import whole_report
from tests.support.search import holds, pdf_parts
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

PARTNER = recipient("partner", stakes={"benefit": 1200, "loss": 300, "cost": 1})
"""A quarter of the cost of an attempt asks for groups four times as large: in them, fewer are linked."""
UNLUCKY = recipient("unlucky")
"""Its attack fails; see ``attack_or_fail``."""
MASKING = [
    {"attributes": ["bill"], "method": "mdav", "k": 60},
    {"attributes": ["dose", "visits"], "method": "rank-swapping", "p": 80},
]
NUMBERS = {
    "bill": {"role": "sensitive", "type": "integer", "known_probability": 0},
    "dose": {"role": "insensitive", "type": "number", "description": "Milligrams a day", "known_probability": 0},
}
LINKED = {"measure": "linkage.informed_share", "at_most": 0.7, "because": "a test"}
RISK = {"measure": "transparent.maximum_risk", "at_most": 0.09, "because": "a test"}
HELD = {"known": ["age", "sex", "zip", "visits", "bill", "dose"]}
HELD_DOSE = {"learned": False, "known": ["age", "sex", "zip", "dose"]}
KEY = bytes(range(32))
"""What is drawn follows from it, and with it who is linked."""
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


def attack_or_fail(candidate: Candidate, generator: np.random.Generator, **options: Any) -> LinkageFact:
    if candidate.recipient.id == "unlucky":
        raise StageFailed("the attack met its match", where="a test", expected="luck", got="none", fix="try again")
    return attack(candidate, generator, **options)


@dataclass(frozen=True)
class Masked:
    """Two releases of the same records: one of three recipients is approved; the other is for one of the blocked."""

    world: World
    frame: pd.DataFrame
    first: Outcome
    """For the partner, approved; for the university, which could link too many; for one whose attack failed."""
    second: Outcome
    """For the university alone, under the default gates, which it passes."""

    def record(self, who: str) -> DecisionRecord:
        return next(record for record in self.first.records if record.recipient.id == who)

    def copies(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """What the partner and the university got."""
        delivered = self.first.bundle / "delivery" / "partner", self.second.bundle / "delivery" / "university"
        first, second = (pd.read_csv(path / "data.csv", dtype=str, keep_default_na=False) for path in delivered)
        return first, second


@pytest.fixture(scope="module")
def masked(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Masked:
    world = make_world(tmp_path_factory.mktemp("masked") / "world")
    frame = write_numbers(world)
    world.workspace.private.mkdir(parents=True)
    world.workspace.key_file.write_bytes(KEY)
    ask(
        world,
        PARTNER,
        UNIVERSITY,
        UNLUCKY,
        title="Visits, before",
        policy={
            "gates": [RISK, LINKED],
            "linkage": {"learned": False, "known": ["age", "sex", "zip", "visits", "bill", "dose"]},
        },
    )
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("tasks.assessments.linkage.assessment.attack", attack_or_fail)
        first = world.run(engine)
    ask(world, UNIVERSITY, policy={"linkage": HELD})
    return Masked(world, frame, first, world.run(engine))


def test_each_recipient_is_decided_by_what_its_own_file_gives_away(masked: Masked) -> None:
    assert {record.recipient.id: record.decision for record in masked.first.records} == {
        "partner": Verdict.APPROVED,
        "university": Verdict.BLOCKED,
        "unlucky": Verdict.BLOCKED,
    }
    assert [record.decision for record in masked.second.records] == [Verdict.APPROVED]
    assert masked.first.release_id != masked.second.release_id
    with Ledger.open(masked.world.workspace.ledger, create=False) as ledger:
        ledger.verify()
        for outcome, who in ((masked.first, "partner"), (masked.second, "university")):
            assert list(verify_bundle(outcome.bundle, ledger).delivered) == [who]


def test_too_many_people_linked_block_the_release(masked: Masked) -> None:
    record = masked.record("university")
    (closed,) = (gate for gate in record.gates if not gate.passed)
    assert closed.id == "linkage.informed_share"
    assert closed.measured is not None
    assert record.risk is not None
    assert record.risk.linkage is not None
    strongest = record.risk.linkage.attack(record.risk.linkage.strongest_informed)
    assert closed.measured == strongest.figure.share > LINKED["at_most"]
    (reason,) = record.reasons
    assert reason.startswith("Records that the strongest intruder who knows the method matches with the right person: ")
    assert reason.endswith(" measured; at most 70% allowed.")
    assert (record.dataset.output_sha256, record.dataset.rows_out) == (None, None)


def test_a_failed_attack_blocks_its_recipient_and_says_why(masked: Masked) -> None:
    record = masked.record("unlucky")
    assert record.risk is not None
    assert record.risk.linkage is None
    assert record.utility is not None, "the other assessments are made"
    assert record.reasons == (
        "Records that the strongest intruder who knows the method matches with the right person: not measured; "
        "at most 70% allowed.",
        "These stages did not finish: record linkage, delivery.",
        "record linkage: the attack met its match; where: a test; expected: luck; got: none; to do: try again",
    )
    assert "record linkage" in {one.stage for one in record.not_assessed}
    assert (masked.first.bundle / "report" / "unlucky.pdf").stat().st_size > 10_000


def test_the_record_tells_how_numbers_were_masked_and_attacked(masked: Masked) -> None:
    (record,) = masked.second.records
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


def test_everybody_gets_the_same_masked_values_in_every_release(masked: Masked) -> None:
    """In other rows and beside other cells; so nothing is gained by averaging copies."""
    names = [*UNMASKED, "visits", "bill", "dose"]
    first, second = masked.copies()
    assert Counter(first[names].itertuples(index=False, name=None)) == Counter(
        second[names].itertuples(index=False, name=None)
    )
    assert first["bill"].tolist() != second["bill"].tolist()
    assert first["age"].value_counts().to_dict() != second["age"].value_counts().to_dict()


def test_what_leaves_is_masked(masked: Masked) -> None:
    _, copy = masked.copies()
    frame = masked.frame
    assert copy["bill"].nunique() == 4
    assert copy["bill"].value_counts().min() >= 60
    assert sum(copy["bill"].astype(int)) == pytest.approx(sum(frame["bill"].astype(int)), rel=1e-9)
    for name in ("dose", "visits"):
        assert sorted(copy[name].astype(float)) == sorted(frame[name].astype(float))
    unique = frame[frame.groupby(list(UNMASKED))["note"].transform("size") == 1]
    joined = unique.merge(copy.assign(note=copy["note"].str.removeprefix("'")), on=list(UNMASKED))
    assert len(joined) > 10
    assert (joined["dose_x"].astype(float) != joined["dose_y"].astype(float)).mean() > 0.5
    told = json.loads((masked.second.bundle / "delivery" / "university" / "dictionary.json").read_bytes())
    treatments = {column["name"]: column["treatment"] for column in told["columns"]}
    assert treatments["dose"] == "masked: rank-swapping, p = 80"
    assert treatments["bill"] == "masked: mdav, k = 60"


def readable(path: Path) -> Iterator[bytes]:
    content = path.read_bytes()
    yield content
    if content.startswith(b"%PDF"):
        yield from pdf_parts(content)


def test_no_value_is_in_anything_but_the_delivered_files(masked: Masked, engine: Any) -> None:
    """Bundles, ledger, logs, the orchestrator's database and results; originals of masked numbers nowhere at all."""
    root, originals = masked.world.workspace.root, {text.encode() for text in masked.frame["bill"]}
    bundles = (masked.first.bundle, "partner"), (masked.second.bundle, "university")
    delivered = {bundle / "delivery" / who / "data.csv" for bundle, who in bundles}
    searched = 0
    for path in (path for folder in (root, engine.home) for path in folder.rglob("*") if path.is_file()):
        searched += 1
        parts = list(readable(path))
        assert not originals & {number for part in parts for number in LONG.findall(part)}, path.name
        assert not any(holds(part, ID_MARK) for part in parts), path.name
        assert any(holds(part, SENSITIVE_MARK) for part in parts) is (path in delivered), path.name
    assert searched > 30
    for report in map(whole_report, (*masked.first.records, *masked.second.records)):
        assert not originals & set(LONG.findall(report))
        assert not any(holds(report, mark) for mark in (ID_MARK, SENSITIVE_MARK))
    assert originals <= set(LONG.findall(masked.world.data.read_bytes()))
    assert {path.suffix for path in (masked.world.workspace.private / "runs").rglob("*")} == {".lock"}


@pytest.mark.slow
def test_the_same_request_gives_the_same_bytes(masked: Masked, engine: Any, tmp_path: Path) -> None:
    workspace = masked.world.workspace
    other = Workspace(tmp_path / "other")
    other.private.mkdir(parents=True)
    shutil.copyfile(workspace.key_file, other.key_file)
    steps: list[str] = []
    with listening(steps.append):
        again = masked.world.run(engine, other.root)
    assert (again.release_id, again.repeated) == (masked.second.release_id, False)
    assert "masking" in steps
    assert "assessing the copy for university" in steps
    bundle = masked.second.bundle
    names = [
        path.relative_to(bundle) for path in bundle.rglob("*") if path.is_file() and path.suffix in {".csv", ".json"}
    ]
    for name in names:
        if name.parts[0] not in ("decision", "manifest.json"):
            assert (again.bundle / name).read_bytes() == (bundle / name).read_bytes(), name
    (record,), (repeated,) = masked.second.records, again.records
    # The ledgers differ, and so do the enrolments in them.
    assert _but_ledger(repeated) == _but_ledger(record)


def _but_ledger(record: DecisionRecord) -> DecisionRecord:
    parts = {part: getattr(record, part).model_copy(update={"enrolled": None}) for part in ("policy", "population")}
    return record.model_copy(update={"prev_record_sha256": None, **parts})


@pytest.mark.slow
def test_means_are_read_back_as_they_were_judged(engine: Any, tmp_path: Path) -> None:
    """Doses have five decimals, and their means at most 15 digits: what is written is what the attacks were made on."""
    world = make_world(tmp_path / "world")
    frame = write_numbers(world)
    masking = [{"attributes": ["dose"], "method": "mdav", "k": 20}]
    attributes = {**NUMBERS, "bill": {"role": "withheld", "type": "integer"}}
    world.ask(attributes=attributes, masking=masking, recipients=[UNIVERSITY], policy={"linkage": HELD_DOSE})
    outcome = world.run(engine)
    (record,) = outcome.records
    assert record.decision is Verdict.APPROVED, record.reasons
    assert [gate.passed for gate in record.gates if gate.id == RESCORED_EQUAL] == [True]
    copy = pd.read_csv(outcome.bundle / "delivery" / "university" / "data.csv", dtype=str)
    assert copy["dose"].value_counts().min() >= 20
    assert max(len(text.replace(".", "").lstrip("0")) for text in copy["dose"]) <= 15
    assert copy["dose"].astype(float).mean() == pytest.approx(frame["dose"].astype(float).mean(), rel=1e-12)
    with Ledger.open(world.workspace.ledger, create=False) as ledger:
        assert list(verify_bundle(outcome.bundle, ledger).delivered) == ["university"]

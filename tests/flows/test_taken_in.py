"""A workbook is released and verified like the same records as CSV: the hash is of the file, what leaves is CSV."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from tasks.decision.record import Verdict
from tests.damaged.files import workbook
from tests.support.world import World, drawn_rows

pytestmark = pytest.mark.slow


def delivered(bundle: Path) -> list[str]:
    (data,) = bundle.glob("delivery/*/data.csv")
    header, *rows = data.read_text(encoding="utf-8").splitlines()
    return [header, *sorted(rows)]


def test_a_workbook_leaves_as_its_records_do(world: World, engine: Any, releasegate: Any) -> None:
    plain = world.run(engine)
    header = list(drawn_rows()[0])
    path = world.folder / "people.xlsx"
    path.write_bytes(workbook({"people": [header, *([row[name] for name in header] for row in drawn_rows())]}))
    world.ask(dataset={"path": path.name, "format": "excel", "sheet": "people"})
    made = world.run(engine, world.folder.parent / "another")
    assert [one.decision for one in made.records] == [Verdict.APPROVED] == [one.decision for one in plain.records]
    assert made.records[0].dataset.source_sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert delivered(made.bundle) == delivered(plain.bundle)
    verified = releasegate("verify", made.bundle, "--workspace", world.folder.parent / "another")
    assert verified.code == 0, verified

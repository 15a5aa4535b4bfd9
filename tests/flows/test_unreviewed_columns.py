"""Columns that nobody has reviewed: withheld from the copy, and named wherever the release is shown."""

import csv
from pathlib import Path
from typing import Any

import pytest

from tests.support.brief_reports import whole_report
from tests.support.texts import seen
from tests.support.world import World, make_world

UNREVIEWED = {"note": {"role": "unreviewed", "known_probability": None}}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path / "world")


def test_an_unreviewed_column_is_withheld_and_named(world: World, engine: Any, releasegate: Any) -> None:
    judged = {"by": "Dana Whitfield", "because": "It says how ill somebody was."}
    world.ask(attributes=UNREVIEWED | {"diagnosis": {"confirmed": judged}})
    made = world.run(engine)
    (record,) = made.records
    assert record.decision.value == "approved"
    with (made.bundle / "delivery" / "university" / "data.csv").open(newline="") as lines:
        assert "note" not in next(csv.reader(lines))
    fields = {field.name: field for field in record.fields}
    assert fields["note"].treatment == "withheld: nobody has reviewed it"
    assert fields["diagnosis"].confirmed == "Dana Whitfield: It says how ill somebody was."
    shown = seen(whole_report(record).decode())
    assert "Withheld: nobody has reviewed them note" in shown
    again = releasegate("release", world.request, "--workspace", world.workspace.root)
    assert "withheld: nobody has reviewed them: note" in again.out


def test_check_names_unreviewed_columns_and_the_remedy(world: World, releasegate: Any) -> None:
    world.ask(attributes=UNREVIEWED)
    found = releasegate("check", world.request, "--workspace", world.workspace.root, "--json").document
    assert found["unreviewed"] == ["note"]
    assert any("note" in one and "give each a role" in one for one in found["notes"])

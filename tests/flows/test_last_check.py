"""The delivered bytes are checked once more, before the ledger records them, against the inputs as they were copied.

Each test exchanges the written file at the moment at which its score has been read and its hash has not: what is
recorded, scanned and scored up to there is the file that was there before.
"""

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyrage
import pytest

from tasks.core.errors import StageFailed
from tasks.delivery import write
from tasks.ledger.store import Ledger
from tests.support.enrolled import but_enrolments
from tests.support.search import files_holding
from tests.support.world import ID_MARK, SENSITIVE_MARK, World, age_rows, drawn_rows, recipient

Rows = list[dict[str, Any]]
Change = Callable[[Rows], None]
MASKED = {"masking": [{"attributes": ["visits"], "method": "rank-swapping", "p": 20}]}
REVIEWED = {"policy": {"review": {"required": 2, "reviewers": ["M. Okafor", "J. Brandt"]}}}
HOLDER = pyrage.x25519.Identity.generate()


def names_in_notes(rows: Rows) -> None:
    for number, row in enumerate(rows):
        row["note"] = f"seen: {ID_MARK}-{number:04d}, {200 + number}-45-6789"


def two_more_columns(rows: Rows) -> None:
    for number, row in enumerate(rows):
        row.update(name=f"{ID_MARK}-{number:04d}", ssn="x")


def another_order_of_columns(rows: Rows) -> None:
    for row in rows:
        row["note"] = row.pop("note")
        row["age"] = row.pop("age")


def finer_cell(rows: Rows) -> None:
    band = next(row for row in rows if "-" in row["age"])
    band["age"] = band["age"][:2]


def cell_of_another(rows: Rows) -> None:
    other = next(row for row in rows if row["age"] != rows[0]["age"])
    rows[0]["age"], other["age"] = other["age"], rows[0]["age"]


def one_value(rows: Rows) -> None:
    next(row for row in rows if row["diagnosis"] != SENSITIVE_MARK)["diagnosis"] = SENSITIVE_MARK


def no_value(rows: Rows) -> None:
    rows[5]["diagnosis"] = None


def one_number(rows: Rows) -> None:
    rows[0]["visits"] = type(rows[0]["visits"])(77)


def row_less(rows: Rows) -> None:
    rows.pop()


def row_more(rows: Rows) -> None:
    rows.append(dict(rows[0]))


CHANGES = {
    names_in_notes: "note",
    two_more_columns: "columns",
    another_order_of_columns: "columns",
    finer_cell: "age",
    cell_of_another: "age",
    one_value: "diagnosis",
    no_value: "diagnosis",
    one_number: "visits",
    row_less: "rows",
    row_more: "rows",
}


def exchanged(path: Path, change: Change) -> None:
    """Rewrite a released file with some of its content changed."""
    if path.suffix == ".parquet":
        table = pq.read_table(path)
        rows = table.to_pylist()
        change(rows)
        pq.write_table(pa.Table.from_pylist(rows), path)
        return
    with path.open(newline="", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    change(rows)
    with path.open("w", newline="", encoding="utf-8") as lines:
        writer = csv.DictWriter(lines, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def exchange_before_hashing(monkeypatch: pytest.MonkeyPatch, world: World, act: Callable[[Path], None]) -> None:
    statistics = write.statistics_of_copy

    def act_and_go_on(*given: Any) -> Any:
        (path,) = (world.workspace.private / "runs").rglob("released-university.*")
        act(path)
        return statistics(*given)

    monkeypatch.setattr(write, "statistics_of_copy", act_and_go_on)


def assert_nothing_left(world: World) -> None:
    workspace = world.workspace
    assert list(workspace.releases.iterdir()) == []
    assert list(workspace.staging.iterdir()) == []
    assert not (workspace.private / "pending").exists()
    assert files_holding(workspace.root, ID_MARK) == []
    with Ledger.open(workspace.ledger, create=False) as ledger:
        assert [entry.event.value for entry in but_enrolments(ledger)] == ["requested", "failed"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "change"),
    [
        *(pytest.param("csv", change, id=f"csv-{change.__name__}") for change in CHANGES),
        *(
            pytest.param("parquet", change, id=f"parquet-{change.__name__}", marks=[pytest.mark.slow] * (number > 0))
            for number, change in enumerate(CHANGES)
        ),
    ],
)
def test_a_file_exchanged_after_its_score_was_read_never_leaves(
    change: Change, form: str, world: World, engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.ask(delivery_format=form, **MASKED)
    exchange_before_hashing(monkeypatch, world, lambda path: exchanged(path, change))
    with pytest.raises(StageFailed, match="not what its record says") as caught:
        world.run(engine)
    assert CHANGES[change] in caught.value.got
    assert ID_MARK not in str(caught.value)
    assert_nothing_left(world)


def test_one_that_is_to_be_reviewed_is_not_even_sealed(
    world: World, engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.ask(**REVIEWED)
    exchange_before_hashing(monkeypatch, world, lambda path: exchanged(path, names_in_notes))
    with pytest.raises(StageFailed, match="not what its record says"):
        world.run(engine)
    assert_nothing_left(world)


def test_nor_is_another_ciphertext_delivered(world: World, engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Anybody may encrypt something else to the recipient's public key."""
    key = HOLDER.to_public()
    world.ask(recipients=[recipient("university", encrypt_to=[str(key)])])

    def other(path: Path) -> None:
        path.write_bytes(pyrage.encrypt(f"note\n{ID_MARK}-0001\n".encode(), [key]))

    exchange_before_hashing(monkeypatch, world, other)
    with pytest.raises(StageFailed):
        world.run(engine)
    assert_nothing_left(world)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_what_was_not_exchanged_leaves(form: str, world: World, engine: Any) -> None:
    keys = {"encrypt_to": [str(HOLDER.to_public())]}
    world.ask(delivery_format=form, recipients=[recipient("university"), recipient("archive", **keys)], **MASKED)
    made = world.run(engine)
    assert {record.decision.value for record in made.records} == {"approved"}
    sealed = made.bundle / "delivery" / "archive" / f"data.{form}.age"
    clear = pyrage.decrypt(sealed.read_bytes(), [HOLDER])
    found = (
        pq.read_table(io.BytesIO(clear)).num_rows if form == "parquet" else len(clear.splitlines()) > len(drawn_rows())
    )
    assert found


def test_a_label_of_a_hierarchy_carries_no_identifier_out(world: World, engine: Any) -> None:
    """Labels are the requester's own text, and leave in the place of values."""
    world.write_ages([[row[0], f"615-555-01{row[1][:2]}", *row[2:]] for row in age_rows()])
    with pytest.raises(StageFailed, match="not what its record says") as caught:
        world.run(engine)
    assert "age" in caught.value.got
    assert "615" not in str(caught.value)
    assert files_holding(world.workspace.root, "615-555-01") == []

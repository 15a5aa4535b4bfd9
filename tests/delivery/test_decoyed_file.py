"""The released file with decoys in it: in an order that says nothing, and read back as it was sealed."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from tasks.assessments.combined.assessment import combine, score_collected
from tasks.core.errors import StageFailed
from tasks.delivery.released_file import decoys_as_sealed, delivered_table, read_cells, released_rows
from tasks.delivery.write import rows_as_attacked, score_again
from tasks.masking.masked_columns import NOTHING_MASKED
from tasks.request.model import DeliveryFormat
from tests.support.released_files import write_to
from tests.support.silence import CANARY, assert_silent
from tests.support.stages import Made, made
from tests.support.tiny import changed, tiny_request

SEED = b"0123456789abcdef"
NOTES = {
    "note": {"role": "insensitive"},
    "visits": {"role": "insensitive", "type": "integer"},
    "seen": {"role": "insensitive", "type": "date"},
}
DATA = """id,zip,age,sex,diagnosis,note,visits,seen
1,37010,88,F,flu,=1+1,-3,2024-02-29
2,37010,88,F,cold,'=1,4,2024-03-01
3,37010,89,M,flu,,,
4,37011,88,F,cold,"a,b",5,2024-02-29
5,37201,90,M,flu,-5,6,2024-02-28
6,37201,93,M,flu,"x
y",7,2024-02-28
"""
Decoy = dict[str, str | None]


@dataclass(frozen=True)
class Written:
    """A release with two decoy classes, one of two records that are alike in everything."""

    made: Made
    path: Path
    decoys: list[Decoy]
    rows: Any
    """Position in the microdata of each row of the file, −1 for a decoy."""

    @property
    def lines(self) -> list[list[str | None]]:
        from tasks.delivery.released_file import read_columns

        table = read_columns(self.path, self.made.request.outbound)
        return [list(row.values()) for row in table.to_pylist()]

    def as_sealed(self, decoys: list[Decoy] | None = None, real: Any = None) -> bool:
        real = self.rows >= 0 if real is None else real
        return decoys_as_sealed(self.path, self.decoys if decoys is None else decoys, real, self.made.request)

    def rewrite(self, change: Callable[[list[list[str | None]], int], Any]) -> None:
        """Change the lines of the file, given the place of a decoy."""
        import pyarrow as pa

        lines = self.lines
        change(lines, int(np.flatnonzero(self.rows < 0)[0]))
        columns = zip(self.made.request.outbound, zip(*lines, strict=True), strict=True)
        self.path.unlink()
        write_to(
            pa.table({name: pa.array(list(cells), pa.large_string()) for name, cells in columns}),
            self.path,
            DeliveryFormat.CSV,
        )


def decoy(cell: list[str], diagnosis: str | None, note: str | None, visits: str | None) -> Decoy:
    return {
        **dict(zip(("zip", "age", "sex"), cell, strict=True)),
        "diagnosis": diagnosis,
        "note": note,
        "visits": visits,
        "seen": "2024-01-01",
    }


def decoys_of(one: Made) -> list[Decoy]:
    """Two records of one cell with formulas in their notes, twice; and one with nothing in it that can be missing."""
    cell = [
        labels[position] for labels, position in zip(one.table.axis_labels, one.generalization.cells[0], strict=True)
    ]
    other = [labels[-1] for labels in one.table.axis_labels]
    return [
        decoy(cell, "flu", "=cmd", "-3"),
        decoy(cell, "flu", "=cmd", "-3"),
        decoy(other, None, "", None),
    ]


@pytest.fixture
def written(tmp_path: Path) -> Written:
    loaded = tiny_request(
        tmp_path, *(changed("attributes", name, to=terms) for name, terms in NOTES.items()), data=DATA
    )
    one = made(loaded)
    decoys = decoys_of(one)
    rows = released_rows(one.kept[one.prepared.tuple_of_record], SEED, len(decoys))
    made_file = Written(one, tmp_path / "released.csv", decoys, rows)
    written_anew(made_file, decoys)
    return made_file


def test_any_place_is_as_likely_for_a_decoy() -> None:
    """Five records and three decoys over 1,200 keys: each of eight places holds a decoy 450 times."""
    tuple_of_record, keep = np.array([0, 0, 1, 2, 2, 3], dtype=np.int32), np.array([True, True, True, False])
    places, pairs = np.zeros(8), np.zeros((8, 8))
    for number in range(1200):
        rows = released_rows(keep[tuple_of_record], number.to_bytes(32, "big"), 3)
        assert sorted(rows.tolist()) == [-1, -1, -1, 0, 1, 2, 3, 4]
        own = np.flatnonzero(rows < 0)
        places[own] += 1
        pairs[np.ix_(own, own)] += 1
    assert chisquare(places).pvalue > 0.001
    # Nor do decoys keep together: each two places hold two of them 1200 · 3/8 · 2/7 times.
    together = pairs[np.triu_indices(8, 1)]
    assert together.mean() == pytest.approx(1200 * 3 / 8 * 2 / 7)
    assert chisquare(together).pvalue > 0.001


def test_without_decoys_the_order_is_what_it_was() -> None:
    tuple_of_record, keep = np.arange(50, dtype=np.int32), np.ones(50, dtype=bool)
    assert released_rows(keep[tuple_of_record], SEED).tolist() == released_rows(keep[tuple_of_record], SEED, 0).tolist()


def test_every_row_stands_where_the_order_says(written: Written) -> None:
    assert len(written.rows) == len(written.lines) == 9
    names = written.made.request.outbound
    marked = [
        list((one | {"note": "'=cmd" if one["note"] == "=cmd" else one["note"]}).values()) for one in written.decoys
    ]
    own = [line for line, row in zip(written.lines, written.rows, strict=True) if row < 0]
    order = [dict(zip(names, line, strict=True)) for line in own]
    assert sorted(map(str, order)) == sorted(str(dict(zip(names, line, strict=True))) for line in marked)
    for line, row in zip(written.lines, written.rows.tolist(), strict=True):
        if row >= 0:
            told = dict(zip(names, line, strict=True))
            assert told["diagnosis"] == written.made.frame["diagnosis"][row]


def test_it_is_as_it_was_sealed(written: Written) -> None:
    assert written.as_sealed()
    assert written.as_sealed(decoys=written.decoys[::-1])


def changed_value(lines: Any, at: int) -> None:
    lines[at][3] = "cough"


def moved_cell(lines: Any, at: int) -> None:
    lines[at][2] = "M" if lines[at][2] != "M" else "F"


def emptied(lines: Any, at: int) -> None:
    lines[at][4] = None if lines[at][4] is not None else ""


def dropped(lines: Any, at: int) -> None:
    del lines[at]


def added(lines: Any, at: int) -> None:
    lines.append(list(lines[at]))


@pytest.mark.parametrize("change", [changed_value, moved_cell, emptied, dropped, added])
def test_a_decoy_that_was_changed_dropped_or_added_is_noticed(change: Any, written: Written) -> None:
    written.rewrite(lambda *_: None)
    assert written.as_sealed(), "what is rewritten as it was is the same"
    written.rewrite(change)
    assert not written.as_sealed()


def test_a_decoy_that_changed_places_with_a_record_is_noticed(written: Written) -> None:
    def exchange(lines: Any, at: int) -> None:
        other = int(np.flatnonzero(written.rows >= 0)[0])
        lines[at], lines[other] = lines[other], lines[at]

    written.rewrite(exchange)
    assert not written.as_sealed()


def test_decoys_of_another_number_are_noticed(written: Written) -> None:
    first, twin, last = written.decoys
    assert not written.as_sealed(decoys=[first, last])
    assert not written.as_sealed(decoys=[first, twin, twin, last])
    assert not written.as_sealed(decoys=[first, last, last])
    assert not written.as_sealed(decoys=[])
    assert not written.as_sealed(real=np.ones(9, dtype=bool))
    assert written.as_sealed(decoys=[], real=np.ones(9, dtype=bool))


def test_a_label_that_looks_marked_is_marked_once_more_and_recovered(written: Written) -> None:
    decoys = [row | {"zip": "'=372**", "note": "'=372**"} for row in written.decoys]
    released = written_anew(written, decoys)
    assert [released[at][0] for at in np.flatnonzero(written.rows < 0)] == ["''=372**"] * 3
    assert [released[at][4] for at in np.flatnonzero(written.rows < 0)] == ["''=372**"] * 3
    assert written.as_sealed(decoys=decoys)


def written_anew(written: Written, decoys: list[Decoy]) -> list[list[str | None]]:
    one = written.made
    released = delivered_table(one.candidate, SEED, DeliveryFormat.CSV, decoys)
    written.path.unlink(missing_ok=True)
    write_to(released, written.path, DeliveryFormat.CSV)
    return written.lines


def test_real_rows_are_scored_and_compared_without_the_decoys(written: Written) -> None:
    one, real = written.made, written.rows >= 0
    cells = read_cells(written.path, one.request.quasi_identifiers, one.table.axis_labels)
    expected = one.generalization.cells[one.prepared.tuple_of_record[written.rows[real]]]
    assert rows_as_attacked(written.path, cells, expected, NOTHING_MASKED, written.rows) == 6
    assert rows_as_attacked(written.path, cells[:-1], expected, NOTHING_MASKED, written.rows) == 0
    again = score_again(written.path, one.request, one.prepared, real)
    recorded = combine(
        one.request,
        one.prepared,
        one.generalization,
        one.kept,
        score_collected(one.request, one.prepared),
    ).residual
    assert (again.records, again.mean) == (6, pytest.approx(recorded.mean))
    assert score_again(written.path, one.request, one.prepared).records == 9


@pytest.mark.parametrize("damage", ["gone", "not UTF-8"])
def test_a_file_that_cannot_be_read_back_blocks_and_quotes_nothing(damage: str, written: Written) -> None:
    content = written.path.read_bytes()
    written.path.unlink()
    if damage != "gone":
        written.path.write_bytes(content.replace(b"flu", CANARY.encode() + b"\xe9"))
    with pytest.raises(StageFailed) as caught:
        written.as_sealed()
    assert_silent(caught.value)

"""Decoy records, made and written: as many to a class as were planned, with its labels and values of its columns."""

from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tasks.core.errors import ParameterError
from tasks.decoys.classes import ClassTable
from tasks.decoys.decoy_cells import find_decoy_cells, offered, ranked
from tasks.decoys.records import ClassRecords, OutboundColumns, RealRecords, as_texts, draw_records, outbound_columns
from tasks.masking.masked_columns import NOTHING_MASKED
from tasks.request.model import ReleaseRequest
from tests.support.planted import BAND, COARSE, RECORDS, TREES, release
from tests.support.tiny import tiny_document

TEXT = pd.StringDtype("pyarrow")


def columns(**texts: tuple[str, list[str | None]]) -> OutboundColumns:
    """Columns by name, each of a type and some texts."""
    document = tiny_document()
    document["attributes"] |= {name: {"role": "sensitive", "type": kind} for name, (kind, _) in texts.items()}
    request = ReleaseRequest.model_validate(document)
    length = len(next(iter(texts.values()))[1])
    cells = {name: pd.array(["a"] * length, dtype=TEXT) for name in request.attributes}
    frame = pd.DataFrame(cells | {name: pd.array(given, dtype=TEXT) for name, (_, given) in texts.items()})
    found = outbound_columns(frame, request, NOTHING_MASKED).by_name
    return OutboundColumns({name: found[name] for name in texts})


def source(levels: Any = (0, 0), records: np.ndarray = RECORDS, minimum: int = 1, **texts: Any) -> RealRecords:
    made = release(levels, records, minimum)
    tuple_of_record = np.repeat(np.arange(len(made.data)), made.data.counts).astype(np.int32)
    return RealRecords(made, tuple_of_record, columns(**texts) if texts else OutboundColumns({}))


def numbered(made: RealRecords) -> RealRecords:
    """With a category that follows from y and a number that follows from x, of every record."""
    codes = made.release.data.codes[made.tuple_of_record]
    texts = columns(
        ward=("text", [f"ward {y}" for y in codes[:, 1].tolist()]),
        dose=("integer", [str(10 * x) for x in codes[:, 0].tolist()]),
    )
    return RealRecords(made.release, made.tuple_of_record, texts)


def test_each_tuple_has_its_class_and_suppressed_ones_none() -> None:
    """With k 2 the first cell, of one record, is suppressed; classes are numbered as the release numbers them."""
    few = RECORDS.copy()
    few[0, 0] = 1
    made = source(records=few, minimum=2)
    assert made.release.class_of_tuple.tolist() == [-1, *range(20)]
    cells = made.release.classes.cells[made.release.class_of_tuple[1:]]
    assert cells.tolist() == made.release.data.codes[1:].tolist()
    coarse = source(COARSE)
    assert np.bincount(coarse.release.class_of_tuple).tolist() == [3] * 7


def test_released_values_are_those_of_released_records() -> None:
    few = RECORDS.copy()
    few[0, 0] = 1
    made = numbered(source(records=few, minimum=2))
    values = made.released
    assert len(values.class_of_record) == 40
    assert np.bincount(values.class_of_record).tolist() == made.release.classes.records.tolist()
    x = made.release.classes.cells[values.class_of_record, 0]
    assert values.columns["dose"].tolist() == (10 * x).tolist()


def test_the_context_of_a_record_is_that_of_its_cell_suppressed_ones_included() -> None:
    few = RECORDS.copy()
    few[0, 0] = 1
    made = source(records=few, minimum=2)
    assert made.context.shape == (41, 5)
    assert np.isfinite(made.context).all()
    places = made.context[:, [0, 2]]
    assert places.tolist() == made.release.data.codes[made.tuple_of_record].tolist()


def some_classes(made: RealRecords, number: int) -> ClassTable:
    cells, generator = find_decoy_cells(made.release, 1), np.random.default_rng(1)
    return offered(cells, ranked(cells, BAND, generator, ratio=1), generator, most=number, ratio=1)


def test_every_set_of_classes_gets_the_values_of_its_own_records() -> None:
    """Two sets of two and four classes of two records; the number and the category follow from the cell."""
    made = numbered(source())
    table = some_classes(made, 6)
    parts = [table.take(np.arange(2)), table.take(np.arange(2, 6))]
    drawn = draw_records(made, parts, np.random.default_rng(2), common_from=2)
    for found, part in zip(drawn, parts, strict=True):
        assert found.classes is part
        assert {name: len(column) for name, column in found.columns.items()} == dict.fromkeys(
            ("ward", "dose"), 2 * len(part)
        )
        assert found.class_of_record.tolist() == np.repeat(np.arange(len(part)), 2).tolist()
        wards = made.columns.by_name["ward"].write(found.columns["ward"])
        assert wards == [f"ward {y}" for y in np.repeat(part.cells[:, 1], 2).tolist()]
    assert "array" not in repr(drawn)


def candidate(outbound: tuple[str, ...]) -> Any:
    """As much of a copy as its texts need: the attributes x and y, and the columns in the order of the file."""
    labels = [[label for level in tree.labels for label in level] for tree in TREES]
    return SimpleNamespace(
        request=SimpleNamespace(outbound=outbound, quasi_identifiers=("x", "y")),
        index=SimpleNamespace(axis_labels=labels),
    )


def test_a_file_of_quasi_identifiers_alone() -> None:
    made = source()
    table = some_classes(made, 3)
    (drawn,) = draw_records(made, [table], np.random.default_rng(2), common_from=None)
    assert drawn.columns == {}
    rows = as_texts(drawn, made.columns, candidate(("y", "x")))
    assert [list(row) for row in rows] == [["y", "x"]] * 6
    assert Counter((row["x"], row["y"]) for row in rows) == {
        (f"x{x:02}", f"y{y:02}"): 2 for x, y in table.cells.tolist()
    }


def test_rows_are_the_labels_of_the_cell_and_the_texts_of_the_values() -> None:
    """By hand: a class of two records at the second third of x (position 10) and y02, one of them without a dose."""
    texts = columns(ward=("text", ["A", None, "B"]), dose=("integer", ["3", "4", None]))
    drawn = ClassRecords(
        ClassTable(np.array([[10, 2]], dtype=np.int32), np.array([2]), np.array([30])),
        {"ward": np.array([1, 2]), "dose": np.array([7.0, np.nan])},
        np.array([0, 0]),
    )
    assert as_texts(drawn, texts, candidate(("dose", "x", "ward", "y"))) == (
        {"dose": "7", "x": "x, third 1", "ward": "B", "y": "y02"},
        {"dose": None, "x": "x, third 1", "ward": None, "y": "y02"},
    )


def test_the_same_generator_draws_the_same() -> None:
    made = numbered(source())
    table = some_classes(made, 6)

    def drawn(seed: int) -> dict[str, list[float]]:
        (one,) = draw_records(made, [table], np.random.default_rng(seed), common_from=2)
        return {name: column.tolist() for name, column in one.columns.items()}

    assert drawn(1) == drawn(1)
    assert len({str(drawn(seed)) for seed in range(8)}) > 1


def test_values_that_can_only_be_copies_are_refused() -> None:
    """Ward and dose are the same in all records: every vector is a real one, and none is allowed."""
    made = source(ward=("text", ["A"] * 42), dose=("integer", ["5"] * 42))
    table = some_classes(made, 2)
    with pytest.raises(ParameterError, match="would copy the other values of real records"):
        draw_records(made, [table], np.random.default_rng(2), common_from=None)
    (allowed,) = draw_records(made, [table], np.random.default_rng(2), common_from=42)
    assert allowed.columns["dose"].tolist() == [5.0] * 4

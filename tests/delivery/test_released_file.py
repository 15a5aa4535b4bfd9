"""Writing the released file: what a spreadsheet would run, and a disk without room."""

import csv
import resource
from pathlib import Path

import pyarrow as pa
import pytest

from tasks.core.errors import WorkspaceError
from tasks.core.guard import guarded
from tasks.delivery.formula_marks import harmless
from tasks.request.model import DeliveryFormat
from tests.support.released_files import write_to

RUN = ["=1+1", "+1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "-", "--1", "-2+3+cmd|' /C calc'!A0", "-1 to -2", "＝1", "－1"]
"""What a spreadsheet takes for a formula, or may take for one after cutting the cell's beginning."""
LIKE_MARKED = ["'=1", "''=1", "'-1", "'\t"]
"""What a marked cell would look like; marked as well, it stays another cell."""
NOT_RUN = ["-1", "-1.5", "-.5", "-1.", "-1e-9", "-1.5E+3", "", "a=1", "1-2", "'", "'a=1", None]


def test_formulas_are_marked_and_nothing_else_is() -> None:
    column = pa.array(RUN + LIKE_MARKED + NOT_RUN, type=pa.large_string())
    assert harmless(column).to_pylist() == ["'" + cell for cell in RUN + LIKE_MARKED] + NOT_RUN


def test_what_is_written_is_read_back_by_another_reader(tmp_path: Path) -> None:
    cells = ["a\nb", "a\r\nb", "a\rb", 'say "so"', "a,b", "ä☃", " kept ", "x" * 1_000_000, None]
    write_to(pa.table({"note": pa.array(cells, type=pa.large_string())}), tmp_path / "data.csv", DeliveryFormat.CSV)
    with (tmp_path / "data.csv").open(newline="", encoding="utf-8") as lines:
        limit = csv.field_size_limit(2_000_000)
        try:
            header, *rows = csv.reader(lines)
        finally:
            csv.field_size_limit(limit)
    assert header == ["note"]
    assert rows == [[cell] for cell in cells[:-1]] + [[]]


def test_a_file_that_may_not_grow_is_a_full_disk_and_no_fault_of_the_stage(tmp_path: Path) -> None:
    table = pa.table({"note": pa.array(["x" * 1000] * 1000)})
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (65536, hard))
    try:
        with pytest.raises(WorkspaceError, match="the disk is full"), guarded("delivery"):
            write_to(table, tmp_path / "data.csv", DeliveryFormat.CSV)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

"""Hierarchies in ARX's CSV form survive writing and reading, and what cannot be read is named without being shown."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tasks.core.errors import HierarchyError
from tasks.microdata.build import arx_file, read_arx, write_arx
from tasks.microdata.hierarchy import Hierarchy, hierarchy_from_rows
from tests.support.examples import examples
from tests.support.silence import CANARY, assert_silent
from tests.support.worlds import Rows, crossing_rows, hierarchy_rows

QUICK = settings(deadline=None, max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])


def assert_same(one: Hierarchy, other: Hierarchy) -> None:
    assert one.labels == other.labels
    np.testing.assert_array_equal(one.groups, other.groups)


@QUICK
@given(rows=hierarchy_rows(max_leaves=8, max_levels=5))
def test_written_and_read_again_it_is_the_same(tmp_path: Path, rows: Rows) -> None:
    tree = hierarchy_from_rows("a", rows, "test")
    path = tmp_path / "a.csv"
    write_arx(tree, path)
    assert_same(read_arx("a", path), tree)


@QUICK
@given(
    leaves=st.lists(
        st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\x00\ufeff"), min_size=1, max_size=5),
        min_size=1,
        max_size=5,
        unique=True,
    )
)
@example(leaves=["\r", "a\rb", "c\n", '"', ";"])
def test_any_label_survives(tmp_path: Path, leaves: list[str]) -> None:
    tree = hierarchy_from_rows("a", [[leaf, "the top"] for leaf in leaves], "test")
    path = tmp_path / "a.csv"
    write_arx(tree, path)
    assert_same(read_arx("a", path), tree)


@QUICK
@given(rows=crossing_rows(max_leaves=8, max_levels=5))
def test_levels_that_cross_are_read_as_they_were_written(tmp_path: Path, rows: Rows) -> None:
    ages = hierarchy_from_rows("a", rows, "test", levels_may_cross=True)
    path = tmp_path / "a.csv"
    write_arx(ages, path)
    assert_same(read_arx("a", path, levels_may_cross=True), ages)


def test_the_form_is_that_of_arx(tmp_path: Path) -> None:
    tree = hierarchy_from_rows("age", [["1", "1-2", "*"], ["2", "1-2", "*"], ["3;4", "3", "*"]], "test")
    path = tmp_path / "age.csv"
    write_arx(tree, path)
    assert path.read_bytes() == b'1;1-2;*\n2;1-2;*\n"3;4";3;*\n'


def test_byte_order_mark_windows_line_ends_and_blank_lines_are_no_part_of_it(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("\ufeffé;x;*\r\n\r\nb;x;*\r\n".encode())
    assert read_arx("a", path).labels[0] == ("é", "b")


UNREADABLE = {
    "wrong encoding": f"{CANARY};é;*\n".encode("latin-1"),
    "UTF-16": f"{CANARY};x;*\n".encode("utf-16"),
    "a cell beyond all measure": (CANARY + "x" * 200_000 + ";x;*\n").encode(),
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_unreadable_files(tmp_path: Path, case: str, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(UNREADABLE[case])
    with pytest.raises(HierarchyError, match="cannot be read") as caught:
        read_arx("a", path)
    assert caught.value.where == "a.csv"
    assert_silent(caught.value)
    assert CANARY not in "".join(capfd.readouterr())


@pytest.mark.parametrize("present", [True, False])
def test_a_folder_or_a_missing_file(tmp_path: Path, present: bool) -> None:
    path = tmp_path / "a.csv"
    if present:
        path.mkdir()
    with pytest.raises(HierarchyError, match="cannot be read"):
        read_arx("a", path)


@pytest.mark.parametrize("content", ["", "\n\n"])
def test_an_empty_file(tmp_path: Path, content: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(content)
    with pytest.raises(HierarchyError, match="is empty"):
        read_arx("a", path)


def test_commas_in_place_of_semicolons_are_one_column(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"{CANARY},x,*\nb,x,*\n")
    with pytest.raises(HierarchyError, match="no level above") as caught:
        read_arx("a", path)
    assert_silent(caught.value)


def test_rows_are_named_by_their_position_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"a;x;*\nb;x;*\n{CANARY};*\n")
    with pytest.raises(HierarchyError, match="unequal depth") as caught:
        read_arx("a", path)
    assert caught.value.where == "a.csv, row 3"
    assert_silent(caught.value)


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("marital-status", "marital-status.csv"),
        ("Größe (cm)", "Größe (cm).csv"),
        ("race/ethnicity", "race%2Fethnicity.csv"),
        ("race%2Fethnicity", "race%252Fethnicity.csv"),
        ("../../x", "%2E.%2F..%2Fx.csv"),
        ("a\x00\nb", "a%00%0Ab.csv"),
    ],
)
def test_a_columns_name_becomes_a_plain_file_name(name: str, file: str) -> None:
    assert arx_file(name) == file


@QUICK
@given(name=st.text(st.characters(blacklist_categories=["Cs"]), min_size=1, max_size=300))
def test_no_columns_name_leads_out_of_its_folder(tmp_path: Path, name: str) -> None:
    path = tmp_path / arx_file(name)
    assert path.resolve().parent == tmp_path.resolve()
    path.write_text("", encoding="utf-8")
    path.unlink()

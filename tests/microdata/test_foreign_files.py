"""Files of other programs are read in a process of their own, as the request says, and refused without their data."""

import datetime
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyreadstat
import pytest

from tasks.core.errors import DataError
from tasks.draft.file_form import take_in
from tasks.microdata import foreign_file
from tasks.microdata.foreign_file import format_of
from tasks.microdata.read import read_text
from tasks.request.file_form import FileForm, FileFormat
from tests.damaged.files import NAMES, files, rows, workbook, zipped
from tests.damaged.sas import catalog_by_readstat, written_by_readstat, written_by_sas
from tests.support.drafted import draft_request
from tests.support.silence import CANARY, assert_silent

FORMATS = {
    "people.xlsx": "excel",
    "people.sav": "spss",
    "people.dta": "stata",
    "people.xpt": "sas-transport",
    "people.sas7bdat": "sas",
}


def read(path: Path, kind: str, **terms: object) -> list[list[object]]:
    frame = read_text(path, FileForm.model_validate({"path": path.name, "format": kind, **terms}))
    cells = frame.astype(object).where(frame.notna(), None)
    return [list(frame.columns), *cells.to_numpy().tolist()]


def refused(path: Path, kind: str | None, **terms: object) -> DataError:
    with pytest.raises(DataError) as caught:
        read_text(path, FileForm.model_validate({"path": path.name, "format": kind, **terms}))
    assert_silent(caught.value)
    return caught.value


def book(folder: Path, **sheets: list[list[object]]) -> Path:
    path = folder / "book.xlsx"
    path.write_bytes(workbook(sheets))
    return path


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same_table(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(files(tmp_path)[name])
    assert format_of(path) == FORMATS[name]
    header, *records = read(path, FORMATS[name])
    assert [one.lower() for one in header] == list(NAMES)
    assert records == [[str(cell).removesuffix(".0") for cell in row] for row in rows()]


def test_a_sheet_with_row_names_under_an_empty_name(tmp_path: Path) -> None:
    path = book(tmp_path, people=[["", "age"], [1, 30], [2, 35]])
    assert read(path, "excel") == [["row_names", "age"], ["1", "30"], ["2", "35"]]
    assert refused(book(tmp_path, people=[["id", ""], [1, 30], [2, 35]]), "excel").where == "book.xlsx, row 1"


@pytest.mark.slow
def test_a_data_set_that_sas_wrote(tmp_path: Path) -> None:
    path = tmp_path / "people.sas7bdat"
    path.write_bytes(written_by_sas())
    assert format_of(path) is FileFormat.SAS
    assert read(path, "sas") == [
        ["id", "name", "age"],
        ["1", "Alice", "30"],
        ["2", "Bob", "35"],
        ["3", "Charlie", "40"],
    ]
    assert read(path, "sas", encoding="latin1")[2] == ["2", "Bob", "35"]
    assert refused(path, "sas-transport").what == "the file is not of the stated format"


def test_an_independent_reader_reads_the_data_sets_of_these_tests_alike(tmp_path: Path) -> None:
    for name, content in (("own", files(tmp_path)["people.sas7bdat"]), ("sas", written_by_sas())):
        path = tmp_path / f"{name}.sas7bdat"
        path.write_bytes(content)
        frame = pd.read_sas(path, encoding="latin1" if name == "sas" else "utf-8")
        for column in frame.select_dtypes("datetime"):
            frame[column] = frame[column].dt.strftime("%Y-%m-%d")
        cells = [[str(cell).removesuffix(".0") for cell in row] for row in frame.to_numpy(dtype=object).tolist()]
        assert read(path, "sas") == [list(frame.columns), *cells]


def test_cells_of_a_workbook_as_text(tmp_path: Path) -> None:
    day = datetime.date(2024, 3, 7)
    path = book(tmp_path, one=[["a", "b", "c"], ["x", 1.5, day], ["", 2, ""], ["", "", ""], ["007", "many", day]])
    assert read(path, "excel") == [
        ["a", "b", "c"],
        ["x", "1.5", "2024-03-07"],
        [None, "2", None],
        ["007", "many", "2024-03-07"],
    ]


@pytest.mark.slow
def test_one_of_several_sheets_has_to_be_named(tmp_path: Path) -> None:
    path = book(tmp_path, first=[["a"], ["x"]], second=[["b"], ["y"]])
    assert "--form sheet=" in refused(path, "excel").fix
    assert read(path, "excel", sheet="second") == [["b"], ["y"]]
    assert refused(path, "excel", sheet="third").where == "book.xlsx"
    assert read(book(tmp_path, first=[["a"], ["x"]], second=[]), "excel") == [["a"], ["x"]]


def test_columns_without_a_name(tmp_path: Path) -> None:
    error = refused(book(tmp_path, one=[[], [CANARY, ""], [CANARY, CANARY]]), "excel")
    assert (error.where, error.got) == ("book.xlsx, row 2", "1 of 2 columns without a name")


def test_a_workbook_without_anything_in_it(tmp_path: Path) -> None:
    error = refused(book(tmp_path, one=[]), "excel")
    assert (error.what, error.got) == ("an Excel workbook cannot be read", "a workbook without anything in it")


def test_a_cell_far_out_does_not_ask_for_all_memory(tmp_path: Path) -> None:
    path = book(tmp_path, one=[["a"], ["x"]])
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    parts[sheet] = parts[sheet].replace(b'r="A2"', b'r="XFD1048576"').replace(b'r="2"', b'r="1048576"')
    path.write_bytes(zipped(parts))
    assert "too large" in refused(path, "excel").what


def test_codes_and_what_is_missing_in_a_statistical_file(tmp_path: Path) -> None:
    path = tmp_path / "survey.sav"
    frame = pd.DataFrame({"sex": [1.0, 2.0, None], "share": [0.5, 1.0, None], "town": ["x", "", "z"]})
    pyreadstat.write_sav(frame, str(path), variable_value_labels={"sex": {1: "male", 2: "female"}})
    assert read(path, "spss") == [["sex", "share", "town"], ["1", "0.5", "x"], ["2", "1", None], [None, None, "z"]]


def test_numbers_of_single_precision_have_the_digits_they_were_written_with(tmp_path: Path) -> None:
    path = tmp_path / "wages.dta"
    wages = np.array([0.378, 5.298, np.nan])
    pd.DataFrame({"single_": wages.astype(np.float32), "double_": wages}).to_stata(path, write_index=False)
    assert read(path, "stata") == [["single_", "double_"], ["0.378", "0.378"], ["5.298", "5.298"], [None, None]]


@pytest.mark.slow
def test_labels_of_columns_are_drafted_as_descriptions_and_those_of_values_as_labels(tmp_path: Path) -> None:
    frame = pd.DataFrame({"pid": [*map(str, range(1, 41))], "hv202": [1.0, 2.0] * 20, "plain": ["x", "y"] * 20})
    """Of codes that few records have, or none, and of identifiers none is in the draft."""
    frame.loc[:4, "hv202"], frame["pid"] = 3.0, frame["pid"].astype(float)
    codes = {"hv202": {1: "a man", 2: "a  woman", 3: CANARY, 4: CANARY}, "pid": {1: CANARY}}
    labels = ["", "Sex of  the\nhousehold’s head", ""]
    pyreadstat.write_dta(frame, str(tmp_path / "a.dta"), column_labels=labels, variable_value_labels=codes)
    pyreadstat.write_sav(frame, str(tmp_path / "a.sav"), column_labels=labels, variable_value_labels=codes)
    pyreadstat.write_xport(frame, str(tmp_path / "a.xpt"), column_labels=labels)
    for name in ("a.dta", "a.sav", "a.xpt"):
        read_frame, form = take_in(tmp_path / name, name, {})
        text = draft_request(read_frame, name, form=form).text
        assert text.count("description:") == 1
        assert 'description: "Sex of the household’s head"' in text
        # SAS keeps those of values in a catalog.
        assert ('labels: {"1": "a man", "2": "a woman"}' in text) is (name != "a.xpt")
        assert CANARY not in text


@pytest.mark.parametrize("catalog", ["people", "formats", "other"])
def test_labels_of_a_sas_data_set_come_from_the_catalog_beside_it(tmp_path: Path, catalog: str) -> None:
    """The catalog of its own name goes before that of all data sets of the folder; no other counts."""
    rows = [(f"p{row}", float(row % 2 + 1), float(row % 3)) for row in range(60)]
    written_by_readstat(tmp_path / "people.sas7bdat", ("pid", "hv202", "plain"), rows, {"hv202": "HVF"})
    if catalog == "people":
        catalog_by_readstat(tmp_path / "formats.sas7bcat", {"HVF": {1: CANARY}})
    catalog_by_readstat(tmp_path / f"{catalog}.sas7bcat", {"HVF": {1: "a man", 2: "a woman"}, "PLAIN": {1: CANARY}})
    frame, form = take_in(tmp_path / "people.sas7bdat", "people.sas7bdat", {})
    assert frame["hv202"].tolist() == ["1", "2"] * 30
    text = draft_request(frame, "people.sas7bdat", form=form).text
    assert ('labels: {"1": "a man", "2": "a woman"}' in text) is (catalog != "other")
    assert CANARY not in text


@pytest.mark.slow
def test_a_damaged_catalog_is_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "people.sas7bdat"
    path.write_bytes(files(tmp_path)[path.name])
    catalog = path.with_suffix(".sas7bcat")
    catalog_by_readstat(catalog, {"HVF": {1: CANARY}})
    catalog.write_bytes(catalog.read_bytes()[:1000])
    assert refused(path, "sas").got == "a damaged catalog"
    assert capfd.readouterr() == ("", "")
    catalog.unlink()
    assert read(path, "sas")


def test_the_program_has_to_be_stated_and_no_other(tmp_path: Path) -> None:
    path = book(tmp_path, one=[["a"], [CANARY]])
    assert "dataset.format" in refused(path, None).fix
    assert refused(path, "spss").expected == "an SPSS file (.sav or .zsav)"
    plain = tmp_path / "plain.csv"
    plain.write_text(f"a\n{CANARY}\n")
    assert refused(plain, "excel").what == "the file is not of the stated format"


def test_a_reader_that_is_not_installed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "without"
    (blocked / "python_calamine").mkdir(parents=True)
    (blocked / "python_calamine" / "__init__.py").write_text("raise ImportError\n")
    monkeypatch.setattr(foreign_file, "_ROOT", f"{blocked}:{foreign_file._ROOT}")
    assert "extra “readers”" in refused(book(tmp_path, one=[["a"], ["x"]]), "excel").fix


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(FORMATS) - {"people.xpt"}))  # of which no byte says how long it is
def test_a_damaged_file_is_refused_in_silence(tmp_path: Path, name: str, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / name
    content = files(tmp_path)[name]
    path.write_bytes(content[: len(content) // 2])
    if name == "people.xlsx":  # its directory is at the end: it is no archive any more
        assert "not of the stated format" in refused(path, "excel").what
    else:
        assert refused(path, FORMATS[name]).got == "a file that cannot be read"
    assert capfd.readouterr() == ("", "")


def test_every_format_has_marks_and_a_name() -> None:
    assert set(foreign_file._MARKS) == set(foreign_file.NAMES) == set(FileFormat)

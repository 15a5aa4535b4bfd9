"""How a file is written is told by its bytes; where they leave two readings, a question is asked."""

import gzip
from collections.abc import Mapping
from pathlib import Path

import pytest

from tasks.core.errors import DataError, ParameterError
from tasks.draft.file_form import differences, take_in
from tasks.request.file_form import FileForm
from tests.damaged.files import as_text, rows, workbook, zipped

GERMAN = as_text(";", ",", "%d.%m.%Y")
ENGLISH = as_text(",", ".", "%m/%d/%Y")
PLAIN = [
    (code, town, str(age), f"{weight:.2f}", str(income), str(day)) for code, town, age, weight, income, day in rows()
]
OF_GERMAN = {"delimiter": ";", "decimal": ",", "dates": {"visit_date": "dd.mm.yyyy"}}
OF_ENGLISH = {"dates": {"visit_date": "mm/dd/yyyy"}}


def terms(path: Path, stated: Mapping[str, object]) -> dict[str, object]:
    return take_in(path, path.name, stated)[1].model_dump(mode="json", exclude_defaults=True, exclude={"path"})


def written(folder: Path, content: bytes | str, name: str = "data.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def told(folder: Path, content: bytes | str, name: str = "data.csv", **stated: object) -> dict[str, object]:
    return terms(written(folder, content, name), stated)


def asked(folder: Path, content: bytes | str, name: str = "data.csv", **stated: object) -> DataError:
    with pytest.raises(DataError) as caught:
        told(folder, content, name, **stated)
    return caught.value


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (GERMAN.encode(), OF_GERMAN),
        (GERMAN.encode("cp1252"), {**OF_GERMAN, "encoding": "cp1252"}),
        (GERMAN.encode("latin-1"), {**OF_GERMAN, "encoding": "cp1252"}),
        (GERMAN.encode("utf-16"), {**OF_GERMAN, "encoding": "utf-16"}),
        (GERMAN.encode("utf-16-le"), {**OF_GERMAN, "encoding": "utf-16-le"}),
        (GERMAN.encode("utf-16-be"), {**OF_GERMAN, "encoding": "utf-16-be"}),
        (ENGLISH.encode("utf-8-sig"), OF_ENGLISH),
        (ENGLISH.encode(), OF_ENGLISH),
        (as_text("\t", ".", "%Y-%m-%d").encode(), {"delimiter": "\t"}),
        (as_text("|", ".", "%d%b%Y").encode(), {"delimiter": "|", "dates": {"visit_date": "ddmonyyyy"}}),
        (as_text(",", ".", "%Y%m%d").encode(), {"dates": {"visit_date": "yyyymmdd"}}),
        (gzip.compress(GERMAN.encode("cp1252")), {**OF_GERMAN, "encoding": "cp1252"}),
        (zipped({"a/b.csv": ENGLISH.encode(), "__MACOSX/b.csv": b"x"}), OF_ENGLISH),
        (ENGLISH.partition("\n")[2].encode(), {"header": False, "dates": {"column_6": "mm/dd/yyyy"}}),
    ],
)
def test_the_form_is_told_by_the_bytes_and_read_by(tmp_path: Path, content: bytes, expected: dict[str, object]) -> None:
    frame, form = take_in(written(tmp_path, content), "data.csv", {})
    assert form.model_dump(mode="json", exclude_defaults=True, exclude={"path"}) == expected
    assert list(frame.itertuples(index=False, name=None)) == PLAIN


def test_what_is_stated_is_not_told_otherwise(tmp_path: Path) -> None:
    assert told(tmp_path, GERMAN.encode("cp850"), encoding="cp850") == {**OF_GERMAN, "encoding": "cp850"}
    assert "decimal" not in told(tmp_path, "a;b\nx;1,5\ny;2,5\n", decimal=".")


@pytest.mark.parametrize("encoding", ["cp850", "utf-32"])
def test_an_encoding_that_is_not_clear_is_asked_for(tmp_path: Path, encoding: str) -> None:
    error = asked(tmp_path, GERMAN.encode(encoding))
    assert "encoding" in error.what
    assert "--form encoding=" in error.fix


def test_days_that_may_be_months_are_asked_for(tmp_path: Path) -> None:
    text = "name,seen,left\nx,03/04/2020,13/04/2020\ny,05/06/2021,05/06/2021\n"
    error = asked(tmp_path, text)
    assert error.where == "column seen"
    assert error.expected == "a day that tells one from the other: dd/mm/yyyy or mm/dd/yyyy"
    for stated in ("dmy", "dd/mm/yy"):
        assert asked(tmp_path, text, dates=stated).got == f"“{stated}”, which is another form"
    expected = {"dates": {"seen": "mm/dd/yyyy", "left": "dd/mm/yyyy"}}
    assert told(tmp_path, text, dates="mm/dd/yyyy") == expected
    assert told(tmp_path, text.replace("/", "."))["dates"] == {"seen": "dd.mm.yyyy", "left": "dd.mm.yyyy"}


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (("1,5", "2,25"), {"decimal": ","}),
        (("1.234,5", "17"), {"decimal": ",", "thousands": "."}),
        (("1,234.5", "17"), {"thousands": ","}),
        (("1,234,567", "17"), {"thousands": ","}),
        (("1.234.567", "17"), {"decimal": ",", "thousands": "."}),
        (("1.5", "2.25"), {}),
        (("0.125", "1.234"), {}),
        (("17", "18"), {}),
        (("1,5", "2.5"), {}),
        (("1,2,3", "4,5,6"), {}),
        (("1 234,50", "17,00"), {"decimal": ",", "thousands": " "}),
        (("1\u202f234,50", "17"), {"decimal": ",", "thousands": " "}),
        (("12\u00a0345", "17"), {"thousands": " "}),
        (("45 000", "52 300"), {"thousands": " "}),
        (("1'234.50", "1\u2019234"), {"thousands": "'"}),
        (("12,34,567.50", "1,234"), {"thousands": ","}),
        (("\u22121,5", "2,5"), {"decimal": ","}),
        (("612 345 678", "698 765 432"), {}),
        (("110 001", "560 034"), {}),
        (("22 333 444", "98 765 432"), {}),
        (("12 34 56", "98 76 54"), {}),
    ],
)
def test_marks_of_numbers(tmp_path: Path, cells: tuple[str, str], expected: dict[str, object]) -> None:
    found = told(tmp_path, "name\tnumber\n" + "".join(f"x\t{cell}\n" for cell in cells))
    assert found == {"delimiter": "\t", **expected}


@pytest.mark.parametrize(("delimiter", "cell"), [("\t", "1,234"), (";", "1,234"), (";", "1.234")])
def test_one_mark_before_three_digits_is_asked_for(tmp_path: Path, delimiter: str, cell: str) -> None:
    text = f"name{delimiter}number\nx{delimiter}{cell}\n"
    assert asked(tmp_path, text).where == "column number"
    found = told(tmp_path, text + f"y{delimiter}{'1,5' if ',' in cell else '1.234,5'}\n")
    assert found["decimal"] == ","


def test_phone_numbers_beside_amounts_with_spaces_stay_texts(tmp_path: Path) -> None:
    text = "phone;amount\n612 345 678;1 234,50\n698 765 432;17,00\n"
    frame, _ = take_in(written(tmp_path, text), "data.csv", {})
    assert frame["phone"].tolist() == ["612 345 678", "698 765 432"]
    assert frame["amount"].tolist() == ["1234.50", "17.00"]


def test_numbers_of_a_workbook_have_no_marks_of_its_texts(tmp_path: Path) -> None:
    content = workbook({"people": [["dose", "weight"], [1.234, "75,5"], [2.345, "1.080,5"]]})
    frame, form = take_in(written(tmp_path, content, "book.xlsx"), "book.xlsx", {})
    assert (form.decimal, form.thousands) == (",", ".")
    assert frame["dose"].tolist() == ["1.234", "2.345"]
    assert frame["weight"].tolist() == ["75.5", "1080.5"]


def test_ages_with_empty_decimals_are_whole_numbers(tmp_path: Path) -> None:
    frame, _ = take_in(written(tmp_path, "age,weight,note\n42.0,70.5,a\n43.,71.0,b\nNA,,c\n"), "data.csv", {})
    assert frame["age"].tolist() == ["42", "43", "NA"]
    assert frame["weight"].fillna("").tolist() == ["70.5", "71.0", ""]


def test_a_delimiter_at_the_end_of_each_line_makes_no_column(tmp_path: Path) -> None:
    frame, _ = take_in(written(tmp_path, "town;n;\nx;1;\ny;2;\n"), "data.csv", {})
    assert list(frame.columns) == ["town", "n"]
    frame, _ = take_in(written(tmp_path, "town;n;\nx;1;\ny;2;z\n"), "data.csv", {})
    assert list(frame.columns) == ["town", "n", ""], "a value without a name is asked about"


def test_years_as_names_are_no_records(tmp_path: Path) -> None:
    assert told(tmp_path, "town,2019,2020\nx,1,2\ny,3,4\n") == {}


def test_uneven_rows_are_told_by_the_reader(tmp_path: Path) -> None:
    error = asked(tmp_path, "a;b\n1;2\n3;4;5\n")
    assert (error.what, error.where) == ("records have more or fewer cells than the header", "data.csv, row 2")


def test_what_is_not_as_in_plain_csv_is_said_in_words(tmp_path: Path) -> None:
    plain = written(tmp_path, "name,age\nx,1\n")
    assert differences(plain, FileForm(path="data.csv")) == []
    packed = written(tmp_path, gzip.compress("x;Köln;1,5\ny;Ulm;2,5\n".encode("cp1252")))
    _, form = take_in(packed, "data.csv", {})
    assert differences(packed, form) == ["compressed", "semicolons", "cp1252", "decimal comma", "no header line"]
    spaced = form.stated(thousands=" ")
    assert "spaces between thousands" in differences(packed, spaced)
    book = written(tmp_path, workbook({"people": [["id"], [1]], "notes": [["id"], [2]]}))
    assert differences(book, take_in(book, "data.csv", {"sheet": "people"})[1]) == ["an Excel workbook", "sheet people"]


def test_a_nul_byte_is_told_with_its_line(tmp_path: Path) -> None:
    error = asked(tmp_path, "a;b\n1;2\n3;\0\n")
    assert (error.where, error.got) == ("data.csv, line 3", "a NUL byte")


def test_a_title_above_the_header_is_told_as_one(tmp_path: Path) -> None:
    error = asked(tmp_path, "Aufnahmen 2025\n" + "a;b;c\n" + "1;2;3\n" * 20)
    assert (error.where, error.got) == ("data.csv, line 1", "the first line has 1 cell, the others 3")
    assert error.fix.startswith("delete the lines above the column names")


def test_several_files_in_an_archive_are_asked_for(tmp_path: Path) -> None:
    both = zipped({"one.csv": ENGLISH.encode(), "two.csv": GERMAN.encode()})
    assert "2 files" in asked(tmp_path, both).got
    assert told(tmp_path, both, member="two.csv") == {**OF_GERMAN, "member": "two.csv"}
    assert "not one of that name" in asked(tmp_path, both, member="three.csv").got


def test_a_statement_that_no_request_may_have(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="one of dates, decimal, delimiter"):
        told(tmp_path, ENGLISH, date="dd/mm/yyyy")
    with pytest.raises(ParameterError, match="decimal"):
        told(tmp_path, ENGLISH, decimal="x")
    with pytest.raises(ParameterError, match="--form, sheet"):
        told(tmp_path, ENGLISH, sheet="people")


def test_a_sheet_is_stated_without_the_format_of_its_workbook(tmp_path: Path) -> None:
    content = workbook({"people": [["id", "age"], [1, 30]], "notes": [["note"], ["x"]]})
    assert "2 sheets" in asked(tmp_path, content, name="book.xlsx").got
    assert "without a sheet of that name" in asked(tmp_path, content, name="book.xlsx", sheet="People").got
    assert told(tmp_path, content, name="book.xlsx", sheet="people") == {"format": "excel", "sheet": "people"}
    with pytest.raises(ParameterError, match="--form, delimiter"):
        told(tmp_path, content, name="book.xlsx", delimiter=";")

"""Microdata are read as text, cell by cell as they stand in the file, from CSV, gzipped CSV and Parquet."""

import datetime
import decimal
import gzip
import hashlib
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tasks.core.files import file_sha256
from tasks.microdata import csv_file
from tasks.microdata.parquet import read_parquet
from tasks.microdata.read import read_microdata, text_frame
from tasks.request.file_form import FileForm
from tasks.request.model import ReleaseRequest
from tests.support.examples import examples
from tests.support.tiny import DATA, Change, changed, tiny_document

COLUMNS = ["id", "zip", "age", "sex", "diagnosis"]
HEADER = ",".join(COLUMNS)


def request(*changes: Change) -> ReleaseRequest:
    document: dict[str, Any] = tiny_document()
    for change in changes:
        change(document)
    return ReleaseRequest.model_validate(document)


def cells(path: Path, *changes: Change) -> list[list[str | None]]:
    frame = read_microdata(path, request(*changes))
    return [[None if pd.isna(cell) else cell for cell in row] for row in frame.itertuples(index=False)]


def written(folder: Path, content: bytes | str, name: str = "data.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def rows_of(text: str) -> list[list[str | None]]:
    return [list(line.split(",")) for line in text.splitlines()[1:]]


def test_csv(tmp_path: Path) -> None:
    path = written(tmp_path, DATA)
    assert cells(path) == rows_of(DATA)
    assert list(read_microdata(path, request()).columns) == COLUMNS


def test_gzipped_csv(tmp_path: Path) -> None:
    assert cells(written(tmp_path, gzip.compress(DATA.encode()), "data.csv.gz")) == rows_of(DATA)
    halves = gzip.compress(DATA[:60].encode()) + gzip.compress(DATA[60:].encode())
    assert cells(written(tmp_path, halves, "data.csv.gz")) == rows_of(DATA)


def test_delimiters_at_the_end_of_each_line_are_no_columns(tmp_path: Path) -> None:
    lines = DATA.splitlines()
    assert cells(written(tmp_path, "".join(f"{line},,\n" for line in lines))) == rows_of(DATA)


def test_columns_come_in_the_order_of_the_request(tmp_path: Path) -> None:
    path = written(tmp_path, "sex,diagnosis,age,id,zip\nF,flu,88,1,37010\n")
    assert cells(path) == [["1", "37010", "88", "F", "flu"]]


def test_nothing_is_guessed(tmp_path: Path) -> None:
    row = ["007", " 37010", "8.5", "true", "1e5"]
    for cell in ("NA", "nan", "NULL", "None", "#N/A", "-", "2020-01-02", "+1", "0x1F", "inf"):
        assert cells(written(tmp_path, f"{HEADER}\n{','.join(row[:4])},{cell}\n")) == [[*row[:4], cell]]


def test_quoted_cells_may_hold_delimiters_quotes_and_line_breaks(tmp_path: Path) -> None:
    text = f'{HEADER}\n1,37010,88,F,"a, ""b""\nand c\r\nand d"\n"2","37011","89","M",""\n3,37201,90,M,last\n'
    expected = [
        ["1", "37010", "88", "F", 'a, "b"\nand c\r\nand d'],
        ["2", "37011", "89", "M", None],
        ["3", "37201", "90", "M", "last"],
    ]
    path = written(tmp_path, text)
    assert cells(path) == expected
    assert cells(written(tmp_path, "\ufeff" + text.replace("last\n", '"last"'))) == expected
    quoted_header = text.replace(HEADER, ",".join(f'"{name}"' for name in COLUMNS))
    assert cells(written(tmp_path, quoted_header)) == expected
    assert cells(written(tmp_path, quoted_header.removesuffix("\n"))) == expected


def test_formula_like_cells_stay_text(tmp_path: Path) -> None:
    for cell in ('=HYPERLINK("http://x")', "=1+1", "+1", "-1", "@SUM(A1)", "|calc"):
        quoted = '"' + cell.replace('"', '""') + '"'
        assert cells(written(tmp_path, f"{HEADER}\n1,37010,88,F,{quoted}\n"))[0][4] == cell


def test_a_cell_of_a_million_characters(tmp_path: Path) -> None:
    long = "x" * 1_000_000
    assert cells(written(tmp_path, f"{HEADER}\n1,37010,88,F,{long}\n2,37010,88,F,y\n")) == [
        ["1", "37010", "88", "F", long],
        ["2", "37010", "88", "F", "y"],
    ]


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-8-sig"])
def test_other_encodings(tmp_path: Path, encoding: str) -> None:
    path = written(tmp_path, f'{HEADER}\n1,37010,88,F,"fièvre\n"\n'.encode(encoding))
    assert cells(path, changed("dataset", "encoding", to=encoding)) == [["1", "37010", "88", "F", "fièvre\n"]]


def test_a_byte_order_mark_is_no_part_of_the_first_name(tmp_path: Path) -> None:
    assert cells(written(tmp_path, "\ufeff" + DATA)) == rows_of(DATA)


@pytest.mark.parametrize(
    ("header", "names"),
    [(",zip", ["row_names", "zip"]), (",row_names", ["", "row_names"]), ("zip,", ["zip", ""])],
)
def test_a_first_column_without_a_name_is_that_of_row_names(tmp_path: Path, header: str, names: list[str]) -> None:
    path = written(tmp_path, f"{header}\n1,37010\n2,37011\n")
    assert csv_file.read_csv(path, FileForm(path=path.name)).column_names == names


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_other_delimiters(tmp_path: Path, delimiter: str) -> None:
    text = DATA.replace(",", delimiter).replace("flu", '"a, b\nc"')
    expected = [[cell if cell != "flu" else "a, b\nc" for cell in row] for row in rows_of(DATA)]
    assert cells(written(tmp_path, text), changed("dataset", "delimiter", to=delimiter)) == expected


def test_missing_cells(tmp_path: Path) -> None:
    path = written(tmp_path, f"{HEADER}\n1,37010,88,?,NA\n2,37010,88,F,\n")
    assert cells(path) == [["1", "37010", "88", "?", "NA"], ["2", "37010", "88", "F", None]]
    tokens = changed("dataset", "missing", to=["?", "NA"])
    assert cells(path, tokens) == [["1", "37010", "88", None, None], ["2", "37010", "88", "F", ""]]
    assert cells(path, changed("dataset", "missing", to=[])) == [
        ["1", "37010", "88", "?", "NA"],
        ["2", "37010", "88", "F", ""],
    ]


def test_missing_cells_of_parquet(tmp_path: Path) -> None:
    path = tmp_path / "data.parquet"
    pq.write_table(pa.table({"id": ["1"], "zip": ["?"], "age": [""], "sex": [None], "diagnosis": ["x"]}), path)
    assert cells(path, changed("dataset", "missing", to=["?", ""])) == [["1", None, None, None, "x"]]


def test_typed_columns_of_parquet_become_text(tmp_path: Path) -> None:
    path = tmp_path / "data.parquet"
    table = pa.table(
        {
            "id": pa.array([1, 2], pa.int64()),
            "zip": pa.array(["03601", None]).dictionary_encode(),
            "age": pa.array([88.0, float("nan")], pa.float64()),
            "sex": pa.array([True, None]),
            "diagnosis": pa.array([datetime.date(2020, 1, 2), None]),
        }
    )
    pq.write_table(table, path)
    assert cells(path) == [["1", "03601", "88", "true", "2020-01-02"], ["2", None, None, None, None]]
    table = table.set_column(4, "diagnosis", pa.array([decimal.Decimal("1.50"), None]))
    pq.write_table(table.set_column(2, "age", pa.array([2**53 + 1, None])), path)
    assert cells(path)[0] == ["1", "03601", str(2**53 + 1), "true", "1.50"]


@pytest.mark.parametrize("coded", [False, True])
def test_timestamps_without_times_are_days_in_every_piece_of_parquet(tmp_path: Path, *, coded: bool) -> None:
    """A piece whose times are midnight by chance is read as the others of its column."""
    path = tmp_path / "data.parquet"
    days = [datetime.datetime(2024, 5, day) for day in (1, 2)]
    timed = [days[0], days[1].replace(hour=8)]
    pq.write_table(pa.table({"day": days, "timed": timed, "zoned": pa.array(days, pa.timestamp("us", "UTC"))}), path, 1)
    piece = text_frame(read_parquet(path, groups=[0], coded=coded), path, ["day", "timed", "zoned"])
    assert piece.iloc[0].tolist() == ["2024-05-01", "2024-05-01 00:00:00.000000", "2024-05-01"]


@pytest.mark.parametrize("coded", [False, True])
def test_a_midnight_of_a_time_zone_is_its_day_and_not_the_day_before(tmp_path: Path, *, coded: bool) -> None:
    path = tmp_path / "data.parquet"
    berlin = pa.timestamp("ms", "Europe/Berlin")
    born = pa.array([1709247600000, 1719784800000], berlin)  # 2024-02-29 23:00 and 2024-06-30 22:00 in UTC
    seen = pa.array([1709247600000, 1719820800000], berlin)
    pq.write_table(pa.table({"born": born, "seen": seen}), path)
    read = text_frame(read_parquet(path, coded=coded), path, ["born", "seen"])
    assert read["born"].tolist() == ["2024-03-01", "2024-07-01"]
    assert read["seen"].tolist() == ["2024-03-01 00:00:00.000", "2024-07-01 10:00:00.000"]


def test_numbers_of_parquet_have_no_marks_of_its_texts(tmp_path: Path) -> None:
    """Three decimals beside texts with points between thousands."""
    path = tmp_path / "data.parquet"
    table = pa.table({name: ["1.080,5", "17,5"] for name in COLUMNS})
    pq.write_table(table.set_column(2, "age", pa.array([decimal.Decimal("1.234"), decimal.Decimal("2.345")])), path)

    def number(document: dict[str, Any]) -> None:
        document["dataset"] |= {"decimal": ",", "thousands": "."}
        for name in ("age", "diagnosis"):
            document["attributes"][name] = {"role": "sensitive", "type": "number"}

    assert [(row[2], row[4]) for row in cells(path, number)] == [("1.234", "1080.5"), ("2.345", "17.5")]


def test_times_of_day_lose_an_empty_fraction_of_a_second(tmp_path: Path) -> None:
    path = tmp_path / "data.parquet"
    pq.write_table(pa.table({"at": [datetime.time(8, 15), datetime.time(8, 15, 0, 500000)]}), path)
    assert text_frame(read_parquet(path), path, ["at"])["at"].tolist() == ["08:15:00", "08:15:00.500000"]


def test_whole_numbers_that_a_missing_value_made_decimal_read_as_whole(tmp_path: Path) -> None:
    frame = pd.DataFrame({"id": [1, 2], "zip": ["a", "b"], "age": [88.0, None], "sex": ["F", "M"], "diagnosis": "x"})
    path = tmp_path / "data.parquet"
    frame.to_parquet(path, index=False)
    assert [row[2] for row in cells(path)] == ["88", None]


def test_parquet_is_known_by_its_bytes_whatever_its_name(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    pq.write_table(pa.table({name: ["x"] for name in COLUMNS}), path)
    assert cells(path) == [["x"] * 5]


@settings(deadline=None, max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    table=st.lists(
        st.tuples(
            *[st.text(st.sampled_from('a,;"\n\r\té|='), min_size=1, max_size=6)] * 5,
        ),
        min_size=1,
        max_size=8,
    ),
    block=st.integers(200, 2000),
)
def test_any_cells_survive(tmp_path: Path, table: list[tuple[str, ...]], block: int) -> None:
    lines = [",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in table]
    path = written(tmp_path, "\n".join([HEADER, *lines]) + "\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_file, "_BLOCK_BYTES", block)
        assert cells(path) == [list(row) for row in table]


def test_hash_of_a_file(tmp_path: Path) -> None:
    path = written(tmp_path, DATA)
    assert file_sha256(path) == hashlib.sha256(DATA.encode()).hexdigest()

"""Files that cannot be used are refused with their place and their kind of fault, and never with what they hold."""

import gzip
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tasks.core.errors import DataError
from tasks.microdata import csv_file
from tasks.microdata import parquet as parquet_files
from tasks.microdata.parts import pieces, read_piece
from tasks.microdata.read import read_microdata, read_text
from tasks.request.file_form import FileForm
from tests.support.silence import CANARY, assert_silent
from tests.support.tiny import DATA, Change, changed, tiny_request

HEADER = "id,zip,age,sex,diagnosis"


def refused(folder: Path, content: bytes | str, *changes: Change, name: str = "data.csv") -> DataError:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DataError) as caught:
        read_microdata(path, tiny_request(folder / "elsewhere", *changes).request)
    assert caught.value.where.startswith(name)
    assert caught.value.expected
    assert caught.value.fix
    return caught.value


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    """A folder for the request, and a look at all that was printed."""
    (tmp_path / "elsewhere").mkdir()
    yield
    assert CANARY not in "".join(capfd.readouterr())


def parquet(folder: Path, table: pa.Table, name: str = "data.parquet") -> bytes:
    pq.write_table(table, folder / name)
    return (folder / name).read_bytes()


def test_an_empty_file(tmp_path: Path) -> None:
    assert "is empty" in str(refused(tmp_path, ""))


@pytest.mark.parametrize("content", [f"{HEADER}\n", HEADER, f"{HEADER}\r\n\r\n", "\n\n", " "])
def test_a_file_without_records(tmp_path: Path, content: str) -> None:
    message = str(refused(tmp_path, content))
    assert any(clause in message for clause in ("no records", "no record after the header", "not those of the request"))


def test_a_header_only(tmp_path: Path) -> None:
    assert refused(tmp_path, f"{HEADER}\n").got == "a header only"
    assert refused(tmp_path, HEADER).got == "no record after the header"
    empty = pa.table({name: pa.array([], pa.string()) for name in HEADER.split(",")})
    assert refused(tmp_path, parquet(tmp_path, empty), name="data.parquet").got == "a header only"


def test_a_missing_column_is_named_as_it_was_declared(tmp_path: Path) -> None:
    error = refused(tmp_path, f"id,zip,age,{CANARY}\n1,37010,88,F\n")
    assert error.got == "missing: sex, diagnosis; undeclared: column 4"
    assert_silent(error)


def test_an_undeclared_column_is_named_by_its_position(tmp_path: Path) -> None:
    error = refused(tmp_path, f"id,zip,{CANARY},age,sex,diagnosis,{CANARY}2\n1,37010,x,88,F,flu,y\n")
    assert error.got == "undeclared: columns 3, 7"
    assert_silent(error)


def test_a_file_without_a_header_does_not_show_its_first_record(tmp_path: Path) -> None:
    assert_silent(refused(tmp_path, DATA.replace("id,zip,age,sex,diagnosis", f"1,37010,88,F,{CANARY}")))


WITHOUT_HEADER = f"{CANARY};w;Gynäkologie;ja\nx;m;Chirurgie;nein\ny;w;Gynäkologie;ja\nz;w;Chirurgie;ja\n"


@pytest.mark.parametrize(
    ("text", "places"),
    [
        (WITHOUT_HEADER, "columns 2, 3, 4"),
        (f"{CANARY};w\nx;m\ny;w\n", "column 2"),
        (f"{CANARY}\nx\n{CANARY}\n", "column 1"),
    ],
)
def test_a_first_record_as_header_is_refused_by_its_values(tmp_path: Path, text: str, places: str) -> None:
    path = tmp_path / "data.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as caught:
        read_text(path, FileForm(path="data.csv", delimiter=";"))
    assert caught.value.where == f"data.csv, {places}"
    assert "header: false" in caught.value.fix
    assert_silent(caught.value)
    assert len(read_text(path, FileForm(path="data.csv", delimiter=";", header=False))) == text.count("\n")


def test_a_request_with_a_first_record_as_names_is_refused(tmp_path: Path) -> None:
    error = refused(tmp_path, f"{HEADER}\n1,zip,88,sex,{CANARY}\n2,37010,88,F,x\n")
    assert error.where == "data.csv, columns 2, 4"


@pytest.mark.parametrize(
    "text",
    [
        "id;asthma;cough\n1;asthma;\n2;;cough\n3;asthma;cough\n",  # a survey's answers, one a column
        "id;age;sex\n1;30;sex\n2;40;M\n3;50;F\n",
        "id;Sex\n1;sex\n2;M\n",
    ],
)
def test_names_that_are_a_value_now_and_then_stay(tmp_path: Path, text: str) -> None:
    path = tmp_path / "data.csv"
    path.write_text(text)
    assert len(read_text(path, FileForm(path="data.csv", delimiter=";"))) == text.count("\n") - 1


def test_a_delimiter_that_is_not_that_of_the_file(tmp_path: Path) -> None:
    semicolons = HEADER.replace(",", ";")
    for records in (f"1;37010;88;F;{CANARY}\n", f"1;37010;88;F;{CANARY},x\n"):
        error = refused(tmp_path, f"{semicolons}\n{records}")
        assert (error.where, error.got) == ("data.csv, line 1", "none; with “;” the header has 5 columns")
        assert error.fix.startswith('set dataset.delimiter to ";"')


def test_a_misspelt_column(tmp_path: Path) -> None:
    error = refused(tmp_path, f"{HEADER.replace('diagnosis', 'diagnoses')}\n1,37010,88,F,{CANARY}\n")
    assert error.fix == "column 5 may be what “diagnosis” means: spell it as in the header"


def test_a_repeated_column(tmp_path: Path) -> None:
    assert refused(tmp_path, f"{HEADER},sex\n1,37010,88,F,flu,{CANARY}\n").got == "1 name used twice: columns 4, 6"
    twice = pa.table([pa.array([CANARY])] * 2, names=["id", "id"])
    assert_silent(refused(tmp_path, parquet(tmp_path, twice), name="data.parquet"))


@pytest.mark.parametrize("line", ["sep=;\n", "sep=;\r\n", '"sep=,"\n', "SEP=\t\n"])
def test_a_first_line_that_states_the_delimiter(tmp_path: Path, line: str) -> None:
    """Excel reads it and shows it to nobody; of a table of two columns it would be a header."""
    error = refused(tmp_path, f"{line}{HEADER}\n1,37010,88,F,{CANARY}\n")
    assert (error.where, error.fix) == ("data.csv, line 1", "remove the first line")


def test_ragged_records_are_named_by_position(tmp_path: Path) -> None:
    error = refused(tmp_path, f"{HEADER}\n1,37010,88,F,flu\n2,37010,{CANARY}\n3,37010,88,F,flu\n4,5,6,7,8,{CANARY}\n")
    assert error.where == "data.csv, rows 2, 4"
    assert error.expected == "5 cells in every record"
    assert error.got == "1 record with 3 cells; 1 record with 6 cells"
    assert_silent(error)


def test_the_remedy_is_that_of_too_few_or_too_many_cells(tmp_path: Path) -> None:
    few = refused(tmp_path, f'{HEADER}\n1,37010,88,F,5" cut\n2,{CANARY}\n3,37010,x\n')
    assert (few.got, few.fix.split(",")[0]) == ("2 records with 2 to 3 cells", "add the missing cells")
    many = refused(tmp_path, f"{HEADER}\n1,37010,88,F,flu\n2,37010,88,F,flu,{CANARY}\n")
    assert (many.got, many.fix) == ("1 record with 6 cells", "quote cells that hold the delimiter")


def test_a_quotation_mark_that_is_never_closed_is_told_where_it_leaves_cells_missing(tmp_path: Path) -> None:
    error = refused(tmp_path, f'{HEADER}\n1,37010,88,F,flu\n2,"37010,88,F,{CANARY}\n3,37010,88,F,cold\n')
    assert (error.where, "quotation mark" in error.what) == ("data.csv, line 3", True)
    assert_silent(error)


def test_positions_count_records_not_lines(tmp_path: Path) -> None:
    text = f'{HEADER}\n\n1,37010,88,F,"two\nlines"\n\n\n2,37010\n3,37010,88,F,flu\n{CANARY}\n'
    error = refused(tmp_path, text)
    assert error.where == "data.csv, rows 2, 4"
    assert_silent(error)


@pytest.mark.parametrize("block", [150, 400, 5000])
def test_positions_hold_across_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(csv_file, "_BLOCK_BYTES", block)
    records = [f"{number},37010,88,F,flu" for number in range(1, 101)]
    records[6], records[49], records[99] = "7,37010", f"50,37010,88,F,flu,{CANARY}", ""
    records[98] = CANARY
    error = refused(tmp_path, "\n".join([HEADER, *records]))
    assert error.where == "data.csv, rows 7, 50, 99"
    assert_silent(error)


MISQUOTED = {
    "never closed": (f'{HEADER}\n1,37010,88,F,flu\n2,37010,88,F,"{CANARY}\n3,37010,88,F,cold\n', 3),
    "closed in a later record": (f'{HEADER}\n1,37010,88,F,"{CANARY}\n2,37010,88,F,cold"x\n3,37010,88,F,flu\n', 3),
    "closed by the next mistake": (f'{HEADER}\n1,37010,88,F,"{CANARY}\n2,37010,88,F,"cold\n3,37010,88,F,flu\n', 3),
    "inside a bare cell": (f'{HEADER}\n1,37010,88,F,5" {CANARY}\n2,37010,88,F,"two\nlines"\n', 2),
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("case", MISQUOTED)
def test_records_never_run_together_in_silence(tmp_path: Path, case: str, packed: bool) -> None:
    text, line = MISQUOTED[case]
    name = "data.csv.gz" if packed else "data.csv"
    content = gzip.compress(text.encode()) if packed else text.encode()
    error = refused(tmp_path, content, name=name)
    assert "quotation mark" in error.what
    assert error.where == f"{name}, line {line}"
    assert_silent(error)


def test_a_quotation_mark_inside_a_bare_cell_is_text_where_no_cell_has_a_line_break(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text(f'{HEADER}\n1,37010,88,F,5" cut\n2,37010,88,F,flu\n')
    frame = read_microdata(path, tiny_request(tmp_path / "elsewhere").request)
    assert frame["diagnosis"].tolist() == ['5" cut', "flu"]


WRONG_ENCODING = {
    "latin-1 cell": (f"{HEADER}\n1,37010,88,F,{CANARY}é\n".encode("latin-1"), "utf-8"),
    "latin-1 header": (f"{HEADER},é{CANARY}\n1,37010,88,F,x,y\n".encode("latin-1"), "utf-8"),
    "UTF-16 read as UTF-8": (f"{HEADER}\n1,37010,88,F,{CANARY}\n".encode("utf-16"), "utf-8"),
    "UTF-8 read as ASCII": (f"{HEADER}\n1,37010,88,F,{CANARY}é\n".encode(), "ascii"),
    "UTF-8 read as UTF-16": (f"{HEADER}\n1,37010,88,F,{CANARY}\n".encode(), "utf-16"),
    "unknown encoding": (f"{HEADER}\n1,37010,88,F,{CANARY}\n".encode(), "klingon"),
    "no text encoding": (f"{HEADER}\n1,37010,88,F,{CANARY}\n".encode(), "hex"),
    "no encoding of bytes": (f"{HEADER}\n1,37010,88,F,{CANARY}\n".encode(), "rot13"),
}


@pytest.mark.parametrize("case", WRONG_ENCODING)
def test_wrong_encodings(tmp_path: Path, case: str) -> None:
    content, encoding = WRONG_ENCODING[case]
    assert_silent(refused(tmp_path, content, changed("dataset", "encoding", to=encoding)))


@pytest.mark.parametrize("delimiter", ["§", "☃", '"', "\n"])
def test_delimiters_that_cannot_be_used(tmp_path: Path, delimiter: str) -> None:
    content = f"{HEADER}\n1,37010,88,F,{CANARY}\n"
    assert_silent(refused(tmp_path, content, changed("dataset", "delimiter", to=delimiter)))


def test_a_record_longer_than_the_reader_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_file, "_BLOCK_BYTES", 256)
    error = refused(tmp_path, f"{HEADER}\n1,37010,88,F,{CANARY * 100}\n")
    assert error.got.startswith("a record longer than")
    assert_silent(error)


def flipped(content: bytes, place: int) -> bytes:
    return content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :]


def test_damaged_gzip(tmp_path: Path) -> None:
    text = (
        HEADER + "".join(f"\n{number},37010,88,F,{CANARY}{number * 7919 % 1000}" for number in range(5000))
    ).encode()
    whole = gzip.compress(text)
    for damaged in (whole[:-12], whole[: len(whole) // 2], flipped(whole, len(whole) // 2), flipped(whole, -6)):
        assert_silent(refused(tmp_path, damaged, name="data.csv.gz"))


def test_what_is_packed_is_told_by_the_bytes_and_not_by_the_name(tmp_path: Path) -> None:
    text = f"{HEADER}\n1,37010,88,F,flu\n".encode()
    request = tiny_request(tmp_path / "elsewhere").request
    for name, content in {"data.csv": gzip.compress(text), "data.csv.gz": text}.items():
        (tmp_path / name).write_bytes(content)
        assert read_microdata(tmp_path / name, request)["diagnosis"].tolist() == ["flu"]


def test_damaged_parquet(tmp_path: Path) -> None:
    table = pa.table({name: [f"{CANARY}{row}" for row in range(500)] for name in HEADER.split(",")})
    whole = parquet(tmp_path, table)
    for damaged in (whole[:-10], whole[:100], whole[:4], whole[:40] + bytes(60) + whole[100:]):
        assert_silent(refused(tmp_path, damaged, name="data.parquet"))


def test_columns_of_parquet_that_are_no_text(tmp_path: Path) -> None:
    for column in (pa.array([[CANARY]]), pa.array([{"a": CANARY}]), pa.array([CANARY.encode() + b"\xff\xfe"])):
        columns = {name: pa.array(["x"]) for name in HEADER.split(",")} | {"sex": column}
        error = refused(tmp_path, parquet(tmp_path, pa.table(columns)), name="data.parquet")
        assert "cannot be read as text" in error.what
        assert_silent(error)


def test_an_index_that_pandas_wrote_is_an_undeclared_column(tmp_path: Path) -> None:
    columns = {name: pa.array(["x"]) for name in HEADER.split(",")} | {"__index_level_0__": pa.array([1])}
    error = refused(tmp_path, parquet(tmp_path, pa.table(columns)), name="data.parquet")
    assert error.got == "undeclared: column 6"


def repeated(text: str | bytes | None, rows: int) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(np.zeros(rows, dtype=np.int8), pa.array([text], pa.string()))


def bomb(folder: Path, column: pa.Array, *, times: int = 1, name: str = "data.parquet") -> Path:
    """A small file of which every column would be as large as this one so many times."""
    table = pa.table(dict.fromkeys(HEADER.split(","), column))
    with pq.ParquetWriter(folder / name, table.schema, compression="zstd", store_schema=False) as writer:
        for _ in range(times):
            writer.write_table(table)
    assert (folder / name).stat().st_size < 2_000_000
    return folder / name


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@pytest.fixture
def small_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with a tenth of a gigabyte."""
    monkeypatch.setattr(parquet_files, "machine_memory", lambda: 10**8)


@pytest.mark.usefixtures("small_memory")
@pytest.mark.parametrize(
    ("text", "rows", "times"), [("x", 1_000_000, 10), ("x" * 1_000_000, 5_000, 1)], ids=["records", "long texts"]
)
def test_a_small_parquet_file_that_would_fill_the_memory_is_refused_before_it_does(
    tmp_path: Path, text: str, rows: int, times: int
) -> None:
    path = bomb(tmp_path, repeated(text, rows), times=times)
    request, before, got = tiny_request(tmp_path / "elsewhere").request, peak_megabytes(), []
    for read_it in (
        lambda: read_microdata(path, request),
        lambda: read_text(path),
        lambda: read_piece(path, range(times), ["sex", "diagnosis"], []),
    ):
        with pytest.raises(DataError) as caught:
            read_it()
        assert caught.value.what == "the file is too large for the memory of this machine"
        assert caught.value.expected == "at most 0.1 GB once it is read"
        got.append(caught.value.got)
    assert got[0] == ("10,000,000 records, at least 0.4 GB" if times > 1 else "texts of 25.0 GB")
    assert peak_megabytes() - before < 200


def test_a_file_is_not_cut_into_pieces_whose_records_would_fill_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = bomb(tmp_path, repeated("x", 1_000_000), times=3)
    request = tiny_request(tmp_path / "elsewhere").request
    assert len(pieces(path, request)) == 3
    monkeypatch.setattr(parquet_files, "machine_memory", lambda: 2 * 10**7)
    with pytest.raises(DataError, match="too large for the memory"):
        pieces(path, request)


def test_texts_that_repeat_and_fit_are_read_as_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_files, "machine_memory", lambda: 10**7)
    path = bomb(tmp_path, repeated("x" * 100, 10_000))
    frame = read_microdata(path, tiny_request(tmp_path / "elsewhere").request)
    assert frame.shape == (10_000, 5)
    assert set(frame["sex"]) == {"x" * 100}


@pytest.mark.slow
def test_memory_that_runs_out_is_named_as_such(tmp_path: Path) -> None:
    """In a process that may not have more memory than a file needs."""
    path = bomb(tmp_path, repeated("x" * 1_000, 1_000_000))
    script = (
        "import resource; from pathlib import Path; from tasks.core.errors import DataError\n"
        "import tasks.microdata.parquet as p\n"
        "from tasks.microdata.read import read_text\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2 * 10**9, 2 * 10**9)); p.machine_memory = lambda: 10**12\n"
        f"try: read_text(Path({str(path)!r}))\n"
        "except DataError as error: print(error.what)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "the file is too large for the memory of this machine", done.stderr

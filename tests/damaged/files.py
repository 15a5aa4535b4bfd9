"""A small file of people in every form that microdata come in, and damage to its bytes at random."""

import gzip
import io
import zipfile
from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat

from tests.damaged.sas import written_by_readstat

CANARY = "Zq7"
"""Stands in every text of the data, and nowhere else."""
ROWS = 60
NAMES = ("patient_code", "town", "age", "weight", "income", "visit_date")
Row = tuple[str, str, int, float, int, date]


@cache
def rows() -> tuple[Row, ...]:
    draws = np.random.default_rng(240)
    towns = draws.choice([f"{CANARY}München", f"{CANARY}Köln", f"{CANARY}Aachen"], ROWS)
    return tuple(
        (
            f"{CANARY}P{place:04}",
            str(towns[place]),
            int(draws.integers(20, 80)),
            round(float(draws.normal(70, 9)), 2),
            int(draws.integers(10_000, 90_000)),
            date(2020, 1, 1) + timedelta(int(draws.integers(0, 900))),
        )
        for place in range(ROWS)
    )


def as_text(delimiter: str, decimal: str, days: str) -> str:
    """The file as CSV, dates in a form of ``strftime``."""
    lines = [
        (code, town, str(age), f"{weight:.2f}".replace(".", decimal), str(income), visit.strftime(days))
        for code, town, age, weight, income, visit in rows()
    ]
    return "".join(delimiter.join(line) + "\n" for line in (NAMES, *lines))


def frame() -> pd.DataFrame:
    return pd.DataFrame(rows(), columns=list(NAMES))


def workbook(sheets: Mapping[str, Sequence[Sequence[object]]]) -> bytes:
    """An Excel workbook by hand: texts in the cells, numbers and days as numbers."""

    def cell(value: object, place: str) -> str:
        if isinstance(value, date):
            return f'<c r="{place}" s="1"><v>{(value - date(1899, 12, 30)).days}</v></c>'
        if isinstance(value, int | float):
            return f'<c r="{place}"><v>{value}</v></c>'
        return (
            f'<c r="{place}" t="inlineStr"><is><t xml:space="preserve">{escape(str(value))}</t></is></c>'
            if value != ""
            else ""
        )

    main, office = "http://schemas.openxmlformats.org/spreadsheetml/2006/main", "http://schemas.openxmlformats.org"
    kind = f"{office}/officeDocument/2006/relationships"
    numbers = range(1, len(sheets) + 1)
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{office}/package/2006/content-types">'
        '<Default Extension="xml" ContentType="application/xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{office}/package/2006/relationships"><Relationship Id="r1" '
        f'Type="{kind}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{kind}"><sheets>'
        + "".join(
            f'<sheet name="{escape(name)}" sheetId="{n}" r:id="r{n}"/>' for n, name in zip(numbers, sheets, strict=True)
        )
        + "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{office}/package/2006/relationships">'
        + "".join(
            f'<Relationship Id="r{n}" Type="{kind}/worksheet" Target="worksheets/sheet{n}.xml"/>' for n in numbers
        )
        + f'<Relationship Id="r99" Type="{kind}/styles" Target="styles.xml"/></Relationships>',
        "xl/styles.xml": f'<styleSheet xmlns="{main}"><cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="14" '
        'applyNumberFormat="1"/></cellXfs></styleSheet>',
    }
    for number, table in zip(numbers, sheets.values(), strict=True):
        lines = (
            f'<row r="{r}">' + "".join(cell(value, f"{chr(64 + c)}{r}") for c, value in enumerate(row, 1)) + "</row>"
            for r, row in enumerate(table, 1)
        )
        parts[f"xl/worksheets/sheet{number}.xml"] = (
            f'<worksheet xmlns="{main}"><sheetData>{"".join(lines)}</sheetData></worksheet>'
        )
    return zipped({name: f'<?xml version="1.0" encoding="UTF-8"?>{text}'.encode() for name, text in parts.items()})


def zipped(files: Mapping[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return made.getvalue()


def _parquet() -> bytes:
    made = io.BytesIO()
    pq.write_table(pa.Table.from_pandas(frame(), preserve_index=False), made)
    return made.getvalue()


def _by_pyreadstat(write: Callable[..., None], suffix: str, folder: Path) -> bytes:
    path = folder / f"written.{suffix}"
    write(frame(), str(path))
    return path.read_bytes()


def _data_set(folder: Path) -> bytes:
    path = folder / "written.sas7bdat"
    written_by_readstat(path, NAMES, rows())
    return path.read_bytes()


def files(folder: Path) -> dict[str, bytes]:
    """The file in every form, by file name; the folder is for writers that need one."""
    german, english = as_text(";", ",", "%d.%m.%Y"), as_text(",", ".", "%m/%d/%Y")
    return {
        "latin.csv": german.encode("cp1252"),
        "utf16.csv": german.encode("utf-16"),
        "bom.csv": english.encode("utf-8-sig"),
        "tabs.tsv": as_text("\t", ".", "%Y-%m-%d").encode(),
        "packed.csv.gz": gzip.compress(german.encode("cp1252"), mtime=0),
        "packed.zip": zipped({"export/people.csv": english.encode()}),
        "people.parquet": _parquet(),
        "people.xlsx": workbook({"people": [NAMES, *rows()]}),
        "people.sav": _by_pyreadstat(pyreadstat.write_sav, "sav", folder),
        "people.dta": _by_pyreadstat(pyreadstat.write_dta, "dta", folder),
        "people.xpt": _by_pyreadstat(pyreadstat.write_xport, "xpt", folder),
        "people.sas7bdat": _data_set(folder),
    }


_SPECIAL = (b'"', b";", b",", b"\n", b"\r", b"\0", b"\xff", b"\xfc", b"'", b"\t", b"PK", b"\x1f\x8b", b"\xfe\xff", b"-")


def damaged(content: bytes, draws: np.random.Generator) -> bytes:
    """The bytes with one to three changes; none moves bytes from one place to another, or a header would hold data."""
    made = bytearray(content)
    for _ in range(int(draws.integers(1, 4))):
        if not made:
            break
        place, length = int(draws.integers(len(made))), int(2 ** draws.uniform(0, 6))
        change = int(draws.integers(6))
        if change == 0:
            made[place] ^= 1 << int(draws.integers(8))
        elif change == 1:
            made[place : place + length] = b""
        elif change == 2:
            made[place:place] = draws.bytes(length)
        elif change == 3:
            made[place:place] = _SPECIAL[int(draws.integers(len(_SPECIAL)))]
        elif change == 4:
            made[place : place + length] = draws.bytes(length)
        elif draws.random() < 0.5:
            del made[place:]
        else:
            made[place] = int(draws.integers(256))
    return bytes(made)


def mutant(name: str, content: bytes, draws: np.random.Generator) -> bytes:
    """A file with damage to its bytes, or to the text within a compressed one, or in another encoding."""
    if name == "packed.csv.gz" and draws.random() < 0.5:
        return gzip.compress(damaged(gzip.decompress(content), draws), mtime=0)
    if name in ("packed.zip", "people.xlsx") and draws.random() < 0.5:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            parts = {part: archive.read(part) for part in archive.namelist()}
        changed = sorted(parts)[int(draws.integers(len(parts)))]
        return zipped({**parts, changed: damaged(parts[changed], draws)})
    if name == "latin.csv" and draws.random() < 0.1:
        other = str(draws.choice(["cp850", "mac-roman", "utf-16-le", "utf-16-be", "utf-32", "utf-8"]))
        return content.decode("cp1252").encode(other)
    return damaged(content, draws)

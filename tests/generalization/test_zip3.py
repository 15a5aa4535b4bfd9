"""The Safe Harbor table of three-digit ZIP codes: census in union with the HHS list, unknown means restricted."""

import csv
import gzip
import hashlib
import io
import re
from collections import defaultdict
from pathlib import Path

import pytest

from tasks.core.errors import StageFailed
from tasks.generalization.game import zip3
from tasks.generalization.game.zip3 import HHS_LIST_2000, ZipTable, zip_table

FILE = Path(zip3.__file__).parent / "data" / "zcta-2010.csv.gz"
PRINTED_BY_HHS = re.findall(r"\d{3}", "036 059 063 102 203 556 692 790 821 823 830 831 878 879 884 890 893")
GOOD = b"zcta,population\n37010,8000\n37011,12001\n"


def test_all_prefixes_that_hhs_printed_are_restricted() -> None:
    assert len(PRINTED_BY_HHS) == 17
    assert frozenset(PRINTED_BY_HHS) == HHS_LIST_2000
    for prefix in PRINTED_BY_HHS:
        assert zip_table().shown(prefix + "01") == "000"


def test_printed_prefixes_stay_restricted_whatever_the_census_says() -> None:
    assert ZipTable("test", "", {"036": 1_000_000}).shown("03601") == "000"


def test_restricted_up_to_20_000_people() -> None:
    table = ZipTable("test", "", {"100": 20_000, "101": 20_001})
    assert table.shown("10012") == "000"
    assert table.shown("10112") == "101"


@pytest.mark.parametrize("code", ["99999", "", "x", "3701", "370", "abcde"])
def test_an_unknown_or_short_code_is_restricted(code: str) -> None:
    assert ZipTable("test", "", {"370": 50_000, "abc": 0}).shown(code) == "000"


def test_a_longer_code_shows_three_digits() -> None:
    assert ZipTable("test", "", {"370": 50_000}).shown("37010-1234") == "370"


def test_table_is_the_sum_of_the_census_file_by_prefix() -> None:
    raw = gzip.decompress(FILE.read_bytes())
    people: dict[str, int] = defaultdict(int)
    for zcta, number in list(csv.reader(io.StringIO(raw.decode())))[1:]:
        people[zcta[:3]] += int(number)
    table = zip_table()
    assert table.people == people
    assert table.restricted == {prefix for prefix, number in people.items() if number <= 20_000} | set(PRINTED_BY_HHS)
    assert table.sha256 == hashlib.sha256(raw).hexdigest()
    assert "2010" in table.census


@pytest.fixture
def packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The census file of another installation."""
    (tmp_path / "data").mkdir()
    monkeypatch.setattr(zip3.resources, "files", lambda _package: tmp_path)
    return tmp_path / "data" / "zcta-2010.csv.gz"


def fresh_table() -> ZipTable:
    return zip_table.__wrapped__()


def test_it_is_read_from_the_installed_file(packed: Path) -> None:
    packed.write_bytes(gzip.compress(GOOD))
    assert fresh_table().people == {"370": 20_001}
    assert fresh_table().shown("37099") == "370"


def flipped(content: bytes, place: int) -> bytes:
    return content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :]


DAMAGED = {
    "empty": b"",
    "not packed": GOOD,
    "cut": gzip.compress(GOOD)[:-9],
    "no rows": gzip.compress(b"zcta,population\n"),
    "no codes": gzip.compress(b"zip,population\n37010,1\n"),
    "no counts": gzip.compress(b"zcta,people\n37010,1\n"),
    "no number": gzip.compress(b"zcta,population\n37010,many\n"),
    "negative": gzip.compress(b"zcta,population\n37010,-5\n"),
    "ragged": gzip.compress(b"zcta,population\n37010\n"),
    "encoding": gzip.compress(b"zcta,population\n37010,\xff\n"),
    "early flip": flipped(FILE.read_bytes(), 12),
    "late flip": flipped(FILE.read_bytes(), 100_000),
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_a_damaged_file_blocks(packed: Path, damage: str) -> None:
    packed.write_bytes(DAMAGED[damage])
    with pytest.raises(StageFailed, match="damaged"):
        fresh_table()


def test_a_missing_file_blocks(packed: Path) -> None:
    assert not packed.exists()
    with pytest.raises(StageFailed, match="damaged"):
        fresh_table()

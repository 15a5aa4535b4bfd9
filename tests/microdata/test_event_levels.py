"""Attributes of rows at the levels at which a request releases them."""

from pathlib import Path

import pandas as pd
import pytest

from tasks.core.errors import DataError, HierarchyError
from tasks.microdata.event_levels import at_released_levels
from tasks.microdata.read import read_microdata
from tasks.microdata.tuples import WITHOUT_TIMES
from tasks.request.load import load_request
from tasks.request.model import ReleaseRequest
from tests.support.good_request import GOOD

DAYS = ["2031-05-17", "2031-05-18", "2031-06-01", "2030-05-17", pd.NA, "2030-05-17"]
PATIENTS = ["a", "a", "b", "c", "c", "c"]


def asked(tmp_path: Path, terms: str) -> ReleaseRequest:
    text = GOOD.replace("  record_id: record_id\n", "  record_id: patient\n  person: patient\n")
    text = text.replace(
        "  record_id: {role: direct identifier}\n",
        f"  patient: {{role: direct identifier}}\n  day: {{role: insensitive, of: row, {terms}}}\n",
    )
    path = tmp_path / "request.yaml"
    path.write_text(text, encoding="utf-8")
    return load_request(path).request


def released(request: ReleaseRequest) -> list[object]:
    frame = pd.DataFrame({"patient": PATIENTS, "day": DAYS}, dtype="string")
    return [None if pd.isna(one) else one for one in at_released_levels(frame, request)["day"]]


MONTHS = "hierarchy: {prefixes: {keep: [7, 4], mask: ''}}"
CALENDAR = "hierarchy: {dates: {minimum: 2030-01-01, maximum: 2039-12-31, levels: [month, quarter, year]}}"


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        (f"{MONTHS}, level: 0", ["2031-05-17", "2031-05-18", "2031-06-01", "2030-05-17", None, "2030-05-17"]),
        (f"{MONTHS}, level: 1", ["2031-05", "2031-05", "2031-06", "2030-05", None, "2030-05"]),
        (f"{MONTHS}, level: 2", ["2031", "2031", "2031", "2030", None, "2030"]),
        (f"{MONTHS}, level: 2, least_people: 2", ["2031", "2031", "2031", "*", None, "*"]),
        (f"{CALENDAR}, level: 2", ["2031-Q2", "2031-Q2", "2031-Q2", "2030-Q2", None, "2030-Q2"]),
        (f"{MONTHS}, level: 3", ["*", "*", "*", "*", None, "*"]),
    ],
)
def test_values_leave_at_their_level_and_rare_ones_as_the_top(
    tmp_path: Path, terms: str, expected: list[str | None]
) -> None:
    """2031 is of two patients, in three rows; 2030 of one patient in two."""
    assert released(asked(tmp_path, terms)) == expected


def test_a_level_that_the_hierarchy_lacks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HierarchyError, match="no such level") as caught:
        released(asked(tmp_path, f"{MONTHS}, level: 4"))
    assert (caught.value.where, caught.value.got) == ("attributes.day.level", "4")


def test_a_value_outside_the_hierarchy_is_named_by_its_row(tmp_path: Path) -> None:
    groups = "hierarchy: {groups: {levels: [{spring: ['2031-05-17', '2031-05-18', '2031-06-01']}]}}, level: 1"
    with pytest.raises(DataError) as caught:
        released(asked(tmp_path, groups))
    assert "column day" in caught.value.where
    assert caught.value.got == "2 rows with other values"
    assert "2030" not in str(caught.value)
    timed = pd.DataFrame({"patient": ["a"], "day": ["2031-05-17 16:33:00"]}, dtype="string")
    with pytest.raises(DataError) as caught:
        at_released_levels(timed, asked(tmp_path, f"{CALENDAR}, level: 2"))
    assert caught.value.fix == WITHOUT_TIMES


def test_microdata_are_read_at_released_levels(tmp_path: Path) -> None:
    request = asked(tmp_path, f"{MONTHS}, level: 1")
    columns = {name: ["1", "1"] for name in request.attributes}
    pd.DataFrame({**columns, "day": ["2031-05-17", "2030-05-17"]}).to_csv(tmp_path / "data.csv", index=False)
    assert list(read_microdata(tmp_path / "data.csv", request)["day"]) == ["2031-05", "2030-05"]

"""Offsets by hand, and columns of dates as they leave."""

import hmac
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tasks.core.errors import DataError
from tasks.dates.offsets import offset_key, offsets
from tasks.dates.released_dates import MISSING, released_dates, written_days
from tasks.request.model import Attribute, ReleaseRequest

KEY = bytes(range(32))
SHIFT = {"shift": "person", "days": 2}


def request_of(**attributes: dict[str, Any]) -> ReleaseRequest:
    """A request as far as dates ask: its attributes, people named by ``id``."""
    given = {"id": {"role": "direct identifier"}, **attributes}
    return ReleaseRequest.model_construct(
        attributes={name: Attribute.model_validate(one) for name, one in given.items()},
        dataset=_Dataset(person="id", record_id="id", path="visits.csv"),
    )


class _Dataset:
    def __init__(self, **terms: str) -> None:
        vars(self).update(terms)


def dates(**terms: Any) -> dict[str, Any]:
    return {"role": "insensitive", "type": "date", "of": "row", "date": terms}


def frame(**columns: list[str | None]) -> pd.DataFrame:
    return pd.DataFrame(columns, dtype="string")


def by_hand(person: str, days: int, turn: int = 0) -> int:
    token = hmac.digest(KEY, f"{turn}\0{person}".encode(), "sha256")
    return int.from_bytes(token[:8]) % (2 * days + 1) - days


def test_offsets_follow_from_key_and_name_alone() -> None:
    names = [f"P{number}" for number in range(50)]
    found = offsets(names, KEY, 30)
    assert found.tolist() == [by_hand(name, 30) for name in names]
    assert offsets(names[::-1], KEY, 30).tolist() == found.tolist()[::-1]
    assert offsets(names, bytes(32), 30).tolist() != found.tolist()


def test_offsets_are_uniform() -> None:
    counts = np.bincount(offsets([str(number) for number in range(70_000)], KEY, 3) + 3)
    assert len(counts) == 7
    assert np.abs(counts - 10_000).max() < 400  # more than four standard deviations


def test_not_everybody_has_the_offset_0() -> None:
    alone = next(name for name in map(str, range(100)) if by_hand(name, 1) == 0 and by_hand(name, 1, turn=1) != 0)
    assert offsets([alone], KEY, 1).tolist() == [by_hand(alone, 1, turn=1)]
    other = next(name for name in map(str, range(100)) if by_hand(name, 1))
    assert offsets([alone, other], KEY, 1).tolist()[0] == 0
    assert offsets([], KEY, 1).tolist() == []


def test_keys_are_of_recipient_identifier_and_days(tmp_path: Path) -> None:
    key_file = tmp_path / "key"
    key_file.write_bytes(KEY)
    one, more = (request_of(seen=dates(shift="person", days=days)) for days in (2, 3))
    named = request_of(
        id={"role": "pseudonym", "pseudonym": {"identifier": "patient"}}, seen=dates(shift="person", days=2)
    )
    keys = [offset_key(key_file, *terms) for terms in ((one, "a"), (one, "b"), (more, "a"), (named, "a"))]
    assert len(set(keys)) == 4
    assert offset_key(key_file, one, "a") == keys[0]


def test_shifted_dates_keep_intervals_and_form_and_missing_ones_stay_missing() -> None:
    request = request_of(seen=dates(**SHIFT), left=dates(**SHIFT))
    seen = ["2024-02-28T00:00:00", None, "2023-12-31T00:00:00", "2024-02-28T00:00:00"]
    left = ["2024-03-01", "2024-01-01", None, "2024-02-29"]
    made = released_dates(request, frame(id=["a", "b", "a", "b"], seen=seen, left=left), KEY)
    a, b = (by_hand(name, 2) for name in "ab")
    day = np.datetime64
    texts = made.columns["seen"].text
    assert texts[0] == f"{day('2024-02-28') + a}T00:00:00"
    assert pd.isna(texts[1])
    assert made.columns["left"].text[0] == str(day("2024-03-01") + a)
    assert pd.isna(made.columns["left"].text[2])
    assert made.offsets.tolist() == [a, b]
    assert made.person_of_row.tolist() == [0, 1, 0, 1]
    assert written_days([str(texts[0])], relative=False).tolist() == [int(made.columns["seen"].released[0])]


def test_relative_dates_count_from_the_event_and_may_be_negative() -> None:
    request = request_of(
        born={"role": "direct identifier", "type": "date"},
        seen=dates(relative_to="born"),
    )
    born = ["2024-02-28", "2024-02-28", None]
    made = released_dates(
        request, frame(id=["a", "a", "b"], born=born, seen=["2024-03-01", "2024-02-27", "2024-01-01"]), KEY
    )
    assert made.columns["seen"].text.tolist()[:2] == ["2", "-1"]
    assert made.columns["seen"].released.tolist() == [2, -1, MISSING]
    assert made.index_days is not None
    assert (made.index_days == MISSING).tolist() == [False, False, True]


@pytest.mark.parametrize(
    ("cells", "rows"),
    [
        (["2024-02-30", "2024-01-01", "2024-01-01"], "row 1"),
        (["2024-01-01", "Qx7", "2024-01-01"], "row 2"),
        (["2024-01-01", "2024-01-01", "2024-01-01T08:15:00"], "row 3"),
    ],
)
def test_cells_that_are_no_days_of_one_form_are_named_by_position_alone(cells: list[str | None], rows: str) -> None:
    with pytest.raises(DataError) as caught:
        released_dates(request_of(seen=dates(**SHIFT)), frame(id=["a", "b", "c"], seen=cells), KEY)
    assert rows in caught.value.where
    assert "column seen" in caught.value.where
    assert not any(str(cell) in str(caught.value) for cell in cells)


def test_a_day_at_the_end_of_the_calendar_is_refused() -> None:
    late = next(name for name in map(str, range(100)) if by_hand(name, 2) > 0)
    with pytest.raises(DataError, match="years 1 to 9999"):
        released_dates(request_of(seen=dates(**SHIFT)), frame(id=[late], seen=["9999-12-31"]), KEY)

"""Shifted dates of several tables: one offset a person over all of them, and days since an event of another table."""

from pathlib import Path

import numpy as np
import pandas as pd

from tasks.assessments.dates.histories import Histories
from tasks.dates.released_dates import MISSING, released_dates
from tasks.microdata.joined import joined
from tasks.request.load import load_request
from tests.assessments.events.test_events_of_tables import REQUEST, text

DATED = {
    "      ward: {role: insensitive}\n": "      ward: {role: insensitive, known_probability: 0}\n"
    "      admitted: {role: insensitive, type: date, date: {shift: person, days: 30}}\n",
    "      test: {role: insensitive}\n": "      test: {role: insensitive, known_probability: 0}\n"
    "      taken: {role: insensitive, type: date, date: {relative_to: visits.admitted}}\n"
    "      read: {role: insensitive, type: date, date: {shift: person, days: 30}}\n",
    'version: "1", presence: known}': 'version: "1", presence: known, gates: '
    "[{measure: transparent.maximum_risk, at_most: 1, because: test}, "
    "{measure: dates.linked_share, at_most: 1, because: test}]}",
}


def day(text_of_day: str) -> int:
    return int(np.datetime64(text_of_day, "D").astype(np.int64))


def test_one_shift_for_all_tables_and_days_since_the_visit_around(tmp_path: Path) -> None:
    document = REQUEST
    for old, new in DATED.items():
        assert old in document
        document = document.replace(old, new)
    path = tmp_path / "request.yaml"
    path.write_text(document)
    request = load_request(path).request
    tables: dict[str | None, pd.DataFrame] = {
        None: text(patient=["p0", "p1"], sex=["F", "M"]),
        "visits": text(
            patient=["p0", "p1", "p0"],
            visits__visit=["v0", "v1", "v2"],
            visits__ward=["a", "a", "b"],
            visits__admitted=["2024-01-10", "2024-03-01", "2024-06-30"],
            visits__diagnosis=["flu"] * 3,
        ),
        "labs": text(
            patient=["p0", "p1", "p0"],
            visits__visit=["v2", "v1", None],
            labs__test=["x", "x", "y"],
            labs__taken=["2024-07-02", "2024-03-01", "2024-08-01"],
            labs__read=["2024-07-03", "2024-03-05", None],
        ),
        "notes": text(patient=["p1"], visits__visit=["v1"], notes__mood=["glad"]),
    }
    frame = joined(tables, request)
    dates = released_dates(request, frame, b"k" * 32)
    first, second = dates.offsets
    admitted, taken, read = (dates.columns[name].released for name in ("visits.admitted", "labs.taken", "labs.read"))
    assert admitted[2:5].tolist() == [
        day("2024-01-10") + first,
        day("2024-03-01") + second,
        day("2024-06-30") + first,
    ]
    assert read[5:8].tolist() == [day("2024-07-03") + first, day("2024-03-05") + second, MISSING]
    assert taken[5:8].tolist() == [2, 0, MISSING]
    assert (taken[:5] == MISSING).all()
    rows = np.arange(len(frame))
    released = {name: column.released for name, column in dates.columns.items()}
    histories = Histories.of(request, dates, released, rows=rows, persons=dates.person_of_row, people=2)
    # A visit's date counts once, however many rows are within it.
    assert histories.lengths.tolist() == [4, 3]

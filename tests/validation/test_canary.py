"""No value of the data leaves validation: canaries planted in bad rows of every kind are found nowhere."""

import logging
import re
import traceback

import numpy as np
import pandas as pd
import pytest

from reports.validation_page import render_validation_page
from tasks.core.canonical import canonical_json
from tasks.core.errors import StageFailed
from tasks.validation import run, tables
from tasks.validation.run import validate

ROWS = 24
CANARIES = {
    ("record_id", 1): "QUOLLid",
    ("record_id", 2): "QUOLLid",
    ("name", 3): "QUOLL Name",
    ("zip", 4): "QUOLL" * 2001,
    ("sex", 5): "QUOLL 219-09-9411",
    ("age_at_visit", 6): "QUOLL-age",
    ("age_at_visit", 7): "9411",
    ("weight", 8): "QUOLL kg",
    ("weight", 9): "2125559411",
    ("visit", 10): "QUOLL/03/2019",
    ("visit", 11): "9411-02-30",
    ("ward", 12): "QUOLL ward",
    ("note", 3): "about QUOLL Name, who",
    ("note", 13): "QUOLL@quoll.org",
    ("note", 14): "QUOLL call 555-9411",
    ("note", 15): "QUOLL from 10.94.11.1",
    ("note", 16): "https://quoll.org/QUOLL",
    ("note", 17): "QUOLL MRN 9411941",
    ("note", 18): "QUOLL on 5 March 1941",
}
QUOLL = re.compile("quoll|9411", re.IGNORECASE)
KINDS = {
    "population coverage",
    "unique",
    "present",
    "text length",
    "type",
    "range",
    "age",
    "calendar",
    "domain",
    "missing rate",
    "identifier in text",
    "email",
    "phone",
    "ssn",
    "ip",
    "url",
    "medical record number",
    "full date",
}


@pytest.fixture
def planted(frame_of, request_of):
    frame = frame_of(weight=[None] * 12 + ["70"] * 12)
    for (column, row), cell in CANARIES.items():
        frame.loc[row, column] = cell
    frame.loc[20, "record_id"] = pd.NA
    frame.loc[21, "note"] = "person numbered21"
    return frame, request_of()


def test_no_result_log_page_or_stream_holds_a_value(planted, capfd, caplog):
    caplog.set_level(logging.DEBUG)
    outcome = validate(*planted, np.arange(ROWS) != 4)
    assert {check.id.split("/")[0] for check in outcome.fact.checks if not check.passed} == KINDS
    printed = capfd.readouterr()
    told = {
        "result": repr(outcome),
        "positions": repr(outcome.positions),
        "record": canonical_json(outcome.fact).decode().replace(outcome.fact.evidence_sha256, ""),
        "page": render_validation_page(outcome.fact, "Clinic").replace(outcome.fact.evidence_sha256, ""),
        "log": caplog.text + "".join(str(vars(record)) for record in caplog.records),
        "output": printed.out + printed.err,
    }
    told["result"] = told["result"].replace(outcome.fact.evidence_sha256, "")
    assert {name: QUOLL.findall(text) for name, text in told.items()} == {name: [] for name in told}


@pytest.mark.parametrize("broken", [(tables, "encode"), (tables, "read_numbers"), (tables, "named"), (run, "failing")])
def test_an_error_in_our_own_code_tells_nothing_either(planted, capfd, caplog, monkeypatch, broken):
    def quote(*given):
        raise ValueError(f"cannot convert {given}: {planted[0].to_string()}")

    monkeypatch.setattr(*broken, quote)
    caplog.set_level(logging.DEBUG)
    with pytest.raises(StageFailed) as caught:
        validate(*planted, np.ones(ROWS, dtype=np.bool_))
    error = caught.value
    assert (error.got, error.__context__, error.__cause__) == ("ValueError", None, None)
    printed = capfd.readouterr()
    told = [str(error), repr(error), *traceback.format_exception(error), caplog.text, printed.out, printed.err]
    assert QUOLL.findall("".join(told)) == []

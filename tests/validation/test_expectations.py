"""Great Expectations: asked for a yes or no, kept quiet, and never believed when it stumbles."""

import logging
import subprocess
import sys
import traceback
import warnings
from contextlib import suppress

import pandas as pd
import pytest

from tasks.core.errors import StageFailed
from tasks.validation.run import evaluate
from tasks.validation.suite import Check

CANARY = "CANARY41c"


def on_text(kind, expectation, field="text", **arguments):
    return Check(kind, kind, "column", field, expectation, arguments)


@pytest.fixture
def table(text):
    return pd.DataFrame({"text": text([CANARY, "b", "b"])})


def test_verdicts_are_matched_by_id_whatever_their_order(table):
    checks = [
        on_text("unique", "ExpectColumnValuesToBeUnique"),
        on_text("length", "ExpectColumnValueLengthsToBeBetween", max_value=20),
        on_text("match", "ExpectColumnValuesToNotMatchRegex", regex="^b"),
        on_text("present", "ExpectColumnValuesToNotBeNull"),
    ]
    verdicts = {check.id: verdict for check, verdict in zip(checks, (False, True, False, True), strict=True)}
    assert evaluate(table, checks) == verdicts
    assert evaluate(table, checks[::-1]) == verdicts


def test_a_share_of_failures_may_be_tolerated(text):
    table = pd.DataFrame({"text": text(["a", None, "c", "d"])})
    for mostly, passed in ((0.75, True), (0.76, False)):
        check = Check("present", "", "c", "text", "ExpectColumnValuesToNotBeNull", mostly=mostly)
        assert evaluate(table, [check]) == {check.id: passed}


@pytest.mark.parametrize(
    "check",
    [
        on_text("numbers in text", "ExpectColumnValuesToBeBetween", max_value=3),
        on_text("no such column", "ExpectColumnValuesToNotBeNull", field="absent"),
        on_text("no such type", "ExpectColumnValuesToBeLucky"),
        on_text("impossible", "ExpectColumnValuesToBeBetween", min_value=3, max_value=1),
        on_text("broken expression", "ExpectColumnValuesToNotMatchRegex", regex=f"({CANARY}"),
    ],
)
def test_an_expectation_that_stumbles_is_an_error_and_tells_nothing(table, check, capfd, caplog):
    caplog.set_level(logging.DEBUG)
    good = on_text("present", "ExpectColumnValuesToNotBeNull")
    with pytest.raises(StageFailed) as caught:
        evaluate(table, [good, check])
    error = caught.value
    assert error.exit_code == 3
    assert error.__context__ is None
    printed = capfd.readouterr()
    told = [str(error), repr(error), *traceback.format_exception(error), caplog.text, printed.out, printed.err]
    assert CANARY not in "".join(told)


def test_two_checks_with_one_id_are_an_error(table):
    twins = [on_text("present", "ExpectColumnValuesToNotBeNull"), on_text("present", "ExpectColumnValuesToNotBeNull")]
    with pytest.raises(StageFailed):
        evaluate(table, twins)


def test_it_is_silent_and_opens_no_connection(table, capfd, caplog, monkeypatch):
    import socket

    def refuse(*_):
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    caplog.set_level(logging.DEBUG)
    evaluate(table, [on_text("unique", "ExpectColumnValuesToBeUnique")])
    assert capfd.readouterr() == ("", "")
    assert [record.name for record in caplog.records if record.name.startswith("great_expectations")] == []
    logging.getLogger("great_expectations.core").error("a value")
    assert capfd.readouterr() == ("", "")


def test_it_leaves_warnings_as_they_were(table):
    show = warnings.showwarning
    evaluate(table, [on_text("unique", "ExpectColumnValuesToBeUnique")])
    assert warnings.showwarning is show


def test_it_leaves_the_library_as_it_was(table):
    import great_expectations as gx

    written = gx.expectations.expectation.Expectation.configuration
    for field in ("text", "absent"):
        with suppress(StageFailed):
            evaluate(table, [on_text("present", "ExpectColumnValuesToNotBeNull", field=field)])
        assert gx.expectations.expectation.Expectation.configuration is written


@pytest.mark.slow
def test_it_is_imported_only_when_it_is_asked():
    program = "import sys, tasks.validation.run; print('great_expectations' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"

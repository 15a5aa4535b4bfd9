"""Our own finding of failures, against hand-worked cases and against Great Expectations' verdicts."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.validation.run import evaluate, failing
from tasks.validation.suite import Check
from tests.support.examples import examples


def check(kind, field, expectation, **arguments):
    return Check(kind, kind, "column", field, expectation, arguments)


CHECKS = [
    check("match", "text", "ExpectColumnValuesToMatchRegex", regex=r"^[0-9]+\Z"),
    check("no match", "text", "ExpectColumnValuesToNotMatchRegex", regex="(?i)[^0-9A-Z]b"),
    check("set", "text", "ExpectColumnValuesToBeInSet", value_set=["a", "12", "$HOME"]),
    check("length", "text", "ExpectColumnValueLengthsToBeBetween", max_value=2),
    check("unique", "text", "ExpectColumnValuesToBeUnique"),
    check("present", "text", "ExpectColumnValuesToNotBeNull"),
    check("between", "number", "ExpectColumnValuesToBeBetween", min_value=0, max_value=2.5),
    check("at least", "number", "ExpectColumnValuesToBeBetween", min_value=1),
    check("below", "number", "ExpectColumnValuesToBeBetween", max_value=90, strict_max=True),
]


def test_each_type_fails_what_it_should(text):
    table = pd.DataFrame({"text": text(["12", "a b", "a", "12", None, "1\n"]), "number": [0, 2.5, 90, -1, np.nan, 1]})
    expected = {
        "match": [1, 2, 5],
        "no match": [1],
        "set": [1, 5],
        "length": [1],
        "unique": [0, 3],
        "present": [4],
        "between": [2, 3],
        "at least": [0, 3],
        "below": [2],
    }
    assert {one.kind: np.flatnonzero(failing(one, table)).tolist() for one in CHECKS} == expected


def test_a_column_that_must_not_leave_is_found(text):
    table = pd.DataFrame({"zip": text([]), "name": text([])})
    columns = Check(
        "columns",
        "",
        "",
        "",
        "ExpectTableColumnsToMatchSet",
        {"column_set": ["zip"], "exact_match": True},
    )
    assert failing(columns, table).tolist() == [False, True]
    assert evaluate(table, [columns]) == {columns.id: False}


def test_an_unknown_type_is_an_error(text):
    with pytest.raises(KeyError):
        failing(check("odd", "text", "ExpectColumnValuesToBeDecreasing"), pd.DataFrame({"text": text(["a"])}))


@pytest.mark.slow
@settings(max_examples=examples(10), deadline=None)
@given(
    st.lists(
        st.tuples(
            st.one_of(st.none(), st.sampled_from(["12", "12\n", "a", "é b", "3 B", "", "$HOME"])),
            st.sampled_from([0.0, 1.0, 2.5, 90.0, -7.0, np.nan]),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_great_expectations_passes_exactly_what_has_no_failure(rows):
    table = pd.DataFrame(
        {
            "text": pd.array([cell for cell, _ in rows], dtype=pd.StringDtype("pyarrow")),
            "number": [number for _, number in rows],
        }
    )
    assert evaluate(table, CHECKS) == {one.id: not failing(one, table).any() for one in CHECKS}

"""Changes to the text of a request: comments, order and style stay, and the values are those that were asked for."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.studio.quick import changed
from tasks.core.errors import BadInput, RequestError
from tasks.request.document import read_document
from tasks.request.edit import edited, reasons

TEXT = """\
# A request.
title: # fill in: a few words
recipients: # one item for each
  - id: # fill in: short name
    # the terms follow
    stakes: {benefit: 1200, loss: 300}   # in one currency
attributes:
  age: {role: quasi-identifier, type: integer} # “age” in its name
  note: {role: unreviewed}
"""


def test_only_what_is_asked_for_changes() -> None:
    changes = {
        ("title",): "Visits",
        ("recipients", 0, "id"): "registry",
        ("recipients", 0, "stakes", "loss"): 250,
        ("recipients", 0, "agreement", "penalty"): 2000,
        ("attributes", "age", "hierarchy"): {"intervals": {"widths": [5, 10]}},
        ("attributes", "age", "type"): None,
    }
    assert edited(TEXT, changes) == (
        "# A request.\n"
        "title: Visits\n"
        "recipients: # one item for each\n"
        "  - id: registry\n"
        "    # the terms follow\n"
        "    stakes: {benefit: 1200, loss: 250} # in one currency\n"
        "    agreement:\n"
        "      penalty: 2000\n"
        "attributes:\n"
        "  age: {role: quasi-identifier, hierarchy: {intervals: {widths: [5, 10]}}} # “age” in its name\n"
        "  note: {role: unreviewed}\n"
    )


def test_an_item_is_added_behind_the_last_and_removed() -> None:
    more = edited(TEXT, {("recipients", 1): {"id": "second"}})
    assert read_document(more).data["recipients"][1] == {"id": "second"}
    assert read_document(edited(more, {("recipients", 0): None})).data["recipients"] == [{"id": "second"}]


def test_a_text_that_reads_as_a_number_stays_text() -> None:
    assert read_document(edited(TEXT, {("title",): "1200"})).data["title"] == "1200"


@pytest.mark.parametrize("text", ["a: [1", "just text", "title: {a: 1}\ntitle: {a: 2}"])
def test_what_is_no_request_is_refused_without_its_text(text: str) -> None:
    with pytest.raises(RequestError, match="cannot be changed") as refused:
        edited(text, {("title", "a"): "x"})
    assert "just text" not in str(refused.value)


def test_a_place_within_a_single_value_is_refused() -> None:
    with pytest.raises(RequestError):
        edited("title: Visits\n", {("title", "words"): "x"})


TWO_LINES = """\
attributes:
  age: {role: quasi-identifier, safe_harbor: age, # “age”; 77 values
      hierarchy: {intervals: {minimum: 0, maximum: 99, widths: [5, 10]}}}
  text: |
    a: {b, # no comment
      c}
"""


def test_a_reason_within_a_column_stays_with_it() -> None:
    assert reasons(TWO_LINES) == reasons(edited(TWO_LINES, {("attributes", "age", "role"): "sensitive"}))
    one_line = TWO_LINES.split("  text:", maxsplit=1)[0]
    assert reasons(one_line) == {"age": "“age”; 77 values"}
    assert edited(one_line, {("attributes", "age", "hierarchy"): None}) == (
        "attributes:\n  age: {role: quasi-identifier, safe_harbor: age} # “age”; 77 values\n"
    )
    kept = read_document(edited(TWO_LINES, {("title",): "x"})).data["attributes"]["text"]
    assert kept == "a: {b, # no comment\n  c}\n", "text is no comment"


ABOVE = """\
attributes: # the columns
  id: {role: direct identifier} # “id”
  # “sex”, label; 2 values
  x1: {role: quasi-identifier, type: integer, description: "sex of the patient",
      hierarchy: {file: hierarchy-x1.csv}}
  q1: {role: unreviewed}
    # of nothing
  q2: {role: unreviewed}
  # it seems to hold names
  # (2 % of its cells)
  note: {role: direct identifier}
"""


def test_a_reason_above_a_column_is_of_that_column() -> None:
    note = "it seems to hold names (2 % of its cells)"
    assert reasons(ABOVE) == {"id": "“id”", "x1": "“sex”, label; 2 values", "note": note}
    changed = edited(ABOVE, {("attributes", "x1", "role"): "sensitive"})
    assert reasons(changed) == reasons(ABOVE)


def test_the_reason_of_each_column_is_its_comment() -> None:
    assert reasons(TEXT) == {"age": "“age” in its name"}
    assert reasons("attributes: 7") == reasons("[") == {}


SCALARS = st.one_of(st.text("ab1 :#'\"\n", max_size=6), st.integers(-5, 5), st.booleans(), st.floats(0, 1))
NAMES = st.sampled_from(["title", "stakes", "age", "new"])


@given(st.dictionaries(st.lists(NAMES, min_size=1, max_size=2).map(tuple), SCALARS, max_size=3))
def test_the_text_has_the_values_that_a_change_of_values_gives(changes: dict[Any, Any]) -> None:
    """The independent way: change plain values, and compare with those of the changed text."""
    data = read_document(TEXT).data
    try:
        expected = changed(data, changes)
    except BadInput:
        with pytest.raises(RequestError):
            edited(TEXT, changes)
        return
    assert read_document(edited(TEXT, changes)).data == expected

"""What the checks look at: distinct values read by type, and facts about records."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.request.model import ValueType
from tasks.validation.tables import FileTables, SoughtNames, copied, named
from tasks.validation.values import encode, read_ages, read_days, read_numbers
from tests.support.examples import examples
from tests.support.tiny import tiny_request

CELLS = st.lists(st.one_of(st.none(), st.sampled_from(["a", "b", "", "c d"])), min_size=1, max_size=12)


@settings(max_examples=examples(40), deadline=None)
@given(CELLS)
def test_distinct_values_and_codes_give_the_column_back(cells):
    encoded = encode(pd.Series(pd.array(cells, dtype=pd.StringDtype("pyarrow"))))
    values = encoded.values.tolist()
    assert [None if code < 0 else values[code] for code in encoded.codes] == cells
    assert max(Counter(values).values(), default=1) == 1
    mask = np.array([value == "a" for value in values], dtype=np.bool_)
    assert encoded.on_records(mask).tolist() == [cell == "a" for cell in cells]


def test_whole_numbers_stay_whole_only_where_all_can_be_read(text):
    assert read_numbers(text(["007", "+5", "-3"]), ValueType.INTEGER).tolist() == [7, 5, -3]
    assert read_numbers(text(["007", "+5"]), ValueType.INTEGER).dtype == np.int64
    mixed = read_numbers(text(["7", "seven", "7.0"]), ValueType.INTEGER)
    assert mixed.dtype == np.float64
    assert mixed.isna().tolist() == [False, True, True]
    assert len(read_numbers(text([]), ValueType.INTEGER)) == 0


def test_numbers_are_read_as_written(text):
    numbers = read_numbers(text(["5.", ".5", "-.5", "+1e3", "1E-5", "nan", "inf", "1,5"]), ValueType.NUMBER)
    assert numbers.tolist()[:5] == [5.0, 0.5, -0.5, 1000.0, 1e-5]
    assert numbers.isna().tolist()[5:] == [True, True, True]


def test_days_must_exist(text):
    days = read_days(text(["2019-02-28", "2019-02-29", "2020-02-29", "1900-02-29", "9999-12-31T23:59", "2019-2-1"]))
    assert days.isna().tolist() == [False, True, False, True, False, True]


@pytest.mark.parametrize(
    ("cell", "age"),
    [
        ("89", 89),
        ("90", 90),
        ("104 years", 104),
        ("85-95", 95),
        ("89.5", 89.5),
        ("age: 93.", 93),
        ("90+", None),
        ("90 or older", None),
        ("90 and over", None),
        (">89", None),
        ("≥90", None),
        ("over 89", None),
        ("born 1931", None),
        ("unknown", None),
    ],
)
def test_ages_in_text(text, cell, age):
    read = read_ages(text([cell]), ValueType.TEXT)[0]
    assert (None if np.isnan(read) else read) == age


def test_a_copy_is_told_record_by_record(text):
    cells = text(["P1", "P2", None, "P4", "x"])
    identifiers = [text(["P1", "P9", "P3", None, "y"]), text(["a", "b", "c", None, "x"])]
    np.testing.assert_array_equal(copied(cells, identifiers), [1, 0, np.nan, np.nan, 1])


@pytest.mark.parametrize(
    ("cell", "identifier", "found"),
    [
        ("saw JOHN Smith today", "John Smith", True),
        ("Lee.", "lee", True),
        ("leech, then Lee", "Lee", True),
        ("leech", "Lee", False),
        ("patient 1234567 came", "1234567", True),
        ("patient 12345678 came", "1234567", False),
        ("room 1234", "1234", False),
        ("at al", "al", False),
        ("12.5.1990 noted", " 12.5.1990 ", True),
        (None, "John", False),
        ("John", None, False),
    ],
)
def test_an_identifier_in_text_is_found_where_it_stands_alone_and_is_distinctive(text, cell, identifier, found):
    assert named(text([cell]), [SoughtNames.of(text([identifier]))]).tolist() == [int(found)]


def test_only_the_records_own_identifier_counts(text):
    assert named(
        text(["asked for Miller", "asked for Miller"]), [SoughtNames.of(text(["Baker", "Miller"]))]
    ).tolist() == [0, 1]


@pytest.mark.parametrize("dtype", ["str", "category"])
@pytest.mark.parametrize(
    ("terms", "sought"),
    [
        ({"role": "direct identifier", "type": "number"}, {"0.0", *(f"{month / 2}" for month in range(60))}),
        ({"role": "withheld", "type": "number"}, None),
        ({"role": "withheld"}, {f"{month / 2}" for month in range(1, 60)}),
    ],
    ids=["an identifier", "a number that is withheld", "text that is withheld"],
)
def test_measured_numbers_and_values_of_many_are_not_sought_where_they_are_withheld(tmp_path, terms, sought, dtype):
    """Months of 600 people, of whom 541 have none: 5 % are 30."""
    months = [f"{month / 2}" for month in range(60)] + ["0.0"] * 540
    request = tiny_request(tmp_path, lambda document: document["attributes"].update(months=terms)).request
    names = {name: [f"{name}{row}" for row in range(600)] for name in request.attributes}
    frame = pd.DataFrame(names | {"months": months}, dtype="str")
    frame["months"] = frame["months"].astype(dtype)
    found = FileTables(frame, request, np.ones(600, dtype=np.bool_)).identifiers
    others = [one for one in found if one.name != "months"]
    assert [one.name for one in others] == ["id"]
    assert [set(one.dropna()) for one in found if one.name == "months"] == ([sought] if sought else [])


def test_a_withheld_column_of_two_values_names_nobody(tmp_path):
    """Also where few values are coded: what is worked out of each of them is then coded too."""
    terms = {"role": "withheld", "type": "integer"}
    request = tiny_request(tmp_path, lambda document: document["attributes"].update(flag=terms)).request
    names = {name: [f"{name}{row}" for row in range(60)] for name in request.attributes}
    frame = pd.DataFrame(names | {"flag": ["0"] * 58 + ["1"] * 2}, dtype="str")
    frame["flag"] = frame["flag"].astype("category")
    found = FileTables(frame, request, np.ones(60, dtype=np.bool_)).identifiers
    assert [one.name for one in found] == ["id"]

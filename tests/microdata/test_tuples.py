"""Distinct tuples and their codes; what is missing or outside a hierarchy is named by column and row."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.core.errors import BadInput, DataError
from tasks.core.plural import plural
from tasks.microdata.build import from_intervals
from tasks.microdata.hierarchy import Hierarchy, hierarchy_from_rows
from tasks.microdata.tuples import WITHOUT_TIMES, check_cells, distinct_tuples, encode, leaf_keys, radix_strides
from tasks.request.hierarchy_source import IntervalLevels
from tests.support.examples import examples
from tests.support.silence import CANARY, assert_silent


def flat(name: str, leaves: list[str]) -> Hierarchy:
    return hierarchy_from_rows(name, [[leaf, "*"] for leaf in leaves], "test")


AGE, SEX = flat("age", ["30", "31", "32"]), flat("sex", ["F", "M"])
TREES = {"age": AGE, "sex": SEX}


def frame(ages: list[str | None], sexes: list[str | None]) -> pd.DataFrame:
    text = pd.StringDtype("pyarrow")
    return pd.DataFrame({"sex": pd.array(sexes, dtype=text), "age": pd.array(ages, dtype=text)})


def test_encode_by_hand() -> None:
    codes = encode(frame(["31", "30", "31"], ["M", "F", "M"]), TREES, "data.csv")
    assert codes.dtype == np.int32
    assert codes.tolist() == [[1, 1], [0, 0], [1, 1]]
    assert encode(frame([], []), TREES, "data.csv").shape == (0, 2)


def test_a_missing_value_is_named_by_column_and_rows() -> None:
    table = frame(["31", None, "30", None], ["M", CANARY, "F", "F"])
    with pytest.raises(DataError, match="missing values") as caught:
        encode(table, TREES, "data.csv")
    assert caught.value.where == "data.csv, column age, rows 2, 4"
    assert caught.value.got == "2 without"
    assert_silent(caught.value)


def test_a_value_outside_the_hierarchy_is_named_by_column_and_rows() -> None:
    table = frame(["31", "30", "30", "30"], ["M", CANARY, "F", "unheard of"])
    with pytest.raises(DataError, match="missing from a hierarchy") as caught:
        encode(table, TREES, "data.csv")
    assert caught.value.where == "data.csv, column sex, rows 2, 4"
    assert caught.value.got == "2 other values in 2 records"
    assert_silent(caught.value)
    assert "unheard of" not in str(caught.value)


@pytest.mark.parametrize(
    ("sexes", "said"),
    [
        ([" F", "M "], "; they differ by spaces around them"),
        (["f", " M"], "; they differ by capital letters"),
        (["x"], ""),
    ],
)
def test_values_that_are_only_written_otherwise_are_told_so(sexes: list[str | None], said: str) -> None:
    ages: list[str | None] = ["30"] * len(sexes)
    with pytest.raises(DataError) as caught:
        encode(frame(ages, sexes), TREES, "data.csv")
    assert caught.value.got == f"{plural(len(sexes), 'other value')} in {plural(len(sexes), 'record')}{said}"
    assert caught.value.expected == "one of the 2 values of the hierarchy"
    with pytest.raises(DataError, match="differ by leading zeros"):
        encode(frame(["030"], ["F"]), TREES, "data.csv")


def test_values_outside_a_hierarchy_of_intervals_are_told_its_limits() -> None:
    ages = from_intervals("age", IntervalLevels(minimum=0, maximum=60, widths=(5, 10)))
    with pytest.raises(DataError) as caught:
        encode(frame(["61"], ["F"]), {"age": ages}, "data.csv")
    assert caught.value.expected == "a whole number from 0 to 60, as the hierarchy has them"
    assert "attributes.age.hierarchy" in caught.value.fix
    listed = hierarchy_from_rows("age", [["17", "17-90", "*"], ["90", "17-90", "*"]], "test")
    with pytest.raises(DataError, match="one of the 2 values of the hierarchy"):
        encode(frame(["61"], ["F"]), {"age": listed}, "data.csv")
    alone = hierarchy_from_rows("sex", [["F", "*"]], "test")
    with pytest.raises(DataError, match="the one value that it has"):
        encode(frame(["30"], ["M"]), {"sex": alone}, "data.csv")


def test_times_of_day_are_told_to_be_what_a_hierarchy_of_dates_lacks() -> None:
    days = hierarchy_from_rows("day", [["2024-05-17", "2024", "*"], ["2024-05-18", "2024", "*"]], "test")
    table = pd.DataFrame({"day": ["2024-05-17 16:33:00", "2024-05-18T09:24"]}, dtype="string")
    with pytest.raises(DataError, match="differ by times of day") as caught:
        encode(table, {"day": days}, "data.csv")
    assert caught.value.fix == WITHOUT_TIMES


def test_values_are_not_guessed_at() -> None:
    for value in ("30 ", " 30", "030", "30.0", "３０", "f"):
        with pytest.raises(DataError, match="missing from a hierarchy"):
            encode(frame([value], ["F"]), TREES, "data.csv")


def test_a_group_of_the_hierarchy_is_no_value() -> None:
    with pytest.raises(DataError, match="missing from a hierarchy"):
        encode(frame(["*"], ["F"]), TREES, "data.csv")


def test_only_the_first_rows_are_listed() -> None:
    with pytest.raises(DataError) as caught:
        encode(frame(["0"] * 9, ["F"] * 9), TREES, "data.csv")
    assert caught.value.where == "data.csv, column age, rows 1, 2, 3, 4, 5 and 4 more"
    assert caught.value.got == "1 other value in 9 records"


@settings(deadline=None, max_examples=examples(50))
@given(
    rows=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 1000)), max_size=30),
    weighted=st.booleans(),
)
def test_distinct_tuples_as_plain_counting(rows: list[tuple[int, int, int]], weighted: bool) -> None:
    codes = np.array([row[:2] for row in rows], dtype=np.int32).reshape(-1, 2)
    weights = np.array([row[2] for row in rows], dtype=np.int64)
    tuples, inverse = distinct_tuples(codes, [AGE, SEX], weights if weighted else None)
    expected: dict[tuple[int, ...], int] = {}
    for *code, weight in rows:
        expected[tuple(code)] = expected.get(tuple(code), 0) + (weight if weighted else 1)
    assert [tuple(code) for code in tuples.codes.tolist()] == sorted(expected)
    assert tuples.counts.tolist() == [expected[code] for code in sorted(expected)]
    np.testing.assert_array_equal(tuples.codes[inverse], codes)
    assert tuples.total == sum(expected.values())
    assert (np.diff(tuples.keys) > 0).all()
    np.testing.assert_array_equal(tuples.find(tuples.keys), np.arange(len(tuples)))


def test_keys_that_are_not_there_are_not_found() -> None:
    tuples, _ = distinct_tuples(np.array([[0, 1], [2, 0]], dtype=np.int32), [AGE, SEX])
    everything = np.array([[a, s] for a in range(3) for s in range(2)], dtype=np.int32)
    assert tuples.find(leaf_keys(everything, [AGE, SEX])).tolist() == [-1, 0, -1, -1, 1, -1]
    nothing, _ = distinct_tuples(np.empty((0, 2), dtype=np.int32), [AGE, SEX])
    assert nothing.find(np.array([0, 1])).tolist() == [-1, -1]


def test_strides_by_hand() -> None:
    assert radix_strides([3, 2, 5]).tolist() == [10, 5, 1]
    assert radix_strides([7]).tolist() == [1]


def test_more_combinations_than_numbers_are_refused() -> None:
    assert radix_strides([2**31, 2**30]).tolist() == [2**30, 1]
    for sizes in ([2**31, 2**31], [2**16] * 4, [1000] * 30):
        with pytest.raises(BadInput, match="more combinations than can be numbered") as caught:
            radix_strides(sizes)
        assert caught.value.where == f"{len(sizes)} quasi-identifiers"
    assert "2^62" in caught.value.expected


def test_many_quasi_identifiers_are_refused_before_anything_overflows() -> None:
    wide = [flat(f"q{number}", [str(value) for value in range(1000)]) for number in range(7)]
    with pytest.raises(BadInput, match="more combinations"):
        distinct_tuples(np.zeros((1, 7), dtype=np.int32), wide)


def test_cells_of_all_levels_are_bounded_before_anything_is_counted() -> None:
    """1,000 values and the top: 1001^6 < 2^62 < 1001^7. The widest are named, with what to do."""
    wide = {f"q{number}": flat(f"q{number}", [str(value) for value in range(1000)]) for number in range(7)}
    check_cells(dict(list(wide.items())[:6]))
    with pytest.raises(BadInput, match="more combinations than can be numbered") as caught:
        check_cells(wide)
    assert caught.value.got == "about 2^69"
    assert caught.value.fix.endswith("a narrower domain: q0 (1,000 values), q1 (1,000 values), q2 (1,000 values)")

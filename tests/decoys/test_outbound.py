"""The columns beside the quasi-identifiers, in numbers and back: what is a number, what a code, and what is refused."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tasks.core.errors import ParameterError
from tasks.decoys.records import (
    OutboundColumn,
    OutboundColumns,
    outbound_columns,
    refuse_own_values,
)
from tasks.decoys.value_grid import ValueKind
from tasks.decoys.value_model import draw_values
from tasks.masking.masked_columns import NOTHING_MASKED, MaskedColumns
from tasks.masking.microaggregation import Mdav
from tasks.request.model import ReleaseRequest
from tests.support.examples import examples
from tests.support.silence import CANARY, assert_silent
from tests.support.tiny import tiny_document

TEXT = pd.StringDtype("pyarrow")


def columns_of(texts: list[str | None], kind: str = "text", masked: MaskedColumns = NOTHING_MASKED) -> OutboundColumns:
    """The columns of a tiny request of which one, ``x``, holds some texts."""
    document = tiny_document()
    document["attributes"] |= {"x": {"role": "sensitive", "type": kind}}
    request = ReleaseRequest.model_validate(document)
    cells = {name: pd.array(["a"] * len(texts), dtype=TEXT) for name in request.attributes}
    return outbound_columns(pd.DataFrame(cells | {"x": pd.array(texts, dtype=TEXT)}), request, masked)


def column_of(texts: list[str | None], kind: str = "text") -> OutboundColumn:
    return columns_of(texts, kind).by_name["x"]


def test_quasi_identifiers_and_direct_identifiers_are_not_among_them() -> None:
    assert list(columns_of(["u", "v"]).by_name) == ["diagnosis", "x"]


@pytest.mark.parametrize(
    ("kind", "texts", "numbers"),
    [
        ("integer", ["7", "-2", None, "0"], [7, -2, np.nan, 0]),
        ("number", ["1.5", "2", "-0.25"], [1.5, 2, -0.25]),
        ("number", ["1.50", "2.00", "-0.25", None], [1.5, 2, -0.25, np.nan]),
        ("number", ["0.100", "12.000"], [0.1, 12]),
        ("number", ["1e+300", "1e-07"], [1e300, 1e-7]),
        ("date", ["1970-01-02", "1969-12-31", None, "2024-02-29"], [1, -1, np.nan, 19782]),
    ],
)
def test_numbers_and_dates_are_those_that_stand_there(kind: str, texts: list[str | None], numbers: list[float]) -> None:
    column = column_of(texts, kind)
    assert column.values.dtype == np.float64
    np.testing.assert_array_equal(column.values, numbers)
    assert column.write(column.values) == texts
    np.testing.assert_array_equal(column.read(texts), numbers)


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        ("text", ["3", "5"]),
        ("integer", ["007", "7"]),
        ("integer", ["9007199254740993", "1"]),
        ("integer", ["+5", "5"]),
        ("integer", ["-0", "5"]),
        ("integer", ["1_000", "5"]),
        ("number", ["1.50", "2.5"]),
        ("number", ["1.50", "2"]),
        ("number", ["nan", "2"]),
        ("number", ["inf", "2"]),
        ("number", [" 2", "3"]),
        ("number", ["1,5", "2"]),
        ("number", ["", "2"]),
        ("date", ["2024-02-30", "2024-02-28"]),
        ("date", ["2024-02", "2024-02-01"]),
        ("date", ["01.02.2024", "2024-02-01"]),
        ("date", ["20240201", "2024-02-01"]),
        ("date", ["NaT", "2024-02-01"]),
        ("date", ["today", "2024-02-01"]),
        ("date", ["", "2024-02-01"]),
    ],
)
def test_what_would_not_be_written_as_it_was_is_a_code(kind: str, texts: list[str | None]) -> None:
    column = column_of([*texts, None, texts[0]], kind)
    assert column.values.tolist() == [0, 1, 2, 0]
    assert column.values.dtype == np.int64
    assert column.write(column.values) == [*texts, None, texts[0]]


@pytest.mark.parametrize("kind", ["text", "integer", "number", "date"])
def test_a_column_without_any_value_is_missing_throughout(kind: str) -> None:
    column = column_of([None, None], kind)
    assert column.write(column.values) == [None, None]


def test_a_text_that_no_record_has_gets_a_code_of_its_own() -> None:
    column = column_of(["u", None, "v", "u"])
    known = {"u": 0, "v": 1, None: 2}
    read = column.read(["w", "v", "u", "z", None, "w", "None"])
    assert read.tolist()[1:3] == [1, 0]
    assert read[4] == known[None]
    own = {read[0], read[3], read[6]}
    assert len(own) == 3
    assert not own & set(known.values())
    assert read[5] == read[0]


def test_masked_columns_have_their_masked_values() -> None:
    """Whatever was collected: 41 was masked as 40, 2.50 as 0.1; nothing is missing."""
    masked = MaskedColumns(("x",), np.array([[41.0], [2.5]]), np.array([[40.0], [0.1]]), ())
    columns = columns_of(["41", "2.50"], "number", masked)
    assert columns.values["x"].tolist() == [40.0, 0.1]
    column = columns.by_name["x"]
    assert column.write(column.values) == ["40", "0.1"]
    assert columns.read([{"diagnosis": "a", "x": "7.25"}])["x"].tolist() == [7.25]


KINDS: dict[str, Any] = {
    "text": st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6),
    "integer": st.integers(-(10**18), 10**18).map(str) | st.sampled_from(["007", "-0", "1e3", "x"]),
    "number": st.floats(allow_nan=False).map(repr)
    | st.decimals(-9999, 9999, places=2).map(str)
    | st.integers(-50, 50).map(str),
    "date": st.dates().map(str) | st.sampled_from(["2024", "NaT", "soon"]),
}


@st.composite
def typed(draw: Any) -> tuple[str, list[str | None]]:
    kind = draw(st.sampled_from(sorted(KINDS)))
    return kind, draw(st.lists(st.none() | KINDS[kind], min_size=1, max_size=12))


@example(("integer", ["9007199254740993", "9007199254740992"]))
@example(("number", ["0.1", "0.10"]))
@example(("number", ["-0.0", "0.0"]))
@example(("date", ["0001-01-01", "9999-12-31", None]))
@given(typed())
@settings(max_examples=examples(120), deadline=None)
def test_every_text_comes_back(case: tuple[str, list[str | None]]) -> None:
    kind, texts = case
    columns = columns_of(texts, kind)
    column = columns.by_name["x"]
    assert column.write(column.values) == texts
    read = columns.read([{"diagnosis": "a", "x": text} for text in texts])["x"]
    np.testing.assert_array_equal(read, column.values)
    # Equal numbers are equal texts, but for a zero with and without a sign: nothing is merged that was apart.
    for one, first in zip(texts, read.tolist(), strict=True):
        for other, second in zip(texts, read.tolist(), strict=True):
            same = first == second or bool(np.isnan(first) and np.isnan(second))
            assert same is (one == other) or first == second == 0


@pytest.mark.parametrize("decimals", [0, 1, 6, 8, 12])
def test_decoys_are_written_with_no_more_decimals_than_real_records(decimals: int) -> None:
    """Else a glance at the digits would tell them, whatever their values."""
    generator = np.random.default_rng(decimals)
    numbers = np.round(generator.uniform(0, 1000, 300) if decimals else generator.integers(0, 10**6, 300), decimals)
    texts: list[str | None] = [str(int(x)) if x.is_integer() else np.format_float_positional(x) for x in numbers]
    column = column_of(texts, "number")
    drawn = draw_values({"x": column.values}, np.zeros((300, 1)), np.zeros((60, 1)), generator)["x"]
    written = [str(text).partition(".")[2] for text in column.write(drawn)]
    assert max(map(len, written)) <= decimals


def test_fixed_decimals_are_kept_by_decoys() -> None:
    column = column_of([f"{value:.2f}" for value in np.random.default_rng(1).uniform(0, 9, 200)], "number")
    drawn = draw_values({"x": column.values}, np.zeros((200, 1)), np.zeros((50, 1)), np.random.default_rng(2))
    assert {len(str(text).partition(".")[2]) for text in column.write(drawn["x"])} == {2}


@pytest.mark.parametrize(
    ("texts", "refused"),
    [
        ([str(number) for number in range(20)], False),
        ([str(number) for number in range(21)], True),
        ([f"v{number // 2}" for number in range(60)], False),
        ([f"v{number // 2}" for number in range(60)] + ["v30"], True),
        ([str(max(number, 29)) for number in range(60)], True),
        (["a"] * 60 + [str(number) for number in range(60)], True),
        (["a"] * 62 + [str(number) for number in range(60)], False),
        # Whoever has a text here has one of its own, however many have none.
        ([str(number) for number in range(40)] + [None] * 200, True),
        ([None] * 50, False),
    ],
)
def test_text_that_is_mostly_everybodys_own_is_refused(texts: list[str | None], refused: bool) -> None:
    columns = columns_of(texts)
    if not refused:
        refuse_own_values(columns)
        return
    with pytest.raises(ParameterError, match="column x") as caught:
        refuse_own_values(columns)
    known = [text for text in texts if text is not None]
    assert caught.value.got == f"{len(set(known))} different values in {len(known)} records"


@pytest.mark.parametrize("written", ["{:.0f}", "{:.2f}", "{:,.0f}", "{:,.2f}", "{:.2f},", "{:,.2f},"])
def test_numbers_in_text_that_recur_are_numbers_out_of_a_list(written: str) -> None:
    """In any usual notation, a comma at the end of the pattern being a decimal comma; codes and names are not."""
    draw = np.random.default_rng(3)
    numbers = draw.choice(np.round(draw.uniform(1, 9_999, 40), 2 if ".2" in written else 0), 200)
    texts: list[str | None] = [written.rstrip(",").format(number) for number in numbers.tolist()]
    if written.endswith(","):
        texts = [str(text).translate(str.maketrans(",.", ".,")) for text in texts]
    column = column_of([*texts, None])
    np.testing.assert_array_equal(column.values, [*numbers, np.nan])
    assert column.kind is ValueKind.LISTED
    assert column.write(column.values) == [*texts, None]
    np.testing.assert_array_equal(column.read(texts), numbers)
    padded = column_of([f"{int(number):07d}" for number in numbers.tolist()])
    assert padded.values.dtype == np.int64


def test_decoys_keep_to_sums_and_products_of_numbers_in_text() -> None:
    """A bill whose numbers are all text, with thousands apart; and the order of a part and its whole."""
    draw, n = np.random.default_rng(8), 1500
    room, drug, days = draw.integers(20, 80, n) * 25, draw.integers(1, 90, n) * 10, draw.integers(1, 40, n)
    numbers = {"room": room, "drug": drug, "days": days, "total": room + drug, "stay": days * 90}
    columns = {name: column_of([f"{value:,}" for value in values.tolist()]) for name, values in numbers.items()}
    assert {column.kind for column in columns.values()} == {ValueKind.LISTED}
    values = {name: column.values for name, column in columns.items()}
    kinds = {name: column.kind for name, column in columns.items()}
    made = draw_values(values, np.zeros((n, 1)), np.zeros((200, 1)), draw, kinds=kinds)
    texts = {name: columns[name].write(made[name]) for name in made}
    read = {name: np.array([int(str(text).replace(",", "")) for text in column]) for name, column in texts.items()}
    np.testing.assert_array_equal(read["room"] + read["drug"], read["total"])
    np.testing.assert_array_equal(read["days"] * 90, read["stay"])
    assert (read["room"] < read["total"]).all()


def test_a_refusal_shows_no_value() -> None:
    columns = columns_of([f"{CANARY} {number}" for number in range(30)])
    with pytest.raises(ParameterError) as caught:
        refuse_own_values(columns)
    assert_silent(caught.value)
    assert CANARY not in repr(columns)


def test_numbers_that_all_differ_are_not_refused() -> None:
    refuse_own_values(columns_of([str(number) for number in range(300)], "integer"))


@pytest.mark.parametrize(
    ("kind", "texts", "row"),
    [
        ("integer", ["5", "6"], {"diagnosis": "a", "x": CANARY}),
        ("date", ["2024-02-01", "2024-02-02"], {"diagnosis": "a", "x": CANARY}),
        ("text", ["u", "v"], {"diagnosis": CANARY}),
    ],
)
def test_decoys_of_another_version_that_do_not_fit_are_refused(
    kind: str, texts: list[str | None], row: dict[str, str | None]
) -> None:
    with pytest.raises(ParameterError, match="do not fit a column") as caught:
        columns_of(texts, kind).read([row])
    assert caught.value.where == "column x"
    assert_silent(caught.value)


def test_groups_of_equal_values_are_refused_beside_decoys() -> None:
    """MDAV with k = 15: a value in 16 records, or in one, is a decoy. Values shared by chance are no such groups."""
    generator = np.random.default_rng(2)
    values = np.round(generator.lognormal(6, 1, 615), 2)
    masked = Mdav(k=15).mask(values[:, None], generator).values
    groups = [str(value) for value in masked[:, 0].tolist()]
    with pytest.raises(ParameterError, match="groups of one size") as refusal:
        refuse_own_values(columns_of(groups, "number"))
    assert "column x" in refusal.value.where
    refuse_own_values(columns_of([str(value) for value in generator.integers(0, 40, 615)], "integer"))

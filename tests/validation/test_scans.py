"""Identifiers in any guise: decoding, numbering plans, check digits, names, words of the direct identifiers."""

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.request.model import PatternName, ValueType
from tasks.validation.names import names
from tasks.validation.readings import readable
from tasks.validation.repeated import identifier_words, repeated
from tasks.validation.scan import scan
from tasks.validation.values import encode
from tasks.validation.verified import MOST_TESTED, verified
from tasks.validation.words import split
from tests.support.examples import examples
from tests.support.labelled import shares


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("jane%40x.org", "jane@x.org"),
        ("&#74;ane &amp; co", "Jane & co"),
        (r"\u004aane \x44oe", "Jane Doe"),
        ("=4A=61ne", "Jane"),
        ("Ｊａｎｅ　１２", "Jane 12"),
        ("J\u200ba\u00adn\u2060e", "Jane"),
        ("٢١٩-٠٩-٩٩٩٩", "219-09-9999"),
        ("SmFuZSBEb2U=", "Jane Doe"),
        ("note SmFuZSwgRG9l end", "note Jane, Doe end"),
        ("U21GdVpTQkViMlU9", "Jane Doe"),
        ("%2531%2532", "12"),
    ],
)
def test_what_a_cell_stands_for_is_read_beside_it(written, read, text):
    assert readable(text([written])).tolist() == [f"{written}\n{read}"]


@pytest.mark.parametrize(
    "cell",
    ["plain", "100 % of AT&T", "550e8400-e29b-41d4-a716-446655440000", "HyperTension2A", r"C:\users", "a=b", None],
)
def test_what_stands_for_itself_is_left_as_it_is(cell, text):
    read = readable(text([cell]))[0]
    assert read is pd.NA if cell is None else read == cell


@pytest.mark.parametrize(
    ("kind", "cell"),
    [
        (PatternName.PHONE, "030 901820"),
        (PatternName.PHONE, "0171/1234567"),
        (PatternName.PHONE, "01 42 68 53 00"),
        (PatternName.PHONE, "020 7946 0958"),
        (PatternName.PHONE, "0049 30 901820"),
        (PatternName.PHONE, "07911123456"),
        (PatternName.PHONE, "Handy: 0151 23456789"),
        (PatternName.ACCOUNT_NUMBER, "DE89370400440532013000"),
        (PatternName.ACCOUNT_NUMBER, "DE89 3704 0044 0532 0130 00 paid"),
        (PatternName.ACCOUNT_NUMBER, "from gb82west12345698765432."),
        (PatternName.ACCOUNT_NUMBER, "4111 1111 1111 1111"),
        (PatternName.NATIONAL_ID, "2 95 10 99 126 111 93"),
        (PatternName.NATIONAL_ID, "DNI 12345678Z"),
        (PatternName.NATIONAL_ID, "756.9217.0769.85"),
        (PatternName.NATIONAL_ID, "811228-9874"),
        (PatternName.NATIONAL_ID, "RCCMNL83S18D969H"),
        (PatternName.NATIONAL_ID, "NHS 943 476 5919"),
        (PatternName.NATIONAL_ID, "AB123456C"),
    ],
)
def test_what_a_plan_or_check_digits_confirm_is_found(kind, cell, text):
    assert verified(text([cell]), kind).tolist() == [True]


@pytest.mark.parametrize(
    ("kind", "cell"),
    [
        (PatternName.PHONE, "0012345678"),
        (PatternName.PHONE, "05.03.2019"),
        (PatternName.PHONE, "0.2125550187"),
        (PatternName.PHONE, "09 99 99"),
        (PatternName.ACCOUNT_NUMBER, "DE88370400440532013000"),
        (PatternName.ACCOUNT_NUMBER, "4111 1111 1111 1112"),
        (PatternName.NATIONAL_ID, "2 95 10 99 126 111 94"),
        (PatternName.NATIONAL_ID, "12345678A"),
        (PatternName.NATIONAL_ID, None),
    ],
)
def test_what_they_contradict_is_left_alone(kind, cell, text):
    assert verified(text([cell]), kind).tolist() == [False]


def test_codes_that_pass_a_check_digit_by_chance_are_left_alone(text):
    codes = [f"{number:03d}-{number * 7 % 1000:03d}-{number * 13 % 1000:03d}" for number in range(100, 500)]
    assert not verified(text(codes), PatternName.NATIONAL_ID).any()


def test_past_the_most_that_are_tested_the_rest_counts_where_any_was_found(text):
    cells = [f"+49 30 {number}" for number in range(MOST_TESTED + 5)]
    assert not verified(text(cells[:5]), PatternName.PHONE).any()
    found = verified(
        text(["+49 30 901820", *(f"+49 30 {number:06d}" for number in range(MOST_TESTED + 5))]), PatternName.PHONE
    )
    assert found[-5:].all()


@pytest.mark.parametrize(
    "cell",
    [
        "John Smith",
        "seen by Maria Kowalczyk",
        "Smith, John",
        "JOHN SMITH",
        "John F. Kennedy",
        "her mother Anna",
        "Jürgen Müller",
    ],
)
def test_a_name_in_text_is_found_by_lists(cell, text):
    assert names(text([cell]), split(text([cell]))).tolist() == [True]


@pytest.mark.parametrize(
    "cell",
    [
        "Rose garden",
        "Grace Hospital",
        "Back Pain",
        "White Blood Cell",
        "San Antonio",
        "saw John. Then slept",
        "john smith",
        "May",
        None,
    ],
)
def test_what_only_looks_like_a_name_is_left_alone(cell, text):
    assert names(text([cell]), split(text([cell]))).tolist() == [False]


def test_a_column_of_names_is_found_with_those_that_no_list_has(text):
    kin = text(["Anna", "Peter", "Karl", "Thandiwe", "Olga", "none", None])
    assert names(kin, split(kin)).tolist() == [True] * 5 + [False] * 2
    race = text(["White", "Black", "Asian-Pac-Islander", "Other", "Amer-Indian-Eskimo", "Mixed"])
    assert not names(race, split(race)).any()


def in_file(text, identifiers, cells):
    encoded = encode(text(cells))
    known = identifier_words([text(column) for column in identifiers])
    return repeated(split(readable(encoded.values)), encoded.codes, known).tolist()


def test_words_of_the_own_and_of_any_other_record_are_found(text):
    people = [["Zoe Quill", "Ann Marchbanks", "Li Wei", "Uwe Öztürk"], ["004471234", "P0072X", "C3", "D4"]]
    cells = ["met MARCHBANKS", "nothing", "for Ozturk", "file 4471235"]
    assert in_file(text, people, cells) == [True, False, True, False]
    assert in_file(text, people, ["file 4471234", "p0072x", "Wei Li came", "Quill"]) == [True, True, True, True]


def test_an_ordinary_word_counts_only_for_its_bearer_and_beyond_chance(text):
    rows = 400
    families = ["White" if row % 100 == 0 else f"Fam{'abcdefghijklmnopqrst'[row % 20]}x{row}" for row in range(rows)]
    assert not any(in_file(text, [families], ["White" if row % 4 else "Black" for row in range(rows)]))
    own = in_file(text, [families], ["White" if row % 100 == 0 else "none" for row in range(rows)])
    assert [row for row in range(rows) if own[row]] == [0, 100, 200, 300]


def test_a_word_that_the_column_uses_in_small_letters_is_ordinary_and_a_rare_one_is_not(text):
    families = ["Zander", "Quell", *(f"Fam{row}" for row in range(98))]
    cells = [
        "Zander look" if row == 50 else f"Very zander, day {row % 7}" if row % 3 else "A quell" for row in range(100)
    ]
    assert not any(in_file(text, [families], cells)[row] for row in range(2, 100) if row % 3)
    assert in_file(text, [families], ["Zander came", *(["Nothing"] * 99)])[0]


def test_two_ordinary_words_side_by_side_are_a_name(text):
    assert in_file(text, [["May", "Rose"], ["Rose", "Hill"]], ["rose, may", "May rose"]) == [True, True]
    assert in_file(text, [["May", "Rose"], ["Rose", "Hill"]], ["in may", "a rose"]) == [False, False]


def test_numbers_count_together_and_not_by_coincidence(text):
    rows = 500
    ids = [str(10_000 + row) for row in range(rows)]
    assert not any(in_file(text, [ids], [str(10_000 + (row + 7) % rows) if row else "10000" for row in range(rows)]))
    assert all(in_file(text, [ids], [f"{10_000 + row}.0" for row in range(rows)]))


@pytest.mark.slow
@settings(max_examples=examples(30), deadline=None)
@given(st.lists(st.one_of(st.none(), st.text(max_size=40)), min_size=1, max_size=6))
def test_any_text_can_be_scanned(cells):
    column = pd.Series(pd.array(cells, dtype=pd.StringDtype("pyarrow")))
    assert {len(mask) for mask in scan(column, ValueType.TEXT).values()} == {len(cells)}
    encoded = encode(column)
    words = split(readable(encoded.values))
    assert len(repeated(words, encoded.codes, identifier_words([column, column]))) == len(cells)


RECALL = {"name in text": 0.9}
"""Least share of identifiers found, where it is not 0.97."""


@pytest.mark.slow
def test_what_is_found_in_a_labelled_file_and_what_is_taken_for_it():
    outcomes = shares(240)
    missed = {one.kind.name: one.found for one in outcomes if one.found < RECALL.get(one.kind.name, 0.97)}
    wrong = {one.kind.name: one.wrong for one in outcomes if one.wrong > 0.02}
    assert (missed, wrong) == ({}, {})

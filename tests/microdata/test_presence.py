"""Columns that tables of people have too: by hand, and against a count value by value."""

from math import log

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.microdata.presence import Domains, Naming, Presence, free_texts, names_own, namings, presences, same_domain
from tests.support.examples import examples

TOWNS = ("Ada", "Ayr", "Bly", "Coy", "Dix", "Eli", "Fay", "Guy", "Hay", "Ivy")
ZIPS = tuple(str(10_000 + 13 * number) for number in range(40))


def index(*values: str) -> pd.Index:
    return pd.Index(list(values))


def test_a_column_is_in_a_table_by_its_name_or_else_by_its_values() -> None:
    """A name is enough, whatever the values; of several columns with the values the first is named."""
    columns = {"zip": index("1"), "place": index(*TOWNS), "smoker": index("yes", "no"), "code": index(*ZIPS[:9])}
    tables: Domains = {
        "population": {
            "zip": index(*ZIPS),
            "town": index(*TOWNS),
            "home": index(*TOWNS),
            "vaccinated": index("yes", "no"),
        },
        "register": {"smoker": index("1", "0"), "town": index(*TOWNS[:4])},
    }
    found = list(presences(columns, tables))
    assert found == [
        Presence("zip", "population", "zip"),
        Presence("place", "population", "town"),
        Presence("code", "population", "zip"),
        Presence("smoker", "register", "smoker"),
    ]
    assert [one.by_name for one in found] == [True, False, False, True]


@pytest.mark.parametrize(
    ("values", "domain", "same"),
    [
        (TOWNS[:5], TOWNS, True),
        (TOWNS[:4], TOWNS, False),  # fewer than five in common
        ((*TOWNS[:9], "Xyz"), TOWNS, True),  # nine of ten
        ((*TOWNS[:8], "Xyz"), TOWNS, False),  # eight of nine
        (TOWNS, TOWNS[:5], False),
        (ZIPS[:6], ZIPS, True),  # each whole number is one by chance with 40/508: all six with 2.4e-7
        (ZIPS[:5], ZIPS, False),  # all five with 3.0e-6
        (tuple(str(age) for age in range(20, 60)), tuple(str(age) for age in range(90)), False),
        (tuple(f"{number / 8}" for number in range(9)), tuple(f"{number / 8}" for number in range(40)), False),
        (TOWNS[:5], (*TOWNS, "12"), True),  # one text, and the table's column is text
    ],
)
def test_a_domain_is_told_by_hand(values: tuple[str, ...], domain: tuple[str, ...], same: bool) -> None:
    assert same_domain(index(*values), index(*domain)) is same


WHOLE = st.lists(st.integers(0, 400).map(str), min_size=1, max_size=60, unique=True)
TEXTS = st.lists(st.sampled_from([*TOWNS, *"abcdefgh"]), min_size=1, max_size=18, unique=True)


@pytest.mark.slow
@given(st.data(), st.sampled_from([WHOLE, TEXTS]))
@settings(max_examples=examples(300), deadline=None)
def test_domains_are_those_of_a_count_value_by_value(data: st.DataObject, kind: "st.SearchStrategy[list[str]]") -> None:
    domain = data.draw(kind, label="domain")
    values = data.draw(st.one_of(kind, st.lists(st.sampled_from(domain), min_size=1, unique=True)), label="values")
    shared = sum(value in domain for value in values)
    expected = shared >= 5 and 10 * shared >= 9 * len(values)
    if expected and all(value.isdigit() for value in domain):
        numbers = sorted(map(int, domain))
        chance = 1.0
        for _ in range(shared):
            chance *= len(numbers) / (numbers[-1] - numbers[0] + 1)
        expected = chance <= 1e-6
    assert same_domain(index(*values), index(*domain)) is expected


PLACES = ["Southley", "Mill Wick", "Ayr", "Other"]


def naming(texts: list[str | None], towns: list[int]) -> list[Naming]:
    codes, values = pd.factorize(pd.Series(texts, dtype="object"))
    return list(
        namings(
            {"note": (codes, pd.Index(values))},
            {"town": (np.array(towns), {town: at for at, town in enumerate(PLACES)})},
        )
    )


def test_values_are_named_as_whole_words_of_the_records_that_have_them() -> None:
    """A town of a fourth of the records: 12 names of it are log(0.95 · 4) · 12 − 2 log 2 = 14.6 nats, 11 are 13.3."""
    towns = [0, 1, 2, 3] * 25
    own = [at for at in range(100) if towns[at] == 0]
    for text, number, found in (
        ("seen at SOUTHLEY, again", 12, True),
        ("seen at Southley", 10, False),
        ("seen at Southleys", 25, False),
    ):
        texts: list[str | None] = [text if at in own[:number] else None if at == 99 else "seen" for at in range(100)]
        assert naming(texts, towns) == ([Naming("note", "town")] if found else [])
    both: list[str | None] = [f"at {PLACES[town]}" if town < 2 and at < 40 else "seen" for at, town in enumerate(towns)]
    assert naming(both, towns) == [Naming("note", "town")]


def test_short_values_and_those_of_other_records_are_not_named() -> None:
    towns = [0, 1, 2, 3] * 25
    assert naming([f"at {PLACES[2]}" if town == 2 else "seen" for town in towns], towns) == []
    assert naming(["other service" if at % 5 else "sales" for at in range(100)], towns) == []
    assert naming([f"at {PLACES[(town + (at > 79)) % 4]}" for at, town in enumerate(towns)], towns) == []
    assert naming(["seen"] * 100, towns) == []


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=80))
def test_evidence_is_that_of_a_count_value_by_value(rows: list[tuple[int, int]]) -> None:
    """Text n names value n, if n is below 3."""
    gain = 0.0
    for value in range(3):
        share, of_it = sum(own == value for _, own in rows) / len(rows), [own for text, own in rows if text == value]
        have, ratio = sum(own == value for own in of_it), float("-inf")
        if of_it and 0 < share <= 0.8 and have >= 0.95 * len(of_it):
            ratio = have * log(0.95 / share) + (len(of_it) - have) * log(0.05 / (1 - share))
        gain += np.logaddexp(ratio, 0) - log(2)
    codes, own = (np.array(one) for one in zip(*rows, strict=True))
    named = np.array([[value, value] for value in range(3)])
    assert abs(gain - log(1e6)) < 1e-9 or names_own(codes, own, named, 4) == (gain >= log(1e6))


def test_three_sentences_of_one_record_each_make_a_column_free_text() -> None:
    """Among three hundred records of one sentence; two are too few, and so are three words, or two records of each."""
    template = ["no fever since the morning"] * 300
    own = ["came with his wife", "fell from the tower", "treated by the mayor"]

    def found(*cells: str | None) -> bool:
        codes, values = pd.factorize(pd.Series([*template, *cells], dtype="str"))
        return list(free_texts({"note": (codes, pd.Index(values))})) == ["note"]

    assert found(*own, None)
    assert not found(*own[:2])
    assert not found(*own[:2], "fell from tower")
    assert not found(*own, *own)

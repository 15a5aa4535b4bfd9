"""Text redacted: by hand, by a slow search for values, and without a planted identifier that remains."""

import re
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tasks.assessments.text.facts import TextFact
from tasks.core.errors import DataError
from tasks.redaction.columns import redacted
from tasks.redaction.entities import ENTITIES
from tasks.redaction.known import NOTHING_KNOWN, known_values
from tasks.redaction.redact import redact_texts
from tasks.redaction.tokens import Tokens
from tasks.request.model import Attribute, ReleaseRequest
from tests.support.examples import examples

COMMON = "The patient was seen in the clinic and has no complaint."
COLUMNS: dict[str, dict[str, Any]] = {
    "id": {"role": "direct identifier"},
    "name": {"role": "direct identifier"},
    "born": {"role": "direct identifier", "type": "date"},
    "race": {"role": "quasi-identifier", "hierarchy": {"prefixes": {"keep": [1]}}},
    "note": {"role": "text", "text": {"language": "en"}},
}


def asked(person: str | None = None) -> ReleaseRequest:
    """The parts of a request that redaction reads."""
    base = ReleaseRequest.model_construct
    attributes = {name: Attribute.model_validate(one) for name, one in COLUMNS.items()}
    dataset = type("Dataset", (), {"person": person, "path": "data.csv"})()
    policy = type("Policy", (), {"small_cell": 11})()
    return base(attributes=attributes, dataset=dataset, policy=policy)


def people(*rows: dict[str, str | None], filler: int = 40) -> pd.DataFrame:
    """Rows of a file, with common notes of others after them."""
    others = [{"id": f"X{number:05d}", "note": COMMON} for number in range(filler)]
    frame = pd.DataFrame([*rows, *others], columns=[*COLUMNS])
    return frame.astype(pd.StringDtype("pyarrow"))


def notes_of(frame: pd.DataFrame, request: ReleaseRequest | None = None) -> list[str | None]:
    texts = redacted(frame, request or asked()).texts["note"]
    return [None if pd.isna(one) else one for one in texts]


def plain(text: str) -> str:
    """A text redacted without any other column, among common ones."""
    texts = pa.array([text, *[COMMON] * 40], pa.large_string())
    return str(redact_texts(texts, np.arange(41), NOTHING_KNOWN, "en", 11).released[0].as_py())


@pytest.mark.parametrize(
    ("written", "left"),
    [
        ("Seen on 3/14/2024, call 615-555-0134.", "Seen on [DATE], [PHONE]."),
        ("mail jane.doe@example.org or see https://example.org/p/7 for it", "mail [EMAIL] or see [URL] for it"),
        ("is a 62-year-old with pain", "is a [AGE] with pain"),
        ("due March 3, and since May 2019.", "due [DATE], and since [DATE]."),
        ("(Dr. Kowalczyk) agreed", "([NAME]) agreed"),
        ("seen by John Smith and Maria today", "seen by [NAME] and [NAME] today"),
        ("lives at 12 Old Hickory Pike, Apt 4 now", "lives at [ADDRESS] now"),
        ("sample 00481516 taken", "sample [ID] taken"),
        ("J\u200bohn Sm\u00adith came", "[NAME] came"),
        ("for Sm9obiBTbWl0aA== here", "for [NAME] here"),
        ("at 120/80, pain 3/10, 55-60% and 500 mg", "at 120/80, pain 3/10, 55-60% and 500 mg"),
        ("two\n\nlines  here", "two\nlines here"),
        ("615-555-0134 615-555-0199", "[PHONE]"),
        ("a Zyxwort was in it", "a [RARE] was in it"),
        ("", ""),
    ],
)
def test_what_identifies_stands_as_its_kind(written: str, left: str) -> None:
    assert plain(written) == left


def test_values_of_every_row_are_sought_in_every_text() -> None:
    frame = people(
        {"id": "A-77-K", "name": "Rose Quillfeather", "born": "1950-03-14", "race": "Martian", "note": "it is fine"},
        {"id": "B1", "name": None, "born": None, "race": "Martian", "note": "of ROSE, quillfeather and of a77k: a77 K"},
        {"id": "C1", "name": None, "born": None, "race": None, "note": "she rose at 3/14 from the martian bed"},
        {"id": "D1", "name": "Will", "born": "1960-03-14", "race": None, "note": "she will be well at 3/14 or 14.3."},
        {"id": "E1", "name": None, "born": None, "race": None, "note": "it will do, said Will of a-77-k."},
    )
    assert notes_of(frame)[:5] == [
        "it is fine",
        "of [NAME] and of a77k: a77 K",
        "she rose at 3/14 from the [VALUE] bed",
        "she [NAME] be well at [DATE] or [DATE].",
        "it will do, said [NAME] of [ID].",
    ]


def test_a_person_is_named_by_the_identifiers_of_all_rows() -> None:
    rows = {"id": ["V1", "V2"], "name": ["Rose", "Lily"], "note": ["lily is in bed", "a rose is in it"]}
    frame = people(filler=40)
    visits = pd.DataFrame(rows, columns=[*COLUMNS]).astype(pd.StringDtype("pyarrow"))
    frame = pd.concat([visits.assign(born="P"), frame.assign(born=frame["id"])], ignore_index=True)
    assert notes_of(frame, asked("born"))[:2] == ["[NAME] is in bed", "a [NAME] is in it"]
    assert notes_of(frame.assign(born=frame["id"]), asked("born"))[:2] == ["lily is in bed", "a rose is in it"]


def test_a_missing_text_stays_missing_and_is_not_counted() -> None:
    made = redacted(people({"id": "A", "note": None}), asked())
    assert pd.isna(made.texts["note"][0])
    assert isinstance(made.fact, TextFact)
    assert made.fact.columns[0].records == 40


def test_a_word_in_small_letters_elsewhere_is_kept_beyond_a_few_people() -> None:
    texts = [*["It is a Metoprolol."] * 11, *[COMMON] * 2000, "It is a Zyxwort.", "the zyxwort is here"]
    made = redact_texts(pa.array(texts, pa.large_string()), np.arange(len(texts)), NOTHING_KNOWN, "en", 11)
    released = made.released.to_pylist()
    assert released[0] == "It is a [RARE]."  # 11 of 2,013 people are under 1 %
    assert released[-2:] == ["It is a [RARE].", "the zyxwort is here"]
    texts[:11] = ["It is a Metoprolol."] * 11 + ["It is a Metoprolol."] * 11
    made = redact_texts(pa.array(texts, pa.large_string()), np.arange(len(texts)), NOTHING_KNOWN, "en", 11)
    assert made.released[0].as_py() == "It is a Metoprolol."


@pytest.mark.parametrize(
    "texts",
    [
        ["der Patient ist mit dem Auto nicht bei der Klinik"],
        ["le patient est avec les enfants dans une clinique"],
        ["пациент был в клинике без жалоб"],
        ["lorem ipsum dolor sit amet consectetur adipiscing elit sed"] * 3,
    ],
)
def test_text_of_another_language_is_refused_without_a_word_of_it(texts: list[str]) -> None:
    frame = pd.DataFrame([{"id": f"{one}", "note": text} for one, text in enumerate(texts)], columns=[*COLUMNS])
    with pytest.raises(DataError) as refused:
        redacted(frame.astype(pd.StringDtype("pyarrow")), asked())
    assert "column note" in refused.value.where
    assert not any(word in str(refused.value) for text in texts for word in text.split() if len(word) > 5)


_WORDS = ("Ann", "Lee", "ann", "lee", "li", "Mo", "x9k4", "77", "Rose", "rose", "bed", "of")
_PARTS = ("Ann", "Lee", "Li", "Mo", "X9K4", "77", "Rose")
WORDS = st.lists(
    st.sampled_from(_WORDS),
    min_size=1,
    max_size=8,
)
VALUES = st.lists(
    st.lists(st.sampled_from(_PARTS), min_size=1, max_size=3),
    min_size=1,
    max_size=4,
)


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(WORDS, min_size=1, max_size=4), VALUES)
def test_values_of_several_words_are_those_of_a_slow_search(notes: list[list[str]], values: list[list[str]]) -> None:
    """Each run of a text's words that is a value, of four characters or more, is marked, and no other one."""
    several = {tuple(word.lower() for word in one) for one in values if len(one) > 1}
    several = {one for one in several if sum(map(len, one)) >= 4}
    frame = people(*({"id": None, "name": " ".join(one)} for one in values), filler=0)
    known = known_values(frame, asked(), np.arange(len(frame)))
    texts = pa.array([" ".join(one) for one in notes], pa.large_string())
    words, _ = Tokens.of(texts).words
    found = known.found(words, np.full(len(notes), 10_000)).kinds > 0
    spelled = [word.lower() for one in notes for word in one]
    text_of = [text for text, one in enumerate(notes) for _ in one]
    inside = np.zeros(len(spelled), dtype=np.bool_)
    for first in range(len(spelled)):
        for last in range(first + 2, len(spelled) + 1):
            if text_of[first] == text_of[last - 1] and tuple(spelled[first:last]) in several:
                inside[first:last] = True
    assert found[inside].all()
    single = np.isin(spelled, [word.lower() for one in values for word in one])
    assert not found[~inside & ~single].any()


NAMES = st.text(st.sampled_from("BCDFGHKLMNPRSTVWZaeiouäéşß"), min_size=4, max_size=9).filter(
    lambda one: one[0].isupper() and one[1:].islower()
)
PHONES = st.from_regex(r"[2-9]\d\d-[2-9]\d\d-\d{4}", fullmatch=True)
MAILS = st.from_regex(r"[a-z]{2,8}\.[a-z]{2,8}@[a-z]{2,8}\.(org|com)", fullmatch=True)
IDENTIFIERS = st.one_of(NAMES, PHONES, MAILS, st.from_regex(r"\d{5,12}", fullmatch=True))


@pytest.mark.slow
@settings(max_examples=examples(30), deadline=None)
@given(st.lists(IDENTIFIERS, min_size=1, max_size=5, unique_by=str.lower), st.sampled_from([" ", ", ", "\n", " – "]))
def test_no_planted_identifier_remains(identifiers: list[str], gap: str) -> None:
    """Identifiers that are values of the file's columns, in the text of somebody else, whatever stands between them."""
    assume(
        not any(
            one in other.lower()
            for one in ("the", "patient", "was", "seen", "in", "clinic", "and", "has", "no", "complaint")
            for other in identifiers
        )
    )
    frame = people(
        *({"id": one, "note": None} for one in identifiers),
        {"id": "Y1", "note": f"it was of {gap.join(identifiers)}{gap}and of the {identifiers[0].upper()}'s"},
    )
    made = redacted(frame, asked())
    released = made.texts["note"][len(identifiers)]
    for one in identifiers:
        assert re.search(rf"(?i)(?<!\w){re.escape(one)}(?!\w)", released) is None


@settings(max_examples=examples(30), deadline=None)
@given(st.lists(st.text(max_size=60), min_size=1, max_size=5))
def test_any_text_is_redacted_to_one_that_stays_as_it_is(texts: list[str]) -> None:
    made = redact_texts(pa.array(texts, pa.large_string()), np.arange(len(texts)), NOTHING_KNOWN, "en", 1)
    assert len(made.released) == len(texts)
    assert made.released.null_count == 0
    for one, other in pairwise(made.tokens.text.tolist()):
        assert one <= other


def test_each_kind_has_a_placeholder_of_its_own() -> None:
    assert len({one.placeholder for one in ENTITIES}) == len(ENTITIES)

"""Names: what is one person's, what may be, and what is not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.core.people import may_be_same_person, mixes_alphabets, person_key, same_person

DANA = "Dana Whitfield"
NAMES = st.text(min_size=1, max_size=40)
WORDS = st.lists(st.text("abcdefghiklnoprstuy", min_size=2, max_size=8), min_size=1, max_size=4)
"""Words without letters that another letter is written as."""


@pytest.mark.parametrize(
    "name",
    [
        "Dr. Dana Whitfield",
        "Whitfield, Dana",
        "Prof. Dr. Dana WHITFIELD, PhD",
        "D\u0430na Whitfield",  # Cyrillic
        "D\u03b1na Wh\u03b9tfield",  # Greek
        "Ｄａｎａ Ｗｈｉｔｆｉｅｌｄ",
        "Dána Whitfiéld",
        "Dana\u200b Whitfield",
        "Ðana Whitfie\u0142d",
    ],
)
def test_spellings_of_one_name(name: str) -> None:
    assert same_person(name, DANA)
    assert may_be_same_person(name, DANA)


@pytest.mark.parametrize(
    "name",
    [
        "D. Whitfield",
        "Dana W.",
        "Whitfield",
        "D. M. Whitfield",
        "Dana Maria Whitfield",
        "Dana Whitfield, data steward",
        "Dr. Dana Whitfield, M.D., head of data",
        "Dana Whit-field",
        "DanaWhitfield",
        "Dana WhitfieId",
        "Dana VVhitfield",
        "Dana Whitfie1d",
    ],
)
def test_names_that_may_be_one_persons(name: str) -> None:
    assert may_be_same_person(name, DANA)
    assert may_be_same_person(DANA, name)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("José Ruiz", "Jose Ruiz"),
        ("Ηans Brandt", "Hans Brandt"),
        ("Müller", "Mueller"),
        ("Mary Okafor", "Rnary Okafor"),
    ],
)
def test_letters_that_are_written_in_two_ways(one: str, other: str) -> None:
    assert may_be_same_person(one, other)


@pytest.mark.parametrize(
    "name",
    [
        "Diana Whitfield",
        "Dana Whitman",
        "N. Whitfield",
        "Mary Okafor",
        "D. Okafor",
        "Dana Okafor Whitman",
        "M.",
        "Dora",
        "D.",
    ],
)
def test_other_people(name: str) -> None:
    assert not may_be_same_person(name, DANA)
    assert not same_person(name, DANA)


def test_two_initials_stand_for_two_words() -> None:
    assert not may_be_same_person("D. D. Whitfield", "Dana Whitfield-Brandt")
    assert may_be_same_person("D. D. Whitfield", "Dana Doris Whitfield")
    assert not may_be_same_person("Dana Doris", "D. Whitfield")


def test_a_name_of_titles_or_signs_alone_stands_for_itself() -> None:
    assert person_key("Dr.") == "dr"
    assert person_key("…") == "…"
    assert not may_be_same_person("…", "?!")


def test_alphabets_of_a_name() -> None:
    assert not mixes_alphabets("Zoë Ørsted-O’Brien 2")
    assert mixes_alphabets("D\u0430na")
    assert not mixes_alphabets("Νίκος")
    assert not mixes_alphabets("李 Wei")


@given(NAMES)
def test_keys_are_steady(name: str) -> None:
    assert person_key(person_key(name)) == person_key(name)
    assert may_be_same_person(name, name)


@given(NAMES, NAMES)
def test_both_comparisons_are_symmetric_and_the_strict_one_implies_the_other(one: str, other: str) -> None:
    assert may_be_same_person(one, other) == may_be_same_person(other, one)
    assert may_be_same_person(one, other) or not same_person(one, other)


@given(
    WORDS, st.randoms(use_true_random=False), st.sampled_from(("", "Dr. ", "Prof. ")), st.sampled_from((" ", ", ", "-"))
)
def test_order_case_titles_and_punctuation_do_not_count(
    words: list[str], random: object, title: str, mark: str
) -> None:
    shuffled = list(words)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert same_person(" ".join(words), title + mark.join(shuffled).title())


@given(WORDS, st.data())
def test_initials_and_left_out_words_may_be_the_same_person(words: list[str], data: st.DataObject) -> None:
    kept = data.draw(st.lists(st.sampled_from(range(len(words))), min_size=1, unique=True))
    short = [words[place][:1] if data.draw(st.booleans()) else words[place] for place in kept]
    found = may_be_same_person(" ".join(short), " ".join(words))
    assert found or (len(short) < len(words) and not set(short) & set(words))

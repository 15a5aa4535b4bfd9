"""Subjects of columns by the words of their names."""

import pytest

from tasks.request.column_names import name_words, usually_known


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("age", "age"),
        ("AgeAtVisit", "age"),
        ("home_city", "city"),
        ("plz_2019", "plz"),
        ("Bildung", "bildung"),
        ("Größe", "grosse"),
        ("kjønn", "kjonn"),
        ("niveau d’éducation", "education"),
        ("marital-status", "marital"),
    ],
)
def test_others_usually_know_columns_of_these_names(name: str, word: str) -> None:
    assert usually_known(name) == word


@pytest.mark.parametrize("name", ["diagnosis", "stage", "agent", "hospital", "home_ward", "kn", "n", "income", "年齢"])
def test_columns_of_these_names_may_be_unknown(name: str) -> None:
    assert usually_known(name) == ""


def test_words_have_neither_accents_nor_capitals() -> None:
    assert name_words("Straße_FøreÅr2") == ("strasse", "fore", "ar")

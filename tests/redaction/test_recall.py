"""The measurement of the scanner: labels by hand, figures by hand, and the same figures each time."""

import pytest

from tasks.core.wilson import wilson
from tasks.redaction.entities import Entity
from tasks.redaction.notes import LabelledIdentifier, LabelledNotes, labelled_notes
from tasks.redaction.scanner_recall import measure, measured_scanner

COMMON = "the patient is well and was seen in the clinic"


def test_figures_by_hand() -> None:
    """Of two dates one is found; “Mr. Smith” is one right replacement, “Graves” a wrong one."""
    notes = LabelledNotes(
        (f"Mr. Smith came on 3/14/2024 and at noon. {COMMON}", f"of Graves. {COMMON}"),
        "en",
        8 + 10 + 2 + 10,
        (
            LabelledIdentifier(Entity.NAME, (0, 1)),
            LabelledIdentifier(Entity.DATE, (4,)),
            LabelledIdentifier(Entity.DATE, (6, 7)),
        ),
    )
    fact = {one.kind: one for one in measure(notes, 1).scanner}
    dates, names = fact["date"], fact["name"]
    assert (dates.planted, dates.found, dates.replaced, dates.rightly) == (2, 1, 1, 1)
    assert (names.planted, names.found, names.replaced, names.rightly) == (1, 1, 2, 1)
    assert dates.recall is not None
    assert (dates.recall.low, dates.recall.high) == wilson(1, 2)
    assert measure(notes, 1).missed == pytest.approx(1 - wilson(1, 2)[0])
    assert fact["phone number"].recall is None


def test_labels_are_on_the_words_of_their_kind() -> None:
    notes = labelled_notes(50, 7)
    words = [word for text in notes.texts for word in text.split()]
    assert len(words) == notes.tokens
    for one in notes.planted:
        written = " ".join(words[place] for place in one.tokens)
        match one.entity:
            case Entity.EMAIL:
                assert "@" in written
            case Entity.AGE | Entity.PHONE | Entity.ID | Entity.ADDRESS:
                assert any(letter.isdigit() for letter in written)
            case Entity.NAME:
                assert any(letter.isupper() for letter in written)
    assert labelled_notes(50, 7) == notes
    assert labelled_notes(50, 8) != notes


def test_the_scanner_finds_what_it_is_said_to_find() -> None:
    fact = measured_scanner(11)
    found = {one.kind: one.found / one.planted for one in fact.scanner if one.planted}
    assert min(found.values()) > 0.99
    assert len(found) == 8
    assert fact.missed < 0.025

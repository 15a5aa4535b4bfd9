"""Recall and precision of the scanner by kind, on the labelled notes, without the values of any file's columns."""

from functools import cache

import numpy as np
import pyarrow as pa

from tasks.assessments.text.facts import ScannerFact, TextFact
from tasks.core.errors import StageFailed
from tasks.core.fact import Interval
from tasks.core.wilson import CONFIDENCE, wilson
from tasks.redaction.entities import ENTITIES
from tasks.redaction.known import NOTHING_KNOWN
from tasks.redaction.notes import LabelledNotes, labelled_notes
from tasks.redaction.redact import redact_texts


@cache
def measured_scanner(small_cell: int) -> TextFact:
    """Measure the scanner on the notes that ship with it, with the rule on words of under `small_cell` people."""
    return measure(labelled_notes(), small_cell)


def measure(notes: LabelledNotes, small_cell: int) -> TextFact:
    """Measure the scanner on labelled notes of as many people.

    An identifier is found if no part of it remains, whichever kind it was taken for; a replacement is right if
    it has a part of an identifier. StageFailed says that the notes are not read as they were labelled.
    """
    texts = pa.array(notes.texts, pa.large_string())
    found = redact_texts(texts, np.arange(len(texts)), NOTHING_KNOWN, notes.language, small_cell)
    if len(found.kinds) != notes.tokens:
        raise StageFailed(
            "the labelled notes are not read as they were labelled",
            where="text",
            expected=f"{notes.tokens} words",
            got=f"{len(found.kinds)}",
            fix="install the program again",
        )
    belongs = np.zeros(notes.tokens, dtype=np.bool_)
    belongs[[token for one in notes.planted for token in one.tokens]] = True
    begins = found.tokens.begins(found.kinds)
    place, facts = np.cumsum(begins) - 1, []
    for code, entity in enumerate(ENTITIES, start=1):
        planted = [one.tokens for one in notes.planted if one.entity is entity]
        whole = sum(bool((found.kinds[list(tokens)] > 0).all()) for tokens in planted)
        runs = np.flatnonzero(begins & (found.kinds == code))
        replaced, rightly = len(runs), int(np.logical_or.reduceat(belongs, np.flatnonzero(begins))[place[runs]].sum())
        facts.append(
            ScannerFact(
                kind=entity.value,
                planted=len(planted),
                found=whole,
                recall=_interval(whole, len(planted)),
                replaced=replaced,
                rightly=rightly,
                precision=_interval(rightly, replaced),
            )
        )
    return TextFact(columns=(), notes=len(notes.texts), scanner=tuple(facts))


def _interval(share: int, whole: int) -> Interval | None:
    if not whole:
        return None
    low, high = wilson(share, whole)
    return Interval(low=low, high=high, level=CONFIDENCE)

"""Redacted text: recall and precision of the scanner by kind on the labelled notes, and the seconds of many notes."""

from time import process_time

import numpy as np
import pyarrow as pa

from tasks.redaction.known import NOTHING_KNOWN
from tasks.redaction.notes import labelled_notes
from tasks.redaction.redact import redact_texts
from tasks.redaction.scanner_recall import measure
from tests.benchmarks.record import Benchmark, Row

NOTES = 40_000
SMALL_CELL = 11


def run() -> Benchmark:
    """Figures that every record of a release with text has, and the time of a larger file."""
    fact = measure(labelled_notes(), SMALL_CELL)
    rows = [
        Row(figure=f"{one.kind}: found of {one.planted:,}", ours=100 * one.found / one.planted, unit="%")
        for one in fact.scanner
        if one.planted
    ]
    rows += [
        Row(figure=f"{one.kind}: right of {one.replaced:,} replaced", ours=100 * one.rightly / one.replaced, unit="%")
        for one in fact.scanner
        if one.replaced
    ]
    rows.append(Row(figure="may be missed, of the worst kind", ours=100 * fact.missed, unit="%"))
    texts = pa.array(labelled_notes(NOTES).texts, pa.large_string())
    started = process_time()
    redacted = redact_texts(texts, np.arange(NOTES), NOTHING_KNOWN, "en", SMALL_CELL)
    length = len(redacted.released)
    rows.append(Row(figure=f"redaction of {length:,} notes", ours=process_time() - started, unit="s of CPU"))
    rows.append(Row(figure="suspicious words left, a note", ours=redacted.residual / NOTES, unit=""))
    return {
        "name": "redaction",
        "title": f"Redacted text: {fact.notes:,} labelled notes",
        "rows": rows,
        "note": "sentences and names were written after the rules and changed nothing in them",
    }

"""Scans for identifiers: what is found and what is wrongly taken for one, by kind, in 50,000 labelled cells."""

from time import perf_counter

from tests.benchmarks.record import Benchmark, Row
from tests.support.labelled import KINDS, shares

ROWS = 50_000 // len(KINDS) + 1


def run() -> Benchmark:
    """Recall of each kind of identifier and false alarms of each harmless kind, and the seconds of the whole."""
    started = perf_counter()
    outcomes = shares(ROWS)
    seconds = perf_counter() - started
    rows = [
        Row(figure=f"{one.kind.name}: found", ours=100 * one.found, unit="%") for one in outcomes if one.kind.harmful
    ]
    rows += [
        Row(figure=f"{one.kind.name}: false alarms", ours=100 * one.wrong, unit="%")
        for one in outcomes
        if one.wrong >= 0
    ]
    harmful = [one for one in outcomes if one.kind.harmful]
    harmless = [one for one in outcomes if not one.kind.harmful]
    rows += [
        Row(
            figure="identifiers found, mean of kinds",
            ours=100 * sum(one.found for one in harmful) / len(harmful),
            unit="%",
        ),
        Row(
            figure="false alarms, mean of kinds",
            ours=100 * sum(one.wrong for one in harmless) / len(harmless),
            unit="%",
        ),
        Row(figure=f"scan of {ROWS * len(KINDS):,} cells", ours=seconds, unit="s"),
    ]
    return {
        "name": "scans",
        "title": f"Scans for identifiers: {len(harmful)} kinds of identifiers, {len(harmless)} of harmless look-alikes",
        "rows": rows,
        "note": "of a text kind a third of the cells each bare, in a sentence and encoded; names from lists of its own",
    }

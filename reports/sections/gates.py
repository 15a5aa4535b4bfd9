"""The gates, and how probable it is that they pass where terms of the recipient are uncertain, with its chart."""

import math
import textwrap
from collections.abc import Iterator

from reports import numbers
from reports.charting import Chart, Panel
from reports.document import (
    DASH,
    Block,
    Column,
    Heading,
    Paragraph,
    Row,
    Table,
    figures,
    lines,
    passed,
    small,
    strong,
    text,
)
from reports.marks import AFTER, BAND, BLUES, EDGE, INK, Box, ChartAxis, Label, Line, Mark, percent_axis, rows_axis
from reports.record_view import GateRow, RecordView
from tasks.assessments.identity.facts import (
    ChanceFact,
    DecidingFact,
    FigureRangeFact,
    UncertainTermFact,
    UncertaintyFact,
)
from tasks.assessments.measures import MEASURES, Scale
from tasks.request.model import Measure

_TERMS = {
    "benefit": "Benefit V",
    "loss": "Loss L",
    "gain": "Gain G",
    "cost": "Cost c of an attempt",
    "prior": "Prior",
    "penalty": "Penalty",
    "detection": "Detection",
    "detection_slope": "Slope of detection",
    "access_cost": "Cost of access",
    "link_cost": "Cost of a link",
    "exploit_cost": "Cost of an exploit",
}


def gates(view: RecordView) -> Iterator[Block]:
    """The section."""
    if not view.gates:
        yield Paragraph("No gate was judged.")
        return
    coalitions = (
        " Risks are the worst of this copy alone and of what coalitions see (section 13.1)."
        if view.has_coalitions
        else ""
    )
    yield Paragraph(
        "A release passes when every gate does. A gate whose figure could not be measured has failed. Conditions "
        f"that only a written file can meet are judged once every other gate is open.{coalitions}"
    )
    yield Table(
        "Gates: what was measured and what is required",
        (
            Column("Gate", 42),
            Column("Measured", 16, "figure"),
            Column("Required", 16),
            Column("Unit", 14),
            Column("Outcome", 12),
        ),
        [_gate_row(gate) for gate in view.gates],
    )
    if view.overridden:
        yield Paragraph(
            "Gates that failed and are overridden have failed all the same: an officer of the policy has seen a "
            "figure no better than the one above, in the record of the release that was blocked, and answers for it. "
            "The history of this release names the officer, the reason and the entry of the ledger."
        )
    fact = view.record.risk.uncertainty if view.record.risk else None
    if fact:
        yield from _uncertain(view, fact)


def _gate_row(gate: GateRow) -> Row:
    notes = lines(text("`{}`", gate.id), gate.interval, gate.because if gate.is_condition else "")
    outcome = passed(yes=gate.passed, overridden=gate.overridden)
    return lines(gate.title, small(notes)), strong(gate.measured), gate.asked, gate.unit or DASH, outcome


def _uncertain(view: RecordView, fact: UncertaintyFact) -> Iterator[Block]:
    """Terms that are not known for certain, and the figures of the gates that depend on them."""
    judged = "The gates above are judged under the terms of the request."
    if view.gate(Measure.PASSING_PROBABILITY):
        which = "whether those that depend on the terms below pass where these are worst: 1 if they do, 0 if not"
        if fact.approved.draws > 1:
            which = "the lower end of the interval below, in the worst case of terms of which only a range is known"
        judged = (
            f"All gates above but `{Measure.PASSING_PROBABILITY.value}` are judged under the terms of the request; "
            f"that one judges {which}."
        )
    yield Heading("Terms that are not known for certain", 4)
    yield Paragraph(
        text(
            f"{judged} Some of these are known only as a range or a distribution; the file is the same under all of "
            f"them, but who attacks it is not. {chance_text(fact)} Gates whose figures do not depend on these terms "
            "are not part of this."
        )
    )
    yield Table(
        "Uncertain terms: what the request declares, and what is known",
        (Column("Term", 32), Column("Declared", 18, "figure"), Column("Known", 50)),
        [(_TERMS[one.term], numbers.setting(one.declared), _known(one)) for one in fact.terms],
        whole=True,
    )
    if fact.figures:
        yield Table(
            "Figures of gates under uncertain terms, in the worst case of terms of which only a range is known",
            (
                Column("Figure", 23),
                *figures("Declared", "Expected", width=10),
                Column("5% / 50% / 95%", 18, "figure"),
                Column("Guaranteed", 16, "figure"),
                Column("Passes", 23, "figure"),
            ),
            [_range_row(view, one) for one in fact.figures],
            whole=True,
        )
        yield Paragraph(
            "“Guaranteed” bounds hold however the terms are distributed within their ends; they are given where a "
            "figure can only grow, or only fall, with each term.",
            "note",
        )
        yield _chances_chart(fact)


def _known(term: UncertainTermFact) -> str:
    """What is known of a term."""
    given = term.parameters
    if term.kind == "points":
        values, weights = given["values"], given["weights"]
        if isinstance(values, tuple) and isinstance(weights, tuple):
            total = sum(weights)
            return ", ".join(
                f"{numbers.setting(value)} ({numbers.percent(weight / total)})"
                for value, weight in zip(values, weights, strict=True)
            )
    others = "".join(f", {name} {numbers.setting(value)}" for name, value in given.items() if isinstance(value, float))
    kind = "a range" if term.kind == "between" else term.kind
    return f"{kind}, {numbers.setting(term.low)} to {numbers.setting(term.high)}{others}"


def _range_row(view: RecordView, one: FigureRangeFact) -> Row:
    measure = MEASURES[Measure(one.measure)]

    def written(value: float | None) -> str:
        if value is None:
            return DASH
        if measure.scale is Scale.SHARE:
            return view.share_out(value)
        return numbers.amount(value) if measure.scale in {Scale.MONEY, Scale.COUNT} else numbers.risk(value)

    passes = "yes" if one.passes.count else "no"
    if one.passes.draws > 1:
        passes = f"{numbers.percent(one.passes.value)} ({numbers.percent_range(one.passes.low, one.passes.high)})"
    guaranteed = "not known" if one.guaranteed is None else " to ".join(map(written, one.guaranteed))
    return (
        measure.title,
        written(one.declared),
        written(one.expectation),
        " / ".join(map(written, one.quantiles)),
        guaranteed,
        passes,
    )


def chance_text(fact: UncertaintyFact) -> str:
    """How probable it is that the gates pass, and what is certain."""
    if not fact.figures:
        return "No gate's figure depends on these terms."
    chance = "Of these terms only ranges are known, so that no probability can be given."
    approved, possible = fact.approved, fact.possible
    if approved.draws > 1:
        best = ""
        if possible.count > approved.count:
            best = (
                " in the worst case of the terms of which only a range is known, and with probability "
                f"{numbers.percent(possible.value)} in the best; the interval that holds whatever they are is "
                f"{numbers.percent_range(approved.low, possible.high)}"
            )
        chance = (
            f"The gates that depend on these terms pass with probability {numbers.percent(approved.value)} "
            f"({numbers.percent(fact.confidence)} interval {numbers.percent_range(approved.low, approved.high)}; "
            f"{numbers.integer(approved.count)} of {numbers.integer(approved.draws)} draws){best}."
        )
    certain = {
        True: "They pass whatever the terms are within their ends.",
        False: "They do not pass, whatever the terms are within their ends.",
        None: "Neither that they pass nor that they fail is certain for all terms within their ends.",
    }[fact.certain]
    unsolved = (
        f" In {numbers.integer(fact.unsolved)} draws the recipient's plan could not be solved; they count as failed."
        if fact.unsolved
        else ""
    )
    return f"{chance} {certain}{unsolved}"


def _chances_chart(fact: UncertaintyFact) -> Chart:
    """How probable approval is: over all terms, gate by gate, and in each part of the terms that are drawn."""
    rows = [
        ("All gates", fact.approved),
        *((textwrap.fill(MEASURES[Measure(one.measure)].title, 34), one.passes) for one in fact.figures),
    ]
    drawn = [one for one in fact.deciding if one.parts]
    is_open = fact.possible.count > fact.approved.count
    marks: list[Mark] = []
    for row, (_, one) in enumerate(rows):
        place, high = (row - 0.28, row + 0.28), one.high
        marks.append(Box((0, 100 * one.value), place, AFTER if row == 0 else BLUES[3]))
        if row == 0 and is_open:
            marks.append(Box((100 * one.value, 100 * fact.possible.value), place, "white", AFTER, hatch=AFTER))
            high = fact.possible.high
        marks += [
            Line(((100 * one.low, row), (100 * high, row)), INK, 1),
            Label(104, row, _chance_label(one, high), "start"),
        ]
    columns = max(1, min(len(drawn), 4))
    lines_below = math.ceil(len(drawn) / columns)
    tall = 14 * sum(name.count("\n") + 1 for name, _ in rows) + 30
    panels = [
        [Panel(percent_axis("probability of passing, %", room=140), rows_axis([name for name, _ in rows]), marks)]
    ]
    parts = [_parts_panel(one) for one in drawn]
    panels += [parts[start : start + columns] for start in range(0, len(parts), columns)]
    decide = "; ".join(
        f"{_TERMS[one.term]}: from {_part_share(one, 0)} in the lowest part to {_part_share(one, -1)} in the highest"
        for one in drawn
    )
    said = f" Share approved by term: {decide}." if decide else ""
    hatched = ", hatched what depends on terms of which only a range is known" if is_open else ""
    below = (
        ". Below, the share of draws that pass in each part of a term's distribution; first and total are Sobol' "
        "indices, the shares of the verdict's variance that go back to the term alone, and with others."
        if drawn
        else "."
    )
    return Chart(
        "verdict_chances",
        f"All gates pass with probability {numbers.percent(fact.approved.value)}, between "
        f"{numbers.percent(fact.approved.low)} and {numbers.percent(fact.possible.high)}.{said}",
        "How probable it is that the gates pass, over the terms declared uncertain. Bars end at the estimate, "
        f"whiskers at the ends of the exact {numbers.percent(fact.confidence)} interval{hatched}{below}",
        panels,
        tall + 95 * lines_below,
        heights=[tall - 24, *[58.0] * lines_below],
    )


def _chance_label(one: ChanceFact, high: float) -> str:
    return "not drawn" if one.draws == 1 else f"{numbers.percent(one.value)} ({numbers.percent_range(one.low, high)})"


def _parts_panel(one: DecidingFact) -> Panel:
    """Approval where a term is in each part of its distribution."""
    marks: list[Mark] = []
    for place, part in enumerate(one.parts):
        share = 100 * part.approved / part.draws if part.draws else 0.0
        marks += [
            Box((place - 0.42, place + 0.42), (-EDGE, share), BLUES[3] if part.draws else BAND),
            Label(place, share, f"{share:.0f}" if part.draws else DASH, dy=5, size=6),
        ]
    values = all(part.low == part.high for part in one.parts)
    edges = [part.low for part in one.parts] + ([] if values else [one.parts[-1].high])
    ticks = tuple(
        (place - (0.0 if values else 0.5), numbers.setting(float(f"{edge:.3g}"))) for place, edge in enumerate(edges)
    )
    influence = "the verdict never varies"
    if one.first is not None and one.total is not None:
        influence = f"first {max(one.first.value, 0):.2f}, total {max(one.total.value, 0):.2f}"
    y = ChartAxis(0, 120, "approved, %", ((0, "0"), (50, "50"), (100, "100")))
    return Panel(ChartAxis(-0.6, len(one.parts) - 0.4, "", ticks), y, marks, f"{_TERMS[one.term]}\n{influence}")


def _part_share(one: DecidingFact, place: int) -> str:
    part = one.parts[place]
    return numbers.percent(part.approved / part.draws) if part.draws else "none drawn"

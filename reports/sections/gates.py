"""The gates, and how probable it is that they pass where terms of the recipient are uncertain."""

from collections.abc import Iterator

from reports.model import numbers
from reports.model.document import DASH, Block, Heading, Paragraph, Row, Table, lines, passed, said, small, strong, text
from reports.model.record_view import GateRow, RecordView
from tasks.assessments.identity.uncertain.facts import DecidingFact, FigureRangeFact, UncertainTermFact, UncertaintyFact
from tasks.request.measures import MEASURES, Scale
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
    "discount": "Discount γ",
    "confirmation": "Recognition κ",
    "max_penalties": "Most penalties",
}


def gates(view: RecordView) -> Iterator[Block]:
    """The section."""
    if not view.gates:
        yield "No gate was judged."
        return
    yield said(
        "A release passes when every gate does. A gate whose figure could not be measured has failed. Conditions that "
        "only a written file can meet are judged once every other gate has passed.",
        "Risks are the worst of this copy alone and of what coalitions see (section E11.1)."
        if view.has_coalitions
        else None,
    )
    yield Table(
        "Gates: what was measured and what is required",
        "Gate 42 | Measured 16r | Required 16 | Unit 14 | Outcome 12",
        [_gate_row(gate) for gate in view.gates],
    )
    if view.overridden:
        yield (
            "An overridden gate has still failed: an officer of the policy has seen a figure at least as bad as the "
            "one above, in the record of the release that was blocked, and is responsible for it. The "
            "history of this release names the officer, the reason and the entry of the ledger."
        )
    fact = view.record.risk.uncertainty if view.record.risk else None
    if fact:
        yield from _uncertain(view, fact)


def _gate_row(row: GateRow) -> Row:
    gate = row.gate
    notes = lines(text("`{}`", gate.id), row.interval, gate.because if gate.comparison == "is" else "")
    outcome = passed(yes=gate.passed, overridden=bool(gate.overridden))
    return lines(gate.heading, small(notes)), strong(row.measured), row.asked, row.unit or DASH, outcome


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
    yield text(
        f"{judged} Some of these are known only as a range or a distribution; the file is the same under all of them, "
        f"but who attacks it is not. {chance_text(fact)} Gates whose figures do not depend on these terms are not part "
        "of this."
    )
    yield Table(
        "Uncertain terms: what the request declares, and what is known",
        "Term 32 | Declared 18r | Known 50",
        [(_TERMS[one.term], numbers.setting(one.declared), _known(one)) for one in fact.terms],
    )
    if fact.figures:
        yield Table(
            "Figures of gates under uncertain terms, in the worst case of terms of which only a range is known; "
            f"probability of passing with its exact {numbers.percent(fact.confidence)} interval",
            "Figure 23 | Declared 11r | Expected 12r | 5% / 50% / 95% 18r | Guaranteed 16r | Passes 20r",
            [_range_row(view, one) for one in fact.figures],
        )
        yield Paragraph(
            "“Guaranteed” bounds hold however the terms are distributed within their ends; they are given where a "
            "figure can only grow, or only fall, with each term.",
            "note",
        )
    drawn = [one for one in fact.deciding if one.parts] if fact.certain is None else []
    if drawn:
        yield Table(
            "Influence of the terms that are drawn: Sobol' indices, the shares of the verdict's variance that go back "
            "to the term alone and with others, and share of draws that pass in each part of the term's distribution",
            "Term 22 | First 9r | Total 9r | Passes 60",
            [_deciding_row(one) for one in drawn],
        )


def _known(term: UncertainTermFact) -> str:
    """Distribution or range of a term."""
    given = term.parameters
    values, weights = given.get("values"), given.get("weights")
    if isinstance(values, tuple) and isinstance(weights, tuple):
        return ", ".join(
            f"{numbers.setting(value)} ({numbers.percent(weight / sum(weights))})"
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
    quantiles = " / ".join(map(written, one.quantiles))
    return measure.title, written(one.declared), written(one.expectation), quantiles, guaranteed, passes


def _deciding_row(one: DecidingFact) -> Row:
    first, total = (DASH if index is None else f"{max(index.value, 0):.2f}" for index in (one.first, one.total))
    parts = []
    for part in one.parts:
        low, high = (numbers.setting(float(f"{edge:.3g}")) for edge in (part.low, part.high))
        share = numbers.percent(part.approved / part.draws) if part.draws else "none drawn"
        parts.append(f"{low if low == high else f'{low} to {high}'}: {share}")
    return _TERMS[one.term], first, total, "; ".join(parts)


def chance_text(fact: UncertaintyFact) -> str:
    """Probability that the gates pass, and verdicts that are certain."""
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
    }
    return said(
        chance,
        certain[fact.certain],
        f"In {numbers.integer(fact.unsolved)} draws the recipient's plan could not be solved; they count as failed."
        if fact.unsolved
        else None,
    )

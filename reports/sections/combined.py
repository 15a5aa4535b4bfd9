"""The combined score of identity and attributes (Orooji and Knapp 2019), with its chart."""

import math
from collections.abc import Iterator

from markupsafe import Markup

from reports.model import charts, numbers
from reports.model.charts import AFTER, BEFORE, EDGE, Chart, ChartAxis, Panel
from reports.model.document import DASH, Block, Facts, Paragraph, Row, Table, alike, named, strong, text
from reports.model.record_view import FileView
from reports.sections.identity import bars, risk_axis, shown_bins, tallest
from tasks.assessments.combined.facts import CombinedFact
from tasks.request.model import Measure

_SHOWN = 8
_FORMULA = Markup(
    "D(r) = Σ<sub>KS</sub> PK(KS)/count(r(KS)) · α · Σ<sub>A∉KS</sub> W(A) · W(r(A)),&nbsp;&nbsp; PK(KS) = "
    "Π<sub>A∈KS</sub> PK(A){}&nbsp;&nbsp; (eq. 1–4{})"
)


def combined(view: FileView, fact: CombinedFact) -> Iterator[Block]:
    """The part of the section on risk."""
    before, after, write = fact.initial, fact.residual, numbers.risk
    yield (
        "Identity and attributes are scored together (Orooji and Knapp 2019): how likely a record is found by what "
        "somebody may know of its person, times how sensitive the rest of it is. Every set of attributes that somebody "
        "may know, a known set, counts with its probability; the records of the file that agree in it are those among "
        "which the person's must be found."
    )
    both = (Markup(" · Π<sub>A∉KS</sub> (1 − PK(A))"), ", exclusive form") if fact.exclusive else ("", "")
    yield Paragraph(_FORMULA.format(*both), "formula")
    form = (
        "The form applied is the paper's. It leaves out that the other attributes are unknown, so that the "
        "probabilities of the sets do not add up to 1: **D is a score and not a probability**, it may exceed 1, and it "
        "serves to compare records, files and treatments under the same weights."
    )
    if fact.exclusive:
        form = (
            "The form applied is the exclusive one: a known set counts with the probability that these attributes and "
            "no others are known. The probabilities of all sets add up to 1, so that D is an expectation: "
            "the sensitivity that an adversary who picks a record at random among those that agree with their "
            "knowledge is expected to disclose, times α. The paper's own form leaves out the last product."
        )
    yield text(
        f"{form} Before, the values as collected are counted, and after, those released; a sensitive value weighs the "
        "same in both. An attribute of which the request states no probability counts as known where it is a "
        "quasi-identifier and as unknown otherwise; a sensitive attribute without a weight counts with 1."
    )
    sets = f"{numbers.integer(fact.known_sets)} known set{'' if fact.known_sets == 1 else 's'}"
    counted = f"none: all {sets} of a probability above 0 were counted"
    if fact.epsilon is not None:
        counted = (
            f"{write(fact.epsilon)}: the {sets} of a probability above ε were counted; every figure has a bound on "
            f"what the others add, {write(fact.left_out)} at most after"
        )
    gated = ", and a gate limits their share" if Measure.COMBINED_ABOVE in view.gated else ""
    yield Facts(
        [
            ("α, factor", numbers.plain(fact.alpha)),
            ("ε, least probability", counted),
            ("Form", "exclusive: an expectation" if fact.exclusive else "the paper's: a score"),
            ("Score threshold", f"{write(fact.threshold)}: records above it are counted{gated}"),
            ("Quantile", f"{numbers.percent(fact.quantile)} of the records"),
        ],
        "Parameters of the policy",
    )
    quantile = f"Not exceeded by {numbers.percent(fact.quantile)} of the records"
    above = (view.cells.share(one.share_above, one.records) for one in (before, after))
    yield Table(
        "Combined score of the records before and after",
        "Measure 46 | Unit 24 | Before 15r | After 15r",
        [
            (strong("Highest"), "score", write(before.maximum), strong(write(after.maximum))),
            (quantile, "score", write(before.quantile), write(after.quantile)),
            ("Mean", "score", write(before.mean), write(after.mean)),
            (f"Above {write(fact.threshold)}", "share of records", *above),
        ],
    )
    if fact.expected is not None:
        yield text(
            "**Expected disclosure.** Somebody who knows each of these columns with its probability, and not who is in "
            "the file, is expected to learn at most {} of what is sensitive of any record: in the exclusive form, as a "
            "share of the record's sensitive weight, times the share of the people of its class who are in the file.{}",
            numbers.risk(fact.expected),
            f" No probability is stated for {named(fact.presumed)}; here such a column is known with 0.1."
            if fact.presumed
            else "",
        )
    if after.maximum > before.maximum or after.mean > before.mean or after.quantile > before.quantile:
        yield Paragraph(
            "Some of these figures are higher after generalization than before: records with the same value as "
            "collected may be released in groups of different size, and the score counts as agreeing only what is "
            "released alike, so that a known set may match fewer records than before. For an adversary who knows the "
            "value but not the group in which it was released the score is an overstatement."
        )
    yield Table(
        "Attributes that count: probability of being publicly known, weight of sensitivity (its values aside)",
        "Attribute 34 | Role 30 | Known, PK(A) 18r | Weight, W(A) 18r",
        alike(_weight_rows(view, fact)),
    )
    yield _chart(view, fact)
    for caption, head, parts in (
        ("by what is known", "Known set", fact.by_known_set[:_SHOWN]),
        ("by what is disclosed", "Sensitive attribute", fact.by_attribute[:_SHOWN]),
    ):
        if parts:
            yield Table(
                f"Sources of the scores after generalization, {caption}; the largest parts first",
                f"{head} 76 | Share of all scores 24r",
                [
                    (
                        ", ".join(one.attributes) or "nothing: any record may be the one",
                        numbers.percent(min(one.share, 1)),
                    )
                    for one in parts
                ],
            )
    yield Paragraph(
        "The score does not see that the records which agree in a known set may share a sensitive value, which is "
        "then disclosed without finding anyone. It has no accepted precedent for a threshold: α, ε and the weights "
        "decide its size.",
        "note",
    )


def _weight_rows(view: FileView, fact: CombinedFact) -> list[Row]:
    known, weights = fact.known_probabilities, fact.sensitivities
    return [
        (
            name,
            role,
            numbers.risk(known.get(name) or 0.0),
            DASH if weights.get(name) is None else numbers.plain(weights[name]),
        )
        for name, role in view.roles.items()
        if known.get(name) or weights.get(name) is not None
    ]


def _chart(view: FileView, fact: CombinedFact) -> Chart:
    sides = [("Before", fact.initial, BEFORE), ("After", fact.residual, AFTER)]
    drawn = [(name, colour, shown_bins(one.histogram, one.maximum, view.cells)) for name, one, colour in sides]
    every = [part for _, _, bins in drawn for part in bins if part.records]
    marks = (fact.threshold,) if fact.threshold > 0 else ()
    x = risk_axis(every, marks if every else (1.0,), "combined score of a record", largest=EDGE)
    y = charts.linear(0, 1.15 * tallest([bins for _, _, bins in drawn]), "records, %", last=100)
    shares = [
        100 * part.records / sum(one.records for one in bins) for _, _, bins in drawn for part in bins if part.records
    ]
    wide = bool(shares) and max(shares) > 30 * min(shares)
    if wide:
        powers = range(math.floor(math.log10(min(shares))), math.floor(math.log10(max(shares))) + 1)
        ticks = charts.labelled(10.0**power for power in powers)
        y = ChartAxis(min(shares) / 2, 4 * max(shares), "records, %", ticks, "log")
    words = f"threshold {numbers.risk(fact.threshold)}"
    panels = []
    for place, (name, colour, bins) in enumerate(drawn):
        lines = [mark for value in marks for mark in charts.limit(x, value, "" if place else words)]
        panels.append([Panel(x, y, [*bars(bins, colour), *lines], name)])
    return Chart(
        "combined",
        "Two histograms of the combined score of a record, before and after; the highest score is "
        f"{numbers.risk(fact.initial.maximum)} before and {numbers.risk(fact.residual.maximum)} after.",
        "Combined score of the records before (grey) and after (blue) "
        f"generalization{'; both axes are logarithmic' if wide else ''}. Intervals with few records are joined to a "
        "neighbour.",
        panels,
        170,
    )

"""The combined score of identity and attributes (Orooji and Knapp 2019), with its chart."""

import math
from collections.abc import Iterator

from markupsafe import Markup

from reports import numbers
from reports.charting import Chart, Panel
from reports.document import DASH, Block, Column, Facts, Paragraph, Row, Table, figures, strong, text
from reports.marks import AFTER, BEFORE, EDGE, ChartAxis, linear, threshold
from reports.record_view import RecordView
from reports.sections.identity import bars, risk_axis, shown_bins, tallest
from tasks.assessments.combined.facts import CombinedFact
from tasks.request.model import Measure

_SHOWN = 8
_FORMULA = Markup(
    "D(r) = Σ<sub>KS</sub> PK(KS)/count(r(KS)) · α · Σ<sub>A∉KS</sub> W(A) · W(r(A)),&nbsp;&nbsp; "
    "PK(KS) = Π<sub>A∈KS</sub> PK(A){}&nbsp;&nbsp; (eq. 1–4{})"
)


def combined(view: RecordView, fact: CombinedFact) -> Iterator[Block]:
    """The part of the section on risk."""
    before, after, cells = fact.initial, fact.residual, view.cells
    yield Paragraph(
        "Identity and attributes are scored together (Orooji and Knapp 2019): how likely a record is found by what "
        "somebody may know of its person, times how sensitive the rest of it is. No line is drawn between "
        "identifying and sensitive attributes. Every set of attributes that somebody may know, a known set, counts "
        "with its probability; the records of the file that agree in it are those among which the person's must be "
        "found."
    )
    both = (Markup(" · Π<sub>A∉KS</sub> (1 − PK(A))"), ", exclusive form") if fact.exclusive else ("", "")
    yield Paragraph(_FORMULA.format(*both), "formula")
    form = (
        "The form applied is the paper's. It leaves out that the other attributes are unknown, so that the "
        "probabilities of the sets do not add up to 1: **D is a score and not a probability**, it may exceed 1, and "
        "it serves to compare records, files and treatments under the same weights."
    )
    if fact.exclusive:
        left_out = "" if fact.epsilon is None else ", up to what the sets left out would add"
        form = (
            "The form applied is the exclusive one: a known set counts with the probability that these attributes "
            "and no others are known. The probabilities of all sets add up to 1, so that D is an "
            f"expectation{left_out}: the sensitivity that an adversary who picks a record at random among those that "
            "agree with their knowledge is expected to disclose, times α. The paper's own form leaves out the last "
            "product."
        )
    yield Paragraph(
        text(
            f"{form} Before, the values as collected are counted, and after, those released; a sensitive value weighs "
            "the same in both. An attribute of which the request states no probability counts as known where it is a "
            "quasi-identifier and as unknown otherwise; a sensitive attribute without a weight counts with 1."
        )
    )
    sets = f"{numbers.integer(fact.known_sets)} known set{'' if fact.known_sets == 1 else 's'}"
    counted = f"none: all {sets} of a probability above 0 were counted"
    if fact.epsilon is not None:
        counted = f"{numbers.risk(fact.epsilon)}: the {sets} of a probability above ε were counted"
    gated = ", and a gate limits their share" if view.gate(Measure.COMBINED_ABOVE) else ""
    yield Facts(
        [
            ("α, factor", numbers.plain(fact.alpha)),
            ("ε, least probability", counted),
            ("Form", "exclusive: an expectation" if fact.exclusive else "the paper's: a score"),
            ("Score threshold", f"{numbers.risk(fact.threshold)}: records above it are counted{gated}"),
            ("Quantile", f"{numbers.percent(fact.quantile)} of the records"),
        ],
        "Parameters of the policy",
    )
    above = (cells.share(one.share_above, one.records) for one in (before, after))
    yield Table(
        "Combined score of the records, before → after",
        (Column("Measure", 46), Column("Unit", 24), *figures("Before", "After", width=15)),
        [
            (strong("Highest"), "score", numbers.risk(before.maximum), strong(numbers.risk(after.maximum))),
            (
                f"Not exceeded by {numbers.percent(fact.quantile)} of the records",
                "score",
                numbers.risk(before.quantile),
                numbers.risk(after.quantile),
            ),
            ("Mean", "score", numbers.risk(before.mean), numbers.risk(after.mean)),
            (f"Above {numbers.risk(fact.threshold)}", "share of records", *above),
        ],
        whole=True,
    )
    if after.maximum > before.maximum or after.mean > before.mean or after.quantile > before.quantile:
        yield Paragraph(
            "Some of these figures are higher after generalization than before. Records with the same value as "
            "collected may be released in groups of different size, and the score counts as agreeing only what is "
            "released alike, so that a known set may match fewer records than before. Somebody who knows the value "
            "but not the group in which it was released matches more of them: of that person the score is an "
            "overstatement."
        )
    yield Table(
        "Attributes that count: probability of being publicly known, weight of sensitivity (its values aside)",
        (Column("Attribute", 34), Column("Role", 30), *figures("Known, PK(A)", "Weight, W(A)", width=18)),
        _weight_rows(view, fact),
    )
    yield _chart(view, fact)
    for caption, head, parts in (
        ("by what is known", "Known set", fact.by_known_set[:_SHOWN]),
        ("by what is disclosed", "Sensitive attribute", fact.by_attribute[:_SHOWN]),
    ):
        if parts:
            yield Table(
                f"What the scores after generalization come from, {caption}; the largest parts first",
                (Column(head, 76), *figures("Share of all scores", width=24)),
                [
                    (
                        ", ".join(one.attributes) or "nothing: any record may be the one",
                        numbers.percent(min(one.share, 1.0)),
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


def _weight_rows(view: RecordView, fact: CombinedFact) -> list[Row]:
    """The attributes that are known with some probability or sensitive, in the order of the file."""
    rows: list[Row] = []
    for field in view.record.fields:
        known, weight = fact.known_probabilities.get(field.name), fact.sensitivities.get(field.name)
        if known or weight is not None:
            rows.append(
                (
                    strong(field.name),
                    field.role,
                    numbers.risk(known or 0.0),
                    DASH if weight is None else numbers.plain(weight),
                )
            )
    return rows


def _chart(view: RecordView, fact: CombinedFact) -> Chart:
    """Combined scores of the records, before above after, on a logarithmic axis (after Orooji and Knapp 2019)."""
    histograms = [shown_bins(one.histogram, one.maximum, view.cells) for one in (fact.initial, fact.residual)]
    marks = (fact.threshold,) if fact.threshold > 0 else ()
    every = [part for bins in histograms for part in bins]
    x = risk_axis(every, marks if every else (1.0,), "combined score of a record", largest=EDGE)
    shares = [
        100 * part.records / sum(one.records for one in bins) for bins in histograms for part in bins if part.records
    ]
    wide = bool(shares) and max(shares) > 30 * min(shares)
    y = linear(0, 1.15 * tallest(histograms), "records, %", last=100)
    if wide:
        powers = range(math.floor(math.log10(min(shares))), math.floor(math.log10(max(shares))) + 1)
        ticks = tuple((10.0**power, numbers.tick(10.0**power)) for power in powers)
        y = ChartAxis(min(shares) / 2, 4 * max(shares), "records, %", ticks, "log")
    words = f"threshold {numbers.risk(fact.threshold)}"
    panels = []
    for place, (name, bins, colour) in enumerate(zip(("Before", "After"), histograms, (BEFORE, AFTER), strict=True)):
        drawn = bars(bins, colour)
        lines = [mark for value in marks for mark in threshold(x, value, "" if place else words)]
        panels.append([Panel(x, y, [*drawn, *lines], name)])
    over = [view.cells.share(one.share_above, one.records) for one in (fact.initial, fact.residual)]
    return Chart(
        "combined",
        f"Two histograms of the combined score of a record. Above the threshold of {numbers.risk(fact.threshold)} lie "
        f"{over[0]} of the records before and {over[1]} after; the highest score is "
        f"{numbers.risk(fact.initial.maximum)} before and {numbers.risk(fact.residual.maximum)} after.",
        "Combined score of the records before (grey) and after (blue) "
        f"generalization{'; both axes are logarithmic' if wide else ''}. Intervals with few records are joined to a "
        "neighbour.",
        panels,
        200,
    )

"""Decoys: what recipients who compare learn, what kept classes cost, detectability, and the risk; with charts.

Counts of decoys are no counts of people; records that a copy misses are, and so are the real ones among the rows at the
highest risk.
"""

import math
from collections.abc import Iterator, Sequence

from reports import numbers
from reports.charting import Chart, Panel, line_key
from reports.document import (
    DASH,
    Block,
    Column,
    Heading,
    Paragraph,
    Row,
    Table,
    digest_text,
    figures,
    lines,
    plural,
    sentence_start,
    strong,
    text,
)
from reports.marks import (
    AFTER,
    ALARM,
    DASHED,
    DOTTED,
    EDGE,
    INK,
    ChartAxis,
    Dots,
    Label,
    Line,
    Mark,
    linear,
    rows_axis,
    vertical,
)
from reports.record_view import RecordView
from reports.sections.statistics import statistics_table
from reports.smallcell import HIDDEN
from reports.statements import missing_reasons
from tasks.decision.decoy_facts import AttemptFact, ChoiceFact, CollusionFact, DecoyFact, DetectabilityFact
from tasks.decision.gates import DECOYS_DETECTABLE
from tasks.decision.record import GateResult

_MOST_ROWS = 8
_LINES = (
    ("worst_informed", "with the population, worst set", (ALARM, 2, ""), "circle", True),
    ("worst", "worst set", (AFTER, 1.4, ""), "square", False),
    ("probability", "mean of the sets", (AFTER, 1.2, DASHED), "triangle", False),
)


def decoys(view: RecordView) -> Iterator[Block]:
    """The section; it says so where no decoys were placed."""
    fact = view.record.decoys
    if fact is None:
        unchanged = (
            "The copy holds no decoy, so that no statistic of it was changed by one. "
            if view.record.dataset.output_sha256
            else ""
        )
        yield Paragraph(
            f"{missing_reasons(view.record, 'decoys')} {unchanged}Where decoys are placed, this section says how many "
            "there are, how they change the statistics of the copy, and whether they can be distinguished from real "
            "records; they lower no figure that a gate judges."
        )
        return
    yield Paragraph(
        "Decoys are records of nobody in the data, placed among the real ones so that misuse can be traced "
        "(Antonatos et al. 2019). Their groups match real people of the population, their other values are invented, "
        "and no two recipients have the same. Whoever tries to identify people in the file, or passes it on, "
        "therefore sooner or later meets a person, or a row, to which only this copy can have led. That names the "
        "recipient; it prevents nothing, and no figure that a gate judges is lower on account of it."
    )
    classes = f" in {plural(fact.classes, 'class', 'classes')}" if fact.classes else ""
    others = (
        f"; {numbers.integer(fact.recipients)} recipients of this release have decoys in their copies"
        if fact.recipients > 1
        else ""
    )
    missing = f"{_missing_text(view, fact)} " if fact.kept_per_decoy or fact.missing else ""
    yield Paragraph(
        text(
            "The file holds {} decoy records{}{}. {}Which records are decoys is not recorded here but in a sealed "
            "manifest that only tracing opens; this commitment binds the record to it: SHA-256 {}. The recipient's "
            "certificate does not mention them.",
            numbers.integer(fact.count),
            classes,
            others,
            missing,
            digest_text(fact.commitment_sha256),
        )
    )
    if fact.collusion:
        yield from _collusion(fact)
    if fact.choice:
        yield from _costs(view, fact, fact.choice)
    gate = next((one for one in view.record.gates if one.id == DECOYS_DETECTABLE), None)
    if fact.detectability:
        yield from _detectability(view, fact.detectability, gate)
    elif gate:
        yield Heading("Whether decoys can be distinguished from real classes")
        yield Paragraph(f"{_judged_text(view, gate)} {gate.because}")
    if fact.attempts:
        yield from _attempts(view, fact, fact.attempts)
    if fact.statistics and fact.statistics.columns:
        yield Heading("What decoys change of the statistics")
        yield Paragraph(
            "The copy is compared with the same copy without decoys and with no class missing: what is left is the "
            "bias that decoys and missing classes introduce."
        )
        yield from statistics_table(
            view,
            fact.statistics,
            "Change by decoys and missing classes: of the mean, deviation, share of records that would have to "
            "change value, largest change of one value's share",
        )
        yield Paragraph(
            "Changes are given as bounds, in steps of 0.01 deviations, 0.1 standard errors and 1%: exact ones would "
            "disclose which rows are decoys. For the same reason other figures of real rows have three digits in "
            "this document, and counts of them are multiples of ten.",
            "note",
        )


def _missing_text(view: RecordView, fact: DecoyFact) -> str:
    """Records that this copy misses."""
    missing = view.left_out[1]
    if not fact.missing:
        return "This copy misses no record for other recipients' kept classes."
    if missing == HIDDEN:
        return (
            "This copy misses records for other recipients' kept classes, how many is not shown; the gates count "
            "them as suppressed."
        )
    return f"This copy misses {missing} records for other recipients' kept classes; the gates count them as suppressed."


def _collusion(fact: DecoyFact) -> Iterator[Block]:
    """Knowledge of recipients by their number; the first, the last and some between where they are many."""
    planned = fact.planned_probability
    plan = "" if planned is None else f", planned to be at most 1/(1 + t) = {numbers.risk(planned)}"
    kept = f", t = {numbers.integer(fact.kept_per_decoy)} for each decoy class" if fact.kept_per_decoy else ""
    yield Heading("Recipients who compare their copies")
    yield Paragraph(
        text(
            "A decoy class has no counterpart in any other copy, so that recipients who compare see that only one "
            "copy has it: it stands alone. Each copy therefore also keeps some real classes that are removed from "
            f"all others{kept}; they stand alone too. Of the classes that stand alone, decoys n_d and real ones n_r, "
            f"one is a decoy with the probability n_d/(n_d + n_r){plan}. One recipient alone compares nothing: all "
            "its classes stand alone. Whoever also has the population can sort by size and by the people who match, "
            "and name the kind where decoys are most frequent."
        )
    )
    last = len(fact.collusion) - 1
    places = range(last + 1)
    if last >= _MOST_ROWS:
        places = sorted({round(place * last / (_MOST_ROWS - 1)) for place in range(_MOST_ROWS)} | {1})  # type: ignore[assignment]
    rows: list[Row] = []
    for one in (fact.collusion[place] for place in places):
        sets = f"all {numbers.integer(one.sets)}" if one.exhaustive else f"{numbers.integer(one.sets)} drawn"
        alone = " + ".join(f"{mean:,.1f}".removesuffix(".0") for mean in (one.suspects_decoys, one.suspects_real))
        shares = (numbers.risk(share) for share in (one.probability, one.worst, one.informed))
        rows.append(
            (
                numbers.integer(one.colluders),
                sets,
                alone,
                *shares,
                strong(numbers.risk(one.worst_informed)),
                DASH if planned is None else numbers.risk(planned),
            )
        )
    yield Table(
        "Probability that a class which stands alone is a decoy, by the number of recipients who compare",
        (
            Column("Recipients", 11, "figure"),
            Column("Sets tried", 14, "figure"),
            Column(lines("Standing alone,", "decoys + real"), 19, "figure"),
            *figures("Mean", lines("Worst", "set"), width=11),
            *figures(lines("Mean, with", "population"), lines("Worst, with", "population"), width=12),
            Column("Planned", 10, "figure"),
        ),
        rows,
    )
    highest = numbers.risk(max(max(one.worst, one.worst_informed) for one in fact.collusion))
    if planned is None:
        yield Paragraph(f"The highest probability that any set reaches is {highest}.")
    else:
        over = [
            numbers.integer(one.colluders)
            for one in fact.collusion
            if max(one.worst, one.worst_informed) > planned + 1e-9
        ]
        if over:
            yield Paragraph(
                f"The plan of {numbers.risk(planned)} does not hold for sets of {', '.join(over)}: the probability "
                f"reaches {highest}. Such recipients identify decoys with more certainty than planned."
            )
        else:
            yield Paragraph(
                f"The plan of {numbers.risk(planned)} holds: no set that was tried does better, not even with the "
                "population."
            )
    if last >= 1:
        yield _collusion_chart(fact.collusion, planned)


def _collusion_chart(points: Sequence[CollusionFact], planned: float | None) -> Chart:
    """P(decoy) over the number of recipients who compare, beside the plan."""
    marks, keys = list[Mark](), []
    for name, label, style, shape, filled in _LINES:
        own = [(float(one.colluders), float(getattr(one, name))) for one in points]
        marks += [Line(own, *style), Dots(own, style[0], shape, filled)]
        keys.append(line_key(label, Line((), *style), Dots((), style[0], shape, filled)))
    highest = max(planned or 0.0, *(max(one.worst, one.worst_informed) for one in points)) or 1.0
    if planned is not None:
        marks.append(Line(((-EDGE, planned), (EDGE, planned)), INK, 0.8, DOTTED))
        keys.append(line_key("planned, 1/(1 + t)", Line((), INK, 0.8, DOTTED)))
    ticks = tuple((float(one.colluders), numbers.integer(one.colluders)) for one in points)
    told = "; ".join(
        f"{numbers.integer(one.colluders)}: {numbers.risk(one.probability)} on the mean, {numbers.risk(one.worst)} at "
        f"worst, {numbers.risk(one.worst_informed)} at worst with the population"
        for one in points
    )
    plan = "" if planned is None else f" The plan is {numbers.risk(planned)}."
    return Chart(
        "collusion",
        f"Lines of the probability of a decoy by the number of recipients who compare. {told}.{plan}",
        "Probability that a class which stands alone is a decoy, by the number of recipients who compare their "
        "copies: mean and worst of the sets that were tried, and the worst for recipients who also have the "
        f"population{'' if planned is None else '; dotted, the plan'}.",
        [
            [
                Panel(
                    ChartAxis(
                        points[0].colluders - 0.3,
                        points[-1].colluders + 0.3,
                        "recipients who compare their copies",
                        ticks,
                    ),
                    linear(0, min(1.05, 1.15 * highest), "probability of a decoy", last=1, grid=True),
                    marks,
                )
            ]
        ],
        150,
        keys,
    )


def _costs(view: RecordView, fact: DecoyFact, choice: ChoiceFact) -> Iterator[Block]:
    """Records that the worst-off copy misses, the least possible, and those of this copy."""

    def row(title: str, count: int) -> Row:
        return title, view.cells.count(count), view.share_in(count / view.rows_in)

    kept = (
        f"For each decoy class, each copy keeps {plural(fact.kept_per_decoy, 'real class', 'real classes')}. "
        if fact.kept_per_decoy
        else ""
    )
    proof = (
        "Proven optimal: no choice costs the worst-off copy less."
        if choice.status == "optimal"
        else "That no choice costs the worst-off copy less is not proven."
    )
    missing = view.left_out[1]
    hidden = missing not in (numbers.integer(fact.missing), view.cells.count(fact.missing))
    yield Heading("What the kept classes cost")
    yield Paragraph(
        f"{kept}They were chosen so that the worst-off copy misses as few records as possible while, among classes of "
        "one size and of about as many people who match, each decoy has its number of kept classes in the same copy. "
        f"{proof}"
    )
    yield Table(
        "Records that a copy misses for other recipients' kept classes",
        (
            Column("Copy and choice", 58),
            Column("Records", 20, "figure"),
            Column(lines("Share of those", "that came in"), 22, "figure"),
        ),
        [
            tuple(map(strong, row("Worst-off copy, as chosen", choice.worst_missing))),
            row("Worst-off copy, the least possible (proven bound)", choice.bound),
            ("This copy", missing, DASH) if hidden else row("This copy", fact.missing),
        ],
        whole=True,
    )


def _judged_text(view: RecordView, gate: GateResult) -> str:
    """Threshold of the policy, beside the measured figure."""
    shown = view.gate(DECOYS_DETECTABLE)
    if shown is None or gate.measured is None:
        return (
            "How well they can be distinguished could not be measured; the policy requires an area of "
            f"{shown.asked if shown else DASH}: failed."
        )
    which = "the greatest upper end of these intervals" if gate.interval else "the largest area"
    return (
        f"The gate judges {which}, {shown.measured}, and the policy requires {shown.asked}: "
        f"{'passed' if gate.passed else 'failed'}."
    )


def _detectability(view: RecordView, fact: DetectabilityFact, gate: GateResult | None) -> Iterator[Block]:
    rows: list[Row] = []
    for one in fact.tried:
        row = (
            sentence_start(one.view),
            one.classifier,
            numbers.fixed(one.area),
            f"{numbers.fixed(one.low)} to {numbers.fixed(one.high)}",
        )
        rows.append((strong(row[0]), f"{row[1]} (largest)", strong(row[2]), row[3]) if one == fact.worst else row)
    yield Heading("Whether decoys can be distinguished from real classes")
    yield Paragraph(
        "Classifiers were trained to distinguish decoys from real classes and tried on classes that they had not "
        "seen (Lopez-Paz and Oquab 2017): an area under the curve of 0.5 is guessing, 1 is certainty. Nobody outside "
        "has labelled decoys to learn from, so that a real intruder does worse. What the classifier sees is the "
        "file, the people who match as well, or all values too."
    )
    yield Table(
        f"Area under the ROC curve, on {numbers.integer(fact.decoys)} decoy classes drawn in the same way and "
        f"{numbers.integer(fact.real_classes)} real ones, with 95% intervals (DeLong et al. 1988)",
        (
            Column("What is seen", 34),
            Column("Classifier", 30),
            Column("Area", 16, "figure"),
            Column("95% interval", 20, "figure"),
        ),
        rows,
        whole=True,
    )
    yield _blending_chart(fact, gate)
    judged = _judged_text(view, gate) if gate else "No gate was judged on it."
    yield Paragraph(
        f"{judged} A permutation test that decoy classes have other sizes than real ones gives p = "
        f"{numbers.risk(fact.size_p_value)}; a small p would mean that their size identifies decoys."
    )


def _blending_chart(fact: DetectabilityFact, gate: GateResult | None) -> Chart:
    """Areas under the ROC curve with their intervals, beside guessing and what the policy allows."""
    names = [f"{sentence_start(one.view)}: {one.classifier}" for one in fact.tried]
    marks: list[Mark] = [vertical(0.5, INK, DOTTED), Label(0.5, 1.0, "guessing", dy=5, of_panel="y")]
    if gate is not None:
        marks += [
            vertical(gate.threshold),
            Label(gate.threshold, 1.0, f"policy {numbers.risk(gate.threshold)}", "start", dy=5, of_panel="y"),
        ]
    for row, one in enumerate(fact.tried):
        colour = ALARM if one == fact.worst else AFTER
        marks += [
            Line(((one.low, row), (one.high, row)), colour, 1.8),
            Dots(((one.area, row),), colour, radius=2.5),
            Label(one.high, row, numbers.fixed(one.area), "start", 5, size=7),
        ]
    told = "; ".join(
        f"{name} {numbers.fixed(one.area)}, interval {numbers.fixed(one.low)} to {numbers.fixed(one.high)}"
        for name, one in zip(names, fact.tried, strict=True)
    )
    allowed = "" if gate is None else f" The policy allows {numbers.risk(gate.threshold)}."
    x = linear(
        min(0.4, *(one.low - 0.02 for one in fact.tried)),
        1.0,
        "area under the ROC curve: 0.5 is guessing, 1 is certainty",
    )
    return Chart(
        "blending",
        f"Dot chart of the area under the ROC curve by what is seen and classifier. {told}.{allowed}",
        "How well decoys blend in: area under the ROC curve of each classifier with its 95% interval (orange: the "
        "largest). Where an interval holds 0.5 the classifier may as well guess.",
        [[Panel(x, rows_axis(names), marks, " ")]],
        52 + 16 * len(names),
    )


def _attempts(view: RecordView, fact: DecoyFact, attempts: AttemptFact) -> Iterator[Block]:
    """Identity risk of the people in the data, and the risk read by an intruder who takes decoys for real."""
    yield Heading("Risk of the people in the data")
    yield Paragraph(
        "Decoys lie in cells without a record of the data, so that they change the risk of no person in it. They "
        "change what an intruder finds."
    )
    yield Table(
        "Risk of a record by the people who match it",
        (Column("Risk", 60), *figures("Highest", "Mean", width=20)),
        [
            (
                strong("People in the data, with and without decoys (judged)"),
                strong(numbers.risk(attempts.subjects_maximum)),
                numbers.risk(attempts.subjects_mean),
            ),
            (
                "As it looks to somebody who takes decoys for real",
                numbers.risk(attempts.shown_maximum),
                numbers.risk(attempts.shown_mean),
            ),
        ],
        whole=True,
    )
    yield Paragraph(
        f"If every row is attacked at random, {numbers.risk(attempts.success)} of the attempts identify a person of "
        f"the data; without decoys it would be {numbers.risk(attempts.subjects_mean)}. Of the rows at the highest "
        f"risk of a person of the data or above it, where an attack begins, {_lured(view, fact, attempts.lured)} are "
        "decoys."
    )


def _lured(view: RecordView, fact: DecoyFact, lured: float) -> str:
    """Share of decoys at the highest risk in whole percent; beside so many decoys it must not disclose few records."""
    if lured in (0, 1):
        return numbers.percent(lured)
    if fact.count * (1 - lured) / lured < view.cells.limit:
        return f"over {math.floor(100 * fact.count / (fact.count + view.cells.limit))}%"
    return "under 1%" if lured < 0.01 else f"{min(round(100 * lured), 99)}%"

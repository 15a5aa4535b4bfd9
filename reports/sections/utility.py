"""Utility: loss by the measures of the field, changes of numbers and associations, clustering, classification."""

from collections.abc import Iterator

from reports import numbers
from reports.charting import Chart, Panel, box_key, line_key
from reports.document import (
    DASH,
    Block,
    Column,
    Heading,
    Paragraph,
    Table,
    figures,
    lines,
    sentence_start,
    strong,
    text,
)
from reports.levels import LevelRow, level_rows
from reports.marks import (
    AFTER,
    ALARM,
    BAND,
    BLUES,
    FAINT,
    INK,
    REMOVED,
    Bold,
    Box,
    ChartAxis,
    Dots,
    Label,
    Line,
    Mark,
    linear,
    percent_axis,
    rows_axis,
    text_width,
    vertical,
)
from reports.methods import masking_method
from reports.record_view import RecordView
from reports.sections.linkage import INFORMED, UNINFORMED, drawn_share, linked_marks
from reports.sections.statistics import statistics_table
from tasks.assessments.identity.facts import FieldFact
from tasks.assessments.utility.facts import (
    AssociationFact,
    ClassificationFact,
    CurvePointFact,
    MaskingCurve,
    UtilityFact,
)
from tasks.request.model import Role

_ASSOCIATIONS = 5
"""Associations that are shown: those that changed most."""


def utility(view: RecordView) -> Iterator[Block]:
    """The section; it says so where nothing was measured."""
    record, cells = view.record, view.cells
    if record.risk is None:
        yield Paragraph(
            "No utility was measured, because no file was made whose statistics could be compared with those of the "
            "data as collected. Section 12 says why the release stopped before."
        )
        return
    game = record.risk.game
    chosen = next(one for one in game.outcomes if one.chosen)
    masked = (
        f"{', '.join(view.masked)} {'was' if len(view.masked) == 1 else 'were'} masked; the other columns that are not"
        if view.masked
        else "Columns that are not"
    )
    yield Paragraph(
        text(
            "Utility is measured as the information that generalization leaves: for a record 1 − IL(g)/IL_max, the "
            "same loss that the game weighs (Wan et al. 2015, eq. 2 and 3), and for one attribute the same with that "
            "attribute alone. 100% is the file as collected, 0% is all quasi-identifiers removed. {} "
            "quasi-identifiers are released unchanged.",
            masked,
        )
    )
    yield Table(
        "Utility of the whole file, as the method applied gives it",
        (Column("Measure", 44), Column("Unit", 24), *figures("As collected", "As released", width=16)),
        [
            ("Information kept", "mean over records", "100%", strong(numbers.percent(chosen.information_kept))),
            (
                "Released as collected, every quasi-identifier",
                "share of records",
                "100%",
                view.share_in(chosen.most_specific_share),
            ),
            ("Generalization intensity (eq. 5)", "0 none to 1 all", "0", numbers.risk(chosen.mean_generalization)),
            ("Records", "records", cells.count(view.rows_in), cells.part(view.released, view.rows_in)),
        ],
        whole=True,
    )
    if game.suppressed_records:
        when = "suppression"
        if game.k_anonymity or game.budget:
            when = (
                f"a minimum class size is applied; records that {'k-anonymity' if game.k_anonymity else 'the budget'} "
                "suppresses count as withheld in every attribute"
            )
        yield Paragraph(
            f"The figures of this table but the last are those before {when}; the gate “information kept” counts a "
            "suppressed record as nothing kept.",
            "note",
        )
    quasi = [field for field in record.fields if field.information_kept is not None]
    levelled = [field for field in quasi if field.records_per_level]
    if quasi:
        yield _information_chart(quasi)
    if levelled:
        yield _levels_chart(view, levelled)
        yield Table(
            "Records by level of generalization",
            (Column("Attribute", 20), Column("Level", 44), *figures("Groups", "Records", width=18)),
            groups=[
                [
                    ("" if place else strong(field.name), row.name, row.groups, row.shown)
                    for place, row in enumerate(level_rows(view, field))
                ]
                for field in view.fields(Role.QUASI)
                if field.records_per_level
            ],
            whole=True,
        )
    if record.utility is None:
        yield Paragraph(
            "Loss by the measures of the field, changes of associations, clustering and classification were not "
            "measured: the stage did not finish."
        )
    else:
        yield from _losses(view, record.utility)
        yield from _analyses(view, record.utility)
    if record.statistics and record.statistics.columns:
        included = ", decoys included" if record.decoys else ""
        yield Heading("Statistics of the copy")
        yield Paragraph(
            f"The file as this recipient would receive it{included}, is compared with the data as collected, column "
            "by column. A change of a mean by much less than one standard error is smaller than the sampling error."
        )
        yield from statistics_table(
            view,
            record.statistics,
            "Statistics of the copy against the data as collected: change of the mean, deviation, share of records "
            "that would have to change value, largest change of one value's share",
        )


def _loss(view: RecordView, loss: float | None) -> str:
    """A loss, so coarse that few suppressed records are not disclosed: each of them loses everything."""
    if loss is None:
        return DASH
    return view.stepped_in(loss) if view.few_suppressed else numbers.percent(loss)


def _moved(view: RecordView, share: float) -> str:
    """A share of the records that would have to change value; few of them, or few suppressed, are not disclosed."""
    return view.stepped_in(share) if view.few_suppressed else view.share_out(share)


def _losses(view: RecordView, fact: UtilityFact) -> Iterator[Block]:
    file = fact.file
    yield Heading("Loss by the measures of the field")
    yield Paragraph(
        "Three measures quantify what generalization loses, so that the figures compare with those of other "
        "programs. The loss of ARX (Iyengar 2002; Prasser et al. 2014) is the mean share of an attribute's other "
        "values that a released group includes. Non-uniform entropy (Gionis and Tassa 2007) weighs values by how "
        "frequent they are: it is the uncertainty about a value that its group leaves, over the uncertainty when all "
        "is withheld. The certainty penalty (Ghinita et al. 2007) is the mean size of the group over that of the "
        "domain, 0 for a value as collected. Over all attributes the first is a geometric mean as in ARX, the others "
        "are means. A suppressed record loses everything."
    )
    rows = [
        (strong(one.name), *(_loss(view, loss) for loss in (one.loss, one.entropy, one.certainty_penalty)))
        for one in fact.attributes
    ]
    yield Table(
        "Information lost by generalization and suppression: 0% is the file as collected, 100% is nothing left",
        (
            Column("Attribute", 34),
            *figures("Loss (ARX)", lines("Non-uniform", "entropy"), lines("Certainty", "penalty (GCP)"), width=22),
        ),
        [
            *rows,
            (
                strong("All of them"),
                *(strong(_loss(view, loss)) for loss in (file.loss, file.entropy, file.certainty_penalty)),
            ),
        ],
        whole=True,
    )
    before = "" if file.original_class_size is None else f", {numbers.risk(file.original_class_size)} in the source"
    discernibility = (
        "Discernibility is not shown, since few records were suppressed. The losses are rounded coarsely for the "
        "same reason."
    )
    if not view.few_suppressed:
        share = (
            ""
            if file.discernibility_share is None
            else f", {numbers.percent(file.discernibility_share)} of the way from the source to everything withheld"
        )
        discernibility = (
            "Discernibility, the sum of the squared class sizes where a suppressed record counts all records, is "
            f"{numbers.risk(file.discernibility)}{share}."
        )
    yield Paragraph(
        f"The average class holds {numbers.risk(file.average_class_size)} records{before}. {discernibility}"
    )
    moved = {one.name: _moved(view, one.total_variation) for one in fact.marginals}
    if fact.numeric:
        yield Table(
            "Masked attributes: changes in standard deviations of the original, Kolmogorov–Smirnov distance (0 to "
            "1), share of records that would have to change value to undo it, mean change of a value over √2 "
            "deviations",
            (
                Column("Attribute", 22),
                Column("Mean", 12, "figure"),
                Column(lines("Deviation,", "after/before"), 14, "figure"),
                Column(lines("Deciles,", "median"), 12, "figure"),
                Column(lines("Distribution", "(K–S)"), 14, "figure"),
                *figures(lines("Records", "moved"), lines("A value", "(IL1s)"), width=13),
            ),
            [
                (
                    strong(one.name),
                    *(
                        numbers.fixed_or_dash(value, 4)
                        for value in (one.mean, one.deviation_ratio, one.deciles, one.distribution)
                    ),
                    moved.pop(one.name, DASH),
                    numbers.fixed_or_dash(one.displacement, 4),
                )
                for one in fact.numeric
            ],
            whole=True,
        )
    if moved:
        listed = ", ".join(f"{name} {share}" for name, share in moved.items())
        yield Paragraph(
            "Because records were suppressed, the values of the others are distributed differently. The share of "
            f"these records that would have to change value: {listed}."
        )
    if fact.curves:
        yield _curves_chart(view, fact)


def _change(fact: AssociationFact) -> float:
    return -1.0 if fact.before is None or fact.after is None else abs(fact.after - fact.before)


def _analyses(view: RecordView, fact: UtilityFact) -> Iterator[Block]:
    """What analyses find in both files."""
    shown = sorted(fact.associations, key=_change, reverse=True)[:_ASSOCIATIONS]
    said = ["The same analyses are made of the data as collected and of the released file."]
    if shown:
        said.append(
            "An association of two attributes is measured by the correlation where both are numbers, from −1 to 1, "
            "and else by Cramér's V, corrected for bias (Bergsma 2013), from 0 for none to 1."
        )
    if fact.clustering:
        said.append(
            "k-means (Lloyd 1982) groups the records of both files, and the two groupings are compared by pairs of "
            "records: the share of pairs on which they agree (Rand 1971), and the share of pairs together in both "
            "among those together in either (Jaccard); the original clustered twice from different starts shows what "
            "k-means itself leaves open."
        )
    if fact.classification:
        said.append(
            "Classifiers learn to predict one attribute from the others and are tried on records of the same file "
            "that were held out, the same ones for both files (Torra 2016, slide 69)."
        )
    if len(said) > 1:
        yield Heading("What analyses find")
        yield Paragraph(" ".join(said))
    if shown:
        most = (
            f"; the {numbers.integer(len(shown))} that changed most of {numbers.integer(len(fact.associations))}"
            if len(fact.associations) > len(shown)
            else ""
        )
        yield Table(
            f"Associations of two attributes, before and after{most}",
            (Column("Attributes", 46), Column("Measure", 24), *figures("Before", "After", width=15)),
            [
                (
                    " and ".join(one.attributes),
                    one.measure,
                    numbers.fixed_or_dash(one.before, 3),
                    numbers.fixed_or_dash(one.after, 3),
                )
                for one in shown
            ],
            whole=True,
        )
    if any(
        one.measure != "correlation" and (one.after or 0.0) > (one.before or 0.0) and _change(one) >= 0
        for one in fact.associations
    ):
        yield Paragraph(
            "Where records are generalized each by itself, the level is part of a released value, so that V may "
            "rise: a distortion as much as a fall.",
            "note",
        )
    if fact.clustering:
        made, itself = fact.clustering, ""
        if made.repeated_rand is not None and made.repeated_f_measure is not None:
            itself = (
                " The original clustered anew from another start agrees with itself by "
                f"{numbers.percent(made.repeated_rand)} (Rand), F {numbers.fixed(made.repeated_f_measure)}."
            )
        yield Paragraph(
            f"k-means with {numbers.integer(made.clusters)} clusters on {view.cells.count(made.records)} records of "
            f"both files: of the pairs of records, the two clusterings agree on {numbers.percent(made.rand)} (Rand); "
            f"of those together in either, {numbers.percent(made.jaccard)} are together in both (Jaccard); F is "
            f"{numbers.fixed(made.f_measure)}.{itself}"
        )
    if fact.classification and fact.classification.classifiers:
        yield _classifiers(view, fact.classification)
    if fact.not_measured:
        entries = text("; ").join(text("**{}** ({})", one.measure, one.reason.rstrip(".")) for one in fact.not_measured)
        yield Paragraph(text("Not measured: {}.", entries), "note")


def _classifiers(view: RecordView, fact: ClassificationFact) -> Table:
    """Accuracy of the classifiers; a share of the records held out stands for a count of them."""
    cells, tested = view.cells, fact.tested

    def accuracy(share: float, low: float, high: float) -> str:
        words = cells.share(share, tested)
        return words if cells.bounded(share, tested) != share else f"{words} ({numbers.percent_range(low, high)})"

    majority = cells.share(fact.majority, tested)
    return Table(
        f"Classifiers that predict {fact.target} ({numbers.integer(fact.classes)} classes) from the other attributes: "
        f"accuracy on {cells.count(tested)} records held out, with 95% intervals",
        (
            Column("Classifier", 28),
            Column(lines("Records", "learned from"), 16, "figure"),
            *figures("Original file", "Released file", width=28),
        ),
        [
            *(
                (
                    strong(sentence_start(one.name)),
                    cells.count(one.trained),
                    accuracy(one.original, one.original_low, one.original_high),
                    accuracy(one.released, one.released_low, one.released_high),
                )
                for one in fact.classifiers
            ),
            ("Always the commonest class", DASH, majority, majority),
        ],
        whole=True,
    )


def _information_chart(fields: list[FieldFact]) -> Chart:
    """Information kept by each quasi-identifier."""
    kept = [(field.name, field.information_kept or 0.0) for field in fields]
    marks: list[Mark] = []
    for row, (_, share) in enumerate(kept):
        place = (row - 0.28, row + 0.28)
        marks += [
            Box((0, 100), place, BAND),
            Box((0, 100 * share), place, AFTER),
            Label(100, row, numbers.percent(share), "start", 4, size=7),
        ]
    told = "; ".join(f"{name} {numbers.percent(share)}" for name, share in kept)
    return Chart(
        "information",
        f"Bar chart of the information kept by quasi-identifier: {told}.",
        "Information kept by quasi-identifier, averaged over the released records; 100% is the value as collected.",
        [
            [
                Panel(
                    percent_axis("information kept, %", room=112, every=25),
                    rows_axis([name for name, _ in kept]),
                    marks,
                )
            ]
        ],
        32 + 17 * len(kept),
    )


def _levels_chart(view: RecordView, fields: list[FieldFact]) -> Chart:
    """Records by level of generalization, one bar a quasi-identifier; parts that may not be shown drawn as one."""
    marks, told = list[Mark](), []
    for row, field in enumerate(fields):
        start, words = 0.0, []
        for label, share, colour in _level_parts(level_rows(view, field)):
            hatched = colour == "white"
            marks.append(
                Box(
                    (start, start + share),
                    (row - 0.3, row + 0.3),
                    colour,
                    FAINT if hatched else "white",
                    hatch=FAINT if hatched else "",
                )
            )
            if text_width(label, 6.5) + 6 < 4 * share:
                marks.append(
                    Label(start + share / 2, row, label, colour="white" if colour in BLUES[:2] else INK, halo=hatched)
                )
            words.append(label if hatched else f"{label} {numbers.percent(share / 100)}")
            start += share
        told.append(f"{field.name}: {', '.join(words)}")
    return Chart(
        "levels",
        f"Stacked bars of the records by level of generalization. {'; '.join(told)}.",
        "Records by level of generalization, finest level darkest. Levels with too few records to show, and what "
        "would disclose them, are drawn together, hatched.",
        [[Panel(percent_axis("records that came in, %"), rows_axis([field.name for field in fields]), marks)]],
        32 + 20 * len(fields),
    )


def _level_parts(rows: tuple[LevelRow, ...]) -> Iterator[tuple[str, float, str]]:
    """Words, percent and colour of each part of a bar; white is hatched."""
    total, hidden = sum(row.records for row in rows), sum(row.records for row in rows if row.is_hidden)
    for place, row in enumerate(rows):
        if row.records and not row.is_hidden:
            coarse = row.groups in {"1", DASH}
            yield row.name, 100 * row.records / total, REMOVED if coarse else BLUES[min(place, len(BLUES) - 1)]
    if hidden:
        yield "too few to show", 100 * hidden / total, "white"


def _curves_chart(view: RecordView, fact: UtilityFact) -> Chart:
    """Risk against utility of each masking as its parameter varies."""
    cells = view.cells

    def told(curve: MaskingCurve) -> str:
        points = ", ".join(
            f"{curve.parameter} {numbers.setting(one.strength)}{' (applied)' if one.chosen else ''}: change "
            f"{numbers.fixed(one.displacement, 4)}, linked {cells.share(one.informed, curve.people)} informed, "
            f"{cells.share(one.uninformed, curve.people)} uninformed"
            for one in curve.points
        )
        return f"{masking_method(curve.method).title} of {' and '.join(curve.attributes)}: {points}"

    panels = [_curve_panel(view, curve) for curve in fact.curves]
    rows = [panels[start : start + 3] for start in range(0, len(panels), 3)]
    return Chart(
        "curves",
        f"Risk–utility curves. {'; '.join(map(told, fact.curves))}.",
        "Risk and loss of each masking as its parameter varies: people linked by the masked attributes, against the "
        "mean change of a value in units of √2 standard deviations (IL1s). The strength applied is shaded. Hatched: "
        f"fewer than {numbers.integer(cells.limit)} people, or none.",
        rows,
        24 + 126 * len(rows),
        [
            line_key("informed intruder", Line((), *INFORMED), Dots((), ALARM)),
            line_key("uninformed, by distance", Line((), *UNINFORMED), Dots((), AFTER, filled=False)),
            box_key("strength applied", BAND),
        ],
    )


def _curve_panel(view: RecordView, curve: MaskingCurve) -> Panel:
    points = sorted(curve.points, key=lambda point: point.displacement)
    shares = [
        (
            one.displacement,
            drawn_share(one.informed, curve.people, view.cells),
            drawn_share(one.uninformed, curve.people, view.cells),
        )
        for one in points
    ]
    edge, top = drawn_share(0.0, curve.people, view.cells), max(max(both) for _, *both in shares)
    width = points[-1].displacement - points[0].displacement or points[0].displacement or 1.0
    marks: list[Mark] = [vertical(one.displacement, BAND, "", 9) for one in points if one.chosen]
    marks += linked_marks(shares, edge)
    labelled: list[CurvePointFact] = []
    for one in sorted(points, key=lambda point: (not point.chosen, -point.displacement)):
        if all(abs(one.displacement - other.displacement) >= 0.16 * width for other in labelled):
            labelled.append(one)
            words = f"{curve.parameter} {numbers.setting(one.strength)}"
            high = max(next(both for x, *both in shares if x == one.displacement))
            marks.append(Label(one.displacement, high, Bold(words) if one.chosen else words, dy=7, size=6, halo=True))
    names = ", ".join(curve.attributes)
    title = f"{masking_method(curve.method).title}\n{names if len(names) < 40 else names[:37] + '…'}"
    low = points[0].displacement - 0.1 * width
    x = linear(
        max(low, 0.0) if points[0].displacement >= 0.1 * width else -0.1 * width,
        points[-1].displacement + 0.1 * width,
        "mean change of a value, IL1s",
    )
    ticks = tuple(tick for tick in x.ticks if tick[0] >= 0)
    return Panel(
        ChartAxis(x.low, x.high, x.title, ticks),
        linear(0, max(3 * edge, 1.25 * top), "people linked, %", last=100, grid=True),
        marks,
        title,
    )

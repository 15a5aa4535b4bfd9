"""Utility: loss by the measures of the field, changes of numbers and associations, clustering, classification."""

from collections.abc import Iterator

from reports.model import numbers
from reports.model.document import (
    DASH,
    Block,
    Heading,
    Paragraph,
    Row,
    Table,
    named,
    said,
    sentence_start,
    strong,
    text,
)
from reports.model.methods import masking_method
from reports.model.record_view import FileView, RecordView
from reports.model.smallcell import HIDDEN
from reports.sections.statistics import statistics_table
from tasks.assessments.identity.facts import FieldFact
from tasks.assessments.utility.facts import (
    AssociationFact,
    ClassificationFact,
    ClusteringFact,
    MaskingCurve,
    UtilityFact,
)
from tasks.request.model import Method, Role

_MOST_ASSOCIATIONS = 10
"""Pairs of attributes that are shown; the record has them all."""


def utility(view: RecordView) -> Iterator[Block]:
    """The section; it says so where nothing was measured."""
    record, cells = view.record, view.cells
    if record.risk is None:
        yield (
            "No utility was measured, because no file was made whose statistics could be compared with those of the "
            "data as collected (section E10)."
        )
        return
    game = record.risk.game
    chosen = next(one for one in game.outcomes if one.chosen)
    masked = "Columns that are not"
    if view.masked:
        verb = "was" if len(view.masked) == 1 else "were"
        masked = f"{named(view.masked)} {verb} masked; the other columns that are not"
    yield text(
        "Utility is measured as the information that generalization leaves: for a record 1 − IL(g)/IL_max, the same "
        "loss that the game weighs (Wan et al. 2015, eq. 2 and 3), and for one attribute the same with that attribute "
        "alone. 100% is the file as collected, 0% is all quasi-identifiers removed. {} quasi-identifiers are released "
        "unchanged.",
        masked,
    )
    specific = view.most_specific(chosen.most_specific_share)
    yield Table(
        "Utility of the whole file, as the method applied gives it",
        "Measure 44 | Unit 24 | As collected 16r | As released 16r",
        [
            ("Information kept", "mean over records", "100%", strong(numbers.percent(chosen.information_kept))),
            ("Released as collected, every quasi-identifier", "share of records", "100%", specific),
            ("Generalization intensity (eq. 5)", "0 none to 1 all", "0", numbers.risk(chosen.mean_generalization)),
            ("Records", "records", cells.count(view.rows_in), cells.part(view.released, view.rows_in)),
        ],
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
    quasi = [
        field for field in view.fields(Role.QUASI) if field.information_kept is not None or field.records_per_level
    ]
    if quasi:
        partition = (one for one in game.outcomes if one.method == Method.NO_ATTACK_PARTITION and not one.chosen)
        whole = next((one.exact_values for one in partition), {})
        yield Table(
            "Quasi-identifiers: information kept, averaged over the released records, and records by level of "
            "generalization, as shares of those that came in"
            + ("; beside the share that the best partition into whole cells leaves as collected" if whole else ""),
            "Attribute 24 | Level 29 | Groups 10r | Records 14r | Share 11r" + " | Whole cells 12r" * bool(whole),
            groups=[_levels(view, field, whole) for field in quasi],
        )
    if record.utility is None:
        yield (
            "Loss by the measures of the field, changes of associations, clustering and classification were not "
            "measured: the stage did not finish."
        )
    else:
        yield from measured(view, record.utility)
    if record.statistics and record.statistics.columns:
        included = " (decoys included)" if record.decoys else ""
        yield Heading("Statistics of the copy")
        yield (
            f"The file as this recipient would receive it{included} is compared with the data as collected, column by "
            "column. A change of a mean by much less than one standard error is smaller than the sampling error."
        )
        yield from statistics_table(
            view,
            record.statistics,
            "Statistics of the copy against the data as collected",
        )


def _levels(view: RecordView, field: FieldFact, whole: dict[str, float]) -> list[Row]:
    kept = "" if field.information_kept is None else f", {view.kept(field)} kept"
    first, beside = text("{}{}", strong(field.name), kept), [DASH] * bool(whole)
    if not field.records_per_level:
        return [(first, *[DASH] * 4, *beside)]
    rows: list[Row] = []
    counts = (*field.records_per_level, view.rows_in - view.released)
    for row, count in zip(level_rows(view, field), counts, strict=False):
        share = view.share_in(count / view.rows_in) if row[-1] == numbers.integer(count) else HIDDEN
        rows.append(("" if rows else first, *row, share, *beside))
    if field.name in whole:
        rows[0] = (*rows[0][:-1], view.share_in(whole[field.name]))
    return rows


def level_rows(view: RecordView, field: FieldFact) -> list[Row]:
    """Name, groups and records of an attribute's levels, and those suppressed, which would follow from the others."""
    decoys, suppressed = view.record.decoys, view.rows_in - view.released
    counts = (*field.records_per_level, suppressed)
    names = (*field.levels, "record left out" if decoys and decoys.missing else "record suppressed")
    groups = (*map(numbers.integer, field.groups_per_level), DASH)
    rows: list[Row] = list(zip(names, groups, view.cells.breakdown(counts), strict=True))
    return rows if suppressed else rows[:-1]


def _loss(view: FileView, loss: float | None) -> str:
    """A loss, so coarse that few suppressed records are not disclosed: each of them loses everything."""
    if loss is None:
        return DASH
    return view.stepped_in(loss) if view.few_suppressed else numbers.percent(loss)


def measured(view: FileView, fact: UtilityFact) -> Iterator[Block]:
    """Losses, and what analyses of both files find; of the associations, those that changed most."""
    yield from _losses(view, fact)
    yield from _analyses(view, fact)


def _losses(view: FileView, fact: UtilityFact) -> Iterator[Block]:
    file = fact.file
    yield Heading("Loss by the measures of the field")
    yield (
        "The loss of ARX (Iyengar 2002; Prasser et al. 2014) is the mean share of an attribute's other values that a "
        "released group includes. Non-uniform entropy (Gionis and Tassa 2007) weighs values by how frequent they are: "
        "it is the uncertainty about a value that its group leaves, over the uncertainty when all is withheld. The "
        "certainty penalty (Ghinita et al. 2007) is the mean size of the group over that of the domain, 0 for a value "
        "as collected. Over all attributes the first is a geometric mean as in ARX, the others are means. A suppressed "
        "record loses everything."
    )
    yield Table(
        "Information lost by generalization and suppression: 0% is the file as collected, 100% is nothing left",
        "Attribute 34 | Loss (ARX) 22r | Non-uniform entropy 22r | Certainty penalty (GCP) 22r",
        [
            (name, *(_loss(view, loss) for loss in losses))
            for name, *losses in (
                *((one.name, one.loss, one.entropy, one.certainty_penalty) for one in fact.attributes),
                (strong("All of them"), file.loss, file.entropy, file.certainty_penalty),
            )
        ],
    )
    before = "" if file.original_class_size is None else f", {numbers.risk(file.original_class_size)} in the source"
    discernibility = (
        "Discernibility is not shown, since few records were suppressed. The losses are rounded coarsely for the same "
        "reason."
    )
    if not view.few_suppressed:
        share = file.discernibility_share
        way = "" if share is None else f", {numbers.percent(share)} of the way from the source to everything withheld"
        discernibility = (
            "Discernibility, the sum of the squared class sizes where a suppressed record counts all records, is "
            f"{numbers.risk(file.discernibility)}{way}."
        )
    average = f"The average class holds {numbers.risk(file.average_class_size)} records{before}."
    yield Paragraph(f"{average} {discernibility}")
    # Few of the records that would have to change value, or few suppressed, are not disclosed.
    write = view.stepped_in if view.few_suppressed else view.share_out
    moved = {one.name: write(one.total_variation) for one in fact.marginals}
    if fact.numeric:
        yield Table(
            "Masked attributes: changes in standard deviations of the original, Kolmogorov–Smirnov distance (0 to 1), "
            "share of records that would have to change value to undo it, mean change of a value over √2 deviations",
            "Attribute 22 | Mean 12r | Deviation, after/before 14r | Deciles, median 12r | Distribution (K–S) 14r | "
            "Records moved 13r | A value (IL1s) 13r",
            [
                (
                    one.name,
                    *(
                        numbers.fixed_or_dash(value, 4)
                        for value in (one.mean, one.deviation_ratio, one.deciles, one.distribution)
                    ),
                    moved.pop(one.name, DASH),
                    numbers.fixed_or_dash(one.displacement, 4),
                )
                for one in fact.numeric
            ],
        )
    if moved:
        shares = ", ".join(f"{name} {share}" for name, share in moved.items())
        yield Paragraph(
            "Because records were suppressed, the values of the others are distributed differently. The share of these "
            f"records that would have to change value: {shares}."
        )
    if fact.curves:
        yield Table(
            "Each masking at other strengths: mean change of a value in units of √2 standard deviations (IL1s), and "
            "people linked by the masked attributes",
            "Masking and strength 46 | Change, IL1s 16r | Linked, uninformed 19r | Linked, informed 19r",
            groups=[_curve(view, curve) for curve in fact.curves],
        )


def _curve(view: FileView, curve: MaskingCurve) -> list[Row]:
    rows: list[Row] = [(strong(f"{masking_method(curve.method).title}: {', '.join(curve.attributes)}"),)]
    for one in sorted(curve.points, key=lambda point: point.displacement):
        row = (
            f"{curve.parameter} {numbers.setting(one.strength)}{' (applied)' if one.chosen else ''}",
            numbers.fixed(one.displacement, 4),
            *(view.cells.share(share, curve.people) for share in (one.uninformed, one.informed)),
        )
        rows.append(tuple(map(strong, row)) if one.chosen else row)
    return rows


def _change(fact: AssociationFact) -> float:
    return -1.0 if fact.before is None or fact.after is None else abs(fact.after - fact.before)


def _analyses(view: FileView, fact: UtilityFact) -> Iterator[Block]:
    shown = sorted(fact.associations, key=_change, reverse=True)[:_MOST_ASSOCIATIONS]
    if shown or fact.clustering or fact.classification:
        yield Heading("Analyses of both files")
    if shown:
        count = f"the {numbers.integer(len(shown))} that changed most of {numbers.integer(len(fact.associations))}"
        yield Table(
            "Associations of two attributes: the correlation of two masked numbers, from −1 to 1; the correlation "
            "ratio (Kelley 1935) of a number with a quasi-identifier; else Cramér's V (Bergsma 2013); the last two "
            f"corrected for bias, from 0 for none to 1{f'; {count}' if len(fact.associations) > len(shown) else ''}",
            "Attributes 46 | Measure 24 | Before 15r | After 15r",
            [
                (
                    " and ".join(one.attributes),
                    one.measure,
                    numbers.fixed_or_dash(one.before, 3),
                    numbers.fixed_or_dash(one.after, 3),
                )
                for one in shown
            ],
        )
    if any(
        one.measure != "correlation" and (one.after or 0.0) > (one.before or 0.0) and _change(one) >= 0
        for one in fact.associations
    ):
        yield Paragraph(
            "A group counts as a value of its own, and so does each level where records are generalized one by one. "
            "A figure may therefore rise, which is as much a distortion as a fall.",
            "note",
        )
    if fact.clustering:
        yield Paragraph(_clusters(view, fact.clustering))
    if fact.classification and fact.classification.classifiers:
        yield _classifiers(view, fact.classification)
    if fact.not_measured:
        entries = text("; ").join(text("**{}** ({})", one.measure, one.reason.rstrip(".")) for one in fact.not_measured)
        yield Paragraph(text("Not measured: {}.", entries), "note")


def _clusters(view: FileView, made: ClusteringFact) -> str:
    itself = None
    if made.repeated_rand is not None and made.repeated_f_measure is not None:
        itself = (
            f"Two clusterings of the original from different starts agree by {numbers.percent(made.repeated_rand)} "
            f"(Rand), F {numbers.fixed(made.repeated_f_measure)}: the variation of k-means itself."
        )
    return said(
        f"k-means (Lloyd 1982) with {numbers.integer(made.clusters)} clusters on {view.people_out(made.records)} "
        f"records of both files: of the pairs of records, the two clusterings agree on {numbers.percent(made.rand)} "
        f"(Rand 1971); of those together in either, {numbers.percent(made.jaccard)} are together in both (Jaccard); F "
        f"is {numbers.fixed(made.f_measure)}.",
        itself,
    )


def _classifiers(view: FileView, fact: ClassificationFact) -> Table:
    """Accuracy of the classifiers; a share of the records held out stands for a count of them."""
    cells, tested = view.cells, fact.tested

    def accuracy(share: float, low: float, high: float) -> str:
        words = cells.share(share, tested)
        return words if cells.bounded(share, tested) != share else f"{words} ({numbers.percent_range(low, high)})"

    majority = cells.share(fact.majority, tested)
    return Table(
        f"Classifiers that predict {fact.target} ({numbers.integer(fact.classes)} classes) from the other attributes "
        f"(Torra 2016): accuracy on the same {view.people_out(tested)} records held out of both files, with "
        "95% intervals",
        "Classifier 28 | Records learned from 16r | Original file 28r | Released file 28r",
        [
            *(
                (
                    sentence_start(one.name),
                    view.people_out(one.trained),
                    accuracy(one.original, one.original_low, one.original_high),
                    accuracy(one.released, one.released_low, one.released_high),
                )
                for one in fact.classifiers
            ),
            ("Always the commonest class", DASH, majority, majority),
        ],
    )

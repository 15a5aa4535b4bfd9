"""Terminal output of ``releasegate assess utility``."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from flows.cli.tables import between, listing, untitled_table
from reports import numbers
from tasks.assessments.utility.facts import (
    AssociationFact,
    ClassificationFact,
    ClusteringFact,
    MaskingCurve,
    NumericChangeFact,
    UtilityFact,
)

_MOST_PAIRS = 10


def utility_tables(who: str, fact: UtilityFact) -> tuple[RenderableType, ...]:
    """Losses, changes of numbers and associations, what analyses find, curves, and what was not measured."""
    parts: list[RenderableType] = [_losses(who, fact)]
    if fact.numeric:
        parts.append(_numeric(fact.numeric))
    if fact.associations:
        parts.append(_associations(fact.associations))
    if fact.marginals:
        rows = ((one.name, numbers.percent(one.total_variation)) for one in fact.marginals)
        parts.append(listing("Records that would have to change value", ("attribute",), ("share",), rows))
    if fact.clustering:
        parts.append(_clustering(fact.clustering))
    if fact.classification:
        parts.append(_classification(fact.classification))
    parts += map(_curve, fact.curves)
    if fact.not_measured:
        lines = (f"Not measured: {one.measure}. {one.reason}." for one in fact.not_measured)
        parts.append(Text("\n".join(lines)))
    return tuple(parts)


def _losses(who: str, fact: UtilityFact) -> Group:
    file = fact.file
    original = "" if file.original_class_size is None else f", {_figure(file.original_class_size)} before"
    spread = (
        "" if file.discernibility_share is None else f" ({numbers.percent(file.discernibility_share)} of its range)"
    )
    table = untitled_table(("attribute",), ("loss", "entropy", "certainty"))
    for one in fact.attributes:
        table.add_row(one.name, _share(one.loss), _share(one.entropy), _share(one.certainty_penalty))
    table.add_row("the file", _share(file.loss), _share(file.entropy), _share(file.certainty_penalty), style="bold")
    return between(
        f"{who}: what generalization loses",
        table,
        "loss: ARX's; entropy: non-uniform; certainty: normalized certainty penalty\n"
        f"{fact.records:,} records released, {fact.suppressed:,} suppressed; "
        f"{_figure(file.average_class_size)} records to a class{original}; "
        f"discernibility {_figure(file.discernibility)}{spread}",
    )


def _numeric(facts: Sequence[NumericChangeFact]) -> Group:
    rows = (
        (one.name, *map(_figure, (one.mean, one.deviation_ratio, one.deciles, one.distribution, one.displacement)))
        for one in facts
    )
    return listing(
        "What masking changes of numbers",
        ("attribute",),
        ("mean", "deviation", "deciles", "distribution", "IL1s"),
        rows,
        "in standard deviations of the original; deviation: after over before; distribution: Kolmogorov-Smirnov",
    )


def _associations(facts: Sequence[AssociationFact]) -> Group:
    def change(fact: AssociationFact) -> float:
        return 0.0 if fact.before is None or fact.after is None else abs(fact.after - fact.before)

    shown = sorted(facts, key=change, reverse=True)[:_MOST_PAIRS]
    rows = ((", ".join(one.attributes), one.measure, _figure(one.before), _figure(one.after)) for one in shown)
    caption = f"{len(facts) - len(shown):,} more that change less" if len(facts) > len(shown) else ""
    headings = ("attributes", "measure"), ("before", "after")
    return listing("Associations that change most", *headings, rows, caption)


def _clustering(fact: ClusteringFact) -> Group:
    return listing(
        f"Agreement of {fact.clusters} clusters (k-means) on {fact.records:,} records",
        ("",),
        ("Rand", "Jaccard", "F"),
        (
            ("released", _figure(fact.rand), _figure(fact.jaccard), _figure(fact.f_measure)),
            ("original", _figure(fact.repeated_rand), "", _figure(fact.repeated_f_measure)),
        ),
        "original: with itself from another start, what k-means itself differs by",
    )


def _classification(fact: ClassificationFact) -> Group:
    rows = (
        (
            one.name,
            numbers.percent(one.original),
            numbers.percent_range(one.original_low, one.original_high),
            numbers.percent(one.released),
            numbers.percent_range(one.released_low, one.released_high),
        )
        for one in fact.classifiers
    )
    return listing(
        f"Accuracy of classifiers that predict {fact.target} ({fact.classes:,} classes)",
        ("classifier",),
        ("original", "95 % interval", "released", "95 % interval"),
        rows,
        f"{fact.tested:,} records held out; always naming the commonest class: {numbers.percent(fact.majority)}",
    )


def _curve(curve: MaskingCurve) -> Group:
    rows = (
        (
            "→" if point.chosen else "",
            _figure(point.strength),
            numbers.percent(point.uninformed),
            numbers.percent(point.informed),
            _figure(point.displacement),
        )
        for point in curve.points
    )
    return listing(
        f"Risk and utility of {curve.method} of {', '.join(curve.attributes)}",
        ("",),
        (curve.parameter, "linked by distance", "linked by one informed", "IL1s"),
        rows,
        f"by these numbers alone, {curve.people:,} records by themselves; → as requested",
    )


def _share(value: float | None) -> str:
    return "–" if value is None else numbers.percent(value)


def _figure(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.4g}" if abs(value) < 10_000 else f"{value:,.0f}"

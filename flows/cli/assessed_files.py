"""Tables of ``releasegate assess linkage`` and ``utility``: both compare the released file with the original."""

from collections.abc import Iterator, Sequence

from flows.cli.assessed import Part
from flows.cli.output import figure, seconds, table
from flows.cli.randomness import NOT_THE_RELEASES_OWN
from reports import numbers
from reports.document import Paragraph, strong
from tasks.assessments.linkage.facts import AttackFact, LinkageFact, LinkFigure
from tasks.assessments.linkage.families import FamilyLearned
from tasks.assessments.utility.facts import AssociationFact, UtilityFact
from tasks.masking.masked_columns import MaskingFact

_KNOWS = {"uninformed": "the file alone", "informed": "rule and maskings too"}
_MOST_PAIRS = 10


def masking_tables(masking: Sequence[MaskingFact]) -> Iterator[Part]:
    """How numbers were masked; nothing where none were."""
    if masking:
        rows = ((", ".join(one.attributes), one.method, _parameters(one)) for one in masking)
        headings = "attributes", "method", "parameters"
        yield table("How numbers were masked", headings, rows, NOT_THE_RELEASES_OWN)


def linkage_tables(who: str, fact: LinkageFact) -> Iterator[Part]:
    """Attacks, those not made, less knowledge, learned weights, and other methods."""
    judged = "U strongest with the file alone, I strongest of all"
    judged += ", M strongest by masked numbers alone" if fact.strongest_masked else ""
    idle = any(not one.figure.proves_something for one in fact.attacks)
    yield table(
        f"{who}: who holds the original file links it to the release\nheld: {', '.join(fact.known)}",
        ("", "attack", ">people", ">linked", ">95 % interval", ">guess", ">certain"),
        _attacks(fact),
        f"{judged}: what gates judge" + ("\n* no better than guessing: proves nothing" if idle else ""),
    )
    if fact.untried:
        untried = ((f"{one.title} ({one.knows})", one.reason) for one in fact.untried)
        yield table("Attacks that could not be made", ("attack", "why"), untried)
    if fact.partial:
        partial = (
            (f"{one.attributes} of {len(fact.known)}", f"{one.sets:,}", _share(one.uninformed), _share(one.informed))
            for one in fact.partial
        )
        yield table(
            "With fewer attributes known",
            (">known", ">sets tried", ">file alone", ">informed"),
            partial,
            "linked by the quicker attacks on some people, averaged over the sets",
        )
    if learned := fact.learned:
        rows = (
            *((name, *(f"{one.shares[name]:.1%}" for one in learned)) for name in learned[0].shares),
            ("linked, equal weights", *(_share(one.equal.share) for one in learned)),
            ("linked, learned from them", *(_share(one.in_sample.share) for one in learned)),
            ("linked, other people", *(_linked(one.out_of_sample) for one in learned)),
        )
        yield table(
            "What gives people away: weights learned from some of them",
            ("", *(f">{one.kind}" for one in learned)),
            rows,
            f"learned from {learned[0].people:,} people, shares of the weight; among these people and as many others",
        )
    if fact.policies:
        policies = (
            (
                "→" if one.chosen else "",
                one.method,
                _share(one.narrowed_share),
                f"{_share(one.naive_attacked_share)} → {_share(one.transparent_attacked_share)}",
                f"{_share(one.uninformed)} → {_share(one.informed)}",
            )
            for one in fact.policies
        )
        yield table(
            "What knowing the rule of generalization gains, by method",
            ("", "method", ">smaller groups", ">attacked", ">linked"),
            policies,
            "without the rule → with it; smaller groups: records whose group the rule narrows",
        )


def family_tables(who: str, found: FamilyLearned) -> Iterator[Part]:
    """A learned distance: links, how it was learned, and the part of each attribute."""
    rows = (
        (
            title,
            f"{learned.n:,}",
            _share(equal.share_correct),
            _share(learned.share_correct),
            numbers.percent_range(*learned.interval),
        )
        for title, equal, learned in zip(("learned from", "others"), found.equal, found.learned, strict=True)
    )
    yield table(
        f"{who}: learned distance, {found.kind.value}",
        ("linked", ">people", ">equal weights", ">learned", ">95 % interval"),
        rows,
        "among the released records of these people and the others",
    )
    proof = found.certificate
    compared = "" if proof is None else f", of which {proof.rivals:,} were compared"
    certain = "nothing is searched for: the inverse covariance of the differences"
    if proof is not None:
        within = f"no parameters link more than {proof.gap:.1f} people more"
        certain = "proven the best of the family" if proof.proven else within
    yield [
        Paragraph(f"parameters: {found.parameters:,}; pairs: {found.pairs:,}{compared}"),
        Paragraph(certain),
        Paragraph(f"time: {seconds(found.seconds)} s"),
    ]
    yield table("", ("attribute", ">part"), ((name, f"{share:.1%}") for name, share in found.shares.items()))


def utility_tables(who: str, fact: UtilityFact) -> Iterator[Part]:
    """Losses, changes of numbers and associations, what analyses find, curves, and what was not measured."""
    yield _losses(who, fact)
    if fact.numeric:
        changes = (
            (one.name, *map(figure, (one.mean, one.deviation_ratio, one.deciles, one.distribution, one.displacement)))
            for one in fact.numeric
        )
        yield table(
            "What masking changes of numbers",
            ("attribute", ">mean", ">deviation", ">deciles", ">distribution", ">IL1s"),
            changes,
            "in standard deviations of the original; deviation: after over before; distribution: Kolmogorov-Smirnov",
        )
    if fact.associations:
        ranked = sorted(fact.associations, key=_change, reverse=True)
        pairs = (
            (", ".join(one.attributes), one.measure, figure(one.before), figure(one.after))
            for one in ranked[:_MOST_PAIRS]
        )
        more = len(ranked) - _MOST_PAIRS
        yield table(
            "Associations that change most",
            ("attributes", "measure", ">before", ">after"),
            pairs,
            f"{more:,} more that change less" if more > 0 else "",
        )
    if fact.marginals:
        moved = ((one.name, _share(one.total_variation)) for one in fact.marginals)
        yield table("Records that would have to change value", ("attribute", ">share"), moved)
    if clusters := fact.clustering:
        released = "released", figure(clusters.rand), figure(clusters.jaccard), figure(clusters.f_measure)
        yield table(
            f"Agreement of {clusters.clusters} clusters (k-means) on {clusters.records:,} records",
            ("", ">Rand", ">Jaccard", ">F"),
            (released, ("original", figure(clusters.repeated_rand), "", figure(clusters.repeated_f_measure))),
            "original: with itself from another start, what k-means itself differs by",
        )
    if target := fact.classification:
        accuracies = (
            (
                one.name,
                _share(one.original),
                numbers.percent_range(one.original_low, one.original_high),
                _share(one.released),
                numbers.percent_range(one.released_low, one.released_high),
            )
            for one in target.classifiers
        )
        yield table(
            f"Accuracy of classifiers that predict {target.target} ({target.classes:,} classes)",
            ("classifier", ">original", ">95 % interval", ">released", ">95 % interval"),
            accuracies,
            f"{target.tested:,} records held out; always naming the commonest class: {_share(target.majority)}",
        )
    for curve in fact.curves:
        points = (
            (
                "→" if one.chosen else "",
                figure(one.strength),
                _share(one.uninformed),
                _share(one.informed),
                figure(one.displacement),
            )
            for one in curve.points
        )
        yield table(
            f"Risk and utility of {curve.method} of {', '.join(curve.attributes)}",
            ("", f">{curve.parameter}", ">linked by distance", ">linked by one informed", ">IL1s"),
            points,
            f"by these numbers alone, {curve.people:,} records by themselves; → as requested",
        )
    yield [Paragraph(f"Not measured: {one.measure}. {one.reason}.", "lead") for one in fact.not_measured]


def _parameters(one: MaskingFact) -> str:
    parameters = (
        f"{name} {value if isinstance(value, str) else f'{value:,.6g}'}" for name, value in one.parameters.items()
    )
    limits = [
        ", ".join(parameters),
        *(["rounded"] if one.rounded else []),
        *(["kept within bounds"] if one.limited else []),
    ]
    return "; ".join(limits)


def _attacks(fact: LinkageFact) -> Iterator[Sequence[str]]:
    for knows, words in _KNOWS.items():
        attacks = [one for one in fact.attacks if one.knows == knows]
        if attacks:
            yield "", strong(f"with {words}")
        for one in attacks:
            used = "" if set(one.attributes) == set(fact.known) else f": {', '.join(one.attributes)}"
            found = one.figure
            yield (
                _mark(fact, one),
                f"{one.title}{used}",
                f"{found.people:,}",
                _share(found.share),
                numbers.percent_range(found.low, found.high),
                _share(found.baseline),
                _share(found.certain_share),
            )


def _mark(fact: LinkageFact, attack: AttackFact) -> str:
    strongest = {"U": fact.strongest_uninformed, "I": fact.strongest_informed, "M": fact.strongest_masked}
    marks = "".join(letter for letter, name in strongest.items() if name == attack.id)
    return marks if attack.figure.proves_something else f"{marks}*"


def _linked(found: LinkFigure | None) -> str:
    return _share(found.share) if found else "too few"


def _losses(who: str, fact: UtilityFact) -> Part:
    file = fact.file
    original = "" if file.original_class_size is None else f", {figure(file.original_class_size)} before"
    spread = "" if file.discernibility_share is None else f" ({_share(file.discernibility_share)} of its range)"
    rows = ((one.name, *map(_share, (one.loss, one.entropy, one.certainty_penalty))) for one in fact.attributes)
    whole = "the file", *map(_share, (file.loss, file.entropy, file.certainty_penalty))
    return table(
        f"{who}: what generalization loses",
        ("attribute", ">loss", ">entropy", ">certainty"),
        (*rows, tuple(map(strong, whole))),
        "loss: ARX's; entropy: non-uniform; certainty: normalized certainty penalty\n"
        f"{fact.records:,} records released, {fact.suppressed:,} suppressed; "
        f"{figure(file.average_class_size)} records to a class{original}; "
        f"discernibility {figure(file.discernibility)}{spread}",
    )


def _change(fact: AssociationFact) -> float:
    return 0.0 if fact.before is None or fact.after is None else abs(fact.after - fact.before)


def _share(value: float | None) -> str:
    return "–" if value is None else numbers.percent(value)

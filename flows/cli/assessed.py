"""Tables of ``releasegate assess``: a sequential adversary, and identity and attributes in one score."""

from collections.abc import Iterator, Mapping, Sequence

from scipy.special import expit

from flows.cli.output import figure, seconds, table
from reports import numbers
from reports.document import Block, Paragraph, lines, small
from tasks.assessments.combined.assessment import RecordScore
from tasks.assessments.combined.facts import CombinedFact
from tasks.assessments.sequential.facts import AdversaryFact, DeterrentFact, SequentialFact
from tasks.assessments.sequential.solvers import PlanSolution

Part = Sequence[Block]
"""Blocks that belong together; an empty line follows them."""

_TERMS = {
    "gain": "gain",
    "penalty": "penalty",
    "access_cost": "cost of access",
    "link_cost": "cost of linking",
    "exploit_cost": "cost of an attempt",
    "prior": "prior",
    "detection_intercept": "detection",
    "max_penalties": "penalties at most",
    "discount": "discount a step",
    "confirmation": "confirmation",
}
_DETERRENTS = {
    "penalty": "penalty",
    "access_cost": "cost of access",
    "exploit_cost": "cost of an attempt",
    "detection": "detection of an attempt",
}
_SMALL = 1e-9


def sequential_tables(who: str, fact: SequentialFact) -> Iterator[Part]:
    """Profile, risk before and after, thresholds, and what deters."""
    external = f"{fact.external.kind} of {fact.external.people:,} people listed: {fact.external.source}"
    terms = ((title, _term(fact.profile, name), fact.profile.origins[name]) for name, title in _TERMS.items())
    yield table(f"{who}: a sequential adversary", ("term", ">value", "from"), terms, f"external data: {external}")
    beliefs = (
        (
            "→" if after.belief == fact.judged else "",
            after.belief,
            f"{before.maximum_risk:.3g} → {after.maximum_risk:.3g}",
            f"{100 * before.attacked_share:.1f} → {100 * after.attacked_share:.1f}",
            f"{before.expected_reidentifications:,.0f} → {after.expected_reidentifications:,.0f}",
        )
        for before, after in zip(fact.initial, fact.residual, strict=True)
    )
    single = "one attempt a record", f"→ {fact.baseline_maximum:.3g}", f"→ {100 * fact.baseline_attacked_share:.1f}"
    yield table(
        "Risk of the records, before → after",
        ("", "the recipient's knowledge", ">highest", ">attempted %", ">re-identified"),
        (*beliefs, ("", *map(small, single), "")),
        "→ judged by the gates: access is paid once for the whole file",
    )
    thresholds = [
        f"Groups of the released records have {fact.smallest_group:,} to {fact.largest_group:,} candidates in the "
        "external data.",
        f"Not worth access for one record: {_from(fact.threshold_known)}.",
        f"Not worth attacking once access is paid: {_from(fact.threshold_linked)}.",
        f"Below {fact.exhausted_below:,} every candidate is tried." if (fact.exhausted_below or 0) > 1 else "",
    ]
    yield [Paragraph(lines(*thresholds), "lead")]
    deterrents = ((_DETERRENTS[one.term], figure(one.current), _enough(one)) for one in fact.deterrents)
    headings = "term", ">now", ">enough from"
    yield table("What deters from attacking any record, each by itself", headings, deterrents)


def combined_tables(who: str, fact: CombinedFact, records: Sequence[RecordScore]) -> Iterator[Part]:
    """Scores before and after, their main contributions, and the records that score highest."""
    form = "exclusive form" if fact.exclusive else "paper's form"
    limit = "all" if fact.epsilon is None else f"known with more than {figure(fact.epsilon)}"
    scores = (
        (name, *map(figure, (score.maximum, score.quantile, score.mean)), f"{score.share_above:.2%}")
        for name, score in (("before", fact.initial), ("after", fact.residual))
    )
    yield table(
        f"{who}: identity and attributes in one score",
        ("", ">highest", f">quantile {figure(fact.quantile)}", ">mean", f">above {figure(fact.threshold)}"),
        scores,
        f"{form}, α = {figure(fact.alpha)}, {fact.known_sets:,} known sets ({limit})",
    )
    known = ((_names(part.attributes), "", f"{part.share:.1%}") for part in fact.by_known_set[:5])
    sensitive = (("", _names(part.attributes), f"{part.share:.1%}") for part in fact.by_attribute[:5])
    headings = "known", "sensitive", ">share"
    yield table("Main contributions to the score after generalization", headings, (*known, *sensitive))
    if records:
        parts = (
            f"{_names(part.attributes)} ({part.share:.0%})" if part else "–"
            for record in records
            for part in (record.known_set, record.attribute)
        )
        yield table(
            "Records that score highest",
            (">rank", ">row", ">score", "known, most of the score", "sensitive, most of the score"),
            [(f"{one.rank:,}", f"{one.row + 1:,}", figure(one.score), next(parts), next(parts)) for one in records],
            "rows are counted from 1 in the file",
        )


def solution_tables(who: str, solver: str, stages: Mapping[str, Sequence[PlanSolution]]) -> Iterator[Part]:
    """The plans for a file's records before and after generalization, under both beliefs, by a paper's algorithm."""
    solved = [(stage, one) for stage, solutions in stages.items() for one in solutions]
    rows = (
        (
            stage,
            one.belief,
            f"{one.groups:,}",
            f"{one.solved:,}",
            f"{one.records_share:.1%}",
            f"{one.expected_reidentifications:,.2f}",
            _difference(one.value_difference, one.compared),
            _difference(one.risk_difference, one.compared),
            seconds(one.seconds),
        )
        for stage, one in solved
    )
    limits = "smallest groups are solved first, as far as the work is bounded; " if solver != "recursion" else ""
    yield table(
        f"{who}: the plan of a sequential adversary, solved by {solver}",
        ("records", "group", ">groups", ">solved", ">share", ">expected", ">ΔV", ">ΔP_reid", ">time s"),
        rows,
        f"group: its size is known or unknown before access; groups: distinct records; {limits}share: of the records, "
        f"solved; expected: re-identifications of these; Δ: largest difference from {solved[0][1].compared_with}, V in "
        "money",
    )
    yield [
        Paragraph(f"{stage}, {one.belief}: {', '.join(f'{number:,} {kind}' for kind, number in one.work.items())}")
        for stage, one in solved
    ]


def _term(profile: AdversaryFact, name: str) -> str:
    if name == "detection_intercept":
        first, second = expit([profile.detection_intercept, profile.detection_intercept + profile.detection_slope])
        return f"{first:.3g}" + (f", then {second:.3g}, …" if profile.detection_slope else "")
    if name == "max_penalties" and profile.max_penalties is None:
        return "no limit"
    return figure(getattr(profile, name))


def _from(size: int | None) -> str:
    return "no group is large enough" if size is None else f"groups of {size:,} or more"


def _enough(fact: DeterrentFact) -> str:
    """Value that is needed, rounded up: the printed value deters."""
    if fact.needed is None:
        return "no value is"
    if fact.needed == 0:
        return "0"
    return numbers.risk_up(fact.needed) if fact.term == "detection" else numbers.amount_up(fact.needed)


def _names(attributes: Sequence[str]) -> str:
    return ", ".join(attributes) or "nothing"


def _difference(value: float, compared: int) -> str:
    if not compared:
        return "–"
    return f"{value:.0e}" if value >= _SMALL else f"<{_SMALL:.0e}"

"""Other stakes, other fines and uncertain terms in print: filled from the record; nothing is measured here."""

from dataclasses import dataclass

from reports import numbers
from reports.gates import released_records
from reports.penalties_figure import payoff_text
from reports.smallcell import SmallCellRule
from reports.uncertainty_figures import TERMS
from tasks.assessments.identity.penalties_fact import PenaltiesFact, PenaltyPoint
from tasks.assessments.identity.stakes_facts import ReachFact
from tasks.assessments.identity.uncertainty_facts import ChanceFact, FigureRangeFact, UncertainTermFact, UncertaintyFact
from tasks.assessments.measures import MEASURES, Scale
from tasks.decision.record import DecisionRecord
from tasks.request.model import Measure

_STAKES = {
    "benefit": "the benefit V",
    "loss": "the loss L (and the gain G with it)",
    "cost": "the cost c of an attempt",
}
_JUDGED = {"attacked_share": "the share worth an attempt", "regret": "the payoff"}
_FIGURES = {
    "attacked_share": "This file: records worth an attempt",
    "regret": "This file: loss against the best file, over V",
    "mean_generalization": "Best file: mean GI",
    "best_attacked_share": "Best file: records worth an attempt",
}
_UNSOLVED = "–"


@dataclass(frozen=True)
class ReachRow:
    """How far the stakes may move while one figure stays within its tolerance."""

    title: str
    declared: str
    tolerance: str
    cells: tuple[str, ...]
    """For V, L and c."""


@dataclass(frozen=True)
class TermRow:
    """One uncertain term."""

    title: str
    declared: str
    known: str


@dataclass(frozen=True)
class RangeRow:
    """One gate's figure under uncertain terms."""

    title: str
    declared: str
    expected: str
    quantiles: str
    guaranteed: str
    passes: str


def reach_rows(record: DecisionRecord, reaches: tuple[ReachFact, ...]) -> tuple[ReachRow, ...]:
    """A row a figure, with the factors of each stake."""
    cells, total = SmallCellRule(record.policy.small_cell), record.dataset.rows_in
    rows = []
    for figure, title in _FIGURES.items():
        found = [reach for reach in reaches if reach.figure == figure]
        if found:
            one = found[0]
            share = figure in {"attacked_share", "best_attacked_share"}
            declared = cells.share(one.declared, total) if share else numbers.risk(one.declared)
            tolerance = numbers.percent(one.tolerance) if share else numbers.risk(one.tolerance)
            rows.append(ReachRow(title, declared, tolerance, tuple(map(_factors, found))))
    return tuple(rows)


def robust_words(reaches: tuple[ReachFact, ...]) -> str:
    """Whether the file is robust over an order of magnitude, stake by stake; where it is not, how far it is."""
    judged = [reach for reach in reaches if reach.figure in _JUDGED]
    robust, others = list[str](), list[str]()
    for stake, name in _STAKES.items():
        found = [reach for reach in judged if reach.stake == stake]
        if found and all(reach.order_of_magnitude for reach in found):
            robust.append(name)
        elif found:
            others.append(f"In {name} it is not: {', and '.join(map(_holding, found))}.")
    told = f"It is so in {_listed(robust)}." if robust else "It is so in none of the stakes."
    return " ".join([_meaning(judged), told, *others])


def _meaning(judged: list[ReachFact]) -> str:
    """Meaning of robust here, with the range of factors and the tolerances."""
    tolerances = {reach.figure: reach.tolerance for reach in judged}
    points = numbers.setting(100 * tolerances["attacked_share"])
    words = (
        "The file is called robust over an order of magnitude in a stake if that stake may be anything from a tenth "
        "to ten times what the request declares, the others as declared, and the share of records worth an attempt "
        f"changes by no more than {points} percentage point{'' if points == '1' else 's'}"
    )
    if "regret" not in tolerances:
        return f"{words}."
    most = numbers.percent(tolerances["regret"])
    return f"{words}, and the file pays no more than {most} of V less than the best file would."


def _holding(reach: ReachFact) -> str:
    """Within which factors of a stake one figure of the file holds."""
    subject, low, high = _JUDGED[reach.figure], _times(reach.low), _times(reach.high)
    if reach.order_of_magnitude:
        return f"{subject} holds over the whole order of magnitude"
    if reach.breaks_low == 1:
        return f"{subject} does not hold even as declared"
    if reach.breaks_low is None:
        return f"{subject} holds up to {high}, and down to {_factor(reach.low)} times it at least"
    if reach.breaks_high is None:
        return f"{subject} holds down to {low}, and up to {_factor(reach.high)} times it at least"
    if reach.low == reach.high:
        steps = " or ".join(_factor(factor) for factor in (reach.breaks_low, reach.breaks_high))
        return f"{subject} holds at the declared value alone, no longer at {steps} times it"
    ends = f"{low} to {high}" if 1 in {reach.low, reach.high} else f"{_factor(reach.low)} to {high}"
    return f"{subject} holds from {ends}"


def _times(factor: float) -> str:
    return "the declared value itself" if factor == 1 else f"{_factor(factor)} times the declared value"


def _listed(names: list[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def penalty_words(record: DecisionRecord, fact: PenaltiesFact) -> str:
    """Effect of fines and detection, from the least of the grid to the most, and under the recipient's own."""
    least, most, own = fact.points[0], fact.points[-1], fact.own
    terms = f"with {_terms(own)}" if own.penalty else "which name no penalty"
    words = f"Under the recipient's own terms, {terms}, {_answered(record, own)}. "
    for point in (least, most) if most != least else (least,):
        start = "Without a penalty," if not point.penalty else f"With {_terms(point)},"
        words += f"{start} {_answered(record, point)}. "
    return words.rstrip()


def term_rows(fact: UncertaintyFact) -> tuple[TermRow, ...]:
    """Facts known of each uncertain term."""
    return tuple(TermRow(TERMS[term.term], numbers.setting(term.declared), _known(term)) for term in fact.terms)


def range_rows(record: DecisionRecord, fact: UncertaintyFact) -> tuple[RangeRow, ...]:
    """The figures of gates that depend on the terms."""
    return tuple(_range_row(record, one) for one in fact.figures)


def chance_words(fact: UncertaintyFact) -> str:
    """How probable it is that the gates pass, and what is certain."""
    if not fact.figures:
        return "No gate's figure depends on these terms."
    if fact.approved.draws == 1:
        chance = "Of these terms only ranges are known, so that there is no probability to be told."
    else:
        low, high = fact.approved.low, fact.possible.high
        level = numbers.percent(fact.confidence)
        chance = (
            f"The gates that depend on these terms pass with probability {numbers.percent(fact.approved.value)} "
            f"({level} interval {numbers.percent_range(fact.approved.low, fact.approved.high)}; "
            f"{numbers.integer(fact.approved.count)} of {numbers.integer(fact.approved.draws)} draws)"
        )
        if fact.possible.count > fact.approved.count:
            chance += (
                f" in the worst case of the terms of which only a range is known, and with probability "
                f"{numbers.percent(fact.possible.value)} in the best; the interval that holds whatever "
                f"they are is {numbers.percent_range(low, high)}"
            )
        chance += "."
    certain = {
        True: " They pass whatever the terms are within their ends.",
        False: " They do not pass, whatever the terms are within their ends.",
        None: " Neither that they pass nor that they fail is certain for all terms within their ends.",
    }[fact.certain]
    if not fact.unsolved:
        return chance + certain
    draws = numbers.integer(fact.unsolved)
    return f"{chance}{certain} In {draws} draws the recipient's plan could not be solved; they count as failed."


def _terms(point: PenaltyPoint) -> str:
    penalty, detection = numbers.setting(point.penalty), numbers.setting(point.detection)
    return f"a penalty of {penalty} that is due with probability {detection}"


def _answered(record: DecisionRecord, point: PenaltyPoint) -> str:
    """The publisher's payoff at a point, and whom the recipient does not attack there."""
    if point.safe_group is None:
        alone = "a group of any size is attacked"
    elif point.safe_group <= 1:
        alone = "every record is left alone, whatever is released"
    else:
        alone = f"groups of {numbers.integer(int(point.safe_group))} people and more are left alone"
    if point.publisher_payoff is None:
        return f"{alone}, and no file can be released"
    return f"{alone}, and the best file pays {payoff_text(record, point)} units a record"


def _range_row(record: DecisionRecord, one: FigureRangeFact) -> RangeRow:
    measure = Measure(one.measure)

    def written(value: float | None) -> str:
        return _UNSOLVED if value is None else _figure(record, measure, value)

    quantiles = " / ".join(written(value) for value in one.quantiles)
    guaranteed = "not told" if one.guaranteed is None else " to ".join(written(value) for value in one.guaranteed)
    return RangeRow(
        MEASURES[measure].title,
        written(one.declared),
        written(one.expectation),
        quantiles,
        guaranteed,
        _chance(one.passes),
    )


def _figure(record: DecisionRecord, measure: Measure, value: float) -> str:
    text = MEASURES[measure]
    if text.scale is Scale.SHARE:
        return SmallCellRule(record.policy.small_cell).share(value, released_records(record))
    if text.scale in {Scale.MONEY, Scale.COUNT}:
        return numbers.amount(value)
    return numbers.risk(value)


def _chance(one: ChanceFact) -> str:
    if one.draws == 1:
        return "yes" if one.count else "no"
    return f"{numbers.percent(one.value)} ({numbers.percent_range(one.low, one.high)})"


def _known(term: UncertainTermFact) -> str:
    given = term.parameters
    if term.kind == "points":
        values, weights = given["values"], given["weights"]
        if isinstance(values, tuple) and isinstance(weights, tuple):
            pairs = zip(values, weights, strict=True)
            total = sum(weights)
            return ", ".join(f"{numbers.setting(value)} ({numbers.percent(weight / total)})" for value, weight in pairs)
    ends = f"{numbers.setting(term.low)} to {numbers.setting(term.high)}"
    others = ", ".join(f"{name} {numbers.setting(value)}" for name, value in given.items() if isinstance(value, float))
    kind = "a range" if term.kind == "between" else term.kind
    return f"{kind}, {ends}{f', {others}' if others else ''}"


def _factors(reach: ReachFact) -> str:
    low = f"{_factor(reach.low)}" if reach.breaks_low is not None else f"≤ {_factor(reach.low)}"
    high = f"{_factor(reach.high)}" if reach.breaks_high is not None else f"≥ {_factor(reach.high)}"
    return f"{low} to {high}"


def _factor(value: float) -> str:
    return numbers.risk(float(f"{value:.3g}"))

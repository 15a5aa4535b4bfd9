"""Gate figures of the attacks: the strongest of each kind."""

from collections.abc import Sequence

from tasks.assessments.linkage.facts import AttackFact, LinkageFact, LinkFigure
from tasks.assessments.linkage.figure import CONFIDENCE, Linkage, wilson
from tasks.core.fact import Interval
from tasks.request.model import Measure

BY_DISTANCE = frozenset(
    {"groups-nearest", "numbers-nearest", "numbers-probabilistic", "all-matching", "all-nearest", "all-learned"}
)
"""Attacks that rule no record out, and so are never certain."""
_CERTAIN = (Measure.CERTAIN_UNINFORMED, Measure.CERTAIN_INFORMED)


def link_figure(linkage: Linkage) -> LinkFigure:
    """The figure of an attack as the record keeps it."""
    low, high = linkage.interval
    return LinkFigure(
        share=linkage.share_correct,
        low=low,
        high=high,
        people=linkage.n,
        baseline=linkage.baseline,
        certain_share=linkage.certain_share,
        certain=linkage.certain_matches,
        proves_something=linkage.proves_something,
    )


def strongest(attacks: Sequence[AttackFact]) -> AttackFact:
    """The attack with the largest gate figure; the first of equals."""
    return max(attacks, key=judged_share)


def judged_share(attack: AttackFact) -> float:
    """Share of correct links; its interval's upper end where a sample of the people was attacked."""
    return attack.figure.high if attack.sampled else attack.figure.share


def judged_certain(attack: AttackFact) -> float:
    """Share of certain matches; its interval's upper end where a sample was attacked that could have had some."""
    figure = attack.figure
    if not attack.sampled or attack.id in BY_DISTANCE:
        return figure.certain_share
    return wilson(figure.certain, figure.people)[1]


def gate_figures(fact: LinkageFact) -> dict[Measure, float]:
    """Gate figures. An informed intruder has every attack; an uninformed one those without the rule."""
    return {
        measure: max(map(judged_certain if measure in _CERTAIN else judged_share, attacks), default=0.0)
        for measure, attacks in _candidates(fact).items()
    }


def least_figures(fact: LinkageFact) -> dict[Measure, float]:
    """The same, where a sample of the people was attacked by the lower ends of the intervals."""

    def share(attack: AttackFact) -> float:
        return attack.figure.low if attack.sampled else attack.figure.share

    def certain(attack: AttackFact) -> float:
        figure = attack.figure
        return wilson(figure.certain, figure.people)[0] if attack.sampled else figure.certain_share

    return {
        measure: max(map(certain if measure in _CERTAIN else share, attacks), default=0.0)
        for measure, attacks in _candidates(fact).items()
    }


def judged_attack(fact: LinkageFact, measure: Measure) -> AttackFact | None:
    """The attack that a measure takes its figure from; None where there is none, or for measures of other stages."""
    attacks = _candidates(fact).get(measure, ())
    return max(attacks, key=judged_certain if measure in _CERTAIN else judged_share, default=None)


def gate_intervals(fact: LinkageFact) -> dict[Measure, tuple[Interval, int]]:
    """Intervals of the shares that come from a sample of the people, and how many these are."""
    found: dict[Measure, tuple[Interval, int]] = {}
    for measure in _candidates(fact):
        attack = judged_attack(fact, measure)
        if attack is not None and attack.sampled:
            figure = attack.figure
            low, high = wilson(figure.certain, figure.people) if measure in _CERTAIN else (figure.low, figure.high)
            found[measure] = Interval(low=low, high=high, level=CONFIDENCE), figure.people
    return found


def _candidates(fact: LinkageFact) -> dict[Measure, Sequence[AttackFact]]:
    """Attacks that each measure may take its figure from."""
    uninformed = [attack for attack in fact.attacks if attack.knows == "uninformed"]
    return {
        Measure.LINKED_UNINFORMED: uninformed,
        Measure.LINKED_INFORMED: fact.attacks,
        Measure.LINKED_MASKED: [fact.attack(fact.strongest_masked)] if fact.strongest_masked else [],
        Measure.CERTAIN_UNINFORMED: uninformed,
        Measure.CERTAIN_INFORMED: fact.attacks,
    }

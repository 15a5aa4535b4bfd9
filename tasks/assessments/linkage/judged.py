"""Gate figures of the attacks: the strongest of each kind."""

from collections.abc import Callable, Sequence

from tasks.assessments.linkage.facts import AttackFact, LinkageFact, LinkFigure
from tasks.assessments.linkage.figure import CONFIDENCE, Linkage, wilson
from tasks.core.fact import Interval
from tasks.request.model import Measure

BY_DISTANCE = frozenset(
    {"groups-nearest", "numbers-nearest", "numbers-probabilistic", "all-matching", "all-nearest", "all-learned"}
)
"""Attacks that rule no record out, and so are never certain."""


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
    return _largest(fact, judged_share, judged_certain)


def least_figures(fact: LinkageFact) -> dict[Measure, float]:
    """The same, where a sample of the people was attacked by the lower ends of the intervals."""
    return _largest(fact, _least_share, _least_certain)


def judged_attack(fact: LinkageFact, measure: Measure) -> AttackFact | None:
    """The attack that a measure takes its figure from; None where there is none, or for measures of other stages."""
    named = {
        Measure.LINKED_UNINFORMED: fact.strongest_uninformed,
        Measure.LINKED_INFORMED: fact.strongest_informed,
        Measure.LINKED_MASKED: fact.strongest_masked,
    }
    if measure in named:
        name = named[measure]
        return fact.attack(name) if name else None
    if measure is Measure.CERTAIN_UNINFORMED:
        return max(_uninformed(fact), key=judged_certain)
    return max(fact.attacks, key=judged_certain) if measure is Measure.CERTAIN_INFORMED else None


def _largest(
    fact: LinkageFact, share: Callable[[AttackFact], float], certain: Callable[[AttackFact], float]
) -> dict[Measure, float]:
    masked = [fact.attack(fact.strongest_masked)] if fact.strongest_masked else []
    return {
        Measure.LINKED_UNINFORMED: max(map(share, _uninformed(fact))),
        Measure.LINKED_INFORMED: max(map(share, fact.attacks)),
        Measure.LINKED_MASKED: max(map(share, masked), default=0.0),
        Measure.CERTAIN_UNINFORMED: max(map(certain, _uninformed(fact))),
        Measure.CERTAIN_INFORMED: max(map(certain, fact.attacks)),
    }


def _uninformed(fact: LinkageFact) -> list[AttackFact]:
    return [attack for attack in fact.attacks if attack.knows == "uninformed"]


def _least_share(attack: AttackFact) -> float:
    return attack.figure.low if attack.sampled else attack.figure.share


def _least_certain(attack: AttackFact) -> float:
    figure = attack.figure
    return wilson(figure.certain, figure.people)[0] if attack.sampled else figure.certain_share


def gate_intervals(fact: LinkageFact) -> dict[Measure, tuple[Interval, int]]:
    """Intervals of the shares that come from a sample of the people, and how many these are."""
    found: dict[Measure, tuple[Interval, int]] = {}
    for measure in gate_figures(fact):
        attack = judged_attack(fact, measure)
        if attack is None or not attack.sampled:
            continue
        figure = attack.figure
        low, high = figure.low, figure.high
        if measure in (Measure.CERTAIN_UNINFORMED, Measure.CERTAIN_INFORMED):
            low, high = wilson(figure.certain, figure.people)
        found[measure] = Interval(low=low, high=high, level=CONFIDENCE), figure.people
    return found

"""What gates judge of the attacks: the strongest of each kind."""

from collections.abc import Sequence

from tasks.decision.linkage_facts import AttackFact, LinkageFact, LinkFigure
from tasks.decision.record import Interval
from tasks.linkage.figure import CONFIDENCE, Linkage, wilson
from tasks.request.model import Measure


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
    """The attack with the largest figure to judge; the first of equals."""
    return max(attacks, key=judged_share)


def judged_share(attack: AttackFact) -> float:
    """Share of correct links; its interval's upper end where a sample of the people was attacked."""
    return attack.figure.high if attack.sampled else attack.figure.share


def judged_certain(attack: AttackFact) -> float:
    """Share of certain matches; its interval's upper end where a sample of the people was attacked."""
    figure = attack.figure
    return wilson(figure.certain, figure.people)[1] if attack.sampled else figure.certain_share


def gate_figures(fact: LinkageFact) -> dict[Measure, float]:
    """What gates judge. An informed intruder has every attack; an uninformed one those without the rule."""
    uninformed = [attack for attack in fact.attacks if attack.knows == "uninformed"]
    masked = fact.strongest_masked
    return {
        Measure.LINKED_UNINFORMED: judged_share(fact.attack(fact.strongest_uninformed)),
        Measure.LINKED_INFORMED: judged_share(fact.attack(fact.strongest_informed)),
        Measure.LINKED_MASKED: judged_share(fact.attack(masked)) if masked else 0.0,
        Measure.CERTAIN_UNINFORMED: max(map(judged_certain, uninformed)),
        Measure.CERTAIN_INFORMED: max(map(judged_certain, fact.attacks)),
    }


def gate_intervals(fact: LinkageFact) -> dict[Measure, Interval]:
    """Intervals of the shares that come from a sample of the people."""
    named = {
        Measure.LINKED_UNINFORMED: fact.strongest_uninformed,
        Measure.LINKED_INFORMED: fact.strongest_informed,
        Measure.LINKED_MASKED: fact.strongest_masked,
    }
    attacks = {measure: fact.attack(name) for measure, name in named.items() if name}
    return {
        measure: Interval(low=attack.figure.low, high=attack.figure.high, level=CONFIDENCE)
        for measure, attack in attacks.items()
        if attack.sampled
    }

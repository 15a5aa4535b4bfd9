"""Facts of record linkage, and the gate figures that follow from them: the strongest attack of each kind."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from tasks.core.fact import Fact, Interval
from tasks.core.wilson import CONFIDENCE, wilson
from tasks.request.model import Measure

if TYPE_CHECKING:  # records are read without numpy
    from tasks.assessments.linkage.problem.figure import Linkage

Knows = Literal["uninformed", "informed"]
"""Whether the intruder knows rule, masking and parameters, or only the released file."""


class LinkFigure(Fact):
    """Number of the attacked people who are linked to their own record."""

    share: float = Field(description="Expected share of correct links; ties are shared.")
    low: float = Field(description="Lower end of the 95 % score interval of the share.")
    high: float
    people: int = Field(description="People attacked.")
    baseline: float = Field(description="Share that guessing reaches.")
    certain_share: float = Field(description="Share of the people left with one candidate, who is the right one.")
    certain: int
    proves_something: bool = Field(description="Whether the interval lies above the baseline.")


class AttackFact(Fact):
    """One attack on the released file by an intruder who holds the original one."""

    id: str
    title: str
    knows: Knows
    attributes: tuple[str, ...] = Field(description="Attributes that it uses.")
    sampled: bool = Field(description="Whether a sample of the people was attacked, or everybody.")
    figure: LinkFigure
    trained: LinkFigure | None = Field(
        default=None, description="Among the people whom a learned distance was learned from; None of other attacks."
    )
    bound: bool = Field(default=False, description="Whether the attack is given more than an intruder can know.")
    most: float = Field(
        default=1.0, description="Share that its attributes link in the file as collected: no masking reveals more."
    )


class UntriedAttack(Fact):
    """An attack that could not be made, and why; gates judge the most that it could have linked."""

    id: str | None = Field(default=None, description="None in older records.")
    title: str
    knows: Knows
    reason: str
    most: float | None = Field(
        default=None, description="Share that its attributes link in the file as collected; None in older records."
    )


class PartialKnowledgeFact(Fact):
    """Share of correct links by an intruder who holds some of the attributes, averaged over sets of them."""

    attributes: int = Field(description="Attributes known.")
    sets: int = Field(description="Sets of as many attributes that were tried.")
    people: int | None = Field(default=None, description="Fewest people attacked with any of them; None if unknown.")
    uninformed: float
    informed: float


class LearnedFact(Fact):
    """A distance with weights learned from pairs of records that belong together."""

    kind: str
    alone: bool = Field(default=False, description="Whether it uses masked numbers alone.")
    people: int = Field(description="People whose pairs it was learned from.")
    equal: LinkFigure = Field(description="With equal weights, among the same people.")
    in_sample: LinkFigure = Field(description="Among the people it was learned from: an upper bound.")
    out_of_sample: LinkFigure | None = Field(description="Among as many others; None where there are too few.")
    shares: dict[str, float] = Field(description="Share of the weight by attribute: those that identify people.")


class WeakerFact(Fact):
    """Links by masked numbers alone of an intruder who knows less than the one whom gates judge."""

    title: str
    figure: LinkFigure


class PolicyLinkage(Fact):
    """Gain of an intruder from knowing the rule, if the file were generalized by another method."""

    method: str
    chosen: bool
    narrowed_share: float = Field(description="Share of records whose effective group is smaller than its claim.")
    naive_attacked_share: float
    transparent_attacked_share: float
    uninformed: float = Field(description="Share linked without the rule.")
    informed: float = Field(description="Share linked with it.")
    whole_cells: bool | None = Field(
        default=None,
        description="Whether only people whose own cell it is match a released cell; None in older records.",
    )


class LinkageFact(Fact):
    """Worst-case record linkage of one recipient's file."""

    known: tuple[str, ...] = Field(description="Attributes that the intruder holds of everybody.")
    records: int = Field(description="Records of the released file.")
    initial_share: float | None = Field(
        default=None,
        description="Share that the known attributes link in the file as collected; None in older records.",
    )
    attacks: tuple[AttackFact, ...]
    untried: tuple[UntriedAttack, ...] = ()
    strongest_uninformed: str = Field(description="Id of the attack with the largest share.")
    strongest_informed: str = Field(description="The same with every attack allowed; an informed intruder has all.")
    strongest_masked: str | None = Field(description="The same by numbers alone; None where no number is known.")
    left_out: tuple[str, ...] = Field(
        default=(), description="Numbers that may be known, where policy.linkage.known leaves out all of them."
    )
    partial: tuple[PartialKnowledgeFact, ...] = ()
    learned: tuple[LearnedFact, ...] = ()
    weaker: tuple[WeakerFact, ...] = ()
    policies: tuple[PolicyLinkage, ...] = ()

    def attack(self, attack_id: str) -> AttackFact:
        """The attack with this id; KeyError where there is none."""
        return {attack.id: attack for attack in self.attacks}[attack_id]


BY_DISTANCE = frozenset(
    {
        "groups-nearest",
        "numbers-nearest",
        "numbers-probabilistic",
        "all-matching",
        "all-nearest",
        "all-learned",
        "all-choquet",
        "numbers-learned",
        "numbers-choquet",
        "numbers-bilinear",
        "numbers-mahalanobis",
    }
)
"""Attacks that rule no record out, and so are never certain."""
_CERTAIN = (Measure.CERTAIN_UNINFORMED, Measure.CERTAIN_INFORMED)
_UNINFORMED = (Measure.LINKED_UNINFORMED, Measure.CERTAIN_UNINFORMED)
NUMBERS_ALONE = (
    "numbers-clear",
    "numbers-nearest",
    "numbers-probabilistic",
    "numbers-candidates",
    "numbers-likeliest",
    "numbers-joint",
    "numbers-learned",
    "numbers-choquet",
    "numbers-bilinear",
    "numbers-mahalanobis",
)
"""Attacks by numbers alone, masked or not."""


def link_figure(linkage: "Linkage") -> LinkFigure:
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
    """Share of correct links; where a sample of the people was attacked, its interval's upper end, if that can be.

    Of a learned distance, the higher of people whom it was not learned from and of those it was.
    """
    figures = [attack.figure] if attack.trained is None else [attack.figure, attack.trained]
    return min(max(one.high if attack.sampled else one.share for one in figures), attack.most)


def judged_certain(attack: AttackFact) -> float:
    """Share of certain matches; its interval's upper end where a sample was attacked that could have had some."""
    figure = attack.figure
    if not attack.sampled or attack.id in BY_DISTANCE:
        return figure.certain_share
    return min(wilson(figure.certain, figure.people)[1], attack.most)


def gate_figures(fact: LinkageFact) -> dict[Measure, float]:
    """Gate figures. An informed intruder has every attack; an uninformed one those without the rule.

    An attack that could not be made counts as the most that it could link. There is no figure of numbers alone where
    the policy leaves out all that may be known.
    """
    return {
        measure: max([*map(judged_certain if measure in _CERTAIN else judged_share, attacks), _unmade(fact, measure)])
        for measure, attacks in _candidates(fact).items()
        if measure is not Measure.LINKED_MASKED or not fact.left_out
    }


def _unmade(fact: LinkageFact, measure: Measure) -> float:
    """The most that attacks which a measure requires, and which could not be made, could have linked."""
    alone, uninformed = measure is Measure.LINKED_MASKED, measure in _UNINFORMED
    asked = (one for one in fact.untried if one.id in NUMBERS_ALONE or not alone)
    asked = (one for one in asked if one.knows == "uninformed" or not uninformed)
    return max((one.most for one in asked if one.most is not None), default=0.0)


def least_figures(fact: LinkageFact) -> dict[Measure, float]:
    """The same; where a sample of the people was attacked, by the lower ends of the intervals."""

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
    figures = gate_figures(fact)
    for measure in figures:
        attack = judged_attack(fact, measure)
        if attack is not None and attack.sampled and _unmade(fact, measure) < figures[measure]:
            figure = attack.figure
            low = wilson(figure.certain, figure.people)[0] if measure in _CERTAIN else figure.low
            found[measure] = Interval(low=low, high=figures[measure], level=CONFIDENCE), figure.people
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

"""Facts of record linkage: an intruder's success in linking the file to its originals."""

from typing import Literal

from pydantic import Field

from tasks.core.fact import Fact

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


class UntriedAttack(Fact):
    """An attack that could not be made, and why."""

    title: str
    knows: Knows
    reason: str


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
    people: int = Field(description="People whose pairs it was learned from.")
    equal: LinkFigure = Field(description="With equal weights, among the same people.")
    in_sample: LinkFigure = Field(description="Among the people it was learned from: an upper bound.")
    out_of_sample: LinkFigure | None = Field(description="Among as many others; None where there are too few.")
    shares: dict[str, float] = Field(description="Share of the weight by attribute: which ones give people away.")


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
        description="Whether nobody matches a released cell but those whose own it is; None in older records.",
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
    strongest_masked: str | None = Field(description="The same by masked attributes alone; None where none is masked.")
    partial: tuple[PartialKnowledgeFact, ...] = ()
    learned: tuple[LearnedFact, ...] = ()
    policies: tuple[PolicyLinkage, ...] = ()

    def attack(self, attack_id: str) -> AttackFact:
        """The attack with this id; KeyError where there is none."""
        for attack in self.attacks:
            if attack.id == attack_id:
                return attack
        raise KeyError(attack_id)

"""Facts of identity disclosure, of the game, and of each field."""

from typing import Any, Literal, Self

from pydantic import Field

from tasks.assessments.combined.facts import CombinedFact
from tasks.assessments.identity.budget_fact import BudgetFact
from tasks.assessments.identity.division_fact import DivisionFact
from tasks.assessments.identity.frontier_fact import FrontierFact
from tasks.assessments.identity.kanonymity_fact import KAnonymityFact
from tasks.assessments.identity.penalties_fact import PenaltiesFact
from tasks.assessments.identity.stakes_facts import StakesFact
from tasks.assessments.identity.uncertainty_facts import UncertaintyFact
from tasks.assessments.linkage.facts import LinkageFact
from tasks.assessments.sequential.facts import SequentialFact
from tasks.core.fact import Bin, Fact, Sha256
from tasks.request.attribute import Attribute


class FieldFact(Fact):
    """One column of the data: its role and treatment."""

    name: str
    role: str
    type: str
    description: str = ""
    safe_harbor: str
    known_probability: float | None = None
    distinct_values: int
    levels: tuple[str, ...] = Field(default=(), description="Treatment name of each hierarchy level, finest first.")
    groups_per_level: tuple[int, ...] = ()
    records_per_level: tuple[int, ...] = Field(default=(), description="Released records by level of generalization.")
    information_kept: float | None = Field(default=None, description="1 − loss, between 0 and 1 (quasi-identifiers).")
    treatment: str

    @classmethod
    def of(cls, name: str, attribute: Attribute, distinct_values: int, treatment: str, **generalized: Any) -> Self:
        """A column as the request declares it, with its treatment."""
        return cls(
            name=name,
            role=attribute.role.value,
            type=attribute.type.value,
            description=attribute.description or "",
            safe_harbor=attribute.safe_harbor.value,
            known_probability=attribute.known_probability,
            distinct_values=distinct_values,
            treatment=treatment,
            **generalized,
        )


class RiskFigure(Fact):
    """One risk over all records of a file."""

    maximum: float
    mean: float
    records: int
    over_threshold: int = Field(description="Records whose risk exceeds the policy's threshold.")
    histogram: tuple[Bin, ...]


class RiskView(Fact):
    """Identity-disclosure risk of one file, from the field's three attackers."""

    prosecutor: RiskFigure = Field(description="The attacker knows that the target is in the file: 1/class size.")
    journalist: RiskFigure = Field(description="The attacker picks a target in the population: 1/people in the cell.")
    marketer: float = Field(description="Expected share of records an attacker with the population links rightly.")
    smallest_class: int
    classes: int
    below_small_cell: float = Field(description="Share of records in classes smaller than the policy's small cell.")


class TransparentRisk(Fact):
    """Risk from a recipient who knows hierarchies and rule (effective sizes n_T), with the naive claim (n_p)."""

    maximum_risk: float
    mean_risk: float
    attacked_share: float
    attacked_records: int
    expected_reidentifications: float
    smallest_effective_group: int
    naive_maximum_risk: float
    naive_attacked_share: float
    naive_expected_reidentifications: float
    histogram: tuple[Bin, ...]
    attack_group_size: float = Field(
        description="From this effective group size on no record is attacked: gain/cost, or by the plan of one who "
        "plans; past the largest group where none is left alone."
    )


class PolicyOutcome(Fact):
    """Payoffs of one generalization method on these data under these stakes."""

    method: str
    publisher_payoff: float
    adversary_payoff: float
    information_kept: float
    most_specific_share: float
    mean_generalization: float
    naive_attacked_share: float
    transparent_attacked_share: float
    naive_expected_reidentifications: float
    transparent_expected_reidentifications: float
    chosen: bool = False


class SharingFact(Fact):
    """One representation for several recipients, and its cost to the publisher compared with one for each."""

    recipients: dict[str, float] = Field(description="Weight of each: 1 for all of them, or the probability of a type.")
    own: dict[str, float | None] = Field(
        description="Publisher's payoff a record from each by itself, at its own optimum; None where there is none."
    )
    shared: float = Field(description="Weighted sum of the payoffs from all at the shared optimum, a record.")
    price: float | None = Field(description="Weighted sum of the own ones less the shared one; None where one lacks.")


class CoalitionFact(Fact):
    """Risk of this recipient's records from a coalition of recipients who know the rules."""

    recipients: tuple[str, ...] = Field(description="Who pool their copies.")
    narrowed_share: float = Field(description="Share of the records whom fewer people match than in the copy alone.")
    smallest_group: int = Field(description="Least people to whom the rules give all cells of a record.")
    maximum_risk: float = Field(description="One over the latter.")
    attacked_share: float = Field(description="Share of the records worth attacking.")
    expected_reidentifications: float
    mean_reidentification: float = Field(
        description="Mean probability that a record is re-identified, by this recipient's stakes."
    )
    maximum_reidentification: float


class GameFact(Fact):
    """The game as it was solved: rule, weights, lattice, and every method's outcome for comparison."""

    method: str
    weights: dict[str, float]
    lattice_nodes: int
    cube_cells: int
    cube_form: Literal["dense", "sparse"]
    distinct_tuples: int
    cell_weights: str
    minimum_class_size: int
    suppressed_records: int
    outcomes: tuple[PolicyOutcome, ...]
    k_anonymity: KAnonymityFact | None = Field(default=None, description="None where the policy demands none.")
    budget: BudgetFact | None = Field(default=None, description="None where the policy limits no whole file.")
    frontier: FrontierFact | None = Field(default=None, description="None in records of earlier versions.")
    stakes: StakesFact | None = Field(default=None, description="None where the policy asks for no map.")
    penalties: PenaltiesFact | None = Field(default=None, description="None where the policy asks for no such map.")
    adversary: str = Field(
        default="one-shot",
        description="Whom the game was played against: one attempt a record, or a sequential adversary.",
    )
    sharing: SharingFact | None = Field(default=None, description="None where the representation is this recipient's.")
    division: DivisionFact | None = Field(
        default=None,
        description="None where no partition was played, or within a budget, which has its own bound.",
    )


class ZipTableFact(Fact):
    """The Safe Harbor table of three-digit ZIP codes that was applied."""

    census: str
    sha256: Sha256
    restricted_prefixes: tuple[str, ...]


class RiskFact(Fact):
    """Threats and threshold, initial risk, and residual risk."""

    threats: tuple[str, ...]
    threshold: float
    initial: RiskView
    residual: RiskView
    transparent: TransparentRisk
    game: GameFact
    zip_table: ZipTableFact | None = None
    coalitions: tuple[CoalitionFact, ...] = Field(
        default=(), description="Those that the policy takes the recipient to be in."
    )
    sequential: SequentialFact | None = Field(default=None, description="None where the stage did not finish.")
    combined: CombinedFact | None = Field(default=None, description="None where the stage did not finish.")
    linkage: LinkageFact | None = Field(default=None, description="None where the stage did not finish.")
    uncertainty: UncertaintyFact | None = Field(
        default=None, description="None where no term of the recipient is uncertain."
    )

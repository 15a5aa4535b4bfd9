"""Facts of identity disclosure and of the game that made a copy."""

from typing import Any, Literal, Self

from pydantic import Field

from tasks.assessments.combined.facts import CombinedFact
from tasks.assessments.identity.uncertain.facts import UncertaintyFact
from tasks.assessments.linkage.facts import LinkageFact
from tasks.assessments.sequential.facts import SequentialFact
from tasks.core.fact import Bin, Fact, Interval, Sha256
from tasks.generalization.game.facts import BoundBy, BudgetOutcome, KAnonymityOutcome
from tasks.request.attribute import Attribute, Role, ValueType


class KAnonymityFact(KAnonymityOutcome):
    """Optimal k-anonymity of one recipient's file, by itself or after another method."""

    k: int
    suppression_limit: float
    people: int | None = Field(default=None, description="Least people who match a class; None where not demanded.")
    demands: tuple[str, ...] = Field(description="Demands on each class, in words.")
    kinds: tuple[str, ...] = Field(description="Privacy models whose papers a report cites, by their policy terms.")
    local_recoding: bool


class BudgetFact(BudgetOutcome):
    """The payoff within the limits, with a proven bound and the payoff without limits; means."""

    least_people: int | None = Field(default=None, description="Least people who match a released cell.")
    least_records: int | None = Field(default=None, description="Least records of a released cell.")
    suppressed_records: int


class DivisionFact(Fact):
    """The chosen division of the population into classes, before any demand of k-anonymity.

    Figures are means of a person of the population, or of a record where a partition is weighted by the records.
    """

    payoff: float = Field(description="Publisher's payoff by the people in each class.")
    bound: float | None = Field(description="No division into such classes pays more; None where none was needed.")
    exact: bool = Field(description="Whether every recursive division was compared.")
    gap: float = Field(ge=0, description="Most that the best division may pay more; 0 where exact.")
    bound_by: BoundBy | None = Field(
        default=None,
        description="Proof of the bound of remainder classes: by everybody's best cell, or by prices of people.",
    )


class FrontierPoint(Fact):
    """The recipient's method, solved again under one pair of stakes.

    The figures use n_T, the group sizes of a recipient who knows the rule; suppressed records are worth nothing and are
    not attacked. All None where the method gives no file under these stakes.
    """

    benefit: float = Field(description="V of this point, units a record.")
    loss: float = Field(description="L of this point, units a record.")
    gain: float = Field(description="Recipient's gain G of this point; it keeps its ratio to L.")
    publisher_payoff: float | None = Field(description="Mean over the records that came in, units a record.")
    attacked_share: float | None = Field(
        description="Of the records that came in, those that are released and worth attacking."
    )
    information_kept: float | None = Field(description="Mean over the records that came in, 0 to 1.")


class FrontierFact(Fact):
    """Payoff and attacks over a grid of stakes around those of the request; the cost of an attempt is unchanged."""

    benefit_factors: tuple[float, ...] = Field(description="V of the rows over the request's V, ascending.")
    loss_factors: tuple[float, ...] = Field(description="L and G of the columns over the request's, ascending.")
    games: int = Field(description="Games solved for the grid, the request's own included.")
    points: tuple[FrontierPoint, ...] = Field(description="Row by row: all losses of the first benefit, and so on.")


class PenaltyPoint(Fact):
    """The recipient's method against the recipient as a sequential adversary, at one penalty and one other term.

    The figures use n_T, the group sizes of a recipient who knows the rule; suppressed records are worth nothing and are
    not attacked. All but the group size are None where the method gives no file.
    """

    penalty: float = Field(description="Paid for an attempt that is noticed, units.")
    value: float | None = Field(description="Of the map's other term; None for no limit of penalties.")
    publisher_payoff: float | None = Field(description="Mean over the records that came in, units a record.")
    recipient_payoff: float | None = Field(description="Mean over the records that came in, units a record.")
    information_kept: float | None = Field(description="Mean over the records that came in, 0 to 1.")
    attacked_share: float | None = Field(
        description="Of the records that came in, those that are released and attacked."
    )
    reidentifications: float | None = Field(description="Expected, in records.")
    safe_group: float | None = Field(description="People from whom on a group is left alone; None: none is.")


class PenaltiesFact(Fact):
    """Value of fines and one other term: the publisher's best response to each pair, all other terms unchanged."""

    method: str
    term: Literal["detection", "discount", "confirmation", "prior", "max_penalties"] = Field(
        description="Term of the adversary that the columns vary; detection is that of the first attempt."
    )
    belief: str = Field(description="Knowledge of groups of the sequential adversary, or that access is paid anyway.")
    penalties: tuple[float, ...] = Field(description="Of the rows, ascending.")
    values: tuple[float, ...] = Field(description="Of the columns, ascending.")
    points: tuple[PenaltyPoint, ...] = Field(description="Row by row: all columns of the first penalty, and so on.")
    own: PenaltyPoint = Field(description="Under the recipient's own terms, against a sequential adversary.")
    games: int = Field(description="Games solved; pairs that change nothing for the recipient share one.")


_FIGURES = "None in place of a figure: a record has no strategy."


class GameFigures(Fact):
    """A game's means over the records that came in, at several stakes, from the group sizes that the game goes by."""

    method: str
    publisher_payoff: tuple[float | None, ...] = Field(description=f"Units a record. {_FIGURES}")
    adversary_payoff: tuple[float | None, ...] = Field(description=f"Units a record. {_FIGURES}")
    attacked_share: tuple[float | None, ...] = Field(description=f"Of the records, those worth attacking. {_FIGURES}")
    mean_generalization: tuple[float | None, ...] = Field(
        description=f"Generalization intensity GI, 0 to 1. {_FIGURES}"
    )


class StakesMap(Fact):
    """Figures over all pairs of V and L; the gain keeps its ratio to L, the cost of an attempt is unchanged."""

    benefits: tuple[float, ...] = Field(description="V of the rows, ascending.")
    losses: tuple[float, ...] = Field(description="L of the columns, ascending.")
    figures: GameFigures = Field(description="Row by row: all losses of the first benefit, and so on.")


class StakesCurve(Fact):
    """Figures as one stake varies and the others are fixed; the gain moves with the loss."""

    stake: Literal["benefit", "loss", "cost"]
    own: float = Field(description="The request's own value.")
    values: tuple[float, ...] = Field(description="Ascending; the request's own among them.")
    games: tuple[GameFigures, ...]


class ReachFact(Fact):
    """The factors around 1 by which one stake may be multiplied while a figure stays within its tolerance."""

    stake: Literal["benefit", "loss", "cost"]
    figure: Literal["attacked_share", "regret", "mean_generalization", "best_attacked_share"] = Field(
        description="Of the file as made: records worth attacking for an informed recipient, and what its publisher "
        "loses against the best file for the moved stakes, over V; of that best file: mean GI and records worth "
        "attacking."
    )
    tolerance: float
    declared: float = Field(description="The figure under the stakes of the request.")
    low: float = Field(description="Smallest factor up to which it holds at every factor looked at.")
    high: float = Field(description="Largest such factor.")
    breaks_low: float | None = Field(description="Next factor, where it no longer holds; None: the range ends.")
    breaks_high: float | None = Field(description="Next factor, where it no longer holds; None: the range ends.")
    order_of_magnitude: bool = Field(description="Whether it holds from a tenth of the stake to ten times it.")


class StakesFact(Fact):
    """The sensitivity of the recipient's file, and of the per-record games, to the stakes."""

    map: StakesMap
    curves: tuple[StakesCurve, ...]
    reaches: tuple[ReachFact, ...]


AT_LEVEL = "released at level"
"""Beginning of the treatment of an attribute of rows that leaves in groups."""


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
    groups_released: int | None = Field(default=None, description="Values and groups that released records have.")
    values_lost: int | None = Field(default=None, description="Values that no released record has as collected.")
    information_kept: float | None = Field(default=None, description="1 − loss, between 0 and 1 (quasi-identifiers).")
    treatment: str
    confirmed: str = Field(default="", description="Confirmation of the role, with the reason; empty without one.")
    excused: str = Field(default="", description="Acceptance, with the reason, of a release that reveals people.")

    @property
    def delivered_type(self) -> str:
        """Type of the column in a copy: groups of values are text."""
        grouped = self.levels or self.treatment.startswith(AT_LEVEL)
        return ValueType.TEXT.value if grouped else self.type

    @property
    def released(self) -> bool:
        """Whether a copy may have the column."""
        return Role(self.role).delivered

    @classmethod
    def of(cls, name: str, attribute: Attribute, distinct_values: int, treatment: str, **generalized: Any) -> Self:
        """A column as the request declares it, with its treatment."""
        return cls(
            name=name,
            role=attribute.role.value,
            type=attribute.delivered_type.value,
            description=attribute.description or "",
            safe_harbor=attribute.safe_harbor.value,
            known_probability=attribute.known_probability,
            distinct_values=distinct_values,
            treatment=treatment,
            confirmed=str(attribute.confirmed or ""),
            excused=str(attribute.excused or ""),
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
    exact_values: dict[str, float] = Field(
        default_factory=dict, description="Share of the records that keep the exact value of each quasi-identifier."
    )


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

    recipients: tuple[str, ...] = Field(description="Recipients who pool their copies.")
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
    suppressed_classes: int = Field(default=0, description="Cells that these records are in, which leave with none.")
    disclosing_records: int = Field(
        default=0, description="Of these, those left out because their class discloses a sensitive value."
    )
    outcomes: tuple[PolicyOutcome, ...]
    k_anonymity: KAnonymityFact | None = Field(default=None, description="None where the policy demands none.")
    budget: BudgetFact | None = Field(default=None, description="None where the policy limits no whole file.")
    frontier: FrontierFact | None = Field(default=None, description="None in records of earlier versions.")
    stakes: StakesFact | None = Field(default=None, description="None where the policy asks for no map.")
    penalties: PenaltiesFact | None = Field(default=None, description="None where the policy asks for no such map.")
    adversary: str = Field(
        default="one-shot",
        description="Whom the game was played against: one attempt per record, or a sequential adversary.",
    )
    sharing: SharingFact | None = Field(default=None, description="None where the representation is this recipient's.")
    division: DivisionFact | None = Field(
        default=None, description="None where no partition was played, or within a budget, which has its own bound."
    )
    deduced: dict[str, float] | None = Field(
        default=None,
        description="By quasi-identifier, information that a recipient who knows the rule has beyond the released "
        "groups, bits, mean over the released records. None where whole cells are released.",
    )


class ZipTableFact(Fact):
    """The Safe Harbor table of three-digit ZIP codes that was applied."""

    census: str
    sha256: Sha256
    restricted_prefixes: tuple[str, ...]


class EstimateFact(Fact):
    """An estimate with its interval, 95 %."""

    figure: float
    interval: Interval


class UniquesFact(Fact):
    """Released records that are unique in the population, as estimated from the classes of the copy."""

    alone: float = Field(description="Share of the records that are alone in the copy; no estimate exceeds it.")
    pitman: float | None = Field(description="Estimate of each model; None where it has no fit.")
    zayatz: float
    snb: float | None
    chosen: Literal["pitman", "zayatz", "snb"] = Field(description="Model that the decision rule takes.")
    estimate: EstimateFact = Field(description="Its estimate; the interval is of sampling, not of the model.")


class SampleFact(Fact):
    """Risk of the copy in the population that the file is a random sample of; other figures count the file's people."""

    people: int = Field(description="People of the population, as the request states it.")
    fraction: float = Field(description="Records of the file as a share of them.")
    cells: float = Field(description="Cells of all strategies, of which the limits hold at once.")
    least_people: int = Field(description="Lower limit of the people of the class that has fewest, 97.5 %.")
    maximum_risk: float = Field(description="One over the latter.")
    mean_risk: EstimateFact = Field(description="Mean of 1/F; the interval is of the draw alone, without a model.")
    uniques: UniquesFact


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
        default=(), description="Coalitions that the policy takes the recipient to be in."
    )
    sequential: SequentialFact | None = Field(default=None, description="None where the stage did not finish.")
    combined: CombinedFact | None = Field(default=None, description="None where the stage did not finish.")
    linkage: LinkageFact | None = Field(default=None, description="None where the stage did not finish.")
    uncertainty: UncertaintyFact | None = Field(
        default=None, description="None where no term of the recipient is uncertain."
    )
    sample: SampleFact | None = Field(default=None, description="None where the file is no sample.")

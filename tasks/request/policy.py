"""The policy of the organization: how to generalize and score, what a release must pass, and who must agree."""

import math
import re
from enum import StrEnum
from itertools import combinations
from typing import Annotated, ClassVar, Literal

from pydantic import Field, ValidationInfo, field_validator

from tasks.core.people import PERSON_ID, may_be_same_person
from tasks.request.part import (
    EachOnce,
    Identifier,
    OpenProbability,
    PersonName,
    Probability,
    RequestPart,
    Rule,
    Text,
    first_repeated,
    listed,
)
from tasks.request.penalty_grid import PenaltyGrid
from tasks.request.recipient import Method

_SUM = 1e-9
_PAIRS_UNDER_BUDGET = 9


class SensitiveTerm(RequestPart):
    """What a privacy model demands of the values of one attribute in each class."""

    attribute: Text


class Diversity(SensitiveTerm):
    """Values of a sensitive attribute that each class must have (Machanavajjhala et al. 2007)."""

    kind: Literal["distinct", "entropy", "recursive"] = "distinct"
    l: Annotated[float, Field(ge=2, le=10_000, allow_inf_nan=False)]  # noqa: E741
    c: Annotated[float, Field(gt=0, le=10_000, allow_inf_nan=False)] | None = Field(
        default=None, description="Factor of recursive (c, l)-diversity."
    )

    rules: ClassVar[tuple[Rule["Diversity"], ...]] = (
        Rule(
            "recursive diversity takes c, the others do not",
            lambda one: (one.c is not None) is not (one.kind == "recursive"),
            got=lambda one: "no c" if one.c is None else f"c for {one.kind} diversity",
            fix="give c to recursive diversity, and to no other",
        ),
        Rule(
            "l is a whole number, except for entropy diversity",
            lambda one: one.kind != "entropy" and one.l != int(one.l),
            "l",
            got=lambda one: f"the number {one.l}",
            fix="round it up, or ask for entropy",
        ),
    )


class Closeness(SensitiveTerm):
    """Largest distance of a class's distribution of a sensitive attribute from the file's (Li et al. 2007)."""

    t: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]
    ordered: bool = Field(default=False, description="Whether values are ordered, so that distance counts steps.")


class KAnonymity(RequestPart):
    """Optimal k-anonymity with suppression, and further conditions on each class."""

    k: Annotated[int, Field(ge=1, le=1_000_000)] = Field(description="Least records of a class.")
    suppression_limit: Probability = Field(default=0.02, description="Share of the records that may be left out.")
    metric: Literal["precision", "non-uniform entropy", "discernibility", "loss"] = "loss"
    people: Annotated[int, Field(ge=1, le=1_000_000_000)] | None = Field(
        default=None, description="Least people of the population who match a class (k-map)."
    )
    diversity: tuple[Diversity, ...] = ()
    closeness: tuple[Closeness, ...] = ()
    local_recoding: bool = Field(
        default=False, description="Release suppressed records at more general levels where that loses less."
    )

    @property
    def of_attributes(self) -> tuple[tuple[str, int, SensitiveTerm], ...]:
        """Demands on the values of attributes: the field, the place in it, and the demand."""
        values = {name: getattr(self, name) for name in type(self).model_fields}
        lists = {name: value for name, value in values.items() if isinstance(value, tuple)}
        return tuple((name, place, one) for name, value in lists.items() for place, one in enumerate(value))


class SharedRepresentation(RequestPart):
    """Recipients for whom one representation is chosen: all of some, or one of several types."""

    recipients: (
        Annotated[tuple[Identifier, ...], Field(min_length=2, max_length=20), EachOnce] | Literal["all"] | None
    ) = Field(default=None, description="Ids of recipients who all get the representation, or all of the request.")
    types: Annotated[dict[Identifier, OpenProbability], Field(min_length=2, max_length=20)] | None = Field(
        default=None, description="Ids of recipients of whom exactly one gets it, with the probability of each."
    )

    rules: ClassVar[tuple[Rule["SharedRepresentation"], ...]] = (
        Rule(
            "policy.generalization.shared takes recipients or types",
            lambda one: (one.recipients is None) is (one.types is None),
            got=lambda one: "neither" if one.recipients is None else "both",
            fix="name the recipients who all receive the representation, or the types of whom one does",
        ),
        Rule(
            "policy.generalization.shared.types are probabilities that sum to 1",
            lambda one: one.types is not None and abs(sum(one.types.values()) - 1) > _SUM,
            "types",
            got=lambda one: f"a sum of {sum((one.types or {}).values()):g}",
            fix="give each type its probability, so that they sum to 1",
        ),
    )


class CollusionPolicy(RequestPart):
    """Recipients who may pool their copies, so that gates judge what a coalition of them sees as well."""

    recipients: Annotated[tuple[Identifier, ...], Field(min_length=2), EachOnce] | Literal["all"] = Field(
        description="Ids of recipients who may pool their copies, or all of the request."
    )
    who: Literal["everybody", "each pair"] = Field(
        default="everybody", description="Coalitions that are judged: all of them together, or each pair."
    )


class BudgetPolicy(RequestPart):
    """Limits on the whole file, within which the publisher's payoff is maximized."""

    reidentifications: Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)] | None = Field(
        default=None, description="Most expected re-identifications of the file."
    )
    attacked_share: Probability | None = Field(default=None, description="Largest share of the records attacked.")
    least_people: Annotated[int, Field(ge=1, le=1_000_000_000)] | None = Field(
        default=None, description="Least people of the population who match a released cell."
    )
    least_records: Annotated[int, Field(ge=1, le=1_000_000)] | None = Field(
        default=None, description="Least records of a released cell; of the partitions alone."
    )
    suppression: Probability | None = Field(
        default=None, description="Largest share of the records that may be left out; none where not given."
    )
    utility_floor: dict[Text, Probability] = Field(
        default_factory=dict,
        description="Least mean share of information kept, by quasi-identifier; a suppressed record keeps none.",
    )

    rules: ClassVar[tuple[Rule["BudgetPolicy"], ...]] = (
        Rule(
            "policy.generalization.budget has a limit",
            lambda one: all(value in (None, {}) for _, value in one),
            fix="name a limit, or remove the budget",
        ),
    )


class GatesBudget(BudgetPolicy):
    """Limits that follow from the gates of a policy that states none."""


class GeneralizationPolicy(RequestPart):
    """The default generalization method and its terms."""

    method: Method = Method.NO_ATTACK_PARTITION
    cell_weights: Literal["population", "data"] = "population"
    information_loss: Literal["declared", "printed", "table7"] = Field(
        default="declared",
        description="Attribute weights: each attribute's own, all ones (paper, eq. 1), or the paper's Table 7.",
    )
    minimum_class_size: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        default=1, description="Smallest class in the released file; records of smaller classes are suppressed."
    )
    adversary: Literal["one-shot", "sequential"] = Field(
        default="sequential",
        description="Adversary of the game: a sequential adversary, as the default gates judge, or one who makes one "
        "attempt on a record.",
    )
    adversary_belief: Literal["known group", "unknown group", "access shared"] | None = Field(
        default=None,
        description="Whether the sequential adversary knows a group's size before paying for access, or pays once for "
        "the file; access shared where not given.",
    )
    shared: SharedRepresentation | None = Field(
        default=None, description="Recipients for whom one representation is chosen; one for each where not given."
    )
    collusion: CollusionPolicy | None = Field(
        default=None,
        description="Recipients who may pool their copies; gates judge the worst of a copy and of its coalitions.",
    )
    k_anonymity: KAnonymity | None = Field(
        default=None,
        description="Terms of the method k-anonymity, or conditions to which any other method's classes are recoded.",
    )
    budget: BudgetPolicy | None = Field(
        default=None, description="Limits of the whole file, for the per-record methods and the partitions."
    )
    memory_limit_mb: Annotated[int, Field(ge=16)] = 1024

    rules: ClassVar[tuple[Rule["GeneralizationPolicy"], ...]] = (
        Rule(
            "a budget and k_anonymity exclude each other",
            lambda one: one.budget is not None and one.k_anonymity is not None,
            "budget",
            got="both",
            fix="remove one; a partition's budget can have least_records and least_people",
        ),
        Rule(
            "minimum_class_size would leave out more than the budget does",
            lambda one: (
                one.minimum_class_size > 1
                and one.budget is not None
                and (one.budget.suppression is not None or bool(one.budget.utility_floor))
            ),
            "minimum_class_size",
            got="more than 1, beside a limit on suppression or utility",
            fix="remove minimum_class_size, or use a partition with budget.least_records",
        ),
        Rule(
            "collusion and a shared representation exclude each other",
            lambda one: one.collusion is not None and one.shared is not None,
            "collusion",
            got="both",
            fix="remove one of them; recipients of one shared representation learn nothing by pooling it",
        ),
        Rule(
            "collusion and a budget exclude each other",
            lambda one: one.collusion is not None and one.budget is not None,
            "collusion",
            got="both",
            fix="remove one of them; a budget limits a copy that nobody pools with others",
        ),
        Rule(
            "adversary_belief is of the sequential adversary",
            lambda one: one.adversary_belief is not None and one.adversary == "one-shot",
            "adversary_belief",
            got="a belief of an adversary who makes one attempt",
            fix="set adversary: sequential, or remove the belief",
        ),
    )


class Measure(StrEnum):
    """Measures that a gate can put a threshold on."""

    TRANSPARENT_MAXIMUM = "transparent.maximum_risk"
    TRANSPARENT_MEAN = "transparent.mean_risk"
    TRANSPARENT_ATTACKED = "transparent.attacked_share"
    TRANSPARENT_EXPECTED = "transparent.expected_reidentifications"
    PROSECUTOR_MAXIMUM = "prosecutor.maximum_risk"
    PROSECUTOR_MEAN = "prosecutor.mean_risk"
    JOURNALIST_MAXIMUM = "journalist.maximum_risk"
    JOURNALIST_MEAN = "journalist.mean_risk"
    SMALLEST_CLASS = "released.smallest_class"
    SUPPRESSED_SHARE = "released.suppressed_share"
    INFORMATION_KEPT = "released.information_kept"
    PUBLISHER_PAYOFF = "game.publisher_payoff"
    SEQUENTIAL_MAXIMUM = "sequential.maximum_risk"
    SEQUENTIAL_MEAN = "sequential.mean_risk"
    SEQUENTIAL_ATTACKED = "sequential.attacked_share"
    SEQUENTIAL_EXPECTED = "sequential.expected_reidentifications"
    SEQUENTIAL_LOSS = "sequential.expected_loss"
    COMBINED_MAXIMUM = "combined.maximum"
    COMBINED_QUANTILE = "combined.quantile"
    COMBINED_ABOVE = "combined.share_above"
    COMBINED_EXPECTED = "combined.expected_share"
    LINKED_UNINFORMED = "linkage.uninformed_share"
    LINKED_INFORMED = "linkage.informed_share"
    CERTAIN_UNINFORMED = "linkage.uninformed_certain"
    CERTAIN_INFORMED = "linkage.informed_certain"
    LINKED_MASKED = "linkage.masked_share"
    SINGLED_OUT = "singling_out.share"
    SINGLED_OUT_POPULATION = "singling_out.population_share"
    ATTRIBUTE_DISCLOSED = "attribute.disclosed_share"
    ATTRIBUTE_HOMOGENEOUS = "attribute.homogeneous_share"
    ATTRIBUTE_RISE = "attribute.maximum_rise"
    COLUMNS_UNPLACED = "columns.unplaced"
    UTILITY_LOSS = "utility.loss"
    PASSING_PROBABILITY = "uncertain.passing_probability"


OF_ONE_COPY = frozenset(
    {Measure.LINKED_UNINFORMED, Measure.LINKED_INFORMED, Measure.CERTAIN_UNINFORMED, Measure.CERTAIN_INFORMED}
)
"""Measures of risk that a coalition would raise, and that are measured of one copy alone."""
LARGER_IS_BETTER = frozenset(
    {Measure.SMALLEST_CLASS, Measure.INFORMATION_KEPT, Measure.PUBLISHER_PAYOFF, Measure.PASSING_PROBABILITY}
)
_SHARES = frozenset(Measure) - {
    Measure.TRANSPARENT_EXPECTED,
    Measure.SMALLEST_CLASS,
    Measure.PUBLISHER_PAYOFF,
    Measure.SEQUENTIAL_EXPECTED,
    Measure.SEQUENTIAL_LOSS,
    Measure.COLUMNS_UNPLACED,
    Measure.COMBINED_MAXIMUM,
    Measure.COMBINED_QUANTILE,
}


class Gate(RequestPart):
    """One condition of approval: a measured figure against a threshold."""

    measure: Measure
    at_most: Annotated[float, Field(allow_inf_nan=False)] | None = None
    at_least: Annotated[float, Field(allow_inf_nan=False)] | None = None
    because: Text = Field(description="Precedent or reason for the threshold.")

    rules: ClassVar[tuple[Rule["Gate"], ...]] = (
        Rule(
            lambda one: f"{one.measure.value} takes {one.side} and only that",
            lambda one: one.sides != [one.side],
            got=lambda one: listed(one.sides) if one.sides else "neither at_most nor at_least",
            fix="set “at_least” where more is better, as for a class size or kept information; “at_most” for every "
            "risk",
        ),
        Rule(
            lambda one: (
                f"the threshold of {one.measure.value} must "
                + ("lie between 0 and 1" if one.measure in _SHARES else "not be negative")
            ),
            lambda one: (
                one.side
                if (one.threshold < 0 and one.measure is not Measure.PUBLISHER_PAYOFF)
                or (one.threshold > 1 and one.measure in _SHARES)
                else None
            ),
            got=lambda one: f"the number {one.threshold:g}",
            fix="correct the threshold; a risk or share of 9 % is written 0.09",
        ),
    )

    @property
    def side(self) -> str:
        """Key of the threshold that the measure takes."""
        return "at_least" if self.measure in LARGER_IS_BETTER else "at_most"

    @property
    def sides(self) -> list[str]:
        """Keys of the thresholds that are given."""
        return [name for name in ("at_most", "at_least") if getattr(self, name) is not None]

    @property
    def threshold(self) -> float:
        """The threshold, whichever side it bounds."""
        return float(getattr(self, self.side))


DEFAULT_GATES = (
    Gate(
        measure=Measure.TRANSPARENT_MAXIMUM,
        at_most=0.09,
        because="Maximum risk of EMA Policy 0070 and of Health Canada's Public Release of Clinical Information.",
    ),
    Gate(
        measure=Measure.TRANSPARENT_ATTACKED,
        at_most=0.0,
        because="No record may be worth an attempt to a recipient who knows the method.",
    ),
    Gate(
        measure=Measure.SEQUENTIAL_MAXIMUM,
        at_most=0.09,
        because="The same bound on a recipient who tries one candidate after another for as long as it pays.",
    ),
    Gate(
        measure=Measure.LINKED_MASKED,
        at_most=0.09,
        because="The same bound on the people whom numbers alone give away to somebody who knows the method.",
    ),
    Gate(
        measure=Measure.SINGLED_OUT_POPULATION,
        at_most=0.09,
        because="The same bound on the people whom a few known columns single out in the population.",
    ),
    Gate(
        measure=Measure.COMBINED_EXPECTED,
        at_most=0.09,
        because="The same bound on how much of what is sensitive of a person is expected to be learned.",
    ),
    Gate(
        measure=Measure.ATTRIBUTE_DISCLOSED,
        at_most=0.0,
        because="No class may disclose a sensitive value of its records beyond what chance explains.",
    ),
    Gate(
        measure=Measure.COLUMNS_UNPLACED,
        at_most=0.0,
        because="No column is released that tells of people, unless somebody answers for it.",
    ),
)


def records_for(threshold: float) -> int:
    """Fewest records of a class whose prosecutor risk, 1 over the records, is at most a threshold above 0.

    >>> records_for(0.09), records_for(0.1), records_for(1 / 3)
    (12, 10, 3)
    """
    return math.ceil(1 / threshold - _SUM)


def prosecutor_gate(threshold: float) -> Gate:
    """The gate of a policy under which presence in the file can be known."""
    return Gate(
        measure=Measure.PROSECUTOR_MAXIMUM,
        at_most=threshold,
        because=f"Others can know that a person is in the file (policy.presence), which takes classes of at least "
        f"{records_for(threshold):,} records.",
    )


class CombinedPolicy(RequestPart):
    """Terms of the combined score of identity and attribute disclosure (Orooji and Knapp 2019)."""

    alpha: Annotated[float, Field(ge=1, le=1e9, allow_inf_nan=False)] = Field(
        default=1.0, description="Factor on the consequence, α."
    )
    epsilon: Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)] | None = Field(
        default=None, description="Sets of attributes known with at most this probability are left out; null is none."
    )
    exclusive: bool = Field(
        default=False,
        description="Weigh each known set by the probability that nothing else is known, so that weights sum to 1.",
    )
    threshold: Annotated[float, Field(ge=0, allow_inf_nan=False)] = Field(
        default=1.0, description="Records that score above it are counted."
    )
    quantile: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = Field(
        default=0.99, description="Quantile of the scores that combined.quantile reports."
    )


class LinkagePolicy(RequestPart):
    """Knowledge of an intruder who attacks the file by record linkage, and the number of people attacked."""

    known: tuple[Text, ...] | None = Field(
        default=None,
        min_length=1,
        description="Attributes that the intruder knows for everybody; where not given, the quasi-identifiers, those "
        "with a known_probability of 1, and numbers that may be known, masked or not, of whatever type. Leaving out "
        "all of these closes the gate on linkage.masked_share.",
    )
    individuals: Annotated[int, Field(ge=100, le=1_000_000)] = Field(
        default=2000, description="Number of people whom the costlier attacks target; the others target everybody."
    )
    learned: bool = Field(default=True, description="Whether the intruder learns which attributes identify people.")
    p_at_most: Annotated[float, Field(gt=0, le=100, allow_inf_nan=False)] | None = Field(
        default=None,
        description="Upper bound of the p of rank swapping, of an intruder who does not know p. Shown beside the "
        "intruder who does, whom the gates judge.",
    )


class SinglingOutPolicy(RequestPart):
    """Columns that are taken to be known together when records are searched that they single out."""

    columns: Annotated[int, Field(ge=1, le=10)] = Field(
        default=3, description="Columns of the largest set that may single out a record."
    )
    sampling_fraction: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] | None = Field(
        default=None,
        description="Records of the data as a share of the people they are a sample of; where not given, of the "
        "population table's.",
    )


class UtilityPolicy(RequestPart):
    """Analyses that the utility of the released file is measured by."""

    target: Text | None = Field(
        default=None,
        description="Attribute that classifiers predict from the others; without one there is no classification.",
    )
    clusters: Annotated[int, Field(ge=2, le=100)] = Field(default=4, description="Clusters of the k-means agreement.")
    records: Annotated[int, Field(ge=200, le=100_000)] = Field(
        default=3000, description="Records drawn for clustering and classification."
    )


class DecoyPolicy(RequestPart):
    """Terms of all recipients' decoys, which are to withstand recipients who compare their copies."""

    kept_per_decoy: Annotated[int, Field(ge=1, le=100)] = Field(
        default=2, description="Real classes that one recipient alone keeps, for each of its decoy classes, t."
    )
    evasion_cost: Probability = Field(
        default=0,
        description="Least share of its records that a copy loses if recipients compare copies and drop what stands "
        "alone, so that no trace names them; kept_per_decoy is raised as far as that needs.",
    )
    missing_limit: Probability = Field(
        default=0.02, description="Share of the released records that any one copy may miss for others' kept classes."
    )
    seats: Annotated[int, Field(ge=0, le=1000)] = Field(
        default=0, description="Places kept for recipients who come later."
    )
    common_from: Annotated[int, Field(ge=2, le=1_000_000)] | None = Field(
        default=None, description="Number of records sharing all other values from which on a decoy may share them too."
    )
    maximum_detectability: Annotated[float, Field(ge=0.5, le=1, allow_inf_nan=False)] = Field(
        default=0.75,
        description="Highest area under the curve of a classifier that distinguishes decoys from real classes.",
    )


class PatternName(StrEnum):
    """Kinds of direct identifiers that the columns to be released are scanned for."""

    EMAIL = "email"
    PHONE = "phone"
    SSN = "ssn"
    IP = "ip"
    URL = "url"
    MEDICAL_RECORD_NUMBER = "medical record number"
    FULL_DATE = "full date"
    NAME = "name"
    POSTAL_ADDRESS = "postal address"
    COORDINATES = "coordinates"
    ACCOUNT_NUMBER = "account number"
    NATIONAL_ID = "national identification number"
    AGE_OVER_89 = "age over 89"


class ValidationPolicy(RequestPart):
    """Requirements of validation beyond the attributes' own declarations."""

    patterns: tuple[PatternName, ...] = tuple(PatternName)
    maximum_text_length: Annotated[int, Field(ge=1)] = 10_000
    minimum_population_coverage: Probability = Field(
        default=1.0, description="Share of records whose quasi-identifiers occur in the population."
    )


class ReviewPolicy(RequestPart):
    """People who must approve a release, and officers who are responsible for exceptions."""

    required: Annotated[int, Field(ge=0, le=10)] = 0
    reviewers: tuple[PersonName, ...] = Field(
        default=(), description="Ids or names of people who may review; the requester may not, even if named here."
    )
    officers: tuple[PersonName, ...] = Field(
        default=(),
        description="Ids or names of people who may revoke a release, return a rejected one to its reviewers, or "
        "override gates.",
    )
    overridable: tuple[Measure, ...] = Field(
        default=(),
        description="Gates that an officer may override, by their measures; conditions can never be overridden.",
    )
    override_days: Annotated[int, Field(ge=1, le=365)] = Field(
        default=30, description="Days within which an override of a gate must be used."
    )

    rules: ClassVar[tuple[Rule["ReviewPolicy"], ...]] = (
        Rule(
            "policy.review does not name one person twice",
            lambda one: any(
                pair[0] == pair[1]
                or (may_be_same_person(*pair) and not all(re.match(PERSON_ID, name) for name in pair))
                for names in (one.reviewers, one.officers)
                for pair in combinations(names, 2)
            ),
            got="two names that may be one person's",
            fix="name each person once; write names in full where two people have similar ones",
        ),
        Rule(
            "gates that may be overridden need an officer who answers for it",
            lambda one: bool(one.overridable) and not one.officers,
            "officers",
            fix="name an officer, or remove “overridable”",
        ),
    )


class ReassessmentPolicy(RequestPart):
    """Schedule of re-assessment, and the recipients whose copies are then assumed to be combined."""

    every_days: Annotated[int, Field(ge=1, le=3650)] = Field(
        default=90, description="Days after which a release is assessed again."
    )
    colluding: Annotated[int, Field(ge=1, le=4)] = Field(
        default=2, description="Number of recipients of one source whose copies are combined; 1 for none."
    )
    together: tuple[Annotated[tuple[Identifier, ...], Field(min_length=2, max_length=10), EachOnce], ...] = Field(
        default=(),
        description="Recipients who are assumed to share their copies, so that gates apply to them together.",
    )


class SensitivityPolicy(RequestPart):
    """Other stakes and penalties to assess, tolerated changes, and draws of uncertain terms."""

    points: Annotated[int, Field(ge=5, le=100)] | None = Field(
        default=None,
        description="Points on each side of a map over V and L, from a tenth to ten times the stakes; null for no map.",
    )
    attacked: Probability = Field(default=0.01, description="Tolerated change of the share of records worth attacking.")
    regret: Probability = Field(
        default=0.01, description="Tolerated loss against the best file for other stakes, as a share of V."
    )
    generalization: Probability = Field(
        default=0.01, description="Tolerated change of the mean generalization intensity GI."
    )
    penalties: PenaltyGrid | None = Field(
        default=None, description="Penalties, and values of one other term, to play the game for; null for no such map."
    )
    draws: Literal[64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384] = Field(
        default=1024, description="Number of sets of uncertain terms that are drawn and assessed."
    )

    @property
    def pairs(self) -> int:
        """Pairs of a penalty and a value of the other term that the game is played for."""
        return 0 if self.penalties is None else len(self.penalties.penalties) * len(self.penalties.values)


class Policy(RequestPart):
    """The organization's rules for the release."""

    id: Identifier
    version: Text
    generalization: GeneralizationPolicy = GeneralizationPolicy()
    combined: CombinedPolicy = CombinedPolicy()
    linkage: LinkagePolicy = LinkagePolicy()
    singling_out: SinglingOutPolicy = SinglingOutPolicy()
    utility: UtilityPolicy = UtilityPolicy()
    decoys: DecoyPolicy = DecoyPolicy()
    sensitivity: SensitivityPolicy = SensitivityPolicy()
    validation: ValidationPolicy = ValidationPolicy()
    presence: Literal["known", "unknown"] = Field(
        default="known",
        description="Whether others can know that a person is in the file, as a neighbour knows of a patient; where "
        "they can, a gate judges the prosecutor risk.",
    )
    risk_threshold: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = Field(
        default=0.09, description="Records above this risk are counted in the risk tables."
    )
    gates: tuple[Gate, ...] = Field(default=DEFAULT_GATES, min_length=1, validate_default=True)
    validity_days: Annotated[int, Field(ge=1, le=3650)] = 365
    review: ReviewPolicy = ReviewPolicy()
    reassessment: ReassessmentPolicy = ReassessmentPolicy()
    small_cell: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=11, description="Smallest count of people that a report may show (CMS: 11)."
    )

    rules: ClassVar[tuple[Rule["Policy"], ...]] = (
        Rule(
            "each measure has one gate",
            lambda one: None if one.second_gate is None else f"gates.{one.second_gate}.measure",
            got=lambda one: f"{one.gates[one.second_gate or 0].measure.value} again",
            fix="keep one gate for the measure",
        ),
        Rule(
            "at least one gate must be on a transparent.* measure, the risk from an informed recipient",
            lambda one: not any(gate.measure.value.startswith("transparent.") for gate in one.gates),
            "gates",
            got="gates on other measures only",
            fix=f"add a gate for {Measure.TRANSPARENT_MAXIMUM.value}, such as at_most: 0.09",
        ),
        Rule(
            "policy.review.overridable names gates of the policy",
            lambda one: not set(one.review.overridable) <= {gate.measure for gate in one.gates},
            "review.overridable",
            got="a measure without a gate",
            fix="name measures of gates under policy.gates, or add the gate",
        ),
        Rule(
            "within a budget a map of penalties has at most nine pairs",
            lambda one: one.generalization.budget is not None and one.sensitivity.pairs > _PAIRS_UNDER_BUDGET,
            "sensitivity.penalties",
            got=lambda one: f"{one.sensitivity.pairs} pairs",
            fix="name fewer penalties or values of the other term, as 3 and 3, or remove the budget",
        ),
    )

    @field_validator("gates")
    @classmethod
    def _judges_presence(cls, gates: tuple[Gate, ...], info: ValidationInfo) -> tuple[Gate, ...]:
        """Add a gate on the prosecutor risk where presence can be known, at the risk threshold if there is none."""
        threshold = info.data.get("risk_threshold")
        judged = any(gate.measure is Measure.PROSECUTOR_MAXIMUM for gate in gates)
        if judged or threshold is None or info.data.get("presence") != "known":
            return gates
        return (*gates, prosecutor_gate(threshold))

    def fewest_passing(self, *measures: Measure) -> int:
        """Fewest records or people of a class that gates on a highest risk of 1 over them let pass; 1 without one."""
        thresholds = (one.threshold for one in self.gates if one.measure in measures)
        return max((records_for(threshold) for threshold in thresholds if threshold), default=1)

    @property
    def second_gate(self) -> int | None:
        """Position of the first gate whose measure has one before it."""
        return first_repeated(gate.measure for gate in self.gates)

"""The policy of the organization: how to generalize and score, what a release must pass, and who must agree."""

from enum import StrEnum
from itertools import pairwise
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from tasks.decision.people import person_key
from tasks.request.part import Cost, Identifier, OpenProbability, Part, PersonName, Probability, Text
from tasks.request.recipient import Method

_SUM = 1e-9
_PAIRS_UNDER_BUDGET = 9


class Diversity(Part):
    """Values of a sensitive attribute that each class must have (Machanavajjhala et al. 2007)."""

    attribute: Text
    kind: Literal["distinct", "entropy", "recursive"] = "distinct"
    l: Annotated[float, Field(ge=2, le=10_000, allow_inf_nan=False)]  # noqa: E741
    c: Annotated[float, Field(gt=0, le=10_000, allow_inf_nan=False)] | None = Field(
        default=None, description="Factor of recursive (c, l)-diversity."
    )

    @model_validator(mode="after")
    def _parameters(self) -> Self:
        if (self.c is not None) is not (self.kind == "recursive"):
            raise ValueError("recursive diversity takes c, the others do not")
        if self.kind != "entropy" and self.l != int(self.l):
            raise ValueError("l is a whole number but for entropy diversity")
        return self


class Closeness(Part):
    """How far a class's distribution of a sensitive attribute may lie from the file's (Li et al. 2007)."""

    attribute: Text
    t: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]
    ordered: bool = Field(default=False, description="Whether values are ordered, so that distance counts steps.")


class KAnonymity(Part):
    """Optimal k-anonymity with suppression, and what each class must satisfy besides."""

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


class SharedRepresentation(Part):
    """Recipients for whom one representation is chosen: all of some, or one of several types."""

    recipients: Annotated[tuple[Identifier, ...], Field(min_length=2, max_length=20)] | Literal["all"] | None = Field(
        default=None, description="Ids of recipients who all get the representation, or all of the request."
    )
    types: Annotated[dict[Identifier, OpenProbability], Field(min_length=2, max_length=20)] | None = Field(
        default=None, description="Ids of recipients of whom exactly one gets it, with the probability of each."
    )

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.recipients is None) is (self.types is None):
            raise ValueError("policy.generalization.shared takes recipients or types")
        if isinstance(self.recipients, tuple) and len(set(self.recipients)) < len(self.recipients):
            raise ValueError("policy.generalization.shared names each recipient once")
        if self.types is not None and abs(sum(self.types.values()) - 1) > _SUM:
            raise ValueError("policy.generalization.shared.types are probabilities that sum to 1")
        return self


class CollusionPolicy(Part):
    """Recipients with a copy each who may lay their copies beside each other, which the copies are then made for."""

    recipients: Annotated[tuple[Identifier, ...], Field(min_length=2, max_length=6)] | Literal["all"] = Field(
        description="Ids of recipients who may collude, or all of the request: six at most, four with a partition."
    )
    probability: Probability = Field(description="How probable it is that copies come together; 0 is never.")
    who: Literal["everybody", "one pair"] = Field(
        default="everybody",
        description="Whose copies then come together: all of them, or those of one pair, each pair as likely.",
    )

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        if isinstance(self.recipients, tuple) and len(set(self.recipients)) < len(self.recipients):
            raise ValueError("policy.generalization.collusion names each recipient once")
        return self


class BudgetPolicy(Part):
    """Limits of a whole file, within which the publisher's payoff is greatest."""

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
        default=None, description="Largest share of the records that may be left out; nobody where not given."
    )
    utility_floor: dict[Text, Probability] = Field(
        default_factory=dict,
        description="Least mean share of information kept, by quasi-identifier; who is left out keeps nothing.",
    )

    @model_validator(mode="after")
    def _some_limit(self) -> Self:
        if all(getattr(self, name) in (None, {}) for name in type(self).model_fields):
            raise ValueError("policy.generalization.budget has a limit")
        return self


class GeneralizationPolicy(Part):
    """The default generalization, and what it may use."""

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
        default="one-shot",
        description="Whom the game is played against: one attempt a record, or the recipient as one who plans.",
    )
    adversary_belief: Literal["known group", "unknown group", "access shared"] | None = Field(
        default=None,
        description="What one who plans knows of a group before access is paid, or that it is paid once for the file; "
        "access shared where not given.",
    )
    shared: SharedRepresentation | None = Field(
        default=None, description="Recipients for whom one representation is chosen; each his own where not given."
    )
    collusion: CollusionPolicy | None = Field(
        default=None,
        description="Recipients whose copies are made, and judged, as copies that may be laid beside each other.",
    )
    k_anonymity: KAnonymity | None = Field(
        default=None, description="The method k-anonymity, or what any other method's classes are recoded to."
    )
    budget: BudgetPolicy | None = Field(
        default=None, description="Limits of the whole file, for the per-record methods and the partitions."
    )
    memory_limit_mb: Annotated[int, Field(ge=16)] = 1024

    @model_validator(mode="after")
    def _budget_is_the_last_word(self) -> Self:
        if self.budget is None:
            return self
        if self.k_anonymity is not None:
            raise ValueError("a budget and k_anonymity exclude each other")
        kept = self.budget.suppression is not None or self.budget.utility_floor
        if kept and self.minimum_class_size > 1:
            raise ValueError("minimum_class_size would leave out more than the budget does")
        return self

    @model_validator(mode="after")
    def _copies_of_their_own(self) -> Self:
        if self.collusion is not None and self.shared is not None:
            raise ValueError("collusion and a shared representation exclude each other")
        if self.collusion is not None and self.budget is not None:
            raise ValueError("collusion and a budget exclude each other")
        return self

    @model_validator(mode="after")
    def _belief_of_a_planner(self) -> Self:
        if self.adversary_belief is not None and self.adversary == "one-shot":
            raise ValueError("adversary_belief is of the sequential adversary")
        return self


class Measure(StrEnum):
    """Measured figures that a gate can judge."""

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
    COMBINED_MAXIMUM = "combined.maximum"
    COMBINED_QUANTILE = "combined.quantile"
    COMBINED_ABOVE = "combined.share_above"
    LINKED_UNINFORMED = "linkage.uninformed_share"
    LINKED_INFORMED = "linkage.informed_share"
    CERTAIN_UNINFORMED = "linkage.uninformed_certain"
    CERTAIN_INFORMED = "linkage.informed_certain"
    LINKED_MASKED = "linkage.masked_share"
    UTILITY_LOSS = "utility.loss"
    PASSING_PROBABILITY = "uncertain.passing_probability"


OF_ONE_COPY = frozenset(
    {
        Measure.LINKED_UNINFORMED,
        Measure.LINKED_INFORMED,
        Measure.CERTAIN_UNINFORMED,
        Measure.CERTAIN_INFORMED,
    }
)
"""Measures of risk that copies beside each other would raise, and that are measured of one copy alone."""
LARGER_IS_BETTER = frozenset(
    {Measure.SMALLEST_CLASS, Measure.INFORMATION_KEPT, Measure.PUBLISHER_PAYOFF, Measure.PASSING_PROBABILITY}
)
_SHARES = frozenset(Measure) - {
    Measure.TRANSPARENT_EXPECTED,
    Measure.SMALLEST_CLASS,
    Measure.PUBLISHER_PAYOFF,
    Measure.SEQUENTIAL_EXPECTED,
    Measure.COMBINED_MAXIMUM,
    Measure.COMBINED_QUANTILE,
}


class Gate(Part):
    """One condition of approval: a measured figure against a threshold."""

    measure: Measure
    at_most: Annotated[float, Field(allow_inf_nan=False)] | None = None
    at_least: Annotated[float, Field(allow_inf_nan=False)] | None = None
    because: Text = Field(description="Precedent or reason for the threshold.")

    @model_validator(mode="after")
    def _one_sided(self) -> Self:
        side = "at_least" if self.measure in LARGER_IS_BETTER else "at_most"
        other = "at_most" if side == "at_least" else "at_least"
        if getattr(self, side) is None or getattr(self, other) is not None:
            raise ValueError(f"{self.measure.value} takes {side} and only that")
        if self.measure in _SHARES and not 0 <= self.threshold <= 1:
            raise ValueError(f"the threshold of {self.measure.value} must lie between 0 and 1")
        if self.measure not in _SHARES and self.measure is not Measure.PUBLISHER_PAYOFF and self.threshold < 0:
            raise ValueError(f"the threshold of {self.measure.value} must not be negative")
        return self

    @property
    def threshold(self) -> float:
        """The threshold, whichever side it bounds."""
        if self.at_most is not None:
            return self.at_most
        if self.at_least is not None:
            return self.at_least
        raise ValueError("a gate without a threshold")


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
        because="The same bound on the people whom masked numbers alone give away to somebody who knows the method.",
    ),
)


class CombinedPolicy(Part):
    """How identity and attribute disclosure are scored in one (Orooji and Knapp 2019)."""

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
        default=0.99, description="Which quantile of the scores combined.quantile is."
    )


class LinkagePolicy(Part):
    """What the intruder holds who attacks the file by record linkage, and how many people are attacked."""

    known: tuple[Text, ...] | None = Field(
        default=None,
        min_length=1,
        description="Attributes that the intruder holds of everybody; where not given, the quasi-identifiers, the "
        "masked attributes and those with a known_probability of 1.",
    )
    individuals: Annotated[int, Field(ge=100, le=1_000_000)] = Field(
        default=2000, description="People whom the costlier attacks try; the others try everybody."
    )
    learned: bool = Field(default=True, description="Whether the intruder learns which attributes give people away.")


class UtilityPolicy(Part):
    """What the released file must still be good for."""

    target: Text | None = Field(
        default=None, description="Attribute that classifiers predict from the others; none is no classification."
    )
    clusters: Annotated[int, Field(ge=2, le=100)] = Field(default=4, description="Clusters of the k-means agreement.")
    records: Annotated[int, Field(ge=200, le=100_000)] = Field(
        default=3000, description="Records drawn for clustering and classification."
    )


class DecoyPolicy(Part):
    """Decoys of all recipients together: how they stand against recipients who compare their copies."""

    kept_per_decoy: Annotated[int, Field(ge=1, le=100)] = Field(
        default=2, description="Real classes that one recipient alone keeps, for each of its decoy classes, t."
    )
    choice: Literal["optimal", "size", "random"] = Field(
        default="optimal", description="How kept classes are chosen; only the optimal choice guarantees 1/(1 + t)."
    )
    missing_limit: Probability = Field(
        default=0.02, description="Share of the released records that any one copy may miss for others' kept classes."
    )
    seats: Annotated[int, Field(ge=0, le=1000)] = Field(
        default=0, description="Places kept for recipients who come later."
    )
    common_from: Annotated[int, Field(ge=2, le=1_000_000)] | None = Field(
        default=None, description="Records that share all other values from which on a decoy may have them too."
    )
    maximum_detectability: Annotated[float, Field(ge=0.5, le=1, allow_inf_nan=False)] = Field(
        default=0.75, description="Highest area under the curve of a classifier that tells decoys from real classes."
    )


class PatternName(StrEnum):
    """Patterns of direct identifiers that text columns are scanned for."""

    EMAIL = "email"
    PHONE = "phone"
    SSN = "ssn"
    IP = "ip"
    URL = "url"
    MEDICAL_RECORD_NUMBER = "medical record number"
    FULL_DATE = "full date"


class ValidationPolicy(Part):
    """What the validation stage demands beyond the attributes' own declarations."""

    patterns: tuple[PatternName, ...] = tuple(PatternName)
    maximum_text_length: Annotated[int, Field(ge=1)] = 10_000
    minimum_population_coverage: Probability = Field(
        default=1.0, description="Share of records whose quasi-identifiers occur in the population."
    )


class ReviewPolicy(Part):
    """Who must approve before anything is released, and who answers for what departs from the rules."""

    required: Annotated[int, Field(ge=0, le=10)] = 0
    reviewers: tuple[PersonName, ...] = Field(
        default=(), description="People who may review; whoever asks for the release may not, named here or not."
    )
    officers: tuple[PersonName, ...] = Field(
        default=(),
        description="People who may revoke a release, put a rejected one before its reviewers again, or override "
        "gates.",
    )
    overridable: tuple[Measure, ...] = Field(
        default=(), description="Gates that an officer may override, by their measures; conditions can never be."
    )
    override_days: Annotated[int, Field(ge=1, le=365)] = Field(
        default=30, description="Days within which an override of a gate is used."
    )

    @model_validator(mode="after")
    def _named_once(self) -> Self:
        for names in (self.reviewers, self.officers):
            if len({person_key(name) for name in names}) != len(names):
                raise ValueError("policy.review names one person twice")
        if self.overridable and not self.officers:
            raise ValueError("gates that may be overridden need an officer who answers for it")
        return self


class ReassessmentPolicy(Part):
    """When what has left is assessed again, and whose copies are then taken to be in one hand."""

    every_days: Annotated[int, Field(ge=1, le=3650)] = Field(
        default=90, description="Days after which a release is to be assessed again."
    )
    colluding: Annotated[int, Field(ge=1, le=4)] = Field(
        default=2, description="Recipients of one source whose copies are laid beside each other; 1 for none."
    )
    together: tuple[Annotated[tuple[Identifier, ...], Field(min_length=2, max_length=10)], ...] = Field(
        default=(), description="Recipients who are taken to share their copies, so that gates judge them together."
    )

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        if any(len(set(members)) < len(members) for members in self.together):
            raise ValueError("policy.reassessment.together names one recipient twice in a set")
        return self


class PenaltyGrid(Part):
    """Fines and probabilities of being noticed at which the game is played against a recipient who plans."""

    penalties: tuple[Cost, ...] = Field(
        min_length=1, max_length=6, description="Paid for an attempt that is noticed, ascending."
    )
    detections: tuple[OpenProbability, ...] = Field(
        min_length=1, max_length=6, description="Probability that the first attempt is noticed, ascending."
    )

    @model_validator(mode="after")
    def _ascending(self) -> Self:
        for name in ("penalties", "detections"):
            values = getattr(self, name)
            if any(left >= right for left, right in pairwise(values)):
                raise ValueError(f"{name} ascend, each value once")
        return self


class SensitivityPolicy(Part):
    """Which other stakes and fines are looked at, and what counts as a change; draws of uncertain terms."""

    points: Annotated[int, Field(ge=5, le=100)] | None = Field(
        default=None,
        description="Points on each side of a map over V and L, a tenth to ten times the stakes; none is no map.",
    )
    attacked: Probability = Field(
        default=0.01, description="Change of the share of records worth an attempt that is tolerated."
    )
    regret: Probability = Field(
        default=0.01, description="Loss against the best file for other stakes, over V, that is tolerated."
    )
    generalization: Probability = Field(default=0.01, description="Change of the mean intensity GI that is tolerated.")
    penalties: PenaltyGrid | None = Field(
        default=None, description="Fines and detection to play the game at; none is no such map."
    )
    draws: Literal[64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384] = Field(
        default=1024, description="Sets of uncertain terms that are drawn and judged."
    )


class Policy(Part):
    """The rules of the organization that the release is held to."""

    id: Identifier
    version: Text
    generalization: GeneralizationPolicy = GeneralizationPolicy()
    combined: CombinedPolicy = CombinedPolicy()
    linkage: LinkagePolicy = LinkagePolicy()
    utility: UtilityPolicy = UtilityPolicy()
    decoys: DecoyPolicy = DecoyPolicy()
    sensitivity: SensitivityPolicy = SensitivityPolicy()
    validation: ValidationPolicy = ValidationPolicy()
    gates: tuple[Gate, ...] = Field(default=DEFAULT_GATES, min_length=1)
    risk_threshold: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = Field(
        default=0.09, description="Records above this risk are counted in the risk tables."
    )
    validity_days: Annotated[int, Field(ge=1, le=3650)] = 365
    review: ReviewPolicy = ReviewPolicy()
    reassessment: ReassessmentPolicy = ReassessmentPolicy()
    small_cell: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=11, description="Smallest count of people that a report may show (CMS: 11)."
    )

    @model_validator(mode="after")
    def _one_gate_a_measure(self) -> Self:
        measures = [gate.measure for gate in self.gates]
        if len(set(measures)) != len(measures):
            raise ValueError("two gates judge the same measure")
        if not any(measure.value.startswith("transparent.") for measure in measures):
            raise ValueError(
                "at least one gate must judge a transparent.* measure, the risk from an informed recipient"
            )
        if not set(self.review.overridable) <= set(measures):
            raise ValueError("policy.review.overridable names gates of the policy")
        return self

    @model_validator(mode="after")
    def _few_games_within_a_budget(self) -> Self:
        grid = self.sensitivity.penalties
        pairs = 0 if grid is None else len(grid.penalties) * len(grid.detections)
        if self.generalization.budget is not None and pairs > _PAIRS_UNDER_BUDGET:
            raise ValueError("within a budget a map of penalties has at most nine pairs")
        return self

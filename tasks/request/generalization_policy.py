"""Policy of generalization: method, information loss, demands on classes, limits of the file, and sharing."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from tasks.request.part import EachOnce, Identifier, OpenProbability, Probability, RequestPart, Rule, Text
from tasks.request.recipient import Method

_SUM = 1e-9


class SensitiveTerm(RequestPart):
    """Demand of a privacy model on the values of one attribute in each class."""

    attribute: Text = Field(description="Attribute that the demand applies to.")


class Diversity(SensitiveTerm):
    """Values of a sensitive attribute that each class must have (Machanavajjhala et al. 2007)."""

    kind: Literal["distinct", "entropy", "recursive"] = Field(
        default="distinct", description="Required form of diversity."
    )
    l: Annotated[float, Field(ge=2, le=10_000, allow_inf_nan=False)] = Field(  # noqa: E741
        description="Values of each class; a whole number, except for entropy."
    )
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

    t: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = Field(
        description="Greatest distance of a class from the file."
    )
    ordered: bool = Field(default=False, description="Whether distance counts steps (numbers or dates).")


class KAnonymity(RequestPart):
    """Optimal k-anonymity with suppression, and further conditions on each class."""

    k: Annotated[int, Field(ge=1, le=1_000_000)] = Field(description="Least records of a class.")
    suppression_limit: Probability = Field(
        default=0.02,
        description="Share of the records that may be left out, those missing for others' decoys included.",
    )
    metric: Literal["precision", "non-uniform entropy", "discernibility", "loss"] = Field(
        default="loss", description="Metric of information loss to minimize."
    )
    people: Annotated[int, Field(ge=1, le=1_000_000_000)] | None = Field(
        default=None, description="Least people of the population who match a class (k-map)."
    )
    diversity: tuple[Diversity, ...] = Field(
        default=(), description="Values of sensitive attributes that each class must have."
    )
    closeness: tuple[Closeness, ...] = Field(
        default=(), description="Largest distances of classes from the file by sensitive attributes."
    )
    local_recoding: bool = Field(
        default=False, description="Release remainder classes, each with its own levels, where that loses less."
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
        default=None, description="Least people of the population who match a released cell, or a remainder class."
    )
    least_records: Annotated[int, Field(ge=1, le=1_000_000)] | None = Field(
        default=None, description="Least records of a released class (partitions and remainder classes only)."
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

    method: Method = Field(
        default=Method.NO_ATTACK_REMAINDER, description="Method, for recipients who have none of their own."
    )
    cell_weights: Literal["population", "data"] = Field(
        default="population",
        description="Weights of a partition's payoff: the population's, independent of the data, or the data's.",
    )
    information_loss: Literal["declared", "printed", "table7"] = Field(
        default="declared", description="Attribute weights: the attributes' own, all 1 (printed), or sex free (table7)."
    )
    minimum_class_size: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        default=1, description="Smallest class in the released file; records of smaller classes are suppressed."
    )
    adversary: Literal["one-shot", "sequential"] = Field(
        default="sequential", description="Adversary of the game; one-shot makes one attempt on a record."
    )
    adversary_belief: Literal["known group", "unknown group", "access shared"] | None = Field(
        default=None,
        description="Knowledge of the sequential adversary before they pay for access; access shared, once for "
        "the file, where not given. Gates judge the strongest.",
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
        default=None,
        description="Limits of the whole file, for the per-record methods, partitions and remainder classes.",
    )
    memory_limit_mb: Annotated[int, Field(ge=16)] = Field(
        default=1024,
        description="Megabytes for the count cube; beyond it counts are sparse, and a large partition within a "
        "budget is bounded, not exact.",
    )

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
            "only a sequential adversary has an adversary_belief",
            lambda one: one.adversary_belief is not None and one.adversary == "one-shot",
            "adversary_belief",
            got="a belief of an adversary who makes one attempt",
            fix="set adversary: sequential, or remove the belief",
        ),
    )

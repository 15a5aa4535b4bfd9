"""The release request: what is asked for, by whom, for whom, and under which policy.

Only the shape and the ranges of a request live here. Reading a document and explaining its mistakes is
``tasks.request.load``; whether the data fit the request is ``tasks.microdata`` and ``tasks.validation``.
"""

from datetime import date
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

Identifier = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")]
Text = Annotated[str, StringConstraints(min_length=1, max_length=2000, strip_whitespace=True)]
Probability = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Money = Annotated[float, Field(gt=0, le=1e12, allow_inf_nan=False)]
RelativePath = Annotated[str, StringConstraints(min_length=1, max_length=1024)]


class Part(BaseModel):
    """A part of the request: no unknown keys, never changed after it is read."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, ser_json_inf_nan="strings")


class Role(StrEnum):
    """What an attribute can give away about a person."""

    DIRECT = "direct identifier"
    QUASI = "quasi-identifier"
    SENSITIVE = "sensitive"
    INSENSITIVE = "insensitive"


class ValueType(StrEnum):
    """How the values of a column are read."""

    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"
    DATE = "date"


class IntervalLevels(Part):
    """Levels made of intervals of growing width over whole numbers.

    Each width must divide the next, so that the intervals of a level are nested in those of the next.
    """

    minimum: int = Field(description="Smallest value of the domain.")
    maximum: int = Field(description="Largest value of the domain.")
    widths: tuple[Annotated[int, Field(ge=2)], ...] = Field(description="Interval width of each level, growing.")

    @model_validator(mode="after")
    def _nested(self) -> Self:
        if self.maximum <= self.minimum:
            raise ValueError("maximum must be greater than minimum")
        if self.maximum - self.minimum >= 1_000_000:
            raise ValueError("the domain must hold at most 1,000,000 values")
        previous = 1
        for width in self.widths:
            if width <= previous or width % previous:
                raise ValueError("each width must be a larger multiple of the one before it")
            previous = width
        return self


class PrefixLevels(Part):
    """Levels that keep fewer and fewer leading characters of a code, such as a ZIP code."""

    keep: tuple[Annotated[int, Field(ge=1)], ...] = Field(description="Characters kept at each level, shrinking.")
    mask: Annotated[str, StringConstraints(min_length=0, max_length=1)] = Field(
        default="*", description="Character that stands for each one removed; empty to cut the code."
    )

    @model_validator(mode="after")
    def _shrinking(self) -> Self:
        if any(later >= earlier for earlier, later in zip(self.keep, self.keep[1:], strict=False)):
            raise ValueError("the kept lengths must shrink from level to level")
        return self


class GroupLevels(Part):
    """Levels written out: each maps a group to the values (first level) or groups (later levels) in it."""

    levels: tuple[dict[Text, tuple[Text, ...]], ...] = Field(min_length=1)


class HierarchySource(Part):
    """Where an attribute's generalization hierarchy comes from: exactly one of the four."""

    file: RelativePath | None = Field(default=None, description="ARX hierarchy CSV: leaf;level 1;…;top.")
    intervals: IntervalLevels | None = None
    prefixes: PrefixLevels | None = None
    groups: GroupLevels | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        given = [name for name in ("file", "intervals", "prefixes", "groups") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError("give exactly one of file, intervals, prefixes, groups")
        return self


class SafeHarborRule(StrEnum):
    """What 45 CFR 164.514(b)(2) asks of the attribute, where it asks for anything."""

    ZIP = "zip"
    AGE = "age"
    NONE = "none"


class Sensitivity(Part):
    """How much an adversary gains by learning the attribute, and by which value (0 none, 1 most)."""

    attribute: Probability = 1.0
    values: dict[str, Probability] = Field(default_factory=dict)
    default: Probability = Field(default=1.0, description="Weight of a value that is not listed.")


class Attribute(Part):
    """One column of the microdata: its role and what follows from it."""

    role: Role
    type: ValueType = ValueType.TEXT
    description: Text | None = None
    hierarchy: HierarchySource | None = None
    weight: Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)] = Field(
        default=1.0, description="Weight of the attribute in the information loss (quasi-identifiers)."
    )
    safe_harbor: SafeHarborRule = SafeHarborRule.NONE
    known_probability: Probability | None = Field(
        default=None, description="Probability that the value is publicly known of a person."
    )
    sensitivity: Sensitivity | None = None
    allowed_values: tuple[str, ...] | None = Field(
        default=None, description="Closed domain of a column without a hierarchy."
    )
    minimum: float | None = Field(default=None, allow_inf_nan=False)
    maximum: float | None = Field(default=None, allow_inf_nan=False)
    maximum_missing_rate: Probability = 1.0
    scan: bool = Field(default=True, description="Scan the column for patterns of identifiers (text columns).")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.role is Role.QUASI and self.hierarchy is None:
            raise ValueError("a quasi-identifier needs a hierarchy")
        if self.role is not Role.QUASI and self.hierarchy is not None:
            raise ValueError("only a quasi-identifier has a hierarchy")
        if self.sensitivity is not None and self.role is not Role.SENSITIVE:
            raise ValueError("only a sensitive attribute has sensitivity weights")
        if self.minimum is not None and self.maximum is not None and self.minimum > self.maximum:
            raise ValueError("minimum must not exceed maximum")
        return self


class Dataset(Part):
    """The microdata file."""

    path: RelativePath = Field(description="CSV (also .csv.gz) or Parquet, relative to the request.")
    title: Text
    source: Text = Field(description="Where the data come from and under which terms.")
    record_id: Text = Field(description="Column that names each record once; never released.")
    delimiter: Annotated[str, StringConstraints(min_length=1, max_length=1)] = ","
    encoding: Text = "utf-8"
    missing: tuple[str, ...] = Field(default=("",), description="Cells that mean “no value”.")


class Population(Part):
    """Counts of people by quasi-identifier values, for the population the data are drawn from."""

    path: RelativePath
    source: Text
    count: Text = Field(default="count", description="Column with the number of people.")


class Agreement(Part):
    """The data use agreement that binds the recipient."""

    id: Text
    expires: date


class Stakes(Part):
    """What a record is worth, and to whom; all in one currency and per record (Wan et al. 2015, Table 2)."""

    benefit: Money = Field(description="Publisher's benefit of sharing a record in full detail, V.")
    loss: Money = Field(description="Publisher's loss when a record is re-identified, L.")
    cost: Money = Field(description="Recipient's cost of an attempt on one record, c.")
    gain: Money | None = Field(
        default=None, description="Recipient's gain from a re-identified record; L where not given."
    )


class AdversaryTerms(Part):
    """Terms of a planning adversary; recorded here, used by the stages that model one."""

    gain: Money
    penalty: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    access_cost: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    link_cost: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    exploit_cost: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    prior: Probability = 1.0
    detection_intercept: Annotated[float, Field(allow_inf_nan=False)] = 0.0
    detection_slope: Annotated[float, Field(allow_inf_nan=False)] = 0.0
    max_penalties: Annotated[int, Field(ge=1)] | None = None
    discount: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = 0.9


class DecoyTerms(Part):
    """Terms of decoy records for this recipient; recorded here, used by the stage that injects them."""

    classes: Annotated[int, Field(ge=1, le=10_000)]
    minimum_risk_factor: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    maximum_risk_factor: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 2.0


class Method(StrEnum):
    """How quasi-identifiers are generalized."""

    SAFE_HARBOR = "safe-harbor"
    BASIC = "basic"
    NO_ATTACK = "no-attack"
    SH_FRIENDLY = "sh-friendly"
    COMMON = "common"
    BASIC_PARTITION = "basic-partition"
    NO_ATTACK_PARTITION = "no-attack-partition"


class Recipient(Part):
    """Who is to get a copy, why, and on what terms."""

    id: Identifier
    organisation: Text
    purpose: Text
    agreement: Agreement
    stakes: Stakes
    method: Method | None = Field(
        default=None, description="Generalization for this recipient, in place of the policy's."
    )
    controls: tuple[Text, ...] = Field(default=(), description="Technical and contractual controls at the recipient.")
    prior_release_ids: tuple[Text, ...] = ()
    adversary: AdversaryTerms | None = None
    decoys: DecoyTerms | None = None


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
    memory_limit_mb: Annotated[int, Field(ge=16)] = 1024


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


LARGER_IS_BETTER = frozenset({Measure.SMALLEST_CLASS, Measure.INFORMATION_KEPT, Measure.PUBLISHER_PAYOFF})
_SHARES = frozenset(Measure) - {Measure.TRANSPARENT_EXPECTED, Measure.SMALLEST_CLASS, Measure.PUBLISHER_PAYOFF}


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
    """How many people must approve before anything is released."""

    required: Annotated[int, Field(ge=0, le=10)] = 0
    reviewers: tuple[Text, ...] = ()


class Policy(Part):
    """The rules of the organization that the release is held to."""

    id: Identifier
    version: Text
    generalization: GeneralizationPolicy = GeneralizationPolicy()
    validation: ValidationPolicy = ValidationPolicy()
    gates: tuple[Gate, ...] = Field(default=DEFAULT_GATES, min_length=1)
    risk_threshold: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = Field(
        default=0.09, description="Records above this risk are counted in the risk tables."
    )
    validity_days: Annotated[int, Field(ge=1, le=3650)] = 365
    review: ReviewPolicy = ReviewPolicy()
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
        return self


class ReleaseRequest(Part):
    """A request to release one dataset to one or more recipients."""

    schema_version: Literal["releasegate/request/1"]
    title: Text
    requested_by: Text
    expert: Text | None = Field(default=None, description="The expert who signs the determination, with qualification.")
    dataset: Dataset
    attributes: dict[Text, Attribute] = Field(min_length=1)
    population: Population
    recipients: tuple[Recipient, ...] = Field(min_length=1)
    policy: Policy

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        ids = [recipient.id for recipient in self.recipients]
        if len(set(ids)) != len(ids):
            raise ValueError("two recipients have one id")
        record_id = self.attributes.get(self.dataset.record_id)
        if record_id is None or record_id.role is not Role.DIRECT:
            raise ValueError("dataset.record_id must name an attribute with the role “direct identifier”")
        if not self.quasi_identifiers:
            raise ValueError("at least one attribute must be a quasi-identifier")
        if PurePosixPath(self.dataset.path) == PurePosixPath(self.population.path):
            raise ValueError("dataset and population must be different files")
        return self

    @property
    def quasi_identifiers(self) -> tuple[str, ...]:
        """Names of the quasi-identifiers, in the order of the request."""
        return self.with_role(Role.QUASI)

    @property
    def outbound(self) -> tuple[str, ...]:
        """Names of the columns that may leave, in the order of the request."""
        return tuple(name for name, attribute in self.attributes.items() if attribute.role is not Role.DIRECT)

    def with_role(self, role: Role) -> tuple[str, ...]:
        """Names of the attributes with a role, in the order of the request."""
        return tuple(name for name, attribute in self.attributes.items() if attribute.role is role)

    def recipient(self, recipient_id: str) -> Recipient:
        """The recipient with this id; KeyError where there is none."""
        for recipient in self.recipients:
            if recipient.id == recipient_id:
                return recipient
        raise KeyError(recipient_id)

    def method_for(self, recipient: Recipient) -> Method:
        """The generalization method of a recipient: its own, or the policy's."""
        return recipient.method or self.policy.generalization.method

"""The release request: what is asked for, by whom, for whom, and under which policy.

Only the shape and the ranges of a request live here. Reading a document and explaining its mistakes is
``tasks.request.load``; whether the data fit the request is ``tasks.microdata`` and ``tasks.validation``.
"""

from itertools import combinations
from pathlib import PurePosixPath
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from tasks.request.attribute import (
    Attribute,
    GroupLevels,
    HierarchySource,
    IntervalLevels,
    PrefixLevels,
    Role,
    SafeHarborRule,
    Sensitivity,
    ValueType,
)
from tasks.request.masking import PARAMETER_OF, Masking, MaskingName
from tasks.request.part import Cost, Identifier, Money, OpenProbability, Part, Probability, RelativePath, Text
from tasks.request.policy import (
    DEFAULT_GATES,
    LARGER_IS_BETTER,
    OF_ONE_COPY,
    BudgetPolicy,
    Closeness,
    CollusionPolicy,
    CombinedPolicy,
    DecoyPolicy,
    Diversity,
    Gate,
    GeneralizationPolicy,
    KAnonymity,
    LinkagePolicy,
    Measure,
    PatternName,
    PenaltyGrid,
    Policy,
    ReassessmentPolicy,
    ReviewPolicy,
    SensitivityPolicy,
    SharedRepresentation,
    UtilityPolicy,
    ValidationPolicy,
)
from tasks.request.recipient import (
    AdversaryTerms,
    Agreement,
    DecoyTerms,
    DeliveryFormat,
    Method,
    Recipient,
    Stakes,
    UncertainTerm,
    UncertainTerms,
)

__all__ = [
    "DEFAULT_GATES",
    "LARGER_IS_BETTER",
    "OF_ONE_COPY",
    "PARAMETER_OF",
    "AdversaryTerms",
    "Agreement",
    "Attribute",
    "BudgetPolicy",
    "Closeness",
    "CollusionPolicy",
    "CombinedPolicy",
    "Cost",
    "Dataset",
    "DecoyPolicy",
    "DecoyTerms",
    "DeliveryFormat",
    "Diversity",
    "ExternalData",
    "Gate",
    "GeneralizationPolicy",
    "GroupLevels",
    "HierarchySource",
    "Identifier",
    "IntervalLevels",
    "KAnonymity",
    "LinkagePolicy",
    "Masking",
    "MaskingName",
    "Measure",
    "Method",
    "Money",
    "OpenProbability",
    "Part",
    "PatternName",
    "PenaltyGrid",
    "Policy",
    "Population",
    "PrefixLevels",
    "Probability",
    "ReassessmentPolicy",
    "Recipient",
    "RelativePath",
    "ReleaseRequest",
    "ReviewPolicy",
    "Role",
    "SafeHarborRule",
    "Sensitivity",
    "SensitivityPolicy",
    "SharedRepresentation",
    "Stakes",
    "Text",
    "UncertainTerm",
    "UncertainTerms",
    "UtilityPolicy",
    "ValidationPolicy",
    "ValueType",
]


PARTITIONS = frozenset({Method.BASIC_PARTITION, Method.NO_ATTACK_PARTITION})
BUDGETED = PARTITIONS | {Method.BASIC, Method.NO_ATTACK, Method.SH_FRIENDLY}
"""Methods that can keep a budget over the whole file, and that make copies for recipients who may collude."""
MOST_COLLUDERS = 6
MOST_COLLUDERS_DIVIDED = 4
"""With a partition."""


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


class ExternalData(Part):
    """A register of named people that an adversary can link to: their number by quasi-identifier values."""

    path: RelativePath
    source: Text
    count: Text = Field(default="count", description="Column with the number of people listed.")


class ReleaseRequest(Part):
    """A request to release one dataset to one or more recipients."""

    schema_version: Literal["releasegate/request/1"]
    title: Text
    requested_by: Text
    expert: Text | None = Field(default=None, description="The expert who signs the determination, with qualification.")
    dataset: Dataset
    attributes: dict[Text, Attribute] = Field(min_length=1)
    masking: tuple[Masking, ...] = Field(default=(), description="Numeric attributes that are masked, and how.")
    population: Population
    external_data: ExternalData | None = Field(
        default=None, description="Identified register; without one, the population by its coverage."
    )
    recipients: tuple[Recipient, ...] = Field(min_length=1)
    delivery_format: DeliveryFormat = Field(
        default=DeliveryFormat.CSV, description="Form of the delivered files, where a recipient has none of its own."
    )
    continues: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")] | None = Field(
        default=None, description="Release id of an earlier version, whose recipients keep their decoys."
    )
    supersedes: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")] | None = Field(
        default=None,
        description="Release id of an earlier release, whose place this one takes for the recipients of both.",
    )
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
        combined = any(gate.measure.value.startswith("combined.") for gate in self.policy.gates)
        if combined and not any(self.attributes[name].tells for name in self.with_role(Role.SENSITIVE)):
            raise ValueError("a gate judges a combined.* measure, but no attribute is sensitive with a weight above 0")
        judged = any(gate.measure is Measure.PASSING_PROBABILITY for gate in self.policy.gates)
        if judged and any(recipient.uncertain is None for recipient in self.recipients):
            raise ValueError("a gate judges uncertain.passing_probability, but a recipient has no uncertain terms")
        if self.supersedes and self.continues and self.supersedes != self.continues:
            raise ValueError("continues supersedes the version that it names, and no other release")
        self._check_masking()
        self._check_known()
        self._check_k_anonymity()
        self._check_shared()
        self._check_collusion()
        self._check_budget()
        self._check_crossing()
        if PurePosixPath(self.dataset.path) == PurePosixPath(self.population.path):
            raise ValueError("dataset and population must be different files")
        if self.external_data and PurePosixPath(self.external_data.path) == PurePosixPath(self.dataset.path):
            raise ValueError("dataset and external_data must be different files")
        return self

    def _check_masking(self) -> None:
        seen: set[str] = set()
        for name in (name for masking in self.masking for name in masking.attributes):
            attribute = self.attributes.get(name)
            if attribute is None:
                raise ValueError("masking names attributes of the request")
            if attribute.type not in (ValueType.INTEGER, ValueType.NUMBER):
                raise ValueError("masking changes numbers, so it takes attributes of type integer or number")
            if attribute.role in (Role.DIRECT, Role.QUASI):
                raise ValueError("masking takes sensitive or insensitive attributes")
            if name in seen:
                raise ValueError("an attribute is masked by one method at most")
            seen.add(name)

    def _check_known(self) -> None:
        outbound = set(self.outbound)
        if not outbound.issuperset(self.policy.linkage.known or ()):
            raise ValueError("policy.linkage.known names columns that leave")
        target = self.policy.utility.target
        if target is not None and target not in outbound:
            raise ValueError("policy.utility.target names a column that leaves")

    def _check_k_anonymity(self) -> None:
        demands = self.policy.generalization.k_anonymity
        if demands is None:
            if any(self.method_for(recipient) is Method.K_ANONYMITY for recipient in self.recipients):
                raise ValueError("the method k-anonymity needs policy.generalization.k_anonymity")
            return
        named = {one.attribute for one in demands.diversity} | {one.attribute for one in demands.closeness}
        if not named <= set(self.outbound) - set(self.quasi_identifiers):
            raise ValueError("diversity and closeness are of columns that leave as they are, not of quasi-identifiers")

    def _check_budget(self) -> None:
        budget = self.policy.generalization.budget
        if budget is None:
            return
        methods = {self.method_for(recipient) for recipient in self.recipients}
        if not methods <= BUDGETED:
            raise ValueError("a budget is of the per-record methods and the partitions")
        if budget.least_records is not None and not methods <= PARTITIONS:
            raise ValueError("budget.least_records is of the partitions")
        if not set(budget.utility_floor) <= set(self.quasi_identifiers):
            raise ValueError("budget.utility_floor names quasi-identifiers")

    def _check_crossing(self) -> None:
        if not any(source.levels_may_cross for source in self._hierarchies):
            return
        policy = self.policy.generalization
        if policy.k_anonymity is not None or policy.budget is not None or policy.collusion is not None:
            raise ValueError("where levels may cross there is no k_anonymity, no budget and no collusion")
        if self.continues or any(recipient.decoys for recipient in self.recipients):
            raise ValueError("where levels may cross there are no decoys")

    @property
    def _hierarchies(self) -> tuple[HierarchySource, ...]:
        return tuple(attribute.hierarchy for attribute in self.attributes.values() if attribute.hierarchy is not None)

    def _check_shared(self) -> None:
        sharing = self.policy.generalization.shared
        if sharing is None:
            return
        named = sharing.recipients if isinstance(sharing.recipients, tuple) else tuple(sharing.types or ())
        if not set(named) <= {recipient.id for recipient in self.recipients}:
            raise ValueError("policy.generalization.shared names recipients of the request")
        if len({self.method_for(recipient) for recipient in self.recipients if self.sharing(recipient)}) > 1:
            raise ValueError("recipients who share a representation have one method")

    def _check_collusion(self) -> None:
        terms = self.policy.generalization.collusion
        if terms is None:
            return
        if terms.recipients != "all" and not set(terms.recipients) <= {recipient.id for recipient in self.recipients}:
            raise ValueError("policy.generalization.collusion names recipients of the request")
        members = self.may_collude
        if len(members) < 2:
            return
        if len(members) > MOST_COLLUDERS:
            raise ValueError("collusion is of at most 6 recipients")
        methods = {self.method_for(recipient) for recipient in members}
        if len(methods) > 1:
            raise ValueError("recipients who may collude have one method")
        if not methods <= BUDGETED:
            raise ValueError("collusion is of the per-record methods and the partitions")
        if methods <= PARTITIONS and len(members) > MOST_COLLUDERS_DIVIDED:
            raise ValueError("collusion is of at most 4 recipients with a partition")
        if terms.probability > 0 and any(gate.measure in OF_ONE_COPY for gate in self.policy.gates):
            raise ValueError("under collusion a gate judges what is measured of copies beside each other")

    @property
    def may_collude(self) -> tuple[Recipient, ...]:
        """Recipients whom the policy names as those who may collude, with whatever probability."""
        terms = self.policy.generalization.collusion
        if terms is None:
            return ()
        return tuple(one for one in self.recipients if terms.recipients == "all" or one.id in terms.recipients)

    def colluding(self, recipient: Recipient) -> tuple[Recipient, ...]:
        """Those whose copies may be laid beside this recipient's, himself among them, in the order of the request.

        Empty where nobody's may.
        """
        terms, members = self.policy.generalization.collusion, self.may_collude
        if terms is None or terms.probability == 0 or len(members) < 2:
            return ()
        return members if recipient.id in {one.id for one in members} else ()

    def hands(self, recipient: Recipient) -> tuple[tuple[tuple[Recipient, ...], float], ...]:
        """Sets of recipients, this one among them, whose copies may come together, each with its probability."""
        terms, members = self.policy.generalization.collusion, self.colluding(recipient)
        if terms is None or not members:
            return ()
        size = len(members) if terms.who == "everybody" else 2
        sets = list(combinations(members, size))
        return tuple((one, terms.probability / len(sets)) for one in sets if recipient.id in {who.id for who in one})

    def sharing(self, recipient: Recipient) -> tuple[tuple[Recipient, float], ...]:
        """Those for whom one representation is chosen with this recipient's, himself among them, each with its weight.

        Empty where the representation is his alone.
        """
        terms = self.policy.generalization.shared
        if terms is None:
            return ()
        if terms.types is not None:
            weights = terms.types
        else:
            ids = [one.id for one in self.recipients] if terms.recipients == "all" else (terms.recipients or ())
            weights = dict.fromkeys(ids, 1.0)
        if recipient.id not in weights or len(weights) == 1:
            return ()
        found = tuple((one, weights[one.id]) for one in self.recipients if one.id in weights)
        return found if len(found) > 1 else ()

    @property
    def masked(self) -> tuple[str, ...]:
        """Names of the masked attributes, in the order of the request."""
        chosen = {name for masking in self.masking for name in masking.attributes}
        return tuple(name for name in self.attributes if name in chosen)

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

    def format_for(self, recipient: Recipient) -> DeliveryFormat:
        """The form of a recipient's file: its own, or the request's."""
        return recipient.delivery_format or self.delivery_format

"""The release request: dataset, recipients, policy and requester.

Only the shape and the ranges of a request are checked here. ``tasks.request.load`` reads a document;
``tasks.microdata`` and ``tasks.validation`` check the data against the request.
"""

from itertools import combinations
from pathlib import PurePosixPath
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from tasks.request.attribute import (
    PARAMETER_OF,
    Attribute,
    GroupLevels,
    HierarchySource,
    IntervalLevels,
    Masking,
    MaskingName,
    PrefixLevels,
    Role,
    SafeHarborRule,
    SensitivityWeights,
    ValueType,
)
from tasks.request.part import (
    Cost,
    Identifier,
    Money,
    OpenProbability,
    Probability,
    RelativePath,
    ReleaseId,
    RequestPart,
    Text,
    broken_rule,
    first_repeated,
    refuse_if,
)
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
    "RequestPart",
    "ReviewPolicy",
    "Role",
    "SafeHarborRule",
    "SensitivityPolicy",
    "SensitivityWeights",
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
"""Methods that can keep a budget over the whole file."""


class Dataset(RequestPart):
    """The microdata file."""

    path: RelativePath = Field(description="CSV (also .csv.gz) or Parquet, relative to the request.")
    title: Text
    source: Text = Field(description="Where the data come from and under which terms.")
    record_id: Text = Field(description="Column that names each record once; never released.")
    delimiter: Annotated[str, StringConstraints(min_length=1, max_length=1)] = ","
    encoding: Text = "utf-8"
    missing: tuple[str, ...] = Field(default=("",), description="Cells that mean “no value”.")


class Population(RequestPart):
    """Counts of people by quasi-identifier values, for the population the data are drawn from."""

    path: RelativePath
    source: Text
    count: Text = Field(default="count", description="Column with the number of people.")


class ExternalData(RequestPart):
    """A register of named people that an adversary can link to: their number by quasi-identifier values."""

    path: RelativePath
    source: Text
    count: Text = Field(default="count", description="Column with the number of people listed.")


class ReleaseRequest(RequestPart):
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
    continues: ReleaseId | None = Field(
        default=None, description="Release id of an earlier version, whose recipients keep their decoys."
    )
    supersedes: ReleaseId | None = Field(
        default=None,
        description="Release id of an earlier release, which this one replaces for the recipients of both.",
    )
    policy: Policy

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        self._check_recipients()
        self._check_attributes()
        self._check_gates()
        refuse_if(
            self.supersedes and self.continues and self.supersedes != self.continues,
            "a request that continues a version supersedes that version, and no other release",
            "supersedes",
            got="the id of a different release",
            fix="remove “supersedes”; to supersede a different release, make a request without “continues”",
        )
        self._check_masking()
        self._check_columns()
        self._check_k_anonymity()
        self._check_shared()
        self._check_collusion()
        self._check_budget()
        self._check_crossing()
        self._check_files()
        return self

    def _check_recipients(self) -> None:
        again = first_repeated(recipient.id for recipient in self.recipients)
        refuse_if(
            again is not None,
            "two recipients never have the same id",
            f"recipients.{again}.id",
            got=f"“{self.recipients[again or 0].id}” again",
            fix="give every recipient an id of its own",
        )

    def _check_attributes(self) -> None:
        record_id = self.attributes.get(self.dataset.record_id)
        refuse_if(
            record_id is None or record_id.role is not Role.DIRECT,
            "dataset.record_id must name an attribute with the role “direct identifier”",
            "dataset.record_id",
            got=f"the role “{record_id.role.value}”" if record_id else "a name that is not among the attributes",
            fix="name the column that numbers the records and give it that role",
        )
        refuse_if(
            not self.quasi_identifiers,
            "at least one attribute must be a quasi-identifier",
            "attributes",
            got="none",
            fix="give the role to the attributes that a recipient could know about a person, with hierarchies",
        )

    def _check_gates(self) -> None:
        gated = {gate.measure for gate in self.policy.gates}
        combined = any(measure.value.startswith("combined.") for measure in gated)
        refuse_if(
            combined and not any(self.attributes[name].tells for name in self.with_role(Role.SENSITIVE)),
            "a gate on a combined.* measure needs a sensitive attribute with a weight above 0",
            "policy.gates",
            got="no such attribute",
            fix="give the attributes that disclose something private the role “sensitive”, or remove the gate",
        )
        for place, recipient in enumerate(self.recipients):
            refuse_if(
                Measure.PASSING_PROBABILITY in gated and recipient.uncertain is None,
                "a gate on uncertain.passing_probability needs uncertain terms of every recipient",
                f"recipients.{place}.uncertain",
                got="none",
                fix="declare under “uncertain” what is known of the recipient's terms, or remove the gate",
            )

    def _check_masking(self) -> None:
        places = [
            (name, f"masking.{number}.attributes.{place}")
            for number, masking in enumerate(self.masking)
            for place, name in enumerate(masking.attributes)
        ]
        again = first_repeated(name for name, _ in places)
        for number, (name, place) in enumerate(places):
            attribute = self.attributes.get(name)
            if attribute is None:
                raise broken_rule(
                    "masking names attributes of the request",
                    place,
                    got="a name that is not among the attributes",
                    fix="spell the column as under attributes",
                )
            refuse_if(
                attribute.type not in (ValueType.INTEGER, ValueType.NUMBER),
                "masking changes numbers, so it takes attributes of type integer or number",
                place,
                got=f"a column of type {attribute.type.value}",
                fix="declare its type, or leave it out; a quasi-identifier is generalized along its hierarchy instead",
            )
            refuse_if(
                attribute.role in (Role.DIRECT, Role.QUASI),
                "masking takes sensitive or insensitive attributes",
                place,
                got=f"a column with the role “{attribute.role.value}”",
                fix="leave it out: a direct identifier is never released, and a quasi-identifier is generalized",
            )
            refuse_if(
                number == again,
                "an attribute is masked by one method at most",
                place,
                got="a column twice",
                fix="name it in one place",
            )

    def _check_columns(self) -> None:
        outbound = set(self.outbound)
        for place, name in enumerate(self.policy.linkage.known or ()):
            refuse_if(
                name not in outbound,
                "policy.linkage.known names columns that are released",
                f"policy.linkage.known.{place}",
                got="a name that is not among the columns that are released",
                fix="name quasi-identifiers, sensitive or insensitive attributes",
            )
        refuse_if(
            self.policy.utility.target not in {None, *outbound},
            "policy.utility.target names a column that is released",
            "policy.utility.target",
            got="a name that is not among the columns that are released",
            fix="name a quasi-identifier, a sensitive or an insensitive attribute",
        )

    def _check_k_anonymity(self) -> None:
        terms = self.policy.generalization.k_anonymity
        if terms is None:
            refuse_if(
                any(self.method_for(recipient) is Method.K_ANONYMITY for recipient in self.recipients),
                "the method k-anonymity needs policy.generalization.k_anonymity",
                "policy",
                got="a recipient whose method is k-anonymity, without its terms",
                fix="add “k_anonymity: {k: 5}” under policy.generalization",
            )
            return
        allowed = set(self.outbound) - set(self.quasi_identifiers)
        for kind, place, demand in terms.of_attributes:
            _refuse_if(
                demand.attribute not in allowed,
                "diversity and closeness are of columns that are released as they are, not of quasi-identifiers",
                f"k_anonymity.{kind}.{place}.attribute",
                got="a column that is not sensitive or insensitive",
                fix="name a sensitive or insensitive attribute of the request",
            )

    def _check_budget(self) -> None:
        budget = self.policy.generalization.budget
        if budget is None:
            return
        methods = {self.method_for(recipient) for recipient in self.recipients}
        _refuse_if(
            not methods <= BUDGETED,
            "a budget is of the per-record methods and the partitions",
            "budget",
            got="a recipient with a different method",
            fix="give each recipient basic, no-attack, sh-friendly or a partition, or remove the budget",
        )
        _refuse_if(
            budget.least_records is not None and not methods <= PARTITIONS,
            "budget.least_records is of the partitions",
            "budget.least_records",
            got="a recipient with a strategy for each record",
            fix="give each recipient a partition, or remove the limit",
        )
        _refuse_if(
            not set(budget.utility_floor) <= set(self.quasi_identifiers),
            "budget.utility_floor names quasi-identifiers",
            "budget.utility_floor",
            got="an attribute that is not a quasi-identifier",
            fix="name quasi-identifiers of the request",
        )

    def _check_crossing(self) -> None:
        sources = (attribute.hierarchy for attribute in self.attributes.values())
        if not any(source is not None and source.levels_may_cross for source in sources):
            return
        tree = "or make the hierarchy a tree and remove levels_may_cross"
        for name in ("k_anonymity", "budget", "collusion"):
            _refuse_if(
                getattr(self.policy.generalization, name) is not None,
                "where levels may cross there is no k_anonymity, no budget and no collusion",
                name,
                got=f"{name} beside a hierarchy with levels_may_cross",
                fix=f"remove it, {tree}",
            )
        decoyed = [f"recipients.{place}.decoys" for place, recipient in enumerate(self.recipients) if recipient.decoys]
        refuse_if(
            self.continues or decoyed,
            "where levels may cross there are no decoys",
            next(iter(decoyed), "continues"),
            got="decoys beside a hierarchy with levels_may_cross",
            fix=f"remove them, {tree}",
        )

    def _check_shared(self) -> None:
        sharing = self.policy.generalization.shared
        if sharing is None:
            return
        named = sharing.recipients if isinstance(sharing.recipients, tuple) else tuple(sharing.types or ())
        _refuse_if(
            not set(named) <= {recipient.id for recipient in self.recipients},
            "policy.generalization.shared names recipients of the request",
            "shared",
            got="an id that is not among them",
            fix="spell the ids as under recipients",
        )
        _refuse_if(
            len({self.method_for(recipient) for recipient in self.recipients if self.sharing(recipient)}) > 1,
            "recipients who share a representation have one method",
            "shared",
            got="recipients with different methods",
            fix="give them one method, or leave some out",
        )

    def _check_collusion(self) -> None:
        terms = self.policy.generalization.collusion
        if terms is None:
            return
        _refuse_if(
            terms.recipients != "all" and not set(terms.recipients) <= {recipient.id for recipient in self.recipients},
            "policy.generalization.collusion names recipients of the request",
            "collusion",
            got="an id that is not among them",
            fix="spell the ids as under recipients",
        )
        members = {one.id: one for members in map(self.coalitions, self.recipients) for who in members for one in who}
        _refuse_if(
            any(self.method_for(one) is Method.SAFE_HARBOR for one in members.values()),
            "recipients who may pool copies have a method other than Safe Harbor",
            "collusion",
            got="a recipient with the method safe-harbor",
            fix="give that recipient a different method, or leave it out",
        )
        refuse_if(
            members and any(gate.measure in OF_ONE_COPY for gate in self.policy.gates),
            "under collusion every gate is on a measure of pooled copies",
            "policy.gates",
            got="a gate on linkage other than by masked numbers, which is measured on one copy alone",
            fix="remove the gate, or give the recipients one representation (shared)",
        )

    def _check_files(self) -> None:
        data = PurePosixPath(self.dataset.path)
        refuse_if(
            data == PurePosixPath(self.population.path),
            "dataset and population must be different files",
            "population.path",
            got="one file for both",
            fix="name the table of population counts",
        )
        refuse_if(
            self.external_data and data == PurePosixPath(self.external_data.path),
            "dataset and external_data must be different files",
            "external_data.path",
            got="one file for both",
            fix="name the register's table of counts",
        )

    def coalitions(self, recipient: Recipient) -> tuple[tuple[Recipient, ...], ...]:
        """Sets of recipients, this one among them, who may pool their copies, each in the order of the request."""
        terms = self.policy.generalization.collusion
        if terms is None:
            return ()
        members = [one for one in self.recipients if terms.recipients == "all" or one.id in terms.recipients]
        if len(members) < 2:
            return ()
        sets = combinations(members, len(members) if terms.who == "everybody" else 2)
        return tuple(one for one in sets if recipient.id in {who.id for who in one})

    def sharing(self, recipient: Recipient) -> tuple[tuple[Recipient, float], ...]:
        """Recipients who share this recipient's representation, itself included, each with its weight.

        Empty where the recipient has a representation of its own.
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
        """Names of the columns that may be released, in the order of the request."""
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


def _refuse_if(broken: object, expected: str, at: str, *, got: str, fix: str) -> None:
    """Refuse a broken rule on the policy's generalization; its place is below that part."""
    refuse_if(broken, expected, f"policy.generalization.{at}", got=got, fix=fix)

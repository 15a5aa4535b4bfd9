"""The release request: dataset, recipients, policy and requester.

The parts of a request are imported from here. Only shape and ranges are checked: ``tasks.request.load`` reads
documents, ``tasks.validation`` checks the data.
"""

from collections.abc import Iterable
from itertools import combinations
from pathlib import PurePosixPath
from typing import Any, ClassVar, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from tasks.request.adversary_terms import AdversaryTerms
from tasks.request.attribute import (
    NUMERIC,
    Attribute,
    DateTerms,
    PseudonymFormat,
    PseudonymTerms,
    Role,
    SafeHarborRule,
    SensitivityWeights,
    TextTerms,
    ValueType,
)
from tasks.request.dates import date_rules
from tasks.request.file_form import FileForm, FileFormat
from tasks.request.gate import DEFAULT_GATES, Gate, records_for
from tasks.request.generalization_policy import (
    BudgetPolicy,
    Closeness,
    CollusionPolicy,
    Diversity,
    GatesBudget,
    GeneralizationPolicy,
    KAnonymity,
    SharedRepresentation,
)
from tasks.request.hierarchy_source import (
    DateLevels,
    DatePeriod,
    GroupLevels,
    HierarchySource,
    IntervalLevels,
    PrefixLevels,
)
from tasks.request.longitudinal import is_identifier, longitudinal_rules, role_in_words
from tasks.request.masking_terms import GROUPING, PARAMETER_OF, Masking, MaskingName
from tasks.request.measures import DATES, LARGER_IS_BETTER, OF_ONE_COPY, Measure
from tasks.request.missing import MissingPolicy, MissingReading
from tasks.request.part import (
    Cost,
    Identifier,
    Money,
    OpenProbability,
    PersonId,
    Probability,
    ReleaseId,
    RequestPart,
    Rule,
    Text,
    broken_rule,
    first_repeated,
)
from tasks.request.penalty_grid import PenaltyGrid
from tasks.request.policy import (
    CombinedPolicy,
    DatesPolicy,
    DecoyPolicy,
    LinkagePolicy,
    PatternName,
    Policy,
    ReassessmentPolicy,
    ReviewPolicy,
    SensitivityPolicy,
    SinglingOutPolicy,
    UtilityPolicy,
    ValidationPolicy,
)
from tasks.request.population import ExternalData, Population, PopulationBasis
from tasks.request.population_rules import POPULATION_RULES, masked_places, resources_of
from tasks.request.recipient import (
    PARTITIONS,
    Agreement,
    DecoyTerms,
    DeliveryFormat,
    Method,
    Recipient,
    Stakes,
    UncertainTerm,
    UncertainTerms,
)
from tasks.request.tables import FurtherTable, TableName, attributes_of, named_as_of_table, qualified, table_rules
from tasks.request.text_rules import TEXT_RULES

_TERMS = "policy.generalization."
LEFT_OUT = 0.02
"""Share of the records that classes of the size that a gate takes may leave out, where no term says it."""
DIVISIONS = PARTITIONS | {Method.NO_ATTACK_COMMON, Method.NO_ATTACK_REMAINDER}
"""Methods that divide people into classes, whose size they can keep."""
BUDGETED = DIVISIONS | {Method.BASIC, Method.NO_ATTACK, Method.SH_FRIENDLY}
"""Methods that can keep a budget over the whole file."""


class Dataset(FileForm):
    """The microdata file."""

    title: Text = Field(description="Title of the data, for the reports.")
    source: Text = Field(description="Source of the data, and the terms of use.")
    record_id: Text = Field(
        description="Column that names each record once; never released. Without one, the column of “person”."
    )
    person: Text | None = Field(
        default=None,
        description="Column that names the person of each row; risks, classes and counts are then of people.",
    )


class ChangesSince(RequestPart):
    """Reason for a small number of people added, removed or changed since an earlier copy held by the same party."""

    release: ReleaseId = Field(description="Release id of the last earlier copy that the party holds.")
    because: Text = Field(description="Reason that the reviewers judge, such as a withdrawn consent.")


class ReleaseRequest(RequestPart):
    """A request to release one dataset to one or more recipients."""

    schema_version: Literal["releasegate/request/1"] = Field(description="Version of this form.")
    title: Text = Field(description="Title of the release.")
    requested_by: PersonId = Field(description="Id of the enrolled person who asks for the release.")
    expert: Text | None = Field(default=None, description="The expert who signs the determination, with qualification.")
    dataset: Dataset
    attributes: dict[Text, Attribute] = Field(min_length=1, description="Columns of the dataset, by name.")
    tables: dict[TableName, FurtherTable] = Field(
        default_factory=dict, max_length=50, description="Further tables of the same persons, by name."
    )
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
    changes_since: ChangesSince | None = Field(
        default=None,
        description="Reason for fewer people added, removed or changed since an earlier copy than the least class.",
    )
    policy: Policy

    rules: ClassVar[tuple[Rule["ReleaseRequest"], ...]] = (
        Rule(
            "two recipients never have the same id",
            lambda one: None if (again := _second_id(one)) is None else f"recipients.{again}.id",
            got=lambda one: f"“{one.recipients[_second_id(one) or 0].id}” again",
            fix="give every recipient an id of its own",
        ),
        Rule(
            "dataset.record_id must name an attribute with the role “direct identifier” or “pseudonym”",
            lambda one: not is_identifier(one, one.dataset.record_id),
            "dataset.record_id",
            got=lambda one: role_in_words(one, one.dataset.record_id),
            fix="name the column that numbers the records and give it that role",
        ),
        Rule(
            "dataset.dates names attributes of type date",
            lambda one: _first(
                (f"dataset.dates.{name}", name not in one.attributes or one.attributes[name].type is not ValueType.DATE)
                for name in one.dataset.dates
            ),
            got="a name that is not among them",
            fix="give the column the type date, or remove it there",
        ),
        *table_rules(),
        *longitudinal_rules(),
        *date_rules(),
        Rule(
            "only the column by which copies are compared has pseudonyms of a project",
            lambda one: _first(
                (f"attributes.{name}.pseudonym.project", name not in one.compared_by)
                for name in one.pseudonyms
                if one.attributes[name].pseudonyms.project is not None
            ),
            got="a different column, by which a recipient could join copies that nobody has judged together",
            fix="name it under dataset.record_id, or remove the project for pseudonyms that are fresh in each release",
        ),
        Rule(
            "columns of one identifier have pseudonyms of one format and one project",
            lambda one: _first(
                (f"attributes.{name}.pseudonym", _differs(one, name, one.pseudonyms[:place]))
                for place, name in enumerate(one.pseudonyms)
            ),
            got="terms that differ from those of an earlier column of this identifier",
            fix="give both columns the same terms, or identifiers of their own",
        ),
        Rule(
            "at least one attribute must be a quasi-identifier",
            lambda one: not one.quasi_identifiers,
            "attributes",
            fix="give the role to the attributes that a recipient could know about a person, with hierarchies",
        ),
        Rule(
            "a gate on a score of combined.* needs a sensitive attribute with a weight above 0",
            lambda one: (
                any(
                    gate.measure.value.startswith("combined.") and gate.measure is not Measure.COMBINED_EXPECTED
                    for gate in one.policy.gates
                )
                and not any(attribute.tells for attribute in one.attributes.values())
            ),
            "policy.gates",
            got="no such attribute",
            fix="give the attributes that disclose something private the role “sensitive”, or remove the gate",
        ),
        Rule(
            "a gate on uncertain.passing_probability needs uncertain terms of every recipient",
            lambda one: (
                _first(
                    (f"recipients.{place}.uncertain", who.uncertain is None) for place, who in enumerate(one.recipients)
                )
                if any(gate.measure is Measure.PASSING_PROBABILITY for gate in one.policy.gates)
                else None
            ),
            fix="declare under “uncertain” what is known of the recipient's terms, or remove the gate",
        ),
        Rule(
            "a map over priors excludes a register, which says how many of a group it lists",
            lambda one: (
                one.external_data is not None
                and (grid := one.policy.sensitivity.penalties) is not None
                and grid.priors is not None
            ),
            "policy.sensitivity.penalties.priors",
            got="priors beside external_data",
            fix="vary another term, or remove the register",
        ),
        Rule(
            "where a recipient consults several resources there is no register, no map over priors and no belief",
            lambda one: (
                resources_of(one)
                if one.external_data is not None
                or one.policy.generalization.adversary_belief == "unknown group"
                or ((grid := one.policy.sensitivity.penalties) is not None and grid.priors is not None)
                else None
            ),
            got="resources beside external_data, a map over priors or adversary_belief: unknown group",
            fix="remove the resources or the others; a register counts whom one resource lists",
        ),
        Rule(
            "a map of penalties without detections takes detection from the agreement",
            lambda one: (
                _first(
                    (f"recipients.{place}.agreement.detection_rate", who.agreement.detection_rate is None)
                    for place, who in enumerate(one.recipients)
                )
                if (grid := one.policy.sensitivity.penalties) is not None and grid.needs_detection
                else None
            ),
            fix="state penalty and detection_rate in the agreement, or vary detections",
        ),
        Rule(
            "a request that continues a version supersedes that version, and no other release",
            lambda one: None not in (one.supersedes, one.continues) and one.supersedes != one.continues,
            "supersedes",
            got="the id of a different release",
            fix="remove “supersedes”; to supersede a different release, make a request without “continues”",
        ),
        Rule(
            "masking names attributes of the request",
            lambda one: _first((place, name not in one.attributes) for name, place in masked_places(one)),
            got="a name that is not among the attributes",
            fix="spell the column as under attributes",
        ),
        Rule(
            "masking changes numbers, so it takes attributes of type integer or number",
            lambda one: _first((place, one.attributes[name].type not in NUMERIC) for name, place in masked_places(one)),
            got="a column of type text or date",
            fix="declare its type, or leave it out; a quasi-identifier is generalized along its hierarchy instead",
        ),
        Rule(
            "masking takes sensitive or insensitive attributes",
            lambda one: _first((place, name not in one.as_they_are) for name, place in masked_places(one)),
            got="a column with the role “direct identifier”, “quasi-identifier” or “pseudonym”, or a withheld one",
            fix="leave it out: a direct identifier is never released, and a quasi-identifier is generalized",
        ),
        Rule(
            "an attribute is masked by one method at most",
            lambda one: (
                None
                if (again := first_repeated(name for name, _ in masked_places(one))) is None
                else masked_places(one)[again][1]
            ),
            got="a column twice",
            fix="name it in one place",
        ),
        Rule(
            "policy.linkage.known names columns that are released",
            lambda one: _first(
                (f"policy.linkage.known.{place}", name not in one.outbound)
                for place, name in enumerate(one.policy.linkage.known or ())
            ),
            got="a name that is not among the columns that are released",
            fix="name quasi-identifiers, sensitive or insensitive attributes",
        ),
        Rule(
            "policy.linkage.p_at_most is at least the p of every rank swapping",
            lambda one: _first(
                (
                    "policy.linkage.p_at_most",
                    masking.p is not None and masking.p > (one.policy.linkage.p_at_most or 100),
                )
                for masking in one.masking
                if masking.method is MaskingName.RANK_SWAPPING
            ),
            got="a smaller bound, by which some records would have no candidate",
            fix="raise the bound, or remove it",
        ),
        Rule(
            "policy.utility.target names a column that is released",
            lambda one: one.policy.utility.target not in {None, *one.outbound},
            "policy.utility.target",
            got="a name that is not among the columns that are released",
            fix="name a quasi-identifier, a sensitive or an insensitive attribute",
        ),
        Rule(
            "the method k-anonymity needs policy.generalization.k_anonymity",
            lambda one: one.policy.generalization.k_anonymity is None and Method.K_ANONYMITY in one.methods,
            "policy",
            got="a recipient whose method is k-anonymity, without its terms",
            fix="add “k_anonymity: {k: 5}” under policy.generalization",
        ),
        Rule(
            "diversity and closeness are of columns that are released as they are, not of quasi-identifiers",
            lambda one: _first(
                (f"{_TERMS}k_anonymity.{kind}.{place}.attribute", demand.attribute not in one.as_they_are)
                for kind, place, demand in getattr(one.policy.generalization.k_anonymity, "of_attributes", ())
            ),
            got="a column that is not sensitive or insensitive",
            fix="name a sensitive or insensitive attribute of the request",
        ),
        Rule(
            "policy.generalization.shared names recipients of the request",
            lambda one: not _named(one.policy.generalization.shared) <= one.ids,
            f"{_TERMS}shared",
            got="an id that is not among them",
            fix="spell the ids as under recipients",
        ),
        Rule(
            "recipients who share a representation have one method",
            lambda one: len({one.method_for(recipient) for recipient in one.recipients if one.sharing(recipient)}) > 1,
            f"{_TERMS}shared",
            got="recipients with different methods",
            fix="give them one method, or leave some out",
        ),
        Rule(
            "policy.generalization.collusion names recipients of the request",
            lambda one: not _named(one.policy.generalization.collusion) <= one.ids,
            f"{_TERMS}collusion",
            got="an id that is not among them",
            fix="spell the ids as under recipients",
        ),
        Rule(
            "recipients who may pool copies have a method other than Safe Harbor",
            lambda one: any(
                one.coalitions(recipient) and one.method_for(recipient) is Method.SAFE_HARBOR
                for recipient in one.recipients
            ),
            f"{_TERMS}collusion",
            got="a recipient with the method safe-harbor",
            fix="give that recipient a different method, or leave it out",
        ),
        Rule(
            "under collusion every gate is on a measure of pooled copies",
            lambda one: (
                any(map(one.coalitions, one.recipients))
                and any(gate.measure in OF_ONE_COPY for gate in one.policy.gates)
            ),
            "policy.gates",
            got="a gate on linkage other than by masked numbers, which is measured on one copy alone",
            fix="remove the gate, or give the recipients one representation (shared)",
        ),
        Rule(
            "a budget applies only to per-record methods, partitions and remainder classes",
            lambda one: one.policy.generalization.budget is not None and not one.methods <= BUDGETED,
            f"{_TERMS}budget",
            got="a recipient with a different method",
            fix="give each recipient a per-record method, a partition or no-attack-remainder, or remove the budget",
        ),
        Rule(
            "budget.least_records applies only to partitions and remainder classes",
            lambda one: (
                (budget := one.policy.generalization.budget) is not None
                and budget.least_records is not None
                and not one.methods <= DIVISIONS
            ),
            f"{_TERMS}budget.least_records",
            got="a recipient with a strategy for each record",
            fix="give each recipient a partition or no-attack-remainder, or remove the limit",
        ),
        Rule(
            "budget.utility_floor names quasi-identifiers",
            lambda one: (
                (budget := one.policy.generalization.budget) is not None
                and not budget.utility_floor.keys() <= set(one.quasi_identifiers)
            ),
            f"{_TERMS}budget.utility_floor",
            got="an attribute that is not a quasi-identifier",
            fix="name quasi-identifiers of the request",
        ),
        *(
            Rule["ReleaseRequest"](
                "where levels may cross there is no k_anonymity, no budget and no collusion",
                lambda one, name=name: _crossing(one) and getattr(one.policy.generalization, name) is not None,  # type: ignore[misc]
                f"{_TERMS}{name}",
                got=f"{name} beside a hierarchy with levels_may_cross",
                fix="remove it, or make the hierarchy a tree and remove levels_may_cross",
            )
            for name in ("k_anonymity", "budget", "collusion")
        ),
        Rule(
            "where levels may cross there are no decoys",
            lambda one: (
                _crossing(one)
                and _first(
                    [
                        *(
                            (f"recipients.{place}.decoys", who.decoys is not None)
                            for place, who in enumerate(one.recipients)
                        ),
                        ("continues", one.continues is not None),
                    ]
                )
            ),
            got="decoys beside a hierarchy with levels_may_cross",
            fix="remove them, or make the hierarchy a tree and remove levels_may_cross",
        ),
        Rule(
            "masking in groups of k equal values shows decoys: a group of k + 1 holds one",
            lambda one: (
                _first(
                    (f"masking.{place}.method", masking.method in GROUPING) for place, masking in enumerate(one.masking)
                )
                if one.continues is not None or any(who.decoys for who in one.recipients)
                else None
            ),
            got="microaggregation beside decoys",
            fix="mask by rank swapping or noise, leave the columns out, or remove the recipients' decoys",
        ),
        Rule(
            "dataset and population must be different files",
            lambda one: (
                one.population.path is not None
                and PurePosixPath(one.dataset.path) == PurePosixPath(one.population.path)
            ),
            "population.path",
            got="one file for both",
            fix="name the table of population counts; where everybody of the population is in the file, set "
            "“self: true” in place of path",
        ),
        Rule(
            "dataset and external_data must be different files",
            lambda one: (
                one.external_data is not None
                and PurePosixPath(one.dataset.path) == PurePosixPath(one.external_data.path)
            ),
            "external_data.path",
            got="one file for both",
            fix="name the register's table of counts",
        ),
        *POPULATION_RULES,
        *TEXT_RULES,
    )

    def _complete(self) -> None:
        """The attributes of the tables are attributes of rows of the request."""
        if place := named_as_of_table(self.attributes, self.tables):
            raise broken_rule(
                "no attribute of the dataset has a name that begins with a table's name and a dot",
                place,
                got="a name that begins with the name of a table and a dot",
                fix="rename the column or the table",
            )
        self.attributes.update(attributes_of(self.tables))

    @model_serializer(mode="wrap")
    def _as_written(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Its terms as a document has them: the attributes of tables among these alone."""
        document: dict[str, Any] = write(self)
        if self.tables and "attributes" in document:
            own = self.attributes_in(None)
            document["attributes"] = {name: one for name, one in document["attributes"].items() if name in own}
        return document

    def _written_at(self, place: str) -> str:
        for table in self.tables:
            start = f"attributes.{qualified(table, '')}"
            if place.startswith(start):
                return f"tables.{table}.attributes.{place.removeprefix(start)}"
        return place

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
        """Names of the attributes of people whose values may leave, as collected, generalized or masked, in order."""
        return tuple(name for name, one in self.attributes.items() if one.of == "person" and not one.role.withheld)

    @property
    def pseudonyms(self) -> tuple[str, ...]:
        """Names of the columns in whose place pseudonyms leave, in the order of the request."""
        return tuple(name for name, one in self.attributes.items() if one.role is Role.PSEUDONYM)

    @property
    def texts(self) -> tuple[str, ...]:
        """Names of the columns of free text that leave redacted, in the order of the request."""
        return tuple(name for name, one in self.attributes.items() if one.role is Role.TEXT)

    @property
    def delivered(self) -> tuple[str, ...]:
        """Names of the columns of a copy: outbound ones, pseudonyms and redacted text; in the order of the request."""
        return tuple(name for name, attribute in self.attributes.items() if attribute.role.delivered)

    @property
    def compared_by(self) -> tuple[str, ...]:
        """Names of the columns by which people of copies held by one party are assumed to be the same."""
        return (self.person_id,)

    @property
    def linking(self) -> tuple[str, ...]:
        """Names of the columns whose pseudonyms may link records of people whom no risk takes together."""
        return tuple(name for name in self.pseudonyms if name not in (*self.compared_by, *self.table_keys))

    @property
    def table_keys(self) -> tuple[str, ...]:
        """Names of the columns that name the rows of tables, and so of one person each."""
        return tuple(key for key in map(self.key_of, self.tables) if key is not None)

    def key_of(self, table: str) -> str | None:
        """Name of the key of a table; None where its rows have none."""
        key = self.tables[table].key
        return None if key is None else qualified(table, key)

    def table_number(self, table: str | None) -> int:
        """Number of a table, from 1 in the order of the request; 0 for the dataset."""
        return 0 if table is None else list(self.tables).index(table) + 1

    def number_of(self, name: str) -> int:
        """Number of the table that an attribute is of."""
        return self.table_number(self.table_of(name))

    @property
    def table_paths(self) -> dict[str | None, str]:
        """File of each table, that of the dataset under None, as the request names it."""
        return {None: self.dataset.path, **{name: one.path for name, one in self.tables.items()}}

    def table_of(self, name: str) -> str | None:
        """Table that an attribute is of; None for one of the dataset."""
        return next((table for table in self.tables if name.startswith(qualified(table, ""))), None)

    def own_name(self, name: str) -> str:
        """Name of an attribute in the file that it is of."""
        table = self.table_of(name)
        return name if table is None else name.removeprefix(qualified(table, ""))

    def attributes_in(self, table: str | None) -> tuple[str, ...]:
        """Names of the attributes of a table, or of the dataset, in the order of the request."""
        return tuple(name for name in self.attributes if self.table_of(name) == table)

    def columns_in(self, table: str | None) -> tuple[str, ...]:
        """Names of the attributes that a table's file has a column of: the person's and the parent's key, and its own.

        Those of the dataset are its own alone.
        """
        if table is None:
            return self.attributes_in(None)
        return (self.person_id, *filter(None, (self.parent_key(table),)), *self.attributes_in(table))

    def parent_key(self, table: str) -> str | None:
        """Name of the key of the table that a table's rows are within; None where they are of the person alone."""
        parent = self.tables[table].within
        return None if parent is None else self.key_of(parent)

    def identifier(self, name: str) -> str:
        """Identifier of a column with pseudonyms: columns of one identifier have the same pseudonyms."""
        return self.attributes[name].pseudonyms.identifier or name

    @property
    def withheld(self) -> tuple[str, ...]:
        """Names of the attributes of people whose values never leave, in the order of the request."""
        return tuple(name for name, one in self.attributes.items() if one.of == "person" and one.role.withheld)

    @property
    def of_rows(self) -> tuple[str, ...]:
        """Names of the attributes that may differ between the rows of a person; none where each person has one row."""
        return tuple(name for name, one in self.attributes.items() if one.of == "row")

    @property
    def events(self) -> tuple[str, ...]:
        """Names of the attributes of rows whose values may leave, in the order of the request."""
        return tuple(name for name, one in self.attributes.items() if one.of == "row" and not one.role.withheld)

    @property
    def dated(self) -> tuple[str, ...]:
        """Names of the columns that leave as shifted or relative dates, in the order of the request."""
        return tuple(name for name, one in self.attributes.items() if one.dated)

    def life_event(self, event: Literal["birth", "death"]) -> str | None:
        """Name of the column that has the dates of an event of all people; None where none is declared."""
        terms = ((name, one.date) for name, one in self.attributes.items())
        return next((name for name, one in terms if one is not None and one.event == event), None)

    @property
    def known_events(self) -> tuple[str, ...]:
        """Names of the attributes of rows whose values others may know; shifted and relative dates have terms apart."""
        names = (name for name in self.events if name not in self.dated)
        return tuple(name for name in names if self.attributes[name].known_probability != 0)

    @property
    def released(self) -> tuple[str, ...]:
        """Names of all columns whose values may leave, of people and of rows, in the order of the request."""
        return tuple(name for name, one in self.attributes.items() if not one.role.withheld)

    @property
    def person_id(self) -> str:
        """Name of the column that names the person of each row."""
        return self.dataset.person or self.dataset.record_id

    def with_role(self, role: Role) -> tuple[str, ...]:
        """Names of the attributes of people with a role, in the order of the request."""
        return tuple(name for name, one in self.attributes.items() if one.of == "person" and one.role is role)

    def recipient(self, recipient_id: str) -> Recipient:
        """The recipient with this id; KeyError where there is none."""
        for recipient in self.recipients:
            if recipient.id == recipient_id:
                return recipient
        raise KeyError(recipient_id)

    def method_for(self, recipient: Recipient) -> Method:
        """The generalization method of a recipient: its own, or the policy's."""
        return recipient.method or self.policy.generalization.method

    @property
    def budget(self) -> BudgetPolicy | None:
        """Limits of the whole file: the policy's; where it states none on classes, those that its gates imply.

        The latter are of partitions and remainder classes: the records of a class by the gate on the prosecutor risk,
        and the people, whom a deterred sequential adversary does not take, by those on the informed recipient and the
        journalist. One strategy for all may leave records out whatever they are, since the rarest would rule it.
        """
        terms = self.policy.generalization
        stated = terms.budget or terms.k_anonymity or terms.collusion or terms.minimum_class_size > 1
        if stated or _crossing(self) or not self.methods <= DIVISIONS:
            return terms.budget
        records, people = self.policy.fewest_passing(Measure.PROSECUTOR_MAXIMUM), 1
        if terms.adversary == "sequential":
            people = self.policy.fewest_passing(Measure.TRANSPARENT_MAXIMUM, Measure.JOURNALIST_MAXIMUM)
        if records == 1 and Method.NO_ATTACK_COMMON not in self.methods:
            return None if people == 1 else GatesBudget(least_people=people)
        return GatesBudget(least_records=records, least_people=people, suppression=LEFT_OUT)

    @property
    def fewest_records(self) -> int:
        """Fewest records of a class that the terms of generalization allow; 1 where none limits it."""
        terms = self.policy.generalization
        limits = (
            terms.minimum_class_size,
            getattr(terms.k_anonymity, "k", 1),
            getattr(self.budget, "least_records", 1),
        )
        return max(limit or 1 for limit in limits)

    def format_for(self, recipient: Recipient) -> DeliveryFormat:
        """The form of a recipient's file: its own, or the request's."""
        return recipient.delivery_format or self.delivery_format

    @property
    def ids(self) -> set[str]:
        """Ids of the recipients."""
        return {recipient.id for recipient in self.recipients}

    @property
    def methods(self) -> set[Method]:
        """Generalization methods of the recipients."""
        return set(map(self.method_for, self.recipients))

    @property
    def as_they_are(self) -> set[str]:
        """Names of the columns that are released without generalization."""
        return set(self.outbound) - set(self.quasi_identifiers)


def _first(places: Iterable[tuple[str, bool]]) -> str | None:
    """The first place where something is wrong."""
    return next((place for place, wrong in places if wrong), None)


def _second_id(request: ReleaseRequest) -> int | None:
    return first_repeated(recipient.id for recipient in request.recipients)


def _named(terms: SharedRepresentation | CollusionPolicy | None) -> set[str]:
    """Recipients whom terms name by their ids."""
    recipients = () if terms is None or terms.recipients in (None, "all") else terms.recipients
    return {*(recipients or ()), *(getattr(terms, "types", None) or ())}


def _differs(request: ReleaseRequest, name: str, before: Iterable[str]) -> bool:
    """Whether an earlier column has the same identifier, and pseudonyms of another format or project."""
    own = request.attributes[name].pseudonyms
    others = [
        request.attributes[one].pseudonyms for one in before if request.identifier(one) == request.identifier(name)
    ]
    return any((other.format, other.project) != (own.format, own.project) for other in others)


def _crossing(request: ReleaseRequest) -> bool:
    sources = (attribute.hierarchy for attribute in request.attributes.values())
    return any(source is not None and source.levels_may_cross for source in sources)

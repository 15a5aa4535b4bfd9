"""An attribute of the microdata: its role, its terms, and the information that it can reveal."""

from enum import StrEnum
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from tasks.request.hierarchy_source import HierarchySource
from tasks.request.part import Probability, RequestPart, Rule, Text


class Role(StrEnum):
    """Role of an attribute in disclosure."""

    DIRECT = "direct identifier"
    QUASI = "quasi-identifier"
    SENSITIVE = "sensitive"
    INSENSITIVE = "insensitive"
    WITHHELD = "withheld"
    """Does not leave, for whatever reason; sought in other columns and text as an identifier is."""
    UNREVIEWED = "unreviewed"
    """Nobody has judged the column yet, so it is withheld."""
    PSEUDONYM = "pseudonym"
    """An identifier, in whose place the recipient gets a keyed pseudonym."""
    TEXT = "text"
    """Free text, which leaves with what identifies people in it replaced by its kind."""

    @property
    def withheld(self) -> bool:
        """Whether values of columns of this role never leave."""
        return bool(self.treatment)

    @property
    def delivered(self) -> bool:
        """Whether a copy has a column of this role: its values, pseudonyms in their place, or redacted text."""
        return not self.withheld or self in (Role.PSEUDONYM, Role.TEXT)

    @property
    def treatment(self) -> str:
        """Treatment of a column whose values never leave; empty where they do."""
        return {
            Role.DIRECT: "removed",
            Role.WITHHELD: "withheld",
            Role.UNREVIEWED: "withheld: nobody has reviewed it",
            Role.PSEUDONYM: "replaced by a pseudonym",
            Role.TEXT: "redacted",
        }.get(self, "")


class ValueType(StrEnum):
    """Type of the values of a column."""

    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"
    DATE = "date"


NUMERIC = (ValueType.INTEGER, ValueType.NUMBER)


class SafeHarborRule(StrEnum):
    """The rule of Safe Harbor, 45 CFR 164.514(b)(2), that applies to the attribute."""

    ZIP = "zip"
    AGE = "age"
    NONE = "none"


class SensitivityWeights(RequestPart):
    """Weights of an adversary's gain from learning the attribute and each of its values (0 none, 1 most)."""

    attribute: Probability = Field(default=1.0, description="Gain from learning it; 0 none, 1 most.")
    values: dict[str, Probability] = Field(
        default_factory=dict, description="Weights of values, times the attribute's."
    )
    default: Probability = Field(default=1.0, description="Weight of a value that is not listed.")


class PersonalReason(RequestPart):
    """Decision about a column: who made it, and the reason."""

    by: Text = Field(description="Person who made the decision.")
    because: Text = Field(description="The reason.")

    def __str__(self) -> str:
        return f"{self.by}: {self.because}"


class PseudonymFormat(StrEnum):
    """Form of the pseudonyms of a column."""

    UUID = "uuid"
    """A UUID of version 8 (RFC 9562)."""
    CODE = "code"
    """16 letters and digits, the first a P."""
    INTEGER = "integer"
    """A number from 1 to that of the people; of a project, a number of up to 15 digits."""


class PseudonymTerms(RequestPart):
    """Form of a column's pseudonyms, and how far they stay the same."""

    format: PseudonymFormat = Field(
        default=PseudonymFormat.UUID,
        description="code: 16 letters and digits; integer: from 1, in a project up to 15 digits.",
    )
    project: Text | None = Field(
        default=None,
        description="Project in all of whose releases a recipient gets the same pseudonyms; where not given, new ones "
        "in each, so that copies cannot be joined or updated.",
    )
    identifier: Text | None = Field(
        default=None,
        description="Identifier that is replaced: columns of one identifier have the same pseudonyms, in a file and "
        "across a project; the column's name where not given.",
    )


class DateTerms(RequestPart):
    """Treatment of the dates of a column before they leave, and their event."""

    shift: Literal["person"] | None = Field(
        default=None,
        description="person: all dates of a person move by one number of days, keyed by person and recipient, the same "
        "in all releases.",
    )
    days: Annotated[int, Field(ge=1, le=3650)] | None = Field(
        default=None, description="Most days moved, to either side; the same for all columns."
    )
    relative_to: Text | None = Field(
        default=None, description="Date attribute to count days from: shifted, or withheld and of the person."
    )
    event: Literal["birth", "death"] | None = Field(
        default=None, description="Validation refuses dates of the person before birth and after death."
    )
    age: Text | None = Field(
        default=None,
        description="Attribute with the age in completed years on the date, for validation; 90 is 90 and over.",
    )

    @property
    def treated(self) -> bool:
        """Whether the dates leave as others than they were collected."""
        return self.shift is not None or self.relative_to is not None

    rules: ClassVar[tuple[Rule["DateTerms"], ...]] = (
        Rule(
            "dates are shifted or relative to an index event, not both",
            lambda one: one.shift is not None and one.relative_to is not None,
            "relative_to",
            got="shift and relative_to",
            fix="keep one of them",
        ),
        Rule(
            "shift and days belong together",
            lambda one: (one.shift is None) != (one.days is None),
            "days",
            got=lambda one: "shift without days" if one.days is None else "days without shift",
            fix="write “date: {shift: person, days: 30}”",
        ),
        Rule(
            "terms of dates say how they leave, what they are dates of, or which attribute has the age",
            lambda one: not (one.treated or one.event or one.age),
            got="no such term",
            fix="add shift and days, relative_to, event or age, or remove “date”",
        ),
    )


MEASURED_LANGUAGES = ("en",)
"""Languages of text in which the recall of the scanner is measured, by ISO 639-1 code."""


class TextTerms(RequestPart):
    """Language of a column of free text."""

    language: Text = Field(
        description="Language (ISO 639-1), one in which the scanner's recall is measured: "
        f"{', '.join(MEASURED_LANGUAGES)}."
    )

    rules: ClassVar[tuple[Rule["TextTerms"], ...]] = (
        Rule(
            f"text is released only in a language in which the scanner is measured ({', '.join(MEASURED_LANGUAGES)})",
            lambda one: one.language not in MEASURED_LANGUAGES,
            "language",
            got="another language",
            fix="withhold the column (role: withheld)",
        ),
    )


class Attribute(RequestPart):
    """One column of the microdata: its role and the terms for it."""

    role: Role
    type: ValueType = Field(default=ValueType.TEXT, description="Type of the values.")
    description: Text | None = Field(default=None, description="Contents of the column, for the reports.")
    of: Literal["person", "row"] = Field(
        default="person",
        description="Whether it is of the person, the same in all their rows, or of the single row (with "
        "dataset.person).",
    )
    hierarchy: HierarchySource | None = Field(
        default=None, description="Levels of a quasi-identifier, which needs one, or of an attribute of rows."
    )
    level: Annotated[int, Field(ge=0, le=100)] | None = Field(
        default=None,
        description="Level at which an attribute of rows is released, in every copy; of a quasi-identifier, the finest "
        "one that may leave, from which information kept is measured. 0: the values themselves.",
    )
    least_people: Annotated[int, Field(ge=2, le=1_000_000)] | None = Field(
        default=None,
        description="People of the file who must have a value of an attribute of rows, at its level; rarer ones are "
        "withheld.",
    )
    weight: Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)] = Field(
        default=1.0, description="Cost of losing a quasi-identifier in the information loss; 0: free to generalize."
    )
    safe_harbor: SafeHarborRule = Field(
        default=SafeHarborRule.NONE,
        description="Rule of 45 CFR 164.514(b)(2); a released ZIP code must be a quasi-identifier.",
    )
    known_probability: Probability | None = Field(
        default=None,
        description="Probability that a person's value is publicly known; where not given, 1 for a "
        "quasi-identifier, else 0. Of a withheld column, 0 states that nobody outside can know it.",
    )
    sensitivity: SensitivityWeights | None = Field(
        default=None,
        description="Harm of learning a value; where not given, 1 of every value of a sensitive attribute.",
    )
    allowed_values: tuple[str, ...] | None = Field(
        default=None, description="Closed domain of a column without a hierarchy."
    )
    minimum: float | None = Field(default=None, allow_inf_nan=False, description="Smallest number that is valid.")
    maximum: float | None = Field(default=None, allow_inf_nan=False, description="Largest number that is valid.")
    maximum_missing_rate: Probability = Field(
        default=1.0, description="Largest share of the records that may lack a value."
    )
    date: DateTerms | None = Field(default=None, description="Treatment of dates, and the kind of event (type: date).")
    labels: dict[str, Text] | None = Field(
        default=None, description="Meaning of coded values; a dictionary in clear has those of the delivered values."
    )
    scan: bool = Field(default=True, description="Scan the column for identifiers; the report says where not.")
    pseudonym: PseudonymTerms | None = Field(
        default=None, description="Form and scope of the pseudonyms (role: pseudonym)."
    )
    text: TextTerms | None = Field(default=None, description="Language of the text (role: text).")
    confirmed: PersonalReason | None = Field(default=None, description="Confirmation of the role, with the reason.")
    excused: PersonalReason | None = Field(
        default=None,
        description="Acceptance of its release although it reveals people, or that each record is of "
        "another person although the record id's name says otherwise, with the reason.",
    )

    @property
    def is_event(self) -> bool:
        """Whether values of rows are released: no quasi-identifier, which is of people."""
        return self.of == "row" and not self.role.withheld and self.role is not Role.QUASI

    @property
    def tells(self) -> bool:
        """Whether learning some value of the attribute is worth anything to an adversary."""
        given = self.sensitivity or SensitivityWeights()
        return self.role is Role.SENSITIVE and given.attribute * max(given.default, *given.values.values(), 0.0) > 0

    @property
    def pseudonyms(self) -> PseudonymTerms:
        """Terms of the pseudonyms of a column of this role; the usual ones where none are given."""
        return self.pseudonym or PseudonymTerms()

    @property
    def dated(self) -> bool:
        """Whether the attribute leaves as shifted dates, or as days since an index event."""
        return self.date is not None and self.date.treated

    @property
    def language(self) -> str:
        """Language of a column of text; empty for others."""
        return "" if self.text is None else self.text.language

    @property
    def delivered_type(self) -> ValueType:
        """Type of the column in a copy: that of pseudonyms or of days where they take the place of its values."""
        if self.date is not None and self.date.relative_to is not None:
            return ValueType.INTEGER
        if self.role is not Role.PSEUDONYM:
            return self.type
        return ValueType.INTEGER if self.pseudonyms.format is PseudonymFormat.INTEGER else ValueType.TEXT

    @property
    def treatment(self) -> str:
        """Treatment of a column whose values never leave; empty where they do."""
        if self.role is not Role.PSEUDONYM:
            return self.role.treatment
        terms = self.pseudonyms
        scope = "fresh in this release" if terms.project is None else f"the same in all releases of {terms.project}"
        return f"{self.role.treatment} ({terms.format.value}, {scope})"

    rules: ClassVar[tuple[Rule["Attribute"], ...]] = (
        Rule(
            "only a column with the role pseudonym has terms of pseudonyms",
            lambda one: one.pseudonym is not None and one.role is not Role.PSEUDONYM,
            "pseudonym",
            got=lambda one: f"terms of pseudonyms for the role “{one.role.value}”",
            fix="remove the terms, or give the column the role pseudonym",
        ),
        Rule(
            "an identifier is text or whole numbers, and no rule of Safe Harbor applies to its pseudonym",
            lambda one: (
                one.role is Role.PSEUDONYM
                and (one.type not in (ValueType.TEXT, ValueType.INTEGER) or one.safe_harbor is not SafeHarborRule.NONE)
            ),
            "role",
            got=lambda one: f"type: {one.type.value}, safe_harbor: {one.safe_harbor.value}",
            fix="correct the type, remove safe_harbor, or correct the role",
        ),
        Rule(
            "integer pseudonyms of a project need whole-number identifiers, or two people could share one",
            lambda one: (
                one.pseudonyms.project is not None
                and one.pseudonyms.format is PseudonymFormat.INTEGER
                and one.type is not ValueType.INTEGER
            ),
            "pseudonym.format",
            got=lambda one: f"integer, of a column of type {one.type.value}",
            fix="set the column's type integer if it holds whole numbers, or choose the format uuid or code",
        ),
        Rule(
            "only a column of dates has terms of dates",
            lambda one: one.date is not None and one.type is not ValueType.DATE,
            "date",
            got=lambda one: f"type: {one.type.value}",
            fix="set “type: date”, or remove the terms",
        ),
        Rule(
            "shifted and relative dates are sensitive or insensitive",
            lambda one: one.dated and one.role not in (Role.SENSITIVE, Role.INSENSITIVE),
            "role",
            got=lambda one: f"the role “{one.role.value}”",
            fix="correct the role, or remove shift or relative_to: a quasi-identifier is generalized, and other roles "
            "never leave",
        ),
        Rule(
            "knowledge of shifted or relative dates is stated in the policy (dates.known)",
            lambda one: one.dated and one.known_probability is not None,
            "known_probability",
            got="a probability",
            fix="remove it; the assessment of dates takes some true dates of every person to be known",
        ),
        Rule(
            "values of shifted or relative dates have no weights of their own: other values leave",
            lambda one: one.dated and one.sensitivity is not None and bool(one.sensitivity.values),
            "sensitivity",
            got="weights of values",
            fix="keep the weight of the attribute, and remove “values”",
        ),
        Rule(
            "a column has the terms of text if and only if its role is text",
            lambda one: (one.text is not None) is not (one.role is Role.TEXT),
            "text",
            got=lambda one: f"the role “{one.role.value}” {'with' if one.text else 'without'} terms of text",
            fix="state “text: {language: en}” under a column with the role text, and under no other",
        ),
        Rule(
            "text has the type text, no list of values and no rule of Safe Harbor, and is always scanned",
            lambda one: (
                one.role is Role.TEXT
                and (
                    one.type is not ValueType.TEXT
                    or one.allowed_values is not None
                    or one.safe_harbor is not SafeHarborRule.NONE
                    or not one.scan
                )
            ),
            "role",
            got="a different type, allowed_values, safe_harbor or scan: false",
            fix="remove them, or give the column the role of its contents",
        ),
        Rule(
            "a quasi-identifier needs a hierarchy",
            lambda one: one.role is Role.QUASI and one.hierarchy is None,
            got="no hierarchy",
            fix="add “hierarchy:” with file, intervals, dates, prefixes or groups, or change the role",
        ),
        Rule(
            "only a column of dates has levels of dates",
            lambda one: (
                one.hierarchy is not None
                and one.hierarchy.dates is not None
                and one.type is not ValueType.DATE
                and not one.is_event
            ),
            "hierarchy.dates",
            got=lambda one: f"type: {one.type.value}",
            fix="set “type: date”, or choose another source",
        ),
        Rule(
            "only a quasi-identifier or a released attribute of rows has a hierarchy",
            lambda one: one.role is not Role.QUASI and one.hierarchy is not None and not one.is_event,
            "hierarchy",
            got=lambda one: f"a hierarchy for the role “{one.role.value}”",
            fix="remove the hierarchy, or make the attribute a quasi-identifier",
        ),
        Rule(
            "an attribute of rows that has a hierarchy states the level at which it is released",
            lambda one: one.is_event and (one.hierarchy is None) != (one.level is None),
            "level",
            got=lambda one: "a hierarchy without level" if one.level is None else "a level without hierarchy",
            fix="add “level: 1” for the first level above the values, or remove both",
        ),
        Rule(
            "least_people, and level but for quasi-identifiers, are of attributes of rows whose hierarchy the request "
            "writes out",
            lambda one: next(
                (
                    key
                    for key, given in (("level", one.level), ("least_people", one.least_people))
                    if given is not None
                    and not (key == "level" and one.role is Role.QUASI)
                    and not (one.is_event and one.hierarchy is not None and one.hierarchy.file is None)
                ),
                None,
            ),
            got="another attribute, or a hierarchy file",
            fix="remove it; or add “of: row” and a hierarchy by intervals, dates, prefixes or groups",
        ),
        Rule(
            "an attribute of rows with a hierarchy is released as text",
            lambda one: one.is_event and one.hierarchy is not None and one.type is not ValueType.TEXT,
            "type",
            got=lambda one: f"type: {one.type.value}",
            fix="leave the type out; the hierarchy says which values there are",
        ),
        Rule(
            "the hierarchy of an attribute of rows says which values there are",
            lambda one: one.is_event and one.hierarchy is not None and one.allowed_values is not None,
            "allowed_values",
            got="allowed_values beside a hierarchy",
            fix="remove allowed_values",
        ),
        Rule(
            "only a sensitive attribute or a quasi-identifier has sensitivity weights",
            lambda one: one.sensitivity is not None and one.role not in (Role.SENSITIVE, Role.QUASI),
            "sensitivity",
            got=lambda one: f"weights for the role “{one.role.value}”",
            fix="remove the weights, or make the attribute sensitive",
        ),
        Rule(
            "values of a withheld column never leave: only known_probability 0 of the role withheld has an effect",
            lambda one: (
                one.role.withheld and one.known_probability not in ({None, 0} if one.role is Role.WITHHELD else {None})
            ),
            "known_probability",
            got="a probability",
            fix="remove it, or correct the role",
        ),
        Rule(
            "a confirmed role cannot be “unreviewed”",
            lambda one: one.confirmed is not None and one.role is Role.UNREVIEWED,
            "role",
            got="unreviewed",
            fix="give the column the role that was confirmed, or remove “confirmed”",
        ),
        Rule(
            "only a sensitive or insensitive attribute, a pseudonym, or the record id is excused",
            lambda one: (
                one.excused is not None
                and one.role not in (Role.SENSITIVE, Role.INSENSITIVE, Role.PSEUDONYM, Role.DIRECT)
            ),
            "excused",
            got=lambda one: f"an excuse for the role “{one.role.value}”",
            fix="remove it: no other role is released as collected, links records, or numbers them",
        ),
        Rule(
            "sensitivity.values names only values of allowed_values",
            lambda one: bool(
                one.allowed_values is not None
                and one.sensitivity is not None
                and one.sensitivity.values.keys() - set(one.allowed_values)
            ),
            "sensitivity",
            got="a weight for a value that allowed_values does not list",
            fix="spell the values as in allowed_values, or add them there",
        ),
        Rule(
            "minimum must not exceed maximum",
            lambda one: one.minimum is not None and one.maximum is not None and one.minimum > one.maximum,
            "minimum",
            got="a number greater than maximum",
            fix="correct the bounds",
        ),
        Rule(
            "a minimum or maximum needs a column of numbers",
            lambda one: one.type not in NUMERIC and (one.minimum is not None or one.maximum is not None),
            "type",
            got=lambda one: f"type: {one.type.value}",
            fix="set the type integer or number, or remove minimum and maximum",
        ),
        # Only generalization shortens ZIP codes, so the rule would be silently without effect on any other column.
        Rule(
            "ZIP codes are a quasi-identifier or a direct identifier, or they would be released as collected",
            lambda one: one.safe_harbor is SafeHarborRule.ZIP and one.role in (Role.SENSITIVE, Role.INSENSITIVE),
            "role",
            got=lambda one: f"the role {one.role.value}",
            fix="make it a quasi-identifier with a hierarchy, or a direct identifier, which is never released",
        ),
    )

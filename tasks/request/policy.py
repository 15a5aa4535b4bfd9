"""The policy of the organisation: how to generalize and score, what a release must pass, and who must agree."""

import re
from collections.abc import Mapping
from enum import StrEnum
from itertools import combinations
from typing import Annotated, ClassVar, Literal

from pydantic import Field, ValidationInfo, field_validator

from tasks.core.people import PERSON_ID, may_be_same_person
from tasks.request.gate import DEFAULT_GATES, Gate, prosecutor_gate, records_for
from tasks.request.generalization_policy import GeneralizationPolicy
from tasks.request.measures import Measure
from tasks.request.missing import MissingPolicy
from tasks.request.part import EachOnce, Identifier, PersonName, Probability, RequestPart, Rule, Text, first_repeated
from tasks.request.penalty_grid import PenaltyGrid

_PAIRS_UNDER_BUDGET = 9


class CombinedPolicy(RequestPart):
    """Terms of the combined score of identity and attribute disclosure (Orooji and Knapp 2019)."""

    alpha: Annotated[float, Field(ge=1, le=1e9, allow_inf_nan=False)] = Field(
        default=1.0, description="Factor on the consequence, α."
    )
    epsilon: Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)] | None = Field(
        default=None,
        description="Leave out sets of attributes known together with at most this probability; raise it where more "
        "than 1,048,576 sets are refused.",
    )
    exclusive: bool = Field(
        default=False,
        description="Weigh each known set by the probability that nothing else is known, so that weights sum to 1.",
    )
    threshold: Annotated[float, Field(ge=0, allow_inf_nan=False)] = Field(
        default=1.0, description="Score above which records count for combined.share_above."
    )
    quantile: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = Field(
        default=0.99, description="Quantile of the scores that combined.quantile reports."
    )


class LinkagePolicy(RequestPart):
    """Knowledge of an intruder who attacks the file by record linkage, and the number of people attacked."""

    known: tuple[Text, ...] | None = Field(
        default=None,
        min_length=1,
        description="Attributes that the intruder knows for everybody; where not given, the "
        "quasi-identifiers, those with a known_probability of 1, and numbers that may be known. "
        "Without any of these the gate on linkage.masked_share closes.",
    )
    individuals: Annotated[int, Field(ge=100, le=1_000_000)] = Field(
        default=2000, description="Number of people whom the costlier attacks target; the others target everybody."
    )
    learned: bool = Field(default=True, description="Whether the intruder learns which attributes identify people.")
    p_at_most: Annotated[float, Field(gt=0, le=100, allow_inf_nan=False)] | None = Field(
        default=None,
        description="Upper bound of p of rank swapping for an intruder who does not know p; for information only.",
    )


class SinglingOutPolicy(RequestPart):
    """Columns that are assumed to be known together when records are searched that they single out."""

    columns: Annotated[int, Field(ge=1, le=10)] = Field(default=3, description="Most columns known together.")
    sampling_fraction: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] | None = Field(
        default=None,
        description="Records as a share of the people sampled; where not given, of the population table's.",
    )


class DatesPolicy(RequestPart):
    """Knowledge of an adversary who looks for a person among shifted or relative dates."""

    known: Annotated[int, Field(ge=1, le=4)] = Field(
        default=2, description="Most true dates of a person that are known, those that identify the person best."
    )


class EventsPolicy(RequestPart):
    """Rows of a person that others are assumed to know, where a person can have several."""

    known: Annotated[int, Field(ge=1, le=5)] | Literal["all"] = Field(
        default=2, description="Most rows of a person known together; all: every row, and that there are no others."
    )
    people: Annotated[int, Field(ge=2, le=1_000_000)] | None = Field(
        default=None,
        description="Least people of a class who match the known values of rows; other values are withheld.",
    )
    most_rows: Annotated[int, Field(ge=1, le=1_000_000)] | None = Field(
        default=None,
        description="Most rows of a person that keep their knowable values; further rows, the rarest, lose them.",
    )

    @property
    def withholds(self) -> bool:
        """Whether what may be known of some rows is withheld."""
        return self.people is not None or self.most_rows is not None

    @property
    def rows_in_words(self) -> str:
        """Rows that are known, in words."""
        return {"all": "all rows", 1: "any row"}.get(self.known, f"any {self.known} rows")

    rules: ClassVar[tuple[Rule["EventsPolicy"], ...]] = (
        Rule(
            "policy.events.people needs a number of known rows, not “all”",
            lambda one: one.people is not None and one.known == "all",
            "people",
            got="known: all",
            fix="state how many rows are known, or remove it",
        ),
    )


class UtilityPolicy(RequestPart):
    """Analyses that the utility of the released file is measured by."""

    target: Text | None = Field(default=None, description="Attribute that classifiers predict; none without it.")
    clusters: Annotated[int, Field(ge=2, le=100)] = Field(default=4, description="Clusters of the k-means agreement.")
    records: Annotated[int, Field(ge=200, le=100_000)] = Field(
        default=3000, description="Records drawn for clustering and classification."
    )


class DecoyPolicy(RequestPart):
    """Terms of all recipients' decoys, which are to withstand recipients who compare their copies."""

    kept_per_decoy: Annotated[int, Field(ge=1, le=100)] = Field(
        default=2,
        description="Real classes that one copy alone keeps for each decoy class, t; a person who compares copies is "
        "right with probability 1/(1 + t).",
    )
    evasion_cost: Probability = Field(
        default=0,
        description="Least share of its records that a copy loses if recipients drop classes of one copy "
        "alone to avoid a trace; raises kept_per_decoy.",
    )
    missing_limit: Probability = Field(
        default=0.02, description="Share of the released records that any one copy may miss for others' kept classes."
    )
    seats: Annotated[int, Field(ge=0, le=1000)] = Field(
        default=0, description="Places for later recipients, each with the largest number of decoy classes requested."
    )
    common_from: Annotated[int, Field(ge=2, le=1_000_000)] | None = Field(
        default=None,
        description="Number of records with the same other values from which a decoy may have them too; without "
        "it none does.",
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

    @property
    def plural(self) -> str:
        """Name of several of them."""
        return _PLURALS.get(self, f"{self.value}s")


_PLURALS: Mapping[PatternName, str] = {
    PatternName.EMAIL: "email addresses",
    PatternName.PHONE: "phone numbers",
    PatternName.SSN: "SSNs",
    PatternName.IP: "IP addresses",
    PatternName.URL: "URLs",
    PatternName.POSTAL_ADDRESS: "postal addresses",
    PatternName.COORDINATES: "coordinates",
    PatternName.AGE_OVER_89: "ages over 89",
}


class ValidationPolicy(RequestPart):
    """Requirements of validation beyond the attributes' own declarations."""

    patterns: tuple[PatternName, ...] = Field(
        default=tuple(PatternName),
        description="Identifiers that columns to be released are scanned for; all where not given.",
    )
    maximum_text_length: Annotated[int, Field(ge=1)] = Field(
        default=10_000, description="Characters of the longest valid cell."
    )
    minimum_population_coverage: Probability = Field(
        default=1.0, description="Share of records whose combination must occur in the population."
    )


class ReviewPolicy(RequestPart):
    """People who must approve a release, and officers who are responsible for exceptions."""

    required: Annotated[int, Field(ge=0, le=10)] = Field(
        default=0, description="Reviewers who must approve a release before it leaves."
    )
    expert_signs: bool = Field(
        default=False, description="Whether the expert must sign the determination before any reviewer votes."
    )
    signed_votes: bool = Field(
        default=False,
        exclude_if=lambda signed: not signed,
        description="Whether each vote must be signed with the reviewer's registered key.",
    )
    reviewers: tuple[PersonName, ...] = Field(
        default=(), description="Ids or names of people who may review; never the requester."
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
            "a determination that the expert must sign is voted on once it is signed",
            lambda one: one.expert_signs and one.required == 0,
            "required",
            fix="require at least one reviewer, or leave out “expert_signs”",
        ),
        Rule(
            "votes that must be signed are votes of a review",
            lambda one: one.signed_votes and one.required == 0,
            "required",
            fix="require at least one reviewer, or leave out “signed_votes”",
        ),
        Rule(
            "gates that may be overridden need an officer who may override them",
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
        default=2, description="Recipients whose copies are compared as if pooled, without a gate; 1 for none."
    )
    together: tuple[Annotated[tuple[Identifier, ...], Field(min_length=2, max_length=10), EachOnce], ...] = Field(
        default=(), description="Sets of recipients assumed to share copies, whom gates judge together."
    )


class SensitivityPolicy(RequestPart):
    """Other stakes and penalties to assess, tolerated changes, and draws of uncertain terms."""

    points: Annotated[int, Field(ge=5, le=100)] | None = Field(
        default=None, description="Points on each side of a map of V and L; no map where not given."
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
    """The organisation's rules for the release."""

    id: Identifier = Field(description="Id, enrolled with the version.")
    version: Text = Field(description="Version; one id and version mean one policy permanently.")
    generalization: GeneralizationPolicy = GeneralizationPolicy()
    combined: CombinedPolicy = CombinedPolicy()
    linkage: LinkagePolicy = LinkagePolicy()
    singling_out: SinglingOutPolicy = SinglingOutPolicy()
    dates: DatesPolicy = DatesPolicy()
    events: EventsPolicy = EventsPolicy()
    utility: UtilityPolicy = UtilityPolicy()
    decoys: DecoyPolicy = DecoyPolicy()
    sensitivity: SensitivityPolicy = SensitivityPolicy()
    validation: ValidationPolicy = ValidationPolicy()
    missing: MissingPolicy = MissingPolicy()
    presence: Literal["known", "unknown"] = Field(
        default="known",
        description="Whether others can know that a person is in the file; a gate then judges the prosecutor risk.",
    )
    risk_threshold: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = Field(
        default=0.09,
        description="Risk above which risk tables count records; where presence is known, limit of the "
        "prosecutor risk.",
    )
    gates: tuple[Gate, ...] = Field(
        default=DEFAULT_GATES,
        min_length=1,
        validate_default=True,
        description="Gates that a release must pass, in place of the default ones.",
    )
    validity_days: Annotated[int, Field(ge=1, le=3650)] = Field(
        default=365, description="Days for which a decision holds, never past the agreement."
    )
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

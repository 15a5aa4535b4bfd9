"""The decision record: the one truth about one recipient's release, which every report renders.

No field holds a data value: figures, counts, hashes, names of columns and of levels only.
"""

from datetime import date, datetime
from enum import StrEnum
from typing import Any, Literal, Self

from pydantic import Field

from tasks.assessments.identity.facts import FieldFact, RiskFact
from tasks.assessments.utility.facts import UtilityFact
from tasks.core.canonical import digest
from tasks.core.fact import Fact, Interval, Sha256
from tasks.decision.decoy_facts import DecoyFact, StatisticsFact
from tasks.decision.earlier_facts import EarlierDecision, EarlierFact
from tasks.ledger.enrolment import EnrolmentFact
from tasks.masking.facts import MaskingFact
from tasks.request.measures import Measure
from tasks.request.missing import MissingReading
from tasks.request.policy import Policy
from tasks.request.population import PopulationBasis

SCHEMA_VERSION: Literal["releasegate/decision/1"] = "releasegate/decision/1"


class Verdict(StrEnum):
    """Verdict of the gate on a release."""

    APPROVED = "approved"
    AWAITING_REVIEW = "awaiting review"
    BLOCKED = "blocked"


class GateOverride(Fact):
    """An officer's override of a figure that a threshold does not allow; the gate has failed all the same."""

    officer: str
    reason: str
    at: datetime
    measured: float = Field(description="The figure that the officer saw; a worse one is not covered.")
    valid_until: date = Field(description="Last day on which a release could be decided with it.")
    release_id: Sha256 = Field(description="The release that was blocked.")
    record_sha256: Sha256 = Field(description="Of its record.")
    entry_sha256: Sha256 = Field(description="Of the ledger's entry.")


class GateResult(Fact):
    """One gate: what was measured, against which threshold, and whether it passed."""

    id: str
    title: str
    unit: str = ""
    measured: float | None = Field(description="None where the stage that measures it did not run.")
    interval: Interval | None = Field(default=None, description="None for exact figures.")
    people: int | None = Field(default=None, description="People that a share is of, where a sample was measured.")
    comparison: Literal["at most", "at least", "is"]
    threshold: float
    passed: bool
    because: str
    evidence_sha256: Sha256 | None = None
    alone: float | None = Field(
        default=None, description="Figure without the other columns or copies that make it worse; None where none does."
    )
    columns: tuple[str, ...] = Field(
        default=(), description="Other released columns that make the figure worse; empty where none does."
    )
    overridden: GateOverride | None = Field(
        default=None, description="Officer's override of a failed gate; None where it passed, or blocks."
    )

    @property
    def heading(self) -> str:
        """The title as it is shown; a sequential adversary's risk of 0 with its meaning."""
        unpaid = self.id == Measure.SEQUENTIAL_MAXIMUM and self.measured == 0
        return f"{self.title} (0: no attempt pays)" if unpaid else self.title


class FileRowsFact(Fact):
    """Rows of files in which a person can have several."""

    person: str = Field(description="Column that names the person of each row.")
    rows_in: int
    rows_out: int | None = None


class MissingFact(Fact):
    """Released columns that are missing in some records, and how they are read."""

    quasi_identifiers: tuple[str, ...]
    read_as: MissingReading
    sensitive: tuple[str, ...]
    sensitive_read_as: MissingReading


class TableFact(Fact):
    """A further table of the same persons that came in, and the one that would be released."""

    name: str
    title: str | None
    source_sha256: Sha256
    rows_in: int
    rows_out: int | None = None
    columns_in: int = Field(description="Columns of its own: keys of other tables left out.")
    columns_out: int = Field(description="Own columns that leave.")
    within: str | None = Field(description="Table to whose rows its rows belong; None where they are of the person.")
    key: str | None = Field(description="Column that names its rows; None where it has none.")
    key_leaves: str = Field(description="Released form of the key; empty without one.")


class DatasetFact(Fact):
    """The file that came in and the one that would be released."""

    title: str
    source: str
    source_sha256: Sha256
    output_sha256: Sha256 | None = None
    rows_in: int = Field(description="Records: people, where a person can have several rows.")
    rows_out: int | None = None
    columns_in: int
    columns_out: int
    rows: FileRowsFact | None = Field(default=None, description="Rows of the files; None where each is a record.")
    missing: MissingFact | None = Field(
        default=None, description="Quasi-identifiers and sensitive columns with missing values; None without any."
    )
    tables: tuple[TableFact, ...] = Field(default=(), description="Further tables of the same persons.")


class KeyFact(Fact):
    """A public key that a file is encrypted to; not the key itself."""

    kind: Literal["age", "ssh-ed25519", "ssh-rsa"]
    fingerprint: str = Field(description="As ssh-keygen -l shows it; for age, SHA-256 of age1… in hexadecimal.")


class TableFileFact(Fact):
    """The file of one of several tables as its recipient gets it."""

    table: str | None = Field(description="Its table; None for the dataset.")
    file: str = Field(description="Its path in the bundle's delivery/<recipient>/.")
    sha256: Sha256 = Field(description="Of its bytes.")
    clear_sha256: Sha256 = Field(description="Of its bytes before it was encrypted.")
    rows: int
    columns: tuple[str, ...] = Field(description="Its columns.")


class DeliveryFact(Fact):
    """The file as its recipient gets it."""

    file: str = Field(description="Its name in the bundle's delivery/<recipient>/.")
    format: Literal["csv", "parquet"]
    sha256: Sha256 = Field(description="Of its bytes; dataset.output_sha256 is that of the clear file.")
    encrypted_to: tuple[KeyFact, ...] = Field(default=(), description="Empty where it is in clear.")
    tables: tuple[TableFileFact, ...] = Field(
        default=(),
        description="Files of all tables, where there are several; dataset.output_sha256 is then that of their rows "
        "side by side, which was scored and of which these were made.",
    )


class MisfitFact(Fact):
    """A quasi-identifier whose values have another distribution than in the population."""

    column: str
    share: float = Field(
        description="Of the records that must have other values to fit, beyond chance; rounded down to hundredths."
    )


class PopulationFact(Fact):
    """The population that risk is measured against."""

    source: str
    sha256: Sha256 = Field(description="Of the table; of the data where people are counted in the file.")
    people: int = Field(description="People who are counted; the population may have more where it is sampled.")
    distinct_tuples: int
    sampling_fraction: float = Field(description="Records over people, in the population.")
    basis: PopulationBasis = Field(
        default=PopulationBasis.TABLE, description="Basis on which the people of a class are counted."
    )
    lacks: tuple[str, ...] = Field(default=(), description="Quasi-identifiers that the table does not have.")
    size: int | None = Field(default=None, description="People of the population that the file is a sample of.")
    misfits: tuple[MisfitFact, ...] = ()
    enrolled: EnrolmentFact | None = Field(default=None, description="Its enrolment; None in earlier records.")


class PolicyFact(Fact):
    """The policy that was applied."""

    id: str
    version: str
    sha256: Sha256
    risk_threshold: float
    validity_days: int
    small_cell: int
    reassess_days: int | None = Field(
        default=None, description="Days after which the release is assessed again; None in records of earlier versions."
    )
    enrolled: EnrolmentFact | None = Field(default=None, description="Its enrolment; None in earlier records.")

    @classmethod
    def of(cls, policy: Policy, enrolled: EnrolmentFact | None = None) -> Self:
        """A policy as a request states it."""
        stated = policy.model_dump(include={"id", "version", "risk_threshold", "validity_days", "small_cell"})
        return cls(**stated, sha256=digest(policy), reassess_days=policy.reassessment.every_days, enrolled=enrolled)


class CodeFact(Fact):
    """The program that decided."""

    version: str
    commit: str
    lock_sha256: Sha256


class AgreementFact(Fact):
    """The data use agreement in force."""

    id: str
    expires: date
    penalty: float | None = Field(default=None, description="For a detected attempt to identify; None where unstated.")
    detection_rate: float | None = None
    detection_slope: float | None = Field(
        default=None, description="Growth of the log odds of detection with each attempt."
    )
    ends_on_breach: bool = True


class RecipientFact(Fact):
    """Recipient of the release, and its terms."""

    id: str
    organisation: str
    purpose: str
    agreement: AgreementFact
    controls: tuple[str, ...] = ()
    prior_release_ids: tuple[str, ...] = ()
    benefit: float
    loss: float
    gain: float
    cost: float
    basis: str | None = Field(default=None, description="Where the amounts come from; None where unstated.")


SAME_PERSON = "same person"
"""Kind of the check that no person is in several rows, with which its id begins."""


class CheckFact(Fact):
    """One validation expectation: counts only."""

    id: str = Field(default="", description="Check, Great Expectations type and column; unique in the record.")
    expectation: str
    column: str = ""
    passed: bool
    checked: int
    failed: int


class SkippedCheck(Fact):
    """A validation check that was not made, and why; it neither passed nor failed."""

    id: str
    expectation: str
    column: str = ""
    reason: str


class ObservedCount(Fact):
    """Records counted for the reader in validation, without a verdict."""

    id: str
    description: str
    column: str = ""
    records: int


class ValidationFact(Fact):
    """The outcome of the validation stage."""

    passed: bool
    checks: tuple[CheckFact, ...]
    skipped: tuple[SkippedCheck, ...] = ()
    observed: tuple[ObservedCount, ...] = ()
    evidence_sha256: Sha256


class NotAssessed(Fact):
    """A stage that did not run, and why."""

    stage: str
    reason: str


class Review(Fact):
    """One reviewer's vote."""

    reviewer: str
    role: str
    vote: Literal["approve", "reject"]
    reason: str
    at: datetime
    record_sha256: Sha256


class PseudonymFact(Fact):
    """A column in whose place pseudonyms are released."""

    column: str
    format: Literal["uuid", "code", "integer"]
    project: str | None = Field(
        default=None, description="In all of whose releases the recipient gets the same ones; None where fresh."
    )
    identifier: str = Field(description="Columns of one identifier have the same pseudonyms.")
    repeats: bool = Field(description="Whether several rows of the file have one.")


class PseudonymsFact(Fact):
    """The pseudonyms of a copy."""

    columns: tuple[PseudonymFact, ...]
    crosswalk_sha256: Sha256 | None = Field(
        default=None, description="Commitment to the sealed crosswalk; None where no copy was written."
    )


class DecisionRecord(Fact):
    """Everything that a decision rests on."""

    schema_version: Literal["releasegate/decision/1"] = SCHEMA_VERSION
    release_id: Sha256
    title: str
    decision: Verdict
    reasons: tuple[str, ...]
    gates: tuple[GateResult, ...]
    recipient: RecipientFact
    dataset: DatasetFact
    delivery: DeliveryFact | None = Field(default=None, description="None where no file was written.")
    population: PopulationFact
    policy: PolicyFact
    code: CodeFact
    seed_commitment_sha256: Sha256
    request_sha256: Sha256
    fields: tuple[FieldFact, ...]
    validation: ValidationFact
    masking: tuple[MaskingFact, ...] = ()
    pseudonyms: PseudonymsFact | None = Field(default=None, description="None where no column has any.")
    risk: RiskFact | None
    utility: UtilityFact | None = Field(default=None, description="None where the stage did not finish.")
    further: dict[str, dict[str, Any]] = Field(
        default_factory=dict,
        description="Facts of assessments that have no place of their own in the record, by assessment.",
    )
    statistics: StatisticsFact | None = Field(
        default=None, description="The copy's columns against the data as collected; None where no copy was written."
    )
    not_assessed: tuple[NotAssessed, ...]
    decoys: DecoyFact | None = None
    earlier: EarlierFact | None = Field(
        default=None, description="Earlier copies held by the same party; None where they could not be compared."
    )
    requested_by: str = Field(description="Name of the person who asked for the release, as enrolled.")
    requester_id: str = Field(default="", description="Id of this person.")
    requester_title: str = Field(default="", description="Title of this person.")
    handed_in_by: str = Field(default="", description="Login, account or token that the request came from.")
    requested_at: datetime
    decided_at: datetime
    expert: str | None = None
    reviews_required: int
    expert_signs: bool = Field(
        default=False,
        exclude_if=lambda signs: not signs,
        description="Whether the expert must sign the determination before any reviewer votes; left out where not.",
    )
    signed_votes: bool = Field(
        default=False,
        exclude_if=lambda signed: not signed,
        description="Whether each vote must be signed with the reviewer's registered key; left out where not.",
    )
    reviewers: tuple[str, ...] = Field(default=(), description="Reviewers, as the policy names them.")
    officers: tuple[str, ...] = Field(default=(), description="Officers who may make overrides and revocations.")
    overridable: tuple[str, ...] = Field(default=(), description="Gates that an officer may override.")
    override_days: int = Field(default=30, description="Days for which an override of a gate can be used.")
    reviews: tuple[Review, ...] = ()
    valid_from: date
    valid_until: date
    supersedes: Sha256 | None = Field(
        default=None, description="Release whose place this one takes for this recipient, once it may leave."
    )
    inputs_id: Sha256 | None = Field(
        default=None,
        description="Release id of the same inputs, first decided and without overrides; None where it is this one.",
    )
    overrides: tuple[Sha256, ...] = Field(
        default=(), description="Ledger entries of all overrides that the release is named by, of any recipient."
    )
    decided_before: EarlierDecision | None = Field(
        default=None,
        exclude_if=lambda before: before is None,
        description="The decision of the same inputs that this one replaces; left out where there is none.",
    )
    prev_record_sha256: Sha256 = Field(description="Head of the ledger when the decision was recorded.")

    @property
    def requester(self) -> str:
        """Name and title of the person who asked for the release."""
        return ", ".join(filter(None, (self.requested_by, self.requester_title)))

    @property
    def delivered_sha256(self) -> str | None:
        """SHA-256 of the file as it is delivered, encrypted or not; None where none was written."""
        return self.dataset.output_sha256 if self.delivery is None else self.delivery.sha256

    @property
    def of_inputs(self) -> str:
        """Release id of the same inputs, when they were decided first and without overrides."""
        return self.inputs_id or self.release_id

    @property
    def answering(self) -> tuple[str, ...]:
        """Officers who overrode gates that failed; they do not review the release."""
        return tuple(sorted({gate.overridden.officer for gate in self.gates if gate.overridden}))

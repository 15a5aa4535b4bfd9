"""The decision record: the one truth about one recipient's release, which every report renders.

Nothing here decides or measures; ``tasks.decision.verdict`` fills the record. No field holds a data value: figures,
counts, hashes, names of columns and of levels only.
"""

import hashlib
import json
from datetime import date, datetime
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints

from tasks.decision.adversary_facts import CombinedFact, SequentialFact
from tasks.decision.budget_fact import BudgetFact
from tasks.decision.decoy_facts import DecoyFact, StatisticsFact
from tasks.decision.division_fact import DivisionFact
from tasks.decision.fact import Bin, Fact
from tasks.decision.frontier_fact import FrontierFact
from tasks.decision.kanonymity_fact import KAnonymityFact
from tasks.decision.linkage_facts import LinkageFact, MaskingFact
from tasks.decision.penalties_fact import PenaltiesFact
from tasks.decision.stakes_facts import StakesFact
from tasks.decision.uncertainty_facts import UncertaintyFact
from tasks.decision.utility_facts import UtilityFact

SCHEMA_VERSION: Literal["releasegate/decision/1"] = "releasegate/decision/1"
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class Verdict(StrEnum):
    """What the gate says of a release."""

    APPROVED = "approved"
    AWAITING_REVIEW = "awaiting review"
    BLOCKED = "blocked"


class Interval(Fact):
    """A confidence interval around an estimate."""

    low: float
    high: float
    level: float


class GateOverride(Fact):
    """An officer's answer for a figure that a threshold does not allow; the gate has failed all the same."""

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
    overridden: GateOverride | None = Field(
        default=None, description="Of a failed gate: who answers for it. None where it passed, or blocks."
    )


class DatasetFact(Fact):
    """The file that came in and the one that would leave."""

    title: str
    source: str
    source_sha256: Sha256
    output_sha256: Sha256 | None = None
    rows_in: int
    rows_out: int | None = None
    columns_in: int
    columns_out: int


class KeyFact(Fact):
    """A public key that a file is encrypted to; not the key itself."""

    kind: Literal["age", "ssh-ed25519", "ssh-rsa"]
    fingerprint: str = Field(description="As ssh-keygen -l shows it; for age, SHA-256 of age1… in hexadecimal.")


class DeliveryFact(Fact):
    """The file as its recipient gets it."""

    file: str = Field(description="Its name in the bundle's delivery/<recipient>/.")
    format: Literal["csv", "parquet"]
    sha256: Sha256 = Field(description="Of its bytes; dataset.output_sha256 is that of the clear file.")
    encrypted_to: tuple[KeyFact, ...] = Field(default=(), description="Empty where it is in clear.")


class PopulationFact(Fact):
    """The population that risk is measured against."""

    source: str
    sha256: Sha256
    people: int
    distinct_tuples: int
    sampling_fraction: float = Field(description="Records over people.")


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
    ends_on_breach: bool = True


class RecipientFact(Fact):
    """Who is to receive the release, and on what terms."""

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


class FieldFact(Fact):
    """One column of the data: its role and what was done to it."""

    name: str
    role: str
    type: str
    description: str = ""
    safe_harbor: str
    known_probability: float | None = None
    distinct_values: int
    levels: tuple[str, ...] = Field(default=(), description="Treatment name of each hierarchy level, finest first.")
    groups_per_level: tuple[int, ...] = ()
    records_per_level: tuple[int, ...] = Field(default=(), description="Released records by level of generalization.")
    information_kept: float | None = Field(default=None, description="1 − loss, between 0 and 1 (quasi-identifiers).")
    treatment: str


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


class RiskFigure(Fact):
    """One risk over all records of a file."""

    maximum: float
    mean: float
    records: int
    over_threshold: int = Field(description="Records whose risk exceeds the policy's threshold.")
    histogram: tuple[Bin, ...]


class RiskView(Fact):
    """Identity-disclosure risk of one file, from the field's three attackers."""

    prosecutor: RiskFigure = Field(description="The attacker knows that the target is in the file: 1/class size.")
    journalist: RiskFigure = Field(description="The attacker picks a target in the population: 1/people in the cell.")
    marketer: float = Field(description="Expected share of records an attacker with the population links rightly.")
    smallest_class: int
    classes: int
    below_small_cell: float = Field(description="Share of records in classes smaller than the policy's small cell.")


class TransparentRisk(Fact):
    """Risk from a recipient who knows hierarchies and rule (effective sizes n_T), beside the naive claim (n_p)."""

    maximum_risk: float
    mean_risk: float
    attacked_share: float
    attacked_records: int
    expected_reidentifications: float
    smallest_effective_group: int
    naive_maximum_risk: float
    naive_attacked_share: float
    naive_expected_reidentifications: float
    histogram: tuple[Bin, ...]
    attack_group_size: float = Field(
        description="From this effective group size on no record is attacked: gain/cost, or by the plan of one who "
        "plans; past the largest group where none is left alone."
    )


class PolicyOutcome(Fact):
    """Payoffs of one generalization method on these data under these stakes."""

    method: str
    publisher_payoff: float
    adversary_payoff: float
    information_kept: float
    most_specific_share: float
    mean_generalization: float
    naive_attacked_share: float
    transparent_attacked_share: float
    naive_expected_reidentifications: float
    transparent_expected_reidentifications: float
    chosen: bool = False


class SharingFact(Fact):
    """One representation for several recipients, and what it costs the publisher beside one for each."""

    recipients: dict[str, float] = Field(description="Weight of each: 1 for all of them, or the probability of a type.")
    own: dict[str, float | None] = Field(
        description="Publisher's payoff a record from each by itself, at its own optimum; None where there is none."
    )
    shared: float = Field(description="Weighted sum of the payoffs from all at the shared optimum, a record.")
    price: float | None = Field(description="Weighted sum of the own ones less the shared one; None where one lacks.")


class HandFact(Fact):
    """What a recipient sees of the records of its copy, once it comes together with other recipients' copies."""

    recipients: tuple[str, ...] = Field(description="Whose copies come together.")
    probability: float
    narrowed_share: float = Field(description="Share of the records whom fewer people match than in the copy alone.")
    claimed_smallest_group: int = Field(description="Least people who match all cells of a record.")
    smallest_group: int = Field(description="Least people to whom the rules give all cells of a record.")
    maximum_risk: float = Field(description="One over the latter.")
    attacked_share: float = Field(description="Share of the records worth an attempt to who knows the rules.")
    attacked_records: int
    claimed_attacked_share: float
    expected_reidentifications: float
    mean_reidentification: float = Field(description="Mean probability that a record is re-identified, by its stakes.")
    maximum_reidentification: float


class CopiesFact(Fact):
    """A copy for each of several recipients who may lay them beside each other; payoffs are means of a record.

    Payoffs are the publisher's, over the copies of all of them, by the people who match, as the methods claim.
    """

    recipients: tuple[str, ...]
    probability: float = Field(description="That copies come together.")
    who: str = Field(description="Whose do.")
    hands: tuple[HandFact, ...] = Field(description="Those that hold the recipient's copy.")
    payoff: float = Field(description="From the copies as they are made.")
    own: dict[str, float | None] = Field(
        description="From each recipient's own optimum, were there no collusion; None where there is none."
    )
    own_under_collusion: float | None = Field(
        description="What these bring together as copies may be laid beside each other; None where one lacks."
    )
    shared: float | None = Field(description="From one representation for all; None where there is none.")


class GameFact(Fact):
    """The game as it was played: rule, weights, lattice, and every method's outcome for comparison."""

    method: str
    weights: dict[str, float]
    lattice_nodes: int
    cube_cells: int
    cube_form: Literal["dense", "sparse"]
    distinct_tuples: int
    cell_weights: str
    minimum_class_size: int
    suppressed_records: int
    outcomes: tuple[PolicyOutcome, ...]
    k_anonymity: KAnonymityFact | None = Field(default=None, description="None where the policy demands none.")
    budget: BudgetFact | None = Field(default=None, description="None where the policy limits no whole file.")
    frontier: FrontierFact | None = Field(default=None, description="None in records of earlier versions.")
    stakes: StakesFact | None = Field(default=None, description="None where the policy asks for no map.")
    penalties: PenaltiesFact | None = Field(default=None, description="None where the policy asks for no such map.")
    adversary: str = Field(
        default="one-shot", description="Whom the game was played against: one attempt a record, or one who plans."
    )
    sharing: SharingFact | None = Field(default=None, description="None where the representation is this recipient's.")
    collusion: CopiesFact | None = Field(default=None, description="None where nobody is taken to collude.")
    division: DivisionFact | None = Field(
        default=None,
        description="None where no partition was played, or within a budget, which has its own bound, or for several "
        "who may collude.",
    )


class ZipTableFact(Fact):
    """The Safe Harbor table of three-digit ZIP codes that was applied."""

    census: str
    sha256: Sha256
    restricted_prefixes: tuple[str, ...]


class RiskFact(Fact):
    """What was at risk before, what remains, and what was asked."""

    threats: tuple[str, ...]
    threshold: float
    initial: RiskView
    residual: RiskView
    transparent: TransparentRisk
    game: GameFact
    zip_table: ZipTableFact | None = None
    sequential: SequentialFact | None = Field(default=None, description="None where the stage did not finish.")
    combined: CombinedFact | None = Field(default=None, description="None where the stage did not finish.")
    linkage: LinkageFact | None = Field(default=None, description="None where the stage did not finish.")
    uncertainty: UncertaintyFact | None = Field(
        default=None, description="None where no term of the recipient is uncertain."
    )


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
    risk: RiskFact | None
    utility: UtilityFact | None = Field(default=None, description="None where the stage did not finish.")
    statistics: StatisticsFact | None = Field(
        default=None, description="The copy's columns against the data as collected; None where no copy was written."
    )
    not_assessed: tuple[NotAssessed, ...]
    decoys: DecoyFact | None = None
    requested_by: str
    requested_at: datetime
    decided_at: datetime
    expert: str | None = None
    reviews_required: int
    reviewers: tuple[str, ...] = Field(default=(), description="Who may review, as the policy names them.")
    officers: tuple[str, ...] = Field(default=(), description="Who answers for overrides and revocations.")
    overridable: tuple[str, ...] = Field(default=(), description="Gates that an officer may override.")
    override_days: int = Field(default=30, description="Days for which an override of a gate can be used.")
    reviews: tuple[Review, ...] = ()
    valid_from: date
    valid_until: date
    supersedes: Sha256 | None = Field(
        default=None, description="Release whose place this one takes for this recipient, once it may leave."
    )
    inputs_id: Sha256 | None = Field(
        default=None, description="Release id of the same inputs without overrides; None where it rests on none."
    )
    overrides: tuple[Sha256, ...] = Field(
        default=(), description="Ledger entries of all overrides that the release is named by, of any recipient."
    )
    prev_record_sha256: Sha256 = Field(description="Head of the ledger when the decision was recorded.")

    @property
    def delivered_sha256(self) -> str | None:
        """SHA-256 of the file as it is delivered, encrypted or not; None where none was written."""
        return self.dataset.output_sha256 if self.delivery is None else self.delivery.sha256

    @property
    def of_inputs(self) -> str:
        """Release id of the same inputs without overrides."""
        return self.inputs_id or self.release_id

    @property
    def answering(self) -> tuple[str, ...]:
        """Officers who answer for gates that failed; they do not review the release."""
        return tuple(sorted({gate.overridden.officer for gate in self.gates if gate.overridden}))


def canonical_json(document: object) -> bytes:
    """The one byte form of a document: sorted keys, no spaces, UTF-8, no NaN.

    Raises
    ------
    ValueError
        If the document holds a NaN or an infinity.
    """
    if isinstance(document, BaseModel):
        document = document.model_dump(mode="json")
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode() + b"\n"


def digest(document: object) -> str:
    """SHA-256 of a document's canonical bytes."""
    return hashlib.sha256(canonical_json(document)).hexdigest()

"""The record of a re-assessment: findings on one copy, beside its decision.

Like the decision record it holds figures, counts, hashes and names alone. It is named by the digest of its inputs, so
that the same world gives the same record, and a changed one never takes the place of another.
"""

from datetime import date, datetime
from enum import StrEnum
from typing import Literal

from pydantic import Field

from tasks.assessments.identity.uncertain.facts import ChanceFact, UncertaintyFact
from tasks.core.fact import Fact, Sha256
from tasks.decision.record import CodeFact, NotAssessed, PolicyFact

SCHEMA_VERSION: Literal["releasegate/reassessment/1"] = "releasegate/reassessment/1"
EndingTerm = Literal["agreement", "determination", "ZIP code table"]
Within = Literal[30, 60, 90]
RequestFrom = Literal[
    "named", "where it lay", "kept, none there", "kept, another of other data", "kept, another unreadable"
]
"""Source of today's policy, terms, population and register."""


class TodaysVerdict(StrEnum):
    """Verdict of today on a copy that was released."""

    HOLDS = "holds"
    """Every gate that was open is open today."""
    BLOCKED = "would be blocked"
    """It would not be released today."""
    CANNOT = "cannot be re-assessed"
    """Nothing speaks against it, and something could not be measured; it condemns nothing."""


class GateComparison(Fact):
    """One gate then and today."""

    id: str
    title: str
    unit: str = ""
    comparison: Literal["at most", "at least", "is"]
    measured_then: float | None = Field(description="None where it was not measured, or no gate of then.")
    threshold_then: float | None = Field(description="None where it was no gate of then.")
    open_then: bool | None
    measured: float | None = Field(description="None where it could not be measured today.")
    threshold: float | None = Field(description="None where it is no gate of today's policy.")
    open: bool | None = Field(description="None where it is not judged today.")
    overridden: bool = Field(default=False, description="Whether an officer has overridden it.")
    because: str = Field(description="Of today's gate; empty where there is none.")

    @property
    def changed(self) -> bool:
        """Whether it was open then and is closed today, or the other way round; or is not judged any more."""
        return self.threshold is not None and self.open != self.open_then

    @property
    def figure_changed(self) -> bool:
        """Whether both days have a figure, and not the same."""
        return None not in (self.measured, self.measured_then) and self.measured != self.measured_then


class PooledCopies(Fact):
    """Copies that are pooled, or may be."""

    kind: Literal["same recipient", "declared", "compared"] = Field(
        description="Given to one recipient; named by the policy; or compared without being judged."
    )
    recipients: tuple[str, ...]
    releases: tuple[str, ...] = Field(description="This one first.")
    judged: bool
    gates: tuple[GateComparison, ...] = Field(default=(), description="Gates that can be judged for several copies.")
    shared: int | None = Field(default=None, description="Records that another copy has too.")
    narrowed: int | None = Field(default=None, description="Of these, those that fewer people match than before.")
    cannot: str = Field(default="", description="Reason that they could not be pooled; empty where they were.")


class Expiry(Fact):
    """Something that ends, or has ended."""

    what: EndingTerm
    name: str
    last_day: date
    days_left: int = Field(description="Negative once it has ended.")
    within: Within | None = Field(description="Fewest of 30, 60 and 90 days within which it ends.")
    explained: str


class Cause(Fact):
    """Something that differs from when the release was decided."""

    kind: Literal[
        "request", "population", "policy", "prices", "code", "data", "register", "agreement", "further release"
    ]
    text: str


class ReassessmentInputs(Fact):
    """Inputs of a re-assessment; equal inputs are the same re-assessment."""

    record_sha256: Sha256 = Field(description="Of the decision.")
    delivered_sha256: Sha256
    request_sha256: Sha256 = Field(description="Digest of the request as it is judged today.")
    request_from: RequestFrom = Field(description="Source of policy, terms, population and register.")
    dataset_sha256: Sha256 | None = Field(description="None where the original data were not at hand.")
    population_sha256: Sha256 | None
    external_sha256: Sha256 | None
    code: CodeFact
    in_force: bool = Field(description="Whether the agreement is in force.")
    lapsing: tuple[str, ...] = Field(description="Terms that end soon or have ended, with the number of days.")
    others: tuple[str, ...] = Field(description="Copies of the same people, as release/recipient.")
    hindrances: tuple[str, ...] = Field(
        description="Measures that could not be taken, and copies that could not be pooled, with reasons."
    )


class Reassessment(Fact):
    """Findings on one copy that was released."""

    schema_version: Literal["releasegate/reassessment/1"] = SCHEMA_VERSION
    release_id: Sha256
    recipient: str
    organisation: str
    title: str
    released_at: datetime
    reassessed_at: datetime = Field(description="Time of the first re-assessment of these inputs.")
    verdict: TodaysVerdict
    before: TodaysVerdict = Field(description="Verdict of the re-assessment before it; “holds” before the first one.")
    because: tuple[str, ...]
    causes: tuple[Cause, ...] = Field(description="Differences from the time when the release was decided.")
    gates: tuple[GateComparison, ...] = Field(
        description="The policy's, then the limits of a budget over the whole file that age: on risk, and on the least "
        "people who match a cell."
    )
    uncertainty_then: ChanceFact | None = Field(
        default=None, description="Probability of approval; None where no term of the recipient was uncertain."
    )
    uncertainty: UncertaintyFact | None = Field(
        default=None, description="The same today, under today's terms and population; None where no term is uncertain."
    )
    coalitions: tuple[PooledCopies, ...] = Field(description="Pooled copies.")
    sets_left_out: int = Field(
        default=0, description="Sets of recipients who might share that were too many to be compared."
    )
    unrelated: tuple[str, ...] = Field(
        default=(), description="Releases to the same recipient that nothing says are of the same people."
    )
    lapses: tuple[Expiry, ...]
    not_measured: tuple[NotAssessed, ...]
    people_then: int
    people: int | None = Field(description="People of today's population; None where it could not be read.")
    strangers: int = Field(
        default=0, description="People of today's population whose values the hierarchies of the release do not have."
    )
    rows_in: int = Field(description="Records that came in.")
    rows: int | None = Field(description="Rows that left.")
    decoyed: bool = Field(description="Whether figures are rounded, as those of a copy with decoys are.")
    policy: PolicyFact
    policy_then: PolicyFact
    every_days: int
    due: date = Field(description="Day on which it was due.")
    next_due: date
    inputs: ReassessmentInputs

    @property
    def changed(self) -> bool:
        """Whether its verdict differs from the one before."""
        return self.verdict is not self.before

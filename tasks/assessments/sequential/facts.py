"""Facts of the sequential adversary."""

from typing import Literal

from pydantic import Field

from tasks.core.fact import Bin, Fact


class TierFact(Fact):
    """Candidates of a resource who are equally likely to be the person."""

    people: float = Field(description="Share of a group's people.")
    prior: float = Field(description="Probability that the person is one of them.")


class ResourceFact(Fact):
    """External data that the adversary may pay for, after those before it."""

    source: str
    access_cost: float
    candidates: tuple[TierFact, ...]


class AdversaryFact(Fact):
    """The profile that the sequential adversary was modelled with; money in the currency of the stakes."""

    gain: float
    penalty: float
    access_cost: float
    link_cost: float
    exploit_cost: float
    prior: float
    detection_intercept: float
    detection_slope: float
    max_penalties: int | None
    discount: float
    confirmation: float
    resources: tuple[ResourceFact, ...] = Field(
        default=(), description="In the order that they are consulted; none where the prior is of one, all alike."
    )
    origins: dict[str, str] = Field(description="Origin of each term, in words, by name of the term.")


class ExternalFact(Fact):
    """The external data that the adversary links to."""

    kind: Literal["register", "population"]
    source: str
    sha256: str | None = Field(description="Of the register's file; None for the population.")
    people: int = Field(description="People listed; for the population, those expected by the prior.")


BeliefName = Literal["known group", "unknown group", "access shared"]


class BeliefFact(Fact):
    """Risk of the records under one way of knowing the group and of paying for access."""

    belief: BeliefName
    maximum_risk: float
    mean_risk: float
    attacked_share: float = Field(description="Share of records on which at least one exploit is made.")
    attacked_records: int
    expected_reidentifications: float
    expected_exploits: float = Field(description="Mean exploits on a record if none succeeds.")


class CurvePoint(Fact):
    """The adversary's behaviour at one group size."""

    size: int
    known: float = Field(description="P_reid where the group is known before access is paid.")
    linked: float = Field(description="P_reid once access is paid.")
    exploits: float = Field(description="Expected exploits if none succeeds, once access is paid.")


class SensitivityPoint(Fact):
    """Thresholds at one value of a term; None where none was found among the sizes searched."""

    value: float
    known_threshold: int | None
    linked_threshold: int | None


class SensitivityFact(Fact):
    """Group sizes that deter, as one term varies and the others are fixed (Xia et al. 2015, figure 10)."""

    term: Literal[
        "access_cost", "exploit_cost", "penalty", "detection", "prior", "discount", "confirmation", "max_penalties"
    ]
    own: float | None = Field(description="The value of this release; None for no limit of penalties.")
    points: tuple[SensitivityPoint, ...]


class PatienceFact(Fact):
    """Risk of the released records from an adversary of one discount, all other terms as they are."""

    discount: float = Field(description="γ, worth of a unit one step later; 1 is endless patience.")
    maximum_risk: float
    attacked_share: float
    attacked_records: int
    expected_reidentifications: float
    threshold_linked: int | None = Field(description="Smallest group safe once access is paid.")


class DeterrentFact(Fact):
    """The least value of one term, the others as they are, at which no record of the file is attacked."""

    term: Literal["access_cost", "exploit_cost", "penalty", "detection"]
    current: float
    needed: float | None = Field(description="None where no value of this term deters.")


class SequentialFact(Fact):
    """The sequential adversary's risk, before and after generalization."""

    profile: AdversaryFact
    external: ExternalFact
    threshold_known: int | None = Field(description="Smallest group safe from an adversary who pays for each record.")
    threshold_linked: int | None = Field(description="Smallest group safe once access is paid.")
    exhausted_below: int | None = Field(
        description="Below this size every candidate is tried; None where that holds of the first 2,000 sizes."
    )
    resources_in_reach: int = Field(
        default=0,
        description="Of several resources, those that may pay for the whole file: the judged risk is of these, paid "
        "for, and an upper bound.",
    )
    smallest_group: int = Field(description="Candidates of the smallest group that a released record is in.")
    largest_group: int
    initial: tuple[BeliefFact, ...]
    residual: tuple[BeliefFact, ...]
    judged: str = Field(description="The belief whose figures the gates judge: the worst.")
    expected_loss: float | None = Field(
        default=None, description="P_reid × L (eq. 1) over the released records, judged; in the currency of the stakes."
    )
    baseline_maximum: float = Field(description="Risk from an adversary who makes one attempt per record (eq. 7).")
    baseline_attacked_share: float
    group_sizes: tuple[Bin, ...] = Field(description="Released records by number of candidates.")
    curve: tuple[CurvePoint, ...]
    sensitivity: tuple[SensitivityFact, ...]
    patience: tuple[PatienceFact, ...] = Field(description="P_reid over γ, the discount, ascending.")
    deterrents: tuple[DeterrentFact, ...]

    def judged_in(self, beliefs: tuple[BeliefFact, ...]) -> BeliefFact:
        """The belief of ``initial`` or ``residual`` that the gates judge."""
        return next(one for one in beliefs if one.belief == self.judged)

"""Facts of the combined score."""

from pydantic import Field

from tasks.core.fact import Bin, Fact


class ScoreFigure(Fact):
    """Combined scores over all records of a file."""

    maximum: float
    mean: float
    quantile: float
    share_above: float
    records: int
    above: int = Field(description="Records that score above the threshold.")
    histogram: tuple[Bin, ...]


class Contribution(Fact):
    """Share of all scores that comes from a set of known attributes, or from one sensitive attribute."""

    attributes: tuple[str, ...]
    share: float


class CombinedFact(Fact):
    """Identity and attribute disclosure in one score, before and after generalization, with all that ε may hide."""

    alpha: float
    epsilon: float | None
    exclusive: bool
    threshold: float
    quantile: float
    known_probabilities: dict[str, float]
    sensitivities: dict[str, float] = Field(description="Weight of each sensitive attribute, its values aside.")
    known_sets: int
    initial: ScoreFigure
    residual: ScoreFigure
    left_out: float = Field(
        default=0.0, description="Largest bound on the part of omitted sets in a score after; in every figure."
    )
    presumed: tuple[str, ...] = Field(description="Columns for which the request states no probability of being known.")
    expected: float | None = Field(description="Highest expected share of a record's sensitive values that is learned.")
    by_known_set: tuple[Contribution, ...] = Field(description="After generalization; the largest first.")
    by_attribute: tuple[Contribution, ...]

"""Facts of a verdict on uncertain terms."""

from pydantic import Field

from tasks.core.fact import Fact


class ChanceFact(Fact):
    """A share of draws as an estimate of a probability, with its exact interval (Clopper and Pearson 1934)."""

    count: int
    draws: int = Field(description="1 where nothing was drawn: all terms have ranges only.")
    value: float
    low: float
    high: float


class UncertainTermFact(Fact):
    """An uncertain term and its range or distribution."""

    term: str
    kind: str = Field(description="between (a range and no distribution), uniform, log-uniform, and so on.")
    low: float = Field(description="Smallest possible value.")
    high: float = Field(description="Largest possible value.")
    parameters: dict[str, float | tuple[float, ...]] = Field(description="Others than the ends.")
    declared: float = Field(description="The request's own value.")


class FigureRangeFact(Fact):
    """The figure of one gate under uncertain terms; draws are in the worst case of terms that have a range only."""

    measure: str
    declared: float | None = Field(description="Under the terms of the request.")
    expectation: float | None = Field(description="Mean over the draws; None where some could not be solved.")
    quantiles: tuple[float | None, ...] = Field(description="At 0.05, 0.5 and 0.95.")
    passes: ChanceFact = Field(description="This gate by itself.")
    guaranteed: tuple[float, float] | None = Field(
        description="Least and greatest value that the terms allow; None where the measure is not monotone in one."
    )


class IndexFact(Fact):
    """A Sobol' index with its bootstrap interval at 95%."""

    value: float
    low: float
    high: float


class PartFact(Fact):
    """Approval where a term is in one part of its distribution."""

    low: float
    high: float
    draws: int
    approved: int


class DecidingFact(Fact):
    """Influence of one term on the verdict."""

    term: str
    first: IndexFact | None = Field(description="Share of the verdict's variance by itself; None: it never varies.")
    total: IndexFact | None = Field(description="Share together with the other terms.")
    parts: tuple[PartFact, ...] = Field(description="Fifths of the distribution, or its few values; ascending.")


class UncertaintyFact(Fact):
    """The gates under uncertain terms; the conditions that every release must meet are not part of it."""

    terms: tuple[UncertainTermFact, ...]
    confidence: float
    approved: ChanceFact = Field(description="All gates pass, even in the worst case of terms with a range only.")
    possible: ChanceFact = Field(description="All gates pass in the best case of those terms.")
    certain: bool | None = Field(
        description="True: all gates pass whatever the terms are; false: never; null: it depends, or is not known."
    )
    figures: tuple[FigureRangeFact, ...]
    deciding: tuple[DecidingFact, ...] = Field(description="Terms with a distribution, the most deciding first.")
    unsolved: int = Field(description="Draws whose plan could not be solved; they do not pass.")

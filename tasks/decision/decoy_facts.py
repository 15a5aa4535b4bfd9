"""Decoys and the statistics of a copy, as a record states them; never which rows are decoys."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from tasks.core.fact import Fact

Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class DetectionFact(Fact):
    """Performance of one classifier in distinguishing decoys from real classes."""

    view: str = Field(description="Information that it uses: the file alone, with the population, and with all values.")
    classifier: str
    area: float = Field(description="Area under its ROC curve on classes it has not seen; 0.5 is guessing.")
    low: float = Field(description="Lower end of the 95 % interval.")
    high: float


class DetectabilityFact(Fact):
    """Whether decoys can be distinguished from real classes, by the classifier that does it best."""

    tried: tuple[DetectionFact, ...]
    worst: DetectionFact
    decoys: int = Field(description="Decoy classes drawn by the same mechanism that it was measured on.")
    real_classes: int
    size_p_value: float = Field(description="Of a test that decoy classes have other sizes than real ones.")
    relations: int = Field(
        default=0, description="Relations of columns that hold in all real records, or in 99 of 100."
    )
    broken: int = Field(
        default=0, description="Relations that name a decoy more surely than planned where a record breaks them."
    )
    certainty: float = Field(
        default=0.0, description="Highest probability that a record which breaks such a relation is a decoy."
    )


class CollusionFact(Fact):
    """Knowledge of recipients who compare their copies, over sets of equal size."""

    colluders: int
    sets: int = Field(description="Sets of recipients that were tried.")
    exhaustive: bool = Field(description="Whether these are all of that number.")
    suspects_decoys: float = Field(description="Decoy classes that stand alone, mean.")
    suspects_real: float = Field(description="Real classes that stand alone, mean.")
    probability: float = Field(description="Probability that a class that stands alone is a decoy, mean of the sets.")
    worst: float = Field(description="The same, highest of the sets.")
    informed: float = Field(description="The same for recipients who also have the population, mean of the sets.")
    worst_informed: float
    evasion: float = Field(
        default=0.0,
        description="Least share of a copy's records that such recipients lose who drop what stands alone; then no "
        "trace names them.",
    )


class ChoiceFact(Fact):
    """Cost of the choice of kept classes."""

    status: Literal["optimal", "feasible"] = Field(description="optimal: no choice costs less; feasible: perhaps one.")
    bound: int = Field(description="Least records that the worst-off copy must miss.")
    worst_missing: int = Field(description="Records that the worst-off copy misses.")


class AttemptFact(Fact):
    """Identity risk of a copy with decoys in it."""

    subjects_maximum: float = Field(description="Highest risk of a real person, by people who match; this is judged.")
    subjects_mean: float
    shown_maximum: float = Field(description="Highest risk as seen by somebody who takes decoys for real records.")
    shown_mean: float
    success: float = Field(description="Attempts that identify a real person if every row is attempted at random.")
    lured: float = Field(description="Share of decoys among the rows at the highest risk, where an attempt begins.")


class StatisticChange(Fact):
    """Changes of one column's values; nothing of the values themselves."""

    name: str
    kind: Literal["number", "categories"]
    mean: float | None = Field(default=None, description="Change of the mean in standard deviations; None if constant.")
    standard_errors: float | None = Field(default=None, description="The same in standard errors of the mean.")
    spread: float | None = Field(default=None, description="Standard deviation after over before.")
    total_variation: float | None = Field(default=None, description="Half the sum of the changes of shares, 0 to 1.")
    largest: float | None = Field(default=None, description="Largest change of one value's share, 0 to 1.")


class StatisticsFact(Fact):
    """Differences between the statistics of a copy and those of the file that it is compared with."""

    columns: tuple[StatisticChange, ...]
    correlation: float | None = Field(description="Largest change of a correlation between two numbers.")
    association: float | None = Field(description="Largest change of Cramér's V between two categories.")
    target: str | None = Field(default=None, description="Column that a regression explains by the others.")
    coefficient: float | None = Field(default=None, description="Largest change of a coefficient in standard errors.")
    explained_before: float | None = Field(default=None, description="R² of the regression.")
    explained_after: float | None = None


class DecoyFact(Fact):
    """Presence and number of decoys, and how they withstand an intruder who looks for them; never which they are."""

    count: int = Field(description="Decoy records in the copy.")
    commitment_sha256: Digest = Field(description="Binds the record to the sealed manifest without revealing it.")
    classes: int = Field(default=0, description="Decoy classes in the copy.")
    kept_per_decoy: int = Field(default=0, description="Real classes that this copy alone has, for each, t.")
    planned_probability: float | None = Field(default=None, description="1/(1 + t).")
    recipients: int = Field(default=0, description="Recipients whose copies hold decoys of this release.")
    missing: int = Field(default=0, description="Real records that the copy misses for others' kept classes.")
    choice: ChoiceFact | None = None
    collusion: tuple[CollusionFact, ...] = ()
    detectability: DetectabilityFact | None = None
    attempts: AttemptFact | None = None
    statistics: StatisticsFact | None = Field(
        default=None, description="The copy against the same copy without decoys and with no class missing."
    )

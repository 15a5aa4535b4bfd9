"""Facts of the released file's utility."""

from pydantic import Field

from tasks.core.fact import Fact


class AttributeLoss(Fact):
    """Information that one generalized attribute lost, by several measures; 0 is none, 1 is all."""

    name: str
    loss: float | None = Field(description="ARX's Loss: share of the domain that released values cover; None of one.")
    entropy: float | None = Field(description="Non-uniform entropy, as a share of what withholding the column costs.")
    certainty_penalty: float | None = Field(description="Normalized certainty penalty.")


class FileLoss(Fact):
    """Information that the generalized file lost, by several measures."""

    loss: float = Field(description="ARX's Loss over all generalized attributes, 0 to 1.")
    entropy: float = Field(description="Non-uniform entropy, 0 to 1.")
    certainty_penalty: float = Field(description="Generalized certainty penalty, 0 to 1.")
    discernibility: float = Field(description="Sum of squared class sizes; a suppressed record counts all records.")
    discernibility_share: float | None = Field(
        default=None, description="From 0, the original file, to 1, everything withheld; None where these are equal."
    )
    average_class_size: float = Field(description="Records to a class.")
    original_class_size: float | None = Field(default=None, description="Records to a class of the original file.")


class NumericChangeFact(Fact):
    """Change of a numeric attribute by masking, in standard deviations of the original where not a share.

    None where the attribute is the same in all records that are released.
    """

    name: str
    mean: float | None = Field(description="Change of the mean.")
    deviation_ratio: float | None = Field(description="Standard deviation after over before.")
    deciles: float | None = Field(description="Median absolute change of the deciles.")
    distribution: float = Field(description="Kolmogorov-Smirnov distance of the two distributions, 0 to 1.")
    displacement: float | None = Field(
        description="Mean absolute change of a value over √2 standard deviations (IL1s)."
    )


class AssociationFact(Fact):
    """Association of two attributes before and after.

    The correlation of two numbers, the correlation ratio of a number with a generalized attribute, else Cramér's V.

    Where records are generalized each by itself, the level is part of the value, and V may rise: a distortion too.
    """

    attributes: tuple[str, str]
    measure: str
    before: float | None = Field(description="None where an attribute does not vary.")
    after: float | None


class MarginalFact(Fact):
    """Change in the shares of an attribute's values, without suppressed records."""

    name: str
    total_variation: float = Field(description="Share of the records that would have to change value, 0 to 1.")
    most_missed: float = Field(
        default=0.0,
        description="Largest share of a value's records that are left out, where enough have the value to be shown.",
    )


class ClusteringFact(Fact):
    """Agreement of k-means on the released file with k-means on the original one, 0 to 1."""

    clusters: int
    records: int
    rand: float
    jaccard: float
    f_measure: float
    repeated_rand: float | None = Field(
        default=None, description="Rand of the original with itself from another start: what k-means itself differs by."
    )
    repeated_f_measure: float | None = None


class ClassifierFact(Fact):
    """Accuracy of one classifier that is trained and tested on the original file, and on the released one."""

    name: str
    trained: int = Field(description="Records it was trained on.")
    original: float
    original_low: float
    original_high: float
    released: float
    released_low: float
    released_high: float


class ClassificationFact(Fact):
    """Accuracy of classifiers that predict an attribute from the others."""

    target: str
    classes: int
    tested: int = Field(description="Records held out.")
    majority: float = Field(description="Accuracy of always naming the commonest class.")
    classifiers: tuple[ClassifierFact, ...]


class CurvePointFact(Fact):
    """Risk and utility of a masking method at one strength."""

    strength: float = Field(description="Value of the method's parameter.")
    uninformed: float = Field(description="Share linked by distance.")
    informed: float = Field(description="Share linked by an intruder who knows the method.")
    displacement: float = Field(description="IL1s, mean over the attributes.")
    chosen: bool = False


class MaskingCurve(Fact):
    """Risk against utility of one masking, as its parameter varies."""

    attributes: tuple[str, ...]
    method: str
    parameter: str
    people: int = Field(description="Records that the curve is computed on.")
    points: tuple[CurvePointFact, ...]


class NotMeasured(Fact):
    """A measure of utility that could not be taken, and why."""

    measure: str
    reason: str


class UtilityFact(Fact):
    """Utility of one recipient's file, compared with the original."""

    records: int
    suppressed: int
    file: FileLoss
    attributes: tuple[AttributeLoss, ...]
    numeric: tuple[NumericChangeFact, ...] = ()
    associations: tuple[AssociationFact, ...] = ()
    marginals: tuple[MarginalFact, ...] = ()
    clustering: ClusteringFact | None = None
    classification: ClassificationFact | None = None
    curves: tuple[MaskingCurve, ...] = ()
    not_measured: tuple[NotMeasured, ...] = ()

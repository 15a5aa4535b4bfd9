"""Masked attributes in print: the method of each masking, its parameters, and what follows from them for a reader.

Rows and sentences only, filled from the record; nothing is measured here.
"""

from dataclasses import dataclass

from reports import numbers
from tasks.core.errors import StageFailed
from tasks.decision.record import DecisionRecord
from tasks.masking.fact import MaskingFact
from tasks.request.model import MaskingName


@dataclass(frozen=True)
class MaskingText:
    """The name of a masking method in print, and what an informed reader may derive from it."""

    title: str
    derived: str
    unit: str = ""
    """Unit that the parameter k counts."""


@dataclass(frozen=True)
class MaskingRow:
    """One masking."""

    attributes: str
    title: str
    parameters: str
    kept_valid: str
    """Changes to masked values so that the columns can hold them; empty for none."""
    derived: str


_TEXTS = {
    MaskingName.RANK_SWAPPING: MaskingText(
        "Rank swapping",
        "each value stays within k ranks of its own, so that the masked records that may be a person's are those "
        "within k ranks on every swapped attribute at once",
        "ranks",
    ),
    MaskingName.BUCKET_SWAPPING: MaskingText(
        "Rank swapping, p-buckets",
        "how likely a value moves from one bucket of ranks to another; no rank is ruled out",
    ),
    MaskingName.DISTRIBUTION_SWAPPING: MaskingText(
        "Rank swapping, p-distribution",
        "how likely a value moves by how many ranks; no rank is ruled out",
    ),
    MaskingName.INDIVIDUAL_RANKING: MaskingText(
        "Microaggregation by individual ranking",
        "each value is the mean of at least k neighbours in rank, so that a person's own mean is one of the two "
        "around the original value",
        "records at least",
    ),
    MaskingName.MDAV: MaskingText(
        "Microaggregation by MDAV",
        "nothing is drawn at random: whoever holds the original values of the attributes can form the groups again",
        "records at least",
    ),
    MaskingName.ADDITIVE_NOISE: MaskingText(
        "Additive noise",
        "how likely each difference of original and masked value is, attribute by attribute",
    ),
    MaskingName.CORRELATED_NOISE: MaskingText(
        "Correlated noise",
        "how likely each difference of original and masked record is, over all masked attributes together",
    ),
}
_WORDS = {
    "p": "p {} % of the ranks",
    "buckets": "{} buckets",
    "reading": "reading “{}”",
    "mean": "moves by {} ranks on average",
    "standard_deviation": "standard deviation {} ranks",
    "proportion": "variance of the noise {} times that of the attribute",
    "distances": "distances {}",
}


def masking_text(name: str) -> MaskingText:
    """Text of the report on a masking method.

    Raises
    ------
    StageFailed
        If the record names a method that the report cannot explain.
    """
    try:
        return _TEXTS[MaskingName(name)]
    except ValueError:
        raise StageFailed(
            "the decision record names a masking that the report cannot explain",
            where="masking",
            expected="one of " + ", ".join(method.value for method in MaskingName),
            got=name,
            fix="render the record with the version of the program that wrote it",
        ) from None


def masking_rows(record: DecisionRecord) -> tuple[MaskingRow, ...]:
    """The maskings of the record, in its order."""
    return tuple(_row(fact) for fact in record.masking)


def masked_names(record: DecisionRecord) -> tuple[str, ...]:
    """Names of the masked columns."""
    return tuple(name for fact in record.masking for name in fact.attributes)


def _row(fact: MaskingFact) -> MaskingRow:
    text = masking_text(fact.method)
    parameters = "; ".join(_parameter(name, value, text) for name, value in sorted(fact.parameters.items()))
    return MaskingRow(", ".join(fact.attributes), text.title, parameters, _kept_valid(fact), text.derived)


def _parameter(name: str, value: float | str, text: MaskingText) -> str:
    written = numbers.setting(value)
    if name == "k":
        return f"k {written} {text.unit}".rstrip()
    return _WORDS.get(name, name.replace("_", " ") + " {}").format(written)


def _kept_valid(fact: MaskingFact) -> str:
    done = [
        words
        for words, was in (
            ("rounded to whole numbers", fact.rounded),
            ("kept within the declared bounds", fact.limited),
        )
        if was
    ]
    return " and ".join(done)

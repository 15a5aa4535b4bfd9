"""Masked attributes in print: the method of each masking, its parameters, and what follows from them for a reader.

Rows and sentences only, filled from the record; nothing is measured here.
"""

from dataclasses import dataclass

from reports import numbers
from tasks.core.errors import StageFailed
from tasks.decision.record import DecisionRecord
from tasks.masking.fact import MaskingFact
from tasks.masking.method import MaskingMethod
from tasks.masking.registry import METHODS


@dataclass(frozen=True)
class MaskingRow:
    """One masking."""

    attributes: str
    title: str
    parameters: str
    kept_valid: str
    """Changes to masked values so that the columns can hold them; empty for none."""
    derived: str


_WORDS = {
    "p": "p {} % of the ranks",
    "buckets": "{} buckets",
    "reading": "reading “{}”",
    "mean": "moves by {} ranks on average",
    "standard_deviation": "standard deviation {} ranks",
    "proportion": "variance of the noise {} times that of the attribute",
    "distances": "distances {}",
}


def masking_method(name: str) -> type[MaskingMethod]:
    """The method of a masking in the record.

    Raises
    ------
    StageFailed
        If the record names a method that the report cannot explain.
    """
    known = {method.name.value: method for method in METHODS.values()}
    if name not in known:
        raise StageFailed(
            "the decision record names a masking that the report cannot explain",
            where="masking",
            expected="one of " + ", ".join(known),
            got=name,
            fix="render the record with the version of the program that wrote it",
        )
    return known[name]


def masking_rows(record: DecisionRecord) -> tuple[MaskingRow, ...]:
    """The maskings of the record, in its order."""
    return tuple(_row(fact) for fact in record.masking)


def masked_names(record: DecisionRecord) -> tuple[str, ...]:
    """Names of the masked columns."""
    return tuple(name for fact in record.masking for name in fact.attributes)


def _row(fact: MaskingFact) -> MaskingRow:
    method = masking_method(fact.method)
    parameters = "; ".join(_parameter(name, value, method.k_unit) for name, value in sorted(fact.parameters.items()))
    return MaskingRow(", ".join(fact.attributes), method.title, parameters, _kept_valid(fact), method.derived)


def _parameter(name: str, value: float | str, k_unit: str) -> str:
    written = numbers.setting(value)
    if name == "k":
        return f"k {written} {k_unit}".rstrip()
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

"""Methods of generalization and masking in the words that reports print: names, how they work, what holds of them."""

import re
from collections.abc import Mapping
from typing import TypeVar

from reports.model import numbers
from tasks.core.errors import StageFailed
from tasks.generalization.methods.method import GeneralizationMethod
from tasks.generalization.methods.registry import METHODS as GENERALIZATIONS
from tasks.masking.method import MaskingMethod
from tasks.masking.registry import METHODS

_Named = TypeVar("_Named")
_TREATMENT = re.compile(r"(generalized|masked) \(([^,]+)(, .+)?\)")


def method_text(name: str) -> GeneralizationMethod:
    """Text on a method of generalization; ``StageFailed`` if the report cannot explain the one a record names."""
    return _named(name, {method.name.value: method for method in GENERALIZATIONS.values()})


def masking_method(name: str) -> type[MaskingMethod]:
    """The method of a masking, which raises as ``method_text`` does."""
    return _named(name, {method.name.value: method for method in METHODS.values()})


def _named(name: str, known: Mapping[str, _Named]) -> _Named:
    if name not in known:
        raise StageFailed(
            "the decision record names a method that the report cannot explain",
            where="decision record",
            expected="one of " + ", ".join(known),
            got=name,
            fix="render the record with the version of the program that wrote it",
        )
    return known[name]


def masking_parameters(method: str, parameters: Mapping[str, float | str]) -> str:
    """The parameters of a masking in words."""
    words = dict(masking_method(method).parameter_words)
    return "; ".join(
        words.get(name, name.replace("_", " ") + " {}").format(numbers.setting(value))
        for name, value in sorted(parameters.items())
    )


def treatment_text(treatment: str) -> str:
    """A field's treatment with its method in words; one that names no method as it is.

    >>> treatment_text("generalized (no-attack, then k-anonymity, at level 1 of its hierarchy or coarser)")
    'generalized: No-Attack game, then k-anonymity, at level 1 of its hierarchy or coarser'
    >>> treatment_text("removed")
    'removed'
    """
    found = _TREATMENT.fullmatch(treatment)
    if found is None:
        return treatment
    done, method, after = found.groups()
    text = method_text(method).title if done == "generalized" else masking_method(method).title
    return f"{done}: {text}{after or ''}"

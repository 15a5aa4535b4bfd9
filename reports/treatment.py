"""Treatment of a field, in words: the record names methods by their ids."""

import re

from reports.masking import masking_method
from reports.methods import method_text

_NAMED = re.compile(r"(generalized|masked) \((.+?)(, then k-anonymity|, along levels that cross)?\)")


def treatment_text(treatment: str) -> str:
    """A treatment with its method in words; one that names no method as it is.

    Raises
    ------
    StageFailed
        If it names a method that the report cannot explain.

    >>> treatment_text("generalized (no-attack, then k-anonymity)"), treatment_text("removed")
    ('generalized: No-Attack game, then k-anonymity', 'removed')
    >>> treatment_text("generalized (no-attack, along levels that cross)")
    'generalized: No-Attack game, along levels that cross'
    """
    found = _NAMED.fullmatch(treatment)
    if found is None:
        return treatment
    done, method, after = found.groups()
    text = method_text(method).title if done == "generalized" else masking_method(method).title
    return f"{done}: {text}{after or ''}"

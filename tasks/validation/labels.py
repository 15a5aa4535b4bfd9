"""Identifiers in texts of a request or a delivery: labels of values, groups and values as they leave."""

from collections.abc import Iterable

import pandas as pd

from tasks.core.errors import DataError
from tasks.request.model import ReleaseRequest
from tasks.validation.patterns import TEXT_PATTERNS
from tasks.validation.readings import readable
from tasks.validation.suite import scanned
from tasks.validation.values import matches


def identifies(request: ReleaseRequest, name: str, texts: Iterable[str], *, labels: bool = False) -> bool:
    """Whether a text of an attribute looks like an identifier: a value as collected, or one of the ``labels``."""
    distinct = pd.Series(list(dict.fromkeys(texts)), dtype="str")
    patterns = scanned(request, request.attributes[name], labels=labels)
    if set(patterns.values()) & set(TEXT_PATTERNS.values()):
        distinct = readable(distinct)
    return any(matches(distinct, regex).any() for regex in patterns.values())


def check_labels(request: ReleaseRequest) -> None:
    """Refuse labels of coded values that look like identifiers: they are delivered with the values.

    Raises DataError, which names the attributes.
    """
    named = [
        name
        for name in request.delivered
        if (labels := request.attributes[name].labels) and identifies(request, name, labels.values(), labels=True)
    ]
    if named:
        raise DataError(
            "labels of values look like identifiers",
            where=", ".join(f"attributes.{name}.labels" for name in named),
            expected="labels without names, addresses, numbers of people or dates: they leave with the values",
            got="a label that matches the pattern of an identifier",
            fix="write labels that name nobody, leave them out, or state scan: false if they are harmless",
        )

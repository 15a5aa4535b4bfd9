"""Identifiers in texts of a request or a delivery: labels of values, groups, descriptions, and values as they leave."""

from collections.abc import Iterable, Iterator

import numpy as np
import pandas as pd

from tasks.core.errors import DataError
from tasks.core.plural import listed, plural
from tasks.request.model import Attribute, PatternName, ReleaseRequest, Role, ValueType
from tasks.validation.names import MOST_NAMES
from tasks.validation.patterns import TEXT_PATTERNS
from tasks.validation.readings import readable
from tasks.validation.scan import holding
from tasks.validation.suite import scanned
from tasks.validation.values import matches

_OF_TITLES = (PatternName.EMAIL, PatternName.SSN, PatternName.MEDICAL_RECORD_NUMBER, PatternName.NATIONAL_ID)
_OF_DESCRIPTIONS = (*_OF_TITLES, PatternName.PHONE, PatternName.ACCOUNT_NUMBER)
"""Identifiers that no honest title or description has; a registry may be named for a person, and a day be stated."""


def identifies(request: ReleaseRequest, name: str, texts: Iterable[str], *, labels: bool = False) -> bool:
    """Whether a text of an attribute looks like an identifier: a value as collected, or one of the ``labels``."""
    distinct = pd.Series(list(dict.fromkeys(texts)), dtype="str")
    patterns = scanned(request, request.attributes[name], labels=labels)
    if set(patterns.values()) & set(TEXT_PATTERNS.values()):
        distinct = readable(distinct)
    return any(matches(distinct, regex).any() for regex in patterns.values())


def check_texts(request: ReleaseRequest) -> None:
    """Refuse labels, groups, descriptions and titles that look like identifiers: they are delivered with the values.

    Raises DataError, which names the places and shows none of the texts.
    """
    found = [*_coded(request), *_described(request)]
    if found:
        raise DataError(
            "texts of the request that leave with the values look like identifiers",
            where=", ".join(dict.fromkeys(place for place, _ in found)),
            expected="texts without names, addresses, numbers of people or dates",
            got="; ".join(told for _, told in found),
            fix="write texts that name nobody, or leave them out; state scan: false under the attribute of labels or "
            "groups that are harmless",
        )


def _coded(request: ReleaseRequest) -> Iterator[tuple[str, str]]:
    """Places of labels and written groups with identifiers, and how many they are."""
    for name in request.delivered:
        attribute = request.attributes[name]
        groups = attribute.hierarchy.groups if attribute.hierarchy else None
        texts = {
            "labels": [*(attribute.labels or {}).values()],
            "hierarchy.groups": [group for level in (groups.levels if groups else ()) for group in level],
        }
        for term, written in texts.items():
            for kind, count in _counts(request, attribute, written).items():
                what = "names of people" if kind is PatternName.NAME else kind.plural
                of = plural(len(written), term.rpartition(".")[2][:-1])
                yield f"attributes.{name}.{term}", f"{count} of {of} of {name} look like {what}"


def _counts(request: ReleaseRequest, attribute: Attribute, texts: list[str]) -> dict[PatternName, int]:
    """Number of the labels or groups of an attribute with an identifier, by kind; small letters hide no name.

    Towns and counties are named for people, so that those of a quasi-identifier count as names where half of them have
    two words or more and look like names. Its ages are generalized.
    """
    if not attribute.scan or attribute.type is ValueType.DATE:
        return {}
    is_quasi, written = attribute.role is Role.QUASI, pd.Series(texts, dtype="str")
    read = readable(written.where(written != written.str.lower(), written.str.title()))
    found = {kind: holding(read, kind) for kind in request.policy.validation.patterns}
    if is_quasi:
        found.pop(PatternName.AGE_OVER_89, None)
        named = found.pop(PatternName.NAME, np.zeros(len(read), dtype=np.bool_)) & matches(read, r"\S\s+\S")
        if named.sum() >= MOST_NAMES * len(read):
            found[PatternName.NAME] = named
    return {kind: int(mask.sum()) for kind, mask in found.items() if mask.any()}


def _described(request: ReleaseRequest) -> Iterator[tuple[str, str]]:
    """Places of descriptions, titles and purposes with identifiers, and what they hold."""
    described = {f"attributes.{name}.description": request.attributes[name].description for name in request.delivered}
    titles = {
        "title": request.title,
        "dataset.title": request.dataset.title,
        "dataset.source": request.dataset.source,
        **{f"tables.{name}.title": table.title for name, table in request.tables.items()},
        **{f"recipients[{place}].purpose": one.purpose for place, one in enumerate(request.recipients)},
    }
    for texts, kinds in ((described, _OF_DESCRIPTIONS), (titles, _OF_TITLES)):
        for place, text in texts.items():
            if text:
                held = [kind.plural for kind in kinds if holding(pd.Series([text], dtype="str"), kind).any()]
                if held:
                    yield place, f"{place} holds {listed(held)}"

"""What becomes of an attribute's terms when a person gives its column another role."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from tasks.draft.draft import hierarchies_of
from tasks.draft.hierarchies import DraftedHierarchy
from tasks.draft.roles import Suggestion
from tasks.microdata.hierarchy import Hierarchy
from tasks.request.model import Role, SafeHarborRule, ValueType
from tasks.validation.values import EncodedColumn

_KEPT = {
    "safe_harbor": (Role.QUASI, Role.DIRECT, Role.WITHHELD),
    "hierarchy": (Role.QUASI,),
    "weight": (Role.QUASI,),
    "sensitivity": (Role.SENSITIVE, Role.QUASI),
    "known_probability": (Role.SENSITIVE, Role.QUASI, Role.INSENSITIVE),
    "excused": (Role.SENSITIVE, Role.INSENSITIVE, Role.PSEUDONYM),
    "pseudonym": (Role.PSEUDONYM,),
    "text": (Role.TEXT,),
    "confirmed": tuple(role for role in Role if role is not Role.UNREVIEWED),
    "date": (Role.SENSITIVE, Role.INSENSITIVE, Role.DIRECT, Role.WITHHELD),
}
"""Terms that only some roles may have."""


def terms_for(
    role: Role,
    attribute: Mapping[str, Any],
    suggestion: Suggestion,
    column: EncodedColumn,
    population: pd.DataFrame | None = None,
) -> tuple[dict[str, Any], Mapping[str, Hierarchy]]:
    """The terms of an attribute under another role, and hierarchies that go to files of these names.

    Terms that the role may not have are left out. A quasi-identifier without a hierarchy gets the one that
    ``releasegate init`` drafts, over the values of the column and of `population`, which has the column too.
    """
    of_row = attribute.get("of") == "row"
    terms = {
        key: value
        for key, value in attribute.items()
        if role in _KEPT.get(key, tuple(Role)) or (of_row and key == "hierarchy" and not role.withheld)
    }
    terms["role"] = role.value
    tables: dict[str, Hierarchy] = {}
    if role is Role.TEXT:
        terms = {"role": role.value, "text": {"language": "en"}} | ({"of": "row"} if of_row else {})
    if role is Role.QUASI and not of_row and "hierarchy" not in terms:
        name = suggestion.profile.name
        found = hierarchies_of([replace(suggestion, role=Role.QUASI)], {name: column}, population)[name]
        terms |= hierarchy_terms(found)
        if found.table is not None:
            tables[str(found.source.file)] = found.table
    return terms, tables


def hierarchy_terms(drafted: DraftedHierarchy) -> dict[str, Any]:
    """Terms of an attribute that state a drafted hierarchy."""
    terms: dict[str, Any] = {"hierarchy": drafted.source.model_dump(mode="json", exclude_defaults=True)}
    if drafted.type is not ValueType.TEXT:
        terms["type"] = drafted.type.value
    if drafted.safe_harbor is not SafeHarborRule.NONE:
        terms["safe_harbor"] = drafted.safe_harbor.value
    return terms

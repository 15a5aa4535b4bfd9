"""Terms of an attribute under another role: what the role may not have is gone, what it needs is drafted."""

from typing import Any

import pandas as pd
import pytest

from tasks.draft.draft import encoded
from tasks.draft.role_change import terms_for
from tasks.draft.roles import Suggestion, profile, suggest
from tasks.microdata.hierarchy import Hierarchy
from tasks.request.attribute import Attribute
from tasks.request.model import Role

AGES = [str(age) for age in range(20, 60)]


def under(role: Role, attribute: dict[str, Any], values: list[str], name: str = "age") -> tuple[dict[str, Any], Any]:
    column = encoded(pd.Series(values, dtype="string[pyarrow]"), ())
    about = profile(name, column)
    return terms_for(role, attribute, Suggestion(about, role, (), suggest(about, None).theme), column)


def test_a_quasi_identifier_gets_a_drafted_hierarchy() -> None:
    terms, tables = under(Role.QUASI, {"role": "direct identifier", "description": "Age"}, AGES)
    assert terms == {
        "role": "quasi-identifier",
        "description": "Age",
        "hierarchy": {"intervals": {"minimum": 20, "maximum": 59, "widths": [5, 10, 20]}},
        "type": "integer",
        "safe_harbor": "age",
    }
    assert tables == {}


def test_values_go_to_a_file_that_the_request_names() -> None:
    terms, tables = under(Role.QUASI, {"role": "sensitive"}, ["north", "south"] * 20, "region")
    assert terms["hierarchy"] == {"file": "hierarchy-region.csv"}
    (table,) = tables.values()
    assert isinstance(table, Hierarchy)
    assert table.labels == (("north", "south"), ("*",))


def test_the_hierarchy_that_is_there_stays() -> None:
    own = {"role": "quasi-identifier", "hierarchy": {"file": "own.csv"}, "weight": 0}
    assert under(Role.QUASI, own, AGES)[0] == own


def test_the_terms_of_text_are_stated_and_all_others_left_out() -> None:
    was = {"role": "direct identifier", "type": "integer", "allowed_values": ["a"], "of": "row"}
    assert under(Role.TEXT, was, AGES)[0] == {"role": "text", "text": {"language": "en"}, "of": "row"}


EVERY_TERM = {
    "role": "quasi-identifier",
    "hierarchy": {"prefixes": {"keep": [1]}},
    "weight": 0.5,
    "sensitivity": {"attribute": 0.5},
    "known_probability": 0.4,
    "maximum_missing_rate": 0.1,
    "description": "Words",
}


@pytest.mark.parametrize("role", Role)
def test_the_terms_are_valid_under_every_role(role: Role) -> None:
    """By the request's own model, which refuses terms that a role may not have."""
    terms, _ = under(role, EVERY_TERM, AGES)
    assert Attribute.model_validate(terms).role is role

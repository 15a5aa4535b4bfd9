"""The page of terms is that of the models: complete, up to date, with values and defaults as they are."""

import re
from typing import Any

import pytest

from flows.schemas import request_schema, service_schema
from flows.terms_page import PAGE, terms_page

TEXT = PAGE.read_text(encoding="utf-8")


def rows(section: str) -> dict[str, list[str]]:
    """Cells of a section's table by its term."""
    text = TEXT.split(f"\n## {section}\n")[1].split("\n## ")[0]
    cells = (re.split(r"(?<!\\) \| ", line.strip("| ")) for line in text.splitlines() if line.startswith("| `"))
    return {name.strip("`"): [value.strip(" |") for value in rest] for name, *rest in cells}


def test_the_page_is_what_the_models_say() -> None:
    assert terms_page(request_schema(), service_schema()) == TEXT, "run python -m flows.schemas"


@pytest.mark.parametrize("schema", [request_schema(), service_schema()], ids=["request", "settings"])
def test_every_term_of_every_part_is_listed(schema: dict[str, Any]) -> None:
    listed = set(re.findall(r"\w+", " ".join(re.findall(r"^(?:\| `|## )([\w.]+)", TEXT, re.MULTILINE))))
    elsewhere = {"UncertainTerms", "PersonalReason"}
    parts = {name: part for name, part in schema["$defs"].items() if name not in elsewhere}
    assert {term for part in (schema, *parts.values()) for term in part.get("properties", {})} <= listed


@pytest.mark.parametrize(
    ("section", "term", "value"),
    [
        ("Request", "requested_by", "required"),
        ("Request", "delivery_format", "`csv`, `parquet`, default `csv`"),
        ("dataset", "delimiter", "default `,`"),
        ("attributes", "role", "[role](request.md#attributes), required"),
        ("attributes", "known_probability", "0 to 1"),
        ("attributes", "hierarchy.intervals.widths", "list, integer from 2, required"),
        ("masking", "p", "above 0 to 100"),
        ("recipients", "stakes.cost", "above 0, required"),
        ("recipients", "adversary.prior", "above 0, below 1"),
        ("recipients", "decoys.minimum_risk_factor", "above 0 to 1,000,000, default `0.1`"),
        ("recipients", "uncertain", "[uncertain](#uncertain)"),
        ("policy", "generalization.k_anonymity.suppression_limit", "0 to 1, default `0.02`"),
        ("policy", "events.known", "integer 1 to 5 or `all`, default `2`"),
        ("policy", "reassessment.every_days", "integer 1 to 3,650, default `90`"),
        ("policy", "review.expert_signs", "default `false`"),
        ("Settings of the service", "limits.releases", "integer 1 to 64, default `2`"),
        ("Settings of the service", "page.hosts", "list, default `localhost`, `127.0.0.1`, `[::1]`"),
    ],
)
def test_values_and_defaults(section: str, term: str, value: Any) -> None:
    assert rows(section)[term][0] == value

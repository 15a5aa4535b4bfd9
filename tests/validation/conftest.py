"""A small clinic request and a clean file for it, to be changed one fault at a time."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from tasks.request.model import ReleaseRequest

TEXT = pd.StringDtype("pyarrow")
ROWS = 24
ATTRIBUTES: dict[str, dict[str, Any]] = {
    "record_id": {"role": "direct identifier"},
    "name": {"role": "direct identifier"},
    "zip": {"role": "quasi-identifier", "hierarchy": {"prefixes": {"keep": [3]}}, "safe_harbor": "zip"},
    "sex": {"role": "quasi-identifier", "hierarchy": {"groups": {"levels": [{"any": ["F", "M"]}]}}},
    "age_at_visit": {"role": "insensitive", "type": "integer", "minimum": 0, "maximum": 120},
    "weight": {"role": "insensitive", "type": "number", "maximum_missing_rate": 0.25},
    "visit": {"role": "insensitive", "type": "date", "scan": False},
    "ward": {"role": "insensitive", "allowed_values": ["north", "south"]},
    "note": {"role": "sensitive"},
}


def build_request(
    attributes: dict[str, dict[str, Any]] | None = None, person: str | None = None, **terms: Any
) -> ReleaseRequest:
    """A request; `terms` are of its dataset or of the policy's validation."""
    dataset = {
        "path": "clinic.csv",
        "title": "Clinic",
        "source": "synthetic",
        "record_id": "record_id",
        "person": person,
    }
    policy = {name: terms.pop(name) for name in terms.keys() - dataset.keys()}
    return ReleaseRequest.model_validate(
        {
            "schema_version": "releasegate/request/1",
            "title": "Clinic",
            "requested_by": "steward",
            "dataset": dataset | terms,
            "attributes": attributes or ATTRIBUTES,
            "population": {"path": "population.csv", "source": "synthetic"},
            "recipients": [
                {
                    "id": "university",
                    "organisation": "University",
                    "purpose": "research",
                    "agreement": {"id": "DUA-1", "expires": "2030-01-01"},
                    "stakes": {"benefit": 1200, "loss": 300, "cost": 4},
                }
            ],
            "policy": {"id": "house", "version": "1", "presence": "unknown", "validation": policy},
        }
    )


def build_frame(**changes: list[str | None]) -> pd.DataFrame:
    columns: dict[str, list[str | None]] = {
        "record_id": [f"P{row:04d}" for row in range(ROWS)],
        "name": [f"Person Numbered{row}" for row in range(ROWS)],
        "zip": ["37766", "38017"] * (ROWS // 2),
        "sex": ["F", "M"] * (ROWS // 2),
        "age_at_visit": [str(30 + row) for row in range(ROWS)],
        "weight": ["61.5", None, "80", "7.25e1"] * (ROWS // 4),
        "visit": ["2019-03-05"] * ROWS,
        "ward": ["north", "south", None] * (ROWS // 3),
        "note": ["seen in March 2019, blood pressure 120/80", None] * (ROWS // 2),
    }
    return pd.DataFrame({name: pd.array(cells, dtype=TEXT) for name, cells in (columns | changes).items()})


@pytest.fixture
def request_of():
    return build_request


@pytest.fixture
def frame_of():
    return build_frame


@pytest.fixture
def attributes():
    return {name: dict(attribute) for name, attribute in ATTRIBUTES.items()}


@pytest.fixture
def everyone_covered():
    return np.ones(ROWS, dtype=np.bool_)


@pytest.fixture
def text():
    return lambda cells: pd.Series(pd.array(list(cells), dtype=TEXT))

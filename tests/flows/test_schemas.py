import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from flows.schemas import DIALECT, SHIPPED, request_schema, schema_files, write_schemas
from tasks.core.canonical import canonical_json
from tasks.decision.record import DecisionRecord
from tasks.request.document import read_document
from tests.support import records
from tests.support.good_request import GOOD


@pytest.fixture
def validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(request_schema())


@pytest.mark.parametrize("name", ["request.schema.json", "decision.schema.json", "reassessment.schema.json"])
def test_the_shipped_schema_is_the_generated_one(name: str) -> None:
    hint = "run: python -m flows.schemas"
    assert (SHIPPED / name).read_text(encoding="utf-8") == schema_files()[name], hint


@pytest.mark.parametrize(
    "schema", [request_schema(), json.loads(schema_files()["decision.schema.json"])], ids=["request", "decision"]
)
def test_schemas_are_of_the_dialect_they_name(schema: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == DIALECT
    assert schema["$id"].startswith("urn:releasegate:")
    assert schema["title"]


def test_the_good_request_is_valid(validator: jsonschema.Draft202012Validator) -> None:
    validator.validate(read_document(GOOD).data)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("title: Discharges of a clinic\n", ""),
        ("title: Discharges of a clinic", "title: 7"),
        ("title: Discharges of a clinic", "titel: Discharges"),
        ("cost: 4", "cost: 0"),
        ("cost: 4", 'cost: "4"'),
        ("role: insensitive", "role: harmless"),
        ("role: insensitive", "role: quasi-identifier"),
        ("role: insensitive", "role: insensitive\n    hierarchy: {file: a.csv}"),
        ("intervals: {", "file: a.csv\n      intervals: {"),
        ("widths: [5, 10]", "widths: [1]"),
        ("at_most: 0.09", "at_least: 0.09"),
        ("transparent.maximum_risk", "released.smallest_class"),
        ("id: insurer", "id: The Insurer"),
        ("[flu, burn]", "[1, 2]"),
    ],
)
def test_an_editor_marks_what_the_gate_refuses(validator: jsonschema.Draft202012Validator, old: str, new: str) -> None:
    assert old in GOOD
    assert not validator.is_valid(read_document(GOOD.replace(old, new, 1)).data)


def test_every_key_of_the_request_that_needs_words_has_them() -> None:
    parts = request_schema()["$defs"]
    for name in ("benefit", "loss", "cost", "gain"):
        assert parts["Stakes"]["properties"][name]["description"]
    assert parts["Attribute"]["description"]
    assert parts["HierarchySource"]["properties"]["file"]["description"]


def test_a_decision_record_is_written_in_full() -> None:
    schema = json.loads(schema_files()["decision.schema.json"])
    left_out = {"expert_signs", "signed_votes", "decided_before"}
    assert set(schema["required"]) == set(DecisionRecord.model_fields) - left_out
    assert schema["additionalProperties"] is False
    parts = [part for part in schema["$defs"].values() if part["type"] == "object"]
    assert len(parts) > 10
    for part in parts:
        assert set(part["required"]) == set(part["properties"])
        assert part["additionalProperties"] is False


@pytest.mark.parametrize(
    "make", [records.approved, records.blocked, records.validation_failed, records.awaiting_review]
)
def test_decision_records_are_valid(make: Callable[[], DecisionRecord]) -> None:
    validator = jsonschema.Draft202012Validator(json.loads(schema_files()["decision.schema.json"]))
    written = json.loads(canonical_json(make()))
    validator.validate(written)
    del written["supersedes"]
    assert not validator.is_valid(written)


def test_schemas_are_written_where_asked(tmp_path: Path) -> None:
    write_schemas(tmp_path / "new" / "folder")
    for name, text in schema_files().items():
        written = (tmp_path / "new" / "folder" / name).read_text(encoding="utf-8")
        assert json.loads(written) == json.loads(text)

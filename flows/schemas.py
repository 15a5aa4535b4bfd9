"""JSON Schemas (draft 2020-12): of request and service settings, for editors; of what the gate writes.

``python -m flows.schemas [FOLDER]`` writes all into a folder; by default into ``schemas`` at the top of the
checkout, and ``docs/terms.md`` with them. A test holds that the shipped files are up to date.
Rules that relate values, such as nested interval widths, are beyond a schema and stay with ``tasks.request.model``.
"""

import json
import sys
from pathlib import Path
from typing import Any

from flows.terms_page import PAGE, terms_page
from tasks.audit.report import SCHEMA_VERSION as AUDIT_VERSION
from tasks.audit.report import AuditReport
from tasks.core.fact import Fact
from tasks.decision.record import SCHEMA_VERSION, DecisionRecord
from tasks.reassessment.record import SCHEMA_VERSION as REASSESSMENT_VERSION
from tasks.reassessment.record import Reassessment
from tasks.request.model import LARGER_IS_BETTER, ReleaseRequest, Role
from tasks.request.part import IDENTIFIER
from tasks.service.settings import SCHEMA_VERSION as SERVICE_VERSION
from tasks.service.settings import ServiceSettings

DIALECT = "https://json-schema.org/draft/2020-12/schema"
SHIPPED = Path(__file__).parents[1] / "schemas"


def request_schema() -> dict[str, Any]:
    """JSON Schema of a release request, with the rules that an editor can check while it is written."""
    schema = ReleaseRequest.model_json_schema(mode="validation")
    parts = schema["$defs"]
    sources = ("file", "intervals", "prefixes", "groups")
    parts["HierarchySource"]["oneOf"] = [{"required": [name]} for name in sources]
    counted = ("path", "self", "size", "sampling_fraction")
    parts["Population"]["oneOf"] = [{"required": [name]} for name in counted]
    parts["Attribute"] |= {
        "if": {"properties": {"role": {"const": Role.QUASI.value}}},
        "then": {"required": ["hierarchy"]},
        "else": {"properties": {"hierarchy": {"type": "null"}}},
    }
    parts["Gate"] |= {
        "if": {"properties": {"measure": {"enum": sorted(measure.value for measure in LARGER_IS_BETTER)}}},
        "then": {"required": ["at_least"], "properties": {"at_most": {"type": "null"}}},
        "else": {"required": ["at_most"], "properties": {"at_least": {"type": "null"}}},
    }
    named = {"type": "string", "pattern": f"{IDENTIFIER[:-1]}/.+$", "description": "ID/VERSION of an enrolled policy."}
    schema["properties"]["policy"] = {"anyOf": [schema["properties"]["policy"], named]}
    version = schema["properties"]["schema_version"]["const"]
    return _headed(schema, version, "releasegate release request")


def service_schema() -> dict[str, Any]:
    """JSON Schema of the settings of the service."""
    schema = ServiceSettings.model_json_schema(mode="validation")
    return _headed(schema, SERVICE_VERSION, "releasegate service settings")


def schema_files() -> dict[str, str]:
    """Text of the shipped schemas, by file name."""
    schemas = {
        "request.schema.json": request_schema(),
        "decision.schema.json": written_schema(DecisionRecord, SCHEMA_VERSION, "releasegate decision record"),
        "audit.schema.json": written_schema(AuditReport, AUDIT_VERSION, "releasegate audit report"),
        "reassessment.schema.json": written_schema(Reassessment, REASSESSMENT_VERSION, "releasegate re-assessment"),
        "service.schema.json": service_schema(),
    }
    return {name: json.dumps(schema, indent=2, ensure_ascii=False) + "\n" for name, schema in schemas.items()}


def write_schemas(folder: Path = SHIPPED) -> None:
    """Write the schemas into a folder, which is made where it is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in schema_files().items():
        (folder / name).write_text(text, encoding="utf-8")


def written_schema(model: type[Fact], version: str, title: str) -> dict[str, Any]:
    """JSON Schema of a record as it is written: every field is present that is not left out at its default."""
    schema = model.model_json_schema(mode="serialization")
    for part in (schema, *schema["$defs"].values()):
        if part.get("type") == "object":
            part["required"] = list(part["properties"])
    for name, field in model.model_fields.items():
        if field.exclude_if is not None:
            schema["required"].remove(name)
    return _headed(schema, version, title)


def _headed(schema: dict[str, Any], version: str, title: str) -> dict[str, Any]:
    head = {"$schema": DIALECT, "$id": "urn:" + version.replace("/", ":"), "title": title}
    return head | {key: value for key, value in schema.items() if key not in head}


if __name__ == "__main__":
    write_schemas(*(Path(folder) for folder in sys.argv[1:2]))
    if not sys.argv[1:]:
        PAGE.write_text(terms_page(request_schema(), service_schema()), encoding="utf-8")

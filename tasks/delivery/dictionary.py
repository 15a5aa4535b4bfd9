"""Papers that a recipient needs to read a released file: data dictionary and hierarchies."""

from pathlib import Path

from tasks.assessments.identity.facts import FieldFact
from tasks.core.canonical import canonical_json
from tasks.decision.record import DeliveryFact
from tasks.microdata.build import arx_file, write_arx
from tasks.microdata.hierarchy import Hierarchy
from tasks.request.model import PARAMETER_OF, DeliveryFormat, ReleaseRequest

_FORMATS = {
    DeliveryFormat.CSV: "CSV, UTF-8, comma, header; an empty cell is a missing value; text that starts like a formula, "
    "apostrophes before it aside, is preceded by one more apostrophe; the order of rows has no meaning",
    DeliveryFormat.PARQUET: "Parquet; a null is a missing value; text is as it is, even if it starts like a formula; "
    "a column of integers, numbers or dates is text in the file where a value could not be held exactly, or one is "
    "written in two ways; the order of rows has no meaning",
}
_ENCRYPTED = "; encrypted in the age format, and in clear once it is decrypted"


def dictionary(request: ReleaseRequest, fields: tuple[FieldFact, ...], delivery: DeliveryFact) -> dict[str, object]:
    """Description of the released columns: meaning, type, treatment. No figure of risk and no threshold."""
    by_name = {field.name: field for field in fields}
    return {
        "title": request.dataset.title,
        "source": request.dataset.source,
        "file": delivery.file,
        "format": _FORMATS[DeliveryFormat(delivery.format)] + (_ENCRYPTED if delivery.encrypted_to else ""),
        "columns": [
            {
                "name": name,
                "type": request.attributes[name].type.value,
                "description": request.attributes[name].description or "",
                "treatment": _treatment(request, name, by_name[name]),
            }
            for name in request.outbound
        ],
    }


def _treatment(request: ReleaseRequest, name: str, field: FieldFact) -> str:
    if field.levels:
        return "generalized: see hierarchies/" + arx_file(name)
    for masking in request.masking:
        if name in masking.attributes:
            return f"masked: {masking.method.value}, {PARAMETER_OF[masking.method]} = {masking.strength:g}"
    return "as collected"


def write_companions(
    folder: Path,
    request: ReleaseRequest,
    fields: tuple[FieldFact, ...],
    delivery: DeliveryFact,
    hierarchies: dict[str, Hierarchy],
) -> None:
    """Write the dictionary and the hierarchies, in ARX form, beside a released file."""
    (folder / "dictionary.json").write_bytes(canonical_json(dictionary(request, fields, delivery)))
    write_hierarchies(folder / "hierarchies", hierarchies)


def write_hierarchies(folder: Path, hierarchies: dict[str, Hierarchy]) -> None:
    """Write hierarchies in ARX form into a new folder, one file a column."""
    folder.mkdir()
    for name, hierarchy in hierarchies.items():
        write_arx(hierarchy, folder / arx_file(name))

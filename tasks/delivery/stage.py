"""Laying out a bundle's files, with the papers that a recipient needs to read theirs, before it is sealed."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from tasks.assessments.identity.facts import FieldFact
from tasks.core.canonical import canonical_json
from tasks.core.errors import StageFailed
from tasks.decision.record import DecisionRecord, DeliveryFact, Verdict
from tasks.delivery.columns import DICTIONARY_FILE
from tasks.delivery.encryption import SUFFIX, encrypt
from tasks.delivery.formula_marks import marked
from tasks.delivery.listed_groups import ListedRows, is_whole, listed_csv
from tasks.microdata.build import arx_file, write_arx
from tasks.microdata.hierarchy import Hierarchy
from tasks.request.model import PARAMETER_OF, DeliveryFormat, ReleaseRequest

_FORMATS = {
    DeliveryFormat.CSV: "CSV, UTF-8, comma, header; an empty cell is a missing value; text that starts like a formula, "
    "apostrophes before it aside, is preceded by one more apostrophe, in names of columns too; the order of rows has "
    "no meaning",
    DeliveryFormat.PARQUET: "Parquet; a null is a missing value; text is as it is, even if it starts like a formula; "
    "a column of integers, numbers or dates is text in the file where a value could not be held exactly, or one is "
    "written in two ways; the order of rows has no meaning",
}
_HIERARCHIES = (
    "ARX's CSV form, UTF-8, semicolons: each row is a value and the groups that hold it, from fine to coarse; a group "
    "that occurs as a value stands for itself below its own level; text is marked as in CSV"
)
HIERARCHIES = "hierarchies"
"""Folder of the hierarchies, in a delivery and beside the evidence."""
_ENCRYPTED = "; encrypted in the age format, and in clear once it is decrypted"


def delivered_name(form: str, *, encrypted: bool) -> str:
    """Name of a delivered file.

    >>> delivered_name("csv", encrypted=False), delivered_name("parquet", encrypted=True)
    ('data.csv', 'data.parquet.age')
    """
    return f"data.{form}" + (SUFFIX if encrypted else "")


@dataclass(frozen=True)
class RecipientFiles:
    """One recipient's finished files."""

    record: DecisionRecord
    report: Path
    certificate: Path | None
    released: Path | None
    kept: Path | None
    """Sealed data for re-assessment."""
    listed: Mapping[str, ListedRows] = field(default_factory=dict)
    """Groups of each quasi-identifier that go with a delivery."""


def no_file(files: RecipientFiles) -> StageFailed:
    """The error for a file that may be delivered, and is missing or other than the record says."""
    return StageFailed(
        "a release that may be delivered has no file, or a different one from the one decided on",
        where=files.record.recipient.id,
        expected="the file that was written and scored again, and what was sealed with it",
        got="none" if files.released is None or files.kept is None else "other bytes",
        fix="nothing is released; run the release again",
    )


def lay_out(
    folder: Path,
    request: ReleaseRequest,
    recipients: list[RecipientFiles],
    hierarchies: dict[str, Hierarchy],
    validation_page: str,
) -> None:
    """Copy everything that belongs into a bundle, a new or empty folder; delivery is for approved recipients alone.

    The hierarchies are written in ARX form beside the evidence, and what a recipient may see of them with each
    delivery; the validation result as HTML.
    """
    for name in ("decision", "report", "certificate", "delivery", "evidence"):
        (folder / name).mkdir(parents=True)
    for files in recipients:
        who = files.record.recipient.id
        (folder / "decision" / f"{who}.json").write_bytes(canonical_json(files.record))
        shutil.copyfile(files.report, folder / "report" / f"{who}.pdf")
        if files.certificate is not None:
            shutil.copyfile(files.certificate, folder / "certificate" / f"{who}.pdf")
        if files.record.decision is Verdict.APPROVED and files.released is not None:
            lay_out_delivery(folder / "delivery" / who, request, files)
        treatment = {
            "fields": [field.model_dump(mode="json") for field in files.record.fields],
            "game": files.record.risk.game.model_dump(mode="json") if files.record.risk else None,
            "masking": [masking.model_dump(mode="json") for masking in files.record.masking],
        }
        (folder / "evidence" / f"transformation-{who}.json").write_bytes(canonical_json(treatment))
    first = recipients[0].record
    (folder / "evidence" / "validation.json").write_bytes(canonical_json(first.validation))
    (folder / "evidence" / "validation.html").write_text(validation_page, encoding="utf-8")
    (folder / "evidence" / HIERARCHIES).mkdir()
    for name, hierarchy in hierarchies.items():
        write_arx(hierarchy, folder / "evidence" / HIERARCHIES / arx_file(name))


def lay_out_delivery(folder: Path, request: ReleaseRequest, files: RecipientFiles) -> None:
    """Copy one recipient's file and what goes with it into a new folder, unsealed.

    StageFailed says that there is no file, or the record does not state how it is delivered.
    """
    record = files.record
    if record.delivery is None or files.released is None:
        raise StageFailed(
            "a file is to be delivered that the record does not tell of",
            where=f"release to {record.recipient.id}",
            expected="its name, form and hash in the record",
            got="none",
            fix="nothing is released; report this message",
        )
    folder.mkdir()
    shutil.copyfile(files.released, folder / record.delivery.file)
    (folder / DICTIONARY_FILE).write_bytes(canonical_json(dictionary(request, record.fields, record.delivery)))
    (folder / HIERARCHIES).mkdir()
    keys = request.recipient(record.recipient.id).encrypt_to
    for name, rows in files.listed.items():
        written, target = listed_csv(rows), folder / HIERARCHIES / arx_file(name)
        if keys:
            encrypt(pa.py_buffer(written), target.with_name(target.name + SUFFIX), keys)
        else:
            target.write_bytes(written)


def dictionary(request: ReleaseRequest, fields: tuple[FieldFact, ...], delivery: DeliveryFact) -> dict[str, object]:
    """Description of the released columns: meaning, type, treatment. No figure of risk and no threshold.

    Text of the request is marked against formulas as the file is; names of columns are as in the file.
    """
    by_name = {field.name: field for field in fields}
    is_csv = DeliveryFormat(delivery.format) is DeliveryFormat.CSV
    return {
        "title": marked(request.dataset.title),
        "source": marked(request.dataset.source),
        "file": delivery.file,
        "hierarchies": _HIERARCHIES,
        "format": _FORMATS[DeliveryFormat(delivery.format)] + (_ENCRYPTED if delivery.encrypted_to else ""),
        "columns": [
            {
                "name": marked(name) if is_csv else name,
                "type": request.attributes[name].type.value,
                "description": marked(request.attributes[name].description or ""),
                "treatment": _treatment(request, name, by_name[name], SUFFIX if delivery.encrypted_to else ""),
                **_listed(request, name),
            }
            for name in request.outbound
        ],
    }


def _listed(request: ReleaseRequest, name: str) -> dict[str, str]:
    """Which values of a quasi-identifier its hierarchy lists."""
    if name not in request.quasi_identifiers:
        return {}
    whole = is_whole(request.attributes[name].hierarchy)
    return {"listed": "all values of the domain" if whole else "the values that occur in the file"}


def _treatment(request: ReleaseRequest, name: str, field: FieldFact, suffix: str) -> str:
    if field.levels:
        return f"generalized: see {HIERARCHIES}/{arx_file(name)}{suffix}"
    for masking in request.masking:
        if name in masking.attributes:
            return f"masked: {masking.method.value}, {PARAMETER_OF[masking.method]} = {masking.strength:g}"
    return "as collected"

"""Laying out a bundle's files, with the documents that a recipient needs to read theirs, before it is sealed."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType

from tasks.assessments.identity.facts import FieldFact
from tasks.core.canonical import canonical_json
from tasks.core.errors import StageFailed
from tasks.decision.record import DecisionRecord, DeliveryFact, Verdict
from tasks.delivery.columns import dictionary_file
from tasks.delivery.encryption import SUFFIX, ciphertext
from tasks.delivery.formula_marks import marked
from tasks.delivery.listed_groups import ListedRows, is_whole, listed_csv
from tasks.delivery.manifest import PARTS
from tasks.delivery.tables import FOLDER as TABLES
from tasks.delivery.tables import delivered_columns
from tasks.microdata.build import arx_bytes, arx_file
from tasks.microdata.hierarchy import Hierarchy
from tasks.request.dates import dates_in_words
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
_LEFT_OUT = "left-out.csv"
_COMBINATIONS = (
    "combinations of groups that few people have, or that would tell too much of them, so that no record of them is in "
    "the file: missing by rule, not by nature; in the form of the hierarchies, below a row of names"
)
HIERARCHIES = "hierarchies"
"""Folder of the hierarchies, in a delivery and beside the evidence."""
_ROWS = "a person can have several rows, {}; a column of the person has the same value in all of them"
_ENCRYPTED = "; encrypted in the age format, and in clear once it is decrypted"


def delivered_name(form: str, *, encrypted: bool, table: str | None = None) -> str:
    """Path of a delivered file: of the dataset, or of a further table.

    >>> delivered_name("csv", encrypted=False), delivered_name("parquet", encrypted=True, table="visits")
    ('data.csv', 'tables/visits.parquet.age')
    """
    stem = "data" if table is None else f"{TABLES}/{table}"
    return f"{stem}.{form}" + (SUFFIX if encrypted else "")


@dataclass(frozen=True)
class RecipientFiles:
    """One recipient's finished files."""

    record: DecisionRecord
    report: Path
    """The determination."""
    evidence: Path
    """Every figure of it."""
    certificate: Path | None
    released: Path | None
    """Of several tables, the file of the dataset."""
    kept: Path | None
    """Sealed data for re-assessment."""
    hashes: Mapping[Path, str]
    """SHA-256 of each of these files, as the stage that wrote it says."""
    listed: Mapping[str, ListedRows] = field(default_factory=dict)
    """Groups of each quasi-identifier that go with a delivery."""
    left_out: ListedRows = ()
    """Combinations of groups that no record is delivered of, below a row of names; empty where none is listed."""
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Labels of coded values that go with it, by column."""
    tables: Mapping[str, Path] = field(default_factory=dict)
    """Files of further tables, by name."""


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
) -> dict[str, str]:
    """Copy everything that belongs into a bundle, a new or empty folder; delivery is for approved recipients alone.

    The hierarchies are written in ARX form beside the evidence, and what a recipient may see of them with each
    delivery; the validation result as HTML. Returns the SHA-256 of every file by its path, from what was written and
    not from the disk.
    """
    laid: dict[str, bytes | Path] = {}
    hashes: dict[Path, str] = {}
    for name in PARTS:
        (folder / name).mkdir(parents=True)
    for files in recipients:
        who = files.record.recipient.id
        hashes |= files.hashes
        laid[f"decision/{who}.json"] = canonical_json(files.record)
        laid[f"report/{who}.pdf"] = files.report
        laid[f"evidence/report-{who}.pdf"] = files.evidence
        if files.certificate is not None:
            laid[f"certificate/{who}.pdf"] = files.certificate
        if files.record.decision is Verdict.APPROVED and files.released is not None:
            delivery = delivered_files(request, files)
            laid |= {f"delivery/{who}/{name}": content for name, content in delivery.items()}
        treatment = {
            "fields": [field.model_dump(mode="json") for field in files.record.fields],
            "game": files.record.risk.game.model_dump(mode="json") if files.record.risk else None,
            "masking": [masking.model_dump(mode="json") for masking in files.record.masking],
        }
        laid[f"evidence/transformation-{who}.json"] = canonical_json(treatment)
    first = recipients[0].record
    laid["evidence/validation.json"] = canonical_json(first.validation)
    laid["evidence/validation.html"] = validation_page.encode()
    laid |= {f"evidence/{HIERARCHIES}/{arx_file(name)}": arx_bytes(tree) for name, tree in hierarchies.items()}
    lay_down(folder, laid)
    return {name: hashes[one] if isinstance(one, Path) else sha256(one).hexdigest() for name, one in laid.items()}


def lay_down(folder: Path, files: Mapping[str, bytes | Path]) -> None:
    """Write files into a folder, or copy them there."""
    for name, content in files.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, Path):
            shutil.copyfile(content, target)
        else:
            target.write_bytes(content)


def delivered_files(request: ReleaseRequest, files: RecipientFiles) -> dict[str, bytes | Path]:
    """One recipient's file and what goes with it, by path; all but the file itself as bytes.

    StageFailed says that there is no file, or the record does not state how it is delivered.
    """
    record = files.record
    if record.delivery is None or files.released is None:
        raise StageFailed(
            "a file is to be delivered that the record does not name",
            where=f"release to {record.recipient.id}",
            expected="its name, form and hash in the record",
            got="none",
            fix="nothing is released; report this message",
        )
    keys = request.recipient(record.recipient.id).encrypt_to
    listed = {f"{HIERARCHIES}/{arx_file(name)}": listed_csv(rows) for name, rows in files.listed.items()}
    if files.left_out:
        listed[_LEFT_OUT] = listed_csv(files.left_out)
    paths: dict[str | None, Path] = {None: files.released}
    paths.update(files.tables)
    if files.tables.keys() != request.tables.keys():
        raise no_file(files)
    dictionaries = {
        dictionary_file(table): canonical_json(
            dictionary(request, record.fields, record.delivery, table, {} if keys else files.labels)
            | ({"left_out": f"{_LEFT_OUT}{SUFFIX if keys else ''}: {_COMBINATIONS}"} if files.left_out else {})
        )
        for table in paths
    }
    stated = {one.table: one.file for one in record.delivery.tables} or {None: record.delivery.file}
    return {
        **{stated[table]: path for table, path in paths.items()},
        **dictionaries,
        **({name + SUFFIX: ciphertext(content, keys) for name, content in listed.items()} if keys else listed),
    }


def dictionary(
    request: ReleaseRequest,
    fields: tuple[FieldFact, ...],
    delivery: DeliveryFact,
    table: str | None = None,
    labels: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
) -> dict[str, object]:
    """Description of the released columns of a table: meaning, type, treatment. No figure of risk and no threshold.

    `labels` of coded values tell which values occur, so they are left out beside an encrypted file.
    Text of the request is marked against formulas as the file is; names of columns are as in the file.
    """
    by_name = {field.name: field for field in fields}
    is_csv = DeliveryFormat(delivery.format) is DeliveryFormat.CSV
    title = request.dataset.title if table is None else request.tables[table].title or table
    return {
        "title": marked(title),
        "source": marked(request.dataset.source),
        "file": next((one.file for one in delivery.tables if one.table == table), delivery.file),
        "hierarchies": _HIERARCHIES,
        "format": _FORMATS[DeliveryFormat(delivery.format)] + (_ENCRYPTED if delivery.encrypted_to else ""),
        **_rows(request, is_csv=is_csv),
        **_keys(request, table),
        "columns": [
            {
                "name": marked(own) if is_csv else own,
                "type": by_name[name].delivered_type,
                "description": marked(request.attributes[name].description or ""),
                "treatment": _treatment(request, name, by_name[name], SUFFIX if delivery.encrypted_to else ""),
                **_listed(request, name),
                **({"labels": {code: marked(label) for code, label in labels[name].items()}} if name in labels else {}),
                **({} if request.dataset.person is None else {"of": request.attributes[name].of}),
            }
            for name, own in delivered_columns(request, table).items()
        ],
    }


def _keys(request: ReleaseRequest, table: str | None) -> dict[str, object]:
    """Keys that link the rows of a table to those of others; nothing where there is one table."""
    if table is None:
        return {"tables": list(request.tables)} if request.tables else {}
    outer, terms = request.parent_key(table), request.tables[table]
    key = {"key": terms.key} if request.key_of(table) in request.pseudonyms else {}
    within = {"within": f"{terms.within}, by {request.own_name(outer)}"} if outer in request.pseudonyms else {}
    return {"table": table, **key, **within}


def _rows(request: ReleaseRequest, *, is_csv: bool) -> dict[str, str]:
    """Relation of rows to people, where a person can have several rows."""
    person = request.dataset.person
    if person is None:
        return {}
    told = "and the file does not say which rows are of one person"
    if person in request.pseudonyms:
        told = f"which have the same {marked(person) if is_csv else person}"
    return {"rows": _ROWS.format(told)}


def _listed(request: ReleaseRequest, name: str) -> dict[str, str]:
    """Values of a quasi-identifier that its hierarchy lists."""
    if name not in request.quasi_identifiers:
        return {}
    whole = is_whole(request.attributes[name].hierarchy)
    return {"listed": "all values of the domain" if whole else "the values that occur in the file"}


def _treatment(request: ReleaseRequest, name: str, field: FieldFact, suffix: str) -> str:
    if name in request.pseudonyms:
        return _pseudonyms(request, name)
    if name in request.texts:
        return "text; what was found to identify people in it is replaced by its kind, as [NAME] or [DATE]"
    if field.levels:
        return f"generalized: see {HIERARCHIES}/{arx_file(name)}{suffix}"
    for masking in request.masking:
        if name in masking.attributes:
            return f"masked: {masking.method.value}, {PARAMETER_OF[masking.method]} = {masking.strength:g}"
    return marked(dates_in_words(request, name)) or "as collected"


def _pseudonyms(request: ReleaseRequest, name: str) -> str:
    """Scope of the pseudonyms of a column, for the recipient who joins by them."""
    project, identifier = request.attributes[name].pseudonyms.project, request.identifier(name)
    others = [other for other in request.pseudonyms if other != name and request.identifier(other) == identifier]
    scope = "of this release alone" if project is None else f"the same in all your releases of {project}"
    shared = f"; those of {', '.join(others)} are the same for the same identifiers" if others else ""
    return marked(f"pseudonyms, {scope}{shared}")

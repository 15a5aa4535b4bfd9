"""Laying out a bundle's files, before it is sealed and published."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from tasks.core.canonical import canonical_json
from tasks.core.errors import StageFailed
from tasks.decision.record import DecisionRecord, Verdict
from tasks.delivery.dictionary import write_companions, write_hierarchies
from tasks.delivery.encryption import SUFFIX
from tasks.microdata.hierarchy import Hierarchy
from tasks.request.model import ReleaseRequest


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
    record_file: Path
    report: Path
    certificate: Path | None
    released: Path | None


def lay_out(
    folder: Path,
    request: ReleaseRequest,
    recipients: list[RecipientFiles],
    hierarchies: dict[str, Hierarchy],
    validation_page: str,
) -> None:
    """Copy everything that belongs into a bundle; a recipient who is not approved gets no delivery folder.

    Parameters
    ----------
    folder : Path
        Empty or missing; afterwards the unsealed bundle.
    request : ReleaseRequest
    recipients : list of RecipientFiles
    hierarchies : dict of str to Hierarchy
        Written in ARX form beside the evidence and with each delivery.
    validation_page : str
        The validation result as HTML.
    """
    for name in ("decision", "report", "certificate", "delivery", "evidence"):
        (folder / name).mkdir(parents=True)
    for files in recipients:
        who = files.record.recipient.id
        shutil.copyfile(files.record_file, folder / "decision" / f"{who}.json")
        shutil.copyfile(files.report, folder / "report" / f"{who}.pdf")
        if files.certificate is not None:
            shutil.copyfile(files.certificate, folder / "certificate" / f"{who}.pdf")
        if files.record.decision is Verdict.APPROVED and files.released is not None:
            lay_out_delivery(folder / "delivery" / who, request, files.record, hierarchies, files.released)
        (folder / "evidence" / f"transformation-{who}.json").write_bytes(canonical_json(_transformation(files.record)))
    first = recipients[0].record
    (folder / "evidence" / "validation.json").write_bytes(canonical_json(first.validation))
    (folder / "evidence" / "validation.html").write_text(validation_page, encoding="utf-8")
    write_hierarchies(folder / "evidence" / "hierarchies", hierarchies)


def lay_out_delivery(
    folder: Path,
    request: ReleaseRequest,
    record: DecisionRecord,
    hierarchies: dict[str, Hierarchy],
    released: Path,
) -> None:
    """Copy one recipient's file and what goes with it into a new folder, unsealed.

    Raises
    ------
    StageFailed
        If the record does not state how the file is delivered.
    """
    if record.delivery is None:
        raise StageFailed(
            "a file is to be delivered that the record does not tell of",
            where=f"release to {record.recipient.id}",
            expected="its name, form and hash in the record",
            got="none",
            fix="nothing is released; report this message",
        )
    folder.mkdir()
    shutil.copyfile(released, folder / record.delivery.file)
    write_companions(folder, request, record.fields, record.delivery, hierarchies)


def _transformation(record: DecisionRecord) -> dict[str, object]:
    """Treatment of each column, the game that prescribed it, and the maskings."""
    return {
        "fields": [field.model_dump(mode="json") for field in record.fields],
        "game": record.risk.game.model_dump(mode="json") if record.risk else None,
        "masking": [masking.model_dump(mode="json") for masking in record.masking],
    }

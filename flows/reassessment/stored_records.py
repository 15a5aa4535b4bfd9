"""The records of re-assessments on disk: kept under the digest of their inputs, and compared with the ledger.

A record counts if the ledger names its bytes. Any other, left by a crash or put there by others, is not reported: the
next re-assessment puts it aside, and ``releasegate verify ledger`` says that it is there.
"""

import hashlib
import time
from pathlib import Path

from flows.workspace.folders import Workspace
from tasks.core.canonical import canonical_json, digest
from tasks.core.errors import TamperingFound
from tasks.core.files import file_sha256, write_whole
from tasks.delivery.manifest import printable
from tasks.ledger.entry import Entry, Event
from tasks.ledger.store import Ledger
from tasks.reassessment.record import Reassessment

_ASIDE = ".unrecorded-"
_OF_THE_DAY = ("before", "due", "next_due", "lapses", "unrelated")
"""Fields of a record that follow from the day or the ledger and not from its inputs."""
_SHOWN = 5
_PAUSE = 1.0
"""Seconds; the time between the writing of a record and of its entry is far less."""


def keep_record(workspace: Workspace, ledger: Ledger, record: Reassessment) -> tuple[Reassessment, Path, bool]:
    """Keep a record under the digest of its inputs; one that is there already stays, and is the one reported.

    Call it within the transaction of the ledger that names it, so that one process at a time keeps one. Returns the
    record, or the one that is there with what follows from today; its path; and whether one was there.
    """
    path = workspace.reassessments / record.release_id / record.recipient / f"{digest(record.inputs)}.json"
    if path.is_file():
        entries = ledger.entries(release_id=record.release_id, recipient=record.recipient, event=Event.REASSESSED)
        sha256 = file_sha256(path)
        if any(entry.body.get("reassessment_sha256") == sha256 for entry in entries):
            there = Reassessment.model_validate_json(path.read_bytes())
            return there.model_copy(update={name: getattr(record, name) for name in _OF_THE_DAY}), path, True
        path.rename(path.with_name(f"{path.stem}{_ASIDE}{sha256[:12]}"))
    write_whole(path, canonical_json(record))
    return record, path, False


def named_record(workspace: Workspace, entry: Entry) -> Reassessment:
    """The record that an entry of a re-assessment names. Raises TamperingFound if it is missing or differs."""
    wanted = entry.body.get("reassessment_sha256")
    folder = workspace.reassessments / str(entry.release_id) / str(entry.recipient)
    for path in sorted(folder.glob("[!.]*.json")):
        content = path.read_bytes()
        if hashlib.sha256(content).hexdigest() == wanted:
            return Reassessment.model_validate_json(content)
    raise TamperingFound(
        "the record of a re-assessment is not the one that the ledger names",
        where=f"ledger entry {entry.sequence}",
        expected="the record with the SHA-256 in the entry",
        got="no such file",
        fix="restore it from a backup",
    )


def verify_records(workspace: Workspace, ledger: Ledger) -> dict[str, int]:
    """Compare every record of a re-assessment with the ledger; returns how many it names, and how many are put aside.

    1. Every record that an entry names is there, byte for byte.
    2. Every record that is there is named by an entry of its release and recipient, says their verdict, and bears the
       digest of its inputs as its name.

    Raises TamperingFound if anything is wrong; the message lists it by place and entry, without what the records say.
    """
    try:
        return _compared(workspace, ledger)
    except (TamperingFound, FileNotFoundError):
        # A re-assessment may have been between its record and its entry; nothing is locked, so that a copy of a
        # workspace that cannot be written can be verified.
        time.sleep(_PAUSE)
        return _compared(workspace, ledger)


def _compared(workspace: Workspace, ledger: Ledger) -> dict[str, int]:
    root = workspace.reassessments
    files = {(*path.parts[-3:-1], file_sha256(path)): path for path in sorted(root.glob("*/*/[!.]*.json"))}
    named: dict[tuple[str, ...], Entry] = {}
    for entry in ledger.entries(event=Event.REASSESSED):
        sha256 = entry.body.get("reassessment_sha256")
        if isinstance(sha256, str):
            named.setdefault((str(entry.release_id), str(entry.recipient), sha256), entry)
    problems = [problem for key, path in files.items() if (problem := _wrong(path, named.get(key)))]
    missing = (entry.sequence for key, entry in named.items() if key not in files)
    problems += [f"the record in ledger entry {number} is missing" for number in missing]
    if problems:
        rest = len(problems) - _SHOWN
        raise TamperingFound(
            "records of re-assessments are not those that the ledger names",
            where=str(root),
            expected="each as it was recorded, and no other",
            got="; ".join(problems[:_SHOWN]) + (f"; and {rest} more" if rest > 0 else ""),
            fix="restore what is missing or changed from a backup and find out who changed it; one that a crash left "
            "before its entry is put aside by the next re-assessment",
        )
    return {"as recorded": len(files), "put aside": sum(1 for _ in root.glob(f"*/*/*{_ASIDE}*"))}


def _wrong(path: Path, entry: Entry | None) -> str:
    place = printable("/".join(path.parts[-3:]))
    if entry is None:
        return f"{place} is not what an entry of the ledger names"
    record = Reassessment.model_validate_json(path.read_bytes())
    if (record.release_id, record.recipient, record.verdict) != (
        entry.release_id,
        entry.recipient,
        entry.body.get("verdict"),
    ):
        return f"{place} says something else than ledger entry {entry.sequence}"
    return "" if path.stem == digest(record.inputs) else f"{place} does not bear the digest of its inputs"

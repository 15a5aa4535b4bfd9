"""A request drafted from files: ``releasegate init``, and a file that is handed to the page."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from tasks.draft.draft import Draft, Source, write_draft
from tasks.draft.file_form import take_in_all
from tasks.draft.folder import draft_folder
from tasks.microdata.read import read_text


def drafted(
    files: Sequence[Path], folder: Path, *, population: Path | None = None, stated: Mapping[str, str] | None = None
) -> tuple[Draft, list[Path]]:
    """Draft a request for files, and write it and its hierarchies to a folder; returns the draft and what was written.

    `stated` are terms of the files' form that a person gave. Errors are those of ``take_in_all``, ``draft_folder`` and
    ``write_draft``.
    """
    people = None if population is None else Source(relative(population, folder), read_text(population))
    taken = take_in_all({relative(one, folder): one for one in files}, stated or {})
    draft = draft_folder([Source(path, *one) for path, one in taken.items()], population=people)
    return draft, write_draft(draft, folder)


def relative(path: Path, folder: Path) -> str:
    """A path from a folder, as requests name files."""
    return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()

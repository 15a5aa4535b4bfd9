"""Writing a draft to a folder, without ever replacing a file."""

import os
from pathlib import Path

from tasks.core.errors import WorkspaceError
from tasks.draft.draft import Draft
from tasks.microdata.build import write_arx

REQUEST_FILE = "request.yaml"


def write_draft(draft: Draft, folder: Path, name: str = REQUEST_FILE) -> list[Path]:
    """Write the request and its hierarchies; all of them or none.

    Parameters
    ----------
    draft : Draft
        What to write.
    folder : Path
        Where; made where it is missing.
    name : str
        File name of the request.

    Returns
    -------
    list of Path
        The files, the request first.

    Raises
    ------
    WorkspaceError
        If one of the files is there already, or the folder cannot be written.
    """
    request = folder / name
    tables = {folder / file_name: table for file_name, table in draft.hierarchies.items()}
    written: list[Path] = []
    try:
        present = [path.name for path in (request, *tables) if os.path.lexists(path)]
        if not present:
            folder.mkdir(parents=True, exist_ok=True)
            for path, table in tables.items():
                written.append(path)
                write_arx(table, path)
            written.append(request)
            with request.open("x", encoding="utf-8") as stream:
                stream.write(draft.text)
    except OSError as error:
        for path in written:
            path.unlink(missing_ok=True)
        raise WorkspaceError(
            "the draft cannot be written",
            where=str(folder),
            expected="a folder with room and permission to write",
            got=type(error).__name__,
            fix="choose another folder",
        ) from None
    if present:
        raise WorkspaceError(
            "a draft never replaces a file",
            where=str(folder),
            expected="none of its files there yet",
            got=", ".join(present),
            fix="move them away, or draft into another folder",
        )
    return [request, *tables]

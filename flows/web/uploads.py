"""Files that are handed to the page: of bounded size, into a private folder, and never in memory as a whole."""

import shutil
from collections.abc import Collection
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Annotated

from fastapi import Depends, Request
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException

from flows.studio.project import plain_name
from flows.web.authentication import CurrentVisitor, SubmittedForm, own_form
from flows.web.http import Refused, bounded
from flows.workspace.folders import Workspace
from flows.workspace.temporary import hold_temporary_folder, temporary_folder

LARGEST_UPLOAD = 512 * 1024 * 1024
"""Bytes of all files of a form together."""
_MOST_FIELDS, _MOST_FILES = 10, 50
_FOR_FIELDS = 64 * 1024
_AT_ONCE = 1024 * 1024


def keep_uploads_in(workspace: Workspace) -> None:
    """Keep files that are being uploaded, as all temporary files of this process, in the private folder."""
    hold_temporary_folder(temporary_folder(workspace.private))


@dataclass(frozen=True)
class Upload:
    """A form with files, which are the system's temporary ones until they are kept."""

    form: SubmittedForm
    sent: FormData

    def keep(self, field: str, folder: Path, taken: Collection[str]) -> list[Path]:
        """Write the files of a field to a folder, each under a plain name of its own that is not taken."""
        kept: list[Path] = []
        for file in self.sent.getlist(field):
            if not isinstance(file, UploadFile) or not file.filename:
                continue
            name, number = plain_name(file.filename), 1
            used = {*taken, *(one.name for one in kept)}
            while (own := name if number == 1 else f"{number}-{name}") in used:
                number += 1
            kept.append(folder / own)
            file.file.seek(0)
            with kept[-1].open("xb") as stream:
                shutil.copyfileobj(file.file, stream, _AT_ONCE)
        return kept


async def uploaded(request: Request, visitor: CurrentVisitor) -> Upload:
    """A form with files of the signed-in visitor; it ends with the request.

    Raises Refused if it is too large, or not of this session.
    """
    too_large = Refused(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        "The file is too large",
        f"Nothing was kept. The page takes {LARGEST_UPLOAD // 2**20:,} MiB; start “releasegate studio FILE” for a "
        "larger file on this machine.",
    )
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > LARGEST_UPLOAD + _FOR_FIELDS:
        raise too_large
    try:
        content = bounded(request, LARGEST_UPLOAD + _FOR_FIELDS, too_large)
        sent = await content.form(max_files=_MOST_FILES, max_fields=_MOST_FIELDS, max_part_size=_FOR_FIELDS)
    except (HTTPException, UnicodeDecodeError, ValueError):
        raise Refused(
            HTTPStatus.BAD_REQUEST, "The form cannot be read", "Nothing was kept. Go back and send it again."
        ) from None
    fields = {name: value for name, value in sent.multi_items() if isinstance(value, str)}
    form = own_form(request, visitor, SubmittedForm(fields, {}))
    return Upload(form, sent)


CurrentUpload = Annotated[Upload, Depends(uploaded)]

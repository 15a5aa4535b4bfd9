"""Check of a frame for errors that would block its release; nothing is written."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from releasegate._request import loaded_request
from tasks.core.guard import guarded
from tasks.microdata.read import frame_as_text
from tasks.request.model import ReleaseRequest

if TYPE_CHECKING:
    from flows.actions.checking import CheckedRequest


@dataclass(frozen=True)
class Checked:
    """Result of a check; a notebook shows it as tables."""

    passed: bool
    """Whether the data may go on to the gate."""
    failed: tuple[str, ...]
    """Checks that would block the release: column, expectation, number of failures."""
    notes: tuple[str, ...]
    """Terms that have no effect, or not the effect that their author would expect."""
    _found: "CheckedRequest"

    def _repr_html_(self) -> str:
        from flows.actions.check_blocks import check_blocks  # noqa: PLC0415 - drawing is for those who look at it
        from reports.model.document import Bullets, Heading  # noqa: PLC0415
        from reports.templating import fragment_html  # noqa: PLC0415

        notes = (Heading("Notes", 4), Bullets(self.notes)) if self.notes else ()
        return fragment_html((*check_blocks(self._found), *notes))


def check(
    frame: pd.DataFrame,
    request: str | Path | ReleaseRequest,
    *,
    folder: str | Path = ".",
    roots: Sequence[str | Path] = (),
) -> Checked:
    """Check a frame for errors that would block its release, and for terms that have an unexpected effect.

    Parameters
    ----------
    frame : DataFrame of shape (n_records, n_attributes)
        The microdata, as for ``assess``.
    request : str, Path or Request
        The request, or the YAML file that holds it.
    folder : str or Path
        Folder that a ``Request`` names its files from; a file names them from its own.
    roots : sequence of str or Path
        Further folders that the request may name files in.

    Raises
    ------
    BadInput
        If the request, the frame or a file cannot be used.
    """
    from flows.actions.checking import checked_frame  # noqa: PLC0415 - imports Great Expectations, which takes seconds

    with guarded("check"):
        loaded = loaded_request(request, folder, roots)
        found = checked_frame(loaded, frame_as_text(frame, loaded.request))
    failed = [
        f"{one.column or 'table'}: {one.expectation}: {one.failed:,} of {one.checked:,}"
        for one in found.validation.checks
        if not one.passed
    ]
    unplaced = [column.advice for column in found.columns.unplaced]
    expired = [f"{who}: the agreement has expired" for who in found.expired]
    return Checked(found.passed, (*failed, *unplaced, *expired), found.notes, found)

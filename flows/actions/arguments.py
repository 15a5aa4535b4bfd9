"""Requests and recipients as commands take them."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from tasks.core.errors import BadInput


def check_recipient(wanted: str | None, ids: Sequence[str], of: str) -> None:
    """Refuse (``BadInput``) a recipient whom a request or release does not name."""
    if wanted is not None and wanted not in ids:
        raise BadInput(
            f"the {of} has no such recipient",
            where="--recipient",
            expected=f"one of {', '.join(ids)}",
            got="another id",
            fix="name one of these, or leave the option out for all of them",
        )


def as_arguments(request: Path, roots: Sequence[Path]) -> str:
    """A request and the folders that it may name files in, as a command takes them."""
    return shlex.join([str(request), *(part for root in roots for part in ("--root", str(root)))])

"""Finding and opening the ledger of a workspace; every flow and command goes through this module.

Without the environment variable ``RELEASEGATE_LEDGER`` it is the file ``ledger.sqlite`` in the workspace; with it, the
PostgreSQL database of that address. A workspace notes, without the password, that its ledger is in a database;
otherwise a forgotten variable would begin a second ledger.
"""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from flows.workspace import Workspace
from tasks.core.errors import WorkspaceError
from tasks.core.files import write_new
from tasks.core.secret_variables import secret
from tasks.ledger.entry import Event
from tasks.ledger.places import database_at
from tasks.ledger.postgresql import SCHEMES
from tasks.ledger.store import Ledger

VARIABLE = "RELEASEGATE_LEDGER"
"""Names the environment variable with the address of the ledger's database."""


def open_ledger(workspace: Workspace, *, create: bool = False) -> Ledger:
    """Open the ledger of a workspace.

    `create` begins one where the workspace has none yet; one that is noted and missing is never begun again.
    Raises WorkspaceError if there is none, it cannot be used, or the environment names another one than the workspace
    has; TamperingFound if something else is in its place.
    """
    address = ledger_address()
    noted = _noted(workspace)
    if not address:
        if noted is not None:
            raise _mismatch(workspace, noted, "no address", f"set {VARIABLE} to the address of that database")
        return Ledger.open(workspace.ledger, create=create)
    if not address.startswith(SCHEMES):
        raise _mismatch(workspace, "an address that begins with postgresql://", "something else", f"correct {VARIABLE}")
    place = database_at(address).place
    if workspace.ledger.exists():
        raise _mismatch(
            workspace, str(workspace.ledger), place, f"unset {VARIABLE}; a workspace keeps the ledger it began with"
        )
    if noted not in {None, place}:
        raise _mismatch(
            workspace, str(noted), place, f"correct {VARIABLE}; where the database has moved, also {_note(workspace)}"
        )
    ledger = Ledger.open(address, create=create and noted is None)
    if noted is None and create:
        try:
            with suppress(FileExistsError):
                write_new(_note(workspace), f"{place}\n".encode())
        except BaseException:
            ledger.close()
            raise
    return ledger


def last_body(ledger: Ledger, event: Event, release_id: str, recipient: str | None = None) -> Mapping[str, Any]:
    """Body of the last entry of an event on a release, or on one recipient's; empty where there is none."""
    entries = ledger.entries(release_id=release_id, recipient=recipient, event=event)
    return entries[-1].body if entries else {}


def ledger_address() -> str:
    """The address that the environment gives; empty for none. It may hold a password."""
    return secret(VARIABLE).strip()


def has_ledger(workspace: Workspace) -> bool:
    """Whether a ledger was begun for this workspace, in its file or in a database."""
    return workspace.ledger.is_file() or _noted(workspace) is not None


def recorder_of(bundle: Path, workspace: Workspace) -> Workspace:
    """The workspace whose ledger records a bundle: the one that holds the bundle, or else the one given."""
    own = Workspace(bundle.resolve().parent.parent)
    return own if has_ledger(own) else workspace


def _note(workspace: Workspace) -> Path:
    return workspace.private / "ledger"


def _noted(workspace: Workspace) -> str | None:
    try:
        return _note(workspace).read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError):
        raise WorkspaceError(
            "the note of the workspace's ledger cannot be read",
            where=str(_note(workspace)),
            expected="a line with the address of a database, without its password",
            got="other content, or no permission to read it",
            fix="correct the file or its permissions",
        ) from None


def _mismatch(workspace: Workspace, expected: str, got: str, fix: str) -> WorkspaceError:
    return WorkspaceError(
        f"{VARIABLE} does not name the ledger of the workspace",
        where=str(workspace.root),
        expected=expected,
        got=got,
        fix=fix,
    )

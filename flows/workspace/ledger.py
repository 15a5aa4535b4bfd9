"""Finding and opening the ledger of a workspace; every flow and command goes through this module.

Without the environment variable ``RELEASEGATE_LEDGER`` it is the file ``ledger.sqlite`` in the workspace; with it, the
PostgreSQL database of that address. A workspace notes, without the password, that its ledger is in a database;
otherwise a forgotten variable would begin a second ledger.
"""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from flows.workspace.actor import Clock, actor, utc_now
from flows.workspace.folders import Workspace, no_workspace, open_workspace
from flows.workspace.ledger_head import NotedHead
from tasks.core.errors import TamperingFound, WorkspaceError
from tasks.core.files import write_new
from tasks.core.secret_variables import secret
from tasks.decision.votes import checked_reason
from tasks.delivery.manifest import printable
from tasks.ledger.databases import database_at
from tasks.ledger.entry import Event
from tasks.ledger.postgresql import SCHEMES
from tasks.ledger.store import Ledger

VARIABLE = "RELEASEGATE_LEDGER"
"""Environment variable with the address of the ledger's database."""
_LONGEST_TEXT = 2000
_LONGEST_PROBLEMS = 20_000
"""Bytes of a part of a refusal; all mistakes of a document together."""


def open_ledger(
    workspace: Workspace, *, create: bool = False, restored: bool = False, clock: Clock = utc_now
) -> Ledger:
    """Open the ledger of a workspace, and note its head after each transaction (``flows.workspace.ledger_head``).

    `create` begins one where the workspace has none yet; one that is noted and missing is never begun again.
    `restored` opens it even if it lacks the head that was noted; `clock` gives the times of writing.
    Raises WorkspaceError if there is none, it cannot be used, or the environment names another one than the workspace
    has; TamperingFound if something else is in its place, an older state of it too.
    """
    noted_head = NotedHead(workspace)
    ledger = _opened(workspace, noted_head, clock, create=create and (restored or noted_head.read() is None))
    try:
        if not restored:
            noted_head.check(ledger)
    except BaseException:
        ledger.close()
        raise
    return ledger


def _opened(workspace: Workspace, noted_head: NotedHead, clock: Clock, *, create: bool) -> Ledger:
    address = ledger_address()
    noted = _noted(workspace)
    if not address:
        if noted is not None:
            raise _mismatch(workspace, noted, "no address", f"set {VARIABLE} to the address of that database")
        if not create and not any(one.exists() for one in (workspace.ledger, workspace.private, workspace.releases)):
            raise no_workspace(workspace.root)
        return Ledger.open(workspace.ledger, create=create, committed=noted_head.raise_to, clock=clock)
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
    ledger = Ledger.open(address, create=create and noted is None, committed=noted_head.raise_to, clock=clock)
    if noted is None and create:
        try:
            with suppress(FileExistsError):
                write_new(_note(workspace), f"{place}\n".encode())
        except BaseException:
            ledger.close()
            raise
    return ledger


def accept_restored_ledger(workspace: Workspace, reason: str) -> dict[str, object]:
    """Accept a ledger that lacks entries which were recorded from this workspace, and record that, with the reason.

    Returns what was found. Raises TamperingFound if the chain is not whole; BadInput if the reason cannot be kept.
    """
    told = checked_reason(reason)
    with open_ledger(workspace, restored=True) as ledger:
        entries, head = ledger.verify(), ledger.head()
        noted_head = NotedHead(workspace)
        noted = None
        with suppress(TamperingFound):
            noted = noted_head.read()
        body = {"reason": told, "head_sha256": head.sha256, "noted": None if noted is None else noted.sequence}
        ledger.append(Event.RESTORED, release_id=None, recipient=None, actor=actor(), body=body, at=utc_now())
        noted_head.set(ledger.head())
    return {"ledger": ledger.place, "entries": entries, "accepted": told}


def last_body(ledger: Ledger, event: Event, release_id: str, recipient: str | None = None) -> Mapping[str, Any]:
    """Body of the last entry of an event on a release, or on one recipient's; empty where there is none."""
    entries = ledger.entries(release_id=release_id, recipient=recipient, event=event)
    return entries[-1].body if entries else {}


def kept_reason(reason: Mapping[str, str]) -> dict[str, object]:
    """A refusal or failure by its parts, cut to what an entry may hold."""
    most = {part: _LONGEST_PROBLEMS if part == "problems" else _LONGEST_TEXT for part in reason}
    return {part: printable(text).encode()[: most[part]].decode(errors="ignore") for part, text in reason.items()}


def ledger_address() -> str:
    """The address that the environment gives; empty for none. It may hold a password."""
    return secret(VARIABLE).strip()


def has_ledger(workspace: Workspace) -> bool:
    """Whether a ledger was begun for this workspace, in its file or in a database."""
    return workspace.ledger.is_file() or _noted(workspace) is not None


def begun_workspace(root: Path) -> Workspace:
    """Open a workspace that has a ledger; WorkspaceError where it was never begun."""
    if not has_ledger(Workspace(root.resolve())):
        raise no_workspace(root)
    return open_workspace(root)


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

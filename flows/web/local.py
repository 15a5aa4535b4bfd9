"""The pages of one person on their own machine: no password, no service, nothing beyond the loopback interface."""

import socket
import threading
from importlib import import_module
from pathlib import Path

from fastapi import FastAPI

from flows.people.account import Account, Duty
from flows.people.accounts import Accounts
from flows.studio.desk import Desk
from flows.studio.runs import LocalRuns
from flows.studio.studio import Studio
from flows.web.app import Writing, create_app
from flows.web.connections import http_server
from flows.web.site import Door
from flows.web.uploads import keep_uploads_in
from flows.workspace.actor import actor, utc_now
from flows.workspace.folders import Workspace, open_workspace
from tasks.service.settings import PageSettings

_LOGIN = "studio"
_SETTINGS = PageSettings(idle_minutes=240, longest_hours=24)


class OnePerson(Accounts):
    """The account of whoever has started the program: no password signs it in, and no file has it."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._only = Account(
            login=_LOGIN,
            name=actor(),
            duties=frozenset({Duty.REQUESTER, Duty.REGULATOR}),
            password=None,
            since=utc_now(),
        )

    def _read(self) -> dict[str, Account]:
        return {self._only.login: self._only}


def local_app(workspace: Path, given: Path | None = None, roots: tuple[Path, ...] = ()) -> tuple[FastAPI, str]:
    """The application, and the token of the address that opens it. The workspace is made where it is missing.

    `given` is a request on disk, `roots` are folders beside its own that it may name files in.
    """
    place = open_workspace(workspace)
    keep_uploads_in(place)
    door = Door(_LOGIN)
    studio = Studio(Desk(place, given, roots), LocalRuns(place))
    threading.Thread(target=_import_early, daemon=True).start()
    writing = Writing(studio, OnePerson(place), door)
    return create_app(place.root, settings=_SETTINGS, writing=writing), door.token


def _import_early() -> None:
    """Import what the first figures need, which takes seconds, while the page is being opened."""
    for module in ("tasks.generalization.methods.registry", "ortools.sat.python.cp_model", "sklearn.cluster"):
        import_module(module)


def serve(app: FastAPI, listening: socket.socket) -> None:
    """Answer until Ctrl-C."""
    try:
        http_server(app).run(sockets=[listening])
    except KeyboardInterrupt:
        return

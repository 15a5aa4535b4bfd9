"""``releasegate studio``: write a request in a page on this machine, and run the gate on it."""

import shlex
import socket
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from flows.cli.options import DEFAULT_WORKSPACE, FormOption, RootsOption, WorkspaceOption
from flows.cli.output import console
from tasks.core.errors import DataError, WorkspaceError, system_refusal
from tasks.request.document import REQUEST_FILE

_REQUESTS = (".yaml", ".yml")


def studio(
    file: Annotated[
        Path | None,
        typer.Argument(help="A request, or a data file or folder to draft one for.", show_default=False),
    ] = None,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    root: RootsOption = None,
    form: FormOption = None,
    *,
    population: Annotated[
        Path | None, typer.Option(help="Counts of people by quasi-identifier values; with a data file.")
    ] = None,
    port: Annotated[
        int, typer.Option(help="Port of this machine to listen at; any free one by default.", min=0, max=65535)
    ] = 0,
) -> int:
    """Write a request in a page on this machine: columns, terms, risk, the run and its decision.

    For a data file, a request is drafted beside it, as by `releasegate init`; without a file the page takes one. The
    address that is shown lets one browser in, once, and nobody beyond this machine. Ctrl-C ends it.
    """
    from flows.web.local import local_app, serve  # noqa: PLC0415  imports the web server

    listening = _listening(port)
    with closing(listening):
        given = None if file is None else _request(file, population, form or [])
        app, token = local_app(workspace, given, tuple(one.resolve() for one in root or ()))
        address = f"http://127.0.0.1:{listening.getsockname()[1]}/open/{token}"
        console.print(f"Open {address}\nThe address works once. Ctrl-C ends the studio.", soft_wrap=True)
        serve(app, listening)
    return 0


def _request(file: Path, population: Path | None, form: list[str]) -> Path:
    """The request that is named, or that is drafted for a data file or a folder of them."""
    if file.suffix.lower() in _REQUESTS:
        if not file.is_file():
            raise DataError(
                "there is no such request", where=str(file), expected="a YAML document", fix="check the path"
            )
        return file.resolve()
    from flows.actions.drafting import drafted  # noqa: PLC0415
    from flows.cli.init import data_files, form_terms  # noqa: PLC0415

    files, folder = data_files(file, population), file if file.is_dir() else file.parent
    if (begun := folder / REQUEST_FILE).is_file():
        raise WorkspaceError(
            "this request has been begun",
            where=str(begun),
            expected="a folder without a request",
            got="the request of an earlier draft",
            fix=f"open it by `releasegate studio {shlex.quote(str(begun))}`; for another one, move the data elsewhere",
        )
    _, written = drafted(files, folder, population=population, stated=form_terms(form))
    return written[0].resolve()


def _listening(port: int) -> socket.socket:
    with system_refusal(
        "the studio cannot listen at this port",
        where="--port",
        expected="a free port of this machine",
        fix="choose another port, or none for any free one",
    ):
        return socket.create_server(("127.0.0.1", port))

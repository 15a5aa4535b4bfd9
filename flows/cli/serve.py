"""``releasegate serve``: the gate as a service that runs unattended."""

from pathlib import Path
from typing import Annotated

import typer

from flows.cli.options import DEFAULT_WORKSPACE, SetUpWorkspaceOption


def serve(
    workspace: SetUpWorkspaceOption = DEFAULT_WORKSPACE,
    inbox: Annotated[
        Path | None, typer.Option("--inbox", help="Folder to drop requests into.", show_default=False)
    ] = None,
    root: Annotated[
        list[Path] | None,
        typer.Option("--root", help="Folder that requests may name files in; repeatable.", show_default=False),
    ] = None,
    *,
    prefect: Annotated[
        str | None,
        typer.Option(
            "--prefect", metavar="URL", help="External Prefect server; its own if omitted.", show_default=False
        ),
    ] = None,
    pool: Annotated[
        str | None,
        typer.Option("--pool", metavar="NAME", help="Work pool whose workers run the flows.", show_default=False),
    ] = None,
    listen: Annotated[
        str, typer.Option("--listen", metavar="HOST:PORT", help="Address to listen at; port 0 for any free one.")
    ] = "127.0.0.1:8600",
    json_logs: Annotated[bool, typer.Option("--json-logs", help="Write the log as JSON lines.")] = False,
) -> int:
    """Run the gate unattended: accept requests, decide them, wait for reviewers, follow schedules.

    Requests come through the inbox, POST /api/requests, or the event releasegate.release.requested. SIGTERM and
    Ctrl-C stop the service; it continues where it stopped when it is started again.
    """
    from flows.service.config import service_of  # noqa: PLC0415
    from flows.service.logs import start_logging  # noqa: PLC0415
    from flows.service.serve import serve as run  # noqa: PLC0415

    host, _, port = listen.rpartition(":")
    if not (host and port.isdecimal() and int(port) < 2**16):
        raise typer.BadParameter("--listen is a host, a colon and a port from 0 to 65535")
    start_logging(as_json=json_logs)
    run(service_of(workspace, tuple(root or ()), inbox), prefect=prefect, pool=pool, host=host, port=int(port))
    return 0

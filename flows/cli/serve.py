"""``releasegate serve``: the gate as a service that runs by itself."""

from pathlib import Path
from typing import Annotated

import typer

from flows.cli.options import DEFAULT_WORKSPACE, WorkspaceOption


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("serve")(serve)


def serve(  # noqa: PLR0917
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    inbox: Annotated[
        Path | None, typer.Option("--inbox", help="Folder that requests are dropped into.", show_default=False)
    ] = None,
    root: Annotated[
        list[Path] | None,
        typer.Option("--root", help="Folder that requests may name files in; may be repeated.", show_default=False),
    ] = None,
    settings: Annotated[
        Path | None,
        typer.Option("--settings", help="Settings; service.yaml in the workspace if it is there.", show_default=False),
    ] = None,
    prefect: Annotated[
        str | None,
        typer.Option(
            "--prefect", metavar="URL", help="A Prefect server; without one it runs its own.", show_default=False
        ),
    ] = None,
    pool: Annotated[
        str | None,
        typer.Option("--pool", metavar="NAME", help="A work pool whose workers run the flows.", show_default=False),
    ] = None,
    host: Annotated[str, typer.Option("--host", help="Address to answer at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port to answer at; 0 for any.")] = 8600,
    *,
    json_logs: Annotated[bool, typer.Option("--json-logs", help="Write the log as JSON lines.")] = False,
) -> int:
    """Serve a workspace until stopped: take requests in, run them, wait for reviewers, act on schedules.

    Requests come by the inbox, by POST /api/requests, or by the event releasegate.release.requested. SIGTERM and
    Ctrl-C end it; what was under way goes on when it is started again.
    """
    from flows.service.config import service_of  # noqa: PLC0415
    from flows.service.logs import start_logging  # noqa: PLC0415
    from flows.service.serve import serve as run  # noqa: PLC0415

    start_logging(as_json=json_logs)
    run(service_of(workspace, tuple(root or ()), inbox, settings), prefect=prefect, pool=pool, host=host, port=port)
    return 0

"""``releasegate revoke`` and ``releasegate override``: what departs from a decision, with a name and a reason."""

from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from flows.cli.key import KeyFileOption, ask
from flows.cli.options import DEFAULT_WORKSPACE, ReasonOption, ReleaseArgument, WorkspaceOption
from flows.cli.output import ExitCode, JsonOption, console, print_json
from flows.workspace import Workspace

if TYPE_CHECKING:
    from flows.revoking import Changed


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("revoke")(revoke)
    app.command("override")(override)


def revoke(  # noqa: PLR0917
    release: ReleaseArgument,
    by: Annotated[
        str,
        typer.Option("--as", help="Your name: whoever asked for the release, or an officer.", show_default=False),
    ],
    reason: ReasonOption,
    recipient: Annotated[
        str | None,
        typer.Option("--recipient", help="Whose release; every recipient's where not given.", show_default=False),
    ] = None,
    key_file: KeyFileOption = None,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    *,
    as_json: JsonOption = False,
) -> int:
    """Take a release back, for good: nothing more is delivered under it.

    What was delivered stays in the bundle, as evidence of what has left; ask its recipient to destroy it. After its
    validity has ended, only an officer may revoke a release.
    """
    from flows.revoking import revoke as take_back  # noqa: PLC0415  quicker help

    changed = take_back(
        release,
        Workspace(workspace.resolve()),
        by=by,
        reason=reason,
        recipient=recipient,
        key_file=key_file,
        ask=ask,
    )
    return _tell(changed, as_json=as_json)


def override(  # noqa: PLR0917
    release: ReleaseArgument,
    recipient: Annotated[str, typer.Option("--recipient", help="Whose release.", show_default=False)],
    officer: Annotated[str, typer.Option("--as", help="Your name, as an officer of the policy.", show_default=False)],
    reason: ReasonOption,
    key_file: KeyFileOption = None,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    *,
    as_json: JsonOption = False,
) -> int:
    """Put a release that its reviewers have rejected before them again.

    They vote anew. Officer and reason stay in the ledger, and stand in the approval if one follows. A release that a
    gate has blocked cannot be put before reviewers: no file was written for it.
    """
    from flows.revoking import override as put_again  # noqa: PLC0415  quicker help

    changed = put_again(
        release,
        Workspace(workspace.resolve()),
        officer=officer,
        reason=reason,
        recipient=recipient,
        key_file=key_file,
        ask=ask,
    )
    return _tell(changed, as_json=as_json)


def _tell(changed: "Changed", *, as_json: bool) -> int:
    if as_json:
        print_json(
            {
                "ok": True,
                "exit_code": 0,
                "release_id": changed.release_id,
                "recipients": [
                    {"recipient": who, "state": standing.state.value, "why": standing.why}
                    for who, standing in changed.standings.items()
                ],
            }
        )
        return ExitCode.APPROVED
    for who, standing in changed.standings.items():
        console.print(Text.assemble((standing.state.value.upper(), "bold"), f"  {who}"))
        console.print(Text(f"  {standing.why}"))
    return ExitCode.APPROVED

"""``releasegate revoke`` and ``releasegate override``: what departs from a decision, with a name and a reason."""

from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from flows.cli.key import KeyFileOption, ask
from flows.cli.options import DEFAULT_WORKSPACE, ReasonOption, ReleaseArgument, WorkspaceOption
from flows.cli.output import ExitCode, JsonOption, console, print_json
from flows.workspace import Workspace
from tasks.decision.measures import write_result

if TYPE_CHECKING:
    from flows.overriding import Overridden
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
    officer: Annotated[str, typer.Option("--as", help="Your name, as an officer of the policy.", show_default=False)],
    reason: ReasonOption,
    recipient: Annotated[
        str | None, typer.Option("--recipient", help="Whose release; needed where it has several.", show_default=False)
    ] = None,
    gate: Annotated[
        list[str] | None,
        typer.Option("--gate", help="Id of a closed gate that you answer for; may be repeated.", show_default=False),
    ] = None,
    key_file: KeyFileOption = None,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    *,
    as_json: JsonOption = False,
) -> int:
    """Answer for closed gates of a blocked release, or put a rejected one before its reviewers again.

    With --gate, for gates that the policy lets officers override: this release stays blocked, and the same request,
    released again within the policy's days, makes a new one for this recipient. It shows the gates as failed and
    overridden, by whom and why, covers no figure worse than yours, and still needs its reviews. Without --gate, the
    reviewers of a rejected release vote anew. Officer and reason stay in the ledger for good.
    """
    from flows.overriding import override_gates  # noqa: PLC0415  quicker help
    from flows.revoking import override as put_again  # noqa: PLC0415  quicker help

    place = Workspace(workspace.resolve())
    if gate:
        overridden = override_gates(
            release,
            place,
            officer=officer,
            reason=reason,
            gates=gate,
            recipient=recipient,
            key_file=key_file,
            ask=ask,
        )
        return _tell_overridden(overridden, as_json=as_json)
    changed = put_again(
        release,
        place,
        officer=officer,
        reason=reason,
        recipient=recipient,
        key_file=key_file,
        ask=ask,
    )
    return _tell(changed, as_json=as_json)


def _tell_overridden(overridden: "Overridden", *, as_json: bool) -> int:
    if as_json:
        print_json(
            {
                "ok": True,
                "exit_code": 0,
                "release_id": overridden.release_id,
                "recipient": overridden.recipient,
                "officer": overridden.officer,
                "gates": [
                    {"id": gate.id, "measured": gate.measured, "threshold": gate.threshold} for gate in overridden.gates
                ],
                "valid_until": overridden.valid_until.isoformat(),
                "state": overridden.standing.state.value,
            }
        )
        return ExitCode.APPROVED
    console.print(Text.assemble(("OVERRIDDEN", "bold yellow"), f"  {overridden.recipient}"))
    for gate in overridden.gates:
        measured, asked = write_result(gate)
        console.print(Text(f"  {gate.title}: {measured}; {asked} asked for"))
    console.print(
        Text(
            f"  {overridden.officer} answers for this until {overridden.valid_until}. This release stays blocked; "
            "release the same request again, and a new one is decided for this recipient."
        )
    )
    return ExitCode.APPROVED


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

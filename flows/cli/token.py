"""``releasegate token``: tokens with which requests are submitted over HTTP."""

from typing import Annotated, Any

import typer

from flows.cli.options import DEFAULT_WORKSPACE, WorkspaceOption
from flows.cli.output import answer
from flows.people.tokens import LONGEST_DAYS, USUAL_DAYS, RequestTokens, Token
from flows.workspace.actor import actor
from flows.workspace.folders import Workspace
from reports.model.blocks import outcome, table
from tasks.core.guard import guarded

token = typer.Typer(no_args_is_help=True, help="Tokens with which people and systems submit requests over HTTP.")


@token.command()
@guarded("token")
def create(
    person: Annotated[str, typer.Argument(help="Id or name of the enrolled requester.", show_default=False)],
    login: Annotated[str, typer.Option(help="Login under which requests come in.", show_default=False)],
    purpose: Annotated[str, typer.Option(help="Purpose, such as the system that uses it.", show_default=False)],
    days: Annotated[int, typer.Option(help="Days until it ends.", min=1, max=LONGEST_DAYS)] = USUAL_DAYS,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
) -> int:
    """Make a token of a requester, and show it once.

    Requests that come with it are theirs: queue, ledger and determination name login and token. The workspace keeps
    only its hash.
    """
    made, text = RequestTokens(Workspace(workspace.resolve())).create(person, login, purpose, actor(), days=days)
    return answer(
        {**_document(made), "token": text},
        [
            outcome("created", f": token {made.id} of {made.name}, login {made.login}, until {made.last_day}"),
            text,
            "Keep it where only its user can read it; it is not shown again.",
        ],
    )


@token.command("list")
@guarded("token")
def show(workspace: WorkspaceOption = DEFAULT_WORKSPACE) -> int:
    """List the tokens that were not revoked; none is shown itself."""
    found = RequestTokens(Workspace(workspace.resolve())).all()
    rows = ((one.id, one.login, one.name, one.purpose, f"{one.last_day}", one.by) for one in found)
    shown = table("", ("id", "login", "name", "purpose", "last day", "made by"), rows)
    document = {"tokens": [_document(one) for one in found]}
    return answer(document, shown if found else ["there are no tokens"])


@token.command()
@guarded("token")
def revoke(
    name: Annotated[str, typer.Argument(metavar="ID", help="Id of the token, as listed.", show_default=False)],
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
) -> int:
    """Revoke a token. Requests that came with it stay as they are."""
    gone = RequestTokens(Workspace(workspace.resolve())).revoke(name)
    return answer(_document(gone), [outcome("revoked", f": token {gone.id} of {gone.name}")])


def _document(one: Token) -> dict[str, Any]:
    return one.model_dump(mode="json", exclude={"sha256"})

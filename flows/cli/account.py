"""``releasegate account``: who may sign in to the reviewer's page."""

import sys
from typing import Annotated, Any

import typer

from flows.accounts import Account, Accounts, Duty
from flows.cli.options import DEFAULT_WORKSPACE, WorkspaceOption
from flows.cli.output import JsonOption, answer, outcome
from flows.cli.tables import untitled_table
from flows.workspace import Workspace, open_workspace
from tasks.core.errors import BadInput
from tasks.core.guard import guarded

LoginArgument = Annotated[str, typer.Argument(help="What the person signs in as.", show_default=False)]


account = typer.Typer(no_args_is_help=True, help="Accounts of the reviewer's page.")


@account.command()
def add(
    login: LoginArgument,
    name: Annotated[str, typer.Option("--name", help="The person, as policies spell the name.", show_default=False)],
    role: Annotated[list[Duty], typer.Option(help="What the account is for; may be repeated.", show_default=False)],
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    *,
    by_proxy: Annotated[
        bool, typer.Option("--by-proxy", help="No password: only the proxy that the service trusts signs this one in.")
    ] = False,
    as_json: JsonOption = False,
) -> int:
    """Make an account of the reviewer's page.

    The password (15 characters or more) is asked for, or read as one line from standard input; it is never an argument.
    Reviewers vote where a policy names them, officers revoke where a policy names them and see audits, requesters see
    what they have asked for, a regulator sees everything and changes nothing.
    """
    with guarded("account"):
        accounts = Accounts(open_workspace(workspace))
        made = accounts.add(login, name, role, None if by_proxy else _asked())
    return _tell("added", made, as_json=as_json)


@account.command()
def password(
    login: LoginArgument, workspace: WorkspaceOption = DEFAULT_WORKSPACE, *, as_json: JsonOption = False
) -> int:
    """Set another password for an account, asked for or read from standard input. Its sessions end."""
    with guarded("account"):
        changed = Accounts(Workspace(workspace.resolve())).set_password(login, _asked())
    return _tell("changed", changed, as_json=as_json)


@account.command()
def remove(login: LoginArgument, workspace: WorkspaceOption = DEFAULT_WORKSPACE, *, as_json: JsonOption = False) -> int:
    """Remove an account. Its sessions end; what the person has signed in the ledger stays."""
    with guarded("account"):
        gone = Accounts(Workspace(workspace.resolve())).remove(login)
    return _tell("removed", gone, as_json=as_json)


@account.command("list")
def show(workspace: WorkspaceOption = DEFAULT_WORKSPACE, *, as_json: JsonOption = False) -> int:
    """List the accounts."""
    with guarded("account"):
        accounts = Accounts(Workspace(workspace.resolve())).all()
    table = untitled_table(("login", "name", "roles", "signs in by", "since"), ())
    for one in accounts:
        by = "password" if one.password else "proxy"
        table.add_row(one.login, one.name, ", ".join(sorted(one.duties)), by, one.since.date().isoformat())
    document = {"accounts": [_document(one) for one in accounts]}
    return answer(document, [table if accounts else "there are no accounts"], as_json=as_json)


def _asked() -> str:
    """A password from a prompt that does not show it, or a line of standard input.

    Raises
    ------
    BadInput
        If there is none.
    """
    if sys.stdin.isatty():
        prompted: str = typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
        return prompted
    line = sys.stdin.readline().rstrip("\r\n")
    if not line:
        raise BadInput(
            "a password is needed",
            where="standard input",
            expected="one line",
            got="none",
            fix="run the command at a terminal, or give it the password on standard input",
        )
    return line


def _tell(verb: str, one: Account, *, as_json: bool) -> int:
    line = outcome(verb, f": {one.login}, {one.name} ({', '.join(sorted(one.duties))})")
    return answer(_document(one), [line], as_json=as_json)


def _document(one: Account) -> dict[str, Any]:
    return {
        "login": one.login,
        "name": one.name,
        "roles": sorted(one.duties),
        "by_proxy": one.password is None,
        "since": one.since.isoformat(),
    }

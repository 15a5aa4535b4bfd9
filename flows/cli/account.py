"""``releasegate account``: who may sign in to the reviewer's page."""

import sys
from typing import Annotated, Any

import typer

from flows.cli.options import DEFAULT_WORKSPACE, SetUpWorkspaceOption, WorkspaceOption, asked
from flows.cli.output import answer
from flows.people.account import Account, Duty
from flows.people.accounts import Accounts
from flows.people.persons import account_holder
from flows.workspace.folders import Workspace, open_workspace
from flows.workspace.ledger import open_ledger
from reports.model.blocks import outcome, table
from tasks.core.errors import BadInput
from tasks.core.guard import guarded
from tasks.ledger.enrolment import Directory

LoginArgument = Annotated[str, typer.Argument(help="Name that the person signs in with.", show_default=False)]


account = typer.Typer(no_args_is_help=True, help="Accounts of the reviewer's page.")


@account.command()
@guarded("account")
def add(
    login: LoginArgument,
    person: Annotated[str, typer.Option("--person", help="Id or name of the enrolled person.", show_default=False)],
    role: Annotated[list[Duty], typer.Option(help="Role of the account; may be repeated.", show_default=False)],
    workspace: SetUpWorkspaceOption = DEFAULT_WORKSPACE,
    *,
    by_proxy: Annotated[
        bool,
        typer.Option("--by-proxy", help="Sign in through the proxy that the service trusts alone, without a password."),
    ] = False,
) -> int:
    """Make an account of the reviewer's page.

    The password (15 characters or more) is read from a prompt, or as one line from standard input; it is never an
    argument. Reviewers vote where a policy names them, officers revoke, read audits and manage accounts and tokens,
    requesters see their own requests, a regulator sees everything and changes nothing.
    """
    place = open_workspace(workspace)
    with open_ledger(place, create=True) as ledger:
        holder = account_holder(Directory.of(ledger), person, login)
    added = Accounts(place).add(login, holder, role, None if by_proxy else _password())
    return _report("added", added)


@account.command()
@guarded("account")
def password(login: LoginArgument, workspace: WorkspaceOption = DEFAULT_WORKSPACE) -> int:
    """Set another password for an account, from a prompt or standard input. Its sessions end."""
    accounts = Accounts(Workspace(workspace.resolve()))
    return _report("changed", accounts.set_password(login, _password()))


@account.command()
@guarded("account")
def reset(login: LoginArgument, workspace: WorkspaceOption = DEFAULT_WORKSPACE) -> int:
    """Remove the second factor of an account whose holder has lost the device. Its sessions end.

    Check who is asking: from then on the password alone is enough, until they set up another device.
    """
    return _report("reset", Accounts(Workspace(workspace.resolve())).remove_second_factor(login))


@account.command()
@guarded("account")
def remove(login: LoginArgument, workspace: WorkspaceOption = DEFAULT_WORKSPACE) -> int:
    """Remove an account. Its sessions end; what the person has signed in the ledger stays."""
    return _report("removed", Accounts(Workspace(workspace.resolve())).remove(login))


@account.command("list")
@guarded("account")
def show(workspace: WorkspaceOption = DEFAULT_WORKSPACE) -> int:
    """List the accounts."""
    accounts = Accounts(Workspace(workspace.resolve())).all()
    rows = ((one.login, one.name, ", ".join(sorted(one.duties)), one.way_in, f"{one.since:%F}") for one in accounts)
    shown = table("", ("login", "name", "roles", "signs in by", "since"), rows)
    document = {"accounts": [_document(one) for one in accounts]}
    return answer(document, shown if accounts else ["there are no accounts"])


def _password() -> str:
    """A password from a prompt that does not show it, or a line of standard input."""
    return asked("Password", _password_from_input, confirm=True)


def _password_from_input() -> str:
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


def _report(verb: str, one: Account) -> int:
    line = outcome(verb, f": {one.login}, {one.name} ({', '.join(sorted(one.duties))})")
    return answer(_document(one), [line])


def _document(one: Account) -> dict[str, Any]:
    return {
        "login": one.login,
        "person": one.person,
        "name": one.name,
        "roles": sorted(one.duties),
        "by_proxy": one.password is None and one.identity is None,
        "way_in": one.way_in,
        "since": one.since.isoformat(),
    }

"""Accounts and tokens of everybody, for officers: who may sign in and how, lost passwords and second factors, tokens.

An account with the role officer is not enough: its person must be enrolled as officer now. Nobody resets or disables
their own account here; that takes another officer, or the operator.
"""

from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from flows.people.account import Account, Duty
from flows.people.accounts import one_time_password
from flows.people.persons import account_holder
from flows.people.tokens import LONGEST_DAYS, USUAL_DAYS, RequestTokens, Token
from flows.web.account_pages import confirmed
from flows.web.authentication import CurrentVisitor, PostedForm, SubmittedForm
from flows.web.http import not_allowed, number_of, see_other
from flows.web.site import Visitor, fields, log
from flows.workspace.ledger import open_ledger
from tasks.core.errors import BadInput, ReleasegateError
from tasks.core.people import WorkflowRole
from tasks.ledger.enrolment import Directory, EnrolledPerson

router = APIRouter()


def officer(visitor: CurrentVisitor) -> Visitor:
    """The visitor, who is an officer by account and by enrolment."""
    if not visitor.acts_as(Duty.OFFICER):
        raise not_allowed("This is for enrolled officers, with an account that has the role officer.")
    return visitor


CurrentOfficer = Annotated[Visitor, Depends(officer)]


@router.get("/people")
def show(visitor: CurrentOfficer) -> Response:
    """Accounts and tokens."""
    return _page(visitor)


@router.post("/people/accounts")
def create_account(visitor: CurrentOfficer, form: PostedForm) -> Response:
    """Make an account with a one-time password, which the answer alone shows."""
    site, given = visitor.site, {name: form.text(name).strip() for name in ("person", "login")}
    duties = [duty for duty in Duty if form.text(f"role.{duty}") == "yes"]

    def work() -> Response:
        with open_ledger(site.workspace) as ledger:
            holder = account_holder(Directory.of(ledger), given["person"], given["login"])
        password = one_time_password()
        made = site.accounts.add(given["login"], holder, duties, password, must_change=True, clock=site.clock)
        return _password_shown(visitor, made, password)

    return _done(visitor, form, f"account {given['login'][:64]!r} made", work, given)


@router.post("/people/password")
def renew_password(visitor: CurrentOfficer, form: PostedForm) -> Response:
    """Give somebody else who has forgotten theirs a one-time password, which the answer alone shows."""
    site, login = visitor.site, form.text("login")

    def work() -> Response:
        _check_other(visitor, login)
        password = one_time_password()
        changed = site.accounts.set_password(login, password, must_change=True, clock=site.clock)
        return _password_shown(visitor, changed, password)

    return _done(visitor, form, f"password of {login[:64]!r} renewed", work)


@router.post("/people/reset")
def reset(visitor: CurrentOfficer, form: PostedForm) -> Response:
    """Remove the second factor of somebody else, who has lost the device."""
    login = form.text("login")

    def work() -> Response:
        _check_other(visitor, login)
        changed = visitor.site.accounts.remove_second_factor(login)
        return _told(visitor, f"The second factor of {changed.login} is removed.")

    return _done(visitor, form, f"second factor of {login[:64]!r} removed", work)


@router.post("/people/disable")
def disable(visitor: CurrentOfficer, form: PostedForm) -> Response:
    """Disable the account of somebody else."""
    login = form.text("login")

    def work() -> Response:
        _check_other(visitor, login)
        return _told(visitor, f"The account {visitor.site.accounts.disable(login).login} is disabled.")

    return _done(visitor, form, f"account {login[:64]!r} disabled", work)


@router.post("/people/enable")
def enable(visitor: CurrentOfficer, form: PostedForm) -> Response:
    """Let the holder of a disabled account sign in again."""
    login = form.text("login")

    def work() -> Response:
        return _told(visitor, f"The account {visitor.site.accounts.enable(login).login} is in use again.")

    return _done(visitor, form, f"account {login[:64]!r} enabled", work)


@router.post("/people/tokens")
def create_token(visitor: CurrentOfficer, form: PostedForm) -> Response:
    """Make a token, and show it in the answer alone."""
    site, given = visitor.site, {name: form.text(name).strip() for name in ("person", "login", "purpose", "days")}

    def work() -> Response:
        made, text = RequestTokens(site.workspace).create(
            given["person"],
            given["login"],
            given["purpose"],
            visitor.account.login,
            days=number_of(given["days"]),
            clock=site.clock,
        )
        facts = {
            "Submits as": f"{made.name}, login {made.login}",
            "Purpose": made.purpose,
            "Last day": f"{made.last_day:%Y-%m-%d}",
        }
        return visitor.page("shown_once.html", title=f"Token {made.id}", name=made.name, text=text, facts=facts)

    return _done(visitor, form, f"a token of {given['login'][:64]!r} made", work, given)


@router.post("/people/tokens/revoke")
def revoke_token(visitor: CurrentOfficer, form: PostedForm) -> Response:
    """Revoke a token."""
    name = form.text("id")

    def work() -> Response:
        gone = RequestTokens(visitor.site.workspace).revoke(name)
        return _told(visitor, f"The token {gone.id} of {gone.name} is revoked.")

    return _done(visitor, form, f"token {name[:8]!r} revoked", work, with_password=False)


def _check_other(visitor: Visitor, login: str) -> None:
    if login.casefold() == visitor.account.login:
        raise BadInput("this is your own account", expected="the account of somebody else", got="your own")


def _told(visitor: Visitor, notice: str) -> Response:
    visitor.session.notice = notice
    return see_other("/people")


def _password_shown(visitor: Visitor, account: Account, password: str) -> Response:
    facts = {
        "Login": account.login,
        "Roles": ", ".join(sorted(account.duties)),
        "Counts": f"once, to choose another one, until {account.counts_until:%Y-%m-%d %H:%M} UTC",
    }
    title = f"One-time password of {account.login}"
    return visitor.page("shown_once.html", title=title, name=account.name, text=password, facts=facts)


def _done(
    visitor: Visitor,
    form: SubmittedForm,
    what: str,
    work: Callable[[], Response],
    given: dict[str, str] | None = None,
    *,
    with_password: bool = True,
) -> Response:
    """The answer of an action that the visitor confirms; on an error, the page with what was given."""

    def logged() -> Response:
        answer = work()
        log.info(what, extra=fields(login=visitor.account.login))
        return answer

    return confirmed(visitor, form, logged, lambda error: _page(visitor, error, given), with_password=with_password)


def _page(visitor: Visitor, error: ReleasegateError | None = None, given: dict[str, str] | None = None) -> Response:
    site = visitor.site
    with open_ledger(site.workspace) as ledger:
        people = Directory.of(ledger).all(EnrolledPerson)
    accounts = site.accounts.all()
    held = {one.person for one in accounts}
    tokens: tuple[Token, ...] = RequestTokens(site.workspace).all()
    return visitor.form(
        "people.html",
        error,
        accounts=accounts,
        without=[one for one in people if one.id not in held],
        requesters=[one for one in people if WorkflowRole.REQUESTER in one.roles],
        tokens=tokens,
        ended=[one.id for one in tokens if one.last_day < site.clock().date()],
        given={"person": "", "login": "", "purpose": "", "days": str(USUAL_DAYS)} | (given or {}),
        duties=list(Duty),
        longest=LONGEST_DAYS,
        once=visitor.session.issue(),
    )

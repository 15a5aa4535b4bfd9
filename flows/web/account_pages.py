"""The visitor's own account: password, second factor, public key, and tokens that submit requests in their name.

A change takes the password once more, where there is one; wrong ones count as failed sign-ins. The session is then a
new one, and where the way to sign in was changed, all others of the account end.
"""

import secrets
from collections.abc import Callable
from functools import partial

from fastapi import APIRouter
from fastapi.responses import Response

from flows.people.account import Account
from flows.people.accounts import LONGEST_PASSWORD, SHORTEST_PASSWORD
from flows.people.second_factor import SECRET_BYTES, address_of, text_of
from flows.people.signing import key_in_force, register_key
from flows.people.tokens import RequestTokens, of_login
from flows.web.authentication import SET_UP, CurrentVisitor, PostedForm, SubmittedForm, begin_session
from flows.web.http import not_allowed, see_other
from flows.web.site import Visitor, fields, log
from flows.workspace.actor import acting_as
from flows.workspace.ledger import has_ledger, open_ledger
from tasks.core.errors import BadInput, ReleasegateError, TamperingFound
from tasks.core.people import WorkflowRole
from tasks.ledger.enrolment import Directory

router = APIRouter()


@router.get("/account")
def show(visitor: CurrentVisitor) -> Response:
    """The account, and what its holder can change."""
    return _page(visitor)


@router.post("/account/password")
def change_password(visitor: CurrentVisitor, form: PostedForm) -> Response:
    """Set another password."""

    def work(account: Account) -> Account:
        new = form.text("new")
        if new != form.text("again"):
            raise BadInput("the new passwords differ", expected="the same password twice", got="two passwords")
        if new == form.text("password"):
            raise BadInput("the password is the same", expected="a new password", got="the present one")
        return visitor.site.accounts.set_password(account.login, new)

    return _changed(visitor, form, "password", work, done="The password is changed. All other sessions have ended.")


@router.get(SET_UP)
def show_second_factor(visitor: CurrentVisitor) -> Response:
    """Secret of a new second factor, in words and as an address, until it is set up."""
    account, session = visitor.account, visitor.session
    if account.password is None or account.second_factor is not None:
        return see_other("/account#second-factor")
    session.offered = session.offered or secrets.token_bytes(SECRET_BYTES)
    return _second_factor_page(visitor, None)


@router.post(SET_UP)
def set_up_second_factor(visitor: CurrentVisitor, form: PostedForm) -> Response:
    """Set up the second factor, whose first code shows that its holder has the secret."""
    secret = visitor.session.offered

    def work(account: Account) -> Account:
        if not secret:
            raise BadInput("the secret is no longer valid", expected="the secret of this session", got="none")
        return visitor.site.accounts.set_second_factor(account.login, secret, form.text("code"), visitor.site.clock())

    done = "The second factor is set up. From now on you sign in with password and code."
    return _changed(visitor, form, "second factor", work, done=done, again=_second_factor_page)


@router.post(f"{SET_UP}/remove")
def remove_second_factor(visitor: CurrentVisitor, form: PostedForm) -> Response:
    """Remove the second factor, which takes one of its codes."""

    def work(account: Account) -> Account:
        taken = partial(visitor.site.accounts.take_code, account, form.text("code"), visitor.site.clock())
        if _counted(visitor, taken) is None:
            raise BadInput("the code is wrong", expected="the six digits that the app shows now", got="other digits")
        return visitor.site.accounts.remove_second_factor(account.login)

    return _changed(visitor, form, "second factor removed", work, done="The second factor is removed.")


@router.post("/account/key")
def register(visitor: CurrentVisitor, form: PostedForm) -> Response:
    """Register the public key of a file."""

    def work(account: Account) -> Account:
        with acting_as(visitor.actor):
            register_key(
                visitor.site.workspace,
                form.files.get("key", b""),
                account.person or account.name,
                clock=visitor.site.clock,
            )
        return account

    done = "The key is registered. From now on your votes and revocations need its signature."
    return _changed(visitor, form, "key registered", work, done=done)


def confirm(visitor: Visitor, form: SubmittedForm) -> None:
    """Refuse (BadInput) a form without the account's password, where it has one; a wrong one counts as a sign-in."""
    account, password = visitor.account, form.text("password")
    if account.password is None:
        return
    checked = partial(visitor.site.accounts.check, account.login, password[: LONGEST_PASSWORD + 1])
    if _counted(visitor, checked) is None:
        raise BadInput("the password is wrong", expected="your current password", got="another")


def confirmed(
    visitor: Visitor,
    form: SubmittedForm,
    work: Callable[[], Response],
    again: Callable[[ReleasegateError], Response],
    *,
    with_password: bool = True,
) -> Response:
    """The answer of an action that the visitor confirms, once; on an error, the page with the form again."""
    try:
        visitor.use_form(form.text("once"))
        if with_password:
            confirm(visitor, form)
        return work()
    except TamperingFound:
        raise
    except ReleasegateError as error:
        return again(error)


def _counted(visitor: Visitor, check: Callable[[], Account | None]) -> Account | None:
    """The answer of a check of password or code; a failure counts as a failed sign-in of the account."""
    site, login = visitor.site, visitor.account.login
    site.limit((site.limits.login, login), (site.limits.everybody, "everybody"))
    found = check()
    if found is None:
        log.warning("a password or code was not confirmed", extra=fields(login=login))
    else:
        site.limits.login.give_back(login)
    return found


def _changed(
    visitor: Visitor,
    form: SubmittedForm,
    what: str,
    work: Callable[[Account], Account],
    *,
    done: str,
    again: "Callable[[Visitor, ReleasegateError], Response] | None" = None,
) -> Response:
    """Change the account once the password is confirmed, and begin a new session; on an error, show the form again."""
    if visitor.account.password is None and what != "key registered":
        raise not_allowed("Your account has no password here.")
    visitor.site.limit((visitor.site.limits.actions, visitor.account.login))
    try:
        confirm(visitor, form)
        account = work(visitor.account)
    except TamperingFound:
        raise
    except ReleasegateError as error:
        return (again or _page)(visitor, error)
    session = begin_session(visitor.site, visitor.request, account, by_proxy=visitor.session.by_proxy)
    session.notice = done
    log.info(what, extra=fields(login=account.login))
    return see_other("/account")


def _page(visitor: Visitor, error: ReleasegateError | None = None) -> Response:
    site, account = visitor.site, visitor.account
    key, roles = None, tuple[WorkflowRole, ...]()
    if has_ledger(site.workspace):
        with open_ledger(site.workspace) as ledger:
            key = key_in_force(ledger, account.name)
            person = Directory.of(ledger).person(account.person or account.name)
        roles = person.roles if person is not None else ()
    return visitor.form(
        "account.html",
        error,
        account=account,
        key=key,
        key_roles=[role.value for role in WorkflowRole if role in roles],
        tokens=of_login(RequestTokens(site.workspace).all(), account.login),
        shortest=SHORTEST_PASSWORD,
        longest=LONGEST_PASSWORD,
        must=site.settings.second_factor,
    )


def _second_factor_page(visitor: Visitor, error: ReleasegateError | None) -> Response:
    secret = visitor.session.offered
    return visitor.form(
        "second_factor.html",
        error,
        words=text_of(secret) if secret else "",
        address=address_of(secret, visitor.account.login) if secret else "",
        must=visitor.site.settings.second_factor,
    )

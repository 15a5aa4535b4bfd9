"""Accounts and tokens of everybody, for officers: who may sign in and how, second factors that were lost, tokens.

An account with the role officer is not enough: its person must be enrolled as officer now. Nobody resets their own
second factor here; that takes another officer, or the operator.
"""

from collections.abc import Callable
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from flows.accounts import Duty
from flows.ledger import open_ledger
from flows.tokens import LONGEST_DAYS, USUAL_DAYS, RequestTokens, Token
from flows.web.account_pages import confirm, problem_of
from flows.web.authentication import CurrentVisitor, PostedForm, SubmittedForm
from flows.web.site import Visitor, fields, log, not_allowed, number_of, see_other
from tasks.core.errors import BadInput, ReleasegateError, TamperingFound
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


@router.post("/people/reset")
def reset(visitor: CurrentOfficer, form: PostedForm) -> Response:
    """Remove the second factor of somebody else, who has lost the device."""
    login = form.text("login")

    def work() -> str:
        if login.casefold() == visitor.account.login:
            raise BadInput("this is your own account", expected="the account of somebody else", got="your own")
        return f"The second factor of {visitor.site.accounts.remove_second_factor(login).login} is removed."

    return _done(visitor, form, f"second factor of {login[:64]!r} removed", work)


@router.post("/people/tokens")
def create_token(visitor: CurrentOfficer, form: PostedForm) -> Response:
    """Make a token, and show it in the answer alone."""
    site, given = visitor.site, {name: form.text(name).strip() for name in ("person", "login", "purpose", "days")}
    try:
        visitor.use_form(form.text("once"))
        confirm(visitor, form)
        made, text = RequestTokens(site.workspace).create(
            given["person"],
            given["login"],
            given["purpose"],
            visitor.account.login,
            days=number_of(given["days"]),
            clock=site.clock,
        )
    except TamperingFound:
        raise
    except ReleasegateError as error:
        return _page(visitor, error, given)
    log.info("a token was made", extra=fields(token=made.id, of=made.login, login=visitor.account.login))
    return visitor.page("token.html", made=made, text=text)


@router.post("/people/tokens/revoke")
def revoke_token(visitor: CurrentOfficer, form: PostedForm) -> Response:
    """Revoke a token."""
    name = form.text("id")

    def work() -> str:
        gone = RequestTokens(visitor.site.workspace).revoke(name)
        return f"The token {gone.id} of {gone.name} is revoked."

    return _done(visitor, form, f"token {name[:8]!r} revoked", work, with_password=False)


def _done(
    visitor: Visitor, form: SubmittedForm, what: str, work: Callable[[], str], *, with_password: bool = True
) -> Response:
    try:
        visitor.use_form(form.text("once"))
        if with_password:
            confirm(visitor, form)
        visitor.session.notice = work()
    except TamperingFound:
        raise
    except ReleasegateError as error:
        return _page(visitor, error)
    log.info(what, extra=fields(login=visitor.account.login))
    return see_other("/people")


def _page(visitor: Visitor, error: ReleasegateError | None = None, given: dict[str, str] | None = None) -> Response:
    site = visitor.site
    with open_ledger(site.workspace) as ledger:
        people = Directory.of(ledger).all(EnrolledPerson)
    accounts = site.accounts.all()
    held = {one.person for one in accounts}
    tokens: tuple[Token, ...] = RequestTokens(site.workspace).all()
    return visitor.page(
        "people.html",
        status=HTTPStatus.OK if error is None else HTTPStatus.UNPROCESSABLE_ENTITY,
        problem=None if error is None else problem_of(error),
        accounts=accounts,
        without=[one for one in people if one.id not in held],
        requesters=[one for one in people if WorkflowRole.REQUESTER in one.roles],
        tokens=tokens,
        ended=[one.id for one in tokens if one.last_day < site.clock().date()],
        given=given or {"person": "", "login": "", "purpose": "", "days": str(USUAL_DAYS)},
        longest=LONGEST_DAYS,
        once=visitor.session.issue(),
    )

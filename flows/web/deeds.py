"""Votes and revocations: what changes a release, with a name, a reason and, where one is registered, a key.

The private key comes with the form, is opened for the one signature and forgotten; it is in no session and on no disk
(``docs/decisions/0022``). A form can be sent once, and is about the release as its page showed it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Literal

from fastapi import APIRouter, Request
from fastapi.responses import Response

from flows.accounts import Duty
from flows.actor import acting_as
from flows.reviewing import Voted, cast_vote
from flows.revoking import revoke
from flows.signing import SENT, SentKey
from flows.web.evidence import Evidence
from flows.web.register import Listed
from flows.web.releases import Recipient, ReleaseId, barred, may_revoke, one_of, read
from flows.web.site import Refused, Site, Visitor, log, not_allowed, see_other
from flows.web.visiting import Form, Present, Sent, TheSite
from tasks.decision.states import State
from tasks.decision.votes import LONGEST_REASON
from tasks.errors import BadInput, ReleasegateError, StageFailed, TamperingFound, WorkspaceError

router = APIRouter()


@dataclass(frozen=True)
class Deed:
    """What a form does."""

    name: Literal["vote", "revoke"]
    title: str
    template: str


VOTE = Deed("vote", "Vote", "vote.html")
REVOKE = Deed("revoke", "Revoke", "revoke.html")


@router.get("/releases/{release_id}/{recipient}/vote")
def ask_vote(
    request: Request, site: TheSite, visitor: Present, release_id: ReleaseId, recipient: Recipient
) -> Response:
    """The form to vote with."""
    listed = one_of(site, visitor, release_id, recipient)
    found = read(site, visitor, listed)
    why = barred(visitor, found)
    if why:
        raise not_allowed(why)
    return _form(request, site, visitor, VOTE, listed, found)


@router.post("/releases/{release_id}/{recipient}/vote")
def vote(request: Request, site: TheSite, sent: Sent, release_id: ReleaseId, recipient: Recipient) -> Response:
    """Take a vote."""
    visitor, form = sent
    if not visitor.has(Duty.REVIEWER):
        raise not_allowed("Your account is not a reviewer's.")
    chosen = form.text("vote")

    def cast(found: Evidence, key: SentKey) -> str:
        if chosen not in {"approve", "reject"}:
            raise BadInput("there is no vote", expected="approve or reject", got="neither")
        voted = cast_vote(
            str(found.bundle),
            site.workspace,
            reviewer=visitor.account.name,
            vote="approve" if chosen == "approve" else "reject",
            reason=form.text("reason").replace("\r\n", "\n"),
            recipient=recipient,
            key_file=key,
            clock=site.clock,
        )
        return _told(voted)

    return _done(request, site, visitor, form, VOTE, one_of(site, visitor, release_id, recipient), cast)


@router.get("/releases/{release_id}/{recipient}/revoke")
def ask_revoke(
    request: Request, site: TheSite, visitor: Present, release_id: ReleaseId, recipient: Recipient
) -> Response:
    """The form to take a release back with."""
    listed = one_of(site, visitor, release_id, recipient)
    found = read(site, visitor, listed)
    if not may_revoke(visitor, found):
        raise not_allowed("A release is revoked by whoever asked for it, or by an officer of its policy.")
    return _form(request, site, visitor, REVOKE, listed, found)


@router.post("/releases/{release_id}/{recipient}/revoke")
def take_back(request: Request, site: TheSite, sent: Sent, release_id: ReleaseId, recipient: Recipient) -> Response:
    """Take a release back."""
    visitor, form = sent
    if not visitor.has(Duty.OFFICER, Duty.REQUESTER):
        raise not_allowed("A release is revoked by whoever asked for it, or by an officer of its policy.")

    def take(found: Evidence, key: SentKey) -> str:
        if form.text("sure") != "yes":
            raise BadInput("the revocation is not confirmed", expected="a tick in the last box", got="none")
        revoke(
            str(found.bundle),
            site.workspace,
            by=visitor.account.name,
            reason=form.text("reason").replace("\r\n", "\n"),
            recipient=recipient,
            key_file=key,
            clock=site.clock,
        )
        return f"The release to {found.record.recipient.organisation} is revoked. Nothing more is delivered under it."

    return _done(request, site, visitor, form, REVOKE, one_of(site, visitor, release_id, recipient), take)


def _done(  # noqa: PLR0917
    request: Request,
    site: Site,
    visitor: Visitor,
    form: Form,
    deed: Deed,
    listed: Listed,
    act: Callable[[Evidence, SentKey], str],
) -> Response:
    """Act once on what the form's page showed, then go to the release; or the form again, with what is wrong."""
    site.bounded(site.limits.deeds, visitor.account.login)
    if not visitor.session.redeem(form.text("once")):
        raise Refused(
            HTTPStatus.CONFLICT,
            "This form was sent already",
            "It is taken once. The page of the release shows what has become of it.",
        )
    found = read(site, visitor, listed)
    if (form.text("record"), form.text("last")) != (found.record_sha256, found.last):
        raise Refused(
            HTTPStatus.CONFLICT,
            "The release has changed",
            "Nothing was done: it is not as the page of the form has shown it. Look at the release again.",
        )
    key = SentKey(form.files.get("key", b""), form.text("passphrase"))
    try:
        if site.settings.signed_only and found.key is None:
            raise BadInput(
                "a signature is needed here", expected="a registered key: releasegate key create", got="none"
            )
        with acting_as(f"{visitor.account.login} (reviewer's page)"):
            notice = act(found, key)
    except TamperingFound:
        raise
    except ReleasegateError as error:
        status = HTTPStatus.CONFLICT if isinstance(error, StageFailed) else HTTPStatus.UNPROCESSABLE_ENTITY
        return _form(request, site, visitor, deed, listed, found, form=form, error=error, status=status)
    log.info("%s by %s", deed.name, visitor.account.login)
    visitor.session.notice = notice
    return see_other(f"/releases/{listed.release_id}/{listed.recipient}")


def _form(  # noqa: PLR0917
    request: Request,
    site: Site,
    visitor: Visitor,
    deed: Deed,
    listed: Listed,
    found: Evidence,
    *,
    form: Form | None = None,
    error: ReleasegateError | None = None,
    status: HTTPStatus = HTTPStatus.OK,
) -> Response:
    return site.page(
        request,
        deed.template,
        visitor,
        status=status,
        small_cell=found.record.policy.small_cell,
        deed=deed,
        listed=listed,
        found=found,
        once=visitor.session.issue(),
        signed_only=site.settings.signed_only,
        has_voted=found.has_voted(visitor.account.name),
        longest=LONGEST_REASON,
        chosen=form.text("vote") if form else "",
        reason=form.text("reason") if form else "",
        problem=None if error is None else _problem(error),
    )


def _problem(error: ReleasegateError) -> dict[str, str]:
    """What is wrong; of the machine's files and disks no more than that."""
    told = {"what": f"{error.what[:1].upper()}{error.what[1:]}.", "expected": "", "got": ""}
    if isinstance(error, WorkspaceError) and error.where != SENT:
        return told
    return told | {"expected": error.expected, "got": error.got}


def _told(voted: Voted) -> str:
    """What is said after a vote; no vote is told while one is missing."""
    counted = f"{'Your new vote' if voted.replaced else 'Your vote'} is in: {voted.votes} of {voted.required}."
    if voted.standing.state is State.AWAITING_REVIEW:
        return f"{counted} It stays closed until all are in; until then you may vote again, which replaces it."
    return f"{counted} With it the release is {voted.standing.state.value}."

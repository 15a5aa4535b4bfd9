"""Votes and revocations: actions on a release, each with a name, a reason and, if one is registered, a key.

The private key comes with the form, is opened for one signature and forgotten; it is in no session and on no disk
(``docs/decisions/0022``). A form can be sent once, and applies to the release as its page showed it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from flows.accounts import Duty
from flows.actor import acting_as
from flows.cases import ReleaseAction
from flows.overruling import revoke
from flows.reviewing import Voted, cast_vote
from flows.signing import SENT, SentKey
from flows.web.authentication import CurrentSite, CurrentVisitor, PostedForm, SubmittedForm
from flows.web.evidence import Evidence
from flows.web.release_index import IndexedRelease
from flows.web.releases import RecipientId, ReleaseId, find_release, may_revoke, read_evidence, why_no_vote
from flows.web.site import Refused, Site, Visitor, log, not_allowed, see_other, sentence
from tasks.core.errors import BadInput, ReleasegateError, StageFailed, TamperingFound, WorkspaceError
from tasks.decision.states import State
from tasks.decision.votes import LONGEST_REASON

router = APIRouter()

_WHO_REVOKES = "A release is revoked by whoever requested it, or by an officer of its policy."


@dataclass(frozen=True)
class ActionPage:
    """The form of an action on one release, for one visitor."""

    request: Request
    site: Site
    visitor: Visitor
    release: IndexedRelease
    evidence: Evidence

    def show(
        self,
        action: Literal["vote", "revoke"],
        form: SubmittedForm | None = None,
        error: ReleasegateError | None = None,
    ) -> Response:
        """The form, empty or with what was entered and the error that it caused."""
        status = HTTPStatus.OK
        if error is not None:
            status = HTTPStatus.CONFLICT if isinstance(error, StageFailed) else HTTPStatus.UNPROCESSABLE_ENTITY
        return self.site.page(
            self.request,
            f"{action}.html",
            self.visitor,
            status=status,
            small_cell=self.evidence.record.policy.small_cell,
            listed=self.release,
            found=self.evidence,
            once=self.visitor.session.issue(),
            signed_only=self.site.settings.signed_only,
            has_voted=self.evidence.has_voted(self.visitor.account.name),
            longest=LONGEST_REASON,
            chosen=form.text("vote") if form else "",
            reason=form.text("reason") if form else "",
            problem=None if error is None else _problem(error),
        )

    def action(self, form: SubmittedForm, key: SentKey) -> ReleaseAction:
        """The visitor's action on the release, with the reason in the form."""
        return ReleaseAction(
            str(self.evidence.bundle),
            self.site.workspace,
            self.visitor.account.name,
            form.text("reason").replace("\r\n", "\n"),
            self.release.recipient,
            key,
            clock=self.site.clock,
        )

    def act(
        self, action: Literal["vote", "revoke"], form: SubmittedForm, perform: Callable[[SentKey], str]
    ) -> Response:
        """Perform an action once, on the release as the form showed it; on an error, show the form again."""
        login = self.visitor.account.login
        self.site.limit(self.site.limits.actions, login)
        if not self.visitor.session.redeem(form.text("once")):
            raise Refused(
                HTTPStatus.CONFLICT,
                "This form was sent already",
                "It is accepted once. The page of the release shows the result.",
            )
        if (form.text("record"), form.text("last")) != (self.evidence.record_sha256, self.evidence.last):
            raise Refused(
                HTTPStatus.CONFLICT,
                "The release has changed",
                "Nothing was done: the release differs from the one that the form showed. Look at the release again.",
            )
        key = SentKey(form.files.get("key", b""), form.text("passphrase"))
        try:
            if self.site.settings.signed_only and self.evidence.key is None:
                raise BadInput(
                    "a signature is required", expected="a registered key: releasegate key create", got="no key"
                )
            with acting_as(f"{login} (reviewer's page)"):
                notice = perform(key)
        except TamperingFound:
            raise
        except ReleasegateError as error:
            return self.show(action, form, error)
        log.info("%s by %s", action, login)
        self.visitor.session.notice = notice
        return see_other(f"/releases/{self.release.release_id}/{self.release.recipient}")


def _action_page(
    request: Request, site: CurrentSite, visitor: CurrentVisitor, release_id: ReleaseId, recipient: RecipientId
) -> ActionPage:
    release = find_release(site, visitor, release_id, recipient)
    return ActionPage(request, site, visitor, release, read_evidence(site, visitor, release))


CurrentPage = Annotated[ActionPage, Depends(_action_page)]


@router.get("/releases/{release_id}/{recipient}/vote")
def show_vote(page: CurrentPage) -> Response:
    """The form to vote."""
    why = why_no_vote(page.visitor, page.evidence)
    if why:
        raise not_allowed(why)
    return page.show("vote")


@router.post("/releases/{release_id}/{recipient}/vote")
def vote(form: PostedForm, page: CurrentPage) -> Response:
    """Cast a vote."""
    if not page.visitor.has(Duty.REVIEWER):
        raise not_allowed("Your account has no reviewer role.")
    chosen = form.text("vote")

    def cast(key: SentKey) -> str:
        if chosen not in {"approve", "reject"}:
            raise BadInput("no vote was chosen", expected="approve or reject", got="neither")
        return _vote_notice(cast_vote(page.action(form, key), "approve" if chosen == "approve" else "reject"))

    return page.act("vote", form, cast)


@router.get("/releases/{release_id}/{recipient}/revoke")
def show_revocation(page: CurrentPage) -> Response:
    """The form to revoke a release."""
    if not may_revoke(page.visitor, page.evidence):
        raise not_allowed(_WHO_REVOKES)
    return page.show("revoke")


@router.post("/releases/{release_id}/{recipient}/revoke")
def revoke_release(form: PostedForm, page: CurrentPage) -> Response:
    """Revoke a release."""
    if not page.visitor.has(Duty.OFFICER, Duty.REQUESTER):
        raise not_allowed(_WHO_REVOKES)

    def take_back(key: SentKey) -> str:
        if form.text("sure") != "yes":
            raise BadInput("the revocation is not confirmed", expected="a tick in the last box", got="no tick")
        revoke(page.action(form, key))
        return f"The release to {page.release.organisation} is revoked. Nothing more is delivered under it."

    return page.act("revoke", form, take_back)


def _problem(error: ReleasegateError) -> dict[str, str]:
    """The problem for the page; without details of the machine's files and disks."""
    shown = {"what": sentence(error.what), "expected": "", "got": ""}
    if isinstance(error, WorkspaceError) and error.where != SENT:
        return shown
    return shown | {"expected": error.expected, "got": error.got}


def _vote_notice(voted: Voted) -> str:
    """The notice after a vote; it reveals no vote while one is missing."""
    counted = f"{'Your new vote' if voted.replaced else 'Your vote'} was counted: {voted.votes} of {voted.required}."
    if voted.standing.state is State.AWAITING_REVIEW:
        return f"{counted} It stays secret until all votes are in; until then you may vote again, which replaces it."
    return f"{counted} The release is now {voted.standing.state.value}."

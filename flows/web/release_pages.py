"""One recipient's release: its page with the evidence, documents, figures, votes and revocation.

Votes and revocations have a name, a reason and, if one is registered, a key. The private key comes with the form, is
opened for one signature and forgotten; it is in no session and on no disk (``docs/decisions.md``, 22). A form can be
sent once, and applies to the release as its page showed it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from http import HTTPStatus
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Path
from fastapi.responses import Response

from flows.actions.overruling import revoke, roles_to_revoke
from flows.actions.reviewing import Voted, cast_vote
from flows.people.account import Duty
from flows.people.signing import SentKey
from flows.releases.cases import ReleaseAction
from flows.releases.submissions import check_not_submitter
from flows.web.authentication import CurrentVisitor, PostedForm, SubmittedForm
from flows.web.board_pages import problem_in_words
from flows.web.current_state import banner
from flows.web.evidence import Evidence, IndexedRelease, evidence
from flows.web.http import Refused, not_allowed, not_found, query, see_other, sentence
from flows.web.jobs import Job, JobKind, JobState
from flows.web.ledger_pages import casting_logins, entry_view
from flows.web.site import REVOKES, Visitor, fields, log
from flows.workspace.actor import acting_as
from reports.model.record_view import RecordView
from reports.model.statements import not_assessed, verdict_box
from tasks.audit.current import CurrentCase
from tasks.core.errors import BadInput, ReleasegateError, StageFailed, TamperingFound
from tasks.core.people import WorkflowRole, same_person
from tasks.decision.record import GateResult, Verdict
from tasks.decision.standing import officer_of, reviewer_of
from tasks.decision.states import State, StateChange, can_follow
from tasks.decision.verdict import is_over
from tasks.decision.votes import LONGEST_REASON
from tasks.ledger.entry import Event

router = APIRouter()

FormName = Literal["vote", "revoke", "override", "reopen", "comment"]
"""Actions with a form of their own: its template and the end of its address."""
_UNCHANGED = {
    Verdict.APPROVED: (State.APPROVED, State.RELEASED),
    Verdict.AWAITING_REVIEW: (State.AWAITING_REVIEW,),
    Verdict.BLOCKED: (State.BLOCKED,),
}
"""States in which a release still has the gate's verdict."""
DRAWING = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox"
"""Content security policy of a figure opened alone: inline styles of its shapes, nothing else."""
_DONE = {"vote": "a vote was cast", "revoke": "a release was revoked"}
"""Lines of the log."""
_ROWS = 25
_WHO: dict[str, str] = {
    "revoke": "A release is revoked by the person who requested it, or by an officer.",
    "override": "Failed gates are overridden by an officer of the policy who did not ask for the release, where the "
    "policy lets them.",
    "reopen": "A rejected release is reopened by an officer of its policy, up to its last day.",
    "comment": "Comments are written by its requester, by reviewers and by officers.",
}
"""People who may perform an action."""


@dataclass(frozen=True)
class ShownRelease:
    """One recipient's release, for a visitor who may see it."""

    visitor: Visitor
    listed: IndexedRelease
    found: Evidence
    jobs: Mapping[JobKind, JobState | None]
    """Explanation and re-assessment as they stood before the ledger was read: what an ended one recorded is in it."""

    def why_no_vote(self) -> str:
        """Reason that the visitor has no vote on it; empty if they have one."""
        if self.found.standing.state is not State.AWAITING_REVIEW:
            return "It does not await votes."
        if self.found.standing.awaits_signature:
            return "Votes wait for the expert's signature on the determination."
        if not self.visitor.has(Duty.REVIEWER):
            return "Your account has no reviewer role."
        try:
            reviewer_of(self.found.record, self.visitor.account.name, self.found.answering)
            account = self.visitor.account
            signed, logins = self.found.key is not None, self.found.logins
            place = self.visitor.site.workspace
            check_not_submitter(place, self.found.record, account.login, account.person, signed=signed, logins=logins)
        except BadInput as error:
            return sentence(error.what)
        return ""

    def barred(self, action: FormName) -> str:
        """Reason that an action is not the visitor's now; empty if it is."""
        if action == "vote":
            return self.why_no_vote()
        allowed = {
            "revoke": self.may_revoke(),
            "override": bool(self.overridable),
            "reopen": self.may_reopen,
            "comment": self.may_comment,
        }
        return "" if allowed[action] else _WHO[action]

    def needs_key(self, action: str) -> bool:
        """Whether an action is accepted only with a signature, by the settings or, of a vote, by the policy."""
        return self.visitor.site.settings.signed_only or (action == "vote" and self.found.record.signed_votes)

    def may_revoke(self) -> bool:
        """Whether the visitor may revoke it in its present state."""
        if not self.visitor.has(*REVOKES):
            return False
        is_officer = self.found.is_officer and self.visitor.has(Duty.OFFICER)
        try:
            roles = roles_to_revoke(self.found.record, self.visitor.account.name, is_officer=is_officer)
        except BadInput:
            return False
        return any(can_follow(self.found.standing.state, StateChange.REVOKE, role) for role in roles)

    @cached_property
    def current(self) -> CurrentCase:
        """The case as it stands today."""
        return CurrentCase(self.listed.case, self.visitor.site.clock().date())

    @property
    def is_own(self) -> bool:
        """Whether the visitor is its requester."""
        return self.visitor.has(Duty.REQUESTER) and self.listed.is_by(self.visitor.account.name)

    @property
    def _is_requester(self) -> bool:
        """Whether the visitor is its requester, and enrolled as one today."""
        return self.is_own and self.visitor.acts_as(Duty.REQUESTER)

    @property
    def may_comment(self) -> bool:
        """Whether the visitor may comment on it."""
        return self._is_requester or self.visitor.acts_as(Duty.REVIEWER, Duty.OFFICER)

    @property
    def may_have_explained(self) -> bool:
        """Whether the visitor may have it explained, as the one person of a studio may."""
        return self.may_comment or self.visitor.site.door is not None

    @property
    def may_reassess(self) -> bool:
        """Whether the visitor may have its copy assessed again."""
        may = self._is_requester or self.visitor.acts_as(Duty.OFFICER)
        return may and self.listed.case.released is not None

    def _is_officer(self, change: StateChange) -> bool:
        """Whether the visitor is an officer of its policy who may make a change in its present state."""
        if not self.visitor.has(Duty.OFFICER):
            return False
        try:
            officer_of(self.found.record, self.visitor.account.name)
        except BadInput:
            return False
        return can_follow(self.found.standing.state, change, WorkflowRole.OFFICER)

    @property
    def overridable(self) -> tuple[GateResult, ...]:
        """Failed gates that the visitor, as an officer, may override; none where another failed too."""
        record = self.found.record
        failed = tuple(gate for gate in record.gates if not gate.passed and not gate.overridden)
        may = record.decision is Verdict.BLOCKED and self._is_officer(StateChange.OVERRIDE)
        return failed if may and failed and all(gate.id in record.overridable for gate in failed) else ()

    @property
    def may_reopen(self) -> bool:
        """Whether the visitor may put it before its reviewers again."""
        record, today = self.found.record, self.visitor.site.clock().date()
        rejected = record.decision is not Verdict.BLOCKED and not is_over(record.valid_until, today)
        return rejected and self._is_officer(StateChange.REOPEN)

    @property
    def may_expire(self) -> bool:
        """Whether the visitor may record that it has expired."""
        stands = self.found.standing
        due = stands.state is State.EXPIRED and not stands.expiry_recorded
        return due and self.visitor.acts_as(Duty.OFFICER)

    def page(self, template: str, *, status: HTTPStatus = HTTPStatus.OK, **context: object) -> Response:
        """A page about it."""
        own_name = self.visitor.account.name
        return self.visitor.page(
            template,
            status=status,
            small_cell=self.found.record.policy.small_cell,
            listed=self.listed,
            found=self.found,
            has_voted=any(same_person(own_name, name) for name in self.found.standing.commitments),
            **context,
        )

    def form(
        self,
        action: FormName,
        sent: SubmittedForm | None = None,
        error: ReleasegateError | None = None,
        **context: object,
    ) -> Response:
        """The form of an action, empty or with what was sent and the error that it caused."""
        status = HTTPStatus.OK
        if error is not None:
            status = HTTPStatus.CONFLICT if isinstance(error, StageFailed) else HTTPStatus.UNPROCESSABLE_ENTITY
        site, place = self.visitor.site, self.visitor.request.url.path
        draft = {} if sent else site.drafts.take(self.visitor.account.login, place, site.clock())
        written = sent.fields if sent else draft
        return self.page(
            f"{action}.html",
            status=status,
            once=self.visitor.session.issue(),
            signed_only=self.needs_key(action),
            longest=LONGEST_REASON,
            chosen=written.get("vote", ""),
            reason=written.get("reason", ""),
            ticked=[name for name in written if name.startswith("gate.")],
            drafted=bool(draft),
            problem=None if error is None else problem_in_words(error),
            **context,
        )

    def act(
        self,
        action: FormName,
        sent: SubmittedForm,
        perform: Callable[[ReleaseAction], str],
        **context: object,
    ) -> Response:
        """Perform an action once, on the release as the form showed it; on an error, show the form again.

        `context` is what the form's page needs.
        """
        site, account, session = self.visitor.site, self.visitor.account, self.visitor.session
        self.visitor.use_form(sent.text("once"))
        if (sent.text("record"), sent.text("last")) != (self.found.record_sha256, self.found.last):
            raise Refused(
                HTTPStatus.CONFLICT,
                "The release has changed",
                "Nothing was done: the release differs from the one that the form showed. Look at the release again.",
            )
        asked = ReleaseAction(
            str(self.found.bundle),
            site.workspace,
            account.person or account.name,
            sent.text("reason").replace("\r\n", "\n"),
            self.listed.recipient,
            SentKey(sent.files.get("key", b""), sent.text("passphrase")),
            clock=site.clock,
        )
        try:
            if self.needs_key(action) and self.found.key is None:
                needed = "a registered key; register one on the page of your account"
                raise BadInput("a signature is required", expected=needed, got="no key")
            with acting_as(self.visitor.actor):
                session.notice = perform(asked)
        except TamperingFound:
            raise
        except ReleasegateError as error:
            return self.form(action, sent, error, **context)
        release = {"release": self.listed.release_id, "recipient": self.listed.recipient}
        log.info(_DONE.get(action, f"{action} of a release"), extra=fields(login=account.login, **release))
        return see_other(f"/releases/{self.listed.release_id}/{self.listed.recipient}")


def _shown(
    visitor: CurrentVisitor,
    release_id: Annotated[str, Path(pattern=r"^[0-9a-f]{64}$")],
    recipient: Annotated[str, Path(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")],
) -> ShownRelease:
    """The release of an address; a visitor who may not see it does not learn whether it exists."""
    jobs = {
        kind: visitor.site.jobs.state(_job(visitor, release_id, recipient, kind))
        for kind in (JobKind.EXPLAIN, JobKind.REASSESS)
    }
    own = (one for one in visitor.seen() if (one.release_id, one.recipient) == (release_id, recipient))
    listed = next(own, None)
    if listed is None:
        raise not_found()
    found = evidence(visitor.site.workspace, release_id, recipient, visitor.site.clock(), who=visitor.account.name)
    return ShownRelease(visitor, listed, found, jobs)


CurrentRelease = Annotated[ShownRelease, Depends(_shown)]


@router.get("/releases/{release_id}/{recipient}")
def show(release: CurrentRelease) -> Response:
    """Verdict, gates, figures, documents, other releases to the recipient, history."""
    from reports.determination import charts  # noqa: PLC0415 - imports every method: a second, and 80 MB
    from reports.for_reviewers import leaving_columns, unjudged  # noqa: PLC0415

    visitor, listed, found = release.visitor, release.listed, release.found
    everything = visitor.seen()
    earlier = [
        one
        for one in everything
        if one.recipient == listed.recipient and one.release_id != listed.release_id and one.case.released is not None
    ]
    others = [one for one in everything if one.release_id == listed.release_id and one.recipient != listed.recipient]
    logins = casting_logins(found.entries)
    record, history = found.record, [entry_view(entry, logins) for entry in found.entries]
    may = {JobKind.EXPLAIN: release.may_have_explained, JobKind.REASSESS: release.may_comment}
    jobs = {kind.value: state for kind, state in release.jobs.items() if may[kind]}
    return release.page(
        "release.html",
        record=record,
        now=banner(record, found.standing, release.current),
        verdict=verdict_box(record),
        blocked=record.decision is Verdict.BLOCKED,
        moved_on=found.standing.state.value not in _UNCHANGED[record.decision]
        or (record.expert_signs and not found.standing.unsigned),
        gates=RecordView(record).gates,
        overridden=[gate for gate in record.gates if gate.overridden],
        unjudged=unjudged(record),
        columns=leaving_columns(record),
        missing=not_assessed(record),
        figures=tuple(charts(record).values()),
        earlier=earlier[:_ROWS],
        further=len(earlier[_ROWS:]),
        everywhere=query({"show": "all", "q": listed.recipient}),
        others=others,
        history=history,
        hand_ins=() if visitor.site.requests is None else visitor.site.requests.hand_ins(listed.release_id),
        cast_from={reviewer: login for (_, _, reviewer), login in logins.items()},
        again=[one for one in history if one.entry.event is Event.REASSESSED][-1:],
        reassessments=[one for one in history if one.entry.event is Event.REASSESSED][::-1],
        barred=release.why_no_vote(),
        may_revoke=release.may_revoke(),
        shown=release,
        jobs=jobs,
        once=visitor.form_token(*(f"job-{name}" for name, state in jobs.items() if state and state.is_running)),
        longest=LONGEST_REASON,
    )


def job_of(release: ShownRelease, kind: JobKind) -> Job:
    """A job about the release."""
    return _job(release.visitor, release.listed.release_id, release.listed.recipient, kind)


def _job(visitor: Visitor, release_id: str, recipient: str, kind: JobKind) -> Job:
    """A job of a visitor; a re-assessment is one of all copies of a release."""
    return Job(kind, release_id, "" if kind is JobKind.REASSESS else recipient, visitor.actor)


@router.get("/releases/{release_id}/{recipient}/documents/{name}")
def document(release: CurrentRelease, name: str) -> Response:
    """A file of the bundle, as recorded."""
    wanted = next((one for one in release.found.documents if one.key == name), None)
    if wanted is None:
        raise not_found()
    short = f"{release.listed.release_id[:12]}-{release.listed.recipient}-{wanted.key}"
    return Response(
        release.found.read(wanted),
        media_type="application/pdf" if wanted.is_pdf else "application/json",
        headers={"Content-Disposition": f'{"inline" if wanted.is_pdf else "attachment"}; filename="{short}"'},
    )


@router.get("/releases/{release_id}/{recipient}/figures/{name}.svg")
def figure(release: CurrentRelease, name: str) -> Response:
    """One of the report's figures."""
    from reports.determination import charts  # noqa: PLC0415 - imports every method

    drawn = charts(release.found.record).get(name)
    if drawn is None:
        raise not_found()
    return Response(drawn.svg, media_type="image/svg+xml", headers={"Content-Security-Policy": DRAWING})


@router.post("/releases/{release_id}/{recipient}/vote")
def vote(form: PostedForm, release: CurrentRelease) -> Response:
    """Cast a vote."""
    if not release.visitor.has(Duty.REVIEWER):
        raise not_allowed("Your account has no reviewer role.")
    chosen = form.text("vote")

    def cast(asked: ReleaseAction) -> str:
        if chosen not in {"approve", "reject"}:
            raise BadInput("no vote was chosen", expected="approve or reject", got="neither")
        return _vote_notice(cast_vote(asked, "approve" if chosen == "approve" else "reject"))

    return release.act("vote", form, cast)


@router.post("/releases/{release_id}/{recipient}/revoke")
def revoke_release(form: PostedForm, release: CurrentRelease) -> Response:
    """Revoke a release."""
    if not release.visitor.has(*REVOKES):
        raise not_allowed(_WHO["revoke"])

    def take_back(asked: ReleaseAction) -> str:
        if form.text("sure") != "yes":
            raise BadInput("the revocation is not confirmed", expected="a tick in the last box", got="no tick")
        revoke(asked)
        return f"The release to {release.listed.organisation} is revoked. Nothing more is delivered under it."

    return release.act("revoke", form, take_back)


def _vote_notice(voted: Voted) -> str:
    """The notice after a vote; it reveals no vote while one is missing."""
    counted = f"{'Your new vote' if voted.replaced else 'Your vote'} was counted: {voted.votes} of {voted.required}."
    if voted.standing.state is State.AWAITING_REVIEW:
        return f"{counted} It stays secret until all votes are cast; until then you may vote again, which replaces it."
    state = voted.standing.state
    words = "approved and delivered" if state is State.RELEASED else state.value
    return f"{counted} The release is now {words}."

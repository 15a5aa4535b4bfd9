"""The board: every request from received to ended in one list, and a request that has no decision yet.

Decided releases come from the ledger; others from the service's queue, where one runs, and from the ledger where the
command has refused them.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Depends, Path
from fastapi.responses import Response

from flows.people.account import Duty
from flows.people.signing import SENT
from flows.queue.undecided import UNDER_WAY, BoardRequest, BoardState
from flows.web.authentication import CurrentVisitor, PostedForm
from flows.web.evidence import IndexedRelease
from flows.web.http import not_allowed, not_found, number_of, query, see_other, sentence
from flows.web.jobs import Job, JobKind
from flows.web.request_board import RequestBoard
from flows.web.site import Visitor, fields, log
from tasks.audit.current import BLOCKED_TODAY, LAPSING, OVERDUE, CurrentCase
from tasks.audit.history import text
from tasks.core.errors import BadInput, ReleasegateError, WorkspaceError
from tasks.core.people import login_of
from tasks.core.plural import plural
from tasks.decision.standing import AWAITING_SIGNATURE
from tasks.decision.states import State
from tasks.decision.votes import LONGEST_REASON

router = APIRouter()

_ROWS = 25
_LONGEST = 200
_STATES = (
    *(state.value for state in BoardState),
    State.AWAITING_REVIEW.value,
    AWAITING_SIGNATURE,
    State.BLOCKED.value,
    State.APPROVED.value,
    State.RELEASED.value,
    BLOCKED_TODAY,
    OVERDUE,
    LAPSING,
    State.EXPIRED.value,
    State.REVOKED.value,
    State.SUPERSEDED.value,
)
"""States and alarms by which the board filters, in the order of a release's life."""
ALARMS = (BLOCKED_TODAY, OVERDUE, LAPSING)
_WHO_ACTS = "A request is cancelled or submitted again by the person who made it, or by an officer."


@dataclass(frozen=True)
class BoardRow:
    """A line of the board: a recipient's release, or a request without a decision."""

    place: str
    """Address of its page."""
    id: str
    title: str
    recipients: tuple[tuple[str, str], ...]
    """Organisation and id of each recipient."""
    purposes: tuple[str, ...]
    agreements: tuple[str, ...]
    state: str
    alarms: tuple[str, ...]
    told: str
    """Note on its state, such as its stage."""
    requested_by: str
    at: datetime
    """Time at which it was decided, received or last changed."""
    release: IndexedRelease | None = None
    record: str = ""
    """Address of the re-assessment that would block it; empty for none."""

    @classmethod
    def of_release(cls, one: IndexedRelease, current: CurrentCase) -> "BoardRow":
        """The line of a release."""
        kept = one.case.kept
        told = [f"since {one.case.outcome.at:%Y-%m-%d}"]
        if one.awaits:
            told = [f"{len(one.voted)} of {kept.reviews_required} votes cast"]
        if current.days_late:
            told.append(f"re-assessment {plural(current.days_late, 'day')} late")
        if LAPSING in current.alarms and current.days_left is not None:
            told.append(f"{plural(current.days_left, 'day')} left")
        return cls(
            place=f"/releases/{one.release_id}/{one.recipient}",
            id=one.release_id,
            title=one.title,
            recipients=((one.organisation, one.recipient),),
            purposes=(kept.purpose,),
            agreements=(kept.agreement.id,),
            state=current.state,
            alarms=current.alarms,
            told="; ".join(told),
            requested_by=one.requested_by,
            at=one.case.decided.at,
            release=one,
            record=_record(one, current),
        )

    @classmethod
    def of_request(cls, one: BoardRequest) -> "BoardRow":
        """The line of a request without a decision."""
        told = f"since {one.since:%Y-%m-%d %H:%M}"
        if one.steps:
            told = f"stage {len(one.steps)}: {one.steps[-1].text}"
        elif one.not_before is not None:
            told = f"attempt {one.attempt} from {one.not_before:%Y-%m-%d %H:%M} on"
        elif one.reason:
            told = one.reason.get("what", told)
        return cls(
            place=f"/releases/queue/{one.id}",
            id=one.id,
            title=one.title,
            recipients=tuple((to.organisation, to.id) for to in one.recipients),
            purposes=tuple(to.purpose for to in one.recipients if to.purpose),
            agreements=tuple(to.agreement for to in one.recipients if to.agreement),
            state=one.state.value,
            alarms=(),
            told=told,
            requested_by=one.requester or one.handed_in_by,
            at=one.since,
        )

    @property
    def asks_for_action(self) -> bool:
        """Whether somebody is to do something, or it is under way."""
        waits = self.release is not None and self.release.awaits
        return waits or bool(self.alarms) or self.state == BLOCKED_TODAY or self.state in UNDER_WAY

    def mentions(self, sought: str) -> bool:
        """Whether its title, its id or a name holds a text, in any case of letters."""
        texts = (self.title, self.id, self.requested_by, *(name for pair in self.recipients for name in pair))
        return any(sought.casefold() in text.casefold() for text in texts)


def _record(one: IndexedRelease, current: CurrentCase) -> str:
    again = current.reassessed
    if not current.is_blocked_today or again is None or text(again, "reassessment_sha256") is None:
        return ""
    return f"/releases/{one.release_id}/{one.recipient}/reassessments/{again.sequence}"


_FILTERS: Mapping[str, tuple[str, Callable[[BoardRow], Iterable[str]]]] = {
    "purpose": ("Purpose", lambda row: row.purposes),
    "agreement": ("Agreement", lambda row: row.agreements),
    "recipient": ("Recipient", lambda row: (who for _, who in row.recipients)),
}
"""Filters besides the state: label, and the values of a line."""


def is_own(visitor: Visitor, one: BoardRequest) -> bool:
    """Whether a request is the visitor's: asked for or submitted by them."""
    account = visitor.account
    asked_for = bool(account.person) and account.person == one.requester
    return asked_for or any(login_of(hand_in.by) == account.login for hand_in in one.hand_ins)


def board_rows(visitor: Visitor) -> list[BoardRow]:
    """Every line that a visitor may see, the latest first."""
    today = visitor.site.clock().date()
    rows = [BoardRow.of_release(one, CurrentCase(one.case, today)) for one in visitor.seen()]
    rows += [BoardRow.of_request(one) for one in _seen(visitor)]
    return sorted(rows, key=lambda row: row.at, reverse=True)


def _seen(visitor: Visitor) -> list[BoardRequest]:
    """Requests without a decision that a visitor may see: of the queue, and of the command by the ledger."""
    site = visitor.site
    found = {one.id: one for one in site.releases.undecided(site.clock().date())}
    found |= {} if site.requests is None else {one.id: one for one in site.requests.all()}
    return [one for one in found.values() if visitor.sees_all or is_own(visitor, one)]


@router.get("/releases")
def board(visitor: CurrentVisitor) -> Response:
    """Requests and releases by state, purpose, agreement, recipient and words."""
    asked = visitor.request.query_params
    show, sought = asked.get("show", ""), asked.get("q", "").strip()[:100]
    chosen = {name: asked.get(name, "")[:_LONGEST] for name in _FILTERS}
    rows = board_rows(visitor)
    name, votes = visitor.account.name, visitor.has(Duty.REVIEWER)
    mine = [row for row in rows if votes and row.release is not None and row.release.needs_vote_of(name)]
    waiting = [row for row in rows if row.release is not None and row.release.awaits]
    acting = [row for row in rows if row.asks_for_action]
    counts = Counter(word for row in rows for word in (row.state, *row.alarms))
    shown: Sequence[BoardRow] = {"mine": mine, "waiting": waiting, "all": rows}.get(show, acting)
    if show in _STATES:
        shown = [row for row in rows if show in (row.state, *row.alarms)]
    found = [
        row
        for row in shown
        if (not sought or row.mentions(sought))
        and all(not chosen[name] or chosen[name] in values(row) for name, (_, values) in _FILTERS.items())
    ]
    pages = max(1, -(-len(found) // _ROWS))
    page = min(max(1, number_of(asked.get("page", ""))), pages)
    return visitor.page(
        "board.html",
        rows=found[(page - 1) * _ROWS : page * _ROWS],
        page=page,
        pages=pages,
        before=query(asked, page=str(page - 1)),
        after=query(asked, page=str(page + 1)),
        show=show if show in {"mine", "waiting", "all", *_STATES} else "acting",
        votes=votes,
        sought=sought,
        mine=mine,
        waiting=waiting,
        acting=acting,
        seen=rows,
        found=found,
        states=[(name, counts[name]) for name in _STATES if counts[name] or name == show],
        alarms=[(name, counts[name], query({"show": name})) for name in ALARMS if counts[name]],
        filters=[
            (name, label, sorted({value for row in rows for value in values(row)}), chosen[name])
            for name, (label, values) in _FILTERS.items()
        ],
        narrowed=bool(sought or any(chosen.values())),
    )


@dataclass(frozen=True)
class ShownRequest:
    """A request without a decision, for a visitor who may see it."""

    visitor: Visitor
    desk: RequestBoard | None
    """The queue that has it; None where only the ledger knows it."""
    found: BoardRequest

    @property
    def may_act(self) -> bool:
        """Whether the visitor may cancel it or submit it again."""
        if self.desk is None:
            return False
        own = is_own(self.visitor, self.found) and self.visitor.acts_as(Duty.REQUESTER)
        return own or self.visitor.acts_as(Duty.OFFICER)

    @property
    def trial(self) -> Job:
        """Its dry run."""
        return Job(JobKind.DRY_RUN, self.found.id, by=self.visitor.actor)

    def page(self, error: ReleasegateError | None = None, reason: str = "") -> Response:
        """Its page, with the error that an action has caused."""
        trial = self.visitor.site.jobs.state(self.trial) if self.may_act else None
        return self.visitor.page(
            "request.html",
            status=HTTPStatus.OK if error is None else HTTPStatus.UNPROCESSABLE_ENTITY,
            one=self.found,
            may_act=self.may_act,
            longest=LONGEST_REASON,
            reason=reason,
            trial=trial,
            problem=None if error is None else problem_in_words(error),
            once=self.visitor.form_token("request", *(["job-dry-run"] if trial and trial.is_running else [])),
        )

    def act(self, sent: PostedForm, perform: Callable[[RequestBoard, str], str]) -> Response:
        """Perform an action once, in the visitor's name; returns the page of the request, or of what came of it."""
        visitor, account = self.visitor, self.visitor.account
        if self.desk is None or not self.may_act:
            raise not_allowed(_WHO_ACTS)
        visitor.use_form(sent.text("once"))
        try:
            place = perform(self.desk, f"{account.name} ({account.login})")
        except ReleasegateError as error:
            return self.page(error, sent.text("reason"))
        log.info(visitor.request.url.path.rsplit("/", 1)[1], extra=fields(login=account.login))
        return see_other(place)


_RequestId = Annotated[str, Path(pattern=r"^[0-9a-f]{64}$")]


def _found(visitor: Visitor, name: str) -> ShownRequest | None:
    site, desk = visitor.site, visitor.site.requests
    found = None if desk is None else desk.get(name)
    if found is None:
        desk = None
        found = next((one for one in site.releases.undecided(site.clock().date()) if one.id == name), None)
    if found is None or not (visitor.sees_all or is_own(visitor, found)):
        return None
    return ShownRequest(visitor, desk, found)


def _shown_request(visitor: CurrentVisitor, name: _RequestId) -> ShownRequest:
    """The request of an address; a visitor who may not see it does not learn whether it exists."""
    shown = _found(visitor, name)
    if shown is None:
        raise not_found()
    return shown


CurrentRequest = Annotated[ShownRequest, Depends(_shown_request)]


@router.get("/releases/queue/{name}")
def show_request(visitor: CurrentVisitor, name: _RequestId) -> Response:
    """A request without a decision: its stage, its reason, and what can be done. One that was decided is a release."""
    shown = _found(visitor, name)
    if shown is not None:
        return shown.page()
    decided = next((one for one in visitor.seen() if one.release_id == name), None)
    if decided is None:
        raise not_found()
    place = f"/releases/{decided.release_id}/{decided.recipient}"
    return Response(headers={"HX-Redirect": place}) if visitor.is_part else see_other(place)


@router.post("/releases/queue/{name}/cancel")
def cancel(form: PostedForm, shown: CurrentRequest) -> Response:
    """Cancel it."""

    def perform(desk: RequestBoard, by: str) -> str:
        state = desk.cancel(shown.found.id, by, form.text("reason").replace("\r\n", "\n"))
        ended = state is BoardState.CANCELLED
        shown.visitor.session.notice = (
            "The request is cancelled." if ended else "The run ends before its next stage, and nothing will be decided."
        )
        return f"/releases/queue/{shown.found.id}"

    return shown.act(form, perform)


@router.post("/releases/queue/{name}/retry")
def retry(form: PostedForm, shown: CurrentRequest) -> Response:
    """Submit it again as it was received."""

    def perform(desk: RequestBoard, by: str) -> str:
        name = desk.retry(shown.found.id, by)
        shown.visitor.session.notice = "The request is in the queue again."
        return f"/releases/queue/{name}"

    return shown.act(form, perform)


@router.post("/releases/queue/{name}/dry-run")
def dry_run(form: PostedForm, shown: CurrentRequest) -> Response:
    """Compute the figures of its quick gates; nothing is recorded."""

    def perform(*_: object) -> str:
        document = shown.found.document
        if document is None:
            raise BadInput(
                "the document was not kept",
                where="queue",
                expected="a request whose document is kept",
                got="none",
                fix="submit the request as a new one",
            )
        roots = [str(root) for root in shown.found.roots]
        shown.visitor.site.jobs.start(
            shown.trial, document=str(document), roots=roots, handed_in_by=shown.found.handed_in_by
        )
        return f"/releases/queue/{shown.found.id}#trial"

    return shown.act(form, perform)


def problem_in_words(error: ReleasegateError) -> dict[str, str]:
    """The problem for the page; without details of the machine's files and disks."""
    shown = {"what": sentence(error.what), "expected": "", "got": ""}
    if isinstance(error, WorkspaceError) and error.where != SENT:
        return shown
    return shown | {"expected": error.expected, "got": error.got}

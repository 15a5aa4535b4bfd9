"""The queue, and what one recipient's release rests on."""

import re
from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response

from flows.accounts import Duty
from flows.web.entries import told
from flows.web.evidence import Evidence, evidence
from flows.web.paging import Page, number_of, query
from flows.web.register import Listed
from flows.web.site import REVOKES, Site, Visitor, not_found
from flows.web.visiting import Present, TheSite
from reports import statements
from reports.figures import figures
from reports.gates import gate_rows
from tasks.decision.people import reviewer_of, revoking_roles
from tasks.decision.record import Verdict
from tasks.decision.states import Change, State, can_follow
from tasks.errors import BadInput
from tasks.ledger.entry import Event

router = APIRouter()

ReleaseId = Annotated[str, Path(pattern=r"^[0-9a-f]{64}$")]
Recipient = Annotated[str, Path(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")]
_SAID = {
    Verdict.APPROVED: (State.APPROVED, State.RELEASED),
    Verdict.AWAITING_REVIEW: (State.AWAITING_REVIEW,),
    Verdict.BLOCKED: (State.BLOCKED,),
}
"""States in which a release still is what the gate said of it."""
_DRAWING = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox"
"""For a figure that is opened alone: its shapes carry their styles themselves, and it can do nothing else."""
_FIGURE = re.compile(r"[a-z_]{1,40}")
_ROWS = 25


@router.get("/releases")
def queue(request: Request, site: TheSite, visitor: Present) -> Response:
    """Releases that await review, or all of them."""
    seen = visible(site, visitor)
    show = request.query_params.get("show", "")
    sought = request.query_params.get("q", "").strip()[:100]
    mine = [one for one in seen if visitor.has(Duty.REVIEWER) and one.asks(visitor.account.name)]
    waiting = [one for one in seen if one.awaits]
    chosen: Sequence[Listed] = {"mine": mine, "all": seen}.get(show, waiting)
    found = [one for one in chosen if _matches(one, sought)]
    return site.page(
        request,
        "queue.html",
        visitor,
        page=Page.of(found, number_of(request.query_params.get("page", "")), _ROWS, request.query_params),
        show=show if show in {"mine", "all"} else "waiting",
        votes=visitor.has(Duty.REVIEWER),
        sought=sought,
        mine=mine,
        waiting=waiting,
        seen=seen,
        found=found,
    )


@router.get("/releases/{release_id}/{recipient}")
def show(request: Request, site: TheSite, visitor: Present, release_id: ReleaseId, recipient: Recipient) -> Response:
    """One recipient's release: verdict, gates, figures, documents, what else the recipient has got, history."""
    listed = one_of(site, visitor, release_id, recipient)
    found = read(site, visitor, listed)
    everything = site.register.all(site.clock().date())
    elsewhere = [one for one in everything if one.recipient == recipient and one.release_id != release_id]
    earlier = [one for one in elsewhere if one.case.released is not None and _is_seen(visitor, one)]
    record, history = found.record, [told(entry) for entry in found.entries]
    return site.page(
        request,
        "release.html",
        visitor,
        small_cell=record.policy.small_cell,
        listed=listed,
        found=found,
        record=record,
        verdict=statements.verdict_text(record),
        blocked=record.decision is Verdict.BLOCKED,
        moved_on=found.standing.state.value not in _SAID[record.decision],
        gates=gate_rows(record),
        overridden=[gate for gate in record.gates if gate.overridden],
        missing=statements.not_assessed(record),
        figures=tuple(figures(record).values()),
        earlier=earlier[:_ROWS],
        further=len(earlier[_ROWS:]),
        everywhere=query({"show": "all", "q": recipient}),
        others=[
            one
            for one in everything
            if one.release_id == release_id and one.recipient != recipient and _is_seen(visitor, one)
        ],
        history=history,
        again=[one for one in history if one.event == Event.REASSESSED][-1:],
        barred=barred(visitor, found),
        has_voted=found.has_voted(visitor.account.name),
        may_revoke=may_revoke(visitor, found),
    )


@router.get("/releases/{release_id}/{recipient}/documents/{name}")
def document(site: TheSite, visitor: Present, release_id: ReleaseId, recipient: Recipient, name: str) -> Response:
    """A file of the bundle, as it was recorded."""
    found = read(site, visitor, one_of(site, visitor, release_id, recipient))
    wanted = next((one for one in found.documents if one.key == name), None)
    if wanted is None:
        raise not_found()
    short = f"{release_id[:12]}-{recipient}-{wanted.key}"
    return Response(
        found.read(wanted),
        media_type="application/pdf" if wanted.is_pdf else "application/json",
        headers={"Content-Disposition": f'{"inline" if wanted.is_pdf else "attachment"}; filename="{short}"'},
    )


@router.get("/releases/{release_id}/{recipient}/figures/{name}.svg")
def figure(site: TheSite, visitor: Present, release_id: ReleaseId, recipient: Recipient, name: str) -> Response:
    """One of the report's figures."""
    found = read(site, visitor, one_of(site, visitor, release_id, recipient))
    drawn = site.drawings.svg(found.record, found.record_sha256, name) if _FIGURE.fullmatch(name) else None
    if drawn is None:
        raise not_found()
    return Response(drawn, media_type="image/svg+xml", headers={"Content-Security-Policy": _DRAWING})


def visible(site: Site, visitor: Visitor) -> tuple[Listed, ...]:
    """The releases that a visitor may see, the newest first: all of them, or those that he has asked for."""
    return tuple(one for one in site.register.all(site.clock().date()) if _is_seen(visitor, one))


def one_of(site: Site, visitor: Visitor, release_id: str, recipient: str) -> Listed:
    """One of the releases that a visitor may see.

    Raises
    ------
    Refused
        If it is none, whether or not there is such a release.
    """
    found = site.register.find(release_id, recipient, site.clock().date())
    if found is None or not _is_seen(visitor, found):
        raise not_found()
    return found


def read(site: Site, visitor: Visitor, listed: Listed) -> Evidence:
    """What a release rests on; raises as ``evidence`` does."""
    return evidence(site.workspace, listed.release_id, listed.recipient, site.clock(), who=visitor.account.name)


def barred(visitor: Visitor, found: Evidence) -> str:
    """Why a visitor has no vote on a release; empty where he has one."""
    if found.standing.state is not State.AWAITING_REVIEW:
        return "It takes no votes."
    if not visitor.has(Duty.REVIEWER):
        return "Your account is not a reviewer's."
    try:
        reviewer_of(found.record, visitor.account.name, found.answering)
    except BadInput as error:
        return f"{error.what[:1].upper()}{error.what[1:]}."
    return ""


def may_revoke(visitor: Visitor, found: Evidence) -> bool:
    """Whether a visitor may take a release back in its present state."""
    if not visitor.has(*REVOKES):
        return False
    try:
        roles = revoking_roles(found.record, visitor.account.name)
    except BadInput:
        return False
    return any(can_follow(found.standing.state, Change.REVOKE, role) for role in roles)


def _is_seen(visitor: Visitor, listed: Listed) -> bool:
    return visitor.sees_all or listed.is_by(visitor.account.name)


def _matches(listed: Listed, sought: str) -> bool:
    texts = (listed.title, listed.organisation, listed.recipient, listed.requested_by, listed.release_id)
    return not sought or any(sought.casefold() in text.casefold() for text in texts)

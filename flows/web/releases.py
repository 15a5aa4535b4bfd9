"""The queue, and the page of one recipient's release with its evidence."""

import re
from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response

from flows.accounts import Duty
from flows.web.authentication import CurrentSite, CurrentVisitor
from flows.web.entry_views import entry_view
from flows.web.evidence import Evidence, evidence
from flows.web.paging import ListPage, number_of, query
from flows.web.release_index import IndexedRelease
from flows.web.site import REVOKES, Site, Visitor, not_found, sentence
from reports.determination import charts
from reports.record_view import gate_rows
from reports.statements import not_assessed, verdict_box
from tasks.core.errors import BadInput
from tasks.decision.people import reviewer_of, revoking_roles
from tasks.decision.record import Verdict
from tasks.decision.states import State, StateChange, can_follow
from tasks.ledger.entry import Event

router = APIRouter()

ReleaseId = Annotated[str, Path(pattern=r"^[0-9a-f]{64}$")]
RecipientId = Annotated[str, Path(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")]
_UNCHANGED = {
    Verdict.APPROVED: (State.APPROVED, State.RELEASED),
    Verdict.AWAITING_REVIEW: (State.AWAITING_REVIEW,),
    Verdict.BLOCKED: (State.BLOCKED,),
}
"""States in which a release still has the gate's verdict."""
_DRAWING = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox"
"""Content security policy of a figure opened alone: inline styles of its shapes, nothing else."""
_FIGURE = re.compile(r"[a-z_]{1,40}")
_ROWS = 25


@router.get("/releases")
def queue(request: Request, site: CurrentSite, visitor: CurrentVisitor) -> Response:
    """Releases that await review, or all of them."""
    seen = visible(site, visitor)
    show = request.query_params.get("show", "")
    sought = request.query_params.get("q", "").strip()[:100]
    mine = [one for one in seen if visitor.has(Duty.REVIEWER) and one.needs_vote_of(visitor.account.name)]
    waiting = [one for one in seen if one.awaits]
    chosen: Sequence[IndexedRelease] = {"mine": mine, "all": seen}.get(show, waiting)
    found = [one for one in chosen if _matches(one, sought)]
    return site.page(
        request,
        "queue.html",
        visitor,
        page=ListPage.of(found, number_of(request.query_params.get("page", "")), _ROWS, request.query_params),
        show=show if show in {"mine", "all"} else "waiting",
        votes=visitor.has(Duty.REVIEWER),
        sought=sought,
        mine=mine,
        waiting=waiting,
        seen=seen,
        found=found,
    )


@router.get("/releases/{release_id}/{recipient}")
def show(
    request: Request, site: CurrentSite, visitor: CurrentVisitor, release_id: ReleaseId, recipient: RecipientId
) -> Response:
    """One recipient's release: verdict, gates, figures, documents, other releases to the recipient, history."""
    listed = find_release(site, visitor, release_id, recipient)
    found = read_evidence(site, visitor, listed)
    everything = site.releases.all(site.clock().date())
    elsewhere = [one for one in everything if one.recipient == recipient and one.release_id != release_id]
    earlier = [one for one in elsewhere if one.case.released is not None and _is_seen(visitor, one)]
    record, history = found.record, [entry_view(entry) for entry in found.entries]
    return site.page(
        request,
        "release.html",
        visitor,
        small_cell=record.policy.small_cell,
        listed=listed,
        found=found,
        record=record,
        verdict=verdict_box(record),
        blocked=record.decision is Verdict.BLOCKED,
        moved_on=found.standing.state.value not in _UNCHANGED[record.decision],
        gates=gate_rows(record),
        overridden=[gate for gate in record.gates if gate.overridden],
        missing=not_assessed(record),
        figures=tuple(charts(record).values()),
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
        barred=why_no_vote(visitor, found),
        has_voted=found.has_voted(visitor.account.name),
        may_revoke=may_revoke(visitor, found),
    )


@router.get("/releases/{release_id}/{recipient}/documents/{name}")
def document(
    site: CurrentSite, visitor: CurrentVisitor, release_id: ReleaseId, recipient: RecipientId, name: str
) -> Response:
    """A file of the bundle, as recorded."""
    found = read_evidence(site, visitor, find_release(site, visitor, release_id, recipient))
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
def figure(
    site: CurrentSite, visitor: CurrentVisitor, release_id: ReleaseId, recipient: RecipientId, name: str
) -> Response:
    """One of the report's figures."""
    found = read_evidence(site, visitor, find_release(site, visitor, release_id, recipient))
    drawn = site.figures.svg(found.record, found.record_sha256, name) if _FIGURE.fullmatch(name) else None
    if drawn is None:
        raise not_found()
    return Response(drawn, media_type="image/svg+xml", headers={"Content-Security-Policy": _DRAWING})


def visible(site: Site, visitor: Visitor) -> tuple[IndexedRelease, ...]:
    """Releases that a visitor may see, newest first: all, or those that they requested."""
    return tuple(one for one in site.releases.all(site.clock().date()) if _is_seen(visitor, one))


def find_release(site: Site, visitor: Visitor, release_id: str, recipient: str) -> IndexedRelease:
    """A release that a visitor may see.

    Raises
    ------
    Refused
        If they may not see it, whether or not it exists.
    """
    found = site.releases.find(release_id, recipient, site.clock().date())
    if found is None or not _is_seen(visitor, found):
        raise not_found()
    return found


def read_evidence(site: Site, visitor: Visitor, listed: IndexedRelease) -> Evidence:
    """Evidence of a release; raises as ``evidence`` does."""
    return evidence(site.workspace, listed.release_id, listed.recipient, site.clock(), who=visitor.account.name)


def why_no_vote(visitor: Visitor, found: Evidence) -> str:
    """Why a visitor has no vote on a release; empty if they have one."""
    if found.standing.state is not State.AWAITING_REVIEW:
        return "It does not await votes."
    if not visitor.has(Duty.REVIEWER):
        return "Your account has no reviewer role."
    try:
        reviewer_of(found.record, visitor.account.name, found.answering)
    except BadInput as error:
        return sentence(error.what)
    return ""


def may_revoke(visitor: Visitor, found: Evidence) -> bool:
    """Whether a visitor may revoke a release in its present state."""
    if not visitor.has(*REVOKES):
        return False
    try:
        roles = revoking_roles(found.record, visitor.account.name)
    except BadInput:
        return False
    return any(can_follow(found.standing.state, StateChange.REVOKE, role) for role in roles)


def _is_seen(visitor: Visitor, listed: IndexedRelease) -> bool:
    return visitor.sees_all or listed.is_by(visitor.account.name)


def _matches(listed: IndexedRelease, sought: str) -> bool:
    texts = (listed.title, listed.organisation, listed.recipient, listed.requested_by, listed.release_id)
    return not sought or any(sought.casefold() in text.casefold() for text in texts)

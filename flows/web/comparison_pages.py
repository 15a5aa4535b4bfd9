"""Two releases to a recipient side by side, and risk over time by recipient and policy."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Path
from fastapi.responses import Response

from flows.web.authentication import CurrentVisitor
from flows.web.evidence import IndexedRelease, evidence
from flows.web.http import not_found
from flows.web.release_pages import DRAWING, CurrentRelease, ShownRelease
from flows.web.site import Visitor
from reports.model.document import Table
from reports.risk_over_time import risk_over_time, risk_table
from tasks.audit.cases import AuditCase

router = APIRouter()

_MOST = 100
"""Other releases that are offered for a comparison."""


@router.get("/releases/risk")
def show_risk(visitor: CurrentVisitor) -> Response:
    """Highest risk of the copies of each recipient over time."""
    found = [
        (who, cases[-1].kept.organisation, risk_over_time(cases), risk_table(cases))
        for who, cases in sorted(_by_recipient(visitor).items())
    ]
    return visitor.page("risk.html", found=found)


@router.get("/releases/risk/{recipient}.svg")
def draw_risk(
    visitor: CurrentVisitor, recipient: Annotated[str, Path(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")]
) -> Response:
    """The drawing of one recipient."""
    drawn = risk_over_time(_by_recipient(visitor).get(recipient, []))
    if drawn is None:
        raise not_found()
    return Response(drawn.svg, media_type="image/svg+xml", headers={"Content-Security-Policy": DRAWING})


@router.get("/releases/{release_id}/{recipient}/compare")
def compare(release: CurrentRelease) -> Response:
    """The release and its predecessor, or another one to the same recipient, side by side."""
    visitor = release.visitor
    others = [
        one
        for one in visitor.seen()
        if one.recipient == release.listed.recipient and one.release_id != release.listed.release_id
    ][:_MOST]
    wanted = visitor.request.query_params.get("with", "") or _predecessor(release, others)
    other = next((one for one in others if one.release_id == wanted), None)
    if wanted and other is None:
        raise not_found()
    tables: tuple[Table, ...] = ()
    if other is not None:
        found = evidence(
            visitor.site.workspace, other.release_id, other.recipient, visitor.site.clock(), who=visitor.account.name
        )
        from reports.comparison import compared  # noqa: PLC0415 - imports pandas, which the service does without

        tables = compared(found.record, release.found.record)
    return release.page("compare.html", others=others, other=other, tables=tables)


def _predecessor(release: ShownRelease, others: list[IndexedRelease]) -> str:
    """Id of the release that it supersedes; else of the last one before it; empty where there is none."""
    at, named = release.listed.case.decided.sequence, release.found.record.supersedes
    if named is not None and any(one.release_id == named for one in others):
        return named
    earlier = (one.release_id for one in others if one.case.decided.sequence < at)  # the latest first
    return next(earlier, "")


def _by_recipient(visitor: Visitor) -> Mapping[str, list[AuditCase]]:
    """Cases that the visitor may see by recipient, oldest first."""
    found: defaultdict[str, list[AuditCase]] = defaultdict(list)
    for one in reversed(visitor.seen()):
        found[one.recipient].append(one.case)
    return found

"""Superseding an earlier release: which one a request may supersede, and doing so when the later one is released.

A request that continues a version supersedes it; any other names what it supersedes. For a recipient of both, the
earlier release ends in the ledger transaction in which the later one is released. For other recipients nothing changes.
"""

from collections.abc import Mapping
from datetime import datetime

from flows.actor import actor
from flows.cases import ReleaseCase, cases_of, forget
from flows.workspace import Workspace
from tasks.core.errors import RequestError, StageFailed
from tasks.core.people import WorkflowRole
from tasks.decision import bodies
from tasks.decision.changes import Author, change
from tasks.decision.record import DecisionRecord
from tasks.decision.states import State, StateChange, can_follow
from tasks.delivery.verification import verify_bundle
from tasks.ledger.entry import Event
from tasks.ledger.store import Ledger
from tasks.request.load import LoadedRequest


def what_is_superseded(
    workspace: Workspace, ledger: Ledger, loaded: LoadedRequest, name: str, now: datetime
) -> dict[str, str]:
    """The release that a request supersedes, by recipient; recipients without one are left out.

    Raises
    ------
    RequestError
        If the request names a release that cannot be superseded: unknown, itself, of none of its recipients, revoked
        or superseded for one of them, or blocked for all.
    TamperingFound
        If that release's bundle is not as recorded.
    """
    request = loaded.request
    earlier = request.supersedes or request.continues
    if earlier is None:
        return {}
    where = f"{loaded.path}, {'supersedes' if request.supersedes else 'continues'}"
    bundle = workspace.bundle(earlier)
    if earlier == name or not ledger.entries(release_id=earlier, event=Event.PUBLISHED) or not bundle.is_dir():
        raise RequestError(
            "the release that is superseded is not an earlier one of this workspace",
            where=where,
            expected="the full id of a release that this workspace has published",
            got="the release itself" if earlier == name else "none of that name",
            fix="correct the id, or name the workspace of that release with --workspace",
        )
    verify_bundle(bundle, ledger)
    cases = cases_of(bundle, ledger, now)
    common = [cases[recipient.id] for recipient in request.recipients if recipient.id in cases]
    if request.supersedes:
        _check_named(common, where)
    return {case.recipient: earlier for case in common if _can_end(case.standing.state)}


def _check_named(common: list[ReleaseCase], where: str) -> None:
    for case in common:
        if case.standing.state is State.SUPERSEDED:
            raise RequestError(
                "the release that is superseded has been superseded already",
                where=where,
                expected="the last one for each recipient",
                got=f"one that {case.standing.superseded_by} superseded for {case.recipient}",
                fix=f"supersede {case.standing.superseded_by}",
            )
        if case.standing.state is State.REVOKED:
            raise RequestError(
                "the release that is superseded was revoked",
                where=where,
                expected="a release that was not revoked",
                got=f"one that was revoked for {case.recipient}",
                fix="remove “supersedes”, or ask for this recipient in a request of its own; a revoked release has "
                "ended for good",
            )
    if not any(_can_end(case.standing.state) for case in common):
        raise RequestError(
            "there is nothing to supersede",
            where=where,
            expected="a release to at least one of the same recipients that was not blocked",
            got="one that was blocked for all of them" if common else "one to other recipients",
            fix="correct the id, or remove “supersedes”",
        )


def _can_end(state: State) -> bool:
    return can_follow(state, StateChange.SUPERSEDE, WorkflowRole.GATE)


def supersede(workspace: Workspace, ledger: Ledger, later: DecisionRecord, at: datetime) -> None:
    """End the release that a later one supersedes; within the transaction in which the later one is released.

    Raises
    ------
    StageFailed
        If it was revoked or superseded in the meantime, or its record is missing.
    """
    if later.supersedes is None:
        return
    recipient = later.recipient.id
    case = cases_of(workspace.bundle(later.supersedes), ledger, at).get(recipient)
    if case is None or case.standing.state in {State.REVOKED, State.SUPERSEDED}:
        raise StageFailed(
            f"the release that is superseded was {case.standing.state.value if case else 'altered'} in the meantime",
            where=f"release to {recipient}",
            expected=f"{later.supersedes} as it stood when this release was decided",
            got="no decision for this recipient" if case is None else case.standing.why,
            fix="let this release be rejected or revoked; a new request supersedes the last one, or none",
        )
    if _can_end(case.standing.state):
        step = (Event.SUPERSEDED, bodies.superseded(later.release_id))
        change(ledger, case.record, case.record_sha256, [step], Author(actor(), at))


def forget_superseded(workspace: Workspace, later: Mapping[str, DecisionRecord]) -> None:
    """Remove sealed material of superseded releases; after a crash this is repeated later."""
    for recipient, record in later.items():
        if record.supersedes is not None:
            forget(workspace, record.supersedes, recipient)

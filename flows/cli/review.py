"""``releasegate review``: vote on a release that awaits review, or show the state of its review."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Any

import typer

from flows.actions.reviewing import Overview, Voted, cast_vote, overview
from flows.cli.key import action_on
from flows.cli.options import DEFAULT_WORKSPACE, REASON_HELP, ReleaseArgument, WorkspaceOption
from flows.cli.output import ExitCode, answer
from flows.workspace.folders import Workspace
from reports.model.blocks import outcome
from reports.model.document import Block
from tasks.core.plural import plural
from tasks.decision.states import State
from tasks.decision.verdict import reasons_after_votes

_CODES = {State.AWAITING_REVIEW: ExitCode.AWAITING_REVIEW, State.RELEASED: ExitCode.APPROVED}
_CLOSED = "Votes stay closed until all are in; until then you may vote again, which replaces your vote."


class Vote(StrEnum):
    """A reviewer's vote."""

    APPROVE = "approve"
    REJECT = "reject"


def review(
    release: ReleaseArgument,
    recipient: Annotated[
        str | None,
        typer.Option(
            "--recipient", help="Recipient of the release; needed where several await review.", show_default=False
        ),
    ] = None,
    vote: Annotated[Vote | None, typer.Option("--vote", help="Your vote.", show_default=False)] = None,
    reviewer: Annotated[
        str | None, typer.Option("--as", help="Your name, as the policy has it.", show_default=False)
    ] = None,
    reason: Annotated[
        str | None,
        typer.Option("--reason", help=REASON_HELP, show_default=False),
    ] = None,
    *,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
) -> int:
    """Vote on a release that awaits review, or show the state of its review.

    Without --vote, it shows who has voted and which other releases the recipient got. The policy names the
    reviewers; the requester is never one. Nobody sees a vote or its reason before all required
    votes are cast, and until then each may be changed. A single vote to reject rejects the release; if all approve, the
    delivery and the certificate are added to the bundle. A reviewer with a registered key signs the vote with it. Exit
    code 0 if the release is approved with this vote, 3 if it is rejected, 4 while it awaits votes.
    """
    if vote is None:
        if reviewer or reason:
            raise typer.BadParameter("--as and --reason go with --vote")
        found = [
            one for one in overview(release, Workspace(workspace.resolve())) if recipient in {None, one.case.recipient}
        ]
        if not found:
            raise typer.BadParameter("the release has no such recipient")
        waits = any(one.case.standing.state is State.AWAITING_REVIEW for one in found)
        return answer(
            {"recipients": [_document(one) for one in found]},
            _overview(found),
            code=ExitCode.AWAITING_REVIEW if waits else ExitCode.APPROVED,
        )
    if reviewer is None or reason is None:
        raise typer.BadParameter("give --vote, --as and --reason together")
    voted = cast_vote(action_on(release, workspace, reviewer, reason, recipient), vote.value)
    code = _CODES.get(voted.standing.state, ExitCode.BLOCKED)
    return answer(
        {
            "release_id": voted.release_id,
            "recipient": voted.recipient,
            "reviewer": voted.reviewer,
            "replaced": voted.replaced,
            "votes": voted.votes,
            "required": voted.required,
            "state": voted.standing.state.value,
            "why": voted.standing.why,
        },
        _after_vote(voted, code),
        code=code,
    )


def _after_vote(voted: Voted, code: ExitCode) -> Iterator[Block]:
    verb = "replaced" if voted.replaced else "recorded"
    yield f"The vote of {voted.reviewer} is {verb}: {voted.votes} of {plural(voted.required, 'vote')} cast."
    if voted.standing.state is State.AWAITING_REVIEW:
        yield _CLOSED
        return
    style = "approved" if code == ExitCode.APPROVED else "blocked"
    yield outcome(voted.standing.state.value.upper(), f"  {voted.recipient}", style)
    yield f"  {voted.standing.why}"


def _overview(found: list[Overview]) -> Iterator[Block]:
    for place, one in enumerate(found):
        record, standing = one.case.record, one.case.standing
        if place:
            yield ""
        yield outcome(standing.words.upper(), f"  {one.case.recipient}", "strong")
        required, voted = record.reviews_required, sorted(standing.commitments)
        supersedes = [f"supersedes {record.supersedes}"] if record.supersedes else []
        overridden = (
            f"overridden {gate.title}, by {gate.overridden.officer}: {gate.overridden.reason}"
            for gate in record.gates
            if gate.overridden
        )
        reviewers = [
            f"reviewers  {', '.join(record.reviewers)}; {required} required",
            f"votes in   {len(voted)} of {required}: {', '.join(voted) or 'none'}",
        ]
        lines = [
            " ".join(reasons_after_votes(record, len(voted)))
            if voted and standing.is_as_decided(record)
            else standing.why,
            f"record     {one.case.record_sha256}",
            f"valid      {record.valid_from} to {record.valid_until}",
            *supersedes,
            *overridden,
            f"requested  by {record.requester}, {record.requested_at.date()}",
            *(reviewers if required else []),
            *(f"{each.reviewer} votes to {each.vote}: “{' '.join(each.reason.split())}”" for each in standing.reviews),
            *(f"other      {other.release_id}, {other.at.date()}" for other in one.others),
        ]
        yield from (f"  {line}" for line in lines)


def _document(one: Overview) -> dict[str, Any]:
    record, standing = one.case.record, one.case.standing
    return {
        "recipient": one.case.recipient,
        "state": standing.state.value,
        "awaits_signature": standing.awaits_signature,
        "why": standing.why,
        "since": standing.since.isoformat(),
        "record_sha256": one.case.record_sha256,
        "valid_until": record.valid_until.isoformat(),
        "supersedes": record.supersedes,
        "superseded_by": standing.superseded_by,
        "overridden": [
            {"gate": gate.id, **gate.overridden.model_dump(mode="json")} for gate in record.gates if gate.overridden
        ],
        "requested_by": record.requested_by,
        "reviewers": list(record.reviewers),
        "required": record.reviews_required,
        "voted": sorted(standing.commitments),
        "reviews": [review.model_dump(mode="json") for review in standing.reviews],
        "got_before": [{"release_id": other.release_id, "at": other.at.isoformat()} for other in one.others],
    }

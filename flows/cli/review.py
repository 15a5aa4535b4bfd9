"""``releasegate review``: vote on a release that awaits review, or see where its review stands."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from flows.cli.key import KeyFileOption, ask
from flows.cli.options import DEFAULT_WORKSPACE, ReleaseArgument, WorkspaceOption
from flows.cli.output import ExitCode, JsonOption, console, print_json
from flows.workspace import Workspace
from tasks.decision.states import State

if TYPE_CHECKING:
    from flows.reviewing import Overview, Voted

_CODES = {State.AWAITING_REVIEW: ExitCode.AWAITING_REVIEW, State.RELEASED: ExitCode.APPROVED}
_CLOSED = "Votes stay closed until all are in; until then you may vote again, which replaces your vote."


class Vote(StrEnum):
    """What a reviewer can vote."""

    APPROVE = "approve"
    REJECT = "reject"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("review")(review)


def review(  # noqa: PLR0917
    release: ReleaseArgument,
    recipient: Annotated[
        str | None,
        typer.Option("--recipient", help="Whose release; needed where several await review.", show_default=False),
    ] = None,
    vote: Annotated[Vote | None, typer.Option("--vote", help="Your vote.", show_default=False)] = None,
    reviewer: Annotated[
        str | None, typer.Option("--as", help="Your name, as the policy has it.", show_default=False)
    ] = None,
    reason: Annotated[
        str | None,
        typer.Option("--reason", help="Why; kept in the ledger for good. No value of the data.", show_default=False),
    ] = None,
    key_file: KeyFileOption = None,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    *,
    show: Annotated[
        bool, typer.Option("--show", help="Show where the review stands and what the recipient got before.")
    ] = False,
    as_json: JsonOption = False,
) -> int:
    """Vote on a release that awaits review, or --show where its review stands.

    The policy names the reviewers; whoever asked for the release is none. Nobody sees a vote or its reason before all
    that the policy requires are in, and until then each may be changed. One vote to reject rejects the release; if all
    approve, the delivery and the certificate are put into the bundle. A reviewer with a registered key signs the vote
    with it. Exit code 0 if the release is approved with this
    vote, 3 if it is rejected, 4 if votes are missing still.
    """
    from flows.reviewing import cast_vote, overview  # noqa: PLC0415  quicker help

    place = Workspace(workspace.resolve())
    if show:
        if vote or reviewer or reason:
            raise typer.BadParameter("--show goes without --vote, --as and --reason")
        found = [one for one in overview(release, place) if recipient in {None, one.case.recipient}]
        if not found:
            raise typer.BadParameter("the release has no such recipient")
        return _show(found, as_json=as_json)
    if vote is None or reviewer is None or reason is None:
        raise typer.BadParameter("a vote takes --vote, --as and --reason; --show shows where the review stands")
    voted = cast_vote(
        release,
        place,
        reviewer=reviewer,
        vote=vote.value,
        reason=reason,
        recipient=recipient,
        key_file=key_file,
        ask=ask,
    )
    return _tell(voted, as_json=as_json)


def _tell(voted: "Voted", *, as_json: bool) -> int:
    code = _CODES.get(voted.standing.state, ExitCode.BLOCKED)
    if as_json:
        print_json(
            {
                "ok": code == ExitCode.APPROVED,
                "exit_code": int(code),
                "release_id": voted.release_id,
                "recipient": voted.recipient,
                "reviewer": voted.reviewer,
                "replaced": voted.replaced,
                "votes": voted.votes,
                "required": voted.required,
                "state": voted.standing.state.value,
                "why": voted.standing.why,
            }
        )
        return code
    verb = "replaced" if voted.replaced else "taken"
    console.print(Text(f"The vote of {voted.reviewer} is {verb}: {voted.votes} of {voted.required} are in."))
    if voted.standing.state is State.AWAITING_REVIEW:
        console.print(_CLOSED)
        return code
    style = "bold green" if code == ExitCode.APPROVED else "bold red"
    console.print(Text.assemble((voted.standing.state.value.upper(), style), f"  {voted.recipient}"))
    console.print(Text(f"  {voted.standing.why}"))
    return code


def _show(found: list["Overview"], *, as_json: bool) -> int:
    if as_json:
        print_json({"ok": True, "exit_code": 0, "recipients": [_document(one) for one in found]})
        return ExitCode.APPROVED
    for place, one in enumerate(found):
        record, standing = one.case.record, one.case.standing
        if place:
            console.print()
        console.print(Text.assemble((standing.state.value.upper(), "bold"), f"  {one.case.recipient}"))
        console.print(Text(f"  {standing.why}"))
        console.print(Text(f"  record     {one.case.record_sha256}"), soft_wrap=True)
        console.print(f"  valid      {record.valid_from} to {record.valid_until}")
        if record.supersedes:
            console.print(f"  supersedes {record.supersedes}", soft_wrap=True)
        for gate in record.gates:
            if gate.overridden:
                told = f"  overridden {gate.title}, by {gate.overridden.officer}: {gate.overridden.reason}"
                console.print(Text(told), soft_wrap=True)
        console.print(Text(f"  asked for  by {record.requested_by}, {record.requested_at.date()}"))
        if record.reviews_required:
            console.print(Text(f"  reviewers  {', '.join(record.reviewers)}; {record.reviews_required} required"))
            console.print(
                Text(f"  votes in   {len(one.voted)} of {record.reviews_required}: {', '.join(one.voted) or 'none'}")
            )
        for review in standing.reviews:
            console.print(Text(f"  {review.reviewer}: {review.vote}. {review.reason}"))
        for earlier in one.earlier:
            console.print(f"  got before {earlier.release_id}, {earlier.at.date()}", soft_wrap=True)
    return ExitCode.APPROVED


def _document(one: "Overview") -> dict[str, Any]:
    record, standing = one.case.record, one.case.standing
    return {
        "recipient": one.case.recipient,
        "state": standing.state.value,
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
        "voted": list(one.voted),
        "reviews": [review.model_dump(mode="json") for review in standing.reviews],
        "got_before": [{"release_id": earlier.release_id, "at": earlier.at.isoformat()} for earlier in one.earlier],
    }

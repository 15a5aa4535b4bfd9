"""``releasegate revoke`` and ``releasegate override``: departures from a decision, with a name and a reason."""

from typing import Annotated

import typer

from flows.actions.overruling import ChangedRelease, override_gates, reopen
from flows.actions.overruling import revoke as revoke_release
from flows.cli.key import action_on
from flows.cli.options import DEFAULT_WORKSPACE, ReasonOption, ReleaseArgument, WorkspaceOption
from flows.cli.output import ExitCode, answer
from reports.model.blocks import outcome
from tasks.decision.written_figures import RecordCounts, write_result


def revoke(
    release: ReleaseArgument,
    by: Annotated[str, typer.Option("--as", help="Your name: the requester's, or an officer's.", show_default=False)],
    reason: ReasonOption,
    recipient: Annotated[
        str | None,
        typer.Option("--recipient", help="Recipient of the release; all of them without it.", show_default=False),
    ] = None,
    *,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
) -> int:
    """Revoke a release permanently: nothing more is delivered under it.

    Delivered files stay in the bundle as evidence; ask the recipient to destroy their copy. After its validity has
    ended, only an officer may revoke a release.
    """
    return _answer(revoke_release(action_on(release, workspace, by, reason, recipient)))


def override(
    release: ReleaseArgument,
    officer: Annotated[str, typer.Option("--as", help="Your name, as an officer of the policy.", show_default=False)],
    reason: ReasonOption,
    recipient: Annotated[
        str | None,
        typer.Option("--recipient", help="Recipient of the release; needed where it has several.", show_default=False),
    ] = None,
    gate: Annotated[
        list[str] | None,
        typer.Option("--gate", help="Id of a failed gate to override; may be repeated.", show_default=False),
    ] = None,
    *,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
) -> int:
    """Override failed gates of a blocked release, or put a rejected one before its reviewers again.

    With --gate, for gates that the policy lets officers override: this release stays blocked, and the same request,
    released again within the policy's days, makes a new one for this recipient. It shows the gates as failed and
    overridden, by whom and why, covers no figure worse than the one you saw, and still needs its reviews. Without
    --gate, the reviewers of a rejected release vote anew. Officer and reason stay permanently in the ledger.
    """
    action = action_on(release, workspace, officer, reason, recipient)
    if not gate:
        return _answer(reopen(action))
    made = override_gates(action, gate)
    record = made.record
    gates = [
        (one, *write_result(one, records=RecordCounts.of(record), small_cell=record.policy.small_cell))
        for one in made.gates
    ]
    return answer(
        {
            "release_id": made.release_id,
            "recipient": made.recipient,
            "officer": made.officer,
            "gates": [{"id": one.id, "measured": one.measured, "threshold": one.threshold} for one in made.gates],
            "valid_until": made.valid_until.isoformat(),
            "state": made.standing.state.value,
        },
        [
            outcome("OVERRIDDEN", f"  {made.recipient}", "awaiting"),
            *(f"  {one.title}: {measured}; {required} required" for one, measured, required in gates),
            f"  The override by {made.officer} can be used until {made.valid_until}. This release stays blocked; "
            "release the same request again, and a new one is decided for this recipient.",
        ],
    )


def _answer(changed: ChangedRelease) -> ExitCode:
    standings = changed.standings.items()
    return answer(
        {
            "release_id": changed.release_id,
            "recipients": [{"recipient": who, "state": one.state.value, "why": one.why} for who, one in standings],
        },
        [
            line
            for who, one in standings
            for line in (outcome(one.state.value.upper(), f"  {who}", "strong"), f"  {one.why}")
        ],
    )

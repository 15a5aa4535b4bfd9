"""``releasegate release``: run the gate and write the bundle."""

from itertools import chain
from typing import Annotated

import typer

from flows.cli.options import DEFAULT_WORKSPACE, DaskOption, RequestArgument, RootsOption, WorkspaceOption
from flows.cli.output import answer, as_json, console, progress
from flows.pipeline.workers import start_fork_server
from flows.workspace.folders import Workspace, workspace_option
from flows.workspace.progress import listening
from tasks.decision.states import State


def release(
    request: RequestArgument,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    root: RootsOption = None,
    dask: DaskOption = None,
    *,
    enrol: Annotated[
        bool,
        typer.Option(
            "--enrol", help="Where nothing is enrolled yet, enrol the request's policy, population and persons first."
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Only show what would be decided now: record, write and deliver nothing."),
    ] = False,
) -> int:
    """Run the gate on a request: decide for every recipient and write the bundle.

    Its policy and its population must be enrolled in the workspace. Run again, it shows the current state of the
    release. Exit code 0 if every recipient is approved, 3 if one is blocked, revoked or superseded or its decision has
    lapsed, 4 if one awaits review and none of these is the case. A dry run ends with the code that a release would.
    """
    start_fork_server(Workspace(workspace.resolve()).private)
    # These import for a second, while the workers' process does the same.
    from flows.cli.enrol import item_lines, login_notes  # noqa: PLC0415
    from flows.cli.release_json import exit_code, summary  # noqa: PLC0415
    from flows.gate.outcome_blocks import outcome_blocks  # noqa: PLC0415
    from flows.gate.release import run_release  # noqa: PLC0415

    with progress("reading the request", lines=True) as say, listening(say):
        if dry_run:
            from flows.cli.dry_run import shown_dry_run  # noqa: PLC0415

            return shown_dry_run(request, workspace, root or [])
        made = run_release(request, workspace, root or [], dask=dask, enrol=enrol)
    code = exit_code([made.standings[record.recipient.id].state for record in made.records], made.lapsed)
    answer(
        {
            "release_id": made.release_id,
            "bundle": str(made.bundle),
            "repeated": made.repeated,
            "decided_at": made.decided_at.isoformat(),
            "positions": str(made.positions) if made.positions else None,
            "enrolled": [one.model_dump(mode="json") for one in made.enrolled],
            "recipients": [summary(record, made) for record in made.records],
        },
        chain(item_lines("enrolled", made.enrolled), outcome_blocks(made, made.decided_at)),
        code=code,
        notes=login_notes(made.enrolled),
    )
    waits = [
        who for who, one in made.standings.items() if one.words == State.AWAITING_REVIEW and who not in made.lapsed
    ]
    if waits and not as_json.get():
        command = f"releasegate review {made.release_id[:12]} --recipient {waits[0]}{workspace_option(workspace)}"
        console.print(f"\nNext: reviewers run `{command} --vote VOTE --as NAME --reason REASON`.", soft_wrap=True)
    return code

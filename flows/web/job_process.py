"""One job of the page in a process of its own, with its folder as argument; see ``flows.web.jobs``.

It writes its steps and its result there, and ends with the process that has started it.
"""

import json
import os
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from flows.web.jobs import JOB, RESULT, STEPS, JobKind
from flows.workspace.actor import acting_as
from flows.workspace.folders import Workspace
from flows.workspace.parent_process import end_with_parent
from flows.workspace.progress import listening
from flows.workspace.told_progress import tell_in
from reports.model.document import Block, Heading, Paragraph, Table
from reports.model.smallcell import SmallCellRule
from reports.templating import render
from tasks.core.errors import ReleasegateError
from tasks.core.files import write_whole
from tasks.core.guard import guarded
from tasks.core.modes import owner_only
from tasks.core.secret_variables import secrets_taken

_NOT_RECORDED = "Under the request and the enrolments as they are now; nothing is recorded and nothing is released."


def explain_job(given: Mapping[str, Any]) -> tuple[list[Block], int]:
    """Reasons for the decision on a recipient's release, and changes that would reverse it."""
    from flows.actions.explaining import explained_release  # noqa: PLC0415 - imports every method
    from reports.explanation.details import detailed  # noqa: PLC0415

    place = Workspace(Path(given["workspace"]))
    _, (one,) = explained_release(given["subject"], given["recipient"], place)
    return list(detailed(one)), one.record.policy.small_cell


def reassess_job(given: Mapping[str, Any]) -> tuple[list[Block], int]:
    """Assess every copy of a release again; the records and the ledger hold the results."""
    from flows.reassessment.copy_reassessment import TodaysFiles  # noqa: PLC0415
    from flows.reassessment.run import reassess  # noqa: PLC0415 - imports every method
    from reports.reassessment import reassessment  # noqa: PLC0415

    policy = None if given["policy"] is None else Path(given["policy"])
    options = TodaysFiles(policy=policy, roots=tuple(Path(root) for root in given["roots"]))
    made = reassess(given["subject"], Workspace(Path(given["workspace"])), options)
    blocks: list[Block] = []
    for one in made:
        blocks.append(Heading(f"{one.recipient}: {one.verdict.value}"))
        if one.record is None:
            blocks += one.because
        else:
            blocks += [
                block
                for section in reassessment(one.record).sections[:1]
                for block in section.blocks
                if not isinstance(block, str) or block
            ]
    return blocks, max((one.record.policy.small_cell for one in made if one.record), default=0)


def dry_run_job(given: Mapping[str, Any]) -> tuple[list[Block], int]:
    """Decisions that the gate would make on a request, for each recipient; refused where the gate would refuse it.

    An officer sets the terms, such as the smallest count that may be shown.
    """
    from flows.gate import dry_run as gate  # noqa: PLC0415 - imports every method
    from reports.explanation.answer import WOULD_BE  # noqa: PLC0415
    from reports.model.record_view import RecordView  # noqa: PLC0415
    from reports.sections.answer import usefulness  # noqa: PLC0415
    from tasks.decision.written_figures import RecordCounts, write_result  # noqa: PLC0415

    place, roots = Path(given["workspace"]), [Path(root) for root in given["roots"]]
    with gate.dry_run(Path(given["document"]), place, roots, handed_in_by=given["handed_in_by"]) as made:
        records = made.recalled.records
    blocks, small_cell = list[Block]([_NOT_RECORDED]), made.recalled.loaded.request.policy.small_cell
    for record in records:
        who, counts = record.recipient, RecordCounts.of(record)
        kept = usefulness(RecordView(record))
        blocks += [
            Heading(f"{who.organisation} ({who.id})"),
            Paragraph(f"It {WOULD_BE[record.decision]}.", "strong"),
            *record.reasons,
            *([kept] if kept else []),
            Table(
                "Gates",
                "Gate 46 | Measured 18r | Required 18 | Outcome 18",
                [
                    (
                        gate.heading,
                        *write_result(gate, records=counts, small_cell=small_cell),
                        "passed" if gate.passed else "failed",
                    )
                    for gate in record.gates
                ],
            ),
        ]
    return blocks, small_cell


_WORK: Mapping[JobKind, Callable[[Mapping[str, Any]], tuple[list[Block], int]]] = {
    JobKind.EXPLAIN: explain_job,
    JobKind.REASSESS: reassess_job,
    JobKind.DRY_RUN: dry_run_job,
}


def main(folder: Path) -> int:
    """Do the work; returns 0 once there is a result, 1 where there is none."""
    given = json.loads((folder / JOB).read_bytes())
    tell, kind = partial(tell_in, folder / STEPS), JobKind(given["kind"])
    try:
        with (
            owner_only(),
            secrets_taken(),
            acting_as(given["by"]),
            guarded(kind.value),
            listening(lambda name: tell(step=name)),
        ):
            blocks, small_cell = _WORK[kind](given)
            html = render(SmallCellRule(small_cell), "web/result.html", blocks=blocks)
            write_whole(folder / RESULT, html.encode())
    except ReleasegateError as error:
        tell(error=error.fields())
        return 1
    tell(ended=True)
    return 0


if __name__ == "__main__":
    end_with_parent(os.getppid())
    sys.exit(main(Path(sys.argv[1])))

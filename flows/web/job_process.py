"""One job of the page in a process of its own, with its folder as argument; see ``flows.web.jobs``.

It writes its steps and its result there, and ends with the process that has started it.
"""

import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from flows.actor import acting_as, utc_now
from flows.progress import listening
from flows.server_process import end_with
from flows.web.jobs import JOB, RESULT, STEPS, JobKind
from flows.workspace import Workspace
from reports.document import Block, Heading, Paragraph, Table
from reports.smallcell import SmallCellRule
from reports.templating import render
from tasks.core.errors import ReleasegateError
from tasks.core.files import write_whole
from tasks.core.guard import guarded
from tasks.core.modes import owner_only
from tasks.core.secret_variables import secrets_taken

_Say = Callable[[str], None]
_QUICK = (
    "The figures of the gates that need no attack, under the request as it is; nothing is recorded and nothing is "
    "released. The gate judges the others when it decides: a request that passes here may still be blocked."
)


def explained(given: Mapping[str, Any], say: _Say) -> tuple[list[Block], int]:
    """Reasons for the decision on a recipient's release, and changes that would reverse it."""
    from flows.cli.explain import explained_release  # noqa: PLC0415 - imports every method
    from flows.cli.explained_details import detailed  # noqa: PLC0415

    place = Workspace(Path(given["workspace"]))
    _, (one,) = explained_release(given["subject"], given["recipient"], place, say)
    return list(detailed(one)), one.record.policy.small_cell


def reassessed(given: Mapping[str, Any], say: _Say) -> tuple[list[Block], int]:
    """Assess every copy of a release again; the records and the ledger hold the results."""
    from flows.reassessing import reassess  # noqa: PLC0415 - imports every method
    from flows.reassessing_copy import TodaysFiles  # noqa: PLC0415
    from reports.reassessment import reassessment  # noqa: PLC0415

    policy = None if given["policy"] is None else Path(given["policy"])
    options = TodaysFiles(policy=policy, roots=tuple(Path(root) for root in given["roots"]))
    with listening(say):
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


def tried(given: Mapping[str, Any], say: _Say) -> tuple[list[Block], int]:
    """Figures of a request's quick gates, for each recipient; refused where the gate would refuse its terms or people.

    An officer sets the terms, such as the smallest count that may be shown.
    """
    from flows.enrolment import check_enrolled  # noqa: PLC0415
    from flows.identity import read_inputs  # noqa: PLC0415
    from flows.ledger import open_ledger  # noqa: PLC0415
    from flows.persons import involved  # noqa: PLC0415
    from flows.policies import PolicyShelf  # noqa: PLC0415
    from flows.studio.quick import Quick  # noqa: PLC0415 - imports every method
    from flows.web.studio_figures import kept_in_words  # noqa: PLC0415
    from tasks.decision.measures import write_result  # noqa: PLC0415
    from tasks.ledger.enrolment import Directory  # noqa: PLC0415
    from tasks.request.load import load_request  # noqa: PLC0415

    say("reading the request")
    place = Workspace(Path(given["workspace"]))
    loaded = load_request(Path(given["document"]), [Path(root) for root in given["roots"]], PolicyShelf(place.root))
    inputs = read_inputs(loaded)
    with open_ledger(place) as ledger:
        directory = Directory.of(ledger)
    check_enrolled(directory, loaded, inputs)
    involved(directory, loaded.request, given["handed_in_by"])
    quick, blocks, small_cell = Quick(), list[Block]([_QUICK]), loaded.request.policy.small_cell
    for recipient in loaded.request.recipients:
        say(f"quick figures for {recipient.id}")
        found = quick.figures(loaded, recipient.id)
        outcome = found.failure or (
            "No quick gate closes; a run judges the others." if found.passes else "It would be blocked."
        )
        blocks += [Heading(f"{recipient.organisation} ({recipient.id})"), Paragraph(outcome, "strong")]
        if found.gates:
            rows = [
                (
                    gate.heading,
                    *write_result(gate, records=found.records, small_cell=small_cell),
                    "passed" if gate.passed else "failed",
                )
                for gate in found.gates
            ]
            blocks.append(Table("Quick gates", "Gate 46 | Measured 18r | Required 18 | Outcome 18", rows))
        if kept_in_words(found):
            blocks.append(f"Information kept: {kept_in_words(found)}.")
        if found.later:
            blocks.append(f"Judged by a run only: {', '.join(found.later)}.")
    return blocks, small_cell


_WORK: Mapping[JobKind, Callable[[Mapping[str, Any], _Say], tuple[list[Block], int]]] = {
    JobKind.EXPLAIN: explained,
    JobKind.REASSESS: reassessed,
    JobKind.DRY_RUN: tried,
}


def main(folder: Path) -> int:
    """Do the work; returns 0 once there is a result, 1 where there is none."""
    given = json.loads((folder / JOB).read_bytes())

    def tell(**document: object) -> None:
        with (folder / STEPS).open("a", encoding="utf-8") as stream:
            stream.write(json.dumps({"at": utc_now().isoformat(), **document}) + "\n")

    kind = JobKind(given["kind"])
    try:
        with owner_only(), secrets_taken(), acting_as(given["by"]), guarded(kind.value):
            blocks, small_cell = _WORK[kind](given, lambda name: tell(step=name))
            html = render(SmallCellRule(small_cell), "web/result.html", blocks=blocks)
            write_whole(folder / RESULT, html.encode())
    except ReleasegateError as error:
        tell(error=error.fields())
        return 1
    tell(ended=True)
    return 0


if __name__ == "__main__":
    end_with(os.getppid())
    sys.exit(main(Path(sys.argv[1])))

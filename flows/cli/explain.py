"""``releasegate explain``: why this verdict, and the smallest change that would turn it."""

import math
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from flows.cli.explained import Explained, beyond, closing_attacks, rendered, turns
from flows.cli.explained_records import documents
from flows.cli.options import DEFAULT_WORKSPACE, WorkspaceOption
from flows.cli.output import ExitCode, JsonOption, console, notices, print_json
from flows.identity import code_fact
from flows.ledger import open_ledger, recorder_of
from flows.recall import Recalled, find_bundle, recall
from flows.workspace import Workspace
from tasks.core.errors import BadInput, WorkspaceError
from tasks.core.guard import guarded
from tasks.core.seed import masking_generator, seed_commitment
from tasks.decision.explain.explain import Decided, explain
from tasks.decision.explain.reasons import Reason
from tasks.decision.explain.resolve import Plays
from tasks.decision.explain.result import Change, Explanation, Figures, Flip, Switch
from tasks.decision.record import DecisionRecord
from tasks.generalization.setting import game_table
from tasks.masking.masked_columns import MaskedColumns, mask_columns
from tasks.microdata.prepared import prepare
from tasks.microdata.read import read_microdata
from tasks.request.model import Measure, ReleaseRequest

Say = Callable[[str], None]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("explain")(explain_release)


def explain_release(
    release: Annotated[
        str, typer.Argument(help="Release id, its first digits (6 or more), or a bundle's folder.", show_default=False)
    ],
    recipient: Annotated[
        str | None, typer.Option("--recipient", "-r", help="Id of one recipient; all of them without it.")
    ] = None,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    *,
    as_json: JsonOption = False,
) -> int:
    """Say why a release was approved or blocked, and the smallest change that would reverse the verdict.

    The game is solved again under other stakes, thresholds, methods and class sizes, and numbers are masked with other
    strengths, on the data that were decided on; nothing is released, and the decision stays as it is. Each change that
    is named was tried. Figures marked ≈ are estimates: record linkage was tried anew, on other people than a release
    would draw.
    """
    with guarded("explanation"), _progress(quiet=as_json) as say:
        say("verifying the bundle")
        place = Workspace(workspace.resolve())
        bundle = find_bundle(release, place)
        with open_ledger(recorder_of(bundle, place)) as ledger:
            recalled = recall(bundle, ledger)
        explained = _explained(recalled, _chosen(recalled, recipient), _key_of(recalled, place), say)
    notes = _notes(recalled)
    if as_json:
        print_json(
            {
                "ok": True,
                "exit_code": 0,
                "release_id": recalled.release_id,
                "bundle": str(bundle),
                "notes": notes,
                "recipients": [_document(one) for one in explained],
            }
        )
        return ExitCode.APPROVED
    for one in explained:
        console.print(rendered(one))
    for note in notes:
        notices.print(f"note: {note}")
    return ExitCode.APPROVED


@contextmanager
def _progress(*, quiet: bool) -> Iterator[Say]:
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=notices, transient=True, disable=quiet) as progress:
        shown = progress.add_task("", total=None)
        yield lambda text: progress.update(shown, description=text)


def _chosen(recalled: Recalled, recipient: str | None) -> list[DecisionRecord]:
    chosen = [record for record in recalled.records if recipient in (None, record.recipient.id)]
    if not chosen:
        raise BadInput(
            "the release has no such recipient",
            where="--recipient",
            expected=f"one of {', '.join(record.recipient.id for record in recalled.records)}",
            got="another id",
            fix="name one of these, or leave the option out for all of them",
        )
    return chosen


def _key_of(recalled: Recalled, place: Workspace) -> Path:
    """The key that the release was made with; numbers are masked again as it masked them.

    Raises
    ------
    WorkspaceError
        If numbers are masked and the key is not available.
    """
    path = recorder_of(recalled.bundle, place).key_file
    if recalled.loaded.request.masking and not _made_with(path, recalled):
        raise WorkspaceError(
            "the key that numbers were masked with is not at hand",
            where=str(path),
            expected="the key of the workspace that the release was made in",
            got="another key" if path.is_file() else "no such file",
            fix="name that workspace with --workspace, or restore its key",
        )
    return path


def _made_with(path: Path, recalled: Recalled) -> bool:
    made = recalled.records[0].seed_commitment_sha256
    return path.is_file() and seed_commitment(path, recalled.records[0].of_inputs) == made


def _masked_for(frame: pd.DataFrame, key_file: Path) -> Callable[[ReleaseRequest], MaskedColumns]:
    """Gives the masked columns of a request, each masking of its strengths made once."""
    made: dict[str, MaskedColumns] = {}

    def masked_for(request: ReleaseRequest) -> MaskedColumns:
        name = "\n".join(masking.model_dump_json() for masking in request.masking)
        if name not in made:
            made[name] = mask_columns(request, frame, partial(masking_generator, key_file))
        return made[name]

    return masked_for


def _explained(recalled: Recalled, records: list[DecisionRecord], key_file: Path, say: Say) -> list[Explained]:
    request = recalled.loaded.request
    say("reading data and population")
    frame = read_microdata(recalled.loaded.resolve(request.dataset.path, "dataset.path"), request)
    prepared = prepare(recalled.loaded, frame)
    plays = Plays(game_table(request, prepared), prepared, _masked_for(frame, key_file))
    return [
        Explained(
            record,
            explain(
                request,
                request.recipient(record.recipient.id),
                plays,
                Decided.of(record),
                lambda text, who=record.recipient.id: say(f"{who}: {text}"),  # type: ignore[misc]
            ),
            request.policy.gates,
        )
        for record in records
    ]


def _notes(recalled: Recalled) -> list[str]:
    decided_by = recalled.records[0].code
    if decided_by == code_fact():
        return []
    told = f"decided by version {decided_by.version}, commit {decided_by.commit[:12]}, and explained by another"
    if any(record.decoys for record in recalled.records):
        return [told]
    return [f"{told}, which finds the same figures for the terms decided on"]


def _document(one: Explained) -> dict[str, Any]:
    explanation = one.explanation
    agreement = explanation.agreement
    return {
        "recipient": explanation.recipient,
        "decision": explanation.verdict.value,
        "reasons": list(explanation.reasons),
        "strongest": [_reason(one, reason) for reason in explanation.strongest],
        "attacks": {
            gate.id: {"id": attack.id, "title": attack.title, "attributes": list(attack.attributes)}
            for gate, attack in closing_attacks(one.record)
        },
        "at_stake": documents(one.record, explanation.at_stake),
        "fixed": explanation.fixed,
        "figures": _figures(explanation.figures),
        "smallest": _flip(explanation.smallest) if explanation.smallest else None,
        "flips": [_flip(flip) for flip in explanation.flips],
        "no_flips": [asdict(result) for result in explanation.no_flips],
        "methods": [_switch(explanation, switch) for switch in explanation.switches],
        "agreement": _flip(agreement) if isinstance(agreement, Flip) else asdict(agreement) if agreement else None,
        "games_played": explanation.games_played,
        "note": explanation.note,
    }


def _reason(one: Explained, reason: Reason) -> dict[str, Any]:
    gate = reason.gate
    return {
        "gate": gate.id,
        "title": gate.title,
        "measured": gate.measured,
        "interval": gate.interval and gate.interval.model_dump(),
        "unit": gate.unit,
        "comparison": gate.comparison,
        "threshold": gate.threshold,
        "passed": gate.passed,
        "because": gate.because,
        "beyond": reason.beyond if math.isfinite(reason.beyond) else None,
        "shown": beyond(one, reason),
    }


def _flip(flip: Flip) -> dict[str, Any]:
    return {
        "lever": flip.lever,
        "changes": [_change(change) for change in flip.changes],
        "relative_change": flip.relative_change,
        "decision": flip.verdict.value,
        "figures": _figures(flip.figures),
        "failure": flip.failure,
        "deterrent": flip.deterrent,
        "estimated": _names(flip.estimated),
    }


def _switch(explanation: Explanation, switch: Switch) -> dict[str, Any]:
    return {
        "method": switch.method.value,
        "flips": turns(explanation, switch),
        "changes": [_change(change) for change in switch.changes],
        "decision": switch.verdict.value,
        "figures": _figures(switch.figures),
        "failure": switch.failure,
        "estimated": _names(switch.estimated),
        "deterred": [_flip(flip) for flip in switch.deterred],
    }


def _change(change: Change) -> dict[str, Any]:
    return {**asdict(change), "relative_change": change.relative}


def _figures(figures: Figures) -> dict[str, float]:
    return {measure.value: figure for measure, figure in figures.items()}


def _names(measures: Collection[Measure]) -> list[str]:
    return sorted(measure.value for measure in measures)

"""``releasegate explain``: why this verdict, and the smallest change that would reverse it."""

import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from flows.actions.explaining import explained_dry_run, explained_release, notes_on
from flows.cli.options import DEFAULT_WORKSPACE, RELEASE, RecipientOption, RootsOption, WorkspaceOption
from flows.cli.output import answer, progress
from flows.workspace.folders import Workspace, workspace_option
from flows.workspace.progress import listening
from reports.explanation.answer import Explained, beyond, closing_attacks, is_reversed, rendered
from reports.explanation.details import detailed
from reports.explanation.records import documents
from tasks.decision.explain.result import Explanation, Figures, Flip, Judgement, NoFlip, Reason, Switch, TermChange


def explain(
    release: Annotated[
        str,
        typer.Argument(help=f"{RELEASE.help} Or a request, for which a dry run is made.", show_default=False),
    ],
    recipient: RecipientOption = None,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    root: RootsOption = None,
    *,
    details: Annotated[
        bool,
        typer.Option("--details", help="Also show every term, other methods, and the records at stake by class."),
    ] = False,
) -> int:
    """Say why a release was approved or blocked, and the smallest change that would reverse the verdict.

    The game is solved again under other stakes, thresholds, methods and class sizes, and numbers are masked with other
    strengths, on the data that were decided on; nothing is released, and the decision stays as it is. Each change that
    is named was tried. Figures marked ≈ are estimates: record linkage was tried anew, on other people than a release
    would draw.
    """
    with progress(lines=True) as say, listening(say):
        place = Workspace(workspace.resolve())
        if Path(release).is_file():
            recalled, explained, notes = explained_dry_run(Path(release), root or [], recipient, place)
        else:
            recalled, explained = explained_release(release, recipient, place)
            notes = []
    notes += notes_on(recalled)
    explained = [replace(one, workspace=workspace_option(workspace)) for one in explained]
    return answer(
        {
            "release_id": recalled.release_id,
            "bundle": str(recalled.bundle),
            "notes": notes,
            "recipients": [_document(one) for one in explained],
        },
        (block for one in explained for block in (detailed if details else rendered)(one)),
        notes=notes,
    )


def _document(one: Explained) -> dict[str, Any]:
    explanation = one.explanation
    return {
        "recipient": explanation.recipient,
        "decision": explanation.verdict.value,
        "state": one.state,
        "reasons": list(explanation.reasons),
        "strongest": [_reason(one, reason) for reason in explanation.strongest],
        "attacks": {
            gate.id: {"id": attack.id, "title": attack.title, "attributes": list(attack.attributes)}
            for gate, attack in closing_attacks(one.record)
        },
        "at_stake": documents(one.record, explanation.at_stake),
        "fixed": explanation.fixed,
        "figures": _figures(explanation.figures),
        "smallest": _result(explanation.smallest),
        "flips": [_result(flip) for flip in explanation.flips],
        "no_flips": [_result(result) for result in explanation.no_flips],
        "methods": [_switch(explanation, switch) for switch in explanation.switches],
        "agreement": _result(explanation.agreement),
        "columns": [asdict(column) for column in explanation.columns],
        "costs": [asdict(cost) for cost in explanation.costs],
        "keeping": [
            {"of": one.of, "now": one.now, "kept": one.kept, **_after(one.changes, one.after)}
            for one in explanation.keeping
        ],
        "games_played": explanation.games_solved,
        "note": explanation.note,
    }


def _reason(one: Explained, reason: Reason) -> dict[str, Any]:
    fields = {"title", "measured", "interval", "unit", "comparison", "threshold", "passed", "because"}
    return {
        "gate": reason.gate.id,
        **reason.gate.model_dump(include=fields),
        "beyond": reason.beyond if math.isfinite(reason.beyond) else None,
        "shown": beyond(one, reason),
    }


def _result(result: Flip | NoFlip | None) -> dict[str, Any] | None:
    if not isinstance(result, Flip):
        return asdict(result) if result else None
    return {
        "lever": result.lever,
        "relative_change": result.relative_change,
        "choice": result.choice.name.lower(),
        "deterrent": result.deterrent,
        **_after(result.changes, result.after),
    }


def _switch(explanation: Explanation, switch: Switch) -> dict[str, Any]:
    return {
        "method": switch.method.value,
        "flips": is_reversed(explanation, switch),
        "deterred": [_result(flip) for flip in switch.deterred],
        **_after(switch.changes, switch.after),
    }


def _after(changes: Sequence[TermChange], after: Judgement) -> dict[str, Any]:
    return {
        "changes": [{**asdict(change), "relative_change": change.relative} for change in changes],
        "decision": after.verdict.value,
        "figures": _figures(after.figures),
        "failure": after.failure,
        "estimated": sorted(measure.value for measure in after.estimated),
    }


def _figures(figures: Figures) -> dict[str, float]:
    return {measure.value: figure for measure, figure in figures.items()}

"""``releasegate explain``: why this verdict, and the smallest change that would reverse it."""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import pandas as pd

from flows.beside import beside
from flows.cli.explained import Explained, beyond, closing_attacks, is_reversed, rendered
from flows.cli.explained_records import documents
from flows.cli.options import DEFAULT_WORKSPACE, RecipientOption, ReleaseArgument, WorkspaceOption, check_recipient
from flows.cli.output import JsonOption, answer, console, progress
from flows.identity import code_fact
from flows.ledger import open_ledger, recorder_of
from flows.policies import PolicyShelf
from flows.recall import Recalled, find_bundle, recall
from flows.workspace import Workspace
from reports.document import Paragraph
from reports.terminal import show
from tasks.core.errors import WorkspaceError
from tasks.core.guard import guarded
from tasks.core.seed import masking_generator, seed_commitment
from tasks.dates.offsets import offset_key
from tasks.dates.released_dates import ReleasedDates, released_dates
from tasks.decision.explain.candidates import Candidates
from tasks.decision.explain.explain import Beside, Decided
from tasks.decision.explain.explain import explain as explain_decision
from tasks.decision.explain.result import Explanation, Figures, Flip, Judgement, NoFlip, Reason, Switch, TermChange
from tasks.decision.record import DecisionRecord, Verdict
from tasks.decision.remedies import remedies
from tasks.generalization.setting import game_table
from tasks.masking.masked_columns import MaskedColumns, mask_columns
from tasks.microdata.prepared import prepare
from tasks.microdata.read import read_data
from tasks.redaction.recall import redacted
from tasks.request.model import Masking, Recipient, ReleaseRequest

_SEARCH_WORK, _FEWEST_GAMES = 2**25, 6
"""Games solved for one recipient after which no further lever is searched, times distinct tuples of the population and
strategies."""


def explain(
    release: ReleaseArgument,
    recipient: RecipientOption = None,
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
    with progress(quiet=as_json) as say:
        at_once = None if as_json else _at_once
        recalled, explained = explained_release(release, recipient, Workspace(workspace.resolve()), say, at_once)
    notes = _notes(recalled)
    return answer(
        {
            "release_id": recalled.release_id,
            "bundle": str(recalled.bundle),
            "notes": notes,
            "recipients": [_document(one) for one in explained],
        },
        (block for one in explained for block in rendered(one)),
        as_json=as_json,
        notes=notes,
    )


def explained_release(
    reference: str,
    recipient: str | None,
    place: Workspace,
    say: Callable[[str], None],
    at_once: Callable[[DecisionRecord], None] | None = None,
) -> tuple[Recalled, list[Explained]]:
    """A release as it was decided, and the explanation for a recipient, or for all of them.

    `say` is called with each step, `at_once` with each record before the search begins.
    Raises BadInput if there is no such release or recipient; WorkspaceError if its data are
    not at hand as they were; TamperingFound if the bundle is not as recorded.
    """
    with guarded("explanation"):
        say("verifying the bundle")
        bundle = find_bundle(reference, place)
        recorder = recorder_of(bundle, place)
        with open_ledger(recorder) as ledger:
            recalled = recall(bundle, ledger, PolicyShelf(recorder.root))
        check_recipient(recipient, [record.recipient.id for record in recalled.records], "release")
        chosen = [record for record in recalled.records if recipient in (None, record.recipient.id)]
        if at_once is not None:
            for record in chosen:
                at_once(record)
        return recalled, _explained(recalled, chosen, place, say)


def _at_once(record: DecisionRecord) -> None:
    """Show the remedies in the record of a blocked release, since the search may take minutes."""
    found = remedies(record) if record.decision is Verdict.BLOCKED and record.risk else ()
    lines = [Paragraph(f"  → {sentence}", "lead") for sentence in found]
    if lines:
        title = Paragraph(
            f"{record.recipient.id}: what may change it, by the record (changes are tried below)", "strong"
        )
        show([title, *lines, ""], console)


def _key_file(recalled: Recalled, place: Workspace) -> Path:
    """File of the key of the release; WorkspaceError where it is needed and not at hand."""
    key_file, decided = recorder_of(recalled.bundle, place).key_file, recalled.records[0]
    known = key_file.is_file() and seed_commitment(key_file, decided.of_inputs) == decided.seed_commitment_sha256
    request = recalled.loaded.request
    if (request.masking or request.dated) and not known:
        raise WorkspaceError(
            "the key that numbers were masked or dates were shifted with is not at hand",
            where=str(key_file),
            expected="the key of the workspace that the release was made in",
            got="another key" if key_file.is_file() else "no such file",
            fix="name that workspace with --workspace, or restore its key",
        )
    return key_file


def _dates_for(
    recalled: Recalled, frame: pd.DataFrame, place: Workspace
) -> Callable[[ReleaseRequest, Recipient], ReleasedDates]:
    """Function that shifts the dates of a recipient's copy as the release would, once for the same terms."""
    key_file, made = _key_file(recalled, place), dict[tuple[object, ...], ReleasedDates]()

    def dates(request: ReleaseRequest, recipient: Recipient) -> ReleasedDates:
        terms = (recipient.id, *((name, request.attributes[name].date) for name in request.dated))
        if terms not in made:
            made[terms] = released_dates(request, frame, offset_key(key_file, request, recipient.id))
        return made[terms]

    return dates


def _masked_for(recalled: Recalled, frame: pd.DataFrame, place: Workspace) -> Callable[[ReleaseRequest], MaskedColumns]:
    """Function that masks the columns of a request as the release would, once for each masking and its strengths."""
    key_file = _key_file(recalled, place)

    @cache
    def masked(masking: tuple[Masking, ...]) -> MaskedColumns:
        request = recalled.loaded.request.model_copy(update={"masking": masking})
        return mask_columns(request, frame, partial(masking_generator, key_file))

    return lambda request: masked(request.masking)


def _explained(
    recalled: Recalled, records: list[DecisionRecord], place: Workspace, say: Callable[[str], None]
) -> list[Explained]:
    request = recalled.loaded.request
    say("reading data and population")
    frame = read_data(recalled.loaded)
    prepared = prepare(recalled.loaded, frame)
    index = replace(game_table(request, prepared), proven=False)
    made = partial(
        Candidates,
        index,
        prepared,
        _masked_for(recalled, frame, place),
        _dates_for(recalled, frame, place),
        redacted=cache(partial(redacted, frame, request)),
    )

    def explained(record: DecisionRecord, candidates: Candidates, aside: Beside) -> Explained:
        who = record.recipient.id
        decided = Decided(record.decision, record.gates, record.reasons, record.decided_at.date())
        found = explain_decision(
            request,
            request.recipient(who),
            candidates,
            decided,
            lambda step: say(f"{who}: {step}"),
            is_over=_over_after(candidates, max(_SEARCH_WORK // candidates.game_size, _FEWEST_GAMES)),
            beside=aside,
        )
        return Explained(record, found, request.policy.gates)

    def in_turn(groups: Sequence[Sequence[DecisionRecord]]) -> list[Explained]:
        each = ((together, made()) for together in groups)  # one after the other, as they hold games
        return [explained(record, candidates, candidates.apart) for together, candidates in each for record in together]

    candidates, groups = made(), _by_stakes(request, records)
    if not candidates.is_large or len(groups) == 1:
        return [explained(record, candidates, beside if candidates.is_large else cache) for record in records]
    _ = index.people  # counted once for both processes
    others = beside(partial(in_turn, groups[1::2]))
    found = {one.record.recipient.id: one for one in (*in_turn(groups[::2]), *others())}
    return [found[record.recipient.id] for record in records]


def _by_stakes(request: ReleaseRequest, records: Sequence[DecisionRecord]) -> list[list[DecisionRecord]]:
    """Records of recipients with equal stakes together, since they share most games."""
    groups = dict[str, list[DecisionRecord]]()
    for record in records:
        groups.setdefault(request.recipient(record.recipient.id).stakes.model_dump_json(), []).append(record)
    return list(groups.values())


def _over_after(candidates: Candidates, games: int) -> Callable[[], bool]:
    """Whether more than some games have been solved since; counted, so that no explanation depends on the machine."""
    before = candidates.games_solved
    return lambda: candidates.games_solved - before > games


def _notes(recalled: Recalled) -> list[str]:
    decided_by = recalled.records[0].code
    if decided_by == code_fact():
        return []
    note = f"decided by version {decided_by.version}, commit {decided_by.commit[:12]}, and explained by another"
    same = not any(record.decoys for record in recalled.records)
    return [note + (", which finds the same figures for the terms decided on" if same else "")]


def _document(one: Explained) -> dict[str, Any]:
    explanation = one.explanation
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
        "smallest": _result(explanation.smallest),
        "flips": [_result(flip) for flip in explanation.flips],
        "no_flips": [_result(result) for result in explanation.no_flips],
        "methods": [_switch(explanation, switch) for switch in explanation.switches],
        "agreement": _result(explanation.agreement),
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

"""Explaining a verdict: the games of a release, or of a dry run, solved again under other terms."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any, cast

import pandas as pd

from flows.actions.arguments import as_arguments, check_recipient
from flows.gate.dry_run import dry_run
from flows.pipeline.second_process import expect_second_process, in_second_process
from flows.releases.program import code_fact
from flows.releases.recall import Recalled, find_bundle, recall
from flows.workspace.actor import utc_now
from flows.workspace.folders import Workspace
from flows.workspace.ledger import open_ledger, recorder_of
from flows.workspace.progress import step
from reports.explanation.answer import Explained
from tasks.candidate.candidate import Redaction
from tasks.core.errors import WorkspaceError
from tasks.core.files import file_sha256
from tasks.core.guard import guarded
from tasks.core.seed import masking_generator, seed_commitment
from tasks.dates.offsets import offset_key
from tasks.dates.released_dates import ReleasedDates, released_dates
from tasks.decision.changes import read_standing
from tasks.decision.explain.candidates import Candidates
from tasks.decision.explain.explain import Decided, Starter
from tasks.decision.explain.explain import explain as explain_decision
from tasks.decision.record import DecisionRecord
from tasks.decision.standing import Standing
from tasks.delivery.verification import decision_path
from tasks.generalization.game.count_index import CountIndex
from tasks.generalization.setting import game_table
from tasks.ledger.store import Ledger
from tasks.masking.masked_columns import MaskedColumns, mask_columns
from tasks.microdata.coded import Prepared
from tasks.microdata.prepared import prepare
from tasks.microdata.read import read_data
from tasks.redaction.columns import redacted
from tasks.request.model import Recipient, ReleaseRequest

_SEARCH_WORK, _FEWEST_GAMES = 2**25, 6
"""Games solved for one recipient after which no further lever is searched, times distinct tuples of the population and
strategies."""
_MANY_RECORDS = 5_000
"""Records from which the search is likely to be shared by two processes."""


def explained_release(reference: str, recipient: str | None, place: Workspace) -> tuple[Recalled, list[Explained]]:
    """A release as it was decided, and the explanation for a recipient, or for all of them.

    Raises BadInput if there is no such release or recipient; WorkspaceError if its data are not at hand as they were;
    TamperingFound if the bundle is not as recorded.
    """
    with guarded("explanation"):
        step("verifying the bundle")
        bundle = find_bundle(reference, place)
        recorder = recorder_of(bundle, place)
        with open_ledger(recorder) as ledger:
            recalled = recall(bundle, ledger, recorder)
            standings = {one.recipient.id: _standing(ledger, bundle, one) for one in recalled.records}
        explained = _explained(recalled, recipient, place)
        return recalled, [_as_it_stands(one, standings[one.record.recipient.id]) for one in explained]


def _standing(ledger: Ledger, bundle: Path, record: DecisionRecord) -> Standing:
    return read_standing(ledger, record, file_sha256(bundle / decision_path(record.recipient.id)), utc_now())


def _as_it_stands(one: Explained, standing: Standing) -> Explained:
    return one if standing.is_as_decided(one.record) else replace(one, since=standing)


def explained_dry_run(
    request: Path, roots: Sequence[Path], recipient: str | None, place: Workspace
) -> tuple[Recalled, list[Explained], list[str]]:
    """A request as a dry run finds it, the explanation for a recipient, or for all of them, and notes."""
    with dry_run(request, place.root, roots, any_policy=True) as made:
        named = as_arguments(request, roots)
        explained = _explained(made.recalled, recipient, made.workspace)
        return made.recalled, [replace(one, tried=named) for one in explained], [*made.notes]


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


class _Copies:
    """Columns masked, dates shifted and text redacted as a release would; the same is made once."""

    def __init__(self, recalled: Recalled, frame: pd.DataFrame, place: Workspace) -> None:
        self._loaded, self._frame, self._key_file = recalled.loaded, frame, _key_file(recalled, place)
        self._request = self._loaded.request
        self._kind = Candidates  # also where another process makes them
        self._made = dict[object, Any]()

    def masked(self, request: ReleaseRequest) -> MaskedColumns:
        """Columns masked as a request asks that differs from the release's in its maskings."""
        alike = self._request.model_copy(update={"masking": request.masking})
        made = partial(mask_columns, alike, self._frame, partial(masking_generator, self._key_file))
        return cast("MaskedColumns", self._once(request.masking, made))

    def dates(self, request: ReleaseRequest, recipient: Recipient) -> ReleasedDates:
        """Dates as they leave in a recipient's copy."""
        terms = (recipient.id, *((name, request.attributes[name].date) for name in request.dated))
        made = partial(self._dates, request, recipient.id)
        return cast("ReleasedDates", self._once(terms, made))

    def _dates(self, request: ReleaseRequest, who: str) -> ReleasedDates:
        return released_dates(request, self._frame, offset_key(self._key_file, request, who))

    def redacted(self) -> Redaction:
        """Redacted text, the same in every copy."""
        return cast("Redaction", self._once("text", partial(redacted, self._frame, self._request)))

    def counted(self, request: ReleaseRequest, prepared: Prepared | None = None) -> Candidates:
        """Candidates of a request; its data are counted anew, once, if they are not given as ``prepared``."""
        if prepared is None:
            again = partial(prepare, replace(self._loaded, request=request), self._frame)
            prepared = cast("Prepared", self._once(request.model_dump_json(include={"attributes", "tables"}), again))
        return self.candidates(replace(game_table(request, prepared), proven=False), prepared)

    def candidates(self, index: CountIndex, prepared: Prepared) -> Candidates:
        """Candidates on a table of counts."""
        made = self._kind(index, prepared, self.masked, self.dates, redacted=self.redacted)
        made.recount = self.counted
        return made

    def _once(self, key: object, made: Callable[[], object]) -> object:
        if key not in self._made:
            self._made[key] = made()
        return self._made[key]


def _explained(recalled: Recalled, recipient: str | None, place: Workspace) -> list[Explained]:
    check_recipient(recipient, [record.recipient.id for record in recalled.records], "release")
    records = [record for record in recalled.records if recipient in (None, record.recipient.id)]
    if records[0].dataset.rows_in > _MANY_RECORDS:
        expect_second_process()
    request = recalled.loaded.request
    step("reading data and population")
    frame = read_data(recalled.loaded)
    copies = _Copies(recalled, frame, place)
    prepared = prepare(recalled.loaded, frame)
    candidates, groups = copies.counted(request, prepared), _by_stakes(request, records)
    if not candidates.is_large or len(groups) == 1:
        aside: Starter = in_second_process if candidates.is_large else cache
        return [_explanation(request, record, candidates, aside) for record in records]
    made = partial(copies.candidates, candidates.index, prepared)
    _ = candidates.index.people  # counted once for both processes
    others = in_second_process(partial(_in_turn, request, made, groups[1::2]))
    found = {one.record.recipient.id: one for one in (*_in_turn(request, made, groups[::2]), *others())}
    return [found[record.recipient.id] for record in records]


def _in_turn(
    request: ReleaseRequest,
    made: Callable[[], Candidates],
    groups: Sequence[Sequence[DecisionRecord]],
) -> list[Explained]:
    each = ((together, made()) for together in groups)  # one after the other, as they hold games
    return [
        _explanation(request, record, candidates, candidates.apart)
        for together, candidates in each
        for record in together
    ]


def _explanation(request: ReleaseRequest, record: DecisionRecord, candidates: Candidates, aside: Starter) -> Explained:
    who = record.recipient.id
    decided = Decided(record.decision, record.gates, record.reasons, record.decided_at.date())
    most = candidates.games_solved + max(_SEARCH_WORK // candidates.index.game_size, _FEWEST_GAMES)
    found = explain_decision(
        request,
        request.recipient(who),
        candidates,
        decided,
        lambda stage: step(f"{who}: {stage}"),
        is_over=partial(_is_over, candidates, most),
        beside=aside,
    )
    return Explained(record, found, request.policy.gates)


def _is_over(candidates: Candidates, games: int) -> bool:
    """Whether more than so many games were solved: a count, not a time, so that no result depends on the machine."""
    return candidates.games_solved > games


def _by_stakes(request: ReleaseRequest, records: Sequence[DecisionRecord]) -> list[list[DecisionRecord]]:
    """Records of recipients with equal stakes together, since they share most games."""
    groups = dict[str, list[DecisionRecord]]()
    for record in records:
        stakes = request.recipient(record.recipient.id).stakes
        groups.setdefault(stakes.model_dump_json(exclude={"basis"}), []).append(record)
    return list(groups.values())


def notes_on(recalled: Recalled) -> list[str]:
    """Notes on a release that is explained: what has changed since it was decided."""
    decided_by = recalled.records[0].code
    edited = ["the request has changed since; it is explained as it was decided"] if recalled.edited else []
    if decided_by == code_fact():
        return edited
    note = f"decided by version {decided_by.version}, commit {decided_by.commit[:12]}, and explained by another"
    same = not any(record.decoys for record in recalled.records)
    return [*edited, note + (", which finds the same figures for the terms decided on" if same else "")]

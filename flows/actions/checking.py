"""Checking a request and its data before a release: nothing is released, and nothing written."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from flows.actions.check_notes import account_notes, agreement_notes, amount_notes, check_notes, expired_agreements
from flows.actions.randomness import generator_of_its_own
from flows.library.policies import PolicyShelf
from flows.workspace.actor import actor, utc_now
from flows.workspace.folders import Workspace
from tasks.assessments.columns.assessment import column_places
from tasks.assessments.columns.facts import ColumnsFact
from tasks.assessments.identity.preconditions import check_risk_setting
from tasks.core.errors import BadInput, DataError, ReleasegateError, WorkspaceError
from tasks.core.guard import guarded
from tasks.decision.record import ValidationFact
from tasks.decision.verdict import utc_day
from tasks.generalization.setting import check_setting
from tasks.masking.facts import MaskingFact
from tasks.masking.masked_columns import NOTHING_MASKED, mask_columns
from tasks.microdata.coded import Prepared
from tasks.microdata.prepared import prepare
from tasks.microdata.read import read_data
from tasks.request.inputs import read_inputs
from tasks.request.load import LoadedRequest, load_request
from tasks.request.model import Measure
from tasks.request.unused import able_reviewers
from tasks.validation.run import validate
from tasks.validation.suite import is_readable


@dataclass(frozen=True)
class CheckedRequest:
    """Findings of a check."""

    loaded: LoadedRequest
    prepared: Prepared
    validation: ValidationFact
    positions: dict[str, tuple[int, ...]]
    """Records that failed, by check, from 0."""
    masking: tuple[MaskingFact, ...]
    """Masking of numbers as it would be; empty where validation found an error that blocks."""
    columns: ColumnsFact
    """Information that released columns reveal; empty where validation found an error that blocks."""
    notes: tuple[str, ...]
    """Terms that have no effect, or not the effect that their author would expect."""
    expired: tuple[str, ...] = ()
    """Recipients whose agreement is not in force today."""
    without_account: tuple[str, ...] = ()
    """Reviewers who cannot sign in to the workspace's page, where it has accounts."""

    @property
    def missing_reviewers(self) -> int:
        """Reviewers whom the request has to name so that its review can be completed."""
        request = self.loaded.request
        return max(request.policy.review.required - len(able_reviewers(request)), 0)

    @property
    def passed(self) -> bool:
        """Whether the data may go on to the gate."""
        return self.validation.passed and not (self.expired or self.missing_reviewers or _closed(self))


def checked_request(path: Path, roots: list[Path], workspace: Path) -> CheckedRequest:
    """Load a request and its data, and check them."""
    with guarded("check"):
        loaded = load_request(path, roots, PolicyShelf(workspace))
        return checked_frame(loaded, read_data(loaded), workspace)


def checked_frame(loaded: LoadedRequest, frame: pd.DataFrame, workspace: Path | None = None) -> CheckedRequest:
    """Prepare the data of a request, as text, run validation and mask numbers for trial.

    Reviewers without an account are looked for in the workspace, where one is given.
    """
    with guarded("check"):
        prepared = prepare(loaded, frame)
        check_setting(loaded.request, prepared)
        check_risk_setting(loaded.request, prepared)
        outcome = validate(frame, loaded.request, prepared.covered, confirmed=False)
        masked, columns = NOTHING_MASKED, ColumnsFact(columns=())
        failed = [one for one in outcome.fact.checks if not one.passed]
        told = {one.column for one in failed}
        if is_readable(loaded.request, failed):  # else no release would get as far as masking
            told_already = (DataError,) if failed else ()  # a failed check says what keeps data from being masked
            with suppress(*told_already):
                masked = mask_columns(loaded.request, frame, generator_of_its_own)
                found = column_places(loaded.request, prepared, masked)
                columns = ColumnsFact(columns=tuple(one for one in found.columns if one.name not in told))
        without = () if workspace is None else _without_account(workspace, loaded.request.policy.review.reviewers)
        expired = expired_agreements(loaded.request, utc_day(utc_now()))
        notes = (
            *account_notes(without),
            *agreement_notes(expired),
            *amount_notes(loaded.request, frame, told),
            *check_notes(loaded.request, frame, prepared),
        )
        return CheckedRequest(
            loaded, prepared, outcome.fact, outcome.positions, masked.facts, columns, notes, expired, without
        )


def refusals(loaded: LoadedRequest, workspace: Workspace) -> Iterator[str]:
    """Why a workspace with enrolments would refuse a release by the present login; nothing where none is enrolled."""
    from flows.library.enrolment import check_enrolled  # noqa: PLC0415  imports the ledger
    from flows.people.persons import involved  # noqa: PLC0415  imports the ledger
    from flows.workspace.ledger import has_ledger, open_ledger  # noqa: PLC0415  imports the ledger
    from tasks.ledger.enrolment import Directory  # noqa: PLC0415  imports the ledger

    if not has_ledger(workspace):
        return
    try:
        with open_ledger(workspace) as ledger:
            directory = Directory.of(ledger)
    except ReleasegateError:  # the release tells it
        return
    if directory.is_empty:
        return
    inputs = read_inputs(loaded)
    for refuse in (
        lambda: check_enrolled(directory, loaded, inputs),
        lambda: involved(directory, loaded.request, actor()),
    ):
        try:
            refuse()
        except BadInput as error:
            yield f"a release would be refused: {error.in_one_line()}"


def _without_account(root: Path, reviewers: Sequence[str]) -> tuple[str, ...]:
    """Reviewers without an account of the workspace's page; none where the page has no accounts, or hides them."""
    workspace = Workspace(root.resolve())
    if not reviewers or not (workspace.private / "accounts.json").is_file():
        return ()
    from flows.people.accounts import Accounts, without_account  # noqa: PLC0415  imports the ledger
    from flows.workspace.ledger import has_ledger, open_ledger  # noqa: PLC0415  imports the ledger
    from tasks.ledger.enrolment import Directory  # noqa: PLC0415  imports the ledger

    try:
        accounts = Accounts(workspace).all()
    except WorkspaceError:  # of the service's user alone
        return ()
    if not has_ledger(workspace):
        return tuple(reviewers)
    with open_ledger(workspace) as ledger:
        return without_account(accounts, Directory.of(ledger), reviewers)


def _closed(checked: CheckedRequest) -> bool:
    """Whether a gate of the policy would close on what released columns reveal."""
    gates, unplaced = checked.loaded.request.policy.gates, len(checked.columns.unplaced)
    return any(one.measure is Measure.COLUMNS_UNPLACED and unplaced > one.threshold for one in gates)

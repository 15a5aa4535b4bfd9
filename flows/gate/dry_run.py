"""A dry run of a request: what the gate would decide on it now. Nothing is recorded, reported or delivered.

The enrolments of the workspace and earlier copies held by the same party count as they do for a release. Where nothing
is enrolled yet, the request's own policy, population and people do, in a workspace that ends with the dry run. Whoever
has the data may try a policy that is not enrolled, which a release refuses.
"""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any

from flows.gate.call import GateCall, check_overrides, terms_of
from flows.library.enrolment import check_enrolled, first_enrolment, items_of
from flows.library.policies import PolicyShelf
from flows.people.persons import involved
from flows.pipeline.run import Run, RunTerms
from flows.pipeline.sequence import take
from flows.pipeline.stages import CERTIFY, EVIDENCE, REPORT, Inputs, Stage
from flows.pipeline.worker_runner import WorkerRunner
from flows.pipeline.workers import Workers, working
from flows.releases.identity import identify, release_id
from flows.releases.program import code_fact
from flows.releases.recall import Recalled
from flows.workspace.actor import Clock, SteadyClock, actor, utc_now
from flows.workspace.folders import INPUTS, Workspace, open_workspace
from flows.workspace.ledger import has_ledger, open_ledger
from flows.workspace.progress import step
from flows.workspace.temporary import held_folder
from tasks.core.files import checked
from tasks.core.guard import guarded
from tasks.core.modes import owner_only
from tasks.core.secret_variables import secrets_taken
from tasks.decision.record import DecisionRecord
from tasks.decision.verdict import utc_day
from tasks.decoys.vault import Vault
from tasks.ledger.enrolment import Directory
from tasks.ledger.store import Ledger
from tasks.request.inputs import read_inputs
from tasks.request.load import LoadedRequest, load_request, take_snapshot


@dataclass(frozen=True)
class DryRun:
    """A request, with the records that a release of it would have now."""

    recalled: Recalled
    """The request and the records, as if they were decided; the bundle is the request itself."""
    workspace: Workspace
    """The workspace whose key was used; one that ends with the dry run where nothing was enrolled."""
    notes: tuple[str, ...] = ()
    """A sentence on the policy where it is not the enrolled one."""


@contextmanager
def dry_run(
    request_path: Path,
    workspace_root: Path,
    roots: Sequence[Path] = (),
    *,
    clock: Clock = utc_now,
    handed_in_by: str | None = None,
    any_policy: bool = False,
    workers: Callable[[Path], AbstractContextManager[Workers]] = working,
) -> Iterator[DryRun]:
    """Run the gate on a request, and hold the key that was used for as long as the block runs.

    Takes what ``run_release`` takes, and raises as it does, but writes no ledger entry. `handed_in_by` is
    the login where the request came from, if that is not the present one; `any_policy` also judges
    by a policy that is not enrolled, whose small-cell limit may be any, so only for whoever can read the data;
    `workers` makes the processes that work,
    from the private folder of a workspace.
    """
    clock, real = SteadyClock(clock), Workspace(workspace_root.resolve())
    with owner_only(), secrets_taken(), guarded("dry run"), held_folder(real.private) as folder:
        loaded = load_request(request_path, roots, PolicyShelf(real.root))
        with _enrolled_workspace(real, folder, loaded, clock) as (workspace, ledger):
            inputs = read_inputs(loaded)
            now = identify(ledger, release_id(loaded, inputs, code_fact()), loaded.request, utc_day(clock()))
            directory = Directory.of(ledger)
            enrolled = check_enrolled(directory, loaded, inputs, any_policy=any_policy)
            call = GateCall(workspace, ledger, loaded, inputs, now, clock, any_policy)
            if now.is_new:
                check_overrides(call)
            people = involved(directory, loaded.request, handed_in_by or actor())
            terms, _ = terms_of(call, people, clock())
            records = _records(call, terms, folder / "run", workers)
            recalled = Recalled(now.release_id, loaded.path, records, loaded, edited=False)
            yield DryRun(recalled, workspace, () if "policy" in enrolled else (_not_enrolled(directory, loaded),))


@contextmanager
def _enrolled_workspace(
    real: Workspace, folder: Path, loaded: LoadedRequest, clock: Clock
) -> Iterator[tuple[Workspace, Ledger]]:
    """The workspace that has enrolments, with its ledger; else one in a folder, with those of the request."""
    if has_ledger(real):
        with open_ledger(real, clock=clock) as ledger:
            if not Directory.of(ledger).is_empty:
                yield real, ledger
                return
    scratch = open_workspace(folder / "workspace")
    with Ledger.open(scratch.ledger, create=True, clock=clock) as ledger:
        first_enrolment(scratch, ledger, items_of(scratch, loaded), clock)
        yield scratch, ledger


def _not_enrolled(directory: Directory, loaded: LoadedRequest) -> str:
    policy = loaded.request.policy
    other = directory.policy(policy.id, policy.version, ended=True)
    differs = "is enrolled with other terms" if other else "is not enrolled"
    version = ", under a version of its own," if other else ""
    return (
        f"Judged by the policy as written: {policy.id}/{policy.version} {differs}, and a release is refused until an "
        f"officer enrols this one{version} with `releasegate enrol policy`."
    )


def _records(
    call: GateCall, terms: RunTerms, folder: Path, workers: Callable[[Path], AbstractContextManager[Workers]]
) -> tuple[DecisionRecord, ...]:
    """Records of the recipients to decide for; sealed files are named by a number drawn at random, and removed."""
    name, workspace = token_hex(32), call.workspace
    vault = Vault.beside(workspace.key_file)
    folder.mkdir()
    try:
        snapshot = take_snapshot(call.loaded, call.inputs.by_place, folder / INPUTS)
        run = Run(name, call.identity.inputs_id, str(folder), snapshot, str(workspace.key_file))
        step("starting workers")
        with workers(workspace.private) as found:
            made = take(run, terms, _Unreported(found))["recipients"]
        return tuple(DecisionRecord.model_validate_json(checked(made[who]["record"]).read_bytes()) for who in made)
    finally:
        vault.place(name).unlink(missing_ok=True)
        shutil.rmtree(vault.crosswalk_place(name, "").parent, ignore_errors=True)


class _Unreported(WorkerRunner):
    """Runs all stages except those that write a report."""

    def call(self, stage: Stage, run: Run, inputs: Inputs, recipient: str | None = None) -> Any:
        """Result of a stage; None for a report."""
        return None if stage in (REPORT, EVIDENCE, CERTIFY) else super().call(stage, run, inputs, recipient)

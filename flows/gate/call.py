"""One call of the gate, and the terms of the run that it makes, by the ledger and its enrolments as they are now."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from flows.library.enrolment import check_enrolled
from flows.pipeline.run import RunTerms
from flows.releases.cases import opened, wait_and_settle
from flows.releases.earlier import decoys_to_continue, what_is_superseded
from flows.releases.identity import ReleaseIdentity
from flows.releases.program import code_fact
from flows.releases.released_copies import copies_held
from flows.workspace.actor import SteadyClock
from flows.workspace.folders import Workspace
from tasks.core.errors import StageFailed, TamperingFound
from tasks.core.seed import seed_commitment
from tasks.decision.context import CONTEXT, DecisionContext, InvolvedPeople
from tasks.decision.overrides import is_of
from tasks.ledger.enrolment import Directory
from tasks.ledger.store import Ledger
from tasks.request.inputs import Inputs
from tasks.request.load import LoadedRequest

LONGEST_WAIT = 3600.0
"""Seconds to wait for another process that works on the same release."""


@dataclass(frozen=True)
class GateCall:
    """One call of the gate: a request, the release that it names, and where both are recorded."""

    workspace: Workspace
    ledger: Ledger
    loaded: LoadedRequest
    inputs: Inputs
    identity: ReleaseIdentity
    clock: SteadyClock
    any_policy: bool = False
    """Whether the request's policy is judged by, enrolled or not; what comes of it is no decision."""

    @property
    def release_id(self) -> str:
        """The release that the request names."""
        return self.identity.release_id

    @property
    def recipients(self) -> list[str]:
        """Ids of all recipients of the request."""
        return [recipient.id for recipient in self.loaded.request.recipients]

    @property
    def decided(self) -> list[str]:
        """Recipients to decide for: all, or those whose gates were overridden, or whose decision no longer stands."""
        again = {one.recipient for one in self.identity.overrides} | self.identity.decided_before.keys()
        return sorted(again) or self.recipients


def terms_of(call: GateCall, people: InvolvedPeople, requested_at: datetime) -> tuple[RunTerms, DecisionContext]:
    """Terms of a run and context of its decisions, by the ledger as it is now."""
    workspace, ledger, name = call.workspace, call.ledger, call.release_id
    decided_at, head = call.clock.checked(), ledger.head().sha256
    earlier = _earlier_copies(call)
    context = DecisionContext(
        release_id=name,
        request_sha256=call.loaded.sha256,
        dataset_sha256=call.inputs.dataset_sha256,
        tables_sha256=call.inputs.tables,
        population_sha256=call.inputs.population_sha256,
        code=code_fact(),
        seed_commitment_sha256=seed_commitment(workspace.key_file, call.identity.inputs_id),
        requested_at=requested_at,
        people=people,
        decided_at=decided_at,
        prev_record_sha256=head,
        inputs_id=call.identity.inputs_id if call.identity.is_new else None,
        overrides=call.identity.overrides,
        supersedes=what_is_superseded(workspace, ledger, call.loaded, name, decided_at),
        decided_before=call.identity.decided_before,
        beside={who: [copy["entry"] for copy in found["copies"]] for who, found in earlier.items()},
        enrolments=check_enrolled(Directory.of(ledger), call.loaded, call.inputs, any_policy=call.any_policy),
    )
    terms = RunTerms(
        recipients=call.recipients,
        decided=call.decided,
        decoys=decoys_to_continue(workspace, ledger, call.loaded, call.inputs),
        earlier=earlier,
        context=CONTEXT.dump_python(context, mode="json"),
    )
    return terms, context


def _earlier_copies(call: GateCall) -> dict[str, Any]:
    """Earlier copies that the recipients hold; waits for copies that others are still delivering."""
    found = copies_held(call.ledger, call.loaded.request, call.release_id)
    for release in sorted({copy["release"] for one in found.values() for copy in one["copies"]}):
        wait_and_settle(call.workspace, call.ledger, release)
    return found


def check_overrides(call: GateCall) -> None:
    """Verify the blocked releases whose overrides are to be used, and compare the overrides with their records."""
    workspace, ledger = call.workspace, call.ledger
    if call.release_id != call.identity.inputs_id and not call.identity.is_new:
        raise StageFailed(
            "a release under overrides, or decided a second time, is not decided again without its bundle",
            where=f"release {call.release_id}",
            expected="the bundle that was published",
            got="none",
            fix="restore the bundle from a backup",
        )
    for name in sorted({one.release_id for one in call.identity.overrides}):
        with workspace.locked(name, wait_seconds=LONGEST_WAIT):
            cases = opened(workspace, ledger, name, call.clock()).cases
        for one in call.identity.overrides:
            if one.release_id == name and not (one.recipient in cases and is_of(one, cases[one.recipient].record)):
                raise TamperingFound(
                    "an override of gates is not what an officer could record",
                    where=f"ledger entry of {one.at:%Y-%m-%d %H:%M} about release {name[:12]}, {one.recipient}",
                    expected="closed gates of the blocked release, their figures, and the days that its policy gives",
                    got="a different override",
                    fix="release nothing; find out who wrote this entry",
                )

"""Identity of a release: the hash of its request, data, population, hierarchies and the program that decides.

A release that rests on overrides of gates is named by the overrides too, one that is decided again by what has changed.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime

from flows.releases.stale_decisions import no_longer_standing
from tasks.core.canonical import digest
from tasks.core.errors import StageFailed
from tasks.decision.earlier_facts import EarlierDecision
from tasks.decision.overrides import GateOverrides, in_force, inputs_of, overridden_id
from tasks.decision.record import CodeFact
from tasks.decision.redecision import redecision_id
from tasks.decision.verdict import utc_day
from tasks.ledger.entry import Event
from tasks.ledger.store import Ledger
from tasks.request.inputs import Inputs
from tasks.request.load import LoadedRequest
from tasks.request.model import ReleaseRequest


def release_id(loaded: LoadedRequest, inputs: Inputs, code: CodeFact) -> str:
    """Name of a release: equal for equal inputs and program, and for nothing else."""
    return digest(
        {
            "request": loaded.sha256,
            "dataset": inputs.dataset_sha256,
            "population": inputs.population_sha256,
            "hierarchies": inputs.hierarchies,
            "external_data": inputs.external_data_sha256,
            **({"tables": inputs.tables} if inputs.tables else {}),
            "code": code.model_dump(mode="json"),
        }
    )


@dataclass(frozen=True)
class ReleaseIdentity:
    """The release that a request identifies today."""

    release_id: str
    inputs_id: str
    """Release id of the same inputs, first decided and without overrides."""
    overrides: tuple[GateOverrides, ...] = ()
    """Overrides in force and not used yet; with any, the release is new, or was interrupted."""
    decided_before: Mapping[str, EarlierDecision] = field(default_factory=dict)
    """By recipient, decisions that no longer stand; with any, the release is new, or was interrupted."""

    @property
    def is_new(self) -> bool:
        """Whether a recipient is to be decided for again."""
        return bool(self.overrides or self.decided_before)


def identify(ledger: Ledger, inputs: str, request: ReleaseRequest, today: date) -> ReleaseIdentity:
    """The release that a request identifies: the last one decided, unless some recipient is to be decided for again.

    That is so under overrides in force, or else where a decision no longer stands beside the copies of the same party.
    """
    if not ledger.entries(release_id=inputs, event=Event.DECIDED):
        return ReleaseIdentity(inputs, inputs)
    decided = ledger.entries(event=Event.DECIDED)
    waiting = in_force(ledger.entries(event=Event.OVERRIDDEN), decided, inputs, today)
    if waiting:
        return ReleaseIdentity(overridden_id(inputs, [one.entry_sha256 for one in waiting]), inputs, waiting)
    before = no_longer_standing(ledger, request, inputs, today)
    for one in before.values():
        return ReleaseIdentity(redecision_id(inputs, one.entries), inputs, decided_before=before)
    return ReleaseIdentity([str(entry.release_id) for entry in decided if inputs_of(entry) == inputs][-1], inputs)


def check_unused(ledger: Ledger, overrides: Iterable[GateOverrides], at: datetime) -> None:
    """Refuse a decision under overrides that are no longer in force; within the transaction that records it.

    Raises StageFailed if one was used, or its last day has passed, while the gate was running.
    """
    for one in overrides:
        entries, decided = ledger.entries(event=Event.OVERRIDDEN), ledger.entries(event=Event.DECIDED)
        if one not in in_force(entries, decided, one.inputs, utc_day(at)):
            raise StageFailed(
                "an override that the release rests on is no longer in force",
                where="ledger",
                expected="overrides that are neither used nor past their last day",
                got="one that was used, or has ended, while the gate was running",
                fix="run the command again; an officer may override the gates again",
            )


def last_decided(ledger: Ledger, inputs: str) -> dict[str, str]:
    """The release that was last decided of some inputs, by recipient."""
    decided = ledger.entries(event=Event.DECIDED)
    return {str(entry.recipient): str(entry.release_id) for entry in decided if inputs_of(entry) == inputs}

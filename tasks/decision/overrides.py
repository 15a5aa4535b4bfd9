"""Overrides of gates: an officer takes responsibility for figures that do not meet the policy's thresholds.

An override opens no gate of the blocked release. It is an entry of the ledger, bound to the blocked record, and lets
the same inputs be decided once more, as a release of its own that shows the gates as failed. It covers the figures
that the officer saw and none that is worse, one release, and the days that the policy gives it.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Self

from tasks.core.canonical import digest
from tasks.core.errors import StageFailed
from tasks.core.people import may_be_same_person
from tasks.decision.record import DecisionRecord, GateOverride, GateResult
from tasks.decision.verdict import is_excused, is_over, utc_day
from tasks.ledger.entry import Entry, Event
from tasks.request.model import Measure


@dataclass(frozen=True)
class GateOverrides:
    """The gates that one entry of the ledger overrides."""

    entry_sha256: str
    release_id: str
    """The release that was blocked."""
    recipient: str
    officer: str
    reason: str
    at: datetime
    record_sha256: str
    """SHA-256 of the blocked record that the officer saw."""
    inputs: str
    """Release id of the same inputs without any override."""
    valid_until: date
    """Last day on which a release may be decided with it."""
    gates: Mapping[str, float]
    """By gate, the figure that the officer saw."""

    @classmethod
    def of(cls, entry: Entry) -> Self:
        """Read an entry; ``KeyError``, ``TypeError`` or ``ValueError`` if it is not an override of gates."""
        body = entry.body
        gates = body["gates"]
        if not isinstance(gates, list) or not gates:
            raise TypeError("gates")
        return cls(
            entry_sha256=entry.sha256,
            release_id=str(entry.release_id),
            recipient=str(entry.recipient),
            officer=str(body["by"]),
            reason=str(body["reason"]),
            at=entry.at,
            record_sha256=str(body["blocked_record_sha256"]),
            inputs=str(body["inputs"]),
            valid_until=date.fromisoformat(str(body["valid_until"])),
            gates={str(gate["id"]): float(gate["measured"]) for gate in gates},
        )

    def fact(self, gate: str) -> GateOverride:
        """The override as a record shows it at one gate."""
        return GateOverride(
            officer=self.officer,
            reason=self.reason,
            at=self.at,
            measured=self.gates[gate],
            valid_until=self.valid_until,
            release_id=self.release_id,
            record_sha256=self.record_sha256,
            entry_sha256=self.entry_sha256,
        )


def is_gate_override(entry: Entry) -> bool:
    """Whether an entry overrides gates; an override without any puts a rejected release before reviewers again."""
    return entry.event is Event.OVERRIDDEN and "gates" in entry.body


def in_force(
    overrides: Iterable[Entry], decided: Iterable[Entry], inputs: str, today: date
) -> tuple[GateOverrides, ...]:
    """The overrides that a release would rest on today, by the release id of its inputs, in the order of the ledger.

    An override is used up once a decision names it, or once the same inputs were decided for its recipient after the
    release that it is about: that decision may have been made while this one was.
    """
    entries = tuple(decided)
    used = {name for entry in entries for name in used_by(entry)}
    last = {str(entry.recipient): entry.release_id for entry in entries if inputs_of(entry) == inputs}
    asked = (entry for entry in overrides if is_gate_override(entry) and entry.body.get("inputs") == inputs)
    return tuple(
        found
        for found in map(GateOverrides.of, asked)
        if found.entry_sha256 not in used
        and last.get(found.recipient, found.release_id) == found.release_id
        and not is_over(found.valid_until, today)
    )


def used_by(decided: Entry) -> tuple[str, ...]:
    """The overrides that a decision has used up, by the hashes of their entries."""
    names = decided.body.get("overrides", ())
    return tuple(str(name) for name in names) if isinstance(names, list) else ()


def inputs_of(decided: Entry) -> str:
    """Release id of the inputs of a decision, when they were decided first and without overrides."""
    return str(decided.body.get("inputs", decided.release_id))


def overridden_id(inputs: str, entries: Collection[str]) -> str:
    """Name of a release that rests on overrides: equal for equal inputs and overrides, and for nothing else."""
    return digest({"inputs": inputs, "overrides": sorted(entries)})


def with_overrides(
    gates: Sequence[GateResult], overrides: Iterable[GateOverrides], allowed: Collection[str]
) -> tuple[GateResult, ...]:
    """Gate results, those of ``allowed`` that an override covers marked so; their figure still failed."""
    results = {gate.id: gate for gate in gates}
    for one in overrides:
        for name in one.gates.keys() & set(allowed) & set(Measure):
            gate = results.get(name)
            marked = gate and gate.model_copy(update={"overridden": one.fact(name)})
            if marked is not None and is_excused(marked):
                results[name] = marked
    return tuple(results.values())


def not_covered(gates: Sequence[GateResult], overrides: Iterable[GateOverrides]) -> tuple[str, ...]:
    """A sentence for each override that does not hold, because the figure is worse than what the officer saw."""
    named = {name: one for one in overrides for name in one.gates}
    return tuple(
        f"The override by {named[gate.id].officer} does not hold for “{gate.title}”: the figure is worse than the one "
        "that was overridden."
        for gate in gates
        if gate.id in named and not gate.passed and gate.overridden is None
    )


def overridable(
    gates: Sequence[GateResult], named: Collection[str], allowed: Collection[str], where: str
) -> tuple[GateResult, ...]:
    """The closed gates that an officer names and the policy allows to be overridden, in the record's order.

    Raises StageFailed if one that is named is not closed, was not measured or may not be overridden, or one that is not
    named stays closed and may not be overridden either, so that the override would have no effect.
    """
    closed = {gate.id: gate for gate in gates if not gate.passed and gate.overridden is None}
    able = {
        name: gate
        for name, gate in closed.items()
        if name in allowed and name in set(Measure) and gate.comparison != "is" and gate.measured is not None
    }
    unable = sorted(set(closed) - set(able))
    wrong = sorted(set(named) - set(able))
    if wrong or not named:
        raise StageFailed(
            "this gate cannot be overridden" if len(wrong) == 1 else "these gates cannot be overridden",
            where=where,
            expected="closed gates that policy.review.overridable lists, whose figures were measured"
            + (f": {', '.join(sorted(able))}" if able else "; this release has none"),
            got=", ".join(name if name in closed else f"{name} (not closed)" for name in wrong) or "none",
            fix="change the release or the policy, in a new request; releasegate explain says what would pass",
        )
    if unable:
        raise StageFailed(
            "the release would stay blocked",
            where=where,
            expected="closed gates that may all be overridden",
            got=", ".join(unable),
            fix="change the release or the policy, in a new request; releasegate explain says what would pass",
        )
    return tuple(gate for gate in gates if gate.id in set(named))


def is_of(override: GateOverrides, record: DecisionRecord) -> bool:
    """Whether an override says no more than can be recorded of a blocked release; ``standing`` checks the officer."""
    figures = {
        gate.id: gate.measured
        for gate in record.gates
        if gate.id in record.overridable and gate.comparison != "is" and not gate.passed and gate.measured is not None
    }
    return (
        override.inputs == record.of_inputs
        and override.valid_until == utc_day(override.at) + timedelta(days=record.override_days)
        and override.gates.items() <= figures.items()
    )


def is_founded(record: DecisionRecord, overrides: Mapping[str, Entry], before: int) -> bool:
    """Whether a record's overrides, and no others, are entries (by hash) before the one that records the decision."""
    marked = [gate for gate in record.gates if gate.overridden is not None]
    if record.inputs_id is None or not record.overrides:
        named = record.decided_before is not None
        return named == (record.inputs_id is not None) and not record.overrides and not marked
    entries = [overrides.get(name) for name in record.overrides]
    found = [GateOverrides.of(entry) for entry in entries if entry is not None and is_gate_override(entry)]
    return (
        len(found) == len(record.overrides)
        and all(entry is not None and entry.sequence < before for entry in entries)
        and record.release_id == overridden_id(record.inputs_id, record.overrides)
        and all(one.inputs == record.inputs_id for one in found)
        and not any(is_over(one.valid_until, utc_day(record.decided_at)) for one in found)
        and all(_is_recorded(record, gate, found) for gate in marked)
    )


def _is_recorded(record: DecisionRecord, gate: GateResult, found: Iterable[GateOverrides]) -> bool:
    given = [one for one in found if one.recipient == record.recipient.id and gate.id in one.gates]
    return (
        gate.id in record.overridable
        and is_excused(gate)
        and any(gate.overridden == one.fact(gate.id) and one.officer in record.officers for one in given)
        and not any(may_be_same_person(name, record.requested_by) for name in record.answering)
    )

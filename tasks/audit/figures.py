"""Gate figures and attack results of a period; figures about few people become bounds."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import median
from typing import get_args

from tasks.audit import cells
from tasks.audit.cases import AuditCase
from tasks.audit.history import Period
from tasks.audit.report import AttackCount, AuditAttackRow, AuditGateRow, NearRow, ShareRange
from tasks.decision.bodies import Intruder, KeptGate
from tasks.decision.record import GateResult, Verdict
from tasks.decision.written_figures import RecordCounts, write_result
from tasks.request.measures import MEASURES
from tasks.request.model import Measure

NEAR_FROM = 0.9
"""Part of what a gate allows from which on a figure is near the threshold."""
_TOLERANCE = 1e-9
"""Of parts of a threshold: 0.045 of 0.05 is 90 %, and as numbers of a computer a little less."""
_ORDER = {measure.value: place for place, measure in enumerate(Measure)}


def gate_rows(cases: Sequence[AuditCase], period: Period) -> tuple[AuditGateRow, ...]:
    """All figures of the period by gate, in the order of the measures."""
    applied: dict[str, list[tuple[KeptGate, float | None]]] = defaultdict(list)
    for _, gate, part in _parts(cases, period):
        applied[gate.id].append((gate, part))
    rows = []
    for name in sorted(applied, key=lambda name: (_ORDER.get(name, len(_ORDER)), name)):
        parts = sorted(part for _, part in applied[name] if part is not None)
        rows.append(
            AuditGateRow(
                gate=name,
                title=_title(name),
                judged=len(applied[name]),
                failed=sum(not gate.passed for gate, _ in applied[name]),
                near=sum(_is_near(gate, part) for gate, part in applied[name]),
                compared=len(parts),
                lowest=parts[0] if parts else None,
                median=median(parts) if parts else None,
                highest=parts[-1] if parts else None,
            )
        )
    return tuple(rows)


def near_rows(cases: Sequence[AuditCase], period: Period) -> tuple[NearRow, ...]:
    """Figures of releases that no gate blocked and that took nearly all that a gate allows, the nearest first."""
    rows = []
    for case, gate, part in _parts(cases, period):
        if part is not None and _is_near(gate, part) and case.verdict != Verdict.BLOCKED.value:
            measured, asked = _written(case, gate)
            rows.append(
                NearRow(
                    entry=case.decided.sequence,
                    decided_at=case.decided.at,
                    release_id=case.release_id,
                    recipient=case.recipient,
                    gate=gate.id,
                    title=_title(gate.id),
                    measured=measured,
                    asked=asked,
                    used=part,
                    outcome=case.outcome.state,
                )
            )
    return tuple(sorted(rows, key=lambda row: (-row.used, row.entry)))


def gate_figure(case: AuditCase, gate: KeptGate) -> str:
    """A gate's figure in words."""
    measured, asked = _written(case, gate)
    return f"{_title(gate.id)}: {measured} measured, {asked} required"


def attack_rows(cases: Sequence[AuditCase], period: Period) -> tuple[AuditAttackRow, ...]:
    """The strongest attack of each kind of intruder on each file of the period, in the order of the decisions."""
    rows = []
    for case in _decided_in(cases, period):
        for attack in case.kept.attacks:
            share = cells.share(attack.share, attack.people, case.kept.policy.small_cell)
            exact = share.low == share.high
            rows.append(
                AuditAttackRow(
                    entry=case.decided.sequence,
                    decided_at=case.decided.at,
                    release_id=case.release_id,
                    recipient=case.recipient,
                    intruder=attack.intruder,
                    attack=attack.title,
                    share=share,
                    interval=ShareRange(low=attack.low, high=attack.high) if exact else None,
                    baseline=attack.baseline,
                    people=cells.records(attack.people, case.kept.policy.small_cell),
                    proves_something=attack.proves_something,
                    verdict=case.verdict,
                )
            )
    return tuple(rows)


def attack_counts(rows: Sequence[AuditAttackRow], part: Period) -> tuple[AttackCount, ...]:
    """Median and highest share by kind of intruder in a part of the period; of a range its upper end."""
    shares: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        if part.holds(row.decided_at):
            shares[row.intruder].append(row.share.high)
    return tuple(
        AttackCount(intruder=intruder, attacks=len(found), median=median(found), highest=max(found))
        for intruder in get_args(Intruder)
        if (found := shares.get(intruder))
    )


def _decided_in(cases: Sequence[AuditCase], period: Period) -> list[AuditCase]:
    return [case for case in cases if period.holds(case.decided.at)]


def _parts(cases: Sequence[AuditCase], period: Period) -> Iterator[tuple[AuditCase, KeptGate, float | None]]:
    """Gates of the period with the part of the threshold that the figure uses.

    None where that is undefined, or discloses a small count.
    """
    for case in _decided_in(cases, period):
        for gate in case.kept.gates:
            measured, threshold, part = gate.measured, gate.threshold, None
            if measured is not None and measured >= 0 and threshold > 0 and not _is_hidden(case, gate):
                at_least = threshold / measured if measured > 0 else None
                part = measured / threshold if gate.comparison == "at most" else at_least
            yield case, gate, part


def _is_near(gate: KeptGate, part: float | None) -> bool:
    """Whether a figure passes and uses nearly all that its gate allows."""
    return gate.passed and part is not None and part >= NEAR_FROM - _TOLERANCE


def _is_hidden(case: AuditCase, gate: KeptGate) -> bool:
    plain, _ = write_result(_result(gate).model_copy(update={"people": None}), small_cell=0)
    return _written(case, gate)[0] != plain


def _written(case: AuditCase, gate: KeptGate) -> tuple[str, str]:
    return write_result(
        _result(gate), records=RecordCounts(None, case.kept.records), small_cell=case.kept.policy.small_cell
    )


def _result(gate: KeptGate) -> GateResult:
    unit = MEASURES[Measure(gate.id)].unit if gate.id in _ORDER else ""
    return GateResult.model_validate(gate.model_dump() | {"title": _title(gate.id), "unit": unit, "because": ""})


def _title(gate: str) -> str:
    return MEASURES[Measure(gate)].title if gate in _ORDER else gate

"""Gate figures and attack results of a period; figures about few people become bounds."""

from collections import defaultdict
from collections.abc import Sequence
from statistics import median

from tasks.assessments.measures import MEASURES
from tasks.audit import cells
from tasks.audit.cases import AuditCase
from tasks.audit.history import Period
from tasks.audit.report import AttackCount, AuditAttackRow, AuditGateRow, NearRow, ShareRange
from tasks.decision.bodies import KeptGate
from tasks.decision.measures import write_result
from tasks.decision.record import GateResult, Verdict
from tasks.request.model import Measure

NEAR_FROM = 0.9
"""Part of what a gate allows from which on a figure is near the threshold."""


def gate_rows(cases: Sequence[AuditCase], period: Period) -> tuple[AuditGateRow, ...]:
    """All figures of the period by gate, in the order of the measures."""
    applied: dict[str, list[tuple[KeptGate, float | None]]] = defaultdict(list)
    for case in _decided_in(cases, period):
        for gate in case.kept.gates if case.kept else ():
            applied[gate.id].append((gate, _shown_part(case, gate)))
    order = {measure.value: place for place, measure in enumerate(Measure)}
    rows = []
    for name in sorted(applied, key=lambda name: (order.get(name, len(order)), name)):
        parts = sorted(part for _, part in applied[name] if part is not None)
        rows.append(
            AuditGateRow(
                gate=name,
                title=_title(name),
                judged=len(applied[name]),
                failed=sum(not gate.passed for gate, _ in applied[name]),
                near=sum(gate.passed and part is not None and part >= NEAR_FROM for gate, part in applied[name]),
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
    for case in _decided_in(cases, period):
        if case.kept is None or case.verdict == Verdict.BLOCKED.value:
            continue
        for gate in case.kept.gates:
            part = _shown_part(case, gate)
            if not gate.passed or part is None or part < NEAR_FROM:
                continue
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
        for attack in case.kept.attacks if case.kept else ():
            limit = case.small_cell
            share = cells.share(attack.share, attack.people, limit)
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
                    people=cells.records(attack.people, limit),
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
        for intruder in ("uninformed", "informed", "masked")
        if (found := shares.get(intruder))
    )


def _decided_in(cases: Sequence[AuditCase], period: Period) -> list[AuditCase]:
    return [case for case in cases if period.holds(case.decided.at)]


def _shown_part(case: AuditCase, gate: KeptGate) -> float | None:
    """Part of a gate's threshold that the figure uses; None where that is undefined, or discloses a small count."""
    measured, threshold = gate.measured, gate.threshold
    if measured is None or measured < 0 or threshold <= 0 or _is_hidden(case, gate):
        return None
    if gate.comparison == "at most":
        return measured / threshold
    return threshold / measured if measured > 0 else None


def _is_hidden(case: AuditCase, gate: KeptGate) -> bool:
    result = _result(gate)
    plain, _ = write_result(result.model_copy(update={"people": None}), small_cell=0)
    return _written(case, gate)[0] != plain


def _written(case: AuditCase, gate: KeptGate) -> tuple[str, str]:
    records = case.kept.records if case.kept else None
    return write_result(_result(gate), records=records, small_cell=case.small_cell)


def _result(gate: KeptGate) -> GateResult:
    unit = MEASURES[Measure(gate.id)].unit if gate.id in _KNOWN else ""
    return GateResult(
        id=gate.id,
        title=_title(gate.id),
        unit=unit,
        measured=gate.measured,
        interval=gate.interval,
        people=gate.people,
        comparison=gate.comparison,
        threshold=gate.threshold,
        passed=gate.passed,
        because="",
    )


_KNOWN = frozenset(measure.value for measure in Measure)


def _title(gate: str) -> str:
    return MEASURES[Measure(gate)].title if gate in _KNOWN else gate

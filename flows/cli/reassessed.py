"""A re-assessment on the terminal: what is said, the gates then and today, copies in one hand, what ends."""

from rich.console import Group, RenderableType
from rich.text import Text

from flows.cli.tables import titled_table, untitled_table
from flows.reassessing import Reassessed
from tasks.decision.measures import write_result
from tasks.decision.record import GateResult
from tasks.reassessment.record import Again, GateAgain, Hand, Reassessment
from tasks.request.model import Measure

_STYLES = {Again.HOLDS: "bold green", Again.BLOCKED: "bold red", Again.CANNOT: "bold yellow"}
_KINDS = {"same recipient": "given to it", "declared": "taken to share", "compared": "compared, not judged"}


def shown(one: Reassessed) -> Group:
    """What the terminal shows of one copy."""
    changed = f" (before: {one.before})" if one.changed else ""
    head = Text.assemble(
        (one.verdict.value, _STYLES[one.verdict]), f"  {one.recipient}, release {one.release_id[:12]}{changed}"
    )
    parts: list[RenderableType] = [head]
    if one.repeated:
        parts.append(Text("The world is that of a re-assessment that is recorded; no record was written."))
    if one.late:
        parts.append(Text(f"It is {one.late} days late."))
    parts += [Text(f"  {sentence}") for sentence in one.because]
    if one.record is not None:
        parts += _tables(one.record)
    if one.path is not None:
        parts.append(Text(f"record: {one.path}", overflow="fold"))
    return Group(*parts, Text(""))


def _tables(record: Reassessment) -> list[RenderableType]:
    parts: list[RenderableType] = [_gates("Gates then and today", record.gates, record)]
    for hand in record.hands:
        who = f"{', '.join(hand.recipients)}: {len(hand.releases)} releases in one hand ({_KINDS[hand.kind]})"
        if hand.cannot:
            parts.append(Text(f"{who}\n  could not be laid beside each other: {hand.cannot}"))
        else:
            parts.append(_gates(who, hand.gates, record, _narrowed(hand, record)))
    if record.sets_left_out:
        parts.append(Text(f"{record.sets_left_out:,} further sets of recipients who might share were not compared."))
    if record.lapses:
        table = untitled_table(["ends", ""], ["last day", "days left"])
        for one in record.lapses:
            table.add_row(one.what, one.name if one.what == "agreement" else "", str(one.last_day), str(one.days_left))
        parts.append(table)
    return parts


def _gates(title: str, gates: tuple[GateAgain, ...], record: Reassessment, caption: str = "") -> RenderableType:
    table = titled_table(title, ["", "gate"], ["then", "today", "allowed"], caption)
    for gate in gates:
        mark = {True: "open", False: "closed", None: "–"}[gate.open]
        then, today, allowed = written(gate, record)
        table.add_row(mark, gate.title, then, today, allowed)
    return table


def _narrowed(hand: Hand, record: Reassessment) -> str:
    """How many records other copies tell more of, where that is no small number of people."""
    if hand.shared is None or hand.narrowed is None:
        return ""
    least = record.policy.small_cell
    if any(0 < number < least for number in (hand.narrowed, hand.shared - hand.narrowed)):
        return f"{hand.shared:,} records are in other copies too; fewer than {least} are told more, or no more, of"
    return f"{hand.shared:,} records are in other copies too; of {hand.narrowed:,} fewer people match all cells"


def written(gate: GateAgain, record: Reassessment) -> tuple[str, str, str]:
    """Figure then, figure today and what is allowed today, as they may be told."""
    if gate.comparison == "is":
        words = {None: "–", 1.0: "yes", 0.0: "no"}
        return words.get(gate.measured_then, "–"), words.get(gate.measured, "–"), "yes"
    then, before = _pair(gate, gate.measured_then, gate.threshold_then, record)
    today, allowed = _pair(gate, gate.measured, gate.threshold, record)
    return then, today, allowed if gate.threshold is not None else f"no gate now ({before} before)"


def _pair(gate: GateAgain, measured: float | None, threshold: float | None, record: Reassessment) -> tuple[str, str]:
    if threshold is None:
        return "–", ""
    total = record.rows_in if gate.id == Measure.SUPPRESSED_SHARE else record.rows
    result = GateResult(
        id=gate.id,
        title=gate.title,
        unit=gate.unit,
        measured=measured,
        comparison=gate.comparison,
        threshold=threshold,
        passed=False,
        because="",
    )
    figure, limit = write_result(result, records=total, small_cell=record.policy.small_cell)
    return (figure if measured is not None else "–"), limit

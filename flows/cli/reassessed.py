"""A re-assessment on the terminal: what is said, the gates then and today, copies in one hand, what ends."""

from collections.abc import Mapping

from rich.console import Group, RenderableType
from rich.text import Text

from flows.cli.tables import titled_table, untitled_table
from flows.reassessing import Reassessed
from tasks.decision.measures import OF_ALL_RECORDS, write_result
from tasks.decision.record import GateResult
from tasks.reassessment.compare import chances
from tasks.reassessment.record import Again, GateAgain, Hand, Reassessment

_STYLES = {Again.HOLDS: "bold green", Again.BLOCKED: "bold red", Again.CANNOT: "bold yellow"}
_WORDS: Mapping[bool | None, str] = {True: "open", False: "closed", None: "–"}
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
        parts.append(Text(f"It is {one.late:,} {'day' if one.late == 1 else 'days'} late."))
    parts += [Text(f"  {sentence}") for sentence in one.because]
    if one.record is not None:
        parts += _tables(one.record)
    return Group(*parts)


def _tables(record: Reassessment) -> list[RenderableType]:
    parts: list[RenderableType] = [_gates("Gates then and today", record.gates, record, "", _WORDS)]
    chance = chances(record.uncertainty_then, record.uncertainty)
    if chance:
        parts.append(Text(chance))
    for hand in record.hands:
        number = f"{len(hand.releases)} {'release' if len(hand.releases) == 1 else 'releases'}"
        who = f"{', '.join(hand.recipients)}: {number} in one hand ({_KINDS[hand.kind]})"
        if hand.cannot:
            parts.append(Text(f"{who}\n  could not be laid beside each other: {hand.cannot}"))
        else:
            words = {True: "within", False: "beyond", None: "–"} if not hand.judged else _WORDS
            parts.append(_gates(who, hand.gates, record, _narrowed(hand, record), words))
    if record.sets_left_out:
        parts.append(Text(f"{record.sets_left_out:,} further sets of recipients who might share were not compared."))
    if record.lapses:
        table = untitled_table(["ends", ""], ["last day", "days left"])
        for one in record.lapses:
            left = "ended" if one.within is None else str(one.days_left)
            table.add_row(one.what, one.name if one.what == "agreement" else "", str(one.last_day), left)
        parts.append(table)
    return parts


def _gates(
    title: str, gates: tuple[GateAgain, ...], record: Reassessment, caption: str, words: Mapping[bool | None, str]
) -> RenderableType:
    table = titled_table(title, ["", "gate"], ["then", "today", "allowed"], caption)
    for gate in gates:
        then, today, allowed = written(gate, record)
        table.add_row(words[gate.open], gate.title, then, today, allowed)
    return table


def _narrowed(hand: Hand, record: Reassessment) -> str:
    """How many records other copies tell more of, where that is no small number of people."""
    if hand.shared is None or hand.narrowed is None:
        return ""
    least, rest = record.policy.small_cell, hand.shared - hand.narrowed
    if 0 < hand.shared < least:
        return f"Fewer than {least} records are in other copies too."
    narrowed = f"{hand.narrowed:,}" if hand.narrowed else "none"
    if 0 < hand.narrowed < least:
        narrowed = f"fewer than {least}"
    elif 0 < rest < least:
        narrowed = f"all but fewer than {least}"
    return f"{hand.shared:,} records are in other copies too, which narrow {narrowed} of them to fewer people."


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
    total = record.rows_in if gate.id in OF_ALL_RECORDS else record.rows
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

"""A re-assessment on the terminal: verdict, the gates then and today, pooled copies, terms that end."""

from collections.abc import Mapping

from rich.console import Group, RenderableType
from rich.text import Text

from flows.cli.tables import titled_table, untitled_table
from flows.reassessing import Reassessed
from tasks.reassessment import compare
from tasks.reassessment.record import Again, CoalitionAgain, GateAgain, Reassessment

_STYLES = {Again.HOLDS: "bold green", Again.BLOCKED: "bold red", Again.CANNOT: "bold yellow"}
_WORDS: Mapping[bool | None, str] = {True: "open", False: "closed", None: "–"}
_KINDS = {"same recipient": "given to it", "declared": "taken to share", "compared": "compared, not judged"}


def shown(one: Reassessed) -> Group:
    """Terminal output for one copy."""
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
    chance = compare.chances(record.uncertainty_then, record.uncertainty)
    if chance:
        parts.append(Text(chance))
    for found in record.coalitions:
        number = f"{len(found.releases)} pooled {'release' if len(found.releases) == 1 else 'releases'}"
        who = f"{', '.join(found.recipients)}: {number} ({_KINDS[found.kind]})"
        if found.cannot:
            parts.append(Text(f"{who}\n  could not be pooled: {found.cannot}"))
        else:
            words = {True: "within", False: "beyond", None: "–"} if not found.judged else _WORDS
            parts.append(_gates(who, found.gates, record, _narrowed(found, record), words))
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


def _narrowed(coalition: CoalitionAgain, record: Reassessment) -> str:
    """How many records other copies reveal more of, where that is no small number of people."""
    if coalition.shared is None or coalition.narrowed is None:
        return ""
    least, rest = record.policy.small_cell, coalition.shared - coalition.narrowed
    if 0 < coalition.shared < least:
        return f"Fewer than {least} records are in other copies too."
    narrowed = f"{coalition.narrowed:,}" if coalition.narrowed else "none"
    if 0 < coalition.narrowed < least:
        narrowed = f"fewer than {least}"
    elif 0 < rest < least:
        narrowed = f"all but fewer than {least}"
    return f"{coalition.shared:,} records are in other copies too, which narrow {narrowed} of them to fewer people."


def written(gate: GateAgain, record: Reassessment) -> tuple[str, str, str]:
    """Figure then, figure today and the threshold of today, as they may be shown."""
    if gate.comparison == "is":
        words = {None: "–", 1.0: "yes", 0.0: "no"}
        return words.get(gate.measured_then, "–"), words.get(gate.measured, "–"), "yes"
    pairs = ((gate.measured_then, gate.threshold_then), (gate.measured, gate.threshold))
    (then, before), (today, allowed) = (
        ("–", "") if threshold is None else compare.written(record, gate, measured, threshold)
        for measured, threshold in pairs
    )
    then, today = ("–" if measured is None else text for (measured, _), text in zip(pairs, (then, today), strict=True))
    return then, today, allowed if gate.threshold is not None else f"no gate now ({before} before)"

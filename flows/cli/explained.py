"""An explanation as the terminal shows it."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from flows.cli.explained_records import rendered_records
from tasks.assessments.linkage.facts import AttackFact
from tasks.assessments.linkage.judged import judged_attack
from tasks.assessments.registry import LINKAGE
from tasks.decision.explain.result import Change, Explanation, Figures, Flip, NoFlip, Reason, Switch
from tasks.decision.gates import judge_gates
from tasks.decision.measures import is_told_as_bound, write_interval, write_result
from tasks.decision.record import DecisionRecord, GateResult, Verdict
from tasks.request.model import Gate, Measure

_RANKED = "Ranked by how far the figure is beyond its threshold, relative to the threshold."
_TIGHT = "Ranked by what is left to the threshold, relative to it."
_STYLES = {Verdict.APPROVED: "bold green", Verdict.AWAITING_REVIEW: "bold yellow", Verdict.BLOCKED: "bold red"}
_FAMILIES = {"sequential", "combined", "linkage", "utility", "uncertain"}
_ESTIMATED = (
    "≈ estimated: record linkage was tried anew, on other people than a release would draw and without learned "
    "distances; a release decides."
)
_DRAWN = (
    "≈ estimated: uncertain terms were drawn anew, others than a release would draw and fewer of them; a release "
    "decides."
)


@dataclass(frozen=True)
class Explained:
    """One recipient's decision, explained."""

    record: DecisionRecord
    explanation: Explanation
    gates: tuple[Gate, ...]
    """The gates of the policy it was decided by."""


def rendered(one: Explained) -> Group:
    """Verdict, reasons, the answer in a sentence; then what changes the verdict, other methods, and what does not."""
    record, explanation = one.record, one.explanation
    parts: list[RenderableType] = [
        Text.assemble(
            (record.decision.value.upper(), _STYLES[record.decision]),
            f"  {record.recipient.id}",
            (f"  {record.recipient.organisation}", "dim"),
        ),
        *(_indented(part) for part in _reasons(one)),
        *(_indented(Text(line)) for line in _attacks(one)),
        Text(),
        *(_indented(Group(part, Text())) for part in rendered_records(record, explanation.at_stake)),
        *(_indented(Text(sentence, style="bold")) for sentence in sentences(explanation)),
        Text(),
    ]
    agreement = explanation.agreement
    flips = (agreement, *explanation.flips) if isinstance(agreement, Flip) else explanation.flips
    if flips:
        parts += [_indented(_levers(one, flips)), Text()]
    if explanation.switches:
        parts += [_indented(_methods(one)), Text()]
    unturned = (agreement, *explanation.no_flips) if isinstance(agreement, NoFlip) else explanation.no_flips
    if unturned:
        parts += [_indented(_unturned(unturned)), Text()]
    results: tuple[Flip | Switch, ...] = (*flips, *explanation.switches)
    estimated = {measure for result in results for measure in result.after.estimated}
    notes = ((_ESTIMATED, estimated & LINKAGE.gate_measures), (_DRAWN, estimated - LINKAGE.gate_measures))
    for note in (note for note, measures in notes if measures):
        parts += [_indented(Text(note, style="dim")), Text()]
    if explanation.note:
        parts += [_indented(Text(explanation.note, style="dim")), Text()]
    return Group(*parts)


def closing_attacks(record: DecisionRecord) -> list[tuple[GateResult, AttackFact]]:
    """The closed gates on record linkage, each with the attack whose figure it judged."""
    fact = record.risk.linkage if record.risk else None
    if fact is None:
        return []
    closed = [gate for gate in record.gates if not gate.passed and gate.id in LINKAGE.gate_measures]
    found = ((gate, judged_attack(fact, Measure(gate.id))) for gate in closed)
    return [(gate, attack) for gate, attack in found if attack]


def _reasons(one: Explained) -> list[RenderableType]:
    """The reasons as recorded, where no gate failed; the strongest ones with their figures."""
    explanation, strongest = one.explanation, one.explanation.strongest
    failed = [reason for reason in strongest if reason.failed]
    parts: list[RenderableType] = [] if failed else [Text(reason) for reason in explanation.reasons]
    if not strongest:
        return parts
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False)
    table.title, table.title_justify = "Strongest reasons" if failed else "Tightest gates", "left"
    table.add_column("gate", min_width=22, overflow="fold")
    table.add_column("measured", justify="right", overflow="fold")
    table.add_column("asked for", no_wrap=True)
    table.add_column("beyond" if failed else "left", justify="right", no_wrap=True)
    for reason in strongest:
        measured, asked = _result(one, reason.gate)
        interval = "" if _is_bound(one, reason.gate) else write_interval(reason.gate)
        table.add_row(
            reason.gate.title, f"{measured}\n({interval})" if interval else measured, asked, beyond(one, reason)
        )
    more = sum(not gate.passed for gate in one.record.gates) - len(failed)
    notes = [f"{reason.gate.title}: {reason.gate.because}" for reason in failed if reason.gate.comparison == "is"]
    if failed and more > 0:
        notes.append(f"{more} more {'gate is' if more == 1 else 'gates are'} closed.")
    notes.append(_RANKED if failed else _TIGHT)
    return [*parts, table, *(Text(note, style="dim") for note in notes)]


def beyond(one: Explained, reason: Reason) -> str:
    """How far beyond its threshold a figure is, or what is left to it; nothing where that reveals a small count."""
    if not math.isfinite(reason.beyond) or _is_bound(one, reason.gate):
        return "–"
    return _percent(reason.beyond) if reason.failed else f"{-reason.beyond + 0.0:,.1%}"


def _is_bound(one: Explained, gate: GateResult) -> bool:
    """Whether a figure is shown as a bound alone, since it reveals a small count."""
    return is_told_as_bound(gate, records=one.record.dataset.rows_in, small_cell=one.record.policy.small_cell)


def _result(one: Explained, gate: GateResult) -> tuple[str, str]:
    return write_result(gate, records=one.record.dataset.rows_in, small_cell=one.record.policy.small_cell)


def _attacks(one: Explained) -> list[str]:
    return [
        f"{_short(one, gate.id).capitalize()}: by the attack “{attack.title}”, with {', '.join(attack.attributes)}."
        for gate, attack in closing_attacks(one.record)
    ]


def sentences(explanation: Explanation) -> list[str]:
    """The answer in a sentence, and beside it what has no size to compare by."""
    if explanation.fixed:
        return [explanation.fixed]
    blocked = explanation.verdict is Verdict.BLOCKED
    would = "pass" if blocked else "be blocked"
    said = []
    if isinstance(explanation.agreement, Flip):
        said.append(f"It would {would} with an agreement until {explanation.agreement.changes[0].needed} or later.")
    elif explanation.smallest:
        word = "pass" if blocked else "block"
        said.append(f"Smallest change that would {word}: {_in_words(explanation.smallest)}.")
    else:
        said.append(f"No change of a single term was found with which it would {would}.")
    if blocked:
        said += _remedies(explanation)
    return said


def _remedies(explanation: Explanation) -> list[str]:
    """Changes that would let a blocked release pass and do not change the policy."""
    said = []
    also = " and a new agreement" if explanation.agreement else ""
    deterrents = [flip for flip in explanation.flips if flip.deterrent]
    others = [flip for flip in deterrents if flip is not explanation.smallest]
    if others:
        said.append(f"The same file would pass with any of: {_either(others, ())}.")
    turning = [switch.method.value for switch in explanation.switches if is_reversed(explanation, switch)]
    if turning:
        said.append(f"With another method{also} it would pass: {', '.join(turning)}.")
    for switch in explanation.switches:
        if switch.deterred and not deterrents:
            remedies = _either(switch.deterred, switch.changes)
            said.append(f"With method {switch.method.value}{also} it would pass together with any of: {remedies}.")
    return said


def _either(flips: Sequence[Flip], told: tuple[Change, ...]) -> str:
    """Terms that deter, one after the other; changes that are reported already are left out."""
    return "; ".join(_deterrent(flip, [change for change in flip.changes[:-1] if change not in told]) for flip in flips)


def _deterrent(flip: Flip, beside: Sequence[Change]) -> str:
    own = f"{flip.lever} {_step(flip.changes[-1].current, flip.changes[-1].needed)}"
    stated = [f"{change.where.partition('.')[2]} {_step(change.current, change.needed)}" for change in beside]
    return f"{own} (with {', '.join(stated)})" if stated else own


def is_reversed(explanation: Explanation, switch: Switch) -> bool:
    """Whether the other method changes the verdict."""
    return (switch.after.verdict is Verdict.BLOCKED) is not (explanation.verdict is Verdict.BLOCKED)


def _in_words(flip: Flip) -> str:
    size = "" if flip.relative_change is None else f" ({_percent(flip.relative_change)})"
    size += ", by an estimate" if flip.after.estimated else ""
    if len(flip.changes) == 1:
        return f"{flip.lever} {_step(flip.changes[0].current, flip.changes[0].needed)}{size}"
    steps = (f"{change.where} {_step(change.current, change.needed)}" for change in flip.changes)
    return f"{flip.lever}: {', '.join(steps)}{size}"


def _levers(one: Explained, flips: tuple[Flip, ...]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False)
    table.add_column("change", justify="right", no_wrap=True)
    table.add_column("what turns the verdict", min_width=22, overflow="fold")
    table.add_column("now → needed", no_wrap=True)
    table.add_column("then", min_width=22)
    for flip in flips:
        size = "" if flip.relative_change is None else _percent(flip.relative_change)
        steps = [_step(change.current, change.needed) for change in flip.changes]
        alone = len(steps) == 1
        table.add_row(size, flip.lever, steps[0] if alone else "", _then(one, flip))
        if not alone:
            for change, step in zip(flip.changes, steps, strict=True):
                table.add_row("", change.where, step, "")
    return table


def _then(one: Explained, flip: Flip) -> str:
    """The figures of the gates that change, or why nothing is released."""
    if flip.after.failure:
        return flip.after.failure
    before, after = _results(one, one.explanation.figures), _results(one, flip.after.figures)
    sign = {measure.value: "≈ " for measure in flip.after.estimated}
    measured = [new for new in after if new.measured is not None]
    if not before:
        return "\n".join(_told(one, new, sign.get(new.id, "")) for new in measured)
    now = {old.id: _written(one, old) for old in before}
    changed = [
        f"{_told(one, new, sign.get(new.id, ''))} (now {now[new.id]})"
        for new in measured
        if now[new.id] != _written(one, new)
    ]
    return "\n".join(changed) or "the same figures"


def _methods(one: Explained) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False)
    table.add_column("other methods")
    table.add_column("decision")
    for gate in one.gates:
        table.add_column(_short(one, gate.measure.value).replace(" ", "\n"), justify="right")
    for switch in one.explanation.switches:
        sign = {measure.value: "≈ " for measure in switch.after.estimated}
        cells = [
            "–" if result.measured is None else f"{sign.get(result.id, '')}{_written(one, result)}"
            for result in _results(one, switch.after.figures)
        ] or ["–"] * len(one.gates)
        decision = Text(switch.after.verdict.value, style=_STYLES[switch.after.verdict])
        table.add_row(switch.method.value, decision, *cells)
    return table


def _unturned(results: tuple[NoFlip, ...]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, header_style="dim", style="dim")
    table.add_column("what does not turn it", min_width=22)
    table.add_column("now", no_wrap=True)
    table.add_column("tried", no_wrap=True)
    table.add_column("why", min_width=20)
    for result in results:
        within = result.searched_from != result.searched_to
        tried = f"{_number(result.searched_from)} to {_number(result.searched_to)}" if within else ""
        table.add_row(result.lever, _number(result.current), tried, result.reason)
    return table


def _results(one: Explained, figures: Figures) -> tuple[GateResult, ...]:
    return judge_gates(one.gates, figures) if figures else ()


def _written(one: Explained, result: GateResult) -> str:
    """A figure as a report would show it: one that reveals a small count as a bound."""
    return _result(one, result)[0]


def _told(one: Explained, result: GateResult, sign: str) -> str:
    return f"{_short(one, result.id)} {sign}{_written(one, result)}"


def _short(one: Explained, measure: str) -> str:
    """A measure's name; with its family where it says too little alone, or two gates judge measures of one name."""
    names = Counter(gate.measure.value.partition(".")[2] for gate in one.gates)
    family, _, name = measure.partition(".")
    return (name if names[name] == 1 and family not in _FAMILIES else f"{family} {name}").replace("_", " ")


def _indented(part: RenderableType) -> Padding:
    return Padding(part, (0, 0, 0, 2))


def _step(current: float | str, needed: float | str) -> str:
    return f"{_number(current)} → {_number(needed)}"


def _number(value: float | str) -> str:
    if isinstance(value, str):
        return value
    text = f"{value:,.15g}"
    return f"{Decimal(text):f}" if "e-" in text else text


def _percent(share: float) -> str:
    return f"{share:+,.1%}" if abs(share) < 10 else f"{share:+,.0%}"

"""An explanation as the terminal shows it."""

import math
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from flows.cli.explained_records import rendered_records
from flows.cli.output import noted, outcome, table
from reports.document import Block, Paragraph, lines, text
from tasks.assessments.linkage.facts import AttackFact, judged_attack
from tasks.assessments.registry import LINKAGE
from tasks.decision.explain.result import Choice, Explanation, Figures, Flip, NoFlip, Reason, Switch, TermChange
from tasks.decision.gates import judge_gates
from tasks.decision.measures import RecordCounts, is_told_as_bound, write_interval, write_result
from tasks.decision.record import DecisionRecord, GateResult, Verdict
from tasks.request.model import Gate, Measure

_RANKED = "Ranked by how far the figure is beyond its threshold, relative to the threshold."
_TIGHT = "Ranked by the margin to the threshold, relative to it."
_STYLES = {Verdict.APPROVED: "approved", Verdict.AWAITING_REVIEW: "awaiting", Verdict.BLOCKED: "blocked"}
_FAMILIES = {"sequential", "combined", "attribute", "linkage", "singling_out", "utility", "uncertain"}
_ESTIMATED = (
    "≈ estimated: record linkage was tried anew, on other people than a release would draw and without learned "
    "distances; a release decides."
)
_CUT_SHORT = (
    "≈ estimated: the generalization was searched more briefly than a release would, and the figures follow from it; a "
    "release decides."
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

    def written(self, gate: GateResult) -> tuple[str, str]:
        """Figure and threshold of a gate as a report shows them: a figure that reveals a small count as a bound."""
        return write_result(gate, records=RecordCounts.of(self.record), small_cell=self.record.policy.small_cell)

    def is_bound(self, gate: GateResult) -> bool:
        """Whether a figure is shown as a bound alone, since it reveals a small count."""
        return is_told_as_bound(gate, records=RecordCounts.of(self.record), small_cell=self.record.policy.small_cell)

    def figures(self, figures: Figures, estimated: Collection[Measure] = ()) -> dict[str, str]:
        """Figures of the gates as they are shown, by id; estimates with a sign, those not measured as a dash."""
        signs = {measure.value: "≈ " for measure in estimated}
        return {
            gate.id: "–" if gate.measured is None else f"{signs.get(gate.id, '')}{self.written(gate)[0]}"
            for gate in (judge_gates(self.gates, figures) if figures else ())
        }

    def short(self, measure: str) -> str:
        """A measure's name; with its family where it says too little alone, or two gates judge measures of one name."""
        names = Counter(gate.measure.value.partition(".")[2] for gate in self.gates)
        family, _, name = measure.partition(".")
        return (name if names[name] == 1 and family not in _FAMILIES else f"{family} {name}").replace("_", " ")


def rendered(one: Explained) -> Iterator[Block]:
    """Verdict, reasons, the answer in a sentence; then what changes the verdict, other methods, and what does not."""
    record, explanation, agreement = one.record, one.explanation, one.explanation.agreement
    flips = (*((agreement,) if isinstance(agreement, Flip) else ()), *explanation.flips)
    unchanged = (*((agreement,) if isinstance(agreement, NoFlip) else ()), *explanation.no_flips)
    estimated = {measure for result in (*flips, *explanation.switches) for measure in result.after.estimated}
    attacks = (
        f"{one.short(gate.id).capitalize()}: by the attack “{attack.title}”, with {', '.join(attack.attributes)}."
        for gate, attack in closing_attacks(record)
    )
    parts: list[Sequence[Block]] = [
        [*_reasons(one), *(Paragraph(attack, "lead") for attack in attacks)],
        rendered_records(record, explanation.at_stake),
        [Paragraph(sentence, "strong") for sentence in sentences(explanation)],
        [*_levers(one, flips)] if flips else [],
        _methods(one) if explanation.switches else [],
        _unchanged(unchanged) if unchanged else [],
        noted(_ESTIMATED if estimated & LINKAGE.gate_measures else ""),
        noted(_DRAWN if Measure.PASSING_PROBABILITY in estimated else ""),
        noted(_CUT_SHORT if estimated - LINKAGE.gate_measures - {Measure.PASSING_PROBABILITY} else ""),
        noted(explanation.note),
    ]
    who, organisation = f"  {record.recipient.id}", f"  {record.recipient.organisation}"
    yield outcome(record.decision.value.upper(), who, _STYLES[record.decision], organisation)
    yield from (block for part in parts if part for block in (*part, ""))


def closing_attacks(record: DecisionRecord) -> list[tuple[GateResult, AttackFact]]:
    """The closed gates on record linkage, each with the attack whose figure it judged."""
    fact = record.risk.linkage if record.risk else None
    closed = [gate for gate in record.gates if not gate.passed and gate.id in LINKAGE.gate_measures]
    found = ((gate, fact and judged_attack(fact, Measure(gate.id))) for gate in closed)
    return [(gate, attack) for gate, attack in found if attack]


def beyond(one: Explained, reason: Reason) -> str:
    """Distance of a figure beyond its threshold, or margin below it; a dash where that reveals a small count."""
    if not math.isfinite(reason.beyond) or one.is_bound(reason.gate):
        return "–"
    return _percent(reason.beyond) if reason.failed else f"{-reason.beyond + 0.0:,.1%}"


def is_reversed(explanation: Explanation, switch: Switch) -> bool:
    """Whether the other method changes the verdict."""
    return (switch.after.verdict is Verdict.BLOCKED) is not (explanation.verdict is Verdict.BLOCKED)


def sentences(explanation: Explanation) -> list[str]:
    """The answer in a sentence, and what else would let a blocked release pass."""
    if explanation.fixed:
        return [explanation.fixed]
    blocked = explanation.verdict is Verdict.BLOCKED
    would, word = ("pass", "pass") if blocked else ("be blocked", "block")
    if isinstance(explanation.agreement, Flip):
        first = f"It would {would} with an agreement until {explanation.agreement.changes[0].needed} or later."
    elif explanation.smallest:
        first = f"Smallest change that would {word}: {_in_words(explanation.smallest)}.{_kept(explanation)}"
    elif blocked:
        first = "No change of what can be chosen was found with which it would pass."
    else:
        first = "No change of a single term was found with which it would be blocked."
    return [first, *(_remedies(explanation) if blocked else ())]


def _kept(explanation: Explanation) -> str:
    """The information that the file keeps after the smallest change of a blocked release, where that differs."""
    smallest, measure = explanation.smallest, Measure.INFORMATION_KEPT
    then = smallest.after.figures.get(measure) if smallest else None
    now = explanation.figures.get(measure)
    if explanation.verdict is not Verdict.BLOCKED or then is None or now is None or f"{then:.1%}" == f"{now:.1%}":
        return ""
    return f" The file then keeps {then:.1%} of its information (now {now:.1%})."


def _remedies(explanation: Explanation) -> Iterator[str]:
    """Further changes that would let a blocked release pass and do not change the policy."""
    also = " and a new agreement" if explanation.agreement else ""
    deterrents = [flip for flip in explanation.flips if flip.deterrent]
    others = [flip for flip in deterrents if flip is not explanation.smallest and flip.choice is Choice.DESIGN]
    if others:
        yield f"The same file would pass with any of: {_either(others)}."
    methods = [switch.method.value for switch in explanation.switches if is_reversed(explanation, switch)]
    if methods:
        yield f"With another method{also} it would pass: {', '.join(methods)}."
    for switch in () if deterrents else explanation.switches:
        if switch.deterred:
            remedies = _either(switch.deterred, switch.changes)
            yield f"With method {switch.method.value}{also} it would pass together with any of: {remedies}."


def _either(flips: Sequence[Flip], told: Sequence[TermChange] = ()) -> str:
    """Terms that deter, one after the other; changes that are reported already are left out."""
    texts = []
    for flip in flips:
        *beside, own = flip.changes
        stated = [f"{change.where.partition('.')[2]} {_step(change)}" for change in beside if change not in told]
        texts.append(f"{flip.lever} {_step(own)}" + (f" (with {', '.join(stated)})" if stated else ""))
    return "; ".join(texts)


def _in_words(flip: Flip) -> str:
    size = "" if flip.relative_change is None else f" ({_percent(flip.relative_change)})"
    size += ", by an estimate" if flip.after.estimated else ""
    if len(flip.changes) == 1:
        return f"{flip.lever} {_step(flip.changes[0])}{size}"
    return f"{flip.lever}: {', '.join(f'{change.where} {_step(change)}' for change in flip.changes)}{size}"


def _reasons(one: Explained) -> Iterator[Block]:
    """The reasons as recorded, where no gate failed; the strongest ones with their figures."""
    strongest = one.explanation.strongest
    failed = [reason for reason in strongest if reason.failed]
    if not failed:
        yield from (Paragraph(reason, "lead") for reason in one.explanation.reasons)
    if not strongest:
        return
    yield from table(
        "Strongest reasons" if failed else "Tightest gates",
        ("gate", ">measured", "required", ">beyond" if failed else ">left"),
        [_strength(one, reason) for reason in strongest],
    )
    more = sum(not gate.passed for gate in one.record.gates) - len(failed)
    yield from noted(
        *(f"{reason.gate.title}: {reason.gate.because}" for reason in failed if reason.gate.comparison == "is"),
        f"{more} more {'gate is' if more == 1 else 'gates are'} closed." if failed and more > 0 else "",
        _RANKED if failed else _TIGHT,
    )


def _strength(one: Explained, reason: Reason) -> Sequence[str]:
    measured, required = one.written(reason.gate)
    interval = "" if one.is_bound(reason.gate) else write_interval(reason.gate)
    return reason.gate.title, lines(measured, interval and f"({interval})"), required, beyond(one, reason)


_CHOICES = {
    Choice.DESIGN: "what you can change",
    Choice.FACT: "facts: change them only where they are stated wrongly",
    Choice.POLICY: "the policy's thresholds: not yours to change",
}


def _levers(one: Explained, flips: Sequence[Flip]) -> Iterator[Block]:
    """Changes that reverse the verdict; for a blocked release, by who can make them."""
    tables = {"what would change the verdict": flips}
    if _is_blocked(one):
        tables = {heading: [flip for flip in flips if flip.choice is choice] for choice, heading in _CHOICES.items()}
    for heading, found in tables.items():
        if found:
            yield from table("", (">change", heading), (row for flip in found for row in _lever_rows(one, flip)))
            yield ""


def _lever_rows(one: Explained, flip: Flip) -> Iterator[Sequence[str]]:
    """A change with its size, one line a term, and what then holds."""
    alone = len(flip.changes) == 1
    size = "" if flip.relative_change is None else _percent(flip.relative_change)
    yield size, f"{flip.lever} {_step(flip.changes[0])}" if alone else flip.lever
    yield from (("", f"  {change.where} {_step(change)}") for change in flip.changes if not alone)
    yield "", f"  then: {_then(one, flip).replace(chr(10), '; ')}"


def _then(one: Explained, flip: Flip) -> str:
    """The figures of the gates that change, or why nothing is released."""
    if flip.after.failure:
        return flip.after.failure
    now, then = one.figures(one.explanation.figures), one.figures(flip.after.figures, flip.after.estimated)
    changed = [
        f"{one.short(gate)} {figure}" + (f" (now {now[gate]})" if now else "")
        for gate, figure in then.items()
        if figure != "–" and now.get(gate) != figure.removeprefix("≈ ")
    ]
    return "\n".join(changed) or "the same figures"


def _methods(one: Explained) -> list[Block]:
    return table(
        "",
        ("other methods", "decision", ">kept", "gates that would be closed, or figures"),
        [_method(one, switch) for switch in one.explanation.switches],
    )


def _is_blocked(one: Explained) -> bool:
    return one.explanation.verdict is Verdict.BLOCKED


def _method(one: Explained, switch: Switch) -> Sequence[str]:
    """A method with the information kept and the gates found closed; with all figures where the release would pass."""
    figures, verdict = one.figures(switch.after.figures, switch.after.estimated), switch.after.verdict
    decision = text(f'<span class="{_STYLES[verdict]}">{{}}</span>', verdict.value)
    kept = switch.after.figures.get(Measure.INFORMATION_KEPT)
    closed = {gate.id for gate in switch.after.gates if not gate.passed and gate.measured is not None}
    shown = [
        f"{one.short(gate)} {figure}"
        for gate, figure in figures.items()
        if figure != "–" and (gate in closed or switch.after.passes) and gate != Measure.INFORMATION_KEPT.value
    ]
    said = switch.after.failure or ", ".join(shown)
    return switch.method.value, decision, "–" if kept is None else f"{kept:.1%}", said


def _unchanged(results: Sequence[NoFlip]) -> list[Block]:
    rows = (
        (
            result.lever,
            _number(result.current),
            f"{_number(result.searched_from)} to {_number(result.searched_to)}"
            if result.searched_from != result.searched_to
            else "",
            result.reason,
        )
        for result in results
    )
    return table("", ("what does not change it", "now", "tried", "why"), rows)


def _step(change: TermChange) -> str:
    return f"{_number(change.current)} → {_number(change.needed)}"


def _number(value: float | str) -> str:
    if isinstance(value, str):
        return value
    text = f"{value:,.15g}"
    return f"{Decimal(text):f}" if "e-" in text else text


def _percent(share: float) -> str:
    return f"{share:+,.1%}" if abs(share) < 10 else f"{share:+,.0%}"

"""Details of an explanation: every lever, other methods, and the records at stake by class."""

from collections.abc import Iterator, Sequence

from reports.explanation.answer import STYLES, Explained, changed, number, percent, rendered_answer
from reports.explanation.records import rendered_records
from reports.model.blocks import noted, table
from reports.model.document import Block, text
from tasks.assessments.registry import LINKAGE
from tasks.decision.explain.result import Choice, Flip, NoFlip, Switch, TermChange
from tasks.request.model import Measure

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
_CHOICES = {
    Choice.DESIGN: "what you can change",
    Choice.FACT: "facts: change them only where they are stated wrongly",
    Choice.POLICY: "the policy's thresholds: not yours to change",
}


def detailed(one: Explained) -> Iterator[Block]:
    """The answer; then what changes the verdict, other methods, what does not, and the records at stake by class."""
    explanation, agreement = one.explanation, one.explanation.agreement
    unchanged = (*((agreement,) if isinstance(agreement, NoFlip) else ()), *explanation.no_flips)
    tried: Sequence[Flip | Switch] = (*one.flips, *explanation.switches)
    estimated = {measure for result in tried for measure in result.after.estimated}
    parts: list[Sequence[Block]] = [
        [*rendered_answer(one)],
        rendered_records(one.record, explanation.at_stake),
        [*_levers(one)],
        _methods(one) if explanation.switches else [],
        _unchanged(unchanged) if unchanged else [],
        noted(_ESTIMATED if estimated & LINKAGE.gate_measures else ""),
        noted(_DRAWN if Measure.PASSING_PROBABILITY in estimated else ""),
        noted(_CUT_SHORT if estimated - LINKAGE.gate_measures - {Measure.PASSING_PROBABILITY} else ""),
        noted(explanation.note),
    ]
    yield from (block for part in parts if part for block in (*part, ""))


def _levers(one: Explained) -> Iterator[Block]:
    """Changes that reverse the verdict; for a blocked release, by who can make them."""
    tables = {"what would change the verdict": one.flips}
    if one.is_blocked:
        tables = {
            heading: tuple(flip for flip in one.flips if flip.choice is choice) for choice, heading in _CHOICES.items()
        }
    for heading, found in tables.items():
        if found:
            yield from table("", (">change", heading), (row for flip in found for row in _lever_rows(one, flip)))
            yield ""


def _lever_rows(one: Explained, flip: Flip) -> Iterator[Sequence[str]]:
    """A change with its size, one line a term, and what then holds."""
    alone = len(flip.changes) == 1
    size = "" if flip.relative_change is None else percent(flip.relative_change)
    yield size, f"{flip.lever} {_step(flip.changes[0])}" if alone else flip.lever
    yield from (("", f"  {change.where} {_step(change)}") for change in flip.changes if not alone)
    yield "", f"  then: {changed(one, flip) or 'the same figures'}"


def _methods(one: Explained) -> list[Block]:
    return table(
        "",
        ("other methods", "decision", ">kept", "gates that would be closed, or figures"),
        [_method(one, switch) for switch in one.explanation.switches],
    )


def _method(one: Explained, switch: Switch) -> Sequence[str]:
    """A method with the information kept and the gates found closed; with all figures where the release would pass."""
    figures, verdict = one.figures(switch.after.figures, switch.after.estimated), switch.after.verdict
    decision = text(f'<span class="{STYLES[verdict]}">{{}}</span>', verdict.value)
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
            number(result.current),
            f"{number(result.searched_from)} to {number(result.searched_to)}"
            if result.searched_from != result.searched_to
            else "",
            result.reason,
        )
        for result in results
    )
    return table("", ("what does not change it", "now", "tried", "why"), rows)


def _step(change: TermChange) -> str:
    return f"{number(change.current)} → {number(change.needed)}"

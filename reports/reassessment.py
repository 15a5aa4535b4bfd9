"""A re-assessment as a PDF: its record, rendered.

Nothing is computed here but how figures are written, and there is no clock: the same record gives the same bytes. The
record itself is embedded as ``reassessment.json``.
"""

import hashlib
from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure as Canvas

from reports import charting, numbers
from reports.charting import AFTER, ALARM, BAND, INK, MUTED, Figure
from reports.pdf import Attached, write_pdf
from reports.smallcell import SmallCellRule
from reports.statements import VerdictText
from reports.templating import render
from tasks.core.canonical import canonical_json
from tasks.decision.measures import OF_ALL_RECORDS, write_result
from tasks.decision.record import GateResult
from tasks.reassessment.compare import chances
from tasks.reassessment.record import GateComparison, PooledCopies, Reassessment, TodaysVerdict
from tasks.request.model import Measure

RECORD_NAME = "reassessment.json"

_KINDS = {
    "same recipient": "all copies that this recipient has; judged",
    "declared": "copies of recipients whom the policy takes to share; judged",
    "compared": "copies of recipients who might share; compared, and not judged",
}
_BEYOND = 1.25
"""End of the figure's axis: figures beyond are drawn there."""


@dataclass(frozen=True)
class GateLine:
    """One line of a table of gates."""

    title: str
    id: str
    then: str
    today: str
    allowed: str
    outcome: str
    css: str
    note: str


@dataclass(frozen=True)
class CoalitionText:
    """A coalition, in words."""

    title: str
    kind: str
    text: str
    lines: tuple[GateLine, ...]


def render_reassessment(record: Reassessment) -> bytes:
    """The re-assessment as tagged PDF/A-3a with the record attached.

    Raises
    ------
    StageFailed
        If it cannot be rendered in full.
    """
    content = canonical_json(record)
    sha256 = hashlib.sha256(content).hexdigest()
    drawn = thresholds_figure(record)
    return write_pdf(
        reassessment_html(record),
        assets={} if drawn is None else {f"{drawn.name}.svg": drawn.svg},
        attachments=[Attached(RECORD_NAME, content, "The record that this document renders")],
        moment=record.reassessed_at,
        identifier=sha256[:32],
    )


def reassessment_html(record: Reassessment) -> str:
    """The re-assessment as the HTML that the PDF is made from; its figure is referred to as ``asset:<name>.svg``."""
    cells = SmallCellRule(record.policy.small_cell)
    return render(
        cells,
        "reassessment.html",
        record=record,
        verdict=verdict_text(record),
        moment=numbers.utc(record.reassessed_at).strftime("%Y-%m-%dT%H:%M:%SZ"),
        gates=tuple(_line(gate, record) for gate in record.gates),
        coalitions=tuple(_coalition(one, record, cells) for one in record.coalitions),
        figure=thresholds_figure(record),
        population=_population(record),
        chance=chances(record.uncertainty_then, record.uncertainty),
        chance_judged=Measure.PASSING_PROBABILITY in {gate.id for gate in record.gates if gate.threshold is not None},
    )


def verdict_text(record: Reassessment) -> VerdictText:
    """Verdict on the copy, for the box on the first page."""
    who = record.organisation
    if record.verdict is TodaysVerdict.HOLDS:
        return VerdictText(
            "✓",
            "The decision holds",
            "approved",
            f"The file that {who} has would be released today: every gate that was open then is open today.",
        )
    if record.verdict is TodaysVerdict.BLOCKED:
        return VerdictText(
            "✗",
            "It would be blocked today",
            "blocked",
            f"The file that {who} has would not be released today. It has left; what follows is for an officer to "
            "decide: to revoke it, to have it destroyed, to change the agreement, or to leave it and say why.",
        )
    return VerdictText(
        "!",
        "It cannot be re-assessed",
        "awaiting",
        f"Nothing that could be measured speaks against the file that {who} has, and not all could be. This condemns "
        "nothing; it has to be looked after.",
    )


def thresholds_figure(record: Reassessment) -> Figure | None:
    """Share used of each threshold, then, today and with pooled copies; None where none can be used in part."""
    gates = [gate for gate in record.gates if _part(gate, then=False) is not None or _part(gate, then=True) is not None]
    if not gates:
        return None
    judged = [one for one in record.coalitions if one.judged]
    together = {
        gate.id: max(
            (
                part
                for seen in judged
                for one in seen.gates
                if one.id == gate.id and (part := _part(one, then=False)) is not None
            ),
            default=None,
        )
        for gate in gates
    }

    def draw(canvas: Canvas) -> None:
        ax = canvas.subplots()
        ax.axvspan(1, _BEYOND + 0.03, color=BAND)
        ax.axvline(1, color=INK, linewidth=0.8, linestyle=(0, (4, 2)))
        for row, gate in enumerate(gates):
            then, today, hand = _part(gate, then=True), _part(gate, then=False), together[gate.id]
            ends = [min(part, _BEYOND) for part in (then, today, hand) if part is not None]
            ax.plot([min(ends), max(ends)], [row, row], color=MUTED, linewidth=1.2, zorder=1)
            styles: tuple[dict[str, Any], ...] = (
                {"marker": "o", "facecolor": "white", "edgecolor": INK, "s": 34},
                {"marker": "o", "facecolor": AFTER, "edgecolor": AFTER, "s": 16},
                {"marker": "D", "facecolor": ALARM, "edgecolor": ALARM, "s": 20},
            )
            for part, style in zip((then, today, hand), styles, strict=True):
                if part is not None:
                    ax.scatter([min(part, _BEYOND)], [row], zorder=2, linewidth=0.9, **style)
        charting.rows(ax, [gate.title for gate in gates])
        ax.set_xlim(-0.02, _BEYOND + 0.03)
        ax.set_xticks([0, 0.25, 0.5, 0.75, 1, _BEYOND], ["0", "25%", "50%", "75%", "100%", "125%\nor more"])
        ax.set_xlabel("part of what the gate allows")
        marks = [("then", "white", INK, "o"), ("today", AFTER, AFTER, "o")]
        if any(part is not None for part in together.values()):
            marks.append(("today, copies pooled", ALARM, ALARM, "D"))
        for label, face, edge, marker in marks:
            ax.scatter([], [], label=label, facecolor=face, edgecolor=edge, marker=marker, s=20)
        canvas.legend(*ax.get_legend_handles_labels(), loc="outside upper left", ncols=3, frameon=False, fontsize=7)

    beyond = [gate.title for gate in gates if max(_part(gate, then=False) or 0, together[gate.id] or 0) > 1]
    told = f"Beyond what is allowed today: {'; '.join(beyond)}." if beyond else "None is beyond what is allowed today."
    return Figure(
        name="reassessment-thresholds",
        draw=draw,
        height=1.1 + 0.27 * len(gates),
        alt=f"For {len(gates)} gates the part of the threshold that is used, when released and today. {told}",
        caption="What part of each threshold is used: hollow when it was released, filled today"
        + (", a diamond where several copies are pooled." if judged else ".")
        + " Shaded: not allowed.",
    )


def _part(gate: GateComparison, *, then: bool) -> float | None:
    """Part of a threshold that is used; None of one that is 0, or asks for a least value."""
    measured, threshold = (gate.measured_then, gate.threshold_then) if then else (gate.measured, gate.threshold)
    if gate.comparison != "at most" or measured is None or not threshold or threshold < 0 or measured < 0:
        return None
    return measured / threshold


def _line(gate: GateComparison, record: Reassessment, *, judged: bool = True) -> GateLine:
    """A line of a table; where nothing is judged, the gate is not said to open or to close."""
    then, before = _written(gate, gate.measured_then, gate.threshold_then, record)
    today, allowed = _written(gate, gate.measured, gate.threshold, record)
    outcome, css = "✓ open", "passed"
    if gate.open is None:
        dropped = gate.threshold is None and gate.comparison != "is"
        outcome, css = ("no gate today", "note") if dropped else ("not judged", "failed")
    elif not judged:
        outcome, css = ("within", "note") if gate.open else ("beyond", "note")
    elif not gate.open:
        outcome, css = "✗ closed", "failed"
    elif gate.overridden:
        outcome, css = "overridden", "failed"
    moved = gate.threshold_then is not None and gate.threshold is not None and gate.threshold != gate.threshold_then
    return GateLine(
        title=gate.title,
        id=gate.id,
        then=then,
        today=today,
        allowed=allowed,
        outcome=outcome,
        css=css,
        note=f"{before} allowed when it was released" if moved else gate.because if gate.comparison == "is" else "",
    )


def _written(
    gate: GateComparison, measured: float | None, threshold: float | None, record: Reassessment
) -> tuple[str, str]:
    if threshold is None:
        return "–", "–"
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
    total = record.rows_in if gate.id in OF_ALL_RECORDS else record.rows
    figure, asked = write_result(result, records=total, small_cell=record.policy.small_cell)
    return ("–" if measured is None else figure), asked


def _coalition(found: PooledCopies, record: Reassessment, cells: SmallCellRule) -> CoalitionText:
    number = f"{len(found.releases)} {'release' if len(found.releases) == 1 else 'releases'}"
    text = f"They could not be pooled: {found.cannot}."
    if not found.cannot and found.shared is not None and found.narrowed is not None:
        text = (
            f"Records that are in other copies too: {cells.count(found.shared)}. Of these, hidden among fewer people "
            f"than in this copy alone: {cells.part(found.narrowed, found.shared)}."
        )
    return CoalitionText(
        f"{', '.join(found.recipients)}: {number}",
        _KINDS[found.kind],
        text,
        tuple(_line(gate, record, judged=found.judged) for gate in found.gates),
    )


def _population(record: Reassessment) -> str:
    if record.people is None:
        return f"{numbers.integer(record.people_then)} people when it was released; today's could not be read"
    told = f"{numbers.integer(record.people)} people; {numbers.integer(record.people_then)} when it was released"
    if record.strangers:
        told += f"; {numbers.integer(record.strangers)} more have values that the hierarchies of the release lack"
    return told

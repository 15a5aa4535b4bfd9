"""The answer of an explanation as the terminal shows it: verdict, closed gates, and changes that reverse it."""

import math
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from reports.explanation.records import told_counts
from reports.explanation.remedies import recorded_remedies
from reports.model.blocks import noted, outcome, table
from reports.model.document import Block, Paragraph, lines, small
from reports.model.record_view import RecordView
from reports.sections.summary import demanded
from tasks.assessments.linkage.facts import AttackFact, judged_attack
from tasks.assessments.registry import LINKAGE
from tasks.core.plural import plural
from tasks.decision.explain.levers import NOT_STATED
from tasks.decision.explain.result import (
    Choice,
    Explanation,
    Figures,
    Flip,
    Keeping,
    Reason,
    RenewalChange,
    Switch,
    TermChange,
)
from tasks.decision.gates import STAGES_FINISHED, judge_gates
from tasks.decision.record import DecisionRecord, GateResult, Verdict
from tasks.decision.remedies import revoking, unfinished
from tasks.decision.standing import Standing
from tasks.decision.states import State
from tasks.decision.verdict import never_measured
from tasks.decision.written_figures import RecordCounts, is_told_as_bound, write_interval, write_result
from tasks.request.model import Gate, Measure

STYLES = {Verdict.APPROVED: "approved", Verdict.AWAITING_REVIEW: "awaiting", Verdict.BLOCKED: "blocked"}
WOULD_BE = {
    Verdict.APPROVED: "would be approved",
    Verdict.AWAITING_REVIEW: "would await review",
    Verdict.BLOCKED: "would be blocked",
}
"""Verdicts of a dry run."""
_FAMILIES = {"sequential", "combined", "attribute", "linkage", "singling_out", "utility", "uncertain"}
_RENEW = (
    "The agreement has ended. Have it renewed first; with its new last day stated, what is listed is enough: each "
    "change was tried with an agreement in force."
)
_ESTIMATES = "Some figures of these are estimates; the next release decides."
_MOST_CHANGES = 3
_MOST_COLUMNS = 5
_WHOLE = 0.995


@dataclass(frozen=True)
class Explained:
    """One recipient's decision, explained."""

    record: DecisionRecord
    explanation: Explanation
    gates: tuple[Gate, ...]
    """The gates of the policy it was decided by."""
    tried: str = ""
    """The request, as a command names it, where it was a dry run that decided nothing."""
    workspace: str = ""
    """The option that names the workspace in a command, after a space, where it is not the default one."""
    since: Standing | None = None
    """Its present standing, where that is no longer the decision's."""

    @property
    def state(self) -> str:
        """The present state in words."""
        if self.since is None:
            return WOULD_BE[self.record.decision] if self.tried else self.record.decision.value
        overridden = self.since.state is State.BLOCKED and self.record.decision is Verdict.BLOCKED
        return f"{self.since.words}, overridden" if overridden else self.since.words

    @property
    def is_blocked(self) -> bool:
        """Whether the release was blocked."""
        return self.explanation.verdict is Verdict.BLOCKED

    @property
    def flips(self) -> tuple[Flip, ...]:
        """Changes that reverse the verdict, a new day of the agreement first."""
        agreement = self.explanation.agreement
        return (*((agreement,) if isinstance(agreement, Flip) else ()), *self.explanation.flips)

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
    """The answer, and the command that shows more."""
    yield from rendered_answer(one)
    if not one.explanation.fixed:
        named = one.tried or one.record.release_id[:12]
        yield from noted("Records at stake, facts, thresholds and other methods:")
        yield f"  releasegate explain {named} --recipient {one.record.recipient.id}{one.workspace} --details"
    yield ""


def rendered_answer(one: Explained) -> Iterator[Block]:
    """Verdict, reasons, and the changes that would reverse it."""
    record, explanation = one.record, one.explanation
    who, organisation = f"  {record.recipient.id}", f"  {record.recipient.organisation}"
    style = STYLES[record.decision] if one.since is None else "strong"
    yield outcome(one.state.upper(), who, style, organisation)
    if one.since is not None:
        yield Paragraph(one.since.why, "lead")
        yield Paragraph(f"The decision of {record.decided_at.date()} was: {record.decision.value}.", "lead")
    yield from _reasons(one)
    for gate, attack in closing_attacks(record):
        named = f"by the attack “{attack.title}”, with {', '.join(attack.attributes)}"
        yield Paragraph(f"{one.short(gate.id).capitalize()}: {named}.", "lead")
    yield ""
    if explanation.fixed:
        yield Paragraph(explanation.fixed, "strong")
    else:
        if not one.is_blocked:
            yield from _information(one)
            yield ""
        yield from _remedies(one) if one.is_blocked else _limits(one)
    if one.is_blocked and not any(flip.choice is Choice.DESIGN for flip in one.flips):
        yield from recorded_remedies(record, in_vain=explanation.withheld_in_vain)


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
    return percent(reason.beyond) if reason.failed else f"{-reason.beyond + 0.0:,.1%}"


def is_reversed(explanation: Explanation, switch: Switch) -> bool:
    """Whether the other method changes the verdict."""
    return (switch.after.verdict is Verdict.BLOCKED) is not (explanation.verdict is Verdict.BLOCKED)


def changed(one: Explained, flip: Flip) -> str:
    """The gates' figures that change, or why nothing is released; empty where all stay the same."""
    if flip.after.failure:
        return flip.after.failure
    now, then = one.figures(one.explanation.figures), one.figures(flip.after.figures, flip.after.estimated)
    return "; ".join(
        f"{one.short(gate)} {figure}" + (f" (now {now[gate]})" if now else "")
        for gate, figure in then.items()
        if figure != "–" and now.get(gate) != figure.removeprefix("≈ ")
    )


def number(value: float | str) -> str:
    """A value of a term, written out."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    text = f"{value:,.15g}"
    return f"{Decimal(text):f}" if "e-" in text else text


def percent(share: float) -> str:
    """The size of a change."""
    return f"{share:+,.1%}" if abs(share) < 10 else f"{share:+,.0%}"


def _reasons(one: Explained) -> Iterator[Block]:
    """The reasons as recorded, where no gate failed; the strongest ones with their figures and records."""
    gates, stages = one.record.gates, unfinished(one.record)
    yield from (Paragraph(f"The stage “{stage}” did not finish: {reason}.", "lead") for stage, reason, _ in stages)
    unmeasured = sum(gate.measured is None for gate in gates)
    together = never_measured(gates)
    if stages and unmeasured:
        together = f"{plural(unmeasured, 'gate was', 'gates were')} not measured, since a stage did not finish."
    strongest = [one for one in one.explanation.strongest if not together or one.gate.measured is not None]
    failed = [reason for reason in strongest if reason.failed]
    if not failed:
        yield from (Paragraph(reason, "lead") for reason in one.explanation.reasons)
    if not strongest:
        return
    counts = told_counts(one.record, one.explanation.at_stake)
    yield from table(
        "Closed gates, the worst first" if failed else "Tightest gates, with the margin to the threshold",
        ("gate", ">measured", "required", ">beyond" if failed else ">margin"),
        [_strength(one, reason, counts.get(reason.gate.id, "")) for reason in strongest],
    )
    conditions = [
        one for one in failed if one.gate.comparison == "is" and not (stages and one.gate.id == STAGES_FINISHED)
    ]
    closed = [gate for gate in one.record.gates if not gate.passed]
    more = sum(not together or gate.measured is not None for gate in closed) - len(failed)
    yield from noted(
        *(f"{reason.gate.title}: {reason.gate.because}" for reason in conditions),
        f"{more} more {'gate is' if more == 1 else 'gates are'} closed." if failed and more > 0 else "",
        together,
    )


def _strength(one: Explained, reason: Reason, count: str) -> Sequence[str]:
    measured, required = one.written(reason.gate)
    interval = "" if one.is_bound(reason.gate) else write_interval(reason.gate)
    title = lines(reason.gate.heading, count and small(count))
    return title, lines(measured, interval and f"({interval})"), required, beyond(one, reason)


def _remedies(one: Explained) -> Iterator[Block]:
    """Changes with which a blocked release would pass: those that can be chosen, else facts that may be wrong."""
    designs = [flip for flip in one.flips if flip.choice is Choice.DESIGN]
    found = designs or [flip for flip in one.flips if flip.choice is Choice.FACT]
    if not designs:
        yield Paragraph("No change of columns, method, classes, masking or agreement was found that opens all gates.")
    if found:
        wrong = "Facts with which it would pass: change one only where it is stated wrongly"
        now = one.explanation.figures.get(Measure.INFORMATION_KEPT)
        keeps = "" if now is None else f"; the copy keeps {now:.1%} of its information now"
        yield from table(
            f"Changes of the request that open all gates, each tried{keeps}" if designs else wrong,
            ("change", ">keeps"),
            [row for flip in found[:_MOST_CHANGES] for row in _change_rows(flip)],
        )
        more = len(found) - _MOST_CHANGES
        yield from noted(
            f"{more} more such {'change was' if more == 1 else 'changes were'} found." if more > 0 else "",
            _ESTIMATES if any(flip.after.estimated for flip in found) else "",
            _RENEW if any(isinstance(change, RenewalChange) for flip in found for change in flip.changes) else "",
        )


def _change_rows(flip: Flip) -> Iterator[Sequence[str]]:
    kept = flip.after.figures.get(Measure.INFORMATION_KEPT)
    sign = "≈ " if Measure.INFORMATION_KEPT in flip.after.estimated else ""
    return _typed(flip.changes, "" if kept is None else f"{sign}{kept:.1%}")


def _typed(changes: Sequence[TermChange], kept: str) -> Iterator[Sequence[str]]:
    """Changes as they are typed into the request, with the present values; what the copy keeps is beside the first."""
    for place, change in enumerate(changes):
        now = "not stated" if change.current == NOT_STATED else f"now {number(change.current)}"
        yield f"{'  and ' if place else ''}{change.where}: {number(change.needed)} ({now})", "" if place else kept


def _information(one: Explained) -> Iterator[Block]:
    """Information that a copy keeps that passed, terms that cost the rest, and changes that keep more."""
    found = one.explanation
    kept = found.figures.get(Measure.INFORMATION_KEPT)
    if kept is None:
        return
    lossy = [column for column in found.columns if column.kept < _WHOLE][:_MOST_COLUMNS]
    if not lossy:
        yield Paragraph("The copy keeps all of its information.")
        return
    yield from table(
        f"The copy keeps {kept:.1%} of its information; what its columns keep, the least first",
        ("column", ">keeps", "most records have it"),
        [(column.name, f"{column.kept:.0%}", column.released) for column in lossy],
    )
    yield from noted("A column with “weight: 10” among its terms keeps its detail at the cost of the others.")
    yield ""
    if found.costs:
        yield from table(
            "Terms that cost the most, each tried without it, gates aside",
            ("term", ">keeps then"),
            [(cost.term, f"{'≈ ' if cost.estimated else ''}{cost.kept:.1%}") for cost in found.costs[:_MOST_CHANGES]],
        )
        yield from noted(demanded(RecordView(one.record), "at these amounts") or "")
        yield ""
    yield from _keeping(one)


def _keeping(one: Explained) -> Iterator[Block]:
    """Changes with which a release that passed would keep more, each as it is typed into the request."""
    record, found = one.record, one.explanation.keeping
    if not found:
        yield Paragraph("None of the design changes tried keeps more and passes every gate.")
        return
    of_copy = [way for way in found if not way.of][:_MOST_CHANGES]
    yield from table(
        "Changes that keep more and pass every gate, each tried for this recipient",
        ("change", ">keeps"),
        [row for way in (*of_copy, *(way for way in found if way.of)) for row in _keeping_rows(way)],
    )
    yield from noted(_ESTIMATES if any(way.after.estimated for way in found) else "")
    if not one.tried and (one.since is None or one.since.state is not State.REVOKED):
        yield from noted(
            "This copy is judged together with the next, delivered or not. Where it was not delivered or is destroyed, "
            "revoke it first:"
        )
        yield f"  {revoking(record.release_id, record.recipient.id, one.workspace)}"


def _keeping_rows(one: Keeping) -> Iterator[Sequence[str]]:
    sign = "≈ " if Measure.INFORMATION_KEPT in one.after.estimated else ""
    yield from _typed(one.changes, f"{one.now:.1%} → {sign}{one.kept:.1%}")
    if one.of:
        gone = "without its hierarchy; " if any(change.where.endswith(".role") for change in one.changes) else ""
        yield f"  ({gone}of the information of {', '.join(one.of)})", ""


def _limits(one: Explained) -> Iterator[Block]:
    """Values of the request's terms from which an approved release would be blocked, each alone; no thresholds."""
    found = [flip for flip in one.flips if flip.choice is not Choice.POLICY]
    if found:
        yield from table(
            "Values at which it would be blocked, each alone",
            ("term", ">now", "blocked at", "by"),
            [(one.lever, number(one.changes[-1].current), _from(one.changes[-1]), _closing(one)) for one in found],
        )
        yield from noted(
            "Where an attempt costs more or gains less, it does not pay in smaller groups either: the copy then has "
            "these, and the gate named blocks it."
            if any(map(_allows_smaller_groups, found))
            else ""
        )
    else:
        yield Paragraph("No change of a single term was found that would block it.")
    blocked = [switch.method.value for switch in one.explanation.switches if is_reversed(one.explanation, switch)]
    yield from noted(f"Methods with which it would be blocked: {', '.join(blocked)}." if blocked else "")


def _allows_smaller_groups(flip: Flip) -> bool:
    """Whether a change makes attempts pay less: a higher cost, or a lower gain."""
    change = flip.relative_change or 0
    deters = change > 0 if flip.lever == "cost of an attempt" else change < 0 and "gain" in flip.lever
    return deters and bool(flip.after.figures)


def _closing(flip: Flip) -> str:
    """The gates that block after a change, or why nothing is released."""
    return flip.after.failure or "; ".join(gate.heading for gate in flip.after.gates if not gate.passed)


def _from(change: TermChange) -> str:
    """The value from which on, upwards or downwards."""
    if isinstance(change.current, str) or isinstance(change.needed, str):
        return number(change.needed)
    return f"{number(change.needed)} or {'more' if change.needed > change.current else 'less'}"

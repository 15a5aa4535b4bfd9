"""Then and today: gates in pairs, differences, terms that end, and the verdict on a copy that was released.

A verdict is one of three. A gate that is closed today is named whatever else could not be measured. What could not be
measured closes no gate and opens none: it is a verdict of its own, which has to be reported, and condemns nothing.
Pure; nothing here measures anything or reads a clock.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import get_args

from tasks.assessments.identity.uncertain.facts import ChanceFact, UncertaintyFact
from tasks.core.canonical import digest
from tasks.decision.disclosure_rounding import rounded_figure
from tasks.decision.gates import EARLIER_COPIES
from tasks.decision.record import CodeFact, DecisionRecord, GateResult
from tasks.decision.verdict import is_excused
from tasks.decision.written_figures import RecordCounts, write_result, write_share
from tasks.reassessment.record import (
    Cause,
    EndingTerm,
    Expiry,
    GateComparison,
    PooledCopies,
    Reassessment,
    ReassessmentInputs,
    RequestFrom,
    TodaysVerdict,
    Within,
)
from tasks.request.model import Agreement, Policy, Recipient, ReleaseRequest

_NEXT_CENSUS_PUBLISHED = date(2023, 5, 25)
"""Publication of the 2020 Census for ZIP code areas; the table that ships with the program is of 2010."""
_AS_KEPT: Mapping[RequestFrom, str] = {
    "kept, none there": "The request is not where it lay: what is not named otherwise is that of then.",
    "kept, another of other data": "Today's request is of other quasi-identifiers or record ids: what is not named "
    "otherwise is that of then.",
}


def compared_gates(
    then: Sequence[GateResult], now: Sequence[GateResult], unmeasured: Collection[str] = ()
) -> tuple[GateComparison, ...]:
    """Gates of then and of today in pairs; those of today first, in their order.

    `unmeasured` gates of today are neither closed nor judged: something that their figures rest on is not at hand.
    """
    before = {gate.id: gate for gate in then}
    after = {gate.id: gate for gate in now}
    both = [_pair(gate, before.get(gate.id), gate, judged=gate.id not in unmeasured) for gate in now]
    return (*both, *(_pair(gate, gate, None, judged=False) for gate in then if gate.id not in after))


def alone(gates: Sequence[GateResult]) -> tuple[GateResult, ...]:
    """Gates of a decision with the figures of the copy by itself, without earlier copies held by the same party."""
    return tuple(
        gate if gate.alone is None else gate.model_copy(update={"measured": gate.alone, "alone": None})
        for gate in gates
        if gate.id != EARLIER_COPIES
    )


def _pair(known: GateResult, then: GateResult | None, now: GateResult | None, *, judged: bool) -> GateComparison:
    return GateComparison(
        id=known.id,
        title=known.title,
        unit=known.unit,
        comparison=known.comparison,
        measured_then=None if then is None else then.measured,
        threshold_then=None if then is None else then.threshold,
        open_then=None if then is None else _is_open(then),
        measured=None if now is None else now.measured,
        threshold=None if now is None else now.threshold,
        open=_is_open(now) if now is not None and judged else None,
        overridden=now is not None and is_excused(now),
        because="" if now is None else now.because,
    )


def _is_open(gate: GateResult) -> bool:
    return gate.passed or is_excused(gate)


def rounded(gates: Sequence[GateResult], *, decoyed: bool) -> tuple[GateResult, ...]:
    """Gates whose figures reveal nothing of how many of a copy's records are decoys; each stays as open as it is."""
    return tuple(map(_rounded, gates)) if decoyed else tuple(gates)


def _rounded(gate: GateResult) -> GateResult:
    if gate.measured is None or gate.comparison == "is":
        return gate
    figure = rounded_figure(gate.measured, gate.comparison, gate.threshold, passed=gate.passed)
    return gate.model_copy(update={"measured": figure})


def verdict_of(
    gates: Iterable[GateComparison], coalitions: Iterable[PooledCopies], not_measured: Collection[object]
) -> TodaysVerdict:
    """Verdict on a copy: the worst of the findings on it."""
    judged = [one for one in coalitions if one.judged]
    every = [*gates, *(gate for one in judged for gate in one.gates)]
    if any(gate.open is False for gate in every):
        return TodaysVerdict.BLOCKED
    unjudged = any(gate.threshold is not None and gate.open is None for gate in every)
    if unjudged or not_measured or any(one.cannot for one in judged):
        return TodaysVerdict.CANNOT
    return TodaysVerdict.HOLDS


def chances(then: ChanceFact | None, now: UncertaintyFact | None) -> str:
    """Probability that the gates that depend on uncertain terms pass, today and then; empty without any."""
    if now is None:
        return ""
    before = "all terms were treated as certain" if then is None else _passing(then)
    return f"Gates that depend on uncertain terms pass: today {_passing(now.approved)}; when it was released, {before}."


def _passing(chance: ChanceFact) -> str:
    if chance.draws == 1:
        return f"{'even' if chance.count else 'not'} where the terms are worst within their ranges"
    return f"with probability {write_share(chance.value)} ({write_share(chance.low)} to {write_share(chance.high)})"


def causes(
    decided: DecisionRecord,
    *,
    then: ReleaseRequest,
    now: ReleaseRequest,
    inputs: ReassessmentInputs,
    people: int | None,
    data: str,
    further: Sequence[str],
) -> tuple[Cause, ...]:
    """Differences from the time when a release was decided, in words.

    `now` is the request as it is judged today. `people` are those of today's population, None where it could not be
    read; `data` says what has become of the original data, such as "are gone", and is empty where they are the same;
    `further` are releases of the same people to the recipient, or to those who are assumed to share with it.
    """
    recipient, population = now.recipients[0], decided.population
    sequential = None if decided.risk is None else decided.risk.sequential
    sharing = [one for one, _ in now.sharing(recipient) if one.id != recipient.id]
    before, after = decided.code, inputs.code
    texts: Sequence[tuple[str, object, str]] = (
        ("request", inputs.request_from in _AS_KEPT, _AS_KEPT.get(inputs.request_from, "")),
        (
            "population",
            people is not None and inputs.population_sha256 not in (None, population.sha256),
            _people(population.people, people or 0),
        ),
        ("policy", digest(then.policy) != digest(now.policy), _policy(then.policy, now.policy)),
        *(
            ("prices", True, _prices(then.recipient(one.id), one, shares=one is not recipient))
            for one in (recipient, *sharing)
        ),
        (
            "register",
            inputs.external_sha256 != (sequential and sequential.external.sha256),
            "The external register is another than when the release was decided.",
        ),
        ("code", before != after, _code(before, after)),
        ("data", data, f"The original data {data}: what needs them is not measured."),
        ("agreement", not inputs.in_force, f"The agreement {recipient.agreement.id} has ended."),
        *(("further release", True, f"Another release of the same people is out: {one[:12]}.") for one in further),
    )
    return tuple(
        Cause.model_validate({"kind": kind, "text": text}) for kind, applies, text in texts if applies and text
    )


def _code(then: CodeFact, now: CodeFact) -> str:
    named, before = (f"{code.version} ({_commit(code.commit)})" for code in (now, then))
    if named == before:
        return f"The program, version {named}, rests on other libraries than before."
    return f"The program is another: version {named}, before {before}."


def _commit(name: str) -> str:
    """A commit, and what distinguishes sources that are not those of one (``flows.releases.program.code_fact``)."""
    head, _, modified = name.partition("+modified.")
    return f"{head[:16] if head.startswith('sources.') else head[:12]}{f', changed {modified[:8]}' if modified else ''}"


def _people(before: int, now: int) -> str:
    if before == now:
        return "The population has changed; it has as many people as before."
    return f"The population has {'grown' if now > before else 'shrunk'} from {before:,} to {now:,} people."


def _policy(then: Policy, now: Policy) -> str:
    parts = [
        name
        for name in Policy.model_fields
        if name not in ("id", "version") and getattr(then, name) != getattr(now, name)
    ]
    named, before = (f"{policy.id} {policy.version}" for policy in (now, then))
    other = f"The policy is {named} now, before {before}"
    if named == before:
        other = f"The policy {named} reads otherwise than before"
    return f"{other} ({', '.join(parts)})." if parts else f"{other}."


def _prices(then: Recipient, now: Recipient, *, shares: bool) -> str:
    """Terms on which an attack pays or not."""
    changed = [
        f"{part}.{name}"
        for part in ("stakes", "agreement", "adversary", "uncertain")
        for before, after in [(dict(getattr(then, part) or ()), dict(getattr(now, part) or ()))]
        for name in sorted({*before, *after} - {"id", "expires"})
        if before.get(name) != after.get(name)
    ]
    whom = f"{now.id}, who has the same representation," if shares else "the recipient"
    return f"Terms of {whom} are others: {', '.join(changed)}." if changed else ""


def reasons(record: Reassessment) -> tuple[str, ...]:
    """Reasons that a copy holds or does not, a sentence each: the gates that have closed, then the causes.

    The record is complete but for the reasons.
    """
    judged = [one for one in record.coalitions if one.judged]
    changed = sum(gate.figure_changed for gate in record.gates)
    figures = f"{changed} of {len(record.gates)} figures are others than when it was released."
    holds = (
        f"Every gate is open; {figures}" if changed else "Every gate is open, and every figure is that of the release.",
        *(
            f"They also stay open when the copies of {', '.join(one.recipients)} are pooled."
            for one in judged
            if one.gates
        ),
    )
    same = record.uncertainty is not None and record.uncertainty.approved == record.uncertainty_then
    chance = "" if same else chances(record.uncertainty_then, record.uncertainty)
    return (
        *(_closed(record, gate) for gate in record.gates if gate.open is False),
        *(sentence for one in judged for sentence in _pooled(record, one)),
        *(f"Not measured: {one.stage}: {one.reason}" for one in record.not_measured),
        *(holds if record.verdict is TodaysVerdict.HOLDS else ()),
        *([chance] if chance else []),
        *(cause.text for cause in record.causes),
    )


def _pooled(record: Reassessment, copies: PooledCopies) -> Iterator[str]:
    recipients, number = ", ".join(copies.recipients), len(copies.releases)
    of = f" of {number} pooled {'release' if number == 1 else 'releases'} ({recipients})"
    yield from (_closed(record, gate, of) for gate in copies.gates if gate.open is False)
    if copies.cannot:
        yield f"Releases to {recipients} could not be pooled: {copies.cannot}."


def _closed(record: Reassessment, gate: GateComparison, of: str = "") -> str:
    if gate.comparison == "is" or gate.threshold is None:
        return f"{gate.title}{of}: no. {gate.because}".strip()
    figure, threshold = written(record, gate, gate.measured, gate.threshold)
    sentence = f"{gate.title}{of}: {figure}; {threshold} allowed"
    if gate.threshold_then is None:
        return f"{sentence}; no gate when it was released."
    before, allowed = written(record, gate, gate.measured_then, gate.threshold_then)
    if gate.threshold != gate.threshold_then:
        return f"{sentence}. When it was released: {before}; {allowed} allowed."
    return f"{sentence}." if gate.measured_then is None else f"{sentence}. When it was released: {before}."


def written(record: Reassessment, gate: GateComparison, measured: float | None, threshold: float) -> tuple[str, str]:
    """A figure of a gate and its threshold, as they may be shown."""
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
    counts = RecordCounts(record.rows_in, record.rows)
    return write_result(result, records=counts, small_cell=record.policy.small_cell)


def lapses(record: DecisionRecord, agreement: Agreement, today: date) -> tuple[Expiry, ...]:
    """Terms of a release that end within 90 days of a day in UTC or have ended, the first to end first.

    The agreement is that of today.
    """
    ends: list[tuple[EndingTerm, str, date, str]] = [
        ("agreement", agreement.id, agreement.expires, "The copy is to be destroyed, or the agreement renewed."),
        (
            "determination",
            record.release_id,
            record.valid_until,
            "Nothing more is delivered under it; what was delivered is not condemned.",
        ),
    ]
    if record.risk is not None and record.risk.zip_table is not None:
        why = "Safe Harbor asks for the current public census data; those of 2020 are out since this day."
        ends.append(("ZIP code table", record.risk.zip_table.census, _NEXT_CENSUS_PUBLISHED, why))
    found = []
    for what, name, last_day, explained in sorted(ends, key=lambda end: end[2]):
        left = (last_day - today).days
        within = next((limit for limit in get_args(Within) if 0 <= left <= limit), None)
        if within or left < 0:
            found.append(
                Expiry(what=what, name=name, last_day=last_day, days_left=left, within=within, explained=explained)
            )
    return tuple(found)


def named(found: Sequence[Expiry]) -> tuple[str, ...]:
    """Names of what ends and how soon, without the days that are left: the same until there is news to report."""
    return tuple(
        f"{one.what} {one.name}: {'ended' if one.within is None else f'within {one.within} days'}" for one in found
    )

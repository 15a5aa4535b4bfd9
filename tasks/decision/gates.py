"""Gates: the policy's thresholds on measured figures, and the conditions that no policy can switch off.

Every gate fails closed: a figure that is missing, not a number or impossible does not pass.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date
from types import MappingProxyType
from typing import Any

from tasks.assessments.combined.facts import ScoreFigure
from tasks.assessments.dates.facts import FoundFact
from tasks.assessments.identity.facts import RiskView, TransparentRisk
from tasks.assessments.sequential.facts import BeliefFact
from tasks.core.fact import Interval
from tasks.decision.decoy_facts import DecoyFact
from tasks.decision.earlier_facts import ChangesFact, EarlierFact
from tasks.decision.record import GateResult, ValidationFact
from tasks.request.measures import MEASURES, is_possible
from tasks.request.model import Agreement, Gate, Measure

VALIDATION_PASSED = "validation.passed"
AGREEMENT_IN_FORCE = "agreement.in_force"
STAGES_FINISHED = "stages.finished"
RESCORED_EQUAL = "released.rescored_equal"
DECOYS_DETECTABLE = "decoys.detectability"
"""Gate for copies with decoys only."""
EARLIER_COPIES = "earlier.copies"
"""Gate for copies with other copies held by the same party."""
ALWAYS_ON = (VALIDATION_PASSED, AGREEMENT_IN_FORCE, STAGES_FINISHED, RESCORED_EQUAL)
"""Identifiers of the gates that every approval needs, whatever the policy says."""

_EARLIER_TITLE = "Other copies held by the same party identify nobody"
_SHOWN = 5
_RELATIVE_TOLERANCE = 1e-9
_ABSOLUTE_TOLERANCE = 1e-12


def judge_gates(
    gates: Sequence[Gate],
    figures: Mapping[Measure, float | None],
    intervals: Mapping[Measure, tuple[Interval, int | None]] | None = None,
) -> tuple[GateResult, ...]:
    """Judge each of the policy's gates, in its order; one whose figure is missing or impossible fails.

    Figures are risks and shares between 0 and 1, counts in records, payoffs in money per record. ``intervals`` are of
    figures that are estimates, with the people they rest on, if on people; the figure is then the less favourable end.
    """
    return tuple(_judge(gate, figures.get(gate.measure), (intervals or {}).get(gate.measure)) for gate in gates)


def _judge(gate: Gate, figure: float | None, around: tuple[Interval, int | None] | None) -> GateResult:
    text = MEASURES[gate.measure]
    measured = float(figure) if figure is not None and is_possible(gate.measure, figure) else None
    at_most = gate.at_most is not None
    return GateResult(
        id=gate.measure.value,
        title=text.title,
        unit=text.unit,
        measured=measured,
        interval=around[0] if around else None,
        people=around[1] if around else None,
        comparison="at most" if at_most else "at least",
        threshold=gate.threshold,
        passed=measured is not None and (measured <= gate.threshold if at_most else measured >= gate.threshold),
        because=gate.because,
    )


def validation_gate(validation: ValidationFact) -> GateResult:
    """Whether the validation stage ran, checked something and found nothing wrong."""
    checks = validation.checks
    failed = [
        f"{check.expectation} ({check.column})" if check.column else check.expectation
        for check in checks
        if not check.passed
    ]
    passed = validation.passed and bool(checks) and not failed
    because = (
        f"All {len(checks)} validation checks passed." if passed else "The validation stage did not report success."
    )
    if failed:
        because = f"{len(failed)} of {len(checks)} validation checks failed: {_listed(failed)}."
    return _condition(VALIDATION_PASSED, "Validation passed", passed, because, validation.evidence_sha256)


def agreement_gate(agreement: Agreement, decided_on: date) -> GateResult:
    """Whether the recipient's agreement is in force on the day of the decision, its last day included."""
    in_force = agreement.expires >= decided_on
    ends = f"{'runs until' if in_force else 'expired on'} {agreement.expires}"
    because = f"The agreement {agreement.id} {ends}; the date of the decision is {decided_on}."
    return _condition(AGREEMENT_IN_FORCE, "Agreement in force", in_force, because)


def stages_gate(required: Collection[str], finished: Collection[str]) -> GateResult:
    """Whether every required stage has finished; no required stage at all does not pass."""
    missing = [stage for stage in required if stage not in finished]
    because = f"All {len(required)} stages finished." if required else "No stage was asked for."
    if missing:
        because = f"These stages did not finish: {_listed(missing)}."
    return _condition(STAGES_FINISHED, "Every stage finished", bool(required) and not missing, because)


def decoy_gate(decoys: DecoyFact, threshold: float) -> GateResult:
    """Whether the decoys of a copy cannot be distinguished from its real classes by more than an area under the curve.

    The greatest upper end of the classifiers' intervals is judged, which need not be that of the largest area; a
    detection that could not be measured does not pass, nor do decoys that break what real records keep to.
    """
    found = decoys.detectability
    judged = None if found is None else max(found.tried, key=lambda one: (math.isnan(one.high), one.high))
    if judged is None or found is None:
        because = "There are too few cells to draw enough decoys to measure whether they can be distinguished."
    else:
        because = (
            f"Of {len(found.tried)} classifiers the best one, {found.worst.classifier} with {found.worst.view}, has an "
            f"area of {found.worst.area:.3f}; 0.5 is guessing. The greatest upper end of their intervals is judged."
        )
        if judged.high > threshold and judged.view == "population and values":
            because += " See policy.decoys.common_from: without it no decoy has values that many records share."
        if found.broken:
            because = (
                f"{found.broken} of {found.relations} relations of columns, which real records keep to, are broken by "
                f"decoys: a record that does so is one with a probability of up to {found.certainty:.2f}. {because}"
            )
    return GateResult(
        id=DECOYS_DETECTABLE,
        title="Decoys cannot be distinguished from real classes",
        measured=None if judged is None else judged.high,
        interval=None if judged is None else Interval(low=judged.low, high=judged.high, level=0.95),
        comparison="at most",
        threshold=threshold,
        passed=found is not None and judged is not None and judged.high <= threshold and not found.broken,
        because=because,
    )


def earlier_gate(fact: EarlierFact | None) -> GateResult:
    """Whether the earlier copies held by the same party could be judged with this one, and single out nobody.

    None says that they could not be compared; that does not pass.
    """
    if fact is None:
        because = "The earlier copies held by the same party could not be compared with this one."
        return _condition(EARLIER_COPIES, _EARLIER_TITLE, None, because)
    wrong = [f"Release {one.release_id[:12]} to {one.recipient}: {one.cannot}." for one in fact.copies if one.cannot]
    if fact.unexplained:
        wrong += [_few_changed(fact.least_class)] * fact.few_changed + [
            _few_revised(fact.least_class)
        ] * fact.few_revised
        wrong.append(_without_reason(fact.reason))
    wrong += fact.closed
    because = (
        f"{len(fact.judged)} of {len(fact.copies)} earlier copies held by the same party have people of this one, and "
        f"{len(fact.siblings)} further copies of this release come into it. The gates judge the worse of the copy "
        "alone and of all of these together."
    )
    return _condition(EARLIER_COPIES, _EARLIER_TITLE, not wrong, " ".join(wrong) or because)


def changes_gate(least: int) -> GateResult:
    """The closed gate of copies of which one adds or removes fewer people than a number, without a reason."""
    return _condition(EARLIER_COPIES, _EARLIER_TITLE, fulfilled=False, because=_few_changed(least))


def _few_changed(least: int) -> str:
    return (
        f"A few people, fewer than {least}, are in one of the copies and not in another: they were in the data of "
        "one only, or the gate left them out of one. Comparing the copies shows their records."
    )


def _few_revised(least: int) -> str:
    return (
        f"Released values of a few people, fewer than {least}, differ between the copies. Comparing the copies shows "
        "whose records were changed, and how."
    )


def _without_reason(reason: ChangesFact | None) -> str:
    if reason is None:
        return "The request gives no reason that reviewers could accept (changes_since)."
    if not reason.applies:
        return "The release named under “changes_since” is not the last earlier copy of these people."
    return "The policy requires no reviewer for the reason given (policy.review.required)."


def rescored_gate(
    recorded: Mapping[str, float], rescored: Mapping[str, float] | None, output_sha256: str | None = None
) -> GateResult:
    """Whether the released file, read back from its bytes (``output_sha256``) and scored anew, has the recorded risk.

    Passed where there are figures, both sides have the same names, and each pair agrees within a relative 1e-9: room
    for another order of summation alone. ``rescored`` is None where the file could not be read back and scored.
    """
    title = "Risk recomputed from the written file matches the record"
    if rescored is None:
        because = "The file could not be read back and scored."
        return _condition(RESCORED_EQUAL, title, None, because, output_sha256)
    names = sorted(recorded.keys() | rescored.keys())
    pairs = ((name, recorded.get(name, math.nan), rescored.get(name, math.nan)) for name in names)
    differing = [
        name
        for name, own, found in pairs
        if math.isinf(own) or not math.isclose(own, found, rel_tol=_RELATIVE_TOLERANCE, abs_tol=_ABSOLUTE_TOLERANCE)
    ]
    because = "No figure was recorded to compare with."
    if recorded:
        because = f"All {len(recorded)} figures of the file as written are those recorded."
    if differing:
        because = f"The file as written gives other figures than recorded for: {_listed(differing)}."
    return _condition(RESCORED_EQUAL, title, bool(recorded) and not differing, because, output_sha256)


def _condition(
    identifier: str, title: str, fulfilled: bool | None, because: str, evidence_sha256: str | None = None
) -> GateResult:
    return GateResult(
        id=identifier,
        title=title,
        measured=None if fulfilled is None else float(fulfilled),
        comparison="is",
        threshold=1.0,
        passed=fulfilled is True,
        because=because,
        evidence_sha256=evidence_sha256,
    )


def _listed(names: Sequence[str]) -> str:
    rest = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {rest} more" if rest > 0 else "")


def flat_figures(
    residual: RiskView,
    transparent: TransparentRisk,
    sequential: Sequence[BeliefFact],
    combined: ScoreFigure,
    attacked: int,
    *,
    singled_out: int,
    disclosed: int,
    expected: float | None,
    events: Mapping[str, int] = MappingProxyType({}),
    dates: Mapping[str, FoundFact] | None = None,
) -> dict[str, float]:
    """Every number of a scoring by a name of its own.

    ``attacked`` are the rows that are as linkage attacked them, ``singled_out`` those that a few columns single out,
    ``disclosed`` those whose class discloses a value, ``events`` figures of the rows of people who have several,
    ``dates`` whom known dates find (None where none is shifted or relative); ``expected`` is the highest expected
    disclosure of a record.
    """
    document: dict[str, Any] = {
        "residual": residual.model_dump(),
        "transparent": transparent.model_dump(),
        "sequential": [belief.model_dump() for belief in sequential],
        "combined": combined.model_dump(),
        "rows as attacked": attacked,
        "rows singled out": singled_out,
        "rows disclosed": disclosed,
        "rows of people": dict(events),
        "people found by dates": {name: one.model_dump() for name, one in (dates or {}).items()},
        "expected disclosure": expected,
    }
    return dict(_numbers(document, ()))


def _numbers(part: object, name: tuple[str, ...]) -> Iterator[tuple[str, float]]:
    if isinstance(part, dict):
        for key, value in part.items():
            yield from _numbers(value, (*name, str(key)))
    elif isinstance(part, list | tuple):
        for position, value in enumerate(part):
            yield from _numbers(value, (*name, str(position)))
    elif isinstance(part, int | float):
        yield ".".join(name), float(part)

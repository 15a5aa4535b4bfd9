"""Explaining a verdict: for each lever of a request, the smallest change that reverses it, found by re-solving.

Everything that depends on terms is solved again, but the written file is not read back: “would be approved” means that
nothing stands in the way of running the release. Takes codes, numbers and a date; reads no file and no clock.
"""

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from functools import cache, partial
from typing import Any, Protocol, TypeVar

from tasks.assessments.linkage.holdings import known_attributes
from tasks.assessments.registry import LINKAGE
from tasks.core.errors import ParameterError, RequestError, StageFailed
from tasks.decision.explain import levers
from tasks.decision.explain.at_stake import BY_CLASS, RISKS, AtStake, at_stake
from tasks.decision.explain.candidates import Candidates
from tasks.decision.explain.columns import column_changes
from tasks.decision.explain.designs import (
    MASKED_GATES,
    NOTHING_RELEASED,
    OTHERS_CLOSED,
    combined_designs,
    deterrent_results,
    deterring,
    named_together,
    ranked,
    trait_results,
)
from tasks.decision.explain.estimates import RANDOM, TooManyAttacks, is_closed
from tasks.decision.explain.information import Information
from tasks.decision.explain.levers import Lever
from tasks.decision.explain.result import (
    Choice,
    Explanation,
    Flip,
    Judgement,
    NoFlip,
    NotByClass,
    Switch,
    TermChange,
    strongest_reasons,
)
from tasks.decision.explain.trial import TOO_MANY_ATTACKS, Progress, Trial, never
from tasks.decision.gates import EARLIER_COPIES, VALIDATION_PASSED
from tasks.decision.record import GateResult, Verdict
from tasks.generalization.methods.registry import METHODS, MOST_BY_RECORD
from tasks.request.model import BUDGETED, DIVISIONS, Measure, Method, Recipient, ReleaseRequest

_Result = TypeVar("_Result")

_RELATIVE_TOLERANCE = 1e-9
_ABSOLUTE_TOLERANCE = 1e-12
_WITHOUT_DECOYS = (
    "Figures here are of the file without decoys and with no class missing for others' decoys, which is sealed; those "
    "of the decision differ a little."
)
_OPEN_BY_DECOYS = (
    "It passes as the copy was made; with the classes that it misses for others' decoys a gate would close. Which "
    "these are is sealed, so that no change of terms can be tried."
)
_BY_EARLIER_COPIES = (
    "Gates judge this copy together with earlier copies held by the same party, so that the effect of a change of "
    "terms on this copy alone does not determine the verdict."
)
_TOO_MANY_STRATEGIES = (
    "Not tried: it chooses for each record among all levels of all columns, which takes minutes here."
)
_NOT_BY_TERMS = (
    "Nothing else that the request states stands in the way of this release: remedy that, and release again."
)


class Starter(Protocol):
    """Starts some work, and gives a function that waits for its result."""

    def __call__(self, work: Callable[[], _Result], /) -> Callable[[], _Result]:
        """Start it."""


@dataclass(frozen=True)
class Decided:
    """Facts of a decision that an explanation starts from."""

    verdict: Verdict
    gates: tuple[GateResult, ...]
    reasons: tuple[str, ...]
    decided_on: date


def explain(
    request: ReleaseRequest,
    recipient: Recipient,
    candidates: Candidates,
    decided: Decided,
    progress: Progress = lambda _: None,
    *,
    is_over: Callable[[], bool] = never,
    beside: Starter = cache,
) -> Explanation:
    """Find the smallest changes that reverse the verdict on one recipient's release; each was tried and reverses it.

    1. The recorded terms are solved again and must give the recorded figures, but where the release has decoys: which
       classes a copy misses for them is sealed. Linkage and the probability under uncertain terms are taken from the
       record, and estimated under other terms, with a bound on the work (``estimates``).
    2. Where validation failed, or every gate that depends on terms is open on a blocked release, the explanation says
       that no term can change the verdict.
    3. Where the agreement has expired, a new date is a lever, and part of every other.
    4. Stakes, minimum class size and the k of k-anonymity are searched up and down, each alone; what can be chosen
       before facts such as stakes, which are left out once as many games are solved as may be.
    5. Where a gate judges the sequential adversary, the terms that deter it are searched, each alone, upwards if the
       release is blocked and downwards if not, around the least value that deters it from the whole file.
    6. Thresholds: the value of each that the measured figure would pass; where several gates fail, all together.
    7. Where a gate judges record linkage, maskings are made stronger if the release is blocked, weaker if not.
    8. Every other method that the policy has terms for is tried; where then only gates on the sequential adversary stay
       closed, with step 5.
    9. Where nothing that can be chosen lets a blocked release pass alone, it is combined (``designs``).
    10. Columns behind closed gates are withheld, each alone or as few as it takes, or excused (``columns``).
    11. Changes are ranked: of a blocked release what can be chosen first, by the information that the file keeps, then
       facts, then the policy's thresholds. Reasons are ranked, and records that keep gates on risk closed are counted
       by class (``at_stake``).
    12. Of a release that passed, terms are sought that cost information, and changes that keep more (``information``).

    ``progress`` is called with words on what is being tried; ``is_over`` says that no further game is to be solved for
    a lever. ``beside`` may do parts of the work for a release that passed at the same time; what it starts shares
    nothing that is found from then on, and has bounds on its work of its own.

    Raises StageFailed if the recorded terms now give other figures or another verdict than recorded: data, population
    or program are then not those of the decision.
    """
    candidates.start()
    passes = decided.verdict is not Verdict.BLOCKED
    trial = Trial(request, recipient, candidates, decided.decided_on, passes, progress, is_over)
    gates, games_before = decided.gates, candidates.games_solved
    decoyed = bool(request.continues) or any(one.decoys for one in request.recipients)
    unchanging = Explanation(recipient.id, decided.verdict, decided.reasons, strongest_reasons(gates), {})
    if any(gate.id == VALIDATION_PASSED and not gate.passed for gate in gates):
        return replace(unchanging, fixed="The data did not pass validation; a change of terms does not make them pass.")
    overridden = [gate for gate in gates if gate.overridden is not None]
    if overridden and trial.passes:
        return replace(unchanging, fixed=_overridden(overridden))
    alone = beside if passes else cache  # a blocked release is searched for combinations of all that was tried
    switching = alone(partial(_switches, trial))
    progress("solving the recorded terms again")
    _remember(trial, gates)
    now = trial.judge(())
    if _is_by_earlier_copies(gates, now, decoyed=decoyed):
        return replace(unchanging, fixed=_BY_EARLIER_COPIES)
    if not decoyed:
        _check_figures(gates, now)
    if now.passes and not trial.passes:
        return replace(unchanging, fixed=_NOT_BY_TERMS)
    if trial.passes and not now.passes:
        if decoyed:
            return replace(unchanging, fixed=_OPEN_BY_DECOYS)
        raise _contradiction("the verdict of the recorded terms")
    renewed = trial.judge(trial.renewal) if trial.renewal else now
    results: list[Flip | NoFlip] = []
    if trial.reversed(renewed):
        why = "The expired agreement blocks, whatever the other terms are."
        numbers = *levers.stakes(request, recipient), *levers.class_sizes(request), *deterring(trial)
        results += [lever.unchanged(why) for lever in numbers]
        switches, untried = switching()
    else:
        # What can be chosen comes first: the work that attacks may take, and the games, are bounded.
        results += column_changes(trial, renewed)
        maskings = _maskings(trial, renewed)
        switches, untried = switching()
        sized = alone(partial(_sized, trial, renewed))
        traits, stakes = alone(partial(trait_results, trial, renewed)), cache(partial(_stakes, trial))
        if trial.passes:
            stakes()
        results += [*sized(), *maskings]
        if not trial.passes:
            results += _designs(trial, results, switches)
        results += [*stakes(), *traits(), *_thresholds(trial, renewed)]
    results += untried
    flips = [result for result in results if isinstance(result, Flip)]
    return replace(
        unchanging,
        figures=now.figures,
        flips=tuple(sorted(flips, key=_size)) if trial.passes else ranked(flips),
        no_flips=tuple(result for result in results if isinstance(result, NoFlip)),
        switches=tuple(switches),
        agreement=_agreement(trial, renewed),
        games_solved=candidates.games_solved - games_before,
        note=_WITHOUT_DECOYS if decoyed else "",
        at_stake=_at_stake(trial, gates),
        **(_information(Information(trial), switches) if passes else {}),
    )


def _information(found: Information, switches: Sequence[Switch]) -> dict[str, Any]:
    """Information that a copy keeps, and that terms cost."""
    return {"columns": found.columns, "costs": found.costs(), "keeping": found.keeping(switches)}


def _remember(trial: Trial, gates: Sequence[GateResult]) -> None:
    """Keep what draws and attacks gave at the decision, so that none are made again on the same outcome."""
    figures = {Measure(gate.id): gate.measured for gate in gates if gate.id in RANDOM and gate.measured is not None}
    if figures:
        with suppress(StageFailed):  # reported when the recorded terms are judged
            trial.candidates.estimates.record(trial.candidate, figures)


def _at_stake(trial: Trial, gates: Sequence[GateResult]) -> tuple[AtStake | NotByClass, ...]:
    """Records at stake of each closed gate on risk, the strongest reason first."""
    closed = [one.gate for one in strongest_reasons(gates, len(gates)) if one.failed]
    return tuple(_at_stake_of(trial, gate) for gate in closed if gate.id in RISKS)


def _at_stake_of(trial: Trial, gate: GateResult) -> AtStake | NotByClass:
    trial.progress(f"records at stake: {gate.title[0].lower()}{gate.title[1:]}")
    if gate.id not in BY_CLASS:
        return NotByClass(Measure(gate.id), "The attack goes by numbers alone, whatever the class of a record.")
    try:
        found = at_stake(trial.candidate, gate)
        return found if found.records else NotByClass(found.measure, _elsewhere(gate.columns))
    except (StageFailed, ParameterError) as failure:
        return NotByClass(Measure(gate.id), f"{failure.what[0].upper()}{failure.what[1:]}.")


def _elsewhere(columns: Sequence[str]) -> str:
    """Reason that no cell is at stake, with the columns that reveal more, if any do."""
    why = "other columns or other copies add to the risk"
    if columns:
        why = f"{' and '.join(columns)} {'reveals' if len(columns) == 1 else 'reveal'} more"
    return f"No record is at risk by its released cells alone; {why}."


def _agreement(trial: Trial, renewed: Judgement) -> Flip | NoFlip | None:
    if not trial.renewal:
        return None
    change, lever = trial.renewal[0], "expiry of the agreement"
    if trial.reversed(renewed):
        return Flip(lever, trial.renewal, renewed)
    return NoFlip(lever, change.where, change.current, change.current, "any later date", OTHERS_CLOSED)


def _stakes(trial: Trial) -> list[Flip | NoFlip]:
    """Results of the recipient's stakes."""
    return [one for lever in levers.stakes(trial.request, trial.recipient) for one in trial.searched(lever)]


def _sized(trial: Trial, renewed: Judgement) -> list[Flip | NoFlip]:
    """Results of class sizes, and of the terms that deter the sequential adversary."""
    return [*_class_sizes(trial), *deterrent_results(trial, renewed)]


def _class_sizes(trial: Trial) -> list[Flip | NoFlip]:
    """Results of the minimum class size and of k."""
    sizes, budget = levers.class_sizes(trial.request), trial.request.budget
    if budget is not None and bool(budget.suppression is not None or budget.utility_floor):
        return [sizes[0].unchanged("The budget limits the records that may be left out, in place of this term.")]
    return [result for lever in sizes for result in trial.searched(lever)]


def _designs(trial: Trial, results: Sequence[Flip | NoFlip], switches: Sequence[Switch]) -> list[Flip]:
    """Other methods with which the release passes, and combined changes where nothing that can be chosen does alone."""
    passing = [one for one in switches if trial.reversed(one.after)]
    found = [Flip(f"method {one.method.value}", one.changes, one.after) for one in passing]
    if any(isinstance(one, Flip) and one.choice is Choice.DESIGN for one in (*results, *found)):
        return found
    deterred = [flip for one in switches for flip in one.deterred if flip.choice is Choice.DESIGN]
    return [*(named_together(flip) for flip in deterred), *combined_designs(trial, [one.method for one in switches])]


def _maskings(trial: Trial, now: Judgement) -> list[Flip | NoFlip]:
    """Results of each masking's strength, and of all together where none alone changes the verdict."""
    request = trial.request
    if not any(gate.measure in LINKAGE.gate_measures for gate in request.policy.gates):
        return []
    known = set(known_attributes(request, trial.candidates.prepared))
    held = [number for number, masking in enumerate(request.masking) if known.intersection(masking.attributes)]
    others = [number for number in range(len(request.masking)) if number not in held]
    why = "The intruder is not assumed to hold the values that it masks."
    results = [levers.masking_strength(request, [number]).unchanged(why) for number in others]
    in_vain = _masked_in_vain(trial, now) if held and not trial.passes else ""
    if in_vain:
        return [*results, *(levers.masking_strength(request, [number]).unchanged(in_vain) for number in held)]
    found = [_masking(trial, [number]) for number in held]
    if len(held) > 1 and not any(isinstance(one, Flip) for one in found):
        found.append(_masking(trial, held))
    return [*results, *found]


def _masking(trial: Trial, numbers: Sequence[int]) -> Flip | NoFlip:
    strengths = levers.strengths(trial.request, numbers, stronger=not trial.passes)
    lever, why = levers.masking_strength(trial.request, numbers), "No strength tried changes the verdict."
    return trial.chosen(lever, strengths, why)


def _masked_in_vain(trial: Trial, now: Judgement) -> str:
    """Reason that no masking alone lets a blocked release pass; empty where one may."""
    if not now.figures:
        return NOTHING_RELEASED
    if not MASKED_GATES.issuperset(gate.id for gate in now.gates if not gate.passed):
        return OTHERS_CLOSED
    try:
        least = dict(trial.candidates.estimates.without_numbers(trial.candidate))
    except TooManyAttacks:
        return TOO_MANY_ATTACKS
    except StageFailed:
        return ""
    least.pop(Measure.LINKED_MASKED, None)
    return "Too many are linked without these numbers." if is_closed(trial.request, least) else ""


def _thresholds(trial: Trial, now: Judgement) -> list[Flip | NoFlip]:
    """Results of the thresholds: of each where the release passes, else of all that fail together."""
    trial.progress("thresholds")
    shut = {gate.id for gate in now.gates if not gate.passed}
    gates = [gate for gate in trial.request.policy.gates if trial.passes or gate.measure in shut]
    named = {gate.measure: levers.threshold(trial.request, gate) for gate in gates}
    if any(measure not in now.figures for measure in named):
        why = now.failure if now.figures else "nothing can be released under these terms"
        return [lever.unchanged(f"Its figure was not measured: {why}.") for lever in named.values()]
    needed = levers.closed_threshold if trial.passes else levers.open_threshold
    changes = [named[gate.measure].changes(needed(gate, now.figures[gate.measure])) for gate in gates]
    if trial.passes or len(gates) == 1:
        return [_tried(trial, lever, change) for lever, change in zip(named.values(), changes, strict=True)]
    first, *_ = named.values()
    together = _tried(trial, first, [one for (one,) in changes], "all failing thresholds together")
    return [together, *(lever.unchanged(OTHERS_CLOSED) for lever in named.values())]


def _tried(trial: Trial, lever: Lever, changes: Sequence[TermChange], name: str = "") -> Flip | NoFlip:
    changes = (*trial.renewal, *changes)
    try:
        judgement = trial.judge(changes)
    except RequestError:
        return lever.unchanged("No threshold that a policy may have lies beyond the figure.")
    if trial.reversed(judgement):
        return Flip(name or lever.name, changes, judgement)
    return lever.unchanged("A threshold that lets the figure pass, or closes on it, does not change the verdict.")


def _switches(trial: Trial) -> tuple[list[Switch], list[NoFlip]]:
    """Every other method that the policy has terms for, and those that could not be tried."""
    request, policy = trial.request, trial.request.policy.generalization
    present, switches, untried = request.method_for(trial.recipient), list[Switch](), list[NoFlip]()
    possible = set(Method) - {present}
    if policy.k_anonymity is None:
        possible.discard(Method.K_ANONYMITY)
    if policy.budget is not None:
        possible &= BUDGETED if policy.budget.least_records is None else DIVISIONS
    if request.coalitions(trial.recipient):
        possible.discard(Method.SAFE_HARBOR)
    # The last methods lose least, and the work that attacks may take is bounded.
    for method in (one for one in reversed(Method) if one in possible):
        why = _TOO_MANY_STRATEGIES
        if not METHODS[method].per_record or trial.candidates.index.game_size <= MOST_BY_RECORD:
            try:
                switches.append(_switch(trial, method))
                continue
            except TooManyAttacks:
                why = TOO_MANY_ATTACKS
        where, now = f"{levers.recipient_path(request, trial.recipient)}.method", present.value
        untried.append(NoFlip(f"method {method.value}", where, now, now, now, why))
    return switches[::-1], untried[::-1]


def _switch(trial: Trial, method: Method) -> Switch:
    trial.progress(f"method {method.value}")
    changes = (*trial.renewal, *trial.to_method(method))
    # The first closed gate is enough; what passes is judged by all of them.
    judgement = trial.judge(changes, exact=False)
    if judgement.passes:
        judgement = trial.judge(changes)
    deterred: tuple[Flip, ...] = ()
    if not trial.passes and not judgement.passes:
        # What can be chosen is searched to its end.
        switched = replace(trial.changed(changes), is_over=never)
        flips = [result for result in deterrent_results(switched, judgement, ".agreement.") if isinstance(result, Flip)]
        deterred = tuple(replace(flip, changes=(*changes, *flip.changes)) for flip in flips)
    return Switch(method, changes, judgement, deterred)


def _size(flip: Flip) -> float:
    """Size of a change: one of a column, which changes no rule and no price, comes first."""
    if flip.changes[-1].where.startswith("attributes"):
        return 0.0
    return math.inf if flip.relative_change is None else abs(flip.relative_change)


def _overridden(gates: Sequence[GateResult]) -> str:
    """Reason that no change is sought for a release that rests on overrides."""
    facts = [gate.overridden for gate in gates if gate.overridden is not None]
    return (
        f"It rests on overrides: {' and '.join(sorted({one.officer for one in facts}))} overrode "
        f"{', '.join(f'“{gate.title}”' for gate in gates)}. The changes that would open these gates are those of the "
        f"release that they blocked: releasegate explain {facts[-1].release_id[:12]}."
    )


def _check_figures(recorded: Sequence[GateResult], now: Judgement) -> None:
    """Refuse to explain a decision whose figures cannot be found again."""
    for gate in recorded:
        if gate.id in set(Measure) and gate.measured is not None and not _is_found_again(gate, now):
            raise _contradiction(gate.id)


def _is_by_earlier_copies(gates: Sequence[GateResult], now: Judgement, *, decoyed: bool) -> bool:
    """Whether a gate judged more than this copy: its figure is worse than alone, and not for the whole released row."""
    if any(gate.id == EARLIER_COPIES and not gate.passed for gate in gates):
        return True
    return any(gate.alone is not None and (decoyed or not _is_found_again(gate, now)) for gate in gates)


def _is_found_again(gate: GateResult, now: Judgement) -> bool:
    figure, measured = now.figures.get(Measure(gate.id), math.nan), gate.measured or 0.0
    return math.isclose(figure, measured, rel_tol=_RELATIVE_TOLERANCE, abs_tol=_ABSOLUTE_TOLERANCE)


def _contradiction(where: str) -> StageFailed:
    return StageFailed(
        "solved again, the recorded terms do not give the recorded figures",
        where=where,
        expected="the figures and the verdict of the decision record",
        got="other figures or another verdict",
        fix="the decision was made by another version of the program; run the release again and explain the new one",
    )

"""Searches outside the grid: the terms that deter the sequential adversary, and the strengths of maskings.

Costs and penalties lower the risk and never raise it (``tasks.adversary.planning.deterrence``): they are searched
upwards where the release is blocked and downwards where it passes. So is detection, which may do otherwise where
penalties are limited; nobody would make it less likely in order to be allowed a release. No game is solved for them.

Numbers are masked more strongly where the release is blocked, less where it passes, by a short list of strengths: each
is masked and attacked, and the nearest that changes the verdict is named. The attributes an intruder holds are no
lever: the publisher does not choose what others know.
"""

from collections.abc import Sequence

from tasks.adversary.profile import derive_profile
from tasks.assessments.linkage.holdings import known_attributes
from tasks.assessments.registry import COMBINED, LINKAGE, SEQUENTIAL
from tasks.core.errors import DataError, ParameterError, RequestError, StageFailed
from tasks.decision.explain.estimates import TooManyAttacks, is_closed
from tasks.decision.explain.levers import Lever, apply, deterrents, rounded, tried_around, tried_beyond
from tasks.decision.explain.result import Flip, Judgement, NoFlip, TermChange
from tasks.decision.explain.trial import TOO_MANY_ATTACKS, Trial, unsearched
from tasks.masking.registry import METHODS
from tasks.request.model import PARAMETER_OF, Masking, Measure

_DETERRED_GATES = SEQUENTIAL.gate_measures | {Measure.PASSING_PROBABILITY}


def deterrents_of(trial: Trial) -> tuple[Lever, ...]:
    """The terms that deter, where a gate judges the sequential adversary; else none."""
    if not any(gate.measure in SEQUENTIAL.gate_measures for gate in trial.request.policy.gates):
        return ()
    return deterrents(trial.request, trial.recipient, derive_profile(trial.recipient).profile)


def search_deterrents(trial: Trial, now: Judgement) -> list[Flip | NoFlip]:
    """Results of each term that deters.

    Parameters
    ----------
    trial : Trial
    now : Judgement
        On the terms as they stand, the agreement renewed where it has expired.
    """
    results: list[Flip | NoFlip] = []
    undeterred = _undeterred(now)
    for lever in deterrents_of(trial):
        why = undeterred or lever.unable
        results += [unsearched(lever, why)] if why else _lever_searched(trial, lever)
    return results


def _undeterred(now: Judgement) -> str:
    """Why the release stays blocked whatever the recipient does; empty where it need not."""
    if not now.figures:
        return "Nothing can be released under these terms."
    closed = [gate for gate in now.gates if not gate.passed and gate.measured is not None]
    return "Other gates are closed as well." if any(gate.id not in _DETERRED_GATES for gate in closed) else ""


def _lever_searched(trial: Trial, lever: Lever) -> list[Flip | NoFlip]:
    if trial.passes and lever.current == 0:
        return [unsearched(lever, "There is none that could be lowered.")]
    least = _least_deterring(trial, lever)
    if trial.passes:
        why = "The gates stay open without it."
    elif least is None:
        why = "No value of it alone was found that deters the recipient."
    else:
        why = "What would deter is more than a request may state." if least > lever.highest else ""
    deterred = not trial.passes and least is not None and least <= lever.current
    tried = tried_beyond(lever) if deterred else tried_around(lever, least)
    return trial.searched(tried, (not trial.passes,), deterrent=True, why=why) or [unsearched(tried, why)]


def _least_deterring(trial: Trial, lever: Lever) -> float | None:
    """The least value that deters the recipient from the whole file; None where none does, or none can be found."""
    trial.progress(f"{lever.name}, the least that deters")
    request = apply(trial.request, lever.changes(lever.current)) if lever.stated else trial.request
    try:
        candidate = trial.candidates.of(request, request.recipient(trial.recipient.id))
        return trial.candidates.deterring(candidate).get(lever.moved)
    except ParameterError:
        return None


_FACTORS = (1.25, 1.5, 2.0, 3.0, 5.0, 10.0)
"""Factors on the present strength."""
_MASKED_GATES = LINKAGE.gate_measures | COMBINED.gate_measures
"""Gates whose figures follow from masked values."""


def search_masking(trial: Trial, now: Judgement) -> list[Flip | NoFlip]:
    """Results of each masking's strength, and of all together where none alone changes the verdict.

    Parameters
    ----------
    trial : Trial
    now : Judgement
        On the terms as they stand, the agreement renewed where it has expired.
    """
    request = trial.request
    if not any(gate.measure in LINKAGE.gate_measures for gate in request.policy.gates):
        return []
    known = set(known_attributes(request))
    held = [number for number, masking in enumerate(request.masking) if known.intersection(masking.attributes)]
    results: list[Flip | NoFlip] = [
        _unmasked(trial, (number,), "The intruder is not taken to hold what it masks.")
        for number in range(len(request.masking))
        if number not in held
    ]
    why = _masked_in_vain(trial, now) if held else ""
    if why:
        return [*results, *(_unmasked(trial, (number,), why) for number in held)]
    found = [_strengths_searched(trial, (number,)) for number in held]
    if len(held) > 1 and not any(isinstance(one, Flip) for one in found):
        found.append(_strengths_searched(trial, tuple(held)))
    return [*results, *found]


def _masked_in_vain(trial: Trial, now: Judgement) -> str:
    """Why no masking alone lets a blocked release pass; empty where one may, and where the release passes."""
    if trial.passes:
        return ""
    if not now.figures:
        return "Nothing can be released under these terms."
    if not _MASKED_GATES.issuperset(gate.id for gate in now.gates if not gate.passed):
        return "Other gates are closed as well."
    try:
        least = trial.candidates.estimates.without_numbers(trial.candidate)
    except TooManyAttacks:
        return TOO_MANY_ATTACKS
    except StageFailed:
        return ""
    others = dict(least)
    others.pop(Measure.LINKED_MASKED, None)
    return "Too many are linked without these numbers." if is_closed(trial.request, others) else ""


def _strengths_searched(trial: Trial, numbers: Sequence[int]) -> Flip | NoFlip:
    """The nearest strengths of some maskings, all by the same factor, that change the verdict."""
    maskings = [trial.request.masking[number] for number in numbers]
    trial.progress(_name(maskings))
    before, tried = [masking.strength for masking in maskings], list[float]()
    for factor in _FACTORS:
        values = [_strength(masking, factor, stronger=not trial.passes) for masking in maskings]
        if values == before:
            continue
        before = values
        changes = tuple(
            TermChange(_where(trial, number), masking.strength, value)
            for number, masking, value in zip(numbers, maskings, values, strict=True)
        )
        try:
            judgement = trial.judge((*trial.renewal, *changes))
        except TooManyAttacks:
            return _unmasked(trial, numbers, TOO_MANY_ATTACKS, tried)
        except (DataError, RequestError):  # too strong for so many records
            break
        if trial.reversed(judgement):
            return Flip(_name(maskings), (*trial.renewal, *changes), judgement)
        tried.append(values[0])
    return _unmasked(trial, numbers, "No strength tried changes the verdict.", tried)


def _strength(masking: Masking, factor: float, *, stronger: bool) -> float:
    strengths = METHODS[masking.method].strengths
    up = stronger is not strengths.stronger_below
    value = masking.strength * factor if up else masking.strength / factor
    value = min(max(value, strengths.least), strengths.most)
    if not strengths.whole:
        return rounded(value)
    return max(int(value), int(masking.strength) + 1) if up else min(round(value), int(masking.strength))


def _unmasked(trial: Trial, numbers: Sequence[int], why: str, tried: Sequence[float] = ()) -> NoFlip:
    maskings = [trial.request.masking[number] for number in numbers]
    values = (maskings[0].strength, *tried)
    return NoFlip(_name(maskings), _where(trial, numbers[0]), values[0], min(values), max(values), why)


def _name(maskings: Sequence[Masking]) -> str:
    return " and ".join(
        f"{PARAMETER_OF[one.method]} of {one.method.value} of {', '.join(one.attributes)}" for one in maskings
    )


def _where(trial: Trial, number: int) -> str:
    return f"masking[{number}].{PARAMETER_OF[trial.request.masking[number].method]}"

"""Searching how strongly numbers are masked for the change that reverses the verdict.

Stronger where the release is blocked, weaker where it passes, from a short list of strengths: each is masked and
attacked, and the nearest that changes the verdict is named. The attributes an intruder holds are no lever: the
publisher does not choose what others know.
"""

from collections.abc import Iterator, Sequence

from tasks.assessments.linkage.holdings import known_attributes
from tasks.core.errors import DataError, RequestError, StageFailed
from tasks.decision.explain.linking import LINKAGE, TooManyAttacks
from tasks.decision.explain.measuring import is_shut
from tasks.decision.explain.resolve import Judgement
from tasks.decision.explain.result import Change, Flip, NoFlip
from tasks.decision.explain.terms import rounded
from tasks.decision.explain.trial import TOO_MANY_ATTACKS, Trial, flip
from tasks.request.model import PARAMETER_OF, Masking, Measure

_STEPS = (1.25, 1.5, 2.0, 3.0, 5.0, 10.0)
"""Factors on the present strength."""
_MOST = {"p": 100.0, "noise": 1e6, "k": 1e6, "buckets": 1e6}
_LEAST = {"p": 0.1, "noise": 1e-6, "k": 2.0, "buckets": 1.0}
_WHOLE = frozenset({"k", "buckets"})
_STRONGER_BELOW = frozenset({"buckets"})
"""Parameters whose smaller values mask more: a value moves within one bucket, and fewer of them are wider."""
_OTHER_GATES = frozenset(measure.value for measure in Measure if measure.value.startswith(("linkage.", "combined.")))
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
    if not request.masking or not any(gate.measure in LINKAGE for gate in request.policy.gates):
        return []
    known = set(known_attributes(request))
    held = [number for number, masking in enumerate(request.masking) if known.intersection(masking.attributes)]
    results: list[Flip | NoFlip] = [
        _unmoved(trial, number, "The intruder is not taken to hold what it masks.")
        for number in range(len(request.masking))
        if number not in held
    ]
    why = _beyond_masking(trial, now) if held else ""
    if why:
        return [*results, *(_unmoved(trial, number, why) for number in held)]
    found = [_searched(trial, (number,)) for number in held]
    if len(held) > 1 and not any(isinstance(one, Flip) for one in found):
        found.append(_searched(trial, tuple(held)))
    return [*results, *found]


def _beyond_masking(trial: Trial, now: Judgement) -> str:
    """Why no masking alone lets a blocked release pass; empty where one may, and where the release passes."""
    if trial.passes:
        return ""
    if not now.figures:
        return "Nothing can be released under these terms."
    shut = [gate.id for gate in now.gates if not gate.passed]
    if not _OTHER_GATES.issuperset(shut):
        return "Other gates are closed as well."
    try:
        played = trial.plays.outcome(trial.request, trial.recipient)
        least = trial.plays.measurements.linking.without_numbers(trial.request, trial.recipient, played)
    except TooManyAttacks:
        return TOO_MANY_ATTACKS
    except StageFailed:
        return ""
    judged = dict(least)
    judged.pop(Measure.LINKED_MASKED, None)
    return "Too many are linked without these numbers." if is_shut(trial.request, judged) else ""


def _searched(trial: Trial, numbers: Sequence[int]) -> Flip | NoFlip:
    """The nearest strengths of some maskings, all by the same factor, that change the verdict."""
    maskings = [trial.request.masking[number] for number in numbers]
    lever = " and ".join(_lever(masking) for masking in maskings)
    trial.progress(lever)
    tried: list[float] = []
    for values in _strengths(maskings, stronger=not trial.passes):
        changes = tuple(
            Change(_where(trial, number), masking.strength, value)
            for number, masking, value in zip(numbers, maskings, values, strict=True)
        )
        try:
            judgement = trial.judge((*trial.renewal, *changes))
        except TooManyAttacks:
            return _no_flip(trial, numbers[0], lever, tried, TOO_MANY_ATTACKS)
        except (DataError, RequestError):  # too strong for so many records
            break
        if trial.turned(judgement):
            return flip(lever, (*trial.renewal, *changes), judgement)
        tried.append(values[0])
    return _no_flip(trial, numbers[0], lever, tried, "No strength tried turns it.")


def _strengths(maskings: Sequence[Masking], *, stronger: bool) -> Iterator[tuple[float, ...]]:
    before = tuple(masking.strength for masking in maskings)
    for factor in _STEPS:
        values = tuple(_strength(masking, factor, stronger=stronger) for masking in maskings)
        if values != before:
            yield values
        before = values


def _strength(masking: Masking, factor: float, *, stronger: bool) -> float:
    name = PARAMETER_OF[masking.method]
    up = stronger is not (name in _STRONGER_BELOW)
    value = min(max(masking.strength * factor if up else masking.strength / factor, _LEAST[name]), _MOST[name])
    if name not in _WHOLE:
        return rounded(value)
    return max(int(value), int(masking.strength) + 1) if up else min(round(value), int(masking.strength))


def _no_flip(trial: Trial, number: int, lever: str, tried: Sequence[float], why: str) -> NoFlip:
    present = trial.request.masking[number].strength
    values = (present, *tried)
    return NoFlip(lever, _where(trial, number), present, min(values), max(values), why)


def _unmoved(trial: Trial, number: int, why: str) -> NoFlip:
    return _no_flip(trial, number, _lever(trial.request.masking[number]), (), why)


def _lever(masking: Masking) -> str:
    return f"{PARAMETER_OF[masking.method]} of {masking.method.value} of {', '.join(masking.attributes)}"


def _where(trial: Trial, number: int) -> str:
    return f"masking[{number}].{PARAMETER_OF[trial.request.masking[number].method]}"

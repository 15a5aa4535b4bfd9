"""Terms that deter the sequential adversary, and what the recipient is like, tried one by one."""

from contextlib import suppress

from tasks.adversary.profile import derive_profile
from tasks.assessments.registry import SEQUENTIAL
from tasks.core.errors import ParameterError
from tasks.decision.explain import levers
from tasks.decision.explain.levers import Lever
from tasks.decision.explain.result import Flip, Judgement, NoFlip
from tasks.decision.explain.trial import Trial
from tasks.request.model import Measure

_DETERRED_GATES = SEQUENTIAL.gate_measures | {Measure.PASSING_PROBABILITY}
NOTHING_RELEASED = "Nothing can be released under these terms."
OTHERS_CLOSED = "Other gates are closed as well."


def deterring(trial: Trial) -> tuple[Lever, ...]:
    """The terms that deter, where a gate judges the sequential adversary; else none."""
    if not any(gate.measure in SEQUENTIAL.gate_measures for gate in trial.request.policy.gates):
        return ()
    return levers.deterrents(trial.request, trial.recipient, derive_profile(trial.recipient).profile)


def deterrent_results(trial: Trial, now: Judgement, within: str = "") -> list[Flip | NoFlip]:
    """Results of each term that deters, on the terms as they stand but for a new date of the agreement.

    ``within`` has to be part of a term's path. Costs and penalties never raise the risk
    (``tasks.adversary.planning.deterrence``): they are searched upwards where the release is blocked, else downwards.
    So is detection, though it may raise the risk where penalties are limited.
    """
    in_vain = _deterred_in_vain(now)
    results: list[Flip | NoFlip] = []
    for lever in (one for one in deterring(trial) if within in one.where):
        why = in_vain or lever.unable
        if not why and trial.passes and lever.current == 0:
            why = "There is none that could be lowered."
        results += [lever.unchanged(why)] if why else _deterrent(trial, lever)
    return results


def trait_results(trial: Trial, now: Judgement) -> list[Flip | NoFlip]:
    """Results of what the recipient is like: prior, discount, recognition and most penalties, in both directions."""
    if not deterring(trial):
        return []
    in_vain = _deterred_in_vain(now)
    found = levers.traits(trial.request, trial.recipient, derive_profile(trial.recipient).profile)
    return [one for lever in found for one in ([lever.unchanged(in_vain)] if in_vain else trial.searched(lever))]


def _deterred_in_vain(now: Judgement) -> str:
    """Why the release stays blocked whatever the recipient does; empty where it need not."""
    if not now.figures:
        return NOTHING_RELEASED
    closed = [gate for gate in now.gates if not gate.passed and gate.measured is not None]
    return OTHERS_CLOSED if any(gate.id not in _DETERRED_GATES for gate in closed) else ""


def _deterrent(trial: Trial, lever: Lever) -> list[Flip | NoFlip]:
    """Results of one term, by values around the least that deters from the whole file."""
    trial.progress(f"{lever.name}, the least that deters")
    request, least = levers.apply(trial.request, lever.changes(lever.current)) if lever.stated else trial.request, None
    with suppress(ParameterError):
        candidate = trial.candidates.of(request, request.recipient(trial.recipient.id))
        least = trial.candidates.deterring(candidate).get(lever.moved)
    why = "The gates stay open without it."
    if not trial.passes:
        why = "No value of it alone was found that deters the recipient."
        if least is not None:
            why = "What would deter is more than a request may state." if least > lever.highest else ""
    deterred = not trial.passes and least is not None and least <= lever.current
    tried = levers.tried_beyond(lever) if deterred else levers.tried_around(lever, least)
    return trial.searched(tried, (not trial.passes,), deterrent=True, why=why) or [tried.unchanged(why)]

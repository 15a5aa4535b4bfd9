"""Searching the terms that deter the sequential adversary for a change of the verdict; no game is solved for it.

Costs and penalties lower the risk and never raise it (``tasks.adversary.planning.deterrence``): they are searched
upwards where the release is blocked and downwards where it passes. So is detection, which may do otherwise where
penalties are limited; nobody would make it less likely in order to be allowed a release.
"""

from tasks.adversary.profile import derive_profile
from tasks.assessments.registry import SEQUENTIAL
from tasks.core.errors import ParameterError
from tasks.decision.explain.levers import Deterrent, apply, deterrents, tried_around, tried_beyond
from tasks.decision.explain.result import Flip, Judgement, NoFlip
from tasks.decision.explain.trial import Trial, unsearched
from tasks.request.model import Measure

_GATES = SEQUENTIAL.gate_measures | {Measure.PASSING_PROBABILITY}


def deterrents_of(trial: Trial) -> tuple[Deterrent, ...]:
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
    blocked_anyway = _blocked_anyway(now)
    for deterrent in deterrents_of(trial):
        why = blocked_anyway or deterrent.unable
        results += [unsearched(deterrent.lever, why)] if why else _searched(trial, deterrent)
    return results


def _blocked_anyway(now: Judgement) -> str:
    """Why the release stays blocked whatever the recipient does; empty where it need not."""
    if not now.figures:
        return "Nothing can be released under these terms."
    closed = [gate for gate in now.gates if not gate.passed and gate.measured is not None]
    return "Other gates are closed as well." if any(gate.id not in _GATES for gate in closed) else ""


def _searched(trial: Trial, deterrent: Deterrent) -> list[Flip | NoFlip]:
    lever = deterrent.lever
    if trial.passes and lever.current == 0:
        return [unsearched(lever, "There is none that could be lowered.")]
    least = _least_deterring(trial, deterrent)
    if trial.passes:
        why = "The gates stay open without it."
    elif least is None:
        why = "No value of it alone was found that deters the recipient."
    else:
        why = "What would deter is more than a request may state." if least > lever.highest else ""
    deterred = not trial.passes and least is not None and least <= lever.current
    tried = tried_beyond(lever) if deterred else tried_around(lever, least)
    return trial.searched(tried, (not trial.passes,), deterrent=True, why=why) or [unsearched(tried, why)]


def _least_deterring(trial: Trial, deterrent: Deterrent) -> float | None:
    """The least value that deters the recipient from the whole file; None where none does, or none can be found."""
    lever = deterrent.lever
    trial.progress(f"{lever.name}, the least that deters")
    request = apply(trial.request, lever.changes(lever.current)) if lever.stated else trial.request
    try:
        candidate = trial.candidates.of(request, request.recipient(trial.recipient.id))
        return trial.candidates.deterring(candidate)[deterrent.moved]
    except ParameterError:
        return None

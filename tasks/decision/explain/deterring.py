"""Searching the terms that deter the sequential adversary for a change of the verdict; no game is solved for it.

Costs and penalties lower the risk and never raise it (``tasks.adversary.planning.deterrence``): they are searched
upwards where the release is blocked and downwards where it passes. So is detection, which may do otherwise where
penalties are limited; nobody would make it less likely in order to be allowed a release.
"""

from tasks.adversary.profile import derive_profile
from tasks.core.errors import ParameterError
from tasks.decision.explain import terms
from tasks.decision.explain.deterrents import Deterrent, deterrents, tried_around, tried_beyond
from tasks.decision.explain.measuring import SEQUENTIAL
from tasks.decision.explain.resolve import Judgement
from tasks.decision.explain.result import Flip, NoFlip
from tasks.decision.explain.trial import Trial, unsearched
from tasks.request.model import Measure


def trial_deterrents(trial: Trial) -> tuple[Deterrent, ...]:
    """The terms that deter, where a gate judges the sequential adversary; else none."""
    if not any(gate.measure in SEQUENTIAL for gate in trial.request.policy.gates):
        return ()
    profile = derive_profile(trial.recipient).profile
    return deterrents(trial.request, trial.recipient, profile)


def search_deterrents(trial: Trial, now: Judgement) -> list[Flip | NoFlip]:
    """Results of each term that deters.

    Parameters
    ----------
    trial : Trial
    now : Judgement
        On the terms as they stand, the agreement renewed where it has expired.
    """
    results: list[Flip | NoFlip] = []
    beyond = _beyond_deterrence(now)
    for lever in trial_deterrents(trial):
        why = beyond or lever.unable
        results += [unsearched(lever.term, why)] if why else _searched(trial, lever)
    return results


def _beyond_deterrence(now: Judgement) -> str:
    """Why the release stays blocked whatever the recipient does; empty where it need not."""
    if not now.figures:
        return "Nothing can be released under these terms."
    names = {measure.value for measure in (*SEQUENTIAL, Measure.PASSING_PROBABILITY)}
    shut = [gate for gate in now.gates if not gate.passed and gate.measured is not None]
    return "Other gates are closed as well." if any(gate.id not in names for gate in shut) else ""


def _searched(trial: Trial, lever: Deterrent) -> list[Flip | NoFlip]:
    if trial.passes and lever.term.current == 0:
        return [unsearched(lever.term, "There is none that could be lowered.")]
    least = _least_deterring(trial, lever)
    if trial.passes:
        why = "The gates stay open without it."
    elif least is None:
        why = "No value of it alone was found that deters the recipient."
    elif least > lever.term.highest:
        why = "What would deter is more than a request may state."
    else:
        why = ""
    deterred = not trial.passes and least is not None and least <= lever.term.current
    term = tried_beyond(lever.term) if deterred else tried_around(lever.term, least)
    return trial.searched(term, (not trial.passes,), deterrent=True, why=why) or [unsearched(term, why)]


def _least_deterring(trial: Trial, lever: Deterrent) -> float | None:
    """The least value that deters the recipient from the whole file; None where none does, or none can be found."""
    trial.progress(f"{lever.term.lever}, the least that deters")
    request = trial.request
    if lever.term.stated:
        request = terms.apply(request, lever.term.changes(lever.term.current))
    recipient = request.recipient(trial.recipient.id)
    try:
        played = trial.plays.outcome(request, recipient)
        return trial.plays.measurements.deterring(request, recipient, played)[lever.moved]
    except ParameterError:
        return None

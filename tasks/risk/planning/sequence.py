"""Exploits in a given order: when to stop, what it is worth, and how often each exploit is made.

The model of ``tasks.risk.fmdp`` once the candidates are linked, with any probability of success and of detection at
each place of the order. ``unequal`` and ``intervals`` rest on it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks.errors import ParameterError
from tasks.risk.adversary import AdversaryProfile, Floats
from tasks.risk.exploiting import WORTHWHILE

MAX_EXPLOITS = 100_000
MAX_STATES = 20_000_000
"""Exploits times penalty counts. Within both limits a plan takes about a second."""


@dataclass(frozen=True)
class Sequence:
    """The optimal plan for one order of exploits."""

    value: float
    """Worth of the first decision: nothing exploited, nothing paid."""
    continues: NDArray[np.bool_]
    """Shape (n_layers, n_exploits): whether exploit j is made once m penalties are paid and none succeeded."""


def plan(profile: AdversaryProfile, success: Floats, remaining: Floats, detection: Floats) -> Sequence:
    """Optimal stopping over exploits in the order given.

    Parameters
    ----------
    profile : AdversaryProfile
        Gain, penalty, cost of an exploit, limit of penalties and discount are used.
    success : array of shape (n_exploits,)
        Probability, seen from the start, that exploit j is the one that succeeds; each from 0, at most 1 in sum.
    remaining : array of shape (n_exploits,)
        Probability that none before j succeeded, if all were made: one minus the sum of ``success`` before j.
    detection : array of shape (n_exploits,)
        Probability that exploit j is detected.

    Raises
    ------
    ParameterError
        Above ``MAX_EXPLOITS`` or ``MAX_STATES``.

    Notes
    -----
    With Z the value times the probability of having got there without success (the recursion of ``tasks.risk.fmdp``
    has Z times N)::

        Z_m(j) = max{0, γG·success_j − remaining_j·(C_e + γ p_j C_p 1[m<n_f]) + γ[p_j Z_{m+1}(j+1) + (1−p_j) Z_m(j+1)]}

    A tie is no exploit; as in ``tasks.risk.exploiting``, what differs by rounding only is a tie.
    """
    places = len(success)
    layers = penalty_counts(profile, places)
    if places > MAX_EXPLOITS or layers * places > MAX_STATES:
        raise ParameterError(
            "too many candidates for an exact plan",
            where="candidates, and candidates times penalty counts",
            expected=f"at most {MAX_EXPLOITS:,} and {MAX_STATES:,}",
            got=f"{places:,} and {layers * places:,}",
            fix="leave out the least probable candidates, or lower max_penalties",
        )
    fine = fines(profile, layers)
    continues = np.zeros((layers, places), dtype=np.bool_)
    after = np.zeros(layers)
    for j in range(places - 1, -1, -1):
        fined = np.append(after[1:], after[-1])
        later = detection[j] * fined + (1.0 - detection[j]) * after
        worth = profile.discount * (profile.gain * success[j] + later)
        spent = remaining[j] * (profile.exploit_cost + profile.discount * detection[j] * fine)
        continues[:, j] = worth * WORTHWHILE > spent
        after = np.where(continues[:, j], worth - spent, 0.0)
    return Sequence(float(after[0]) if places else 0.0, continues)


def frequencies(continues: NDArray[np.bool_], detection: Floats) -> Floats:
    """Probability that each exploit is made if none succeeds, under a rule of stopping.

    Parameters
    ----------
    continues : array of shape (n_layers, n_exploits)
        Whether exploit j is made once m penalties are paid.
    detection : array of shape (n_exploits,)
        Probability that exploit j is detected.

    Returns
    -------
    array of shape (n_exploits,)
        Non-increasing; its sum is the expected number of exploits if none succeeds.
    """
    layers, places = continues.shape
    made = np.zeros(places)
    reached = np.zeros(layers)
    reached[0] = 1.0
    for j in range(places):
        reached = np.where(continues[:, j], reached, 0.0)
        made[j] = reached.sum()
        if not made[j]:
            break
        detected = reached * detection[j]
        reached = reached - detected
        reached[1:] += detected[:-1]
        reached[-1] += detected[-1]
    return made


def penalty_counts(profile: AdversaryProfile, places: int) -> int:
    """Penalty counts to tell apart in so many exploits; a limit that cannot be reached is no limit."""
    limit = profile.max_penalties
    return 1 if limit is None or limit >= places else int(limit) + 1


def fines(profile: AdversaryProfile, layers: int) -> Floats:
    """Penalty of a detected exploit by penalty count: none at the limit."""
    amounts = np.full(layers, float(profile.penalty))
    if layers > 1:
        amounts[-1] = 0.0
    return amounts


def less_cost(worth: float, cost: float) -> float:
    """What is left of a worth after a cost; 0 where it does not pay."""
    return worth - cost if worth * WORTHWHILE > cost else 0.0

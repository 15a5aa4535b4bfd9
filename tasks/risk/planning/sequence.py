"""Exploits in a given order: when to stop, what it is worth, and how often each exploit is made.

The model of ``tasks.risk.fmdp`` once the candidates are linked, with any probability of success and of detection at
each place of the order, for several groups at once. ``unequal`` and ``intervals`` rest on it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks.errors import ParameterError
from tasks.risk.adversary import AdversaryProfile, Floats
from tasks.risk.exploiting import WORTHWHILE

MAX_EXPLOITS = 100_000
MAX_STATES = 20_000_000
"""Exploits times groups times penalty counts. Within both limits a plan takes about a second."""


@dataclass(frozen=True)
class Sequences:
    """The optimal plan of each group for its order of exploits."""

    values: Floats
    """Shape (n_groups,): worth of the first decision, nothing exploited and nothing paid."""
    continues: NDArray[np.bool_]
    """Shape (n_exploits, n_layers, n_groups): whether exploit j is made after m penalties and no success."""


def plan(profile: AdversaryProfile, success: Floats, remaining: Floats, detection: Floats) -> Sequences:
    """Optimal stopping over exploits in the order given.

    Parameters
    ----------
    profile : AdversaryProfile
        Gain, penalty, cost of an exploit, limit of penalties and discount are used.
    success : array of shape (n_exploits, n_groups)
        Probability, seen from the start, that exploit j is the one that succeeds; each from 0, at most 1 in sum. A
        group with fewer candidates has 0 at the end.
    remaining : array of shape (n_exploits, n_groups)
        Probability that none before j succeeded, if all were made: one minus the sum of ``success`` before j.
    detection : array of shape (n_exploits,)
        Probability that exploit j is detected.

    Raises
    ------
    ParameterError
        Above ``MAX_EXPLOITS`` or ``MAX_STATES``, or if the terms are too far apart for double precision.

    Notes
    -----
    With Z the value times the probability of having got there without success (the recursion of
    ``tasks.risk.exploiting`` has Z times N)::

        Z_m(j) = max{0, γG·success_j − remaining_j·(C_e + γ p_j C_p 1[m<n_f]) + γ[p_j Z_{m+1}(j+1) + (1−p_j) Z_m(j+1)]}

    A tie is no exploit; as there, what differs by rounding only is a tie.
    """
    places, groups = success.shape
    layers = penalty_counts(profile, places)
    if places > MAX_EXPLOITS or places * layers * groups > MAX_STATES:
        raise ParameterError(
            "too many candidates for an exact plan",
            where="candidates, and candidates times groups and penalty counts",
            expected=f"at most {MAX_EXPLOITS:,} and {MAX_STATES:,}",
            got=f"{places:,} and {places * layers * groups:,}",
            fix="leave out the least probable candidates, or lower max_penalties",
        )
    fine = fines(profile, layers)[:, None]
    continues = np.zeros((places, layers, groups), dtype=np.bool_)
    after = np.zeros((layers, groups))
    with in_double_precision():
        for j in range(places - 1, -1, -1):
            worth = profile.discount * (profile.gain * success[j] + mixed(after, detection[j]))
            spent = remaining[j] * (profile.exploit_cost + profile.discount * detection[j] * fine)
            continues[j] = worth * WORTHWHILE > spent
            after = np.where(continues[j], worth - spent, 0.0)
    return Sequences(after[0], continues)


def frequencies(continues: NDArray[np.bool_], detection: Floats) -> Floats:
    """Probability that each exploit is made if none succeeds, under a rule of stopping.

    Parameters
    ----------
    continues : array of shape (n_exploits, n_layers, n_groups)
        Whether exploit j is made once m penalties are paid.
    detection : array of shape (n_exploits,)
        Probability that exploit j is detected.

    Returns
    -------
    array of shape (n_exploits, n_groups)
        Non-increasing along the exploits; the sum is their expected number if none succeeds.
    """
    places, layers, groups = continues.shape
    made = np.zeros((places, groups))
    reached = np.zeros((layers, groups))
    reached[0] = 1.0
    for j in range(places):
        reached = np.where(continues[j], reached, 0.0)
        made[j] = reached.sum(axis=0)
        if not made[j].any():
            break
        detected = reached * detection[j]
        reached -= detected
        reached[1:] += detected[:-1]
        reached[-1] += detected[-1]
    return made


def mixed(after: Floats, detection: float) -> Floats:
    """Expectation over whether an exploit is detected; ``after`` has shape (…, n_layers, n)."""
    fined = np.concatenate([after[..., 1:, :], after[..., -1:, :]], axis=-2)
    expected: Floats = detection * fined + (1.0 - detection) * after
    return expected


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


@contextmanager
def in_double_precision() -> Iterator[None]:
    """Refuse terms whose sums overflow: an attack that cannot be computed must not pass for one that is worth nothing.

    Raises
    ------
    ParameterError
    """
    try:
        with np.errstate(over="raise", invalid="raise"):
            yield
    except FloatingPointError:
        raise ParameterError(
            "the terms of the adversary are too far apart to be computed with",
            where="gain, penalty and costs",
            expected="sums of them within the range of double precision",
            got="one outside",
            fix="check the terms of the adversary",
        ) from None

"""Candidates of unequal probability, as a probabilistic linkage gives them.

The external data hold r candidates; candidate i is the target with probability w_i, and with 1 − Σw the target is not
among them. Everything else is as in ``tasks.risk.fmdp``: with all weights π/g this is the group of size g.

**Descending weight is optimal**, for any probabilities of detection (rising or falling with the attempts made), any
limit of penalties, any discount and any κ, and even against an order that reacts to the detections seen. Let a plan
exploit a at some point and b, with w_b > w_a, later or never; exchange the two names from there on. At that point the
expected gain rises by γ^{j+1} κ (w_b − w_a) G times the probability of getting there. Where b was exploited it falls
by no more, for that comes later and is at most as likely. In between the probability of having to go on, and with
it every cost and fine, is smaller. Detection depends on neither name. So no exchange costs anything, and finitely
many of them lead to descending order. The argument needs cost, gain, detection and κ to be the same for all candidates.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tasks.errors import ParameterError, row_positions
from tasks.risk.adversary import AdversaryProfile, Floats
from tasks.risk.decisions import access_pays, linked_worth
from tasks.risk.exploiting import Start
from tasks.risk.planning.sequence import frequencies, plan

_ROUNDING = 1e-9


@dataclass(frozen=True)
class CandidatesPlan:
    """The optimal attack on one record with known candidates."""

    value: float
    """V: worth of the linked start."""
    linked_value: float
    """W = max(0, γV − C_l)."""
    accessed: bool
    """Whether the external data are worth their cost: γW > C_d."""
    order: NDArray[np.intp]
    """Positions of the candidates, heaviest first; equal weights as given."""
    made: Floats
    """Shape (n_candidates,), in the order of the weights given: probability that the candidate is exploited if none
    succeeds, once access is paid."""
    exploits: float
    """Expected number of exploits if none succeeds, once access is paid; 0 where linking is not worth it."""
    sink_probability: float
    """Probability of re-identification once access is paid."""
    reidentification_probability: float
    """The same from the start: 0 where access is not worth it."""


def plan_candidates(profile: AdversaryProfile, weights: ArrayLike) -> CandidatesPlan:
    """Optimal attack on candidates of unequal probability, known before access.

    Parameters
    ----------
    profile : AdversaryProfile
        Its ``prior`` is not used: Σw takes its place.
    weights : array-like of shape (n_candidates,)
        Probability that each candidate is the target: from 0, at most 1 in sum (1e-9 is allowed for rounding).

    Raises
    ------
    ParameterError
        If a weight is negative or not finite, the sum exceeds 1, or there are too many candidates for an exact plan.
    """
    chances = _checked(weights)
    order = np.argsort(-chances, kind="stable")
    falling = chances[order]
    success = profile.confirmation * falling
    # Sums of what is left, never differences from 1: the last candidates keep all their digits.
    left = np.cumsum(falling[::-1])[::-1]
    unconfirmed = (1.0 - profile.confirmation) * (np.cumsum(falling) - falling)
    remaining = max(0.0, 1.0 - float(falling.sum())) + left + unconfirmed
    detection = profile.detection(np.arange(len(falling)))
    sequence = plan(profile, success[:, None], remaining[:, None], detection)
    falling_made = frequencies(sequence.continues, detection)[:, 0]
    start = Start(sequence.values, falling_made.sum(keepdims=True))
    linked = linked_worth(profile, start)
    accessed = bool(access_pays(profile, linked)[0])
    falling_made = np.where(linked > 0, falling_made, 0.0)
    made = np.empty_like(falling_made)
    made[order] = falling_made
    probability = float(success @ falling_made)
    return CandidatesPlan(
        value=float(sequence.values[0]),
        linked_value=float(linked[0]),
        accessed=accessed,
        order=order,
        made=made,
        exploits=float(made.sum()),
        sink_probability=probability,
        reidentification_probability=probability if accessed else 0.0,
    )


def _checked(weights: ArrayLike) -> Floats:
    try:
        chances = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise _refused("numbers", "something else") from None
    if chances.ndim != 1:
        raise _refused("one weight for each candidate", f"{chances.ndim} dimensions")
    bad = np.flatnonzero(~(np.isfinite(chances) & (chances >= 0)))
    if len(bad):
        raise _refused("finite numbers from 0", f"something else in {row_positions(bad)}")
    if chances.sum() > 1 + _ROUNDING:
        raise _refused("at most 1 in sum", str(float(chances.sum())))
    return chances


def _refused(expected: str, got: str) -> ParameterError:
    return ParameterError(
        "the weights of the candidates are not probabilities",
        where="weights",
        expected=expected,
        got=got,
        fix="give each candidate its probability of being the target",
    )

"""The recipient as a sequential adversary: penalties, detection and repeated attempts, at a cell's group size.

Source: Xia et al., *Process-Driven Data Privacy*, CIKM 2015, as ``tasks.adversary.fmdp`` reads it, in the place of the
single attempt of Wan et al. 2015. Of the n people of a released cell the external data list the share that the prior
says, rounded up (``tasks.adversary.rounding``, the risk stage's rule without a register); a record is attacked where
the plan comes to exploits, and is re-identified with probability P_reid. The plan depends on the record through n
alone, so it is solved once, as a table over n.

Three recipients:

* ``Belief.KNOWN`` knows the group and pays for access record by record: attacked iff −C_d + γW(g) > 0;
* ``Belief.UNKNOWN`` (eq. 6) holds Binomial(n_ext, density) beliefs, density = n over the population: the belief decides
about access, the actual group about all that follows;
* ``Belief.SUNK`` pays for access once for the whole file: attacked iff W(g) > 0. This recipient bounds the other two,
and the gates use its figures.

The worth of a known group never rises with its size, so attacks end at one size; P_reid may rise below it where
penalties are limited. Under ``UNKNOWN`` an attack may start to pay only as the size grows: a group of one may be
believed absent. Nothing assumes that P_reid or attack is monotone; ``safe_group`` is the last size attacked, plus one.

The recipient is Wan's with γ = κ = 1, C_d = C_l = 0, C_e = c, π next to 1 and detection that is impossible at the first
attempt (h0 = −700) and likely from the second on (h1 = 700) at a penalty above twice the gain: W = G/n − c, P_reid =
1/n, and every strategy is that of ``Payoffs``. With a γ below 1 the same holds for a gain of G/γ, but for the
recipient's own payoff, then γ²(G/n − c). Without the penalty it does not hold: each failure leaves fewer candidates, so
the second attempt pays more than the first, and groups up to nearly twice G/c are attacked (149 in place of 75).
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from tasks.adversary.consulting import freed, last_consulted
from tasks.adversary.decisions import access_pays, access_worth, known_threshold
from tasks.adversary.exploiting import LARGEST_SIZE, largest_exploited
from tasks.adversary.fmdp import expected_linked_values, reidentification_probability_unknown
from tasks.adversary.group_sizes import expected_candidates, expected_listed
from tasks.adversary.profile import AdversaryProfile
from tasks.adversary.rounding import least_favourable, least_favourable_from
from tasks.core.errors import ParameterError
from tasks.generalization.game.payoffs import Floats
from tasks.microdata.tuples import Counts

_LONGEST_TABLE = 2**20
"""Larger sizes are solved on request; they matter only for recipients that hardly any group deters."""
_PLANS_KEPT = 32
"""At most 16 MiB each: draws of uncertain terms ask for thousands, one after the other."""


class Belief(StrEnum):
    """The recipient's knowledge of a record's group before paying for access, or that access is paid anyway."""

    KNOWN = "known group"
    UNKNOWN = "unknown group"
    SUNK = "access shared"


@dataclass(frozen=True)
class SequentialFollower:
    """A sequential adversary (``tasks.generalization.game.payoffs.Follower``); money in one currency, per record.

    V, ``benefit``, is above 0; L, ``loss``, from 0; ``population`` counts people in all, from 1. Raises ParameterError
    if a term is outside its range; from the methods, if the plan cannot be solved in reasonable time.
    """

    benefit: float
    loss: float
    profile: AdversaryProfile
    population: int
    belief: Belief = Belief.SUNK
    from_below: bool = False
    """Whether a group may have more people than are counted, and is judged at whatever size is worst."""

    def __post_init__(self) -> None:
        for name, valid, expected in (
            ("benefit", self.benefit > 0, "a finite number greater than 0"),
            ("loss", self.loss >= 0, "a finite number from 0"),
            ("population", self.population >= 1, "at least one person"),
        ):
            if not (valid and np.isfinite(getattr(self, name))):
                raise ParameterError(
                    "a term of the game is outside its range",
                    where=name,
                    expected=expected,
                    got=str(getattr(self, name)),
                    fix="correct the term",
                )

    @cached_property
    def safe_group(self) -> float:
        """Group size from which no record is attacked, whatever its size; infinite if there is none."""
        if self.belief is Belief.UNKNOWN:
            return self._last_attacked() + 1.0
        threshold = known_threshold(_as_known(self.profile, self.belief))
        if threshold is None:
            return np.inf
        # A plan on known groups is the same in any population; a group past this one may be the first that is safe.
        enough = max(self.population, int((threshold + 2) / self.profile.prior) + 3)
        return replace(self, population=enough)._last_attacked() + 1.0

    def attacked(self, people: Counts) -> NDArray[np.bool_]:
        """Whether a record that ``people`` match is attacked: access is made and exploits follow."""
        return self.reidentified(people) > 0

    def reidentified(self, people: Counts) -> Floats:
        """P_reid at group size n, between 0 and κπ."""
        return self._look_up(people, 0)

    def publisher(self, value: Floats, people: Counts) -> Floats:
        """Publisher's payoff v − L·P_reid(n)."""
        return value - self.loss * self.reidentified(people)

    def adversary(self, people: Counts) -> Floats:
        """Worth of the attack as it is decided on, −C_d + γW, expected where the group is not known; at least 0."""
        return self._look_up(people, 1)

    @property
    def risks(self) -> Floats | None:
        """P_reid by group size from 1 on, without the zeros at the end; None where the table of sizes does not end.

        Two followers with equal risks, V and L are answered with the same strategies.
        """
        plan = self._plan
        return np.trim_zeros(plan.figures[0, 1:], "b") if plan.ends else None

    def scaled(self, benefit: float, loss: float) -> "SequentialFollower":
        """The follower with V multiplied by one factor, L and the recipient's gain by another."""
        profile = replace(self.profile, gain=self.profile.gain * loss)
        return replace(self, benefit=self.benefit * benefit, loss=self.loss * loss, profile=profile)

    @property
    def _plan(self) -> "_Plan":
        return _plan(self.profile, self.belief, self.population, self.from_below)

    def _look_up(self, people: Counts, figure: int) -> Floats:
        plan = self._plan
        sizes = np.maximum(people, 1)
        if sizes.max(initial=1) > self.population:
            raise ParameterError(
                "a group is larger than the population",
                where="people",
                expected=f"at most {self.population:,}",
                got="more",
                fix="give the follower the population of the table that it plays on",
            )
        found: Floats = plan.figures[figure].take(np.minimum(sizes, plan.longest + 1))
        if plan.ends:
            return found
        beyond = sizes > plan.longest
        if beyond.any():
            distinct, place = np.unique(sizes[beyond], return_inverse=True)
            solved = _solved(self.profile, self.belief, self.population, distinct, self.from_below)[figure]
            found[beyond] = solved[place.ravel()]
        return found

    def _last_attacked(self) -> float:
        """Largest size attacked, 0 if none; infinite if the whole population is. Looked for from above."""
        plan = self._plan
        for end in range(plan.longest if plan.ends else self.population, 0, -_LONGEST_TABLE):
            sizes = np.arange(max(end - _LONGEST_TABLE, 0) + 1, end + 1)
            attacked = np.flatnonzero(self.attacked(sizes))
            if len(attacked):
                last = int(sizes[attacked[-1]])
                return np.inf if last == self.population else float(last)
        return 0.0


@dataclass(frozen=True)
class _Plan:
    """The plan by number of people."""

    figures: Floats
    """P_reid and the worth of the attack at 0, 1, …, ``longest`` people, then 0; shape (2, longest + 2)."""
    longest: int
    ends: bool
    """Whether no larger group is attacked."""


@lru_cache(maxsize=_PLANS_KEPT)
def _plan(profile: AdversaryProfile, belief: Belief, population: int, from_below: bool) -> _Plan:
    exploited = last_consulted if profile.resources else largest_exploited
    last = exploited(profile, min(LARGEST_SIZE, population))
    worthwhile = min(int((last + 2) / profile.prior) + 2, population)
    longest = min(worthwhile, _LONGEST_TABLE)
    figures = np.zeros((2, longest + 2))
    figures[:, 1:-1] = _solved(profile, belief, population, np.arange(1, longest + 1), from_below)
    figures.setflags(write=False)
    return _Plan(figures, longest, ends=longest == worthwhile)


def _solved(profile: AdversaryProfile, belief: Belief, population: int, people: Counts, from_below: bool) -> Floats:
    """P_reid and the worth of the attack at numbers of people from 1; shape (2, n)."""
    if belief is not Belief.UNKNOWN:
        known = _as_known(profile, belief)
        attack = (least_favourable_from if from_below else least_favourable)(known, people)
        worth = np.maximum(access_worth(known, attack.worth), 0.0)
        return np.stack([np.where(access_pays(known, attack.worth), attack.risk, 0.0), worth])
    candidates = expected_candidates(profile.prior, people)
    densities, listed = people / population, expected_listed(profile.prior, population)
    risk = reidentification_probability_unknown(profile, candidates, densities, listed)
    expected = profile.discount * expected_linked_values(profile, densities, listed) - profile.access_cost
    return np.stack([risk, np.where(risk > 0, np.maximum(expected, 0.0), 0.0)])


def _as_known(profile: AdversaryProfile, belief: Belief) -> AdversaryProfile:
    """Access that is paid anyway is access that is free."""
    if belief is not Belief.SUNK:
        return profile
    return replace(freed(profile) if profile.resources else profile, access_cost=0.0)

"""The terms that deter a sequential adversary, as levers: their places in the request and the values to try.

A penalty, detection, the cost of access to the external data and the cost of an attempt deter the adversary. The cost
of an attempt counts where the request declares one for the adversary; else it is that of the stakes, which changes the
game as well. None of these enters the game: the file stays as it is, and only the adversary's use of it changes.
"""

from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

from scipy.special import logit

from tasks.adversary.adversary import AdversaryProfile
from tasks.adversary.planning.terms import Term as Moved
from tasks.adversary.planning.terms import term_value
from tasks.decision.explain.result import Change, LogOddsChange
from tasks.decision.explain.search import FACTORS
from tasks.decision.explain.terms import Term, recipient_path, rounded
from tasks.request.model import AdversaryTerms, Recipient, ReleaseRequest

NOT_STATED = "none"
STATED_DETECTION = 0.01
"""Rate of detection that is stated with a penalty where the agreement names neither."""

_DIGITS = 4
_MOST_MONEY = 1e12
_ORDERS = 13
_LEAST_LIKELY = 1e-6
_MOST_LIKELY = 0.9999
_NO_PENALTY = "Being noticed deters nobody without a penalty, and there is none."


@dataclass(frozen=True)
class LogOdds(Term):
    """A probability that the request holds as the logarithm of its odds."""

    present: float = 0.0
    """The logarithm that the request holds."""

    def written(self, value: float) -> float:
        """The logarithm, of four digits, on the far side of the present one."""
        if value == self.current:
            return self.present
        rounding = ROUND_CEILING if value > self.current else ROUND_FLOOR
        return float(Context(prec=_DIGITS, rounding=rounding).plus(Decimal(repr(float(logit(value))))))

    def changes(self, value: float) -> tuple[Change, ...]:
        """Changes to the request for another probability."""
        return (*self.stated, LogOddsChange(self.where, self.present, self.written(value)))


@dataclass(frozen=True)
class Deterrent:
    """A term that deters."""

    term: Term
    """Its place in the request."""
    moved: Moved
    """Term of the adversary's profile that it moves."""
    unable: str = ""
    """Why no value of it alone can change what the recipient does; empty where one may."""


def deterrents(request: ReleaseRequest, recipient: Recipient, profile: AdversaryProfile) -> tuple[Deterrent, ...]:
    """The recipient's terms that deter.

    Parameters
    ----------
    request : ReleaseRequest
    recipient : Recipient
        Of that request.
    profile : AdversaryProfile
        As it follows from them.
    """
    place, declared = recipient_path(request, recipient), recipient.adversary or AdversaryTerms()
    fee = _money("cost of access to the external data", f"{place}.adversary.access_cost", profile.access_cost)
    found = [
        Deterrent(_penalty(place, recipient, declared, profile), Moved.PENALTY),
        _detection(place, recipient, declared, profile),
        Deterrent(fee, Moved.ACCESS_COST),
    ]
    if declared.exploit_cost is not None:
        lever = "cost of an attempt to the recipient who plans"
        cost = _money(lever, f"{place}.adversary.exploit_cost", profile.exploit_cost)
        found.append(Deterrent(cost, Moved.EXPLOIT_COST))
    return tuple(found)


def tried_around(term: Term, deterring: float | None) -> Term:
    """The term with values to try around the least that deters: it, the next below, and parts of it.

    Parameters
    ----------
    term : Term
    deterring : float or None
        The least value that deters the recipient from the whole file; None where none does.
    """
    values = {term.lowest}
    if deterring is None or deterring > term.highest:
        values.add(term.highest)
    if deterring:
        exact = Decimal(repr(deterring))
        enough = float(Context(prec=_DIGITS, rounding=ROUND_CEILING).plus(exact))
        values |= {enough, float(Context(prec=_DIGITS).next_minus(exact))}
        values |= {rounded(deterring / factor) for factor in FACTORS}
    return replace(term, also=tuple(sorted(values)))


def tried_beyond(term: Term) -> Term:
    """The term with powers of ten to try, where the recipient is deterred as it stands, and may not be for certain."""
    return replace(term, also=tuple(10.0**power for power in range(_ORDERS)))


def _penalty(place: str, recipient: Recipient, declared: AdversaryTerms, profile: AdversaryProfile) -> Term:
    """The adversary's own penalty where it or the detection is declared; else the agreement's, with its detection."""
    lever, own = "penalty for an attempt that is noticed", f"{place}.adversary.penalty"
    if declared.penalty is not None:
        return _money(lever, own, profile.penalty)
    if recipient.agreement.penalty is None:
        if declared.detection_intercept is not None:
            return _money(lever, own, profile.penalty)
        rate = Change(f"{place}.agreement.detection_rate", NOT_STATED, STATED_DETECTION)
        return _money(lever, f"{place}.agreement.penalty", profile.penalty, (rate,))
    return _money(lever, f"{place}.agreement.penalty", profile.penalty)


def _detection(place: str, recipient: Recipient, declared: AdversaryTerms, profile: AdversaryProfile) -> Deterrent:
    lever, where = "probability that an attempt is noticed", f"{place}.agreement.detection_rate"
    unable = "" if profile.penalty > 0 else _NO_PENALTY
    intercept = declared.detection_intercept
    if intercept is not None:
        where = f"{place}.adversary.detection_intercept"
        present = term_value(profile, Moved.DETECTION)
        odds = LogOdds(f"{lever}, in log odds", where, present, _LEAST_LIKELY, _MOST_LIKELY, present=intercept)
        return Deterrent(odds, Moved.DETECTION, unable)
    rate = recipient.agreement.detection_rate
    return Deterrent(Term(lever, where, rate or 0.0, _LEAST_LIKELY, _MOST_LIKELY), Moved.DETECTION, unable)


def _money(lever: str, where: str, present: float, stated: tuple[Change, ...] = ()) -> Term:
    return Term(lever, where, present, 0.0, _MOST_MONEY, stated=stated)

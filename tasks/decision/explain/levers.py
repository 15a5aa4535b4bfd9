"""The levers of an explanation: numbers of the request that it changes, with places, ranges and values to try.

Penalties, detection, the cost of access to the external data and the cost of an attempt deter the sequential adversary.
The cost of an attempt counts where the request declares one for the adversary; else it is that of the stakes, which
changes the game as well. None of these enters the game: the file stays as it is, and only the adversary's use of it
changes.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from typing import Any

from pydantic import ValidationError
from scipy.special import logit

from tasks.adversary.adversary import AdversaryProfile
from tasks.adversary.planning.deterrence import Term, term_value
from tasks.core.errors import RequestError
from tasks.decision.explain.result import LogOddsChange, TermChange
from tasks.request.model import AdversaryTerms, Gate, Measure, Recipient, ReleaseRequest

FACTORS = (1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0)
"""Factors on a present value, in which steps values are tried; their inverses downwards."""
NOT_STATED = "none"
STATED_DETECTION = 0.01
"""Rate of detection that is stated with a penalty where the agreement names neither."""

_DIGITS = 4
_NEXT_TO_ZERO = 1e-4
_MOST_MONEY = 1e12
_LARGEST_CLASS = 1_000_000
_ORDERS = 13
_LEAST_LIKELY, _MOST_LIKELY = 1e-6, 0.9999
_NO_PENALTY = "Being noticed deters nobody without a penalty, and there is none."
_STEP = re.compile(r"([A-Za-z_]\w*)|\[(\d+)\]")


@dataclass(frozen=True)
class Lever:
    """A number in the request that can be changed."""

    name: str
    """Name of the term, in words."""
    where: str
    """Path in the request."""
    current: float
    """Its present value, from 0."""
    lowest: float
    """Smallest value that is searched."""
    highest: float
    """Largest value that the request may hold."""
    whole: bool = False
    """Whether it is a whole number."""
    also: tuple[float, ...] = ()
    """Values to try beside those of the grid."""
    stated: tuple[TermChange, ...] = ()
    """Changes that the request must state with it."""
    log_odds: float | None = None
    """Where the request holds a probability as the logarithm of its odds, that logarithm."""
    moved: Term | None = None
    """Term of the adversary's profile that it moves; None for a lever that does not deter."""
    unable: str = ""
    """Why no value of it alone can change what the recipient does; empty where one may."""

    def written(self, value: float) -> float:
        """A value as the request holds it; a logarithm has four digits, on the far side of the present one."""
        if self.log_odds is None:
            return value
        if value == self.current:
            return self.log_odds
        rounding = ROUND_CEILING if value > self.current else ROUND_FLOOR
        return float(Context(prec=_DIGITS, rounding=rounding).plus(Decimal(repr(float(logit(value))))))

    def changes(self, value: float) -> tuple[TermChange, ...]:
        """Changes to the request for another value."""
        kind = TermChange if self.log_odds is None else LogOddsChange
        return (*self.stated, kind(self.where, self.written(self.current), self.written(value)))


def stakes(request: ReleaseRequest, recipient: Recipient) -> tuple[Lever, ...]:
    """The recipient's stakes. Without a gain of its own the gain follows the loss, and both are one lever."""
    terms = recipient.stakes
    named: list[tuple[str, str, float]] = [("cost of an attempt", "cost", terms.cost)]
    if terms.gain is None:
        named.append(("loss (and the gain that follows it)", "loss", terms.loss))
    else:
        named += [("gain of the recipient", "gain", terms.gain), ("loss of the publisher", "loss", terms.loss)]
    named.append(("benefit of the publisher", "benefit", terms.benefit))
    place = recipient_path(request, recipient)
    return tuple(_money(name, f"{place}.stakes.{key}", value) for name, key, value in named)


def class_sizes(request: ReleaseRequest) -> tuple[Lever, ...]:
    """The minimum class size, and the k of k-anonymity where the policy demands it."""
    policy = request.policy.generalization
    named = [("minimum class size", "minimum_class_size", policy.minimum_class_size)]
    if policy.k_anonymity is not None:
        named.append(("k of k-anonymity", "k_anonymity.k", policy.k_anonymity.k))
    return tuple(
        Lever(name, f"policy.generalization.{key}", value, 1, _LARGEST_CLASS, whole=True) for name, key, value in named
    )


def deterrents(request: ReleaseRequest, recipient: Recipient, profile: AdversaryProfile) -> tuple[Lever, ...]:
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
    found = [_penalty(place, recipient, declared, profile), _detection(place, recipient, declared, profile)]
    found.append(replace(fee, moved=Term.ACCESS_COST))
    if declared.exploit_cost is not None:
        name = "cost of an attempt for the sequential adversary"
        cost = _money(name, f"{place}.adversary.exploit_cost", profile.exploit_cost)
        found.append(replace(cost, moved=Term.EXPLOIT_COST))
    return tuple(found)


def tried_around(lever: Lever, deterring: float | None) -> Lever:
    """The lever with values to try around the least that deters: it, the next below, and parts of it.

    Parameters
    ----------
    lever : Lever
    deterring : float or None
        The least value that deters the recipient from the whole file; None where none does.
    """
    values = {lever.lowest}
    if deterring is None or deterring > lever.highest:
        values.add(lever.highest)
    if deterring:
        exact = Decimal(repr(deterring))
        enough = float(Context(prec=_DIGITS, rounding=ROUND_CEILING).plus(exact))
        values |= {enough, float(Context(prec=_DIGITS).next_minus(exact))}
        values |= {rounded(deterring / factor) for factor in FACTORS}
    return replace(lever, also=tuple(sorted(values)))


def tried_beyond(lever: Lever) -> Lever:
    """The lever with powers of ten to try, where the recipient is deterred as it stands, and may not be for certain."""
    return replace(lever, also=tuple(10.0**power for power in range(_ORDERS)))


def _penalty(place: str, recipient: Recipient, declared: AdversaryTerms, profile: AdversaryProfile) -> Lever:
    """The adversary's own penalty where it or the detection is declared; else the agreement's, with its detection."""
    whose, agreed = "agreement", recipient.agreement.penalty
    if declared.penalty is not None or (agreed is None and declared.detection_intercept is not None):
        whose = "adversary"
    lever = _money("penalty for an attempt that is noticed", f"{place}.{whose}.penalty", profile.penalty)
    rate = TermChange(f"{place}.agreement.detection_rate", NOT_STATED, STATED_DETECTION)
    return replace(lever, moved=Term.PENALTY, stated=(rate,) if whose == "agreement" and agreed is None else ())


def _detection(place: str, recipient: Recipient, declared: AdversaryTerms, profile: AdversaryProfile) -> Lever:
    name, where = "probability that an attempt is noticed", f"{place}.agreement.detection_rate"
    intercept, present = declared.detection_intercept, recipient.agreement.detection_rate or 0.0
    if intercept is not None:
        name, where = f"{name}, in log odds", f"{place}.adversary.detection_intercept"
        present = term_value(profile, Term.DETECTION)
    lever = Lever(name, where, present, _LEAST_LIKELY, _MOST_LIKELY, log_odds=intercept, moved=Term.DETECTION)
    return lever if profile.penalty > 0 else replace(lever, unable=_NO_PENALTY)


def _money(name: str, where: str, present: float) -> Lever:
    return Lever(name, where, present, 0.0, _MOST_MONEY)


def recipient_path(request: ReleaseRequest, recipient: Recipient) -> str:
    """Path of a recipient in the request."""
    return f"recipients[{[one.id for one in request.recipients].index(recipient.id)}]"


def threshold_path(request: ReleaseRequest, gate: Gate) -> str:
    """Path of a gate's threshold in the request."""
    position = [one.measure for one in request.policy.gates].index(gate.measure)
    return f"policy.gates[{position}].{'at_most' if gate.at_most is not None else 'at_least'}"


def apply(request: ReleaseRequest, changes: Sequence[TermChange]) -> ReleaseRequest:
    """The request with other terms, checked as any request is.

    Raises
    ------
    RequestError
        If a term may not have such a value.
    """
    # A term that is left out and one that is stated at its default are not always the same, nor always both allowed.
    document: Any = request.model_dump(exclude_unset=True)
    whole: Any = request.model_dump()
    for change in changes:
        location = [name or int(position) for name, position in _STEP.findall(change.where)]
        document = _replaced(document, whole, location, change.needed)
    try:
        return ReleaseRequest.model_validate(document)
    except ValidationError:
        pass
    raise RequestError(
        "a request may not have such a term",
        where=", ".join(change.where for change in changes),
        expected="a value in the range of the request's schema",
    )


def _replaced(part: Any, whole: Any, location: Sequence[str | int], value: object) -> Any:
    """A part of a document with another value; lists that it leaves out are taken from the whole one."""
    if not location:
        return value
    step, rest = location[0], location[1:]
    if isinstance(step, int):
        listed = whole if part is None else part
        return (*listed[:step], _replaced(listed[step], whole[step], rest, value), *listed[step + 1 :])
    inside = None if whole is None else whole.get(step)
    return {**(part or {}), step: _replaced((part or {}).get(step), inside, rest, value)}


def rounded(value: float) -> float:
    """A number short enough to be typed into a request: four significant digits.

    >>> rounded(5.31049), rounded(121608.2)
    (5.31, 121600.0)
    """
    return float(Context(prec=_DIGITS).plus(Decimal(repr(value))))


def open_threshold(gate: Gate, measured: float) -> float:
    """The strictest threshold of four digits (the whole part in full) that a measured figure passes.

    >>> open_threshold(Gate(measure=Measure.TRANSPARENT_MAXIMUM, at_most=0.09, because="EMA"), 1 / 6)
    0.1667
    """
    exact = Decimal(repr(measured))
    toward = ROUND_CEILING if gate.at_most is not None else ROUND_FLOOR
    return float(_context(gate, exact, toward).plus(exact))


def closed_threshold(gate: Gate, measured: float) -> float:
    """The least strict threshold of four digits (the whole part in full) that a measured figure does not pass.

    >>> closed_threshold(Gate(measure=Measure.TRANSPARENT_MAXIMUM, at_most=0.09, because="EMA"), 1 / 75)
    0.01333
    """
    exact = Decimal(repr(measured))
    if exact == 0:
        return -_NEXT_TO_ZERO if gate.at_most is not None else _NEXT_TO_ZERO
    context = _context(gate, exact, ROUND_HALF_EVEN)
    return float(context.next_minus(exact) if gate.at_most is not None else context.next_plus(exact))


def _context(gate: Gate, value: Decimal, rounding: str) -> Context:
    digits = 1 if gate.measure is Measure.SMALLEST_CLASS else _DIGITS
    return Context(prec=max(digits, value.adjusted() + 1), rounding=rounding)

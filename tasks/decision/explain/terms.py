"""The terms that an explanation changes: their places in the request, their ranges, and the request with others."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from typing import Any

from pydantic import ValidationError

from tasks.core.errors import RequestError
from tasks.decision.explain.result import Change
from tasks.request.model import Gate, Measure, Recipient, ReleaseRequest

_DIGITS = 4
_NEXT_TO_ZERO = 1e-4
_HIGHEST_STAKE = 1e12
_HIGHEST_CLASS = 1_000_000
_STEP = re.compile(r"([A-Za-z_]\w*)|\[(\d+)\]")


@dataclass(frozen=True)
class Term:
    """A number in the request that can be changed."""

    lever: str
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
    stated: tuple[Change, ...] = ()
    """Changes that the request must state with it."""

    def written(self, value: float) -> float:
        """A value as the request holds it."""
        return value

    def changes(self, value: float) -> tuple[Change, ...]:
        """Changes to the request for another value."""
        return (*self.stated, Change(self.where, self.current, value))


def stakes(request: ReleaseRequest, recipient: Recipient) -> tuple[Term, ...]:
    """The recipient's stakes. Without a gain of its own the gain follows the loss, and both are one lever."""
    terms = recipient.stakes
    named: list[tuple[str, str, float]] = [("cost of an attempt", "cost", terms.cost)]
    if terms.gain is None:
        named.append(("loss (and the gain that follows it)", "loss", terms.loss))
    else:
        named += [("gain of the recipient", "gain", terms.gain), ("loss of the publisher", "loss", terms.loss)]
    named.append(("benefit of the publisher", "benefit", terms.benefit))
    place = recipient_path(request, recipient)
    return tuple(Term(lever, f"{place}.stakes.{key}", value, 0.0, _HIGHEST_STAKE) for lever, key, value in named)


def class_size(request: ReleaseRequest) -> Term:
    """The smallest class that may stand in the released file."""
    present = request.policy.generalization.minimum_class_size
    where = "policy.generalization.minimum_class_size"
    return Term("minimum class size", where, present, 1, _HIGHEST_CLASS, whole=True)


def size_is_the_budgets(request: ReleaseRequest) -> bool:
    """Whether a budget of the file rules out a minimum class size."""
    budget = request.policy.generalization.budget
    return budget is not None and (budget.suppression is not None or bool(budget.utility_floor))


def least_k(request: ReleaseRequest) -> tuple[Term, ...]:
    """The k of k-anonymity, where the policy demands it."""
    demands = request.policy.generalization.k_anonymity
    if demands is None:
        return ()
    where = "policy.generalization.k_anonymity.k"
    return (Term("k of k-anonymity", where, demands.k, 1, _HIGHEST_CLASS, whole=True),)


def recipient_path(request: ReleaseRequest, recipient: Recipient) -> str:
    """Path of a recipient in the request."""
    return f"recipients[{[one.id for one in request.recipients].index(recipient.id)}]"


def threshold_path(request: ReleaseRequest, gate: Gate) -> str:
    """Path of a gate's threshold in the request."""
    position = [one.measure for one in request.policy.gates].index(gate.measure)
    return f"policy.gates[{position}].{'at_most' if gate.at_most is not None else 'at_least'}"


def apply(request: ReleaseRequest, changes: Sequence[Change]) -> ReleaseRequest:
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
        document = _replaced(document, whole, _location(change.where), change.needed)
    try:
        return ReleaseRequest.model_validate(document)
    except ValidationError:
        pass
    raise RequestError(
        "a request may not have such a term",
        where=", ".join(change.where for change in changes),
        expected="a value in the range of the request's schema",
    )


def _location(where: str) -> list[str | int]:
    return [name or int(position) for name, position in _STEP.findall(where)]


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
    return float(_context(exact, toward, whole=gate.measure is Measure.SMALLEST_CLASS).plus(exact))


def closed_threshold(gate: Gate, measured: float) -> float:
    """The least strict threshold of four digits (the whole part in full) that a measured figure does not pass.

    >>> closed_threshold(Gate(measure=Measure.TRANSPARENT_MAXIMUM, at_most=0.09, because="EMA"), 1 / 75)
    0.01333
    """
    exact = Decimal(repr(measured))
    if exact == 0:
        return -_NEXT_TO_ZERO if gate.at_most is not None else _NEXT_TO_ZERO
    context = _context(exact, ROUND_HALF_EVEN, whole=gate.measure is Measure.SMALLEST_CLASS)
    return float(context.next_minus(exact) if gate.at_most is not None else context.next_plus(exact))


def _context(value: Decimal, rounding: str, *, whole: bool = False) -> Context:
    return Context(prec=max(1 if whole else _DIGITS, value.adjusted() + 1), rounding=rounding)

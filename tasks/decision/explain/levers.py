"""The levers of an explanation: numbers of the request that it changes, with places, ranges and values to try.

Penalties, detection, the cost of access and the adversary's own cost of an attempt deter the sequential adversary and
leave the file as it is; the cost of an attempt of the stakes changes the game as well. The attributes an intruder holds
are no lever: the publisher does not choose what others know.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from typing import Any

from pydantic import ValidationError
from scipy.special import logit

from tasks.adversary.planning.deterrence import Term, term_value
from tasks.adversary.profile import AdversaryProfile
from tasks.core.errors import RequestError
from tasks.decision.explain.result import LogOddsChange, NoFlip, TermChange
from tasks.masking.registry import METHODS
from tasks.request.measures import MEASURES
from tasks.request.model import PARAMETER_OF, AdversaryTerms, Gate, Masking, Measure, Recipient, ReleaseRequest, Role

FACTORS = (1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0)
"""Factors on a present value, in which steps values are tried; their inverses downwards."""
FEW_FACTORS = (1.5, 3.0, 10.0, 100.0)
"""The same where each try takes long."""
WIDTH, WIDER = 0.01, 0.05
"""Relative distance at which a change that reverses the verdict and one that does not are near enough; and where each
try takes long."""
NOT_STATED = "none"
REASON = "a reason"
"""States that a discount below 1 takes a reason."""
STATED_DETECTION = 0.01
"""Rate of detection that is stated with a penalty where the agreement names neither."""

_DIGITS = 4
_NEXT_TO_ZERO = 1e-4
_STRENGTH_FACTORS = (1.25, 1.5, 2.0, 3.0, 5.0, 10.0)
_MOST_MONEY = 1e12
_LARGEST_CLASS = 1_000_000
_MOST_PENALTIES = 1000
_ORDERS = 13
_LEAST_LIKELY, _MOST_LIKELY = 1e-6, 0.9999
_UNCOUNTED = "The penalty of the agreement is not counted, since its chance of being applied is not stated."
_NO_PENALTY = "Being noticed deters nobody without a penalty, and there is none."
ACCEPTED = "{by, because}"
"""Excuse of a column, as the terms have it."""
_OF_RELEASED = frozenset({"known_probability", "sensitivity", "excused", "date", "hierarchy", "weight", "safe_harbor"})
"""Terms that a withheld attribute may not have."""
_STEP = re.compile(r'([A-Za-z_]\w*)|\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]')


@dataclass(frozen=True)
class Lever:
    """A whole or other number in the request that can be changed, searched from ``lowest`` to ``highest``."""

    name: str
    """Name of the term, in words."""
    where: str
    """Path in the request."""
    current: float
    """Its present value, from 0."""
    lowest: float = 0.0
    highest: float = _MOST_MONEY
    whole: bool = False
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
    few: bool = False
    """Whether few values are tried, and the turn is narrowed down less, since each takes long."""

    def written(self, value: float) -> float:
        """A value as the request holds it; a logarithm has four digits, on the far side of the present one."""
        if self.log_odds is None or value == self.current:
            return value if self.log_odds is None else self.log_odds
        rounding = ROUND_CEILING if value > self.current else ROUND_FLOOR
        return float(Context(prec=_DIGITS, rounding=rounding).plus(Decimal(repr(float(logit(value))))))

    def changes(self, value: float) -> tuple[TermChange, ...]:
        """Changes to the request for another value."""
        kind = TermChange if self.log_odds is None else LogOddsChange
        return (*self.stated, kind(self.where, self.written(self.current), self.written(value)))

    def unchanged(self, why: str, tried: Sequence[float] = ()) -> NoFlip:
        """The result that none of some values changes the verdict, or that it was not searched, with the reason."""
        values = (self.current, *tried)
        present, first, last = map(self.written, (self.current, min(values), max(values)))
        return NoFlip(self.name, self.where, present, first, last, why)


def stakes(request: ReleaseRequest, recipient: Recipient) -> tuple[Lever, ...]:
    """The recipient's stakes. Without a gain of its own the gain follows the loss, and both are one lever."""
    terms, place = recipient.stakes, f"{recipient_path(request, recipient)}.stakes"
    both = [Lever("loss (and the gain that follows it)", f"{place}.loss", terms.loss)]
    if terms.gain is not None:
        gain = Lever("gain of the recipient", f"{place}.gain", terms.gain)
        both = [gain, Lever("loss of the publisher", f"{place}.loss", terms.loss)]
    cost = Lever("cost of an attempt", f"{place}.cost", terms.cost)
    return (cost, *both, Lever("benefit of the publisher", f"{place}.benefit", terms.benefit))


def class_sizes(request: ReleaseRequest) -> tuple[Lever, ...]:
    """The minimum class size, and the k of k-anonymity where the policy demands it."""
    policy, place = request.policy.generalization, "policy.generalization"
    sizes = {("minimum class size", "minimum_class_size"): policy.minimum_class_size}
    if policy.k_anonymity is not None:
        sizes["k of k-anonymity", "k_anonymity.k"] = policy.k_anonymity.k
    return tuple(Lever(name, f"{place}.{key}", size, 1, _LARGEST_CLASS, True) for (name, key), size in sizes.items())


def deterrents(request: ReleaseRequest, recipient: Recipient, profile: AdversaryProfile) -> tuple[Lever, ...]:
    """The recipient's terms that deter, with the adversary's profile that follows from them."""
    declared, agreed = recipient.adversary or AdversaryTerms(), recipient.agreement
    place, intercept = recipient_path(request, recipient), declared.detection_intercept
    own, agreement = f"{place}.adversary", f"{place}.agreement"
    # The adversary's own penalty where it is declared, which may only lower the agreement's; likewise its detection.
    is_own = declared.penalty is not None
    # What is uncertain may not deter beyond the agreement, which is lowered as far as that goes.
    least = recipient.judged_highest
    rate = TermChange(f"{agreement}.detection_rate", NOT_STATED, STATED_DETECTION)
    found = [
        Lever(
            "penalty for an attempt that is noticed",
            f"{own if is_own else agreement}.penalty",
            profile.penalty,
            0.0 if is_own else least.get("penalty", 0.0),
            highest=agreed.counted_penalty if is_own else _MOST_MONEY,
            stated=() if is_own or agreed.detection_rate is not None else (rate,),
            moved=Term.PENALTY,
        ),
        Lever(
            "probability that an attempt is noticed" + ("" if intercept is None else ", in log odds"),
            f"{agreement}.detection_rate" if intercept is None else f"{own}.detection_intercept",
            agreed.detection_rate or 0.0 if intercept is None else term_value(profile, Term.DETECTION),
            max(_LEAST_LIKELY, least.get("detection", 0.0) if intercept is None else 0.0),
            _MOST_LIKELY if intercept is None else agreed.detection_rate or 0.0,
            log_odds=intercept,
            moved=Term.DETECTION,
            unable="" if profile.penalty > 0 else _UNCOUNTED if agreed.penalty else _NO_PENALTY,
        ),
        Lever(
            "cost of access to the external data",
            f"{own}.resources[0].access_cost" if declared.resources else f"{own}.access_cost",
            profile.access_cost,
            moved=Term.ACCESS_COST,
        ),
    ]
    if declared.exploit_cost is not None:
        name = "cost of an attempt for the sequential adversary"
        found.append(Lever(name, f"{own}.exploit_cost", profile.exploit_cost, moved=Term.EXPLOIT_COST))
    return tuple(found)


def traits(request: ReleaseRequest, recipient: Recipient, profile: AdversaryProfile) -> tuple[Lever, ...]:
    """Levers of the recipient's traits: prior, patience, recognition, and penalties where the agreement goes on.

    A discount below 1 comes with a reason, which the reviewers judge.
    """
    declared, place = recipient.adversary or AdversaryTerms(), f"{recipient_path(request, recipient)}.adversary"
    reason = () if declared.because else (TermChange(f"{place}.because", NOT_STATED, REASON),)
    prior = Lever(
        "chance that external data list the person (prior π)",
        f"{place}.prior",
        profile.prior,
        _LEAST_LIKELY,
        _MOST_LIKELY,
    )
    found = [
        *(() if declared.resources else (prior,)),
        Lever("weight of a later gain (discount γ)", f"{place}.discount", profile.discount, 0.01, 1.0, stated=reason),
        Lever("chance that a right match is recognized (κ)", f"{place}.confirmation", profile.confirmation, 0.01, 1.0),
    ]
    if profile.max_penalties is not None and not recipient.agreement.ends_on_breach:
        name = "penalties after which detection costs nothing more"
        found.append(Lever(name, f"{place}.max_penalties", profile.max_penalties, 1, _MOST_PENALTIES, True))
    return tuple(found)


def tried_around(lever: Lever, deterring: float | None) -> Lever:
    """The lever with values to try: the least that deters (None where none does), the next below, and parts of it."""
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


def threshold(request: ReleaseRequest, gate: Gate) -> Lever:
    """The threshold of a gate."""
    title = MEASURES[gate.measure].title
    return Lever(f"threshold: {title[0].lower()}{title[1:]}", threshold_path(request, gate), gate.threshold)


def masking_strength(request: ReleaseRequest, numbers: Sequence[int]) -> Lever:
    """The strength of one masking or of several, by their numbers in the request; where and value are the first's."""
    maskings = [request.masking[number] for number in numbers]
    name = " and ".join(
        f"{PARAMETER_OF[one.method]} of {one.method.value} of {', '.join(one.attributes)}" for one in maskings
    )
    return Lever(name, _masking_path(request, numbers[0]), maskings[0].strength)


def strengths(request: ReleaseRequest, numbers: Sequence[int], *, stronger: bool) -> Iterator[tuple[TermChange, ...]]:
    """Changes of the strength of some maskings, all by the same factor, the nearest first."""
    maskings = {_masking_path(request, number): request.masking[number] for number in numbers}
    before = [one.strength for one in maskings.values()]
    for factor in _STRENGTH_FACTORS:
        values = [_strength(one, factor, stronger=stronger) for one in maskings.values()]
        if values != before:
            pairs = zip(maskings.items(), values, strict=True)
            yield tuple(TermChange(where, one.strength, value) for (where, one), value in pairs)
        before = values


def _masking_path(request: ReleaseRequest, number: int) -> str:
    return f"masking[{number}].{PARAMETER_OF[request.masking[number].method]}"


def _strength(masking: Masking, factor: float, *, stronger: bool) -> float:
    allowed = METHODS[masking.method].strengths
    up = stronger is not allowed.stronger_below
    value = masking.strength * factor if up else masking.strength / factor
    value = min(max(value, allowed.least), allowed.most)
    if not allowed.whole:
        return rounded(value)
    return max(int(value), int(masking.strength) + 1) if up else min(round(value), int(masking.strength))


def attribute_path(name: str, key: str) -> str:
    """Path of an attribute's term in the request."""
    return f"attributes.{name}.{key}" if _STEP.fullmatch(name) else f"attributes[{json.dumps(name)}].{key}"


def recipient_path(request: ReleaseRequest, recipient: Recipient) -> str:
    """Path of a recipient in the request."""
    return f"recipients[{[one.id for one in request.recipients].index(recipient.id)}]"


def threshold_path(request: ReleaseRequest, gate: Gate) -> str:
    """Path of a gate's threshold in the request."""
    position = [one.measure for one in request.policy.gates].index(gate.measure)
    return f"policy.gates[{position}].{'at_most' if gate.at_most is not None else 'at_least'}"


def apply(request: ReleaseRequest, changes: Sequence[TermChange]) -> ReleaseRequest:
    """The request with other terms; ``RequestError`` if a term may not have such a value."""
    return stated(request, {change.where: change.value for change in changes})


def stated(request: ReleaseRequest, values: Mapping[str, Any]) -> ReleaseRequest:
    """The request with other values of terms, by their paths; errors as of ``apply``."""
    # A term that is left out and one that is stated at its default are not always the same, nor always both allowed.
    document: Any = request.model_dump(exclude_unset=True)
    whole: Any = request.model_dump()
    for where, value in values.items():
        steps = _STEP.findall(where)
        location = [
            name or (int(position) if position else json.loads(f'"{quoted}"')) for name, position, quoted in steps
        ]
        table = None
        if location[0] == "attributes":
            table = request.table_of(str(location[1]))
            if table is not None:
                location = ["tables", table, "attributes", request.own_name(str(location[1])), *location[2:]]
        document = _replaced(document, whole, location, value)
        if "attributes" in location:
            attributes = document["attributes"] if table is None else document["tables"][table]["attributes"]
            name = location[location.index("attributes") + 1]
            attributes[name] = _fitting(attributes[name], document["requested_by"])
    _unmask(document)
    try:
        return ReleaseRequest.model_validate(document)
    except ValidationError:
        pass
    raise RequestError(
        "a request may not have such a term",
        where=", ".join(values),
        expected="a value in the range of the request's schema",
    )


def _fitting(attribute: dict[str, Any], by: str) -> dict[str, Any]:
    """An attribute's terms after a change of one: withheld, it has none of a released one; an excuse has its parts."""
    if attribute["role"] in (Role.DIRECT, Role.WITHHELD):
        return {name: term for name, term in attribute.items() if name not in _OF_RELEASED}
    if attribute.get("excused") == ACCEPTED:
        return {**attribute, "excused": {"by": by, "because": "as explained"}}
    return attribute


def _unmask(document: Any) -> None:
    """Take attributes that do not leave any more from the maskings, and maskings that have none left."""
    gone = {name for name, one in document["attributes"].items() if one["role"] in (Role.DIRECT, Role.WITHHELD)}
    kept = [
        {**one, "attributes": tuple(name for name in one["attributes"] if name not in gone)}
        for one in document.get("masking", ())
    ]
    document["masking"] = tuple(one for one in kept if one["attributes"])


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

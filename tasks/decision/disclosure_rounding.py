"""Disclosure rounding of a record with decoys: no figure of real rows is exact enough to be a checksum of them.

A holder of a copy can compute the same figures of its rows: few sets of rows would give exact ones, and the rest would
be the decoys. So figures of real rows have three digits (risks rounded up), counts are multiples of ten or have three
digits, and what only the decoys change is a bound. Gates are judged, and the written file is compared, before this.
"""

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from tasks.assessments.identity.uncertain.facts import UncertaintyFact
from tasks.decision.record import DecisionRecord

_DIGITS = 3
_COUNTS = frozenset(
    {
        "over_threshold",
        "attacked_records",
        "above",
        "certain",
        "singled_out",
        "as_released",
        "needed",
        "uniques",
        "pairs",
        "homogeneous_classes",
        "homogeneous_records",
        "disclosed_classes",
        "disclosed_records",
    }
)
_BIN = frozenset({"low", "high", "records"})

Rule = Callable[[Any], Any]


def disclosure_rounded(record: DecisionRecord) -> DecisionRecord:
    """The record, its figures of real rows rounded if its copy holds decoys; no gate seems to fail by it."""
    if record.decoys is None:
        return record
    document = record.model_dump()
    for path, rule in _RULES.items():
        _apply(document, path.split("."), rule)
    return DecisionRecord.model_validate(document)


def rounded_uncertainty(fact: UncertaintyFact) -> UncertaintyFact:
    """Facts on uncertain terms with figures of real rows rounded, as in the record of a copy with decoys."""
    document = fact.model_dump()
    _apply(document, ["figures"], _RULES["risk.uncertainty.figures"])
    return UncertaintyFact.model_validate(document)


def upward(value: float, digits: int = _DIGITS) -> float:
    """The least number of three digits, or as many as are given, that is no smaller.

    >>> upward(1 / 75), upward(0.09), upward(-1.23456), upward(0.0)
    (0.0134, 0.09, -1.23, 0.0)
    """
    near = nearest(value, digits)
    if near >= value or math.isclose(near, value, rel_tol=1e-12):
        return near
    step = 10.0 ** (math.floor(math.log10(abs(value))) - digits + 1)
    return nearest(near + step, digits)


def downward(value: float) -> float:
    """The greatest number of three digits that is no greater."""
    return -upward(-value)


def nearest(value: float, digits: int = _DIGITS) -> float:
    """The nearest number of three digits, or as many as are given.

    >>> nearest(0.0123456), nearest(98765.0), nearest(0.0123456, 1)
    (0.0123, 98800.0, 0.01)
    """
    return float(f"{value:.{digits - 1}e}") + 0.0


def count(number: int) -> int:
    """The nearest multiple of ten, of three digits where that is coarser.

    >>> count(3), count(17), count(21810)
    (0, 20, 21800)
    """
    return max(round(number, -1), 0) if number < 1000 else int(nearest(number))


def bound(value: float | None, step: float) -> float | None:
    """The least multiple of a step that an absolute value does not exceed.

    >>> bound(-0.013, 0.01), bound(0.0, 0.01), bound(None, 0.1)
    (0.02, 0.01, None)
    """
    if value is None:
        return None
    return round(max(math.ceil(abs(value) / step - 1e-9), 1) * step, 10)


def _apply(part: Any, path: list[str], rule: Rule) -> None:
    """Apply a rule to a part of a document, or to that part of each member of a list; what is missing stays so."""
    name, *rest = path
    if isinstance(part, list | tuple):
        for one in part:
            _apply(one, path, rule)
    elif part is not None and part.get(name) is not None:
        if rest:
            _apply(part[name], rest, rule)
        else:
            part[name] = rule(part[name])


def _all(rounding: Callable[[float], float], *exact: str) -> Rule:
    """Every figure of a part, but for the fields named."""

    def rule(part: Any) -> Any:
        if isinstance(part, float):
            return rounding(part)
        if isinstance(part, list | tuple):
            return type(part)(rule(one) for one in part)
        if not isinstance(part, Mapping):
            return part
        if part.keys() == _BIN:
            return {**part, "records": count(part["records"])}
        return {
            name: one if name in exact else count(one) if name in _COUNTS and isinstance(one, int) else rule(one)
            for name, one in part.items()
        }

    return rule


def _fields(**rules: Rule) -> Rule:
    """Some fields of a mapping, or of each of several, by a rule each; None stays None."""

    def rule(part: Any) -> Any:
        if isinstance(part, list | tuple):
            return type(part)(map(rule, part))
        return {**part, **{name: None if part[name] is None else own(part[name]) for name, own in rules.items()}}

    return rule


def _gate(gate: dict[str, Any]) -> dict[str, Any]:
    if gate["measured"] is None or gate["comparison"] == "is":
        return gate
    if gate["interval"]:
        gate["interval"] |= {"low": nearest(gate["interval"]["low"]), "high": nearest(gate["interval"]["high"])}
    figure = rounded_figure(gate["measured"], gate["comparison"], gate["threshold"], passed=gate["passed"])
    return {**gate, "measured": figure}


def rounded_figure(measured: float, comparison: str, threshold: float, *, passed: bool) -> float:
    """A gate's figure, rounded against the release, but not beyond the threshold that it has passed."""
    at_most = comparison == "at most"
    figure = upward(measured) if at_most else downward(measured)
    holds = figure <= threshold if at_most else figure >= threshold
    return figure if holds or not passed else threshold


def _limit(limit: dict[str, Any]) -> dict[str, Any]:
    """A limit, rounded so that the use of a limit that is kept does not seem to exceed it."""
    used = min(upward(limit["used"]), max(limit["limit"], limit["used"]))
    kept = None if limit["kept"] is None else downward(limit["kept"])
    return {**_up(limit), "limit": limit["limit"], "used": used, "kept": kept}


def _colluders(one: dict[str, Any]) -> dict[str, Any]:
    """The shares of one recipient alone would disclose how many real classes look like its decoys."""
    digits = 1 if one["colluders"] == 1 else 2
    shares = ("probability", "worst", "informed", "worst_informed")
    suspects = {name: nearest(one[name]) for name in ("suspects_decoys", "suspects_real")}
    return {**one, **suspects, **{name: nearest(one[name], digits) for name in shares}}


_up, _near, _hundredths = _all(upward), _all(nearest), partial(round, ndigits=2)
_to_hundredths, _to_tenths = partial(bound, step=0.01), partial(bound, step=0.1)
_RULES: dict[str, Rule] = {
    **dict.fromkeys(
        (
            "risk.residual",
            "risk.transparent",
            "risk.game.outcomes",
            "risk.game.division",
            "risk.game.deduced",
            "risk.sequential.residual",
            "risk.sequential.patience",
            "risk.sequential.expected_loss",
            "risk.sequential.baseline_maximum",
            "risk.sequential.baseline_attacked_share",
            "risk.sequential.group_sizes",
            "risk.combined.residual",
            "risk.combined.by_known_set",
            "risk.combined.by_attribute",
            "risk.coalitions",
            "further.attribute",
            "further.singling_out",
            "risk.game.stakes.map.figures",
            "risk.game.stakes.curves.games",
            "risk.game.stakes.reaches.declared",
        ),
        _up,
    ),
    # Terms are the request's, weights the policy's, and draws are counted, not rows.
    "risk.game.frontier.points": _all(upward, "benefit", "loss", "gain"),
    "risk.game.sharing": _all(upward, "recipients"),
    "risk.game.penalties.points": _all(upward, "penalty", "value", "safe_group"),
    "risk.game.penalties.own": _all(upward, "penalty", "value", "safe_group"),
    "risk.game.budget": lambda fact: {**_up(fact), "limits": tuple(map(_limit, fact["limits"]))},
    "risk.game.k_anonymity": _fields(value=upward, value_before_lifting=upward),
    "risk.uncertainty.figures": _fields(declared=_up, expectation=_up, quantiles=_up, guaranteed=_up),
    "risk.linkage": _near,
    "utility": _near,
    "gates": lambda gates: list(map(_gate, gates)),
    "fields.records_per_level": lambda counts: tuple(map(count, counts)),
    "fields.information_kept": nearest,
    "decoys.collusion": lambda sets: tuple(map(_colluders, sets)),
    "decoys.attempts": _fields(
        subjects_maximum=upward,
        subjects_mean=upward,
        success=upward,
        lured=lambda share: min(bound(share, 0.1) or 0.1, 1.0),
    ),
    # What only the decoys change is a bound: the changes themselves follow from the decoys alone.
    "decoys.statistics.columns": _fields(
        mean=_to_hundredths,
        standard_errors=_to_tenths,
        spread=_hundredths,
        total_variation=_to_hundredths,
        largest=_to_hundredths,
    ),
    "decoys.statistics": _fields(
        correlation=_to_hundredths,
        association=_to_hundredths,
        coefficient=_to_tenths,
        explained_before=_hundredths,
        explained_after=_hundredths,
    ),
}
"""Rules by the place of a figure in the record: parts that are of the released rows; those of the data as collected say
nothing of decoys."""

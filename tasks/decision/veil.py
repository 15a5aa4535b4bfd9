"""Rounding the figures of real rows in a record with decoys, so that no figure is a checksum of them.

A holder of a copy can compute the same figures of its rows. If the record held those of the real rows exactly, few sets
of rows would give them, and the rest would be the decoys. So figures of real rows have three digits, counts are
multiples of ten or of as many digits, and what only the decoys change is given as a bound. Gates are judged, and the
written file is compared, before this; risks are rounded up.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

from tasks.assessments.identity.uncertainty_facts import UncertaintyFact
from tasks.decision.record import DecisionRecord

_DIGITS = 3
_COUNTS = frozenset({"over_threshold", "attacked_records", "above", "certain"})
_BIN = frozenset({"low", "high", "records"})
_RISKS = (
    ("residual",),
    ("transparent",),
    ("game", "outcomes"),
    ("game", "division"),
    ("sequential", "residual"),
    ("sequential", "baseline_maximum"),
    ("sequential", "baseline_attacked_share"),
    ("sequential", "group_sizes"),
    ("combined", "residual"),
    ("combined", "by_known_set"),
    ("combined", "by_attribute"),
)
"""Parts of the risk that are of the released rows; those of the data as collected say nothing of decoys."""

Rounding = Callable[[float], float]


def veiled(record: DecisionRecord) -> DecisionRecord:
    """The record with figures of real rows rounded, if its copy holds decoys; else as it is.

    A gate's figure is rounded to the side on which it is judged more strictly, unless it would then seem to fail.
    """
    if record.decoys is None:
        return record
    document = record.model_dump()
    if document["risk"] is not None:
        for path in _RISKS:
            _change(document["risk"], path, lambda part: _rounded(part, upward))
        _change(document["risk"], ("game", "frontier", "points"), lambda points: tuple(map(_point, points)))
        _change(document["risk"], ("game", "budget"), _budget)
        _change(document["risk"], ("game", "k_anonymity"), _k_anonymity)
        _change(document["risk"], ("game", "division"), lambda part: _rounded(part, upward))
        _change(document["risk"], ("game", "sharing"), _sharing)
        _change(document["risk"], ("coalitions",), lambda seen: tuple(_rounded(one, upward) for one in seen))
        _change(document["risk"], ("game", "stakes"), _stakes)
        _change(document["risk"], ("game", "penalties"), _penalties)
        _change(document["risk"], ("uncertainty", "figures"), lambda figures: tuple(map(_range, figures)))
        _change(document["risk"], ("linkage",), lambda part: _rounded(part, nearest))
    document["utility"] = _rounded(document["utility"], nearest)
    document["gates"] = [_gate(gate) for gate in document["gates"]]
    for one in document["fields"]:
        one["records_per_level"] = tuple(count(records) for records in one["records_per_level"])
        if one["information_kept"] is not None:
            one["information_kept"] = nearest(one["information_kept"])
    document["decoys"] = _decoys(document["decoys"])
    return DecisionRecord.model_validate(document)


def veiled_uncertainty(fact: UncertaintyFact) -> UncertaintyFact:
    """Facts on uncertain terms with figures of real rows rounded, as in the record of a copy with decoys."""
    document = fact.model_dump()
    _change(document, ("figures",), lambda figures: tuple(map(_range, figures)))
    return UncertaintyFact.model_validate(document)


def upward(value: float) -> float:
    """The least number of three digits that is no smaller.

    >>> upward(1 / 75), upward(0.09), upward(-1.23456), upward(0.0)
    (0.0134, 0.09, -1.23, 0.0)
    """
    near = nearest(value)
    if near >= value or math.isclose(near, value, rel_tol=1e-12):
        return near
    step = 10.0 ** (math.floor(math.log10(abs(value))) - _DIGITS + 1)
    return nearest(near + step)


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


def _change(part: Any, path: tuple[str, ...], change: Callable[[Any], Any]) -> None:
    for name in path[:-1]:
        part = None if part is None else part[name]
    if part is not None and part[path[-1]] is not None:
        part[path[-1]] = change(part[path[-1]])


def _rounded(part: Any, rounding: Rounding) -> Any:
    if isinstance(part, float):
        return rounding(part)
    if isinstance(part, list | tuple):
        return type(part)(_rounded(one, rounding) for one in part)
    if not isinstance(part, Mapping):
        return part
    if part.keys() == _BIN:
        return {**part, "records": count(part["records"])}
    return {
        name: count(one) if name in _COUNTS and isinstance(one, int) else _rounded(one, rounding)
        for name, one in part.items()
    }


def _gate(gate: dict[str, Any]) -> dict[str, Any]:
    measured, comparison = gate["measured"], gate["comparison"]
    if measured is None or comparison == "is":
        return gate
    at_most = comparison == "at most"
    figure = upward(measured) if at_most else downward(measured)
    holds = figure <= gate["threshold"] if at_most else figure >= gate["threshold"]
    if gate["interval"]:
        gate["interval"] |= {"low": nearest(gate["interval"]["low"]), "high": nearest(gate["interval"]["high"])}
    return {**gate, "measured": figure if holds or not gate["passed"] else gate["threshold"]}


def _point(point: dict[str, Any]) -> dict[str, Any]:
    """Stakes are the request's."""
    return {**_rounded(point, upward), **{name: point[name] for name in ("benefit", "loss", "gain")}}


def _budget(fact: dict[str, Any]) -> dict[str, Any]:
    """Limits are the policy's; what is used of one that is kept does not seem to exceed it."""
    limits = tuple(
        {
            **_rounded(one, upward),
            "limit": one["limit"],
            "used": min(upward(one["used"]), max(one["limit"], one["used"])),
            "kept": None if one["kept"] is None else downward(one["kept"]),
        }
        for one in fact["limits"]
    )
    return {**_rounded(fact, upward), "limits": limits}


def _k_anonymity(fact: dict[str, Any]) -> dict[str, Any]:
    """Losses of the file by the metric."""
    return {**fact, **{name: upward(fact[name]) for name in ("value", "value_before_lifting")}}


def _sharing(fact: dict[str, Any]) -> dict[str, Any]:
    """Payoffs; weights are the policy's."""
    return {**_rounded(fact, upward), "recipients": fact["recipients"]}


def _stakes(fact: dict[str, Any]) -> dict[str, Any]:
    """Stakes with rounded figures: of maps and curves those of the real rows, of reaches the figure itself."""
    curves = tuple({**one, "games": _rounded(one["games"], upward)} for one in fact["curves"])
    reaches = tuple({**one, "declared": upward(one["declared"])} for one in fact["reaches"])
    shown = {**fact["map"], "figures": _rounded(fact["map"]["figures"], upward)}
    return {"map": shown, "curves": curves, "reaches": reaches}


def _penalties(fact: dict[str, Any]) -> dict[str, Any]:
    """Terms are the request's, and group sizes follow from them alone."""
    return {**fact, "points": tuple(map(_fined, fact["points"])), "own": _fined(fact["own"])}


def _fined(point: dict[str, Any]) -> dict[str, Any]:
    return {**_rounded(point, upward), **{name: point[name] for name in ("penalty", "detection", "safe_group")}}


def _range(figure: dict[str, Any]) -> dict[str, Any]:
    """Draws are counted, not rows."""
    names = ("declared", "expectation", "quantiles", "guaranteed")
    return {**figure, **{name: _rounded(figure[name], upward) for name in names}}


def _decoys(fact: dict[str, Any]) -> dict[str, Any]:
    collusion = tuple(_colluders(one) for one in fact["collusion"])
    return {**fact, "collusion": collusion, "attempts": _attempts(fact["attempts"]), "statistics": _statistics(fact)}


def _colluders(one: dict[str, Any]) -> dict[str, Any]:
    """The shares of one recipient alone would reveal how many real classes look like its decoys."""
    digits = 1 if one["colluders"] == 1 else 2
    shares = ("probability", "worst", "informed", "worst_informed")
    suspects = {name: nearest(one[name]) for name in ("suspects_decoys", "suspects_real")}
    return {**one, **suspects, **{name: nearest(one[name], digits) for name in shares}}


def _attempts(fact: dict[str, Any] | None) -> dict[str, Any] | None:
    if fact is None:
        return None
    real = {name: upward(fact[name]) for name in ("subjects_maximum", "subjects_mean", "success")}
    return {**fact, **real, "lured": min(bound(fact["lured"], 0.1) or 0.1, 1.0)}


def _statistics(fact: dict[str, Any]) -> dict[str, Any] | None:
    """Bounds: the changes themselves follow from the decoys alone."""
    statistics = fact["statistics"]
    if statistics is None:
        return None
    columns = tuple(
        {
            **one,
            "mean": bound(one["mean"], 0.01),
            "standard_errors": bound(one["standard_errors"], 0.1),
            "spread": None if one["spread"] is None else round(one["spread"], 2),
            "total_variation": bound(one["total_variation"], 0.01),
            "largest": bound(one["largest"], 0.01),
        }
        for one in statistics["columns"]
    )
    explained = {
        name: None if statistics[name] is None else round(statistics[name], 2)
        for name in ("explained_before", "explained_after")
    }
    bounds = {name: bound(statistics[name], 0.01) for name in ("correlation", "association")}
    return {
        **statistics,
        "columns": columns,
        **bounds,
        "coefficient": bound(statistics["coefficient"], 0.1),
        **explained,
    }

"""How statistics of a copy differ from those of another file, in print: exactly for experts, rounded for recipients.

Rows and sentences only, filled from the record; nothing is measured here. A share of records stands for a count of
them, so that few records left out do not follow from it.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from reports import numbers
from reports.gates import released_records
from reports.smallcell import HIDDEN, SmallCellRule
from tasks.decision.decoy_facts import StatisticChange, StatisticsFact
from tasks.decision.record import DecisionRecord

_NOTHING = "–"
_GRAINS = (0.001, 0.005, 0.01, 0.05, 0.1)
_LEAST_TOLD = 0.01
"""Finest change that is reported to a recipient, of standard deviations and of shares alike."""


@dataclass(frozen=True)
class StatisticRow:
    """Changes of one column."""

    name: str
    mean: str
    """In standard deviations."""
    standard_errors: str
    spread: str
    distribution: str
    """Total variation."""
    largest: str
    """Largest change of one value's share."""


@dataclass(frozen=True)
class ToldMean:
    """Statistics of a column of numbers, as reported to a recipient."""

    name: str
    mean: str


@dataclass(frozen=True)
class ToldShares:
    """Statistics of a column of categories, as reported to a recipient."""

    name: str
    distribution: str
    largest: str


@dataclass(frozen=True)
class Told:
    """Statistics of a copy, as reported to its recipient."""

    means: tuple[ToldMean, ...] = ()
    shares: tuple[ToldShares, ...] = ()


def statistic_rows(record: DecisionRecord, fact: StatisticsFact) -> tuple[StatisticRow, ...]:
    """The columns, in the order of the record."""
    share = _share(record)
    return tuple(
        StatisticRow(
            name=one.name,
            mean=_figure(one.mean, 4),
            standard_errors=_figure(one.standard_errors, 2),
            spread=_figure(one.spread, 4),
            distribution=_written(one.total_variation, share),
            largest=_written(one.largest, share),
        )
        for one in fact.columns
    )


def told(record: DecisionRecord) -> Told:
    """The columns as reported to a recipient: rounded, and so that none and little read alike."""
    columns = record.statistics.columns if record.statistics else ()
    write = _told_share(_grain(record.policy.small_cell, record.dataset.rows_in, least=_LEAST_TOLD))
    return Told(
        means=tuple(ToldMean(one.name, _told_mean(one)) for one in columns if one.kind == "number"),
        shares=tuple(
            ToldShares(one.name, _written(one.total_variation, write), _written(one.largest, write))
            for one in columns
            if one.kind == "categories"
        ),
    )


def summary(fact: StatisticsFact) -> str:
    """Associations and the regression, in a few sentences; empty for none."""
    found = []
    if fact.correlation is not None:
        found.append(f"of a correlation between two numbers is {numbers.fixed(fact.correlation, 4)}")
    if fact.association is not None:
        found.append(f"of Cramér's V between two categories is {numbers.fixed(fact.association, 4)}")
    text = f"Over all pairs of columns, the largest change {' and '.join(found)}." if found else ""
    if fact.target is None or fact.coefficient is None:
        return text
    explained = ""
    if fact.explained_before is not None and fact.explained_after is not None:
        explained = (
            f"; it explains R² {numbers.fixed(fact.explained_before)} before and "
            f"{numbers.fixed(fact.explained_after)} after"
        )
    is_number = any(one.name == fact.target and one.kind == "number" for one in fact.columns)
    what = fact.target if is_number else f"whether {fact.target} has its commonest value"
    regression = (
        f"In a linear regression of {what} on the other columns, no coefficient changes by more than "
        f"{numbers.fixed(fact.coefficient, 2)} of its standard errors{explained}."
    )
    return f"{text} {regression}".strip()


def _share(record: DecisionRecord) -> Callable[[float], str]:
    """How shares of records are written: coarsely where few were suppressed, or are missing for others' classes."""
    cells, total = SmallCellRule(record.policy.small_cell), released_records(record)
    left_out = record.dataset.rows_in - total
    missing = record.decoys.missing if record.decoys else 0
    if not any(cells.hides(count) for count in (left_out, missing, left_out - missing)):
        return lambda share: cells.share(share, total)
    grain = _grain(cells.limit, record.dataset.rows_in)
    return _hidden if math.isinf(grain) else lambda share: _rounded(share, grain)


def _grain(limit: int, total: int, least: float = 0.0) -> float:
    """Step to which shares are rounded so that no count below the limit follows; infinite for too small a file."""
    return next((grain for grain in _GRAINS if grain >= max(limit / total, least)), math.inf)


def _told_share(grain: float) -> Callable[[float], str]:
    if math.isinf(grain):
        return _hidden
    return lambda share: f"under {numbers.percent(grain)}" if share < grain else _rounded(share, grain)


def _rounded(share: float, grain: float) -> str:
    return f"{round(share / grain) * grain * 100:.{1 if grain < _LEAST_TOLD else 0}f}%"


def _hidden(_share: float) -> str:
    return HIDDEN


def _written(share: float | None, write: Callable[[float], str]) -> str:
    return _NOTHING if share is None else write(share)


def _figure(value: float | None, decimals: int) -> str:
    return _NOTHING if value is None else numbers.fixed(value, decimals)


def _told_mean(one: StatisticChange) -> str:
    if one.mean is None:
        return _NOTHING
    return f"under {_LEAST_TOLD}" if abs(one.mean) < _LEAST_TOLD else numbers.fixed(one.mean, 2)

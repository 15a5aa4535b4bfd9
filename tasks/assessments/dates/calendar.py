"""Information of the calendar on people's offsets: weekdays, closed days and the period of the data.

A clinic sees more people on Mondays than on Sundays and none on a holiday. Whoever knows that, and sees the shifted
dates of a person, weighs each possible offset by Bayes' rule: the probability of an offset is in proportion to the
product, over the person's dates, of how many dates the column has on the day that the offset leads back to. The
attacker is assumed to know of each column

* the share of its dates by day of the week,
* closed days: those with at most a quarter of the dates that a day of its weekday has on average, where that is at
  least 20, with what they have,
* the first and the last day.

These come from the true dates of the file, and so from slightly more than anybody outside has. Dates of a person are
assumed to be independent, given the offset.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks.assessments.dates.histories import WEEK, Histories
from tasks.dates.offsets import Days

Floats = NDArray[np.float64]
_MOST_CELLS = 2**24
"""Pairs of a person and an offset that are weighed; past them, evenly spaced people stand for all."""
_CLOSED_SHARE, _CLOSED_FROM = 0.25, 20.0
_NEVER = -50.0
"""Logarithm in place of that of 0: an offset to a day without dates is less probable than any other."""


@dataclass(frozen=True)
class OffsetKnowledge:
    """Knowledge of the offsets of a file, for an attacker who knows only that none is longer than the shift."""

    people: int
    """People whose offsets were weighed."""
    guessed: float
    """Mean probability of the most probable offset: the share of people whose offset is guessed right."""
    bits: float
    """Information on the offset, mean over people."""
    weekday_guessed: float
    """The same probability of the offset modulo 7, from days of the week alone."""
    weekday_bits: float
    """Information on the offset modulo 7 from days of the week alone, of at most log2(7) = 2.81 bits."""
    closed_days: int
    """Closed days, all columns together."""


def offset_knowledge(histories: Histories) -> OffsetKnowledge:
    """Weigh the offsets of the people of a file whose dates are shifted."""
    days, reach = histories.known, histories.reach
    offsets = np.arange(-reach, reach + 1)
    by_residue, uniform = np.eye(WEEK)[offsets % WEEK], np.full(len(offsets), 1 / len(offsets))
    most = min(histories.people, max(1, _MOST_CELLS // len(offsets)))
    people = np.unique(np.linspace(0, histories.people - 1, most).astype(int))
    place = np.full(histories.people, -1)
    place[people] = np.arange(len(people))
    chosen = place[histories.persons] >= 0
    person, kind, released = place[histories.persons[chosen]], histories.columns[chosen], histories.released[chosen]
    low = int(min(days.min(initial=0), released.min(initial=0))) - reach
    span = int(max(days.max(initial=0), released.max(initial=0))) + reach - low + 1
    of_columns = (days[histories.columns == number] - low for number in range(histories.kinds))
    *tables, closed = zip(*(_calendar(of_column, low, span) for of_column in of_columns), strict=True)
    likelihoods = np.empty((2, len(people), len(offsets)))
    for at, offset in enumerate(offsets):
        for table, found in zip(map(np.array, tables), likelihoods, strict=True):
            logs = table[kind, released - offset - low]
            found[:, at] = np.bincount(person, weights=logs, minlength=len(people))
    by_week, whole = map(_posterior, likelihoods)
    residues, prior = by_week @ by_residue, uniform @ by_residue
    return OffsetKnowledge(
        people=len(people),
        guessed=float(whole.max(axis=1).mean()),
        bits=float((_entropy(uniform) - _entropy(whole)).mean()),
        weekday_guessed=float(residues.max(axis=1).mean()),
        weekday_bits=float((_entropy(prior) - _entropy(residues)).mean()),
        closed_days=sum(closed),
    )


def _calendar(days: Days, low: int, span: int) -> tuple[Floats, Floats, int]:
    """Logarithms of the probabilities by weekday and by calendar, by day from `low`; and the number of closed days."""
    counts = np.bincount(days, minlength=span).astype(np.float64)
    weekday, within = (np.arange(span) + low) % WEEK, np.zeros(span, dtype=np.bool_)
    if not len(days):
        return np.zeros(span), np.zeros(span), 0
    within[days.min() : days.max() + 1] = True
    of_weekday = np.bincount(weekday, weights=counts, minlength=WEEK).astype(np.float64)
    usual = (of_weekday / np.maximum(np.bincount(weekday[within], minlength=WEEK), 1))[weekday]
    closed = within & (usual >= _CLOSED_FROM) & (counts <= _CLOSED_SHARE * usual)
    daily = np.where(within, np.where(closed, counts, usual), 0.0)
    return _logs(of_weekday[weekday]), _logs(daily), int(closed.sum())


def _logs(weights: Floats) -> Floats:
    return np.asarray(np.log(weights / weights.sum(), where=weights > 0, out=np.full(len(weights), _NEVER)))


def _posterior(likelihoods: Floats) -> Floats:
    """Probability of each offset, uniform before: rows of logarithms, turned in place into shares."""
    likelihoods -= likelihoods.max(axis=1, keepdims=True)
    np.exp(likelihoods, out=likelihoods)
    likelihoods /= likelihoods.sum(axis=1, keepdims=True)
    return likelihoods


def _entropy(shares: Floats) -> Floats:
    """Entropy of distributions along the last axis, bits."""
    logs = np.log2(shares, where=shares > 0, out=np.zeros_like(shares))
    return np.asarray(-(shares * logs).sum(axis=-1))

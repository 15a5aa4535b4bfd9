"""Risk in the population that the file is a random sample of: limits by the draw, and estimates by models.

A class with f records in a simple random sample of n from N people has F people in all, and f is hypergeometric. The
limits of F that hold of every cell of every strategy at once, with 95 % probability, need no model; as they hold of all
cells, they hold of those that a rule chose by the same sample. Estimates of the mean risk and of the people who are
unique rest on models.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray
from scipy.special import hyp2f1

from tasks.assessments.identity.facts import EstimateFact, SampleFact, UniquesFact
from tasks.assessments.singling_out.population_uniqueness import ClassSizes, unique_people
from tasks.candidate.candidate import Candidate
from tasks.candidate.coalition import Coalition, worst
from tasks.core.fact import Interval
from tasks.generalization.game.transparency import cell_numbers
from tasks.generalization.suppression import class_sizes
from tasks.microdata.tuples import Counts
from tasks.request.model import Measure

Floats = NDArray[np.float64]

CONFIDENCE = 0.95
_FEW, _TERMS = 30, 200
_GROUPS = 20
"""Groups of records that the jackknife leaves out, one after the other."""


@dataclass(frozen=True)
class Sample:
    """A simple random sample without replacement, each record a person."""

    records: int
    """Records of the file, n."""
    people: int
    """People of the population, N, at least n."""
    cells: float
    """Cells of all strategies, of which the limits hold at once."""

    @property
    def fraction(self) -> float:
        """Sampling fraction π."""
        return self.records / self.people


def people_limits(sample: Sample, found: Counts) -> tuple[Counts, Counts]:
    """Limits of the people of cells with so many records of the sample, from 1; both of shape (n_cells,).

    Notes
    -----
    The lower limit is the least F of which f records or more are drawn with a probability above α = (1 − 0.95)/2M, the
    upper one the largest F of which f or fewer are; M cells (Bonferroni). Binomial tails stand for the hypergeometric
    ones, which are smaller beyond one record of the mean (Uhlmann 1966); both limits are then wider. The file itself
    shows at least f people, and n − f others.
    """
    distinct, place = np.unique(found, return_inverse=True)
    alpha = (1 - CONFIDENCE) / 2 / sample.cells
    most = sample.people - (sample.records - distinct)
    lower = _least(distinct, most, lambda people: scipy.stats.binom.sf(distinct - 1, people, sample.fraction) > alpha)
    # Beyond the upper limit so few are drawn too rarely.
    past = _least(distinct, most + 1, lambda people: scipy.stats.binom.cdf(distinct, people, sample.fraction) <= alpha)
    return lower[place.ravel()], np.maximum(past - 1, distinct)[place.ravel()]


def _least(low: Counts, high: Counts, holds: Callable[[Counts], ArrayLike]) -> Counts:
    """Least number from low to high at which a condition holds that holds at all larger ones; high where none does."""
    low, high = low.astype(np.int64), high.astype(np.int64)
    while (low < high).any():
        middle = (low + high) // 2
        held = np.asarray(holds(middle), dtype=np.bool_)
        high, low = np.where(held, middle, high), np.where(held, low, np.minimum(middle + 1, high))
    return low


def expected_risk(fraction: float, found: Counts) -> Floats:
    """Expected 1/F of cells with f records of the sample, F negative binomial given f; shape (n_cells,).

    Notes
    -----
    Benedetti & Franconi 1998, as Franconi & Polettini 2004 sum it up: E[1/F | f] = π/f · ₂F₁(1, 1; f + 1; 1 − π), which
    for f = 1 is π/(1 − π) · ln(1/π). It takes cells of all sizes to be as likely before the sample is drawn, and tends
    to be too low for rare ones.
    """
    distinct, place = np.unique(found, return_inverse=True)
    few = distinct < _FEW
    sums = np.ones(len(distinct))
    sums[few] = hyp2f1(1.0, 1.0, distinct[few] + 1.0, 1 - fraction)
    # SciPy fails where f is large; the terms of the series, k!·f!/(f + k)!·(1 − π)^k, then fall fast.
    steps = np.arange(1.0, _TERMS)
    ratios = steps / (distinct[~few, None] + steps) * (1 - fraction)
    sums[~few] += np.cumprod(ratios, axis=1).sum(axis=1)
    return np.minimum(fraction / distinct * sums, 1.0)[place.ravel()]


def uniques(classes: Counts, fraction: float, generator: np.random.Generator) -> UniquesFact:
    """Released records that are unique in the population, as estimated, with an interval.

    ``classes`` are the records of each class of the copy, ``fraction`` the share of the population that the copy is.

    Notes
    -----
    The estimate is that of ``unique_people``. The interval is that of a jackknife which leaves out a twentieth of the
    records at a time and keeps to the chosen model; it shows the error of sampling, not that of the model. No share
    exceeds that of the records which are alone in the copy.
    """
    given = ClassSizes.of(classes, fraction)
    found, alone = unique_people(given), given.of_size(1) / given.records
    class_of = np.repeat(np.arange(len(classes)), classes)
    group_of = generator.permutation(np.arange(len(class_of)) % _GROUPS)
    left: list[float] = []
    for group in range(_GROUPS if len(class_of) >= 2 * _GROUPS else 0):
        sizes = classes - np.bincount(class_of[group_of == group], minlength=len(classes))
        left_out = unique_people(ClassSizes.of(sizes[sizes > 0], fraction * (1 - 1 / _GROUPS)))
        share = left_out.share_by(found.chosen)
        if share is not None:
            left.append(share)
    low, high = 0.0, alone
    if len(left) > _GROUPS / 2:
        spread = np.sqrt((len(left) - 1) * np.var(left) * (1 - fraction))
        reach = float(scipy.stats.t.ppf((1 + CONFIDENCE) / 2, len(left) - 1) * spread)
        low, high = max(found.share - reach, 0.0), min(found.share + reach, alone)
    return UniquesFact(
        alone=alone,
        **vars(found),
        estimate=EstimateFact(figure=found.share, interval=_around(low, max(low, high))),
    )


def _around(low: float, high: float) -> Interval:
    return Interval(low=low, high=high, level=CONFIDENCE)


def sample_fact(
    sample: Sample, found: Counts, classes: Counts, records: Counts, generator: np.random.Generator
) -> SampleFact:
    """Risk of the released records in the population that the file is a random sample of.

    Of each released tuple, shape (n_tuples,): the records of the file that match its cell, ``found``, from 1, those of
    the copy in its class, ``classes``, and its own, ``records``. The generator draws the groups of the jackknife.
    """
    lower, upper = people_limits(sample, found)
    total = records.sum()
    mean, low, high = (
        float(records @ risks / total) for risks in (expected_risk(sample.fraction, found), 1 / upper, 1 / lower)
    )
    # Tuples of one class are one after the other by no order; each class has its size as often as it has records.
    sizes, held = np.unique(classes, return_inverse=True)
    numbers = np.rint(np.bincount(held.ravel(), weights=records) / sizes).astype(np.int64)
    return SampleFact(
        people=sample.people,
        fraction=sample.fraction,
        cells=sample.cells,
        least_people=int(lower.min()),
        maximum_risk=float(1 / lower.min()),
        mean_risk=EstimateFact(figure=min(max(mean, low), high), interval=_around(low, high)),
        uniques=uniques(np.repeat(sizes, numbers), float(total) / sample.people, generator),
    )


def sampled(candidate: Candidate, seen: Coalition | None = None) -> SampleFact | None:
    """Risk of a candidate, alone or as a coalition sees it, where the file is a random sample; else None."""
    table, kept, made = candidate.index, candidate.released, candidate.generalization
    records, drawn = candidate.records, table.population.total
    people = candidate.request.population.people(drawn)
    if people is None:
        return None
    if seen is None:
        classes = class_sizes(cell_numbers(made.cells[kept], table.axis_sizes), records)
    else:
        made, classes = seen.copy, seen.classes[kept]
    sample = Sample(drawn, people, float(prod(table.axis_sizes)))
    return sample_fact(sample, made.people[kept], classes, records, candidate.randomness("estimates"))


def sampled_figures(candidate: Candidate, alone: SampleFact | None) -> dict[Measure, float]:
    """Gate figures: for each, the worst of the copy alone and of every coalition; none where the file is no sample."""
    if alone is None:
        return {}
    pooled = (sampled(candidate, one) for one in candidate.coalitions)
    return worst(sample_figures(alone), [sample_figures(one) for one in pooled if one is not None])


def sample_intervals(fact: SampleFact | None) -> dict[Measure, tuple[Interval, int | None]]:
    """Intervals of the measures that are estimates; the upper end is the gate figure."""
    if fact is None:
        return {}
    return {
        Measure.ESTIMATED_MEAN: (fact.mean_risk.interval, None),
        Measure.ESTIMATED_UNIQUE: (fact.uniques.estimate.interval, None),
    }


def sample_figures(fact: SampleFact) -> dict[Measure, float]:
    """Gate figures: the upper ends of all intervals."""
    return {
        Measure.ESTIMATED_MAXIMUM: fact.maximum_risk,
        Measure.ESTIMATED_MEAN: fact.mean_risk.interval.high,
        Measure.ESTIMATED_UNIQUE: fact.uniques.estimate.interval.high,
    }

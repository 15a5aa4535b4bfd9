"""Dependence of one column on others, beyond chance.

Works on integer codes and knows no roles. Every figure is of distinct pairs of values with their counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks.generalization.kanonymity.classes import ascending, fold_columns

_CONCENTRATIONS = (0.1, 1.0, 10.0)
EVIDENCE = float(np.log(1e6))
"""Least gain in nats: chance reaches it in one of a million pairs of columns."""
NEARLY_CERTAIN = 0.95
"""Share of the records with a value from which the value reveals another column outright."""
EXPECTED = 0.8
"""Share of all records from which a value counts as expected."""

Codes = NDArray[np.integer]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Dependence:
    """Dependence of one column on given ones."""

    share: float
    """Share of its information that they give, 0 to 1; 0 where chance alone could give as much."""
    told: float
    """Share of the records whose given values reveal its value outright."""


NOTHING_TOLD = Dependence(0.0, 0.0)


def classes(columns: Sequence[Codes]) -> NDArray[np.int64]:
    """Number of each record's combination of values, from 0 without gaps."""
    return fold_columns(columns, len(columns[0]))[0]


def entropy(codes: Codes) -> float:
    """Entropy of a column in bits."""
    shares = np.bincount(codes)[np.bincount(codes) > 0] / max(len(codes), 1)
    return float(-(shares * np.log2(shares)).sum())


def dependence(given: Codes, column: Codes, least: float = 0.0) -> Dependence:
    """Judge how a column follows from given classes; both are codes from 0, of shape (n_records,).

    A dependence whose share cannot reach `least`, 0 to 1, may be given as nothing told, for speed.

    Notes
    -----
    The gain is the logarithm of a Bayes factor: the values within each class drawn from a Dirichlet-multinomial around
    their shares in the file, against the same draw for all classes. It charges what must be learnt of each class, so
    that it is negative for independent columns, however many values they have; by Markov's inequality it exceeds g by
    chance with a probability of at most e^-g. Its share is of what a column that follows exactly would bring: entropy
    times the records that are not the first of their class.
    """
    records, n_values = len(column), int(column.max(initial=0)) + 1
    n_classes = int(given.max(initial=0)) + 1
    sizes = np.bincount(given, minlength=n_classes)
    repeated = records - np.count_nonzero(sizes)
    if repeated < records / 2:
        return NOTHING_TOLD
    totals = np.bincount(column, minlength=n_values)
    shares = totals / records
    held = totals > 0
    nats = float(-(shares[held] * np.log(shares[held])).sum())
    if nats <= 0:
        return NOTHING_TOLD
    cells, _, counts = ascending(given.astype(np.int64) * n_values + column, n_classes * n_values)
    cell_class, cell_value = np.divmod(cells, n_values)
    # The likelihood at its maximum, n times the mutual information, is above every gain.
    most = float((counts * np.log(counts / (sizes[cell_class] * shares[cell_value]))).sum())
    if most < max(EVIDENCE, least * repeated * nats):
        return NOTHING_TOLD
    gains = _gains(cell_class, shares[cell_value], counts, sizes)
    gain = float(np.logaddexp.reduce(gains.sum(axis=1)) - np.log(len(gains)))
    share = gain / (repeated * nats) if gain >= EVIDENCE else 0.0
    of_class = np.logaddexp.reduce(gains, axis=0) - np.log(len(gains))
    certain = (counts >= NEARLY_CERTAIN * sizes[cell_class]) & (shares[cell_value] <= EXPECTED)
    told = sizes[cell_class[certain & (of_class[cell_class] >= EVIDENCE)]].sum() / records
    return Dependence(float(min(max(share, 0.0), 1.0)), float(told))


def _gains(
    cell_class: NDArray[np.int64], shares: Floats, counts: NDArray[np.int64], sizes: NDArray[np.int64]
) -> Floats:
    """Gain of each class in nats by concentration, shape (n_concentrations, n_classes)."""
    from scipy.special import gammaln  # noqa: PLC0415  a command that judges no column does without SciPy

    alone = np.bincount(cell_class, weights=-counts * np.log(shares), minlength=len(sizes))
    return np.array(
        [
            np.bincount(
                cell_class,
                weights=gammaln(counts + alpha * shares) - gammaln(alpha * shares),
                minlength=len(sizes),
            )
            + gammaln(alpha)
            - gammaln(sizes + alpha)
            + alone
            for alpha in _CONCENTRATIONS
        ]
    )

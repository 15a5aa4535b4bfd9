"""Learned distances by definition: plain loops over sets, orders and all pairs of records."""

from itertools import combinations, permutations

import numpy as np
from numpy.typing import NDArray

Table = NDArray[np.float64]


def choquet(values: list[float], measure: dict[frozenset[int], float]) -> float:
    """Sum of the rises of the ordered values, each times the measure of the attributes that reach it."""
    total, before = 0.0, 0.0
    for level in sorted(values):
        reached = frozenset(k for k, value in enumerate(values) if value >= level)
        total += (level - before) * measure[reached]
        before = level
    return total


def subsets(n_attributes: int) -> list[frozenset[int]]:
    """All sets of attributes but the empty one."""
    attributes = range(n_attributes)
    return [frozenset(chosen) for size in range(1, n_attributes + 1) for chosen in combinations(attributes, size)]


def place_of(attributes: frozenset[int]) -> int:
    """Where the parameter of a set stands."""
    return sum(2**k for k in attributes) - 1


def shapley(measure: dict[frozenset[int], float], n_attributes: int) -> list[float]:
    """Mean rise of the measure when an attribute joins, over all orders."""
    rises: list[list[float]] = [[] for _ in range(n_attributes)]
    for order in permutations(range(n_attributes)):
        for place, attribute in enumerate(order):
            before, after = frozenset(order[:place]), frozenset(order[: place + 1])
            rises[attribute].append(measure[after] - (measure[before] if before else 0.0))
    return [float(np.mean(rise)) for rise in rises]


def shared_links(table: Table, truth: list[int]) -> float:
    """Expected correct links by a table of distances, a tie shared."""
    total = 0.0
    for row, own in zip(table, truth, strict=True):
        tied = [j for j, distance in enumerate(row) if distance <= min(row) + 1e-9 * max(abs(min(row)), 1e-3)]
        total += (own in tied) / len(tied)
    return total


def most_won(components: Table) -> float:
    """Most records, ties that nothing breaks shared, that weights from 0 can win; for two or three attributes.

    The comparisons' zero lines cut the weights into cells on which nothing changes. Every cell has a corner where two
    lines, or a line and the border, meet: the points all around each corner reach all cells.
    """
    n, _, m = components.shape
    gains = [[components[i, j] - components[i, i] for j in range(n)] for i in range(n)]
    lines = [gain for row in gains for gain in row if np.any(gain)] + list(np.eye(m))
    if m == 2:
        corners = [np.array([line[1], -line[0]]) for line in lines]
    else:
        corners = [np.cross(one, other) for one, other in combinations(lines, 2)]
    corners = [corner / np.abs(corner).sum() for corner in corners if np.abs(corner).sum() > 1e-12]
    angles = np.arange(0.05, 6.3, np.pi if m == 2 else 0.25)
    around = [np.cos(angle) * _PLANE[0] + np.sin(angle) * _PLANE[1] for angle in angles]
    best = 0.0
    for corner in (sign * corner for corner in corners for sign in (1, -1)):
        if corner.min() < -1e-9:
            continue
        for step in around:
            best = max(best, _won(gains, corner + 1e-5 * step[:m]))
    return best


_PLANE = (np.array([1.0, -1.0, 0.0]), np.array([0.5, 0.5, -1.0]))


def _won(gains: list[list[Table]], weights: Table) -> float:
    if weights.min() <= 0:
        return 0.0
    total = 0.0
    for row in gains:
        scores = [gain @ weights for gain in row if np.any(gain)]
        total += all(score > 0 for score in scores) / (len(row) - len(scores))
    return total

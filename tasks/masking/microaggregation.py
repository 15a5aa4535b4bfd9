"""Microaggregation: records in groups of k to 2k − 1, each value the mean of its group, so that variances shrink."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tasks.masking.method import (
    Described,
    Floats,
    Ints,
    Masked,
    MaskedRange,
    MaskingMethod,
    Strengths,
    checked_values,
    random_order,
    rank_range,
    refused,
)
from tasks.request.model import MaskingName

_GROUP_SIZES = Strengths((2, 3, 5, 10, 25, 50, 100), 2.0, 1e6, whole=True)
_ROUNDING = 1e-9


@dataclass(frozen=True)
class IndividualRanking(MaskingMethod):
    """Microaggregation by individual ranking: each attribute by itself, k consecutive values in a group.

    ``k`` is from 2; the last group takes what remains. Which of several equal values fall into one group is drawn.
    """

    name = MaskingName.INDIVIDUAL_RANKING
    title = "Microaggregation by individual ranking"
    plain = "each replaced by the mean of a group of near ones"
    derived = (
        "each value is the mean of at least k neighbours in rank, so that a person's own mean is one of the two "
        "around the original value"
    )
    strengths = _GROUP_SIZES
    parameter_words = (("k", "k {} records at least"),)

    k: int

    def mask(self, values: ArrayLike, generator: np.random.Generator) -> Masked:
        """Mask at least k records of finite numbers up to ±1e140; else ParameterError."""
        original = checked_values(values, fewest=self.k, squared=True)
        masked = np.empty_like(original)
        rank_group = np.minimum(np.arange(len(original)) // self.k, len(original) // self.k - 1)
        for column in range(original.shape[1]):
            groups = np.empty_like(rank_group)
            groups[random_order(original[:, column], generator)] = rank_group
            masked[:, column] = group_means(original[:, [column]], groups)[:, 0]
        return Masked(masked, {"method": "microaggregation by individual ranking", "k": self.k})

    def bounds(self, original: Floats, masked: Floats, *, complete: bool) -> MaskedRange:  # noqa: ARG002
        """Means at the ranks that equal values share (Winkler 2002; Nin, Herranz and Torra 2008)."""
        low, high = rank_range(original, np.sort(original, axis=0))
        means = np.sort(masked, axis=0)
        return MaskedRange(np.take_along_axis(means, low, axis=0), np.take_along_axis(means, high, axis=0))


@dataclass(frozen=True)
class Mdav(MaskingMethod):
    """Microaggregation by MDAV of all attributes together.

    ``k`` is from 2. Distances are between values divided by the standard deviation of their attribute, or, not
    ``standardised``, as they are, where the attribute with the largest variance decides. The method draws nothing: an
    intruder with the original file can run it again (``mdav_groups``).
    """

    name = MaskingName.MDAV
    title = "Microaggregation by MDAV"
    plain = "replaced by the means of groups of records that are alike"
    derived = (
        "nothing is drawn at random: whoever holds the original values of the attributes can form the groups again"
    )
    strengths = _GROUP_SIZES
    parameter_words = (("k", "k {} records at least"), ("distances", "distances {}"))

    k: int
    standardised: bool = True

    def mask(self, values: ArrayLike, generator: np.random.Generator) -> Masked:  # noqa: ARG002 - the common signature
        """Mask at least k records of finite numbers up to ±1e140, varying where standardised; else ParameterError."""
        original = checked_values(values, fewest=self.k, squared=True, varying=self.standardised)
        compared = (original - original.mean(axis=0)) / original.std(axis=0) if self.standardised else original
        described: Described = {
            "method": "microaggregation by MDAV",
            "k": self.k,
            "distances": "between standardised values" if self.standardised else "between the values as they are",
        }
        return Masked(group_means(original, mdav_groups(compared, self.k)), described)

    def bounds(self, original: Floats, masked: Floats, *, complete: bool) -> MaskedRange | None:
        """The group means, half a unit around rounded ones; ParameterError if the masked file was not made by MDAV."""
        if not complete:
            return None
        again = self.mask(original, np.random.default_rng(0)).values
        whole = (masked == np.rint(masked)).all(axis=0)
        slack = np.where(whole, 0.5, 0.0) + _ROUNDING * masked.std(axis=0)
        outside = (np.abs(masked - again) > slack).any(axis=1)
        if outside.any():
            raise refused(
                "the masked file was not made by MDAV",
                "masking",
                "the group means of the method",
                f"{int(outside.sum())} records with others",
            )
        return MaskedRange(again - slack, again + slack)


def mdav_groups(points: Floats, k: int) -> Ints:
    """Group of each point under MDAV-generic with the Euclidean distance (Domingo-Ferrer and Torra 2005, Algorithm 1).

    While at least 3k points are left: take r, farthest from their mean, with the k − 1 nearest to it; then s, farthest
    from r, with the k − 1 nearest to it. Of 2k to 3k − 1 points take r with the k − 1 nearest to it; the others, or
    fewer than 2k, are the last group. At least k points, (n_points, n_dimensions), up to ±1e140. Groups are numbered
    from 0 as they are formed; of equally distant points the lower row is taken.

    The paper's s is sought before r's group is taken, here after; this can matter only where k − 1 points or more are
    exactly as far from r as s.
    """
    left, groups = LivePoints(points), np.empty(len(points), dtype=np.int64)
    formed = 0

    def form(centre: int) -> None:
        nonlocal formed
        groups[left.take(points[centre], k)] = formed
        formed += 1

    while len(left) >= 3 * k:
        r = left.farthest_from_mean()
        form(r)
        form(left.farthest(points[r]))
    if len(left) >= 2 * k:
        form(left.farthest_from_mean())
    groups[left.rows()] = formed
    return groups


def group_means(values: Floats, groups: Ints) -> Floats:
    """Mean of each record's group, in the shape of the values; rounding moves no mean out of its group's values.

    Means have 15 significant digits, as many as a double keeps of any decimal: the others show how the sum was rounded.
    """
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.append(True, np.diff(groups[order]) > 0))
    sizes = np.diff(np.append(starts, len(groups)))
    ordered = values[order]
    exact = np.add.reduceat(ordered, starts, axis=0) / sizes[:, None]
    means = np.array([float(f"{mean:.15g}") for mean in exact.ravel().tolist()]).reshape(exact.shape)
    lowest, highest = (extreme.reduceat(ordered, starts, axis=0) for extreme in (np.minimum, np.maximum))
    result = np.empty_like(values)
    result[order] = np.repeat(np.clip(means, lowest, highest), sizes, axis=0)
    return result


class LivePoints:
    """Points, (n_points, n_dimensions), from which groups are taken away: the farthest that is left, and the nearest.

    Of equal distances the lowest row. Distinct points are in leaves of a k-d tree, whose boxes shrink; a leaf is
    searched only where its box may hold an answer. Bounds are summed in the order in which distances are, so that
    rounding puts no bound on the wrong side. ``farthest`` and ``take`` need a point that is left.
    """

    def __init__(self, points: Floats, leaf_size: int = 256) -> None:
        self._queue = np.lexsort(points.T)
        new = np.append(True, np.any(points[self._queue[1:]] != points[self._queue[:-1]], axis=1))
        first = np.flatnonzero(new)
        leaves = _leaves(points[self._queue[first]], leaf_size)
        order, sizes = np.concatenate(leaves), [len(leaf) for leaf in leaves]
        # Distinct points, by leaf: where their rows begin in the queue, how many are left of them, and their leaf.
        self._front, self._copies = first[order], np.diff(np.append(first, len(points)))[order]
        self._leaf_of = np.repeat(np.arange(len(leaves)), sizes)
        self._slices = [slice(end - size, end) for end, size in zip(np.cumsum(sizes), sizes, strict=True)]
        self._columns = points[self._queue[self._front]].T.copy()
        self._place_of = np.empty(len(points), dtype=np.int64)
        self._place_of[self._queue] = np.argsort(order)[np.cumsum(new) - 1]
        self._is_left = np.ones(len(points), dtype=np.bool_)
        self._low, self._high, self._sums = (np.empty((points.shape[1], len(leaves))) for _ in range(3))
        self._points_of = np.empty(len(leaves), dtype=np.int64)
        self._shrink(range(len(leaves)))

    def __len__(self) -> int:
        return int(self._points_of.sum())

    def rows(self) -> Ints:
        """Rows of the points that are left, ascending."""
        return np.flatnonzero(self._is_left)

    def farthest_from_mean(self) -> int:
        """Row of the point farthest from the mean of those that are left."""
        return self.farthest(self._sums.sum(axis=1) / len(self))

    def farthest(self, centre: Floats) -> int:
        """Row of the point farthest from a centre."""
        bounds = _squared(np.maximum(centre[:, None] - self._low, self._high - centre[:, None]))
        bounds[self._points_of == 0] = -1.0
        _, distances = self._distances([int(bounds.argmax())], centre)
        places, distances = self._distances(np.flatnonzero(bounds >= distances.max()).tolist(), centre)
        return int(self._queue[self._front[places[distances == distances.max()]]].min())

    def take(self, centre: Floats, count: int) -> Ints:
        """Take away the ``count`` points nearest to a centre, all where there are no more; returns their rows."""
        count = min(count, len(self))
        bounds = _squared(np.maximum(np.maximum(self._low - centre[:, None], centre[:, None] - self._high), 0.0))
        bounds[self._points_of == 0] = np.inf
        near = np.argsort(bounds)
        enough = int(np.searchsorted(np.cumsum(self._points_of[near]), count)) + 1
        places, distances = self._distances(near[:enough].tolist(), centre)
        reach = _reach(distances, self._copies[places], count)
        if more := [leaf for leaf in near[enough:].tolist() if bounds[leaf] <= reach]:
            further = self._distances(more, centre)
            places, distances = np.append(places, further[0]), np.append(distances, further[1])
            reach = _reach(distances, self._copies[places], count)
        closer, tied = places[distances < reach], places[distances == reach]
        missing = count - int(self._copies[closer].sum())
        last = np.sort(np.concatenate([self._rows_of(place, missing) for place in tied]))[:missing]
        taken = np.concatenate([*(self._rows_of(place, count) for place in closer), last])
        self._is_left[taken] = False
        touched, counts = np.unique(self._place_of[taken], return_counts=True)
        self._front[touched] += counts
        self._copies[touched] -= counts
        self._shrink(set(self._leaf_of[touched].tolist()))
        return taken

    def _rows_of(self, place: int, count: int) -> Ints:
        """The lowest ``count`` rows that are left of a distinct point."""
        front = self._front[place]
        return self._queue[front : front + min(count, int(self._copies[place]))]

    def _distances(self, leaves: Iterable[int], centre: Floats) -> tuple[Ints, Floats]:
        """Places of the distinct points that some leaves have left, and their distances to a centre."""
        places = np.concatenate([np.arange(self._slices[leaf].start, self._slices[leaf].stop) for leaf in leaves])
        places = places[self._copies[places] > 0]
        return places, _squared(self._columns[:, places] - centre[:, None])

    def _shrink(self, leaves: Iterable[int]) -> None:
        """Bring the boxes, counts and sums of some leaves up to date."""
        for leaf in leaves:
            copies, columns = self._copies[self._slices[leaf]], self._columns[:, self._slices[leaf]]
            self._points_of[leaf] = copies.sum()
            self._sums[:, leaf] = (columns * copies).sum(axis=1)
            if copies.any():
                self._low[:, leaf] = columns.min(axis=1, initial=np.inf, where=copies > 0)
                self._high[:, leaf] = columns.max(axis=1, initial=-np.inf, where=copies > 0)


def _leaves(points: Floats, leaf_size: int) -> list[Ints]:
    """Places of each leaf: halves of the widest dimension until they are small."""
    waiting, leaves = [np.arange(len(points))], []
    while waiting:
        part = waiting.pop()
        if len(part) <= leaf_size:
            leaves.append(part)
            continue
        widest = int(np.ptp(points[part], axis=0).argmax())
        half = len(part) // 2
        order = np.argpartition(points[part, widest], half)
        waiting += [part[order[:half]], part[order[half:]]]
    return leaves


def _squared(differences: Floats) -> Floats:
    """Sum of squares over the first axis, one dimension after the other."""
    total: Floats = differences[0] * differences[0]
    for difference in differences[1:]:
        total = total + difference * difference
    return total


def _reach(distances: Floats, copies: Ints, count: int) -> float:
    """The smallest distance within which there are ``count`` points."""
    order = np.argsort(distances)
    return float(distances[order[np.searchsorted(np.cumsum(copies[order]), count)]])

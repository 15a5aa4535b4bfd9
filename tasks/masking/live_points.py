"""Points from which groups are taken away: the farthest that is left, and the nearest.

The answers are those of a search through all points, of equal distances the lowest row. Only distinct points are
searched, each with its rows, in the leaves of a k-d tree. Bounding boxes shrink as points are taken, and a leaf
is searched only where its box may hold an answer. Bounds are summed in the order in which distances are, so that
rounding, which is monotone, never puts a bound on the wrong side of a distance.
"""

from collections.abc import Iterable

import numpy as np

from tasks.masking.method import Floats, Ints


class LivePoints:
    """Points of shape (n_points, n_dimensions); `farthest` and `take` need at least one that is left."""

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

"""Points from which groups are taken away: the farthest that is left, and the nearest.

The answers are those of a search through all points, of equal distances the lowest row. Only distinct points are
searched, each with its rows. They are kept in leaves of a k-d tree with bounding boxes: a leaf is searched only where
its box may hold an answer. Bounds are summed in the order in which distances are, so that rounding, which is monotone,
never puts a bound on the wrong side of a distance.
"""

import numpy as np

from tasks.masking.method import Floats, Ints

_SLACK = 1e-9
_UNDERFLOW = 1e-150


class LivePoints:
    """Points of shape (n_points, n_dimensions); `farthest` and `take` need at least one that is left."""

    def __init__(self, points: Floats, leaf_size: int = 512) -> None:
        order = np.lexsort(points.T)
        differs = np.any(points[order[1:]] != points[order[:-1]], axis=1)
        starts = np.flatnonzero(np.append(True, differs))
        self._queue = order
        self._place_of = np.empty(len(points), dtype=np.int64)
        self._place_of[order] = np.cumsum(np.append(False, differs))
        self._front = starts
        self._copies = np.diff(np.append(starts, len(points)))
        self._distinct = points[order[starts]]
        self._is_left = np.ones(len(points), dtype=np.bool_)
        self._count = len(points)
        self._leaf_size = leaf_size
        self._build()

    def __len__(self) -> int:
        return self._count

    def rows(self) -> Ints:
        """Rows of the points that are left, ascending."""
        return np.flatnonzero(self._is_left)

    def farthest_from_mean(self) -> int:
        """Row of the point farthest from the mean of those that are left.

        The mean moves little from one query to the next: only points can be farthest whose distance from an earlier
        mean falls short of the largest by at most twice what the mean has moved since.
        """
        mean = self._sums.sum(axis=1) / self._count
        if self._scanned > 4 * len(self._outermost):
            self._sort_by_distance(mean)
        while not self._copies[self._outermost[self._first]]:
            self._first += 1
        largest = -self._negated[self._first]
        moved = float(np.sqrt(_squared(mean - self._reference)))
        least = largest - 2 * moved - _SLACK * (largest + moved) - _UNDERFLOW
        end = int(np.searchsorted(self._negated, -least, side="right"))
        self._scanned += end - self._first
        candidates = self._outermost[self._first : end]
        candidates = candidates[self._copies[candidates] > 0]
        distances = _squared(self._distinct[candidates].T - mean[:, None])
        return self._lowest_row(candidates[distances == distances.max()])

    def farthest(self, centre: Floats) -> int:
        """Row of the point farthest from a centre."""
        bounds = _squared(np.maximum(centre[:, None] - self._low, self._high - centre[:, None]))
        bounds[self._sizes == 0] = -1.0
        best, row = -1.0, -1
        while bounds[leaf := int(bounds.argmax())] >= max(best, 0.0):
            bounds[leaf] = -1.0
            distances = self._distances(leaf, centre)
            largest = float(distances.max())
            if largest >= best:
                lowest = self._lowest_row(self._members(leaf)[distances == largest])
                row = lowest if largest > best else min(row, lowest)
                best = largest
        return row

    def take(self, centre: Floats, count: int) -> Ints:
        """Take away the ``count`` points nearest to a centre, all where there are no more; returns their rows."""
        count = min(count, self._count)
        places, distances = self._near(centre, count)
        reach = _reach(distances, self._copies[places], count)
        closer, tied = places[distances < reach], places[distances == reach]
        missing = count - int(self._copies[closer].sum())
        last = np.sort(np.concatenate([self._rows_of(place, missing) for place in tied]))[:missing]
        taken = np.concatenate([*(self._rows_of(place, count) for place in closer), last])
        self._is_left[taken] = False
        self._count -= count
        touched, counts = np.unique(self._place_of[taken], return_counts=True)
        self._front[touched] += counts
        self._copies[touched] -= counts
        self._tidy(self._leaf_of[touched])
        return taken

    def _near(self, centre: Floats, count: int) -> tuple[Ints, Floats]:
        """Distinct points among which are the ``count`` nearest to a centre, and their distances."""
        bounds = _squared(np.maximum(np.maximum(self._low - centre[:, None], centre[:, None] - self._high), 0.0))
        bounds[self._sizes == 0] = np.inf
        leaves, found = [], 0
        while found < count:
            leaf = int(bounds.argmin())
            bounds[leaf] = np.inf
            leaves.append(leaf)
            found += int(self._points_of[leaf])
        places, distances = self._nearest_of(leaves, centre, count)
        if more := np.flatnonzero(bounds <= _reach(distances, self._copies[places], count)).tolist():
            more_places, more_distances = self._nearest_of(more, centre, count)
            return np.append(places, more_places), np.append(distances, more_distances)
        return places, distances

    def _nearest_of(self, leaves: list[int], centre: Floats, count: int) -> tuple[Ints, Floats]:
        """The ``count`` nearest distinct points of some leaves, with all that are as far as the last of them."""
        places = np.concatenate([self._members(leaf) for leaf in leaves])
        distances = np.concatenate([self._distances(leaf, centre) for leaf in leaves])
        if len(distances) > count:
            within = np.flatnonzero(distances <= np.partition(distances, count - 1)[count - 1])
            return places[within], distances[within]
        return places, distances

    def _rows_of(self, place: int, count: int) -> Ints:
        """The lowest ``count`` rows that are left of a distinct point."""
        front = self._front[place]
        return self._queue[front : front + min(count, int(self._copies[place]))]

    def _lowest_row(self, places: Ints) -> int:
        return int(self._queue[self._front[places]].min())

    def _tidy(self, leaves: Ints) -> None:
        """Bring leaves up to date whose points were taken; all are built anew once half their points are gone."""
        for leaf in set(leaves.tolist()):
            self._compact(leaf)
        if 0 < 2 * self._places_left < len(self._places):
            self._build()

    def _build(self) -> None:
        leaves = _leaves(self._distinct, np.flatnonzero(self._copies), self._leaf_size)
        self._places = np.concatenate(leaves)
        self._columns = self._distinct[self._places].T.copy()
        self._places_left = len(self._places)
        self._sizes = np.array([len(leaf) for leaf in leaves])
        self._starts = np.cumsum(self._sizes) - self._sizes
        self._leaf_of = np.empty(len(self._distinct), dtype=np.int64)
        self._leaf_of[self._places] = np.repeat(np.arange(len(leaves)), self._sizes)
        copies = self._copies[self._places]
        self._low = np.minimum.reduceat(self._columns, self._starts, axis=1)
        self._high = np.maximum.reduceat(self._columns, self._starts, axis=1)
        self._points_of = np.add.reduceat(copies, self._starts)
        self._sums = np.add.reduceat(self._columns * copies, self._starts, axis=1)
        self._sort_by_distance(self._sums.sum(axis=1) / self._count)

    def _sort_by_distance(self, mean: Floats) -> None:
        places = np.flatnonzero(self._copies)
        distances = np.sqrt(_squared(self._distinct[places].T - mean[:, None]))
        order = np.argsort(-distances)
        self._reference, self._outermost, self._negated = mean, places[order], -distances[order]
        self._first = self._scanned = 0

    def _compact(self, leaf: int) -> None:
        start, end = self._starts[leaf], self._starts[leaf] + self._sizes[leaf]
        copies = self._copies[self._places[start:end]]
        columns = self._columns[:, start:end]
        if not copies.all():
            keep = copies > 0
            copies, columns = copies[keep], columns[:, keep]
            size = len(copies)
            self._sizes[leaf] = size
            self._places_left -= end - start - size
            self._places[start : start + size] = self._places[start:end][keep]
            self._columns[:, start : start + size] = columns
            if size:
                self._low[:, leaf] = columns.min(axis=1)
                self._high[:, leaf] = columns.max(axis=1)
        self._points_of[leaf] = copies.sum()
        self._sums[:, leaf] = (columns * copies).sum(axis=1)

    def _members(self, leaf: int) -> Ints:
        return self._places[self._starts[leaf] : self._starts[leaf] + self._sizes[leaf]]

    def _distances(self, leaf: int, centre: Floats) -> Floats:
        start = self._starts[leaf]
        return _squared(self._columns[:, start : start + self._sizes[leaf]] - centre[:, None])


def _leaves(points: Floats, places: Ints, leaf_size: int) -> list[Ints]:
    """Places of each leaf: halves of the widest dimension until they are small."""
    waiting, leaves = [places], []
    while waiting:
        part = waiting.pop()
        if len(part) <= leaf_size:
            leaves.append(part)
            continue
        of_part = points[part]
        widest = int(np.ptp(of_part, axis=0).argmax())
        half = len(part) // 2
        order = np.argpartition(of_part[:, widest], half)
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

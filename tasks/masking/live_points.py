"""Points from which groups are taken away, asked for the farthest and the nearest ones that are left.

The answers are those of a search through all points, ties to the lowest row. Points are kept in leaves of a k-d tree
with their bounding boxes: a leaf is searched only where its box may hold an answer. Bounds are summed in the order in
which distances are, so that rounding, which is monotone, never puts a bound on the wrong side of a distance.
"""

import numpy as np

from tasks.masking.masked import Floats, Ints

_SLACK = 1e-9
_UNDERFLOW = 1e-150


class LivePoints:
    """Points of shape (n_points, n_dimensions); every query needs at least one point that is left."""

    def __init__(self, points: Floats, leaf_size: int = 512) -> None:
        self._points = points
        self._leaf_size = leaf_size
        self._left = np.ones(len(points), dtype=np.bool_)
        self._count = len(points)
        self._build()

    def __len__(self) -> int:
        return self._count

    def rows(self) -> Ints:
        """Rows of the points that are left, ascending."""
        return np.flatnonzero(self._left)

    def farthest_from_mean(self) -> int:
        """Row of the point farthest from the mean of those that are left.

        The mean moves little from one query to the next: only points can be farthest whose distance from an earlier
        mean falls short of the largest by at most twice what the mean has moved since.
        """
        mean = self._sums.sum(axis=1) / self._count
        if self._scanned > 4 * len(self._outermost):
            self._sort_by_distance(mean)
        while not self._left[self._outermost[self._first]]:
            self._first += 1
        largest = -self._negated[self._first]
        moved = float(np.sqrt(_squared(mean - self._reference)))
        least = largest - 2 * moved - _SLACK * (largest + moved) - _UNDERFLOW
        end = int(np.searchsorted(self._negated, -least, side="right"))
        self._scanned += end - self._first
        candidates = self._outermost[self._first : end]
        candidates = candidates[self._left[candidates]]
        distances = _squared(self._points[candidates].T - mean[:, None])
        return int(candidates[distances == distances.max()].min())

    def farthest(self, centre: Floats) -> int:
        """Row of the point farthest from a centre."""
        bounds = _squared(np.maximum(centre[:, None] - self._low, self._high - centre[:, None]))
        bounds[self._sizes == 0] = -1.0
        best, row = -1.0, -1
        while bounds[leaf := int(bounds.argmax())] >= max(best, 0.0):
            bounds[leaf] = -1.0
            distances = self._distances(leaf, centre)
            at = int(distances.argmax())
            candidate = int(self._members(leaf)[at])
            if distances[at] > best or (distances[at] == best and candidate < row):
                best, row = float(distances[at]), candidate
        return row

    def nearest(self, centre: Floats, count: int) -> Ints:
        """Rows of the ``count`` points nearest to a centre, nearest first; all where there are no more."""
        bounds = _squared(np.maximum(np.maximum(self._low - centre[:, None], centre[:, None] - self._high), 0.0))
        bounds[self._sizes == 0] = np.inf
        leaves, found = [], 0
        while found < min(count, self._count):
            leaf = int(bounds.argmin())
            bounds[leaf] = np.inf
            leaves.append(leaf)
            found += int(self._sizes[leaf])
        rows, distances = self._gathered(leaves, centre)
        reach = _kth(distances, count)
        if closer := np.flatnonzero(bounds <= reach).tolist():
            more_rows, more_distances = self._gathered(closer, centre)
            rows, distances = np.append(rows, more_rows), np.append(distances, more_distances)
            reach = _kth(distances, count)
        within = np.flatnonzero(distances <= reach)
        nearest: Ints = rows[within][np.lexsort((rows[within], distances[within]))[:count]]
        return nearest

    def remove(self, rows: Ints) -> None:
        """Take points away."""
        self._left[rows] = False
        self._count -= len(rows)
        if 0 < 2 * self._count < len(self._rows):
            self._build()
            return
        for leaf in set(self._leaf_of[rows].tolist()):
            self._compact(leaf)

    def _build(self) -> None:
        leaves = _leaves(self._points, self.rows(), self._leaf_size)
        self._rows = np.concatenate(leaves)
        self._columns = self._points[self._rows].T.copy()
        self._sizes = np.array([len(leaf) for leaf in leaves])
        self._starts = np.cumsum(self._sizes) - self._sizes
        self._leaf_of = np.empty(len(self._points), dtype=np.int64)
        self._leaf_of[self._rows] = np.repeat(np.arange(len(leaves)), self._sizes)
        self._low = np.minimum.reduceat(self._columns, self._starts, axis=1)
        self._high = np.maximum.reduceat(self._columns, self._starts, axis=1)
        self._sums = np.add.reduceat(self._columns, self._starts, axis=1)
        self._sort_by_distance(self._sums.sum(axis=1) / self._count)

    def _sort_by_distance(self, mean: Floats) -> None:
        rows = self.rows()
        distances = np.sqrt(_squared(self._points[rows].T - mean[:, None]))
        order = np.argsort(-distances)
        self._reference, self._outermost, self._negated = mean, rows[order], -distances[order]
        self._first = self._scanned = 0

    def _compact(self, leaf: int) -> None:
        start, end = self._starts[leaf], self._starts[leaf] + self._sizes[leaf]
        keep = self._left[self._rows[start:end]]
        size = int(keep.sum())
        self._sizes[leaf] = size
        if size == 0:
            self._sums[:, leaf] = 0.0
            return
        self._rows[start : start + size] = self._rows[start:end][keep]
        columns = self._columns[:, start:end][:, keep]
        self._columns[:, start : start + size] = columns
        self._low[:, leaf] = columns.min(axis=1)
        self._high[:, leaf] = columns.max(axis=1)
        self._sums[:, leaf] = columns.sum(axis=1)

    def _members(self, leaf: int) -> Ints:
        return self._rows[self._starts[leaf] : self._starts[leaf] + self._sizes[leaf]]

    def _distances(self, leaf: int, centre: Floats) -> Floats:
        start = self._starts[leaf]
        return _squared(self._columns[:, start : start + self._sizes[leaf]] - centre[:, None])

    def _gathered(self, leaves: list[int], centre: Floats) -> tuple[Ints, Floats]:
        rows = [self._members(leaf) for leaf in leaves]
        distances = [self._distances(leaf, centre) for leaf in leaves]
        return np.concatenate(rows), np.concatenate(distances)


def _leaves(points: Floats, rows: Ints, leaf_size: int) -> list[Ints]:
    """Rows of each leaf, ascending: halves of the widest dimension until they are small."""
    waiting, leaves = [rows], []
    while waiting:
        part = waiting.pop()
        if len(part) <= leaf_size:
            leaves.append(np.sort(part))
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


def _kth(distances: Floats, count: int) -> float:
    """The count-th smallest distance, or the largest where there are fewer."""
    place = min(count, len(distances)) - 1
    return float(np.partition(distances, place)[place])

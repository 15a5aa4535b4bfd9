"""The small-cell rule, held by the report's own tables and figures.

A count of 1 to limit − 1 people or records is not shown, and neither is anything shown from which such a count
follows: its complement in a known total, its share, or the one gap in a breakdown. Zero may be shown (CMS Cell Size
Suppression Policy: limit 11). Probabilities and expected values are not counts and are shown.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from reports import numbers
from tasks.decision.record import Bin

HIDDEN = "not shown"


@dataclass(frozen=True)
class SmallCellRule:
    """The rule with its limit.

    Parameters
    ----------
    limit : int
        Smallest count that may be shown.
    """

    limit: int

    def hides(self, count: int) -> bool:
        """Whether a count is too small to be shown."""
        return 0 < count < self.limit

    def count(self, count: int) -> str:
        """A count that is part of no known total."""
        return f"<{self.limit}" if self.hides(count) else numbers.integer(count)

    def part(self, count: int, total: int) -> str:
        """A count out of a total that the report shows: neither it nor its complement may be small."""
        if self.hides(count):
            return f"<{self.limit}"
        if self.hides(total - count):
            return f">{numbers.integer(total - self.limit)}" if total > self.limit else HIDDEN
        return numbers.integer(count)

    def share(self, share: float, total: int) -> str:
        """A share of a total that the report shows, as a percentage, or the bound that the rule leaves of it."""
        bounded = self.bounded(share, total)
        if bounded == share:
            return numbers.percent(share)
        if total <= self.limit:
            return HIDDEN
        return f"{'<' if share < bounded else '>'}{numbers.percent(bounded)}"

    def bounded(self, share: float, total: int) -> float:
        """The share itself, or where its count is small the share of the smallest count that may be shown."""
        count = round(share * total)
        if self.hides(count):
            return min(1.0, self.limit / total)
        if self.hides(total - count):
            return max(0.0, 1 - self.limit / total)
        return share

    def breakdown(self, counts: Sequence[int]) -> tuple[str, ...]:
        """Counts that add up to a total which the report shows.

        Small counts read ``<limit``. While one of them could be worked out from the total, the next smallest count is
        withheld too. Where nothing is left to withhold, every hidden count reads alike.
        """
        small = {index for index, count in enumerate(counts) if self.hides(count)}
        further = sorted((count, index) for index, count in enumerate(counts) if count >= self.limit)
        withheld: set[int] = set()
        while small and self._follows(counts, small, withheld) and further:
            withheld.add(further.pop(0)[1])
        label = HIDDEN if small and self._follows(counts, small, withheld) else f"<{self.limit}"
        return tuple(
            label if index in small else HIDDEN if index in withheld else numbers.integer(count)
            for index, count in enumerate(counts)
        )

    def _follows(self, counts: Sequence[int], small: set[int], withheld: set[int]) -> bool:
        """Whether a small count is the only one that fits the total, given what the labels say of all hidden ones."""
        hidden = sum(counts[index] for index in small | withheld)
        others = len(small) - 1
        highest = min(self.limit - 1, hidden - others - len(withheld) * self.limit)
        lowest = 1 if withheld else max(1, hidden - others * (self.limit - 1))
        return lowest >= highest

    def bins(self, bins: Sequence[Bin]) -> tuple[Bin, ...]:
        """A histogram whose bins each hold no record or at least ``limit``: small bins are joined to neighbours.

        Empty when the histogram holds fewer records than the limit.
        """
        if sum(part.records for part in bins) < self.limit:
            return ()
        joined: list[Bin] = []
        for part in bins:
            if joined and (self.hides(joined[-1].records)):
                joined[-1] = _join(joined[-1], part)
            else:
                joined.append(part)
        while self.hides(joined[-1].records):
            last = joined.pop()
            joined[-1] = _join(joined[-1], last)
        return tuple(joined)


def _join(left: Bin, right: Bin) -> Bin:
    return Bin(low=left.low, high=right.high, records=left.records + right.records)

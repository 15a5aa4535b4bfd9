"""The small-cell rule, held by the report's own tables and figures.

A count of 1 to limit − 1 people or records is not shown, and neither is anything from which one follows: its complement
in a known total, its share, or the one gap in a breakdown. Zero, probabilities and expected values may be shown (CMS
Cell Size Suppression Policy: limit 11). So the highest risk is exact, though the size of one class follows from it:
gates judge by it, and it does not show how many people are in such classes, or who.

A hidden count enters no other figure either, as the difference of two printed figures would be that count: where few
records were left out, a share of records without a value counts those that leave alone, a number of released records
is a bound, and a mean over records is rounded to a step of at least ``limit`` of them. A share that is rounded so is
called “about”: its digits promise no more. A bound has two digits, so that the total that it is of does not follow.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from reports.model import numbers
from tasks.core.fact import Bin
from tasks.decision.written_figures import least_share

HIDDEN = "not shown"
NO_FILE = "no file"
_ROUNDING = 1e-6


@dataclass(frozen=True)
class SmallCellRule:
    """The rule, with the smallest count that may be shown."""

    limit: int

    def hides(self, count: float) -> bool:
        """Whether a count is too small to be shown; one that shared ties make fractional is held to the same limit."""
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
        count = counted(share, total)
        if self.hides(count):
            return least_share(self.limit, total)
        if self.hides(total - count):
            return 1 - least_share(self.limit, total)
        return share

    def mean(
        self, value: float | None, total: int, released: int, *, whole: float, written: Callable[[float], str]
    ) -> str:
        """A mean over records that came in to which suppressed ones add nothing, and others ``whole`` at most.

        Where few were suppressed, it is rounded to a step of ``whole``: else their number would follow from it.
        """
        if value is None:
            return NO_FILE
        if not self.hides(total - released):
            return written(value)
        step = self.step(total)
        if step is None:
            return HIDDEN
        return written(round(value / (step * whole)) * step * whole)

    def step(self, total: int, *, least: float = 0.0) -> float | None:
        """The finest step of shares of a total by which no small count is disclosed; None where every step would."""
        return numbers.grain(max(self.limit / total, least))

    def stepped(self, share: float, step: float | None) -> str:
        """A share rounded to a step of `step`, as a percentage that does not seem exact."""
        if step is None:
            return HIDDEN
        return f"about {round(share / step) * step * 100:.{1 if step < 0.01 else 0}f}%"

    def breakdown(self, counts: Sequence[int]) -> tuple[str, ...]:
        """Counts that add up to a total which the report shows.

        Small counts are hidden; so are the next smallest, equal ones together, while a hidden count would follow from
        the total or all hidden ones together are small. Hidden counts read ``<limit`` where the small ones are enough,
        else all alike, so that this rule itself reveals none.
        """
        small = [count for count in counts if self.hides(count)]
        hidden = set(small)
        larger = sorted({count for count in counts if count >= self.limit})
        while small and larger and self._discloses([count for count in counts if count in hidden], small):
            hidden.add(larger.pop(0))
        members = [count for count in counts if count in hidden]
        label = f"<{self.limit}" if members == small and not self._discloses(members, small) else HIDDEN
        return tuple(label if count in hidden else numbers.integer(count) for count in counts)

    def _discloses(self, hidden: Sequence[int], small: Sequence[int]) -> bool:
        """Whether the sum of the hidden counts reveals one of them, or is small itself."""
        total = sum(hidden)
        if len(hidden) < 2 or total < self.limit:
            return True
        return len(hidden) == len(small) and total in (len(small), len(small) * (self.limit - 1))

    def bins(self, bins: Sequence[Bin]) -> tuple[Bin, ...]:
        """A histogram whose small bins are joined to neighbours; empty if it holds fewer records than the limit."""
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


def counted(share: float, total: int) -> float:
    """The count that a share stands for: whole where it is one but for rounding, else as fractional as it is.

    >>> counted(3 / 32561, 32561), counted(0.4 / 2000, 2000)
    (3.0, 0.4)
    """
    count = share * total
    return float(round(count)) if abs(count - round(count)) < _ROUNDING else count


def _join(left: Bin, right: Bin) -> Bin:
    return Bin(low=left.low, high=right.high, records=left.records + right.records)

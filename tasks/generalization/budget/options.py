"""A multiple-choice knapsack: each group of equal units chooses among options that pay and use up limits.

Units are the records of a distinct tuple (which may be split among options), whole tuples, or regions of a partition.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tasks.generalization.game import Floats
from tasks.microdata.tuples import Counts

Places = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Options:
    """Options of all groups one after the other; every group has at least one."""

    payoffs: Floats
    """Publisher's payoff of one unit at each option, shape (n_options,)."""
    usage: Floats
    """Use of each limit by one unit at each option, at least 0; shape (n_limits, n_options)."""
    starts: Places
    """First option of each group, shape (n_groups,)."""
    units: Counts
    """Units of each group, shape (n_groups,)."""
    label: Counts
    """Label of each option, shape (n_options,)."""

    @cached_property
    def group(self) -> Places:
        """Group of each option."""
        return np.repeat(np.arange(len(self.starts)), np.diff(self.starts, append=len(self.payoffs)))

    @cached_property
    def regret(self) -> Floats:
        """Payoff lost by one unit at each option against the best of its group."""
        best = np.maximum.reduceat(self.payoffs, self.starts)
        lost: Floats = best[self.group] - self.payoffs
        return lost

    def chosen(self, worth: Floats) -> Places:
        """Option of each group with the greatest worth, the first among equals."""
        best = np.maximum.reduceat(worth, self.starts)
        places = np.where(worth == best[self.group], np.arange(len(worth)), len(worth))
        first: Places = np.minimum.reduceat(places, self.starts)
        return first

    def kept(self, which: NDArray[np.bool_]) -> tuple["Options", Places, Places]:
        """The options that a mask keeps, their places here, and the groups that have any."""
        places = np.flatnonzero(which)
        groups, starts = np.unique(self.group[places], return_index=True)
        options = Options(self.payoffs[places], self.usage[:, places], starts, self.units[groups], self.label[places])
        return options, places, groups

    def whole(self) -> "Options":
        """The same with each group as one unit, which is not split."""
        times = self.units[self.group]
        return Options(self.payoffs * times, self.usage * times, self.starts, np.ones_like(self.units), self.label)

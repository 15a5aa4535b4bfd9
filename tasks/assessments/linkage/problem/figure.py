"""The figure of an attack: never a bare share, but with its interval, its count and what guessing would reach."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from tasks.core.wilson import CONFIDENCE, wilson

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Linkage:
    """Number of the intruder's records that an attack links to their own masked record.

    Of ``n`` records, ``expected_correct`` are linked correctly; a tie counts 1/size where the truth is among the tied.
    ``baseline`` is the share that guessing reaches, 1 over the number of masked records. ``single_candidates`` are left
    with one candidate, right or wrong; ``certain_matches`` with the right one. ``no_candidates`` are left with none:
    the method or its parameter is not what the intruder takes it for. Of people drawn in groups, who are alike,
    ``independent`` ones would tell as much. ``bound``: no attack of this kind links more, and this one may link fewer.
    """

    expected_correct: float
    n: int
    baseline: float
    certain_matches: int = 0
    single_candidates: int = 0
    no_candidates: int = 0
    independent: float | None = None
    bound: bool = False

    @property
    def share_correct(self) -> float:
        """Expected share of correct links, 0 to 1."""
        return self.expected_correct / self.n

    @property
    def certain_share(self) -> float:
        """Share of records that are matched with certainty, 0 to 1."""
        return self.certain_matches / self.n

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson score interval of ``share_correct`` at ``CONFIDENCE``."""
        n = self.n if self.independent is None else self.independent
        return wilson(self.share_correct * n, n)

    @property
    def proves_something(self) -> bool:
        """Whether the interval lies above guessing; if not, the attack says nothing about how safe the file is."""
        return self.interval[0] > self.baseline


def together(parts: Sequence[Linkage], baseline: float, *, bound: bool, drawn: bool) -> Linkage:
    """One figure of people attacked in several parts; ``drawn`` where the parts are a random sample of all.

    The variance of a drawn share is that between random groups (Wolter 2007, chapter 2), a ratio's, with Student's
    quantile in place of the normal one; it is given as the people who would show as much drawn one by one.
    """
    correct, n = (np.array([[one.expected_correct, one.n] for one in parts])).T
    share, groups, independent = float(correct.sum() / n.sum()), len(parts), None
    variance = groups / max(groups - 1, 1) * float(((correct - share * n) ** 2).sum()) / float(n.sum()) ** 2
    if drawn and variance > 0:
        level = 0.5 + CONFIDENCE / 2
        wider = scipy.special.stdtrit(max(groups - 1, 1), level) / scipy.special.ndtri(level)
        independent = min(share * (1 - share) / (variance * float(wider) ** 2), float(n.sum()))
    certain, single, none = (
        sum(getattr(one, name) for one in parts) for name in ("certain_matches", "single_candidates", "no_candidates")
    )
    return Linkage(float(correct.sum()), int(n.sum()), baseline, certain, single, none, independent, bound)


def linkage(
    credit: Floats, n_masked: int, set_sizes: NDArray[np.int64] | None = None, counts: NDArray[np.int64] | None = None
) -> Linkage:
    """The figure of an attack, from arrays of shape (n_records,).

    ``credit`` is 1/size of the tie that holds the truth, 0 where it does not; ``set_sizes`` the candidates that the
    intruder is left with by reasoning, before any distance; ``counts`` the records that each entry stands for, one
    where not given.
    """
    counts = np.ones(len(credit), dtype=np.int64) if counts is None else counts
    sizes = np.full(len(credit), -1) if set_sizes is None else set_sizes
    alone = sizes == 1
    certain, single = int(counts[alone & (credit > 0)].sum()), int(counts[alone].sum())
    none = int(counts[sizes == 0].sum())
    return Linkage(math.fsum((counts * credit).tolist()), int(counts.sum()), 1 / n_masked, certain, single, none)

"""Whether the sizes of decoy classes give them away: the Kolmogorov-Smirnov distance with a permutation test."""

from dataclasses import dataclass

import numpy as np

from tasks.core.errors import ParameterError
from tasks.decoys.generalized_release import Floats
from tasks.microdata.tuples import Counts

_PERMUTATIONS = 999


@dataclass(frozen=True)
class SizeTest:
    """Class sizes of decoys against those of released classes."""

    distance: float
    """Largest difference of the two distribution functions, 0 to 1."""
    p_value: float
    """Share of random divisions of the classes with a distance as large, from 1/1000; a small one separates them."""


def size_test(decoys: Counts, released: Counts, generator: np.random.Generator) -> SizeTest:
    """Compare two sets of class sizes.

    Parameters
    ----------
    decoys, released : arrays of shape (n_classes,)
        Sizes, from 1.
    generator : numpy.random.Generator
        Gives the divisions. Sizes are whole numbers with many ties, which the usual tables are not made for.

    Raises
    ------
    ParameterError
        If there are no classes of one kind.
    """
    if min(len(decoys), len(released)) == 0:
        raise ParameterError(
            "there are no sizes to compare",
            where="decoy and released classes",
            expected="at least one of each",
            got=f"{len(decoys)} and {len(released)}",
            fix="draw decoys of a release that has classes",
        )
    values, value = np.unique(np.concatenate([decoys, released]), return_inverse=True)
    counts = np.bincount(value, minlength=len(values))
    own = np.bincount(value[: len(decoys)], minlength=len(values))[None, :]
    observed = float(_distances(own, counts, len(decoys))[0])
    divided = generator.multivariate_hypergeometric(counts, len(decoys), size=_PERMUTATIONS, method="marginals")
    as_large = np.count_nonzero(_distances(divided, counts, len(decoys)) >= observed - 1e-12)
    return SizeTest(observed, (int(as_large) + 1) / (_PERMUTATIONS + 1))


def _distances(drawn: Counts, counts: Counts, number: int) -> Floats:
    rest = counts.sum() - number
    gaps = np.cumsum(drawn, axis=1) / number - np.cumsum(counts - drawn, axis=1) / rest
    distances: Floats = np.abs(gaps).max(axis=1)
    return distances

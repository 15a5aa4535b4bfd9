"""Access that is paid once by an adversary who knows how frequent each group is, and not how many of it are listed.

The belief is binomial (Xia et al. 2015, eq. 6): n_ext = πT of T people are listed, each with the group's density. With
a register n_ext is counted. Where only a prior is declared, a higher π also lets each group hold more candidates, so
the worth of access may fall as π rises. A gate must not pass because a prior was raised, so the worth is judged at the
prior, up to the declared one, at which it is highest.

That is bounded on cells of priors whose edges depend on nothing. In a cell from π' to π, W(g) is at most that at π, and
falls with g from W(1); of numbers between n' and n, P(X ≤ g) is highest at n', P(X = 0) lowest at n. Hence, summing by
parts, E[W(X)] ≤ E'[W(X)] + W(1)·(P'(X = 0) − P(X = 0)), primes at n' and all W at π. The bound grows with π, within a
cell and from cell to cell, and is not below the worth at π itself. In a small population a cell is all the priors of
one n, and the bound is the highest worth.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tasks.adversary.fmdp import expected_linked_values, linked_values
from tasks.adversary.group_sizes import expected_listed
from tasks.adversary.profile import AdversaryProfile, Floats

_EDGES = 1.03 ** -np.arange(156.0)
"""Priors from 1 down to 0.01."""
_SMALL = 200


def least_favourable_belief(
    profile: AdversaryProfile,
    densities: Floats,
    records: NDArray[np.int64],
    population: int,
    threshold: float | None = None,
) -> float:
    """Upper bound, over all priors to the profile's, of the expected W of all records, Σ records · E[W].

    ``densities``: share of the population that each group is, shape (n_groups,); ``records``: of each group;
    ``population``: T, people in all; ``threshold``: where given, it is only found on which side of it the bound is.
    Raises ``ParameterError`` if the plan cannot be solved in reasonable time.
    """
    found = 0.0
    least, enough = (0.0, np.inf) if threshold is None else (threshold, threshold)
    for top, fewest, most in _cells(profile.prior, population):
        cell = replace(profile, prior=top)
        alone, present = float(linked_values(cell, 1)), 1 - (1 - densities) ** most
        # W(1) wherever somebody is listed is no less than in this cell or any lower one.
        if alone * float(records @ present) <= max(found, least) or found > enough:
            break
        absent = (1 - densities) ** fewest - (1 - densities) ** most
        values = expected_linked_values(cell, densities, fewest) + alone * absent
        found = max(found, float(records @ values))
    return found


def _cells(prior: float, population: int) -> Iterator[tuple[float, int, int]]:
    """Cells of priors from the highest: the upper edge, and the fewest and most people listed."""
    if population <= _SMALL:
        for listed in range(expected_listed(prior, population), 0, -1):
            yield min(prior, (listed + 0.5) / population), listed, listed
        return
    lower = _EDGES[prior > _EDGES].tolist()
    for top, bottom in pairwise([prior, *lower, 0.0]):
        yield top, expected_listed(bottom, population), expected_listed(top, population)

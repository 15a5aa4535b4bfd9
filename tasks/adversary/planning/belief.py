"""The adversary's belief about the size of the target's group before seeing the external data."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from tasks.adversary.adversary import Floats

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Belief:
    """Group sizes held possible, in ascending order, and their probabilities.

    The probabilities may fall short of 1 a little: what a truncated distribution leaves out. Sizes that are left out
    are worth nothing to the adversary.
    """

    sizes: Integers
    """Array of shape (n_sizes,)."""
    probabilities: Floats
    """Array of shape (n_sizes,), each greater than 0."""

    @classmethod
    def of(cls, probabilities: Mapping[int, float]) -> "Belief":
        """The belief with these probabilities by group size."""
        held = sorted((size, probability) for size, probability in probabilities.items() if probability)
        sizes, chances = zip(*held, strict=True)
        return cls(np.array(sizes, dtype=np.int64), np.array(chances, dtype=np.float64))


def known_size(size: int) -> Belief:
    """The belief of an adversary who knows the group's size (the known group model, section 6.2)."""
    return Belief.of({size: 1.0})


def truncated_binomial(external_size: int, density: float, *, smallest: float = 2e-9) -> Belief:
    """Group size among ``external_size`` people drawn from the population (the unknown group model, eq. 6).

    Parameters
    ----------
    external_size : int
        n, people in the external data; from 1.
    density : float
        P(r[QI]), share of the population that has the target's quasi-identifiers; between 0 and 1, neither of them.
    smallest : float
        Sizes less probable than this are left out, in both tails; with ten million people they hold less than one in a
        million together.
    """
    mean = external_size * density
    reach = 10 * math.sqrt(mean * (1 - density)) + 40
    sizes = np.arange(max(0, math.floor(mean - reach)), min(external_size, math.ceil(mean + reach)) + 1)
    probabilities = binom.pmf(sizes, external_size, density)
    held = probabilities >= smallest
    return Belief(sizes[held], probabilities[held])

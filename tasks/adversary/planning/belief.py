"""The adversary's belief about the size of the target's group before seeing the external data."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binom

from tasks.adversary.adversary import Floats
from tasks.adversary.group_sizes import checked_people
from tasks.core.errors import ParameterError

Integers = NDArray[np.int64]
Beliefs = Mapping[int, float] | ArrayLike

_TRUNCATED = 2e-9
_MISSING = 1e-4
_ROUNDING = 1e-9
_MOST_PEOPLE = 10**10


@dataclass(frozen=True)
class Belief:
    """Group sizes held possible, in ascending order, and their probabilities.

    The probabilities may fall short of 1 by up to one in ten thousand: what a truncated distribution leaves out. Sizes
    that are left out are worth nothing to the adversary.

    Raises
    ------
    ParameterError
        If there is no size, a size is not a whole number from 0, or the probabilities are not those of a distribution.
    """

    sizes: Integers
    """Array of shape (n_sizes,)."""
    probabilities: Floats
    """Array of shape (n_sizes,), each greater than 0."""

    def __post_init__(self) -> None:
        if not np.isfinite(self.probabilities).all() or (self.probabilities < 0).any():
            raise _refused("probabilities that are finite numbers from 0", "a negative or not finite number")
        total = float(self.probabilities.sum())
        if not 1 - _MISSING <= total <= 1 + _ROUNDING:
            raise _refused("probabilities that add up to 1", f"a sum of {total:.9g}")


def as_belief(belief: Beliefs | Belief) -> Belief:
    """A belief in one form.

    Parameters
    ----------
    belief : mapping, array-like of shape (n_sizes,) or Belief
        Probability by group size; in an array the position, from 0, is the size.

    Raises
    ------
    ParameterError
        See :class:`Belief`.
    """
    if isinstance(belief, Belief):
        return belief
    if isinstance(belief, Mapping):
        ordered = sorted(checked_size(size, "belief") for size in belief)
        sizes = np.array(ordered, dtype=np.int64)
        probabilities = np.array([belief[size] for size in ordered], dtype=np.float64)
    else:
        probabilities = np.asarray(belief, dtype=np.float64)
        if probabilities.ndim != 1:
            raise _refused("one probability a group size", f"an array of {probabilities.ndim} dimensions")
        sizes = np.arange(len(probabilities))
    held = probabilities != 0
    return Belief(sizes[held], probabilities[held])


def known_size(size: int) -> Belief:
    """The belief of an adversary who knows the group's size (the known group model, section 6.2)."""
    return as_belief({size: 1.0})


def truncated_binomial(external_size: int, density: float, *, smallest: float = _TRUNCATED) -> Belief:
    """Group size among ``external_size`` people drawn from the population (the unknown group model, eq. 6).

    Parameters
    ----------
    external_size : int
        n, people in the external data; from 1 to ten thousand million.
    density : float
        P(r[QI]), share of the population that has the target's quasi-identifiers; between 0 and 1, neither of them.
    smallest : float
        Sizes less probable than this are left out, in both tails; with ten million people they hold less than one in a
        million together.

    Raises
    ------
    ParameterError
        If a parameter is outside its range.
    """
    people = checked_people(external_size, "external_size", _MOST_PEOPLE)
    if not (math.isfinite(density) and 0 < density < 1):
        raise _refused("a share between 0 and 1, neither of them", str(density), "density")
    mean = people * density
    reach = 10 * math.sqrt(mean * (1 - density)) + 40
    sizes = np.arange(max(0, math.floor(mean - reach)), min(people, math.ceil(mean + reach)) + 1)
    probabilities = binom.pmf(sizes, people, density)
    held = probabilities >= smallest
    return Belief(sizes[held], probabilities[held])


def checked_size(size: int, where: str) -> int:
    """A group size, which may be 0, as an integer.

    Raises
    ------
    ParameterError
        If it is not a whole number from 0.
    """
    if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 0:
        raise ParameterError(
            "a group size is not possible",
            where=where,
            expected="a whole number from 0",
            got=str(size) if isinstance(size, int | float | np.number) else type(size).__name__,
            fix="correct the size",
        )
    return int(size)


def _refused(expected: str, got: str, where: str = "belief") -> ParameterError:
    return ParameterError(
        "what the adversary believes about the group size cannot be used",
        where=where,
        expected=expected,
        got=got,
        fix="correct the belief",
    )

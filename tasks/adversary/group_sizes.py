"""Group sizes, densities and numbers of people: checks of inputs, what follows from a prior, and beliefs about them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binom

from tasks.adversary.adversary import Floats
from tasks.core.errors import ParameterError, row_positions

Integers = NDArray[np.int64]

_LARGEST = 2**53


def checked_sizes(group_sizes: ArrayLike) -> Integers:
    """Group sizes as integers, of the same shape.

    Parameters
    ----------
    group_sizes : array-like of int
        Whole numbers from 1 to 2^53; floating-point numbers are taken where they are whole.

    Raises
    ------
    ParameterError
        If one is not.
    """
    sizes = _array(group_sizes, "group_sizes", "whole numbers from 1 to 2^53")
    if sizes.size == 0:
        return sizes.astype(np.int64)
    if sizes.dtype.kind not in "iuf":
        raise _refused("a group size is not a number", "group_sizes", "whole numbers", f"type {sizes.dtype}")
    valid = (sizes >= 1) & (sizes <= _LARGEST)
    if sizes.dtype.kind == "f":
        valid &= sizes == np.floor(sizes)
    _check("a group size is not possible", "group_sizes", "whole numbers from 1 to 2^53", valid)
    return sizes.astype(np.int64)


def checked_densities(densities: ArrayLike, sizes: Integers | None = None) -> Floats:
    """Shares of a population as floating-point numbers, of the same shape and, if given, that of the group sizes.

    Raises
    ------
    ParameterError
        If one is not between 0 and 1, or the shapes differ.
    """
    shares = _array(densities, "densities", "numbers from 0 to 1")
    if shares.size and shares.dtype.kind not in "iuf":
        raise _refused("a density is not a number", "densities", "numbers from 0 to 1", f"type {shares.dtype}")
    if sizes is not None and shares.shape != sizes.shape:
        raise _refused(
            "there is not one density for each group size", "densities", f"shape {sizes.shape}", f"shape {shares.shape}"
        )
    shares = shares.astype(np.float64)
    _check("a density is not possible", "densities", "numbers from 0 to 1", (shares >= 0) & (shares <= 1))
    return shares


def checked_people(number: int, name: str, largest: int) -> int:
    """A number of people as an integer.

    Raises
    ------
    ParameterError
        If it is not a whole number from 1 to the largest.
    """
    whole = isinstance(number, int | np.integer) and not isinstance(number, bool)
    if not whole or not 1 <= number <= largest:
        got = str(number) if isinstance(number, int | float | np.number) else type(number).__name__
        raise _refused("a number of people is not possible", name, f"a whole number from 1 to {largest:,}", got)
    return int(number)


def expected_candidates(prior: float, people: Integers) -> Integers:
    """Candidates of a group in external data that list the prior's share of everybody; at least one, same shape.

    Rounded down, so that N = g/π never exceeds the people of the group; 1e-9: 0.29·100 is to be 29.
    """
    listed: Integers = np.maximum(np.floor(prior * np.maximum(people, 1) + 1e-9), 1).astype(np.int64)
    return listed


def expected_listed(prior: float, people: int) -> int:
    """People in the external data where only their share of the population is known; at least one."""
    return max(round(prior * people), 1)


def _array(values: ArrayLike, name: str, expected: str) -> NDArray[Any]:
    try:
        return np.asarray(values)
    except ValueError:
        raise _refused("the rows are of different lengths", name, expected, "a ragged sequence") from None


def _check(what: str, name: str, expected: str, valid: NDArray[np.bool_]) -> None:
    if not valid.all():
        wrong = np.flatnonzero(~valid.reshape(-1))
        raise _refused(what, f"{name}, {row_positions(wrong)}", expected, f"{len(wrong):,} outside")


def _refused(what: str, where: str, expected: str, got: str) -> ParameterError:
    return ParameterError(what, where=where, expected=expected, got=got, fix="correct the call")


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

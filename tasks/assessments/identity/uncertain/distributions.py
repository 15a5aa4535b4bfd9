"""Knowledge of one uncertain term: a range without a distribution, or a distribution with ends.

All have ends, so that the worst possible case can be reported as well as the probable ones.
"""

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy import stats

from tasks.core.errors import ParameterError
from tasks.generalization.game import Floats


class Distribution(Protocol):
    """A term that is drawn."""

    @property
    def ends(self) -> tuple[float, float]:
        """Smallest and largest possible value."""
        ...

    def ppf(self, probabilities: Floats) -> Floats:
        """Quantiles at probabilities from 0 to 1, of the same shape."""
        ...


@dataclass(frozen=True)
class Between:
    """A range from ``low`` to ``high`` without a distribution, so no value is drawn.

    Raises
    ------
    ParameterError
        As all of this module: if an end is not finite, the ends are out of order, or another parameter has no meaning.
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise _refused("low and high", "finite numbers, the first below the second", f"{self.low:g}, {self.high:g}")

    @property
    def ends(self) -> tuple[float, float]:
        """Smallest and largest possible value."""
        return self.low, self.high


@dataclass(frozen=True)
class Drawn(Between):
    """A distribution between two ends."""

    def ppf(self, probabilities: Floats) -> Floats:
        """Quantiles at probabilities from 0 to 1; what rounding puts past an end is that end."""
        return np.clip(np.asarray(self._frozen().ppf(probabilities), dtype=np.float64), self.low, self.high)

    def _frozen(self) -> Any:
        """The distribution in SciPy."""
        raise NotImplementedError


@dataclass(frozen=True)
class Uniform(Drawn):
    """Every value from ``low`` to ``high`` as likely as every other."""

    def _frozen(self) -> Any:
        return stats.uniform(self.low, self.high - self.low)


@dataclass(frozen=True)
class LogUniform(Drawn):
    """Every factor as likely as every other: as much between 1 and 2 as between 2 and 4; ``low`` is above 0."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.low <= 0:
            raise _refused("low", "a number greater than 0", self.low)

    def _frozen(self) -> Any:
        return stats.loguniform(self.low, self.high)


@dataclass(frozen=True)
class Triangular(Drawn):
    """From ``low`` to ``high``, most likely near ``mode``."""

    mode: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.low <= self.mode <= self.high:
            raise _refused("mode", f"a number from {self.low:g} to {self.high:g}", self.mode)

    def _frozen(self) -> Any:
        width = self.high - self.low
        return stats.triang((self.mode - self.low) / width, self.low, width)


@dataclass(frozen=True)
class TruncatedNormal(Drawn):
    """Normal with a mean and a standard deviation, and nothing below ``low`` or above ``high``."""

    mean: float
    deviation: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if not math.isfinite(self.mean):
            raise _refused("mean", "a finite number", self.mean)
        if not (math.isfinite(self.deviation) and self.deviation > 0):
            raise _refused("deviation", "a finite number greater than 0", self.deviation)

    def _frozen(self) -> Any:
        low, high = ((end - self.mean) / self.deviation for end in self.ends)
        return stats.truncnorm(low, high, self.mean, self.deviation)


@dataclass(frozen=True)
class Points:
    """One of a few values, each with its weight."""

    values: tuple[float, ...]
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.values or len(self.values) != len(self.weights):
            raise _refused("weights", "one weight for each value, and at least one value", len(self.weights))
        if not all(math.isfinite(value) for value in self.values) or len(set(self.values)) < len(self.values):
            raise _refused("values", "finite numbers, each once", "others")
        if not all(math.isfinite(weight) and weight > 0 for weight in self.weights):
            raise _refused("weights", "finite numbers greater than 0", "others")

    @property
    def ends(self) -> tuple[float, float]:
        """Smallest and largest possible value."""
        return min(self.values), max(self.values)

    def ppf(self, probabilities: Floats) -> Floats:
        """Quantiles at probabilities from 0 to 1."""
        order = np.argsort(self.values)
        reached = np.cumsum(np.asarray(self.weights, dtype=np.float64)[order])
        place = np.searchsorted(reached / reached[-1], probabilities, side="left")
        chosen: Floats = np.asarray(self.values, dtype=np.float64)[order][np.minimum(place, len(order) - 1)]
        return chosen


Uncertain = Between | Points
"""Knowledge of a term; ``Drawn`` is a ``Between`` with a distribution."""


def _refused(where: str, expected: str, got: object) -> ParameterError:
    return ParameterError(
        "an uncertain term is not possible", where=where, expected=expected, got=str(got), fix="correct the term"
    )

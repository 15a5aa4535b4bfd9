"""Interface of every masking method, and the checks that methods share.

A method is a frozen dataclass of its parameters, the one that a request names first. All its random choices come from
the generator of ``mask``, so the same values and state give the same bytes. Attributes and records are named by
position, counted from 1. ``tasks.masking.registry`` lists the methods; ``docs/extending.md`` shows how to add one.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import Enum
from fractions import Fraction
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tasks.core.errors import ParameterError, row_positions
from tasks.request.model import Masking, MaskingName

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Described = Mapping[str, str | int | float]

_LARGEST_TO_SQUARE = 1e140


class Effect(Enum):
    """Relation of masked values to original ones: how values stay valid, and how an intruder weighs a pair."""

    EXCHANGED = "exchanged"
    """Each is the value of another record; how likely a move of ranks is, is seen by running the method."""
    NOISE = "noise"
    """Normal noise was added to each attribute by itself, its variance a published share of the attribute's."""
    JOINT_NOISE = "joint noise"
    """Normal noise was added to all attributes together, with their covariances."""
    DERIVED = "derived"
    """Something else was made of them; near values are more likely than far ones."""


@dataclass(frozen=True)
class Strengths:
    """Range of a method's parameter, and the values of it that are worth trying.

    Any value above 0 is allowed up to ``most``; a ``whole`` one from ``least``. ``stronger_below``: smaller masks more.
    """

    tried: tuple[float, ...]
    least: float
    most: float
    whole: bool = False
    stronger_below: bool = False

    def allows(self, value: float) -> bool:
        """Whether a value is within the range."""
        return value >= self.least if self.whole else 0 < value <= self.most


@dataclass(frozen=True)
class MaskedRange:
    """Least and greatest masked value of each record's own, (n_records, n_attributes); infinite if nothing is known."""

    low: Floats
    high: Floats


@dataclass(frozen=True)
class Masked:
    """A masked file.

    ``values`` in the order of the records; ``described``, for informed readers, tells no random choice and no original
    value.
    """

    values: Floats
    described: Described


class MaskingMethod(ABC):
    """A masking method with its parameters.

    ``title`` is printed, ``plain`` says what happens to a value, ``derived`` ends a sentence on what an informed reader
    may derive. ``parameter_words`` pairs the described parameters with their words, {} for the value.
    """

    name: ClassVar[MaskingName]
    title: ClassVar[str]
    plain: ClassVar[str]
    derived: ClassVar[str]
    strengths: ClassVar[Strengths]
    effect: ClassVar[Effect] = Effect.DERIVED
    parameter_words: ClassVar[tuple[tuple[str, str], ...]] = ()

    def __post_init__(self) -> None:
        """Refuse a parameter that is outside its range."""
        name, allowed = fields(self)[0].name, self.strengths  # type: ignore[arg-type]
        value: Any = getattr(self, name)
        if allowed.whole:
            fits, expected = isinstance(value, Integral), f"a whole number from {allowed.least:g}"
        else:
            fits, expected = isinstance(value, Real), f"a number greater than 0 and at most {allowed.most:g}"
        if isinstance(value, bool) or not (fits and allowed.allows(value)):
            raise refused("a parameter is outside its range", name, expected, str(value))
        object.__setattr__(self, name, int(value) if allowed.whole else float(value))

    @classmethod
    def of(cls, masking: Masking) -> Self:
        """The method with the parameter that a request gives it; ParameterError if that is outside its range."""
        return cls(int(masking.strength) if cls.strengths.whole else masking.strength)  # type: ignore[call-arg]

    @abstractmethod
    def mask(self, values: ArrayLike, generator: np.random.Generator) -> Masked:
        """Mask an array of shape (n_records, n_attributes); ParameterError if the method cannot be applied to it."""

    def bounds(self, original: Floats, masked: Floats, *, complete: bool) -> MaskedRange | None:  # noqa: ARG002
        """Bounds that the method sets to each record's masked values, in the known attributes; None where it sets none.

        ``complete`` if these are all that were masked together. ParameterError if the method does not make such a file.
        """
        return None


def checked_values(values: ArrayLike, *, fewest: int = 1, squared: bool = False, varying: bool = False) -> Floats:
    """The values, of shape (n_records, n_attributes), as a new float64 array, or a ParameterError.

    ``squared`` for methods that square or add values up; ``varying`` for those that need every attribute to vary.
    """
    try:
        given = np.asarray(values)
    except (TypeError, ValueError):
        raise refused(
            "the values are not a table", "values", "records by attributes", "rows of several kinds"
        ) from None
    if given.dtype.kind not in "iuf" or given.dtype.itemsize > 8:
        raise refused("the values are not numbers", "values", "integers or double-precision numbers", str(given.dtype))
    if given.ndim != 2:
        raise refused("the values are not a table", "values", "records by attributes", f"{given.ndim} dimensions")
    if 0 in given.shape:
        shape = f"{given.shape[0]} records, {given.shape[1]} attributes"
        raise refused("there is nothing to mask", "values", "at least one record and one attribute", shape)
    numbers = np.array(given, dtype=np.float64, order="C")
    if given.dtype.kind in "iu":
        _refuse_at(np.abs(numbers) > 2**53, "a whole number is too large", "whole numbers up to ±2⁵³")
    _refuse_at(~np.isfinite(numbers), "a value is missing or infinite", "finite numbers only")
    if len(numbers) < fewest:
        raise refused("there are too few records", "values", f"at least {fewest} records", f"{len(numbers)}")
    if squared:
        _refuse_at(np.abs(numbers) > _LARGEST_TO_SQUARE, "a value is too large to be squared", "values up to ±1e140")
    if varying:
        # A variance may also underflow.
        with np.errstate(under="ignore"):
            constant = np.flatnonzero((numbers.min(axis=0) == numbers.max(axis=0)) | (numbers.var(axis=0) == 0))
        if len(constant):
            where = f"attribute {', '.join(str(position + 1) for position in constant)}"
            expected = "values that differ, and by enough to be squared"
            raise refused("an attribute does not vary", where, expected, "one value")
    return numbers


def ranks_of_percent(p: float, n_records: int) -> Fraction:
    """Number of ranks p·n/100, exact for p as it is written in decimal."""
    ranks = Fraction(repr(p)) * n_records / 100
    if ranks < 1:
        raise refused("p percent of the records are less than one", "p", f"at least {100 / n_records:.3g}", f"{p:g}")
    return ranks


def random_order(column: Floats, generator: np.random.Generator) -> Ints:
    """Records in increasing order of their values; the order within a tie is drawn."""
    shuffled = generator.permutation(len(column))
    return shuffled[np.argsort(column[shuffled], kind="stable")]


def refused(what: str, where: str, expected: str, got: str) -> ParameterError:
    """The error of a masking method that cannot be applied."""
    return ParameterError(what, where=where, expected=expected, got=got, fix="correct the parameters or the data")


def _refuse_at(wrong: NDArray[np.bool_], what: str, expected: str) -> None:
    attributes = np.flatnonzero(wrong.any(axis=0))
    if len(attributes):
        rows = np.flatnonzero(wrong[:, attributes[0]])
        place = f"attribute {attributes[0] + 1}, {row_positions(rows)}"
        raise refused(what, place, expected, f"{int(wrong.sum())} such values in {len(attributes)} attributes")


def rank_range(values: Floats, ordered: Floats) -> tuple[Ints, Ints]:
    """Lowest and highest rank of each value in sorted columns; where it is not, the next one's and one less."""
    columns = list(zip(ordered.T, values.T, strict=True))
    low = np.stack([np.searchsorted(column, own, "left") for column, own in columns], axis=1)
    high = np.stack([np.searchsorted(column, own, "right") - 1 for column, own in columns], axis=1)
    return low, high

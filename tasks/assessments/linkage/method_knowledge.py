"""Inference from a published masking: bounds on each masked value, and the likelihood of each move.

Each masking discloses something about its own attributes (``intersection``, ``microaggregation``, ``noise``,
``displacement``); here that is put together for a release that several maskings, or a generalization too, went into.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tasks.assessments.linkage.displacement import displacement_score, simulated_displacement
from tasks.assessments.linkage.distinct import distinct_rows
from tasks.assessments.linkage.figure import Floats
from tasks.assessments.linkage.files import Files, Positions
from tasks.assessments.linkage.intersection import rank_window_bounds, window_of
from tasks.assessments.linkage.microaggregation import rank_brackets
from tasks.assessments.linkage.nearest import tie_limit
from tasks.assessments.linkage.noise import noise_score
from tasks.assessments.linkage.within import Bounds, Score, distance_score
from tasks.core.errors import ParameterError
from tasks.masking.masked import Floats as Values
from tasks.masking.masked_columns import NOISE, SWAPPING, masking_method
from tasks.request.model import Masking, MaskingName

_BLOCK_PAIRS = 2**21
_ROUNDING = 1e-9
_LARGEST_SIMULATED = 50_000
_SIMULATED_VALUES = 400_000
_MOST_ATTRIBUTES_TRIED = 20


@dataclass(frozen=True)
class MaskedPart:
    """The attributes of one masking that the intruder knows, of all the records of the file."""

    masking: Masking
    original: Floats
    """Shape (n_records, n_known)."""
    masked: Floats
    complete: bool
    """Whether the intruder knows all the attributes that were masked together."""

    @cached_property
    def derived(self) -> "Derived":
        """Inference from the masking."""
        return Derived(self)

    @property
    def files(self) -> Files:
        """The two files, everybody in both."""
        n_records, n_known = self.original.shape
        places = tuple(range(n_known))
        names = tuple(f"attribute {place + 1}" for place in places)
        return Files(self.original, self.masked, np.arange(n_records), places, names, n_known)


@dataclass(frozen=True)
class SummedScore:
    """Scores of several parts, added up, for pairs of some of the records with all that are released."""

    parts: tuple[Score, ...]
    records: Positions
    """Position in the file of each of the intruder's records."""
    candidates: Positions
    """Position in the file of each released record."""
    truth: Positions
    """Position among the candidates of each of the intruder's own."""
    masked: Floats
    """All masked values of the candidates, shape (n_candidates, n_values); equal ones have equal scores."""

    def of_pairs(self, records: Positions, candidates: Positions) -> Floats:
        """Sum over the parts."""
        before, after = self.records[records], self.candidates[candidates]
        total = np.zeros(len(records))
        for part in self.parts:
            total += part.of_pairs(before, after)
        return total

    def credit_anywhere(self, records: Positions) -> Floats:
        """Credit of the best of all released records."""
        points, credit = distinct_rows(self.masked), np.empty(len(records))
        n_points = len(points.first)
        step = max(1, _BLOCK_PAIRS // n_points)
        for start in range(0, len(records), step):
            block = records[start : start + step]
            pairs = np.repeat(block, n_points), np.tile(points.first, len(block))
            scores = self.of_pairs(*pairs).reshape(len(block), n_points)
            tie = scores <= tie_limit(scores.min(axis=1))[:, None]
            own = tie[np.arange(len(block)), points.of[self.truth[block]]]
            credit[start : start + step] = np.where(own, 1 / (tie @ points.counts), 0.0)
        return credit


class Derived:
    """Inference by the intruder from a masking and its parameters; computed on request."""

    def __init__(self, part: MaskedPart) -> None:
        self._part = part

    @cached_property
    def bounds(self) -> Bounds:
        """Of every record of the file.

        Raises
        ------
        ParameterError
            If the masked file is not one that the method makes.
        """
        part, masking = self._part, self._part.masking
        if masking.method is MaskingName.RANK_SWAPPING:
            return rank_window_bounds(part.original, part.masked, window_of(masking.strength, len(part.original)))
        if masking.method is MaskingName.INDIVIDUAL_RANKING:
            return rank_brackets(part.original, part.masked)
        if masking.method is MaskingName.MDAV and part.complete:
            return _rerun(part)
        return _unbounded(part.original)

    @cached_property
    def likelihood(self) -> Score:
        """Minus the log-likelihood of a pair, where the method gives one; else half the squared distance."""
        masking = self._part.masking
        if masking.method in SWAPPING:
            return _moves(self._part) or self._distance
        if masking.method in NOISE:
            correlated = masking.method is MaskingName.CORRELATED_NOISE and self._part.complete
            return noise_score(self._part.files, masking.strength, correlated=correlated)
        return self._distance

    @property
    def inside(self) -> Score:
        """Criterion among candidates: the distance where bounds leave few, as in the literature; else likelihood."""
        unbounded = self._part.masking.method in NOISE | SWAPPING - {MaskingName.RANK_SWAPPING}
        return self.likelihood if unbounded else self._distance

    @cached_property
    def _distance(self) -> Score:
        return _HalfSquare(distance_score(self._part.files))


def exact_bounds(codes: NDArray[np.integer]) -> Bounds:
    """Bounds of attributes released unchanged: the value itself."""
    values = codes.astype(np.float64)
    return Bounds(values, values)


def side_by_side(parts: Sequence[Bounds], rows: Positions) -> Bounds:
    """Bounds of several parts, for some of the records."""
    return Bounds(np.hstack([part.low[rows] for part in parts]), np.hstack([part.high[rows] for part in parts]))


def _unbounded(values: Values) -> Bounds:
    anything = np.full_like(values, np.inf)
    return Bounds(-anything, anything)


def _moves(part: MaskedPart) -> Score | None:
    """Likelihood of each move of ranks, from running the method; None for files too large to run it on."""
    n_records = len(part.original)
    if n_records > _LARGEST_SIMULATED:
        return None
    columns = min(_MOST_ATTRIBUTES_TRIED, max(1, _SIMULATED_VALUES // n_records))
    method, generator = masking_method(part.masking, columns), np.random.default_rng(0)

    def swap(ranks: Floats) -> Floats:
        return method.mask(ranks, generator).values

    return displacement_score(part.files, simulated_displacement(swap, n_records, columns))


def _rerun(part: MaskedPart) -> Bounds:
    """The masked values themselves, which MDAV gives whoever runs it again; rounded ones within half a unit."""
    again = masking_method(part.masking, part.original.shape[1]).mask(part.original, np.random.default_rng(0)).values
    spread = part.masked.std(axis=0)
    whole = (part.masked == np.rint(part.masked)).all(axis=0)
    slack = np.where(whole, 0.5, 0.0) + _ROUNDING * spread
    bounds = Bounds(again - slack, again + slack)
    outside = (part.masked < bounds.low) | (part.masked > bounds.high)
    if outside.any():
        raise ParameterError(
            "the masked file was not made by MDAV",
            where="masking",
            expected="the group means of the method",
            got=f"{int(outside.any(axis=1).sum())} records with others",
            fix="give the method and the parameters that the file was masked with",
        )
    return bounds


@dataclass(frozen=True)
class _HalfSquare:
    """Half the squared distance of standardised values, which adds up over parts as log-likelihoods do."""

    distance: Score

    def of_pairs(self, records: Positions, candidates: Positions) -> Floats:
        half: Floats = self.distance.of_pairs(records, candidates) ** 2 / 2
        return half

    def credit_anywhere(self, records: Positions) -> Floats:
        return self.distance.credit_anywhere(records)

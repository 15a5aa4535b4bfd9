"""Formulas by which numbers in released columns give back another: of sums, products, ratios, powers and curves.

Knows no roles. A missing number is NaN. A formula is fitted on half of a sample and judged on the other half, so that
neither chance nor many columns make one.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from math import comb, log

import numpy as np
from numpy.typing import NDArray

from tasks.assessments.columns.dependence import EVIDENCE, NEARLY_CERTAIN, Codes
from tasks.assessments.columns.numbers import LEAST_STATED, Numbers, share_held

_RECORDS, _RECORDS_OF_LARGE, _LEAST_RECORDS = 500, 2_000, 50
"""Records of a sample for small sets, for large ones, and fewest on which a formula is judged."""
_MOST_FITS = 3_000
"""Fits beyond which neither larger sets nor classes are tried; one of three columns counts twice."""
_KNOTS = np.linspace(0.1, 0.9, 9)
"""Quantiles of a column at which its curve may bend."""
_AT_ONCE = 16
"""Sets whose equations are solved together: more do not fit in the processor's cache."""
_RIDGE = 1e-10
"""Penalty by record that keeps equations of features that follow from each other solvable."""

Features = NDArray[np.float64]
Names = tuple[str, ...]


def formulas(
    given: Mapping[str, Numbers], targets: Mapping[str, Numbers], classed: Sequence[Codes], least: float
) -> Iterator[tuple[Names, str, float]]:
    """Sets of columns that give a target by a formula: for all records, or one for each class of one of ``classed``.

    All are by record. Yields the columns, the target and the share of the information on it, from ``least``, or less
    where the formula holds to within 1 in nearly all records: sets of up to three columns that contain no smaller one
    and differ from a better one in more than one column, and further columns that do so together.
    """
    for name, target in targets.items():
        rows = np.random.default_rng(0).permutation(np.flatnonzero(~np.isnan(target)))
        small, large = (
            _Sample(
                {one: numbers[drawn] for one, numbers in given.items()},
                target[drawn],
                tuple(np.unique(codes[drawn], return_inverse=True)[1] for codes in classed),
                least,
            )
            for drawn in (rows[:_RECORDS], rows[:_RECORDS_OF_LARGE])
        )
        told: set[str] = set()
        for names, share in small.small_sets(_MOST_FITS // len(targets)):
            told.update(names)
            yield names, name, share
        for names, share in large.large_sets(told):
            yield names, name, share


@dataclass(frozen=True)
class _Sample:
    """Numbers of drawn records in the order of the draw, so that any part of them can be halved by place."""

    given: Mapping[str, Numbers]
    target: Numbers
    """Number to be given, in every record."""
    classed: tuple[Codes, ...]
    """Classes of the records by a column each, from 0 without gaps."""
    least: float
    """Share of the information on the target from which columns give it: less counts where they do so to within 1."""

    @cached_property
    def columns(self) -> dict[str, Numbers]:
        """Columns that enough records have."""
        enough = max(_LEAST_RECORDS, LEAST_STATED * len(self.target))
        return {name: one for name, one in self.given.items() if np.count_nonzero(~np.isnan(one)) >= enough}

    @cached_property
    def logs(self) -> dict[str, Numbers]:
        """Logarithms of the columns that are nearly always positive."""
        return {
            name: np.log(np.where(one > 0, one, np.nan))
            for name, one in self.columns.items()
            if np.count_nonzero(one > 0) >= NEARLY_CERTAIN * np.count_nonzero(~np.isnan(one))
        }

    @cached_property
    def curves(self) -> dict[str, Features]:
        """Each column, its logarithm if it has one, and bends of the latter; shape (n_records, n_features)."""
        curves = {}
        for name, numbers in self.columns.items():
            bent = self.logs.get(name, numbers)
            bends = [np.maximum(bent - knot, 0) for knot in np.unique(np.nanquantile(bent, _KNOTS))]
            curves[name] = np.column_stack([numbers, bent, *bends])
        return curves

    @cached_property
    def values(self) -> Numbers:
        """Distinct numbers of the target, ascending."""
        return np.unique(self.target)

    @cached_property
    def places(self) -> Codes:
        """Place of each record's number among them."""
        return np.searchsorted(self.values, self.target)

    @cached_property
    def scales(self) -> tuple[Numbers, ...]:
        """The distinct numbers, and their logarithms if all are positive."""
        return (self.values, np.log(self.values)) if (self.values > 0).all() else (self.values,)

    def small_sets(self, most: int) -> Iterator[tuple[Names, float]]:
        """Sets of up to three columns that contain no smaller one, by curves and products of powers, the best first."""
        told: list[set[str]] = []
        for size in (1, 2, 3):
            times = most // (max(size - 1, 1) * max(comb(len(self.columns), size), 1))
            if not times:
                return
            sets = [names for names in combinations(self.columns, size) if not any(one <= set(names) for one in told)]
            shares: list[float] = []
            for start in range(0, len(sets), _AT_ONCE):
                designs = [self.curved(names) for names in sets[start : start + _AT_ONCE]]
                shares += self.shares(designs, self.classed[: times - 1])
            given = sorted((one for one in zip(sets, shares, strict=True) if one[1]), key=lambda one: -one[1])
            for names, share in given:
                # Two columns that nearly give the target do so with many a third that has nothing to do with it.
                if all(len(one.intersection(names)) < max(size - 1, 1) for one in told):
                    told.append(set(names))
                    yield names, share

    @np.errstate(over="ignore")
    def curved(self, names: Names) -> Features:
        """Curves of some columns, and products of their powers −1, 0 and 1."""
        logs = [self.logs[name] for name in names if name in self.logs]
        powers = np.array([one for one in product((-1, 0, 1), repeat=len(logs)) if np.count_nonzero(one) > 1])
        products = [np.exp(np.column_stack(logs) @ powers.T)] if len(powers) else []
        return np.column_stack([*(self.curves[name] for name in names), *products])

    def large_sets(self, told: set[str]) -> Iterator[tuple[Names, float]]:
        """Sets of other columns without one that is not needed, by sums and by products of any powers."""

        def share(names: Sequence[str]) -> float:
            return self.shares([np.column_stack([columns[name] for name in names])], self.classed)[0] if names else 0.0

        for columns in (self.columns, self.logs):
            for together in _stated_together(columns):
                left = [name for name in together if name not in told]
                while found := share(left):
                    needed = left
                    for name in left:
                        fewer = [one for one in needed if one != name]
                        if still := share(fewer):
                            needed, found = fewer, still
                    yield tuple(needed), found
                    told = told.union(needed)
                    left = [name for name in left if name not in told]

    def shares(self, designs: Sequence[Features], classed: Sequence[Codes]) -> list[float]:
        """Share of the information on the target that each of some features gives, at best of all and by class."""
        everybody = np.zeros(len(self.target), dtype=np.int64)
        by_class = [self._shares(designs, codes) for codes in (everybody, *classed)]
        return [float(one) for one in np.max(by_class, axis=0)]

    @np.errstate(over="ignore", invalid="ignore")
    def _shares(self, designs: Sequence[Features], codes: Codes) -> Numbers:
        """The same of formulas within each class, whose halves predict each other; shape (n_designs,)."""
        records = len(self.target)
        features = np.zeros((len(designs), records, 1 + max(one.shape[1] for one in designs)))
        for design, own in zip(designs, features, strict=True):
            stated = np.isfinite(design).all(axis=1)
            if stated.sum() >= max(_LEAST_RECORDS, LEAST_STATED * records, 2 * design.shape[1]):
                scaled = design[stated] - design[stated].mean(axis=0)
                spread = scaled.std(axis=0)
                own[stated, 0] = 1
                own[stated, 1 : 1 + design.shape[1]] = scaled / np.where(spread > 0, spread, 1)
        sought = np.column_stack([scale[self.places] for scale in self.scales])
        predicted = np.zeros((len(designs), records, len(self.scales)))
        for value in np.unique(codes):
            rows = np.flatnonzero(codes == value)
            for fitted, judged in ((rows[::2], rows[1::2]), (rows[1::2], rows[::2])):
                held = features[:, fitted]
                turned = held.transpose(0, 2, 1)
                equations = turned @ held + _RIDGE * records * np.eye(features.shape[2])
                predicted[:, judged] = features[:, judged] @ np.linalg.solve(equations, turned @ sought[fitted])
        stated = features[:, :, 0] > 0
        best = self._given(predicted[:, :, 0], stated, self.scales[0], codes)
        for place, scale in enumerate(self.scales[1:], start=1):
            best = np.maximum(best, self._given(predicted[:, :, place], stated, scale, codes))
        return best

    def _given(self, predicted: Numbers, stated: NDArray[np.bool_], scale: Numbers, codes: Codes) -> Numbers:
        """Share of the information on the target, beyond the classes, that the nearest of its numbers to these gives.

        What is not given is at most the entropy of the error, counted in places among these numbers. It is 0 where it
        is below the least and the numbers are not nearly always within 1. The first two have shape (n_designs,
        n_records), the result (n_designs,).
        """
        nearest = np.searchsorted((scale[1:] + scale[:-1]) / 2, predicted)
        within = np.broadcast_to(codes, stated.shape)
        whole = _entropies(within * len(scale) + self.places, stated) - _entropies(within, stated)
        gain = whole - _entropies(nearest - self.places + len(scale), stated)
        shares = np.divide(gain, whole, out=np.zeros(len(gain)), where=gain * log(2) * stated.sum(axis=1) >= EVIDENCE)
        for design in np.flatnonzero(shares < self.least):
            near = shares[design] >= self.least / 2 and share_held(
                np.where(stated[design], self.values[nearest[design]], np.nan), self.target
            )
            shares[design] *= bool(near)
        return shares


def _entropies(codes: Codes, stated: NDArray[np.bool_]) -> Numbers:
    """Entropy in bits of each row of codes where they are stated; 0 where none is."""
    span = int(codes.max(initial=0)) + 1
    cells = (codes + span * np.arange(len(codes))[:, None])[stated]
    counts = np.bincount(cells, minlength=span * len(codes)).reshape(len(codes), span)
    shares = counts / np.maximum(stated.sum(axis=1), 1)[:, None]
    return np.asarray(-(shares * np.log2(np.where(counts > 0, shares, 1))).sum(axis=1))


def _stated_together(columns: Mapping[str, Numbers]) -> Iterator[list[str]]:
    """Columns that nearly all records with some column have."""
    stated = {name: ~np.isnan(numbers) for name, numbers in columns.items()}
    for own in {one.tobytes(): one for one in stated.values()}.values():
        yield [name for name, one in stated.items() if one[own].mean() >= NEARLY_CERTAIN]

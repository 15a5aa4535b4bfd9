"""How far decoys change a regression that a recipient might run: least squares of one column on all others."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

from tasks.assessments.utility.numeric_change import varies
from tasks.core.errors import ParameterError
from tasks.decoys.code_counts import counted_codes
from tasks.decoys.generalized_release import Floats
from tasks.decoys.sensitive_values import Column, Columns

_INDICATORS = 5
"""Values of a categorical column that enter at most, after the most frequent one, which is the reference."""
_INDICATOR_RECORDS = 10
"""Records that a value needs for an indicator of its own."""
_COLLINEAR = 1e-8
_BLOCK_RECORDS = 2**18


@dataclass(frozen=True)
class CoefficientChange:
    """Change of one standardised coefficient."""

    name: str
    """Column, and number of the indicator where it is categorical."""
    change: float
    """After less before, in standard deviations of target and predictor."""
    standard_errors: float | None
    """The same in standard errors of the original coefficient; None where it has none, the fit being exact."""


@dataclass(frozen=True)
class RegressionChange:
    """Least squares on all other columns, before and after."""

    target: str
    coefficients: tuple[CoefficientChange, ...]
    explained_before: float
    """R², 0 to 1."""
    explained_after: float

    @property
    def largest(self) -> float | None:
        """Largest absolute change of a coefficient, in standard errors; None where none has a standard error."""
        changes = [coefficient.standard_errors for coefficient in self.coefficients]
        return max((abs(change) for change in changes if change is not None), default=None)


@dataclass(frozen=True)
class _Predictor:
    """One column of the design: a number, or the indicator of a code; standardised as in the original file."""

    name: str
    column: str
    code: int | None
    mean: float
    spread: float

    def of(self, columns: Columns, rows: NDArray[np.intp] | slice) -> Floats:
        values = columns[self.column][rows]
        if self.code is not None:
            indicator: Floats = ((values == self.code) - self.mean) / self.spread
            return indicator
        # A missing predictor counts as its mean, so that no record is lost.
        standardised: Floats = np.nan_to_num((values.astype(np.float64) - self.mean) / self.spread, nan=0.0)
        return standardised


@dataclass(frozen=True)
class _Design:
    """Predictors of the records whose target is known, made block by block, for they take far more room than columns.

    A file of one block gives the same bits as all of it at once; of several, sums over blocks differ in last digits.
    """

    predictors: tuple[_Predictor, ...]
    columns: Columns
    known: NDArray[np.intp]
    """Positions of the records."""
    chosen: NDArray[np.intp] | None = None
    """Positions of the predictors that are used; all where not given."""

    def blocks(self) -> Iterator[tuple[slice, Floats]]:
        """Successive records among the known ones, and their predictors, shape (n_block, n_predictors)."""
        for start in range(0, max(len(self.known), 1), _BLOCK_RECORDS):
            block = slice(start, start + _BLOCK_RECORDS)
            rows = self.known[block]
            parts = [predictor.of(self.columns, rows) for predictor in self.predictors]
            x = np.column_stack(parts) if parts else np.empty((len(rows), 0))
            yield block, x if self.chosen is None else x[:, self.chosen]

    @cached_property
    def means(self) -> Floats:
        """Mean of each predictor."""
        if len(self.known) <= _BLOCK_RECORDS:
            means: Floats = next(x for _, x in self.blocks()).mean(axis=0)
        else:
            means = np.sum([x.sum(axis=0) for _, x in self.blocks()], axis=0) / len(self.known)
        return means

    def only(self, chosen: NDArray[np.intp]) -> "_Design":
        """The same with some of the predictors."""
        return replace(self, chosen=chosen)


def regression_change(before: Columns, after: Columns, target: str) -> RegressionChange:
    """Regress the target on all other columns in both files.

    Parameters
    ----------
    before, after, target
        As of ``tasks.decoys.statistics_change.statistics_change``.

    Raises
    ------
    ParameterError
        If the target is not a column, or does not vary in both files.

    Notes
    -----
    A categorical target is the indicator of its most frequent code: a linear probability model. Predictors that follow
    from others are left out, by QR with pivoting on the original file. Standard errors are the classical ones of the
    original fit.
    """
    if target not in before:
        raise ParameterError(
            "the target of the regression is not a column",
            where=f"target {target}",
            expected="the name of a column",
            got="another name",
            fix="name a column of the file",
        )
    predictors = [
        predictor for name, column in before.items() if name != target for predictor in _predictors(name, column)
    ]
    code = None if before[target].dtype.kind == "f" else int(_by_frequency(before[target])[0][0])
    x, y = _design(predictors, before, target, code)
    x_after, y_after = _design(predictors, after, target, code)
    if not varies(y) or not varies(y_after):
        raise ParameterError(
            "the target of the regression does not vary",
            where=f"column {target}",
            expected="at least two values in both files",
            got="one",
            fix="name another column",
        )
    own = _independent(x)
    y_after = (y_after - y.mean()) / y.std()
    y = (y - y.mean()) / y.std()
    first, errors, explained = _fit(x.only(own), y)
    second, _, explained_after = _fit(x_after.only(own), y_after)
    changes = second - first
    return RegressionChange(
        target=target,
        coefficients=tuple(
            CoefficientChange(predictors[column].name, float(change), float(change / error) if error > 0 else None)
            for column, change, error in zip(own.tolist(), changes, errors, strict=True)
        ),
        explained_before=explained,
        explained_after=explained_after,
    )


def _predictors(name: str, column: Column) -> list[_Predictor]:
    if column.dtype.kind == "f":
        known = column[~np.isnan(column)].astype(np.float64)
        if len(known) == 0 or not varies(known):
            return []
        return [_Predictor(name, name, None, float(known.mean()), float(known.std()))]
    codes, counts = _by_frequency(column)
    own = codes[1 : 1 + _INDICATORS][counts[1 : 1 + _INDICATORS] >= _INDICATOR_RECORDS]
    shares = counts[1 : 1 + len(own)] / len(column)
    return [
        _Predictor(f"{name} {number}", name, int(code), float(share), float(np.sqrt(share * (1 - share))))
        for number, (code, share) in enumerate(zip(own, shares, strict=True), start=1)
    ]


def _by_frequency(column: Column) -> tuple[Column, NDArray[np.int64]]:
    codes, counts = counted_codes(column)
    order = np.argsort(-counts, kind="stable")
    return codes[order], counts[order].astype(np.int64)


def _design(predictors: list[_Predictor], columns: Columns, target: str, code: int | None) -> tuple[_Design, Floats]:
    y = columns[target].astype(np.float64) if code is None else (columns[target] == code).astype(np.float64)
    known = np.flatnonzero(~np.isnan(y))
    return _Design(tuple(predictors), columns, known), y[known]


def _independent(x: _Design) -> NDArray[np.intp]:
    """Predictors that do not follow from a constant and one another.

    A file of several blocks is reduced to the triangular factors of its blocks first, which have the same one.
    """
    if not x.predictors:
        return np.empty(0, dtype=np.intp)
    parts = [block - x.means for _, block in x.blocks()] if len(x.known) <= _BLOCK_RECORDS else _factors(x)
    diagonal, order = qr(np.vstack(parts), mode="r", pivoting=True, check_finite=False)
    sizes = np.abs(np.diag(diagonal))
    kept: NDArray[np.intp] = np.sort(order[: int(np.count_nonzero(sizes > _COLLINEAR * max(sizes[0], 1e-300)))])
    return kept


def _factors(x: _Design) -> list[Floats]:
    factor = partial(qr, mode="economic", check_finite=False)
    return [np.asarray(factor(block - x.means)[1], dtype=np.float64) for _, block in x.blocks()]


def _fit(x: _Design, y: Floats) -> tuple[Floats, Floats, float]:
    """Coefficients beside the constant, their standard errors, and R²."""
    n_predictors = len(x.predictors if x.chosen is None else x.chosen)
    freedom = len(y) - n_predictors - 1
    if n_predictors == 0 or freedom < 1:
        return np.zeros(n_predictors), np.zeros(n_predictors), 0.0
    target = y - y.mean()
    squares, products = np.zeros((n_predictors, n_predictors)), np.zeros(n_predictors)
    for rows, block in x.blocks():
        centred = block - x.means
        squares += centred.T @ centred
        products += centred.T @ target[rows]
    gram = np.linalg.pinv(squares, hermitian=True)
    coefficients = gram @ products
    unexplained = 0.0
    for rows, block in x.blocks():
        left = target[rows] - (block - x.means) @ coefficients
        unexplained += float(left @ left)
    errors = np.sqrt(np.maximum(np.diag(gram) * unexplained / freedom, 0.0))
    return coefficients, errors, float(np.clip(1 - unexplained / (target @ target), 0.0, 1.0))

"""Differences in a recipient's statistics of its copy: means, frequencies, associations, a regression.

Decoys are invented values of people outside the data: they bias statistics, however little. Every change is given in
units of the original, and beside its standard error where it has one: a change well below one standard error is
smaller than what sampling alone leaves open. No figure is a value of the file.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.linalg.lapack import dpstrf

from tasks.assessments.utility.numeric_change import cramers_v, varies
from tasks.core.seed import one_thread
from tasks.decision.decoy_facts import StatisticChange, StatisticsFact
from tasks.decoys.classes import Floats
from tasks.decoys.records import at_rows, outbound_columns
from tasks.decoys.value_formulas import Column, Columns
from tasks.masking.masked_columns import MaskedColumns
from tasks.request.model import ReleaseRequest

_INDICATORS = 5
"""Values of a categorical column that enter a regression at most, after the most frequent one, the reference."""
_INDICATOR_RECORDS = 10
"""Records that a value needs for an indicator of its own."""
_COLLINEAR = 1e-12
"""Share of its variance that a predictor has of its own at least; less is a rounding error."""
_BLOCK_RECORDS = 2**18

_Measure = Callable[[Column, Column], float | None]


def statistics_of_copy(
    frame: pd.DataFrame,
    request: ReleaseRequest,
    masked: MaskedColumns,
    rows: NDArray[np.intp],
    decoys: Sequence[Mapping[str, str | None]],
) -> StatisticsFact:
    """Differences between a copy and the data as collected, in the columns other than quasi-identifiers.

    `frame` is the microdata as text, `rows` the position in it of each real row of the copy, `decoys` the other rows.
    """
    released = outbound_columns(frame, request, masked)
    originals = dict(zip(masked.names, masked.original.T, strict=True))
    collected = {name: originals.get(name, column) for name, column in released.values.items()}
    whole = len(rows) == len(frame) and not masked.names  # the same values, in an order that says nothing
    after = dict(released.values) if whole else at_rows(released.values, rows)
    if decoys:
        after = appended(after, released.read(decoys))
    return statistics_fact(collected, after, request.policy.utility.target)


def appended(first: Columns, second: Columns) -> dict[str, Column]:
    """Records of two sets of the same columns, one after the other."""
    return {name: np.concatenate([column, second[name]]) for name, column in first.items()}


def statistics_fact(before: Columns, after: Columns, target: str | None) -> StatisticsFact:
    """Compare a recipient's copy with the file that it would have had.

    Both have the same columns, of one record at least: integers are codes, floats are numbers, NaN where missing. The
    regression explains the target, a number or the indicator of the most frequent code, by all other columns; it is
    left out where the target is no column or does not vary in both files. Least squares of standardised columns; a
    missing predictor counts as its mean, a record whose target is missing is left out. Predictors that follow from
    others are left out, by pivoting on the original file. Standard errors are the classical ones of the original fit.
    """
    numeric = [name for name, column in before.items() if column.dtype.kind == "f"]
    coded = [name for name in before if name not in numeric]
    found = _regression(before, after, target) if target is not None and target in before else None
    return StatisticsFact(
        columns=tuple(
            (_mean_change if name in numeric else _frequency_change)(name, before[name], after[name]) for name in before
        ),
        correlation=_largest_difference(numeric, before, after, _correlation),
        association=_largest_difference(coded, before, after, _cramers_v),
        **({"target": target, **found} if found else {}),
    )


def _mean_change(name: str, before: Column, after: Column) -> StatisticChange:
    first, second = (values[~np.isnan(values)].astype(np.float64) for values in (before, after))
    if len(first) == 0 or len(second) == 0 or not varies(first):
        return StatisticChange(name=name, kind="number")
    spread = float(first.std())
    change = float(second.mean() - first.mean()) / spread
    errors = change * float(np.sqrt(len(first)))
    return StatisticChange(
        name=name, kind="number", mean=change, standard_errors=errors, spread=float(second.std()) / spread
    )


def _frequency_change(name: str, before: Column, after: Column) -> StatisticChange:
    shares = [counts / counts.sum() for counts in map(counted_codes, (before, after))]
    changes = shares[1].sub(shares[0], fill_value=0.0).abs()
    return StatisticChange(
        name=name, kind="categories", total_variation=float(changes.sum() / 2), largest=float(changes.max())
    )


def counted_codes(codes: Column) -> pd.Series:
    """Records of each code that occurs, by code, growing.

    >>> counted_codes(np.array([3, 0, 3])).to_dict()
    {0: 1, 3: 2}
    """
    return pd.Series(codes).value_counts(sort=False).sort_index()


def _correlation(first: Column, second: Column) -> float | None:
    both = ~(np.isnan(first) | np.isnan(second))
    x, y = first[both].astype(np.float64), second[both].astype(np.float64)
    if len(x) < 2 or not varies(x) or not varies(y):
        return None
    return float(np.corrcoef(x, y)[0, 1])


def _cramers_v(first: Column, second: Column) -> float | None:
    width = int(second.max()) - int(second.min()) + 1
    counts = counted_codes((first - first.min()).astype(np.int64) * width + (second - second.min()))
    return cramers_v(counts.index // width, counts.index % width, counts)


def _largest_difference(names: Sequence[str], before: Columns, after: Columns, measure: _Measure) -> float | None:
    changes = []
    for one, other in combinations(names, 2):
        first = measure(before[one], before[other])
        same = before[one] is after[one] and before[other] is after[other]
        second = first if same else measure(after[one], after[other])
        if first is not None and second is not None:
            changes.append(abs(second - first))
    return max(changes, default=None)


class _Predictor(NamedTuple):
    """A number, or the indicator of a code; standardised as in the original file."""

    column: str
    code: int | None
    mean: float
    spread: float

    def of(self, columns: Columns, rows: NDArray[np.intp]) -> Floats:
        values = columns[self.column][rows]
        plain = values.astype(np.float64) if self.code is None else (values == self.code).astype(np.float64)
        return np.asarray(np.nan_to_num((plain - self.mean) / self.spread, nan=0.0))


def _regression(before: Columns, after: Columns, target: str) -> dict[str, float | None] | None:
    """Regress the target on all other columns in both files; None where it does not vary."""
    code = None if before[target].dtype.kind == "f" else int(_by_frequency(before[target]).index[0])
    known = [before[target], after[target]]
    known = [values[~np.isnan(values)].astype(np.float64) if code is None else values == code for values in known]
    if any(len(values) == 0 or not varies(values.astype(np.float64)) for values in known):
        return None
    predictors = [one for name, column in before.items() if name != target for one in _predictors(name, column)]
    last = _Predictor(target, code, float(known[0].mean()), float(known[0].std()))
    same = all(column is after[name] for name, column in before.items())
    with one_thread():  # several repeat no last bit, and wait for one another where copies are written side by side
        n, first = _products([*predictors, last], before)
        _, second = (n, first) if same else _products([*predictors, last], after)
    own = _independent(first[:-1, :-1])
    freedom = n - len(own) - 1
    if len(own) == 0 or freedom < 1:
        return {"coefficient": None, "explained_before": 0.0, "explained_after": 0.0}
    inverse = np.linalg.inv(first[np.ix_(own, own)])
    slopes, explained = inverse @ first[own, -1], first[own, -1] @ inverse @ first[own, -1] / first[-1, -1]
    others = np.linalg.pinv(second[np.ix_(own, own)], hermitian=True) @ second[own, -1]
    after_explained = 1 - (second[-1, -1] - second[own, -1] @ others) / second[-1, -1]
    errors = np.sqrt(np.diag(inverse) * max(1 - explained, 0.0) * first[-1, -1] / freedom)
    return {
        # None where none has a standard error.
        "coefficient": float((np.abs(others - slopes) / errors).max()) if 1 - explained > _COLLINEAR else None,
        "explained_before": float(np.clip(explained, 0, 1)),
        "explained_after": float(np.clip(after_explained, 0, 1)),
    }


def _predictors(name: str, column: Column) -> Iterator[_Predictor]:
    if column.dtype.kind == "f":
        known = column[~np.isnan(column)].astype(np.float64)
        if len(known) and varies(known):
            yield _Predictor(name, None, float(known.mean()), float(known.std()))
        return
    frequent = _by_frequency(column)[1 : 1 + _INDICATORS]
    for code, count in zip(frequent.index.tolist(), frequent.tolist(), strict=True):
        if count >= _INDICATOR_RECORDS:
            share = count / len(column)
            yield _Predictor(name, code, share, float(np.sqrt(share * (1 - share))))


def _by_frequency(column: Column) -> pd.Series:
    return counted_codes(column).sort_values(ascending=False, kind="stable")


def _products(columns: Sequence[_Predictor], values: Columns) -> tuple[int, Floats]:
    """Records whose target, the last column, is known, and the centred sums of products of all columns over them.

    Made block by block, for predictors take far more room than columns.
    """
    rows = np.flatnonzero(~np.isnan(values[columns[-1].column]))
    sums, products = np.zeros(len(columns)), np.zeros((len(columns), len(columns)))
    for start in range(0, len(rows), _BLOCK_RECORDS):
        block = np.column_stack([one.of(values, rows[start : start + _BLOCK_RECORDS]) for one in columns])
        sums += block.sum(axis=0)
        products += block.T @ block
    return len(rows), products - np.outer(sums, sums) / len(rows)


def _independent(products: Floats) -> NDArray[np.intp]:
    """Predictors that do not follow from a constant and one another, by Cholesky's method with pivoting."""
    if not len(products):
        return np.empty(0, dtype=np.intp)
    _, order, rank, _ = dpstrf(products, tol=_COLLINEAR * max(float(products.diagonal().max()), 1e-300))
    return np.sort(order[:rank] - 1).astype(np.intp)

"""How well small sets of attributes distinguish records, measured on integer codes.

Nothing here knows roles or names a value.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

MAXIMUM_RECORDS = 200_000
_MAXIMUM_COLUMNS = 10


@dataclass(frozen=True)
class Separation:
    """How well a set of attributes distinguishes a file's records."""

    columns: tuple[str, ...]
    separation_ratio: float
    """Share of the pairs of records that differ in at least one of the attributes."""
    distinction_ratio: float
    """Distinct tuples over records."""
    alone: float
    """Share of the records whose tuple no other record has."""


def separations(columns: Mapping[str, NDArray[np.intp]], largest: int = 3) -> list[Separation]:
    """Measure all sets of up to ``largest`` attributes, small sets first, the most separating of a size first.

    ``columns`` are integer codes of shape (n_records,), −1 where missing, which counts as a value of its own;
    ``largest`` is from 1. Sets of two and more are formed of the ten attributes that separate best alone. Past 200,000
    records an evenly spaced part of them is measured.

    Separation and distinction ratio as in Motwani and Xu (2007). Pairs are not listed: with n_c records in class
    c of N, the separation ratio is 1 − Σ n_c (n_c − 1) / (N (N − 1)); 0 for fewer than two records.
    """
    step = max(1, -(-max((len(codes) for codes in columns.values()), default=0) // MAXIMUM_RECORDS))
    shown = {name: np.ascontiguousarray(codes[::step]) for name, codes in columns.items()}
    classes: dict[tuple[str, ...], NDArray[np.int64]] = {
        (name,): _joined(np.zeros(len(codes), dtype=np.int64), codes) for name, codes in shown.items()
    }
    result = _ranked(classes)
    best = [single.columns[0] for single in result[:_MAXIMUM_COLUMNS]]
    for size in range(2, largest + 1):
        classes = {names: _joined(classes[names[:-1]], shown[names[-1]]) for names in combinations(best, size)}
        result += _ranked(classes)
    return result


def _joined(classes: NDArray[np.int64], codes: NDArray[np.intp]) -> NDArray[np.int64]:
    """Number the classes that an attribute splits the given ones into."""
    packed = classes * (int(codes.max(initial=-1)) + 2) + codes + 1
    return pd.factorize(packed)[0].astype(np.int64)


def _measured(names: tuple[str, ...], classes: NDArray[np.int64]) -> Separation:
    sizes = np.bincount(classes)
    records = len(classes)
    pairs = records * (records - 1)
    together = int((sizes * (sizes - 1)).sum())
    return Separation(
        columns=names,
        separation_ratio=1 - together / pairs if pairs else 0.0,
        distinction_ratio=len(sizes) / records if records else 0.0,
        alone=float((sizes == 1).sum() / records) if records else 0.0,
    )


def _ranked(classes: Mapping[tuple[str, ...], NDArray[np.int64]]) -> list[Separation]:
    measured = [_measured(names, joined) for names, joined in classes.items()]
    return sorted(measured, key=lambda one: (-one.separation_ratio, one.columns))

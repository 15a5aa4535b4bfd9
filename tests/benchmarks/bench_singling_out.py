"""The search for minimal sample uniques on Adult-TN, beside counting every set of columns with pandas; estimates."""

import time
from collections.abc import Callable
from itertools import combinations

import numpy as np
import pandas as pd

from tasks.assessments.singling_out.population_uniqueness import ClassSizes, unique_people
from tasks.assessments.singling_out.special_uniques import special_uniques
from tests.benchmarks.record import Benchmark, Row
from tests.support.adult import EXAMPLE

_UNKNOWN = ("record_id", "fnlwgt")
_ESTIMATED = ("age", "education", "occupation", "native-country", "marital-status")
_FRACTIONS = (0.02, 0.1, 0.3, 0.5)
_LARGE = 1_000_000


def run() -> Benchmark:
    """Times of the search by size of the sets, and errors of the estimates on Adult taken as a population."""
    frame = pd.read_csv(EXAMPLE / "data" / "adult-tn.csv.gz", dtype=str).drop(columns=list(_UNKNOWN))
    codes = np.column_stack([pd.factorize(frame[name])[0] + 1 for name in frame])
    rows: list[Row] = []
    for size in (1, 2, 3, 4):
        seconds, found = _best(lambda size=size: special_uniques(codes, size))
        shown = f"32,561 × 15, sets of up to {size}"
        peer, alone = _best(lambda size=size: _pandas(codes, size), times=1) if size <= 3 else (None, None)
        rows.append(Row(figure=f"{shown} (peer: pandas)", ours=seconds, peer=peer, unit="s"))
        share = float(found.singled_out.mean())
        rows.append(Row(figure=f"{shown}: share singled out", ours=share, peer=alone))
        rows.append(Row(figure=f"{shown}: minimal sample uniques", ours=int(found.counts.sum())))
    large = _larger(codes)
    rows += [
        Row(
            figure=f"1,000,000 × 15, sets of up to {size}",
            ours=_best(lambda size=size: special_uniques(large, size), times=1)[0],
            unit="s",
        )
        for size in (2, 3)
    ]
    wide = np.random.default_rng(0).integers(0, 5, (1629, 67))
    rows.append(
        Row(figure="1,629 × 67, sets of up to 3", ours=_best(lambda: special_uniques(wide, 3), times=1)[0], unit="s")
    )
    rows += _estimates(frame)
    return {"name": "singling_out", "title": "Records that a few columns single out, on Adult-TN", "rows": rows}


def _estimates(frame: pd.DataFrame) -> list[Row]:
    """Median estimates over 20 samples; the peer is the share of the population that is unique."""
    classes = frame.groupby(list(_ESTIMATED), dropna=False).ngroup().to_numpy()
    true = float((np.bincount(classes)[classes] == 1).mean())
    rows: list[Row] = []
    for fraction in _FRACTIONS:
        generator, found = np.random.default_rng(1), []
        for _ in range(20):
            drawn = generator.choice(len(classes), int(fraction * len(classes)), replace=False)
            sizes = ClassSizes.of(np.unique(classes[drawn], return_counts=True)[1], fraction)
            found.append(unique_people(sizes))
        for name in ("pitman", "zayatz", "snb", "share"):
            values = [getattr(one, name) for one in found]
            shown = f"unique people, sample of {fraction:.0%}: {'by the rule' if name == 'share' else name}"
            rows.append(Row(figure=shown, ours=float(np.median([one for one in values if one is not None])), peer=true))
    return rows


def _larger(codes: np.ndarray) -> np.ndarray:
    """A million records of the same columns, each value exchanged with a chance of one in five."""
    generator = np.random.default_rng(0)
    large = codes[generator.integers(0, len(codes), _LARGE)]
    for place in range(large.shape[1]):
        changed = generator.random(_LARGE) < 0.2
        large[changed, place] = codes[generator.integers(0, len(codes), int(changed.sum())), place]
    return large


def _pandas(codes: np.ndarray, largest: int) -> float:
    """Share of the records that some set singles out, each set counted by itself."""
    frame, alone = pd.DataFrame(codes), np.zeros(len(codes), dtype=bool)
    for size in range(1, largest + 1):
        for columns in combinations(range(codes.shape[1]), size):
            alone |= ~frame.duplicated(list(columns), keep=False).to_numpy()
    return float(alone.mean())


def _best(work: Callable[[], object], times: int = 3) -> tuple[float, object]:
    found, result = [], None
    for _ in range(times):
        started = time.perf_counter()
        result = work()
        found.append(time.perf_counter() - started)
    return min(found), result

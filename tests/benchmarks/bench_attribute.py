"""What classes disclose: files without any relation that are blocked, homogeneous classes by chance, and seconds."""

from time import perf_counter

import numpy as np

from tasks.candidate.class_values import DisclosedValues, OrderedValues, disclosed_values
from tests.benchmarks.record import Benchmark, Row

_RECORDS, _FILES = 1_000, 400
_SHARES = {
    "two values, one half each": np.full(2, 1 / 2),
    "ten values, one tenth each": np.full(10, 1 / 10),
    "fifty values, one fiftieth each": np.full(50, 1 / 50),
    "twenty values, by Zipf": (1 / np.arange(1, 21)) / (1 / np.arange(1, 21)).sum(),
}
_LARGE = 1_000_000


def run() -> Benchmark:
    """Of each size of the classes; the peer is the share of records in classes of one value that chance alone makes."""
    rows: list[Row] = []
    for size in (2, 3, 5, 11):
        for name, shares in _SHARES.items():
            found = [_disclosed(shares, _RECORDS, size, seed) for seed in range(_FILES)]
            homogeneous = 100 * float(np.mean([one.homogeneous.mean() for one in found]))
            expected = 100 * float((shares[shares <= 1 / 2] ** size).sum())
            shown = f"classes of {size}, {name}"
            rows.append(
                Row(figure=f"{shown}: records in classes of one value", ours=homogeneous, peer=expected, unit="%")
            )
            blocked = sum(bool(one.disclosed.any()) for one in found)
            rows.append(Row(figure=f"{shown}: files of {_FILES} that the gate blocks", ours=blocked))
    started = perf_counter()
    _disclosed(_SHARES["twenty values, by Zipf"], _LARGE, 11, 0)
    rows.append(Row(figure="1,000,000 records in classes of 11", ours=perf_counter() - started, unit="s"))
    return {"name": "attribute", "title": f"What classes disclose, of {_RECORDS:,} records at random", "rows": rows}


def _disclosed(shares: np.ndarray, records: int, size: int, seed: int) -> DisclosedValues:
    values = np.random.default_rng(seed).choice(len(shares), records, p=shares)
    used, ranks = np.unique(values, return_inverse=True)
    ordered = OrderedValues(ranks, np.arange(1, len(used) + 1), np.ones(len(used), dtype=bool), None)
    classes = np.arange(records) // size
    return disclosed_values(classes, ordered, len(used) * int(classes[-1] + 1))

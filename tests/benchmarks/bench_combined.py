"""The combined risk of a million school records with 111 known sets, beside grouping by each set with pandas."""

import math
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from tasks.assessments.combined.disclosure import contributions, disclosure_risk, known_sets, mean_contributions
from tests.benchmarks import students
from tests.benchmarks.record import Benchmark, Row
from tests.support.literal_risk import PAPER, by_record, literal_risk

_LARGE = 10_000_000
_LARGE_MEMORY = 16 * 2**30
_KIB = 1 if sys.platform == "darwin" else 1024


def run() -> Benchmark:
    """Time, memory and exactness of the combined risk."""
    chosen = (students.PROBABILITIES, students.weights(), students.ALPHA, students.EPSILON)
    sets = known_sets(students.PROBABILITIES, students.EPSILON)
    codes = students.records()
    before = _peak()
    seconds, risks = _best(lambda: disclosure_risk(codes, *chosen))
    peak = _peak()
    bound = _traffic_bound(len(codes), len(sets))
    peer_seconds, peer = _best(lambda: _pandas(codes, sets, *chosen[:3]), times=1)
    rows: list[Row] = [
        Row(figure="known sets at ε 0.01, the empty one included", ours=len(sets), paper=111),
        Row(figure="risk of 1,009,993 × 27 (peer: pandas)", ours=seconds, peer=peer_seconds, unit="s"),
        Row(figure="one pass a set at the memory's speed", ours=bound, unit="s"),
        Row(figure="time in such bounds", ours=seconds / bound),
        Row(figure="memory beside the codes, peak", ours=(peak - before) / 2**20, unit="MiB"),
        Row(figure="memory in all, peak", ours=peak / 2**20, unit="MiB"),
        Row(figure="largest relative difference from pandas", ours=_difference(risks, peer)),
        Row(figure="records above 0.01", ours=float((risks > 0.01).mean())),
    ]
    rows += _variants(codes, chosen)
    rows += [_exact(codes), _large(chosen), *_worked_example()]
    return {
        "name": "combined",
        "title": "Combined identity and attribute disclosure risk of made-up school records",
        "rows": rows,
        "note": "the paper gives no time; its records are not public, so the share above 0.01 is not its 1.55%",
    }


def _variants(codes: np.ndarray, chosen: tuple) -> list[Row]:
    probabilities, weights, alpha, epsilon = chosen
    every = students.weights_of_all()
    wide = np.ascontiguousarray(codes, dtype=np.int64)
    setting = (probabilities, weights, alpha, epsilon)
    timed: dict[str, Callable[[], object]] = {
        "every attribute sensitive": lambda: disclosure_risk(codes, probabilities, every, alpha, epsilon),
        "64-bit codes, row by row": lambda: disclosure_risk(wide, *setting),
        "mean contributions": lambda: mean_contributions(codes, *setting),
        "contributions to 10 records": lambda: contributions(codes, *setting, rows=range(10)),
    }
    return [Row(figure=name, ours=_best(work)[0], unit="s") for name, work in timed.items()]


def _worked_example() -> list[Row]:
    """Table 1 of the paper, which prints L·C of r4 for one known set; the peer is the definition, set by set."""
    codes, probabilities, weights = PAPER
    sizes = codes.max(axis=0) + 1
    cells = by_record(codes, [np.broadcast_to(own, size) for own, size in zip(weights, sizes, strict=True)])
    pairs = zip(disclosure_risk(*PAPER), literal_risk(codes, probabilities, cells), strict=True)
    (fourth,) = contributions(*PAPER, rows=[3])
    return [
        Row(
            figure="worked example, r4, L·C of age, gender and race",
            ours=dict(fourth.known_sets)[0, 1, 2],
            paper=0.084 * 1.63,
        ),
        *(
            Row(figure=f"worked example, D of r{number}", ours=float(ours), peer=float(peer))
            for number, (ours, peer) in enumerate(pairs, start=1)
        ),
    ]


def _difference(ours: np.ndarray, peer: np.ndarray) -> float:
    """Largest difference relative to the peer; where the peer has 0, so must we."""
    return float(np.max(np.abs(ours - peer) / np.where(peer > 0, peer, np.finfo(float).tiny)))


def _exact(codes: np.ndarray) -> Row:
    """All subsets of twelve attributes, without ε, for fewer records."""
    some = slice(0, 12)
    part = codes[:45_222, some]
    probabilities = np.maximum(students.PROBABILITIES[some], 0.1)
    seconds, _ = _best(lambda: disclosure_risk(part, probabilities, students.weights_of_all()[some]))
    return Row(figure="45,222 × 12, exact over all 4,096 sets", ours=seconds, unit="s")


def _large(chosen: tuple) -> Row:
    figure = "risk of 10,000,000 × 27"
    available = _available()
    if available < _LARGE_MEMORY:
        return Row(figure=f"{figure}: not run, {available / 2**30:.1f} of 16 GiB free", ours=None, unit="s")
    codes = students.records(_LARGE)
    seconds, _ = _best(lambda: disclosure_risk(codes, *chosen), times=1)
    return Row(figure=f"{figure}, peak {_peak() / 2**30:.1f} GiB", ours=seconds, unit="s")


def _pandas(codes: np.ndarray, sets: tuple, probabilities: tuple, weights: list, alpha: float) -> np.ndarray:
    """The definition with a group-by and transform for each known set."""
    frame = pd.DataFrame(codes)
    sensitivity = [own[codes[:, place]] for place, own in enumerate(weights)]
    total = np.sum(sensitivity, axis=0)
    risks = np.zeros(len(frame))
    for known in sets:
        matching = frame.groupby(list(known), sort=False)[0].transform("size").to_numpy() if known else len(frame)
        consequence = total - sum(sensitivity[place] for place in known if sensitivity[place].any())
        risks += alpha * math.prod(probabilities[place] for place in known) / matching * consequence
    return risks


def _traffic_bound(records: int, sets: int) -> float:
    """Seconds to read a 4-byte group and a 2-byte column and write a 4-byte group of every record, for each set."""
    source = np.ones(2**24, dtype=np.int64)
    target = np.empty_like(source)
    seconds, _ = _best(lambda: np.copyto(target, source), times=5)
    return sets * records * 10 / (2 * source.nbytes / seconds)


def _best(work: Callable[[], object], times: int = 3) -> tuple[float, object]:
    """Least seconds of a few runs, with the result."""
    best, result = math.inf, None
    for _ in range(times):
        started = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - started)
    return best, result


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _KIB


def _available() -> int:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable")), 0)

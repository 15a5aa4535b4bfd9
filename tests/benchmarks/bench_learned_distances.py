"""Learned distances: the tables of Torra 2016, slides 40 and 41, what is learned on other records, proofs, seconds."""

import time
from collections.abc import Iterable

import numpy as np

from tasks.assessments.linkage.learning.family import Kind
from tasks.assessments.linkage.learning.learn import Certificate, learn
from tasks.assessments.linkage.problem.figure import Linkage
from tests.benchmarks.record import Benchmark, Row
from tests.reference.cross_validation import cross_validated
from tests.reference.linkage_means import mean_share
from tests.support.learning_problems import BLOCKS, SAMPLES, sampled_problem

# Percent of correct links on slide 40, and seconds on slide 41, in the order of BLOCKS.
_PRINTED: dict[Kind, tuple[float, ...]] = {
    Kind.ARITHMETIC_MEAN: (84.00, 68.50, 71.00, 39.75, 78.00, 84.75),
    Kind.MAHALANOBIS: (94.00, 90.00, 92.75, 88.25, 98.50, 98.00),
    Kind.WEIGHTED_MEAN: (95.50, 93.00, 94.25, 90.50, 99.25, 98.75),
    Kind.CHOQUET: (95.75, 93.75, 94.25, 91.25, 99.75, 99.25),
    Kind.BILINEAR: (96.75, 94.50, 95.25, 92.25, 99.75, 99.50),
}
_PRINTED_SECONDS: dict[Kind, tuple[float, ...]] = {
    Kind.WEIGHTED_MEAN: (29.83, 41.37, 24.33, 718.43, 11.81, 17.77),
    Kind.CHOQUET: (280.24, 427.75, 242.86, 42_731.22, 24.17, 87.43),
    Kind.BILINEAR: (32.04, 2_793.81, 150.66, 10_592.99, 13.65, 14.11),
}
_EIGHT = (Kind.ARITHMETIC_MEAN, Kind.MAHALANOBIS, Kind.WEIGHTED_MEAN, Kind.CHOQUET, Kind.BILINEAR)
_ONE = (Kind.OWA,)
_FOLDS = 2


def run() -> Benchmark:
    """Shares and seconds by family and problem; proofs; the same on records that were not learned from."""
    rows: list[Row] = []
    for kind in (*_EIGHT, *_ONE):
        rows += _table(kind, range(SAMPLES) if kind in _EIGHT else range(1))
    return {
        "name": "learned-distances",
        "title": "Distances learned by the intruder of the worst case, 400 Census records",
        "rows": rows + _proofs() + _on_other_records(),
        "note": "mean of 8 samples, ties shared; OWA: one sample; seconds are processor "
        "time of the slowest; set OMP_NUM_THREADS=1 for one core",
    }


def _table(kind: Kind, samples: Iterable[int]) -> list[Row]:
    rows = []
    for place, name in enumerate(BLOCKS):
        measured = [_learned(name, kind, sample) for sample in samples]
        share = 100 * mean_share([figure for figure, _ in measured])
        printed = _PRINTED[kind][place] if kind in _PRINTED else None
        seconds = _PRINTED_SECONDS[kind][place] if kind in _PRINTED_SECONDS else None
        rows.append(Row(figure=f"{name}: {kind.value}", ours=round(share, 2), paper=printed, unit="%"))
        slowest = round(max(spent for _, spent in measured), 2)
        rows.append(Row(figure=f"{name}: {kind.value}, slowest sample", ours=slowest, paper=seconds, unit="s"))
    return rows


def _learned(name: str, kind: Kind, sample: int) -> tuple[Linkage, float]:
    files = sampled_problem(name, sample)
    started = time.process_time()
    figure = learn(files, kind, np.random.default_rng(sample)).in_sample
    return figure, time.process_time() - started


def _proofs() -> list[Row]:
    rows = []
    for kind in (Kind.WEIGHTED_MEAN, Kind.CHOQUET, Kind.BILINEAR):
        for name in BLOCKS:
            started = time.process_time()
            proof = learn(sampled_problem(name, 0), kind, np.random.default_rng(0), certificate=True).certificate
            seconds = round(time.process_time() - started, 2)
            rows.append(Row(figure=f"{name}: {kind.value}, records to the bound", ours=_gap(proof), unit="records"))
            rows.append(Row(figure=f"{name}: {kind.value}, learned with a certificate", ours=seconds, unit="s"))
    return rows


def _gap(proof: Certificate | None) -> str:
    if proof is None:
        return "none"
    return "0, proven" if proof.proven else f"{proof.gap:.1f}"


def _on_other_records() -> list[Row]:
    rows = []
    for kind in (Kind.ARITHMETIC_MEAN, Kind.WEIGHTED_MEAN, Kind.CHOQUET, Kind.BILINEAR):
        for name in BLOCKS:
            files, generator = sampled_problem(name, 0), np.random.default_rng(0)
            share = 100 * cross_validated(files, kind, generator, folds=_FOLDS).share_correct
            rows.append(Row(figure=f"{name}: {kind.value}, learned on other records", ours=round(share, 2), unit="%"))
    return rows

"""The partition where the count cube does not reach: eight attributes, beside per-file generalization and k-anonymity.

All rest on the same people and are paid by the same stakes. Under No-Attack all keep the same promise, groups of at
least 75; under Basic none is asked for, and the rivals have the best of several k.
"""

import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from tasks.core.seed import one_thread
from tasks.generalization.exact import Rule
from tasks.generalization.game import Floats, InformationLoss
from tasks.generalization.partition import partition
from tasks.generalization.problem import Problem
from tasks.generalization.table import CountIndex
from tasks.generalization.wide_partition import WidePartition, wide_partition
from tasks.microdata.cube import cells_at
from tests.benchmarks import adult
from tests.benchmarks.record import Benchmark, Row
from tests.support import adult_eight
from tests.support.wide_rivals import METRICS, Recoded, best_of, one_strategy, recoded

_SHARE = 0.005
_MEMORY = 2**30
_FEW = 0.001
_FEW_SHARE, _FEW_RECORDS = 0.0003, 2000
_RULES = ((Rule.NO_ATTACK, "No-Attack"), (Rule.BASIC, "Basic"))
_LADDER = (2, 5, 10, 25)
_Result = TypeVar("_Result")


def run() -> Benchmark:
    """Payoffs of the partition, of one strategy for all and of local recoding; bounds, gaps and seconds."""
    table, few = adult_eight.table(_SHARE), adult_eight.table(_FEW_SHARE, records=_FEW_RECORDS)
    problem, small = _problem(table), _problem(few)
    return {
        "name": "wide_partition",
        "title": "Partition over eight attributes, Adult-TN (V 1200, L 300, c 4, sex free)",
        "rows": [
            *_size(few),
            *_wide(small, few),
            *_rivals(small, few),
            *_size(table),
            *_wide(problem, table),
            *_rivals(problem, table),
            *_four(problem, table),
        ],
        "note": "CPU seconds of one thread; payoffs are means over the people; 2,000 records, then all; some minutes",
    }


def _problem(table: CountIndex) -> Problem:
    weights = np.array([0.0 if tree.name == "sex" else 1.0 for tree in table.hierarchies])
    return Problem(table.hierarchies, InformationLoss(table.hierarchies, weights), adult.CASE_STUDY, table.people)


def _timed(action: Callable[[], _Result]) -> tuple[float, _Result]:
    with one_thread():
        started = time.process_time()
        result = action()
        return time.process_time() - started, result


def _size(table: CountIndex) -> list[Row]:
    return [
        Row(figure="people", ours=table.population.total),
        Row(figure="distinct tuples of them", ours=len(table.population)),
        Row(figure="records", ours=table.data.total),
        Row(figure="strategies", ours=int(np.prod([tree.n_levels for tree in table.hierarchies]))),
        Row(figure="cells of a dense cube", ours=float(table.cube_cells)),
    ]


def _rivals(problem: Problem, table: CountIndex) -> list[Row]:
    """One strategy for all, and k-anonymity with local recoding: the k that nobody attacks, and smaller ones."""
    rows = []
    for rule, name in _RULES:
        seconds, paid = _timed(lambda r=rule: one_strategy(problem, table, r))
        rows += [
            Row(figure=f"{name}, the best strategy for all", ours=paid),
            Row(figure=f"{name}, the best strategy for all: search", ours=seconds, unit="s"),
        ]
    safe = int(np.ceil(problem.payoffs.safe_group))
    best: dict[int, Recoded] = {}
    for k in (*_LADDER, safe):
        seconds, found = _timed(lambda k=k: [recoded(problem, table, k, metric) for metric in METRICS])
        best[k] = best_of(found)
        rows += [
            *(Row(figure=f"k-anonymity with local recoding, k = {k}, {one.metric}", ours=one.paid) for one in found),
            Row(figure=f"k-anonymity, k = {k}, the best: suppressed in the end, share", ours=best[k].suppressed),
            Row(figure=f"k-anonymity, k = {k}, the best: rounds of recoding", ours=best[k].rounds),
            Row(figure=f"k-anonymity, k = {k}: all metrics", ours=seconds, unit="s"),
        ]
    return [
        *rows,
        Row(figure="No-Attack, the best local recoding", ours=best[safe].paid),
        Row(figure="Basic, the best local recoding", ours=best_of(list(best.values())).paid),
    ]


def _wide(problem: Problem, table: CountIndex) -> list[Row]:
    rows = []
    for rule, name in _RULES:
        seconds, found = _timed(lambda r=rule: wide_partition(problem, table.population, table.population, r, _MEMORY))
        rows += _figures(f"{name} partition", found, seconds, table.population.total)
        rows.append(Row(figure=f"{name} partition: over the records", ours=_records(problem, table, found)))
    return rows


def _figures(name: str, found: WidePartition, seconds: float, people: int) -> list[Row]:
    return [
        Row(figure=name, ours=found.total / people),
        Row(figure=f"{name}: bound", ours=found.bound / people),
        Row(figure=f"{name}: gap", ours=(found.bound - found.total) / found.bound),
        Row(figure=f"{name}: least group", ours=found.tree.smallest_group),
        Row(figure=f"{name}: bound included", ours=seconds, unit="s"),
    ]


def _records(problem: Problem, table: CountIndex, found: WidePartition) -> float:
    cells = cells_at(table.data.codes, found.levels(table.data.codes), table.hierarchies)
    own = cells_at(table.population.codes, found.levels(table.population.codes), table.hierarchies)
    _, number = np.unique(np.concatenate([own, cells]), axis=0, return_inverse=True)
    number = number.ravel()
    sizes = np.bincount(number[: len(own)], weights=table.population.counts, minlength=number.max() + 1)
    groups = np.rint(sizes).astype(np.int64)[number[len(own) :]]
    value: Floats = problem.payoffs.benefit * problem.loss.kept(cells)
    return float(table.data.counts @ problem.payoffs.publisher(value, groups) / table.data.total)


def _four(problem: Problem, table: CountIndex) -> list[Row]:
    """Age, race, sex and ZIP code alone, where the cube reaches: the best recursive partition beside the wide one."""
    part, rows = adult_eight.first(table, 4), []
    four = _narrowed(problem, part)
    for rule, name in _RULES:
        seconds, best = _timed(lambda r=rule: partition(four, part.people, r))
        rows += [
            Row(figure=f"four attributes, {name}: best recursive partition", ours=best.total / part.population.total),
            Row(figure=f"four attributes, {name}: over all cells", ours=seconds, unit="s"),
        ]
        seconds, found = _timed(lambda r=rule: wide_partition(four, part.population, part.population, r, _MEMORY))
        rows += _figures(f"four attributes, {name}: wide", found, seconds, part.population.total)
    return rows


def _narrowed(problem: Problem, table: CountIndex) -> Problem:
    """The game over the first attributes alone."""
    weights = problem.loss.weights[: len(table.hierarchies)]
    return Problem(table.hierarchies, InformationLoss(table.hierarchies, weights), problem.payoffs, table.people)

"""The partition where the count cube does not reach: eight attributes, beside per-file generalization and k-anonymity.

All three rest on the same people and keep the same promise: under No-Attack every released group has at least 75.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import numpy as np

from tasks.generalization.common import common_strategy
from tasks.generalization.exact import Rule
from tasks.generalization.game import Floats, InformationLoss
from tasks.generalization.kanonymity import Metric, lift, search
from tasks.generalization.partition import partition
from tasks.generalization.problem import Problem
from tasks.generalization.table import Table
from tasks.generalization.wide_partition import WidePartition, wide_partition
from tasks.generalization.wide_partition.cover import best_cover
from tasks.microdata.cube import cells_at
from tasks.microdata.hierarchy import Codes
from tests.benchmarks import adult
from tests.benchmarks.record import Benchmark, Row
from tests.support import adult_eight
from tests.support.interlocking import interlocking_world

_SHARE = 0.005
_MEMORY = 2**30
_FEW = 0.001
_FEW_SHARE, _FEW_RECORDS = 0.0003, 2000
_METRICS = (Metric.PRECISION, Metric.LOSS, Metric.NON_UNIFORM_ENTROPY)
_Result = TypeVar("_Result")


def run() -> Benchmark:
    """Payoffs of the partition, of one strategy for all and of local recoding; bound, gap and seconds."""
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
            *_four(problem, table),
            *_cover(),
        ],
        "note": "seconds of CPU; payoffs are means over the people; first 2,000 records, then all",
    }


def _problem(table: Table) -> Problem:
    weights = np.array([0.0 if tree.name == "sex" else 1.0 for tree in table.hierarchies])
    return Problem(table.hierarchies, InformationLoss(table.hierarchies, weights), adult.CASE_STUDY, table.people)


def _timed(action: Callable[[], _Result]) -> tuple[float, _Result]:
    started = time.process_time()
    result = action()
    return time.process_time() - started, result


def _size(table: Table) -> list[Row]:
    return [
        Row(figure="people", ours=table.population.total),
        Row(figure="distinct tuples of them", ours=len(table.population)),
        Row(figure="records", ours=table.data.total),
        Row(figure="strategies", ours=int(np.prod([tree.n_levels for tree in table.hierarchies]))),
        Row(figure="cells of a dense cube", ours=float(table.cube_cells)),
    ]


def _rivals(problem: Problem, table: Table) -> list[Row]:
    """One strategy for all people, and full-domain k-anonymity with local recoding, k = 75."""
    people = table.population
    seconds, levels = _timed(lambda: common_strategy(problem, people))
    rows = [
        Row(figure="Basic, one strategy for all", ours=_paid(problem, table, levels)),
        Row(figure="Basic, one strategy for all: search", ours=seconds, unit="s"),
    ]
    codes = np.repeat(people.codes, people.counts, axis=0)
    k = int(np.ceil(problem.payoffs.safe_group))
    for metric in _METRICS:
        seconds, (node, recoded, kept) = _timed(lambda m=metric: _recoded(codes, table, k, m))
        name = f"k-anonymity, k = {k}, {metric.value}"
        rows += [
            Row(figure=f"{name}: one strategy, nobody suppressed", ours=_paid(problem, table, node)),
            Row(figure=f"{name}: with local recoding", ours=_mean_kept(problem, codes, recoded, kept)),
            Row(figure=f"{name}: suppressed in the end, share", ours=float(np.mean(~kept))),
            Row(figure=f"{name}: both searches", ours=seconds, unit="s"),
        ]
    return rows


def _recoded(codes: Codes, table: Table, k: int, metric: Metric) -> tuple[Codes, Codes, np.ndarray]:
    whole = search(codes, table.hierarchies, k, 0.0, metric)
    free = search(codes, table.hierarchies, k, 1.0, metric)
    lifted = lift(codes, table.hierarchies, k, free)
    return np.array(whole.levels, dtype=np.int32), lifted.levels, ~lifted.suppressed


def _paid(problem: Problem, table: Table, levels: Codes) -> float:
    """Mean over the people of what one strategy for all pays."""
    value, people = replace(problem, people=table.people).evaluate(table.population.codes, levels)
    paid = problem.payoffs.publisher(value, people)
    return float(table.population.counts @ paid / table.population.total)


def _mean_kept(problem: Problem, codes: Codes, levels: Codes, kept: np.ndarray) -> float:
    """Mean over the people of the released value; a suppressed person's is nothing."""
    cells = cells_at(codes, levels, problem.hierarchies)
    return float(np.mean(np.where(kept, problem.payoffs.benefit * problem.loss.kept(cells), 0.0)))


def _wide(problem: Problem, table: Table) -> list[Row]:
    rows = []
    for rule, name in ((Rule.NO_ATTACK, "No-Attack"), (Rule.BASIC, "Basic")):
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


def _records(problem: Problem, table: Table, found: WidePartition) -> float:
    cells = cells_at(table.data.codes, found.levels(table.data.codes), table.hierarchies)
    own = cells_at(table.population.codes, found.levels(table.population.codes), table.hierarchies)
    _, number = np.unique(np.concatenate([own, cells]), axis=0, return_inverse=True)
    number = number.ravel()
    sizes = np.bincount(number[: len(own)], weights=table.population.counts, minlength=number.max() + 1)
    groups = np.rint(sizes).astype(np.int64)[number[len(own) :]]
    value: Floats = problem.payoffs.benefit * problem.loss.kept(cells)
    return float(table.data.counts @ problem.payoffs.publisher(value, groups) / table.data.total)


def _four(problem: Problem, table: Table) -> list[Row]:
    """Age, race, sex and ZIP code alone, where the cube reaches: the best recursive partition beside the wide one."""
    part, rows = adult_eight.first(table, 4), []
    four = _narrowed(problem, part)
    for rule, name in ((Rule.NO_ATTACK, "No-Attack"), (Rule.BASIC, "Basic")):
        seconds, best = _timed(lambda r=rule: partition(four, part.people, r))
        rows += [
            Row(figure=f"four attributes, {name}: best recursive partition", ours=best.total / part.population.total),
            Row(figure=f"four attributes, {name}: over all cells", ours=seconds, unit="s"),
        ]
        seconds, found = _timed(lambda r=rule: wide_partition(four, part.population, part.population, r, _MEMORY))
        rows += _figures(f"four attributes, {name}: wide", found, seconds, part.population.total)
    return rows


def _narrowed(problem: Problem, table: Table) -> Problem:
    """The game over the first attributes alone."""
    weights = problem.loss.weights[: len(table.hierarchies)]
    return Problem(table.hierarchies, InformationLoss(table.hierarchies, weights), problem.payoffs, table.people)


def _cover() -> list[Row]:
    """Cells that interlock, and a small file of three attributes: all partitions against recursive ones."""
    world = interlocking_world()
    people = world.tuples(world.people)
    found = best_cover(world.problem(), people, people, Rule.NO_ATTACK)
    rows = [
        Row(figure="interlocking cells: best recursive partition", ours=found.recursive),
        Row(figure="interlocking cells: best partition", ours=found.total),
    ]
    table = adult_eight.table(_FEW, records=100)
    part = adult_eight.first(table, 4)
    problem = _narrowed(_problem(table), part)
    for rule, name in ((Rule.NO_ATTACK, "No-Attack"), (Rule.BASIC, "Basic")):
        seconds, cover = _timed(lambda r=rule: best_cover(problem, part.population, part.population, r))
        total, figure = part.population.total, f"four attributes, {part.population.total} people, {name}"
        rows += [
            Row(figure=f"{figure}: best recursive partition", ours=cover.recursive / total),
            Row(figure=f"{figure}: best partition", ours=cover.total / total),
            Row(figure=f"{figure}: bound", ours=cover.bound / total),
            Row(figure=f"{figure}: all of it", ours=seconds, unit="s"),
        ]
    return rows

"""Remainder classes beside the partition into whole cells: payoff a person and a record, bound, gap and seconds."""

import time

import numpy as np

from tasks.core.seed import one_thread
from tasks.generalization.count_index import CountIndex
from tasks.generalization.game import InformationLoss
from tasks.generalization.generalize import generalize
from tasks.generalization.problem import Problem
from tasks.request.model import Method
from tests.benchmarks import adult
from tests.benchmarks.record import Benchmark, Row
from tests.support import adult as example
from tests.support import adult_eight

_FILES = {"64,332 people": (0.005, None), "3,950 people": (0.0003, 2000), "871 people": (0.0001, 200)}


def run() -> Benchmark:
    """Four attributes with all people of the example, and eight with some of them."""
    rows = _figures("four attributes", example.table(), Method.NO_ATTACK_PARTITION)
    rows += _figures("four attributes", example.table(), Method.NO_ATTACK_REMAINDER)
    for name, (share, records) in _FILES.items():
        rows += _figures(f"eight attributes, {name}", adult_eight.table(share, records), Method.NO_ATTACK_REMAINDER)
    return {
        "name": "remainder",
        "title": "Remainder classes, Adult-TN (V 1200, L 300, c 4, sex free), No-Attack",
        "rows": rows,
        "note": "CPU seconds of one thread, bound included",
    }


def _figures(name: str, table: CountIndex, method: Method) -> list[Row]:
    weights = np.array([0.0 if tree.name == "sex" else 1.0 for tree in table.hierarchies])
    problem = Problem(table.hierarchies, InformationLoss(table.hierarchies, weights), adult.CASE_STUDY, table.people)
    with one_thread():
        started = time.process_time()
        made = generalize(table, method, problem.payoffs, weights)
        seconds = time.process_time() - started
    assert made.division is not None
    people, records, figure = table.population.total, table.data.counts, f"{name}, {method.value}"
    kept = float(records @ made.kept / records.sum())
    return [
        Row(figure=f"{figure}: payoff a person", ours=made.division.payoff / people),
        Row(figure=f"{figure}: payoff a record", ours=problem.payoffs.benefit * kept),
        Row(figure=f"{figure}: gap, share of the bound", ours=made.division.gap),
        Row(figure=f"{figure}: least class", ours=int(made.effective.min())),
        Row(figure=f"{figure}: search", ours=seconds, unit="s"),
    ]

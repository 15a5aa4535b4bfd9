"""Remainder classes beside the partition into whole cells: payoff a person and a record, bound, gap and seconds."""

import time

import numpy as np

from tasks.core.seed import one_thread
from tasks.generalization.game.count_index import CountIndex
from tasks.generalization.game.payoffs import InformationLoss
from tasks.generalization.game.problem import Problem
from tasks.generalization.generalize import generalize
from tasks.generalization.remainder.find import find
from tasks.generalization.remainder.problem import RemainderProblem, remainder_problem
from tasks.microdata.hierarchy import Codes, Hierarchy
from tasks.microdata.tuples import distinct_tuples
from tasks.request.model import Method
from tests.benchmarks import adult
from tests.benchmarks.record import Benchmark, Row
from tests.reference.arx_local_recoding import local_recoding
from tests.support import adult as example
from tests.support import adult_eight
from tests.support.adult_lattice import adult_lattice
from tests.support.casc_lattice import casc_lattice

_K = 5
_RIVALLED = 0.1
"""Share of the people from which the rival takes hours."""
_FILES = {
    "1,068,078 people": (0.1635, None),
    "64,332 people": (0.005, None),
    "3,950 people": (0.0003, 2000),
    "871 people": (0.0001, 200),
}


def run() -> Benchmark:
    """Four attributes with all people of the example, eight with some of them; k-anonymous classes of three files."""
    rows = _figures("four attributes", example.table(), Method.NO_ATTACK_PARTITION)
    rows += _figures("four attributes", example.table(), Method.NO_ATTACK_REMAINDER)
    for name, (share, records) in _FILES.items():
        table = adult_eight.table(share, records)
        rows += _figures(f"eight attributes, {name}", table, Method.NO_ATTACK_REMAINDER, rival=share < _RIVALLED)
    rows += _k_anonymous("Adult, eight attributes", *adult_lattice(), peer="0.0569 in 2.0 s by ARX 3.9.2 itself")
    for name, table in {"four": example.table(), "eight": adult_eight.table(0.0001)}.items():
        records = np.repeat(table.data.codes, table.data.counts, axis=0)
        rows += _k_anonymous(f"Adult-TN, {name} attributes", table.hierarchies, records)
    for name in ("census", "eia"):
        rows += _k_anonymous(f"{name}, five attributes", *casc_lattice(name))
    return {
        "name": "remainder",
        "title": "Remainder classes, Adult-TN (V 1200, L 300, c 4, sex free), No-Attack; and k-anonymous ones",
        "rows": rows,
        "note": "CPU seconds of one thread, bound included; the rival is ARX's iterative local recoding, written anew",
    }


def _figures(name: str, table: CountIndex, method: Method, *, rival: bool = False) -> list[Row]:
    weights = np.array([0.0 if tree.name == "sex" else 1.0 for tree in table.hierarchies])
    problem = Problem(table.hierarchies, InformationLoss(table.hierarchies, weights), adult.CASE_STUDY, table.people)
    with one_thread():
        started = time.process_time()
        made = generalize(table, method, problem.payoffs, weights)
        seconds = time.process_time() - started
    assert made.division is not None
    most = made.division.upper_bound
    people, records, figure = table.population.total, table.data.counts, f"{name}, {method.value}"
    kept, peer = float(records @ made.kept / records.sum()), None
    if rival:
        classes = remainder_problem(problem, table.population)
        peer = f"{problem.payoffs.benefit * classes.worth(local_recoding(classes)) / people:.2f} by the rival"
    return [
        Row(figure=f"{figure}: payoff a person", ours=made.division.payoff / people, peer=peer),
        Row(figure=f"{figure}: payoff a record", ours=problem.payoffs.benefit * kept),
        *([Row(figure=f"{figure}: gap, share of the bound", ours=1 - made.division.payoff / most)] if most else []),
        Row(figure=f"{figure}: least class", ours=int(made.effective.min())),
        Row(figure=f"{figure}: search", ours=seconds, unit="s"),
    ]


def _k_anonymous(name: str, trees: tuple[Hierarchy, ...], codes: Codes, peer: str | None = None) -> list[Row]:
    """Nobody suppressed: mean over the attributes of (|g| − 1) / (|D| − 1)."""
    tuples, _ = distinct_tuples(codes.astype(np.int32), trees)
    lost = tuple((tree.sizes[tree.positions] - 1) / (tree.n_leaves - 1) / len(trees) for tree in trees)
    problem = RemainderProblem(tuples.codes, tuples.counts.astype(np.float64), trees, lost, _K)
    with one_thread():
        started = time.process_time()
        found = find(problem, left_out=0)
        seconds = time.process_time() - started
        rival = 1 - problem.worth(local_recoding(problem)) / tuples.total
    loss = 1 - problem.worth(found.node) / tuples.total
    return [
        Row(figure=f"{name}, k = {_K}: loss", ours=loss, peer=f"{rival:.4f} by the rival"),
        Row(figure=f"{name}, k = {_K}: search", ours=seconds, unit="s", peer=peer),
    ]

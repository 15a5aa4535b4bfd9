"""A small release with decoys: population, data, recipients' copies and the manifest, for attacks and traces."""

from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from tasks.decoys.assignment import Assignment, AssignmentProblem, Demand, Offer, assign
from tasks.decoys.classes import ClassTable, Lineage, half_octaves, lineages
from tasks.decoys.collusion import MarkedCopy
from tasks.decoys.manifest import DecoyManifest
from tasks.decoys.planning import DecoyPlan, manifest_of
from tasks.microdata.cube import DenseCube, cells_at, dense_cube
from tasks.microdata.hierarchy import Codes, Hierarchy
from tasks.microdata.tuples import Tuples, distinct_tuples
from tests.support.assigned_copies import copies
from tests.support.decoy_tables import tree

LEVELS = np.array([0, 1, 0], dtype=np.int32)
K = 3


@dataclass(frozen=True)
class World:
    """One generalization; people of two of the sixteen regions are in nobody's data."""

    trees: tuple[Hierarchy, ...]
    axes: tuple[Lineage, ...]
    population: Tuples
    people: DenseCube
    problem: AssignmentProblem
    found: Assignment
    plan: DecoyPlan
    manifest: DecoyManifest
    held: tuple[MarkedCopy, ...]

    @property
    def recipients(self) -> tuple[str, ...]:
        return self.manifest.recipients


def rows_of(classes: ClassTable) -> Codes:
    """One row a record."""
    return np.repeat(classes.cells, classes.records, axis=0)


RECIPIENTS = 6


class LaterWorld:
    """A world that is made when something of it is first asked for, and not where tests are collected."""

    def __init__(self, **terms: int) -> None:
        self._terms = terms

    def __getattr__(self, name: str) -> Any:
        return getattr(world(**self._terms), name)


@cache
def world(n_recipients: int = RECIPIENTS, decoys: int = 2, ratio: int = 1, seats: int = 0) -> World:
    rng = np.random.default_rng(11)
    trees = (tree("region", 3, 4), tree("job", 2, 3), tree("sex", 1, 2))
    axes = lineages(trees)
    leaves = np.stack(np.meshgrid(*[np.arange(t.n_leaves) for t in trees], indexing="ij"), -1).reshape(-1, 3)
    leaves = leaves.astype(np.int32)
    share = rng.lognormal(0, 1, len(leaves))
    population, _ = distinct_tuples(leaves, trees, rng.multinomial(200_000, share / share.sum()))
    people = dense_cube(population, trees)
    drawn = np.where(leaves[:, 0] // 4 < 14, share, 0) * (rng.random(len(leaves)) < 0.9)
    data, _ = distinct_tuples(leaves, trees, rng.multinomial(4_000, drawn / drawn.sum()))
    (cells, records), empty = _classes(data, population, trees)
    real = ClassTable(cells, records, people.count(cells))
    demands = [Demand(0, decoys)] * (n_recipients + seats)
    offer = _offer(
        real, ClassTable(empty, np.zeros(len(empty), np.int64), people.count(empty)), decoys * len(demands), ratio
    )
    problem = AssignmentProblem((real,), (Offer(0, offer),), axes)
    found = assign(problem, demands, ratio, np.random.default_rng(1))
    names = tuple(f"recipient-{number}" for number in range(n_recipients))
    plan = DecoyPlan(problem, found, names, tuple(demands), ("alike",))
    manifest = manifest_of(plan, ratio, "release-1", trees, [()] * len(demands))
    return World(
        trees, axes, population, people, problem, found, plan, manifest, tuple(copies(problem, demands, found))
    )


def _offer(real: ClassTable, empty: ClassTable, number: int, ratio: int) -> ClassTable:
    """Empty cells that link to as many people as some real class does, each in the size of one, at random."""
    rng, free = (
        np.random.default_rng(2),
        Counter(zip(half_octaves(real.people).tolist(), real.records.tolist(), strict=True)),
    )
    rows, sizes = [], []
    octaves = half_octaves(empty.people)
    for row in rng.permutation(len(empty)).tolist():
        octave = int(octaves[row])
        fitting = [size for (other, size), count in free.items() if other == octave and count >= ratio]
        if fitting and len(rows) < number:
            rows.append(row)
            sizes.append(int(rng.choice(fitting)))
            free[octave, sizes[-1]] -= ratio
    return ClassTable(empty.cells[rows], np.array(sizes), empty.people[rows])


def _classes(data: Tuples, population: Tuples, trees: tuple[Hierarchy, ...]) -> tuple[tuple[Codes, np.ndarray], Codes]:
    present = data.counts > 0
    cells, number = np.unique(cells_at(data.codes[present], LEVELS, trees), axis=0, return_inverse=True)
    records = np.bincount(number.ravel(), weights=data.counts[present]).astype(np.int64)
    everywhere = np.unique(cells_at(population.codes, LEVELS, trees), axis=0)
    taken = {tuple(cell) for cell in cells.tolist()}
    offered = np.array([cell for cell in everywhere.tolist() if tuple(cell) not in taken], dtype=np.int32)
    return (cells[records >= K], records[records >= K]), offered

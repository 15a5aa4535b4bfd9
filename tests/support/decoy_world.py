"""A small release with decoys: population, data, recipients' copies and the manifest, for attacks and traces."""

from dataclasses import dataclass
from functools import cache

import numpy as np

from tasks.decoys.assignment import assign
from tasks.decoys.class_table import ClassTable
from tasks.decoys.collusion import Copy
from tasks.decoys.lineage import Lineage, lineages
from tasks.decoys.manifest import Manifest, manifest_of
from tasks.decoys.removal import Assignment, Ground, Wanted, ground
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
    place: Ground
    found: Assignment
    manifest: Manifest
    held: tuple[Copy, ...]

    @property
    def recipients(self) -> tuple[str, ...]:
        return self.manifest.recipients


def rows_of(classes: ClassTable) -> Codes:
    """One row a record."""
    return np.repeat(classes.cells, classes.records, axis=0)


@cache
def world(n_recipients: int = 6, decoys: int = 2, ratio: int = 1, seats: int = 0) -> World:
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
    real, offered = _classes(data, population, trees)
    tables = [
        ClassTable(cells, records, people.count(cells))
        for cells, records in (real, *[(offered, np.full(len(offered), size)) for size in range(K, 30)])
    ]
    place = ground([tables[0]], [tables[1].with_rows(*tables[2:])], axes)
    found = assign(place, [Wanted(decoys)] * (n_recipients + seats), ratio, np.random.default_rng(1))
    names = [f"recipient-{number}" for number in range(n_recipients)]
    manifest = manifest_of(place, found, names, "release-1", trees)
    return World(trees, axes, population, people, place, found, manifest, tuple(copies(place, found)))


def _classes(data: Tuples, population: Tuples, trees: tuple[Hierarchy, ...]) -> tuple[tuple[Codes, np.ndarray], Codes]:
    present = data.counts > 0
    cells, number = np.unique(cells_at(data.codes[present], LEVELS, trees), axis=0, return_inverse=True)
    records = np.bincount(number.ravel(), weights=data.counts[present]).astype(np.int64)
    everywhere = np.unique(cells_at(population.codes, LEVELS, trees), axis=0)
    taken = {tuple(cell) for cell in cells.tolist()}
    offered = np.array([cell for cell in everywhere.tolist() if tuple(cell) not in taken], dtype=np.int32)
    return (cells[records >= K], records[records >= K]), offered

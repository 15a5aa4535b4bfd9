"""Linkage of generalized files by policies, with part of the attributes known."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tasks.assessments.linkage.generalized import (
    OwnCells,
    closest_linkage,
    likely_linkage,
    matching_linkage,
    own_cell_linkage,
)
from tasks.assessments.linkage.problem.figure import Linkage
from tasks.assessments.linkage.problem.generalized_files import (
    AxisGroups,
    LinkableRelease,
    generalized_files,
    index_groups,
    people_matching,
)
from tasks.generalization.game.count_index import CountIndex, Generalization
from tasks.generalization.game.payoffs import Floats, Follower
from tasks.generalization.generalize import population_cells
from tasks.microdata.tuples import Counts
from tasks.request.model import Method


@dataclass(frozen=True)
class PartialLinkage:
    """How a policy's file withstands an intruder who knows some quasi-identifiers."""

    method: Method
    attributes: tuple[int, ...]
    """Positions of the known quasi-identifiers."""
    closest: Linkage
    matching: Linkage
    likely: Linkage
    own_cell: Linkage
    """All records in cells of people who agree in what is known, alike."""
    likeliest_own_cell: Linkage
    """Of those the cell with the largest share of such people."""


def policy_cells(table: CountIndex, method: Method, payoffs: Follower, weights: Floats) -> OwnCells:
    """What a policy's rule gives the population; parameters as of ``tasks.generalization.generalize.generalize``.

    Raises
    ------
    StageFailed
        If the method leaves some record no strategy.
    """
    cells = population_cells(table, method, payoffs, weights)
    return OwnCells(table.population.codes, cells, table.population.counts)


def partial_linkage(
    release: LinkableRelease,
    method: Method,
    population: OwnCells,
    attributes: Sequence[int],
) -> PartialLinkage:
    """Attack the file that a policy releases, with some quasi-identifiers known.

    Parameters
    ----------
    release : LinkableRelease
    method : Method
    population : OwnCells
        What the policy's rule gives the population.
    attributes : sequence of int
        Positions of the known quasi-identifiers.
    """
    files = generalized_files(release, attributes)
    people = people_matching(release.groups, release.cells, population.codes, population.people, attributes)
    return PartialLinkage(
        method=method,
        attributes=files.attributes,
        closest=closest_linkage(files),
        matching=matching_linkage(files),
        likely=likely_linkage(files, people),
        own_cell=own_cell_linkage(files, population),
        likeliest_own_cell=own_cell_linkage(files, population, likeliest=True),
    )


def played_release(
    index: CountIndex,
    generalization: Generalization,
    kept: np.ndarray | None = None,
    groups: tuple[AxisGroups, ...] = (),
) -> LinkableRelease:
    """The file that a generalization releases, all of it where not said otherwise."""
    kept = np.ones(len(index.data.counts), dtype=np.bool_) if kept is None else kept
    return LinkableRelease(
        groups or index_groups(index), index.data.codes, generalization.cells, index.data.counts, kept
    )


def whole_linkage(
    index: CountIndex, generalization: Generalization, kept: np.ndarray | None = None, persons: Counts | None = None
) -> PartialLinkage:
    """Attack the file that a policy releases, with all quasi-identifiers known."""
    files = generalized_files(played_release(index, generalization, kept), persons=persons)
    own_cell = own_cell_linkage(files)
    return PartialLinkage(
        method=generalization.method,
        attributes=files.attributes,
        closest=closest_linkage(files),
        matching=matching_linkage(files),
        likely=likely_linkage(files, generalization.people),
        own_cell=own_cell,
        likeliest_own_cell=own_cell,
    )

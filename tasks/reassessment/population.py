"""Today's population in the terms of a release: groups by their labels, people by their values.

Nothing is generalized again. Hierarchies stay those of the release; one by prefixes takes in values that the population
has only now. The rule stays as well: people of combinations of values that it was never applied to count among those
who match a cell, and among nobody's own.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tasks.core.errors import HierarchyError, PopulationError, StageFailed, raised_as
from tasks.delivery.kept import Kept
from tasks.delivery.released_file import positions_of
from tasks.generalization.game.count_index import CountIndex
from tasks.generalization.setting import count_index
from tasks.microdata.build import from_prefixes
from tasks.microdata.coded import Prepared
from tasks.microdata.hierarchy import MISSING, Codes, Hierarchy, from_level, with_leaf_apart
from tasks.microdata.missing_values import lacking_values, people_beside_missing
from tasks.microdata.prepared import People, people_domains, read_register
from tasks.microdata.read import read_population
from tasks.microdata.tuples import Tuples, distinct_tuples, encode, leaf_keys
from tasks.request.load import LoadedRequest
from tasks.request.model import MissingReading, PopulationBasis, ReleaseRequest

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class TodaysPopulation(People):
    """The population of today, under the hierarchies of a release."""

    population: Tuples
    strangers: int
    """People left out since the hierarchies of the release do not have their values."""

    def _population(self, data: Tuples, missing: MissingReading) -> Tuples:  # noqa: ARG002 - they are divided already
        return self.population


def todays_population(loaded: LoadedRequest, kept: Kept) -> TodaysPopulation:
    """Read the population and the register that a request names today.

    People who were counted in the file of the release are counted as they were then. BadInput says that a table cannot
    be read, or has no person with the values that the release knows.
    """
    request, names = loaded.request, tuple(kept.hierarchies)
    if request.population.basis is not PopulationBasis.TABLE:
        return TodaysPopulation(kept.hierarchies, kept.population, None, {}, 0)
    named = str(request.population.path)
    path = loaded.resolve(named, "population.path")
    values, counts = read_population(path, request.population, names)
    hierarchies = {name: _extended(hierarchy, request, values) for name, hierarchy in kept.hierarchies.items()}
    known = counts > 0
    for name, hierarchy in hierarchies.items():
        leaf = hierarchy.encode(values[name].to_numpy(dtype=object))
        known &= (leaf >= 0) & (leaf != hierarchy.missing_leaf)
    strangers = int(counts[~known].sum())
    if not known.any():
        raise HierarchyError(
            "nobody in the population has the values in the release",
            where=named,
            expected="a population with the values of the release's hierarchies",
            got="other values alone",
            fix="name a population of the same people with --under",
        )
    with raised_as(PopulationError):
        codes = encode(values[known], hierarchies, named, groups=True)
    found, _ = distinct_tuples(codes, list(hierarchies.values()), counts[known])
    population = _beside_missing(found, hierarchies, kept, request.policy.missing.quasi_identifiers)
    register = read_register(loaded, hierarchies, population)
    return TodaysPopulation(hierarchies, population, register, people_domains(loaded), strangers)


def _beside_missing(
    people: Tuples, hierarchies: Mapping[str, Hierarchy], kept: Kept, reading: MissingReading
) -> Tuples:
    """Today's people, as many of them set aside for combinations with missing values as at the release."""
    then, today = list(kept.hierarchies.values()), list(hierarchies.values())
    lacking = lacking_values(kept.population.codes, then).any(axis=1)
    leaves = (tree.encode(np.asarray(own.labels[0], dtype=object)) for own, tree in zip(then, today, strict=True))
    codes = np.column_stack([leaf[code] for leaf, code in zip(leaves, kept.population.codes[lacking].T, strict=True)])
    set_aside, _ = distinct_tuples(codes.astype(np.int32), today, kept.population.counts[lacking])
    return people_beside_missing(people, set_aside, today, reading, shared=False)


def table_of(ground: TodaysPopulation, request: ReleaseRequest) -> CountIndex:
    """A table to count people on, without data."""
    nobody = Tuples(np.empty((0, len(ground.hierarchies)), np.int32), np.empty(0, np.int64), np.empty(0, np.int64))
    no_rows = np.empty(0, np.int32)
    return count_index(
        request, Prepared(ground.hierarchies, nobody, ground.population, no_rows, {}, register=ground.register)
    )


def ruled(kept: Kept, table: CountIndex) -> tuple[Codes, Flags]:
    """The rule of a release on the population of today.

    The cell that it gives each tuple, in axis positions of today, shape (n_population_tuples, n_attributes), the values
    themselves where it was never applied; and whether a record of it would have been released, as far as that shows.
    """
    codes = table.population.codes
    cells, applied, counted = rule_on(kept, leaves_in(kept, {tree.name: tree for tree in table.hierarchies}, codes))
    return np.where(applied[:, None], positions_today(kept, table, cells), codes), counted


def leaves_in(kept: Kept, hierarchies: Mapping[str, Hierarchy], codes: Codes) -> Codes:
    """Leaf codes of a release's own hierarchies for leaf codes of others; −1 for a value that it does not have."""
    names = list(hierarchies)
    columns = [
        tree.encode(np.asarray(hierarchies[name].labels[0], dtype=object))[codes[:, names.index(name)]]
        for name, tree in kept.hierarchies.items()
    ]
    return np.column_stack(columns).astype(np.int32)


def rule_on(kept: Kept, leaves: Codes) -> tuple[Codes, Flags, Flags]:
    """The rule of a release on combinations of values; StageFailed where it was not kept.

    `leaves` are codes of the release's own hierarchies, −1 for a value that it does not have, of shape (n_tuples,
    n_attributes). Returned are the cell of each in axis positions of the release, any cell where the rule was never
    applied; whether each is a combination of the population at the release; and whether a record of it would have been
    released, as far as the rule shows.
    """
    generalization = kept.generalization
    if generalization.own is None:
        all_cells = "the cell of every combination of values of its population"
        raise not_as_kept("the rule of the release was not kept", all_cells, "none")
    known = np.asarray((leaves >= 0).all(axis=1))
    keys = leaf_keys(np.where(known[:, None], leaves, 0), list(kept.hierarchies.values()))
    place = np.where(known, kept.population.find(keys), -1)
    applied = place >= 0
    return (
        generalization.own[place],
        applied,
        applied if generalization.counted is None else applied & generalization.counted[place],
    )


def positions_today(kept: Kept, table: CountIndex, cells: Codes) -> Codes:
    """Cells of a release in axis positions of today, by their labels.

    StageFailed says that a group is none of today's, which a damaged file alone can cause.
    """
    positions = np.empty_like(cells)
    for axis, labels in enumerate(kept.axis_labels):
        positions[:, axis] = positions_of(labels, table.axis_labels[axis])[cells[:, axis]]
    if (positions < 0).any():
        strange = "groups of the release are none of its hierarchies'"
        raise not_as_kept(strange, "the groups that it was released in", "others")
    return positions


def not_as_kept(what: str, expected: str, got: str) -> StageFailed:
    """The error for what was kept of a release and does not fit it, which a damaged file alone can cause."""
    fix = "restore .releasegate/kept from a backup"
    return StageFailed(what, where="what was kept of the release", expected=expected, got=got, fix=fix)


def _extended(hierarchy: Hierarchy, request: ReleaseRequest, values: pd.DataFrame) -> Hierarchy:
    """A hierarchy of the release; one by prefixes with values that the population has only now."""
    attribute = request.attributes[hierarchy.name]
    source = attribute.hierarchy
    if source is None or source.prefixes is None:
        return hierarchy
    now = (str(value) for value in values[hierarchy.name].dropna().unique())
    stated = (value for value in hierarchy.domain if value != MISSING)
    try:
        extended = from_prefixes(hierarchy.name, source.prefixes, chain(stated, now))
        extended = from_level(extended, attribute.level or 0 if hierarchy.values else 0)
        return extended if hierarchy.missing_leaf < 0 else with_leaf_apart(extended, MISSING)
    except HierarchyError:
        return hierarchy

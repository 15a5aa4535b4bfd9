"""Classes of the records by the whole released row: by what released columns leave possible of generalized values.

A column that tells a quasi-identifier and is released all the same leaves, of the values in a generalized group, those
that occur with it in the file. Records are in one class if their groups and what is left of these agree.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tasks.assessments.columns.dependence import Codes, classes
from tasks.assessments.columns.facts import ColumnsFact, Sign
from tasks.candidate.candidate import Candidate
from tasks.generalization.transparency import cell_numbers
from tasks.request.model import Measure

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class PossibleValues:
    """What one column leaves of one quasi-identifier."""

    axis: int
    sets: Flags
    """Whether each set of values holds each value, shape (n_sets, n_leaves)."""
    of_record: NDArray[np.int64]
    """Set of each released record."""


def telling(fact: ColumnsFact, quasi_identifiers: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Released columns, each with a quasi-identifier that it alone tells or follows from."""
    names = set(quasi_identifiers)
    return tuple(
        dict.fromkeys(
            (column.name, finding.others[0])
            for column in fact.columns
            for finding in column.findings
            if finding.sign in (Sign.TELLS, Sign.TOLD, Sign.FOLLOWS)
            and len(finding.others) == len(finding.columns) == 1
            if finding.others[0] in names
        )
    )


def whole_row_figures(
    candidate: Candidate, pairs: Iterable[tuple[str, str]], released: Mapping[str, Codes]
) -> dict[Measure, float]:
    """Figures of the classes by the whole row, that gates judge if they are worse; none without a pair.

    ``released`` has the released values of the columns as codes, of all records of the file.
    """
    left = [
        _left(candidate, released[column], candidate.request.quasi_identifiers.index(name)) for column, name in pairs
    ]
    if not left:
        return {}
    made, sizes = candidate.generalization, candidate.index.axis_sizes
    cells = cell_numbers(made.cells, sizes)[candidate.prepared.tuple_of_record[candidate.rows]]
    kind = classes([np.unique(cells, return_inverse=True)[1], *(one.of_record for one in left)])
    records, first = np.bincount(kind), np.unique(kind, return_index=True)[1]
    people = _people(candidate, cells[first], [(one, one.of_record[first]) for one in left])
    least, attacked = int(records.min()), candidate.payoffs.attacked(people)
    return {
        Measure.PROSECUTOR_MAXIMUM: 1.0 / least,
        Measure.SMALLEST_CLASS: float(least),
        Measure.TRANSPARENT_MAXIMUM: 1.0 / int(people.min()),
        Measure.TRANSPARENT_ATTACKED: float(records[attacked].sum() / records.sum()),
    }


def _left(candidate: Candidate, column: Codes, axis: int) -> PossibleValues:
    """What a column leaves of a quasi-identifier: values that occur with it, and lie in the released group."""
    prepared, index = candidate.prepared, candidate.index
    leaves = prepared.data.codes[prepared.tuple_of_record, axis]
    together = np.zeros((int(column.max()) + 1, list(prepared.hierarchies.values())[axis].n_leaves), dtype=np.bool_)
    together[column, leaves] = True
    inside = np.zeros((int(index.axis_sizes[axis]), together.shape[1]), dtype=np.bool_)
    inside[candidate.own_cells[:, axis], prepared.population.codes[:, axis]] = True
    made = candidate.generalization.cells[prepared.tuple_of_record[candidate.rows], axis]
    inside[made, leaves[candidate.rows]] = True
    values = column[candidate.rows].astype(np.int64)
    pairs, of_record = np.unique(made * np.int64(len(together)) + values, return_inverse=True)
    masks = inside[pairs // len(together)] & together[pairs % len(together)]
    sets, of_pair = np.unique(masks, axis=0, return_inverse=True)
    return PossibleValues(axis, sets, of_pair.ravel()[of_record])


def _people(
    candidate: Candidate, cells: NDArray[np.int64], left: list[tuple[PossibleValues, NDArray[np.int64]]]
) -> NDArray[np.int64]:
    """People of the population in the effective group of each class whose values are left possible, at least 1."""
    population = candidate.prepared.population
    names = [f"leaf {place}" for place in range(len(left))]
    own: dict[str, NDArray[np.integer]] = {
        "cell": cell_numbers(candidate.own_cells, candidate.index.axis_sizes),
        "people": population.counts,
    }
    for name, (one, _) in zip(names, left, strict=True):
        own[name] = population.codes[:, one.axis]
    counted = pd.DataFrame(own).groupby(["cell", *names], as_index=False)["people"].sum()
    asked = pd.DataFrame({"cell": cells, "class": np.arange(len(cells))})
    joined = asked.merge(counted, on="cell")
    held = joined["class"].to_numpy()
    possible = np.ones(len(joined), dtype=np.bool_)
    for name, (one, of_class) in zip(names, left, strict=True):
        possible &= one.sets[of_class[held], joined[name].to_numpy()]
    people = np.bincount(held[possible], weights=joined["people"].to_numpy()[possible], minlength=len(cells))
    found: NDArray[np.int64] = np.maximum(np.rint(people), 1).astype(np.int64)
    return found

"""The records of a release as the combined score sees them: in codes, the attributes that are known or sensitive."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks.generalization.play import CountIndex, Generalization
from tasks.microdata.coded import Prepared
from tasks.microdata.columns import known_probabilities
from tasks.microdata.hierarchy import Codes
from tasks.request.model import ReleaseRequest

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ScoreTable:
    """Codes of the records, by attribute, with what an adversary may know and gain."""

    names: tuple[str, ...]
    codes: NDArray[np.integer]
    """Shape (n_records, n_attributes), column-major."""
    cardinalities: tuple[int, ...]
    known_probabilities: tuple[float, ...]
    sensitivities: tuple[Floats, ...]
    """Weight of each value of each attribute."""


def collected_table(request: ReleaseRequest, prepared: Prepared, table: CountIndex) -> ScoreTable:
    """The records as collected."""
    sizes = [hierarchy.n_leaves for hierarchy in table.hierarchies]
    return _score_table(request, prepared, prepared.data.codes, sizes, np.arange(len(prepared.tuple_of_record)))


def released_table(
    request: ReleaseRequest, prepared: Prepared, table: CountIndex, played: Generalization, kept: NDArray[np.bool_]
) -> ScoreTable:
    """The records as released: an adversary counts the generalized values; what is suppressed is not there.

    Parameters
    ----------
    kept : array of shape (n_tuples,)
        Whether a tuple's records are released.
    """
    rows = np.flatnonzero(kept[prepared.tuple_of_record])
    return _score_table(request, prepared, played.cells, list(table.axis_sizes), rows)


def scored_names(request: ReleaseRequest, prepared: Prepared) -> tuple[str, ...]:
    """Attributes that are counted or weighed, in the order of the request."""
    quasi, chances, columns = set(request.quasi_identifiers), known_probabilities(request), prepared.columns
    return tuple(
        name
        for name in request.outbound
        if name in quasi or (name in columns and (chances[name] > 0 or columns[name].weights.any()))
    )


def _score_table(
    request: ReleaseRequest, prepared: Prepared, cells: Codes, sizes: list[int], rows: NDArray[np.intp]
) -> ScoreTable:
    chances = known_probabilities(request)
    axis_of = {name: axis for axis, name in enumerate(request.quasi_identifiers)}
    names = scored_names(request, prepared)
    columns: list[NDArray[np.integer]] = []
    cardinalities, weights = [], []
    for name in names:
        if name in axis_of:
            axis = axis_of[name]
            columns.append(cells[prepared.tuple_of_record[rows], axis])
            cardinalities.append(sizes[axis])
            weights.append(np.zeros(sizes[axis]))
        else:
            column = prepared.columns[name]
            columns.append(column.codes[rows])
            cardinalities.append(len(column.weights))
            weights.append(column.weights)
    codes = np.empty((len(rows), len(names)), dtype=np.result_type(*columns), order="F")
    for place, column_codes in enumerate(columns):
        codes[:, place] = column_codes
    return ScoreTable(names, codes, tuple(cardinalities), tuple(chances[name] for name in names), tuple(weights))

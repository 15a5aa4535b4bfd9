"""An incident in integer form: re-identified people, quasi-identifier tuples, or the rows of a leaked file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tasks.core.errors import DataError, ParameterError
from tasks.decoys.lineage import Lineage, canonical_cells
from tasks.microdata.hierarchy import Codes, Hierarchy
from tasks.microdata.tuples import Counts

Kind = Literal["people", "rows"]


@dataclass(frozen=True)
class Incident:
    """Leaked records, as distinct cells at any level of generalization; shows none of them."""

    kind: Kind
    """Re-identified people, of whom each counts once, or rows of a file."""
    cells: Codes = field(repr=False)
    """Axis positions, the top where nothing is known; shape (n_cells, n_attributes)."""
    counts: Counts = field(repr=False)
    """People or rows of each cell."""
    unread: Mapping[str, int] = field(default_factory=dict)
    """Rows of each column whose value was missing or in no hierarchy; taken as unknown."""

    @property
    def total(self) -> int:
        """People or rows."""
        return int(self.counts.sum())


def incident_of_cells(cells: Codes, axes: Sequence[Lineage], kind: Kind, counts: Counts | None = None) -> Incident:
    """An incident of cells in axis positions; the leaf codes of people are positions too.

    Parameters
    ----------
    cells : array of shape (n, n_attributes)
        One row a person or a row of the file.
    axes : sequence of Lineage
    kind : {"people", "rows"}
    counts : array of shape (n,), optional
        People or rows of each; one where not given.

    Raises
    ------
    ParameterError
        If the cells are not over these axes, or the counts are not from 1.
    """
    cells = canonical_cells(cells, axes, "incident")
    weights = np.ones(len(cells), dtype=np.int64) if counts is None else counts.astype(np.int64)
    if weights.shape != (len(cells),) or (weights < 1).any():
        raise ParameterError(
            "the counts do not go with the cells of the incident",
            where="incident",
            expected=f"{len(cells)} counts from 1",
            got=f"{len(weights)}, {int((weights < 1).sum())} of them below 1",
            fix="count people or rows of each cell",
        )
    distinct, number = np.unique(cells, axis=0, return_inverse=True)
    summed = np.bincount(number.ravel(), weights=weights, minlength=len(distinct))
    return Incident(kind, distinct.reshape(-1, len(axes)), np.rint(summed).astype(np.int64))


def incident_of_labels(
    frame: pd.DataFrame,
    hierarchies: Mapping[str, Hierarchy],
    axes: Sequence[Lineage],
    kind: Kind,
    where: str,
    *,
    outside: Mapping[str, Sequence[str]] | None = None,
) -> Incident:
    """An incident of a table whose values are labels of any level of the hierarchies.

    Columns that it lacks, and values that no hierarchy has, are unknown: such a row can hit less, never more.

    Parameters
    ----------
    frame : DataFrame
        Text columns; those that are no quasi-identifiers are not looked at.
    hierarchies : mapping of str to Hierarchy
        By name, in the order of the axes.
    axes : sequence of Lineage
    kind : {"people", "rows"}
    where : str
        Name of the file, for messages.
    outside : mapping of str to sequence of str, optional
        Labels of the groups outside a hierarchy, such as Safe Harbor's, in the order of their positions.

    Raises
    ------
    DataError
        If the table has no column of the quasi-identifiers, or one of them twice.
    ParameterError
        If the labels of groups outside a hierarchy are not those that its axis has.
    """
    shared = [name for name in hierarchies if name in frame.columns]
    if not shared:
        raise DataError(
            "the incident has no quasi-identifier of this release",
            where=where,
            expected=f"at least one of the columns {', '.join(hierarchies)}",
            got=f"{frame.shape[1]} other columns",
            fix="name the columns as in the release",
        )
    twice = [name for name in shared if list(frame.columns).count(name) > 1]
    if twice:
        raise DataError(
            "the incident has a quasi-identifier twice",
            where=f"{where}, column {', '.join(twice)}",
            expected="each column once",
            got=f"{len(twice)} repeated",
            fix="leave out the column that is not the release's",
        )
    cells = np.empty((len(frame), len(hierarchies)), dtype=np.int32)
    unread = {}
    for axis, (name, hierarchy) in enumerate(hierarchies.items()):
        cells[:, axis] = axes[axis].top
        if name in shared:
            labels = (*hierarchy.axis_labels, *(outside or {}).get(name, ()))
            known = _positions(frame[name], _places(name, labels, axes[axis]))
            unread[name] = int((known < 0).sum())
            cells[:, axis] = np.where(known < 0, axes[axis].top, known)
    found = incident_of_cells(cells, axes, kind)
    return Incident(kind, found.cells, found.counts, unread)


def _places(name: str, labels: Sequence[str], line: Lineage) -> dict[str, int]:
    """Canonical position of the group that each label stands for."""
    places: dict[str, int] = {}
    if len(labels) == len(line):
        for label, position in zip(labels, line.canonical.tolist(), strict=True):
            if places.setdefault(label, position) != position:
                break
        else:
            return places
    raise ParameterError(
        "the labels do not go with the groups of the release",
        where=f"column {name}",
        expected=f"labels of {len(line)} groups, different ones for different groups",
        got=f"{len(labels)} labels, {len(set(labels))} of them different",
        fix="give the labels of the groups outside the hierarchy, such as Safe Harbor's own",
    )


def _positions(column: pd.Series, places: Mapping[str, int]) -> NDArray[np.int64]:
    """Axis position of the group that each label names; −1 where there is none."""
    numbers, values = pd.factorize(column.astype(object))
    known = np.array([places.get(str(value).strip(), -1) for value in values] + [-1], dtype=np.int64)
    positions: NDArray[np.int64] = known[numbers]
    return positions

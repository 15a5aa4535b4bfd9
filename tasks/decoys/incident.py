"""An incident in integer form: re-identified people, quasi-identifier tuples, or the rows of a leaked file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pandas as pd

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
    """Canonical axis positions, the top where nothing is known; shape (n_cells, n_attributes)."""
    counts: Counts = field(repr=False)
    """People or rows of each cell."""
    unread: Mapping[str, int] = field(default_factory=dict)
    """Rows of each column whose value was missing or in no hierarchy; taken as unknown."""

    @property
    def total(self) -> int:
        """People or rows."""
        return int(self.counts.sum())


def incident_of_cells(
    cells: Codes, axes: Sequence[Lineage], kind: Kind, unread: Mapping[str, int] | None = None
) -> Incident:
    """An incident of cells in axis positions, one row a person or a row of the file; leaf codes are positions too."""
    distinct, counts = np.unique(canonical_cells(cells, axes), axis=0, return_counts=True)
    return Incident(kind, distinct, counts.astype(np.int64), unread or {})


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
        If two groups of a column have one label.
    """
    columns = list(frame.columns)
    if not set(columns) & set(hierarchies):
        raise DataError(
            "the incident has no quasi-identifier of this release",
            where=where,
            expected=f"at least one of the columns {', '.join(hierarchies)}",
            got=f"{len(columns)} other columns",
            fix="name the columns as in the release",
        )
    twice = [name for name in hierarchies if columns.count(name) > 1]
    if twice:
        raise DataError(
            "the incident has a quasi-identifier twice",
            where=f"{where}, column {', '.join(twice)}",
            expected="each column once",
            got=f"{len(twice)} repeated",
            fix="leave out the column that is not the release's",
        )
    cells = np.tile(np.array([line.top for line in axes], dtype=np.int32), (len(frame), 1))
    unread = {}
    for axis, (name, hierarchy) in enumerate(hierarchies.items()):
        if name in columns:
            positions = _positions(name, (*hierarchy.axis_labels, *(outside or {}).get(name, ())), axes[axis])
            rows, values = pd.factorize(frame[name].astype(object))
            known = np.array([positions.get(str(value).strip(), -1) for value in values] + [-1], dtype=np.int32)[rows]
            unread[name] = int((known < 0).sum())
            cells[known >= 0, axis] = known[known >= 0]
    return incident_of_cells(cells, axes, kind, unread)


def _positions(name: str, labels: Sequence[str], line: Lineage) -> dict[str, int]:
    """Canonical position of the group that each label stands for."""
    positions: dict[str, int] = {}
    for label, position in zip(labels, line.canonical.tolist(), strict=True):
        if positions.setdefault(label, position) != position:
            raise ParameterError(
                "the labels do not go with the groups of the release",
                where=f"column {name}",
                expected="different labels for different groups",
                got="two groups of one label",
                fix="give the groups of the hierarchy different labels",
            )
    return positions

"""Attributes of rows at the levels at which a request releases them: done once, when the microdata are read.

All that is counted, assessed and written afterwards is what is released. Values that few people of the file have, and
values above the hierarchy's last level but one, are the top, which tells nothing.
"""

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from tasks.core.errors import DataError, HierarchyError, row_positions
from tasks.core.plural import plural
from tasks.microdata.build import written_out
from tasks.microdata.coded import RowLevel, numbered_column
from tasks.microdata.hierarchy import Hierarchy, values_of
from tasks.microdata.tables import own_rows
from tasks.microdata.tuples import WITHOUT_TIMES, have_times
from tasks.request.model import Attribute, ReleaseRequest


def at_released_levels(frame: pd.DataFrame, request: ReleaseRequest) -> pd.DataFrame:
    """Microdata of a table as text, attributes of rows at their levels; missing cells stay missing.

    Raises
    ------
    DataError
        If a value is not in the hierarchy of its attribute.
    HierarchyError
        If a hierarchy is none, or has no such level.
    """
    changed = {}
    for name in (one for one in request.events if one in frame):
        attribute = request.attributes[name]
        if attribute.hierarchy is not None and attribute.level is not None:
            tree = written_out(name, attribute.hierarchy, frame)
            persons = pd.factorize(frame[request.person_id])[0]
            changed[name] = _released(
                frame[name], persons, tree, attribute, request.table_paths[request.table_of(name)]
            )
    return frame.assign(**changed) if changed else frame


def as_collected(request: ReleaseRequest) -> ReleaseRequest:
    """The request, by which attributes of rows are read as they were collected."""
    plain = {
        name: one.model_copy(update={"level": None}) if one.is_event else one
        for name, one in request.attributes.items()
    }
    return request.model_copy(update={"attributes": plain})


def every_level(frame: pd.DataFrame, request: ReleaseRequest) -> dict[str, list[RowLevel]]:
    """All levels of each attribute of rows that others may know and that has a hierarchy.

    `frame` has the microdata read ``as_collected``, shape (n_rows, n_columns). Errors are those of
    ``at_released_levels``.
    """
    trees = {
        name: written_out(name, source, frame)
        for name in request.known_events
        if (source := request.attributes[name].hierarchy) is not None
    }
    return {name: [_at(frame, request, tree, level) for level in range(tree.n_levels)] for name, tree in trees.items()}


def _at(frame: pd.DataFrame, request: ReleaseRequest, tree: Hierarchy, level: int) -> RowLevel:
    name = tree.name
    attribute, mine = request.attributes[name].model_copy(update={"level": level}), own_rows(frame, request, name)
    own = frame.iloc[mine]
    cells, persons = own[name], pd.factorize(own[request.person_id])[0]
    codes, values = pd.factorize(cells)
    leaves = np.append(tree.encode(values.to_numpy()), -1)[codes]
    share = 1.0 - np.log(tree.sizes[tree.positions[leaves, level]]) / np.log(max(tree.n_leaves, 2))
    out = _released(cells, persons, tree, attribute, request.table_paths[request.table_of(name)])
    nothing = (out == tree.labels[-1][0]).fillna(value=True).to_numpy(dtype=bool)
    column = frame[name].copy()
    column.loc[own.index] = out
    kept = np.zeros(len(frame))
    kept[mine] = np.where(nothing, 0.0, share)
    return RowLevel(numbered_column(request, name, *pd.factorize(column)), kept)


def _released(
    cells: pd.Series, persons: NDArray[np.intp], tree: Hierarchy, attribute: Attribute, where: str
) -> pd.Series:
    level, least = attribute.level or 0, attribute.least_people or 0
    if level >= tree.n_levels:
        raise HierarchyError(
            "the hierarchy has no such level",
            where=f"attributes.{tree.name}.level",
            expected=f"a level from 0 to {tree.n_levels - 1}, which withholds the value",
            got=str(level),
            fix="choose one of these",
        )
    code, values = pd.factorize(cells)
    leaf = tree.encode(values.to_numpy())
    rows = np.flatnonzero(np.append(leaf, 0)[code] < 0)
    if len(rows):
        raise DataError(
            "values are not in the hierarchy",
            where=f"{where}, column {tree.name}, {row_positions(rows)}",
            expected=f"{values_of(tree)}, or none",
            got=f"{plural(len(rows), 'row')} with other values",
            fix=WITHOUT_TIMES
            if have_times(map(str, values[leaf < 0]), tree)
            else f"correct the data, or add the values to attributes.{tree.name}.hierarchy",
        )
    group = np.where(code < 0, -1, tree.groups[np.append(leaf, 0)[code], level])
    stated, many = np.flatnonzero(code >= 0), int(persons.max(initial=-1)) + 2
    # One number for a group and a person: pairs would be sorted as bytes.
    pairs = np.unique(group[stated].astype(np.int64) * many + persons[stated] + 1)
    people = np.bincount(pairs // many, minlength=len(tree.labels[level]))
    labels = np.where(people >= least, np.array(tree.labels[level], dtype=object), tree.labels[-1][0])
    texts = pa.array(labels, type=pa.large_string()).take(pa.array(group, mask=group < 0))
    return pd.Series(pd.array(texts, dtype=cells.dtype), index=cells.index, name=cells.name)

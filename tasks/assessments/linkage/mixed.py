"""Linkage of files with generalized attributes and masked numbers: nearest record by the sum of scaled components.

The component of a generalized attribute is its squared distance on the hierarchy, that of a number the squared
difference of standardised values. Each is divided by its mean over all pairs of an individual and a released record, so
that every attribute weighs the same on average, whatever its unit and however coarse its groups.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tasks.assessments.linkage.closest import checked_weights
from tasks.assessments.linkage.figure import Floats, Linkage, linkage
from tasks.assessments.linkage.files import EVERYTHING, Files, Knowledge, Positions, chosen, common_scale
from tasks.assessments.linkage.hierarchy_distance import AxisGroups, distance_table
from tasks.assessments.linkage.nearest import tie_limit
from tasks.core.errors import ParameterError
from tasks.generalization.transparency import cell_numbers
from tasks.microdata.hierarchy import Codes

_MOST_COMPONENTS = 2**27
_APART = 1e9
"""More than any sum of components of numbers comes to."""


@dataclass(frozen=True)
class GeneralizedPart:
    """The generalized attributes of a file, record by record."""

    groups: tuple[AxisGroups, ...]
    leaves: Codes
    """Original leaf codes, shape (n_records, n_generalized)."""
    cells: Codes
    """Released cells, in axis positions, same shape."""


@dataclass(frozen=True)
class MixedFiles:
    """Files of an intruder with attributes of both kinds; made by ``mixed_files``."""

    truth: Positions
    """Released record of each of the intruder's individuals, shape (n_individuals,); only used to score an attack."""
    n_released: int
    tables: tuple[Floats, ...]
    """Components of each known generalized attribute, over the values and groups that occur."""
    leaf: Positions
    """Row in each table of each individual, shape (n_individuals, n_generalized)."""
    cell: Positions
    """Distinct cell of each released record, shape (n_released,)."""
    position: Positions
    """Column in each table of each distinct cell, shape (n_cells, n_generalized)."""
    original: Floats
    """Known numbers of each individual, scaled so that the squared difference is the component; (n_individuals, q)."""
    masked: Floats
    """The same of each released record, shape (n_released, q)."""

    @property
    def n_components(self) -> int:
        """Known attributes: generalized first, then numbers."""
        return len(self.tables) + int(self.masked.shape[1])


def mixed_files(
    part: GeneralizedPart | None,
    numbers: Files | None,
    knowledge: Knowledge = EVERYTHING,
    *,
    matching: bool = False,
) -> MixedFiles:
    """Check a file with attributes of both kinds and keep what the intruder knows.

    Parameters
    ----------
    part : GeneralizedPart or None
        All released records; None if no known attribute is generalized.
    numbers : Files or None
        The masked numbers of the same individuals, as ``files_to_link`` makes them under the same known records; None
        if no number is known.
    knowledge : Knowledge
        Known generalized attributes, as positions in ``part``, and known records.
    matching : bool
        Whether groups are compared by whether they hold the known values, before all else, in place of a distance.

    Raises
    ------
    ParameterError
        If both parts are missing, they are not of the same records, or codes are not in their hierarchies.
    """
    if part is None and numbers is None:
        raise _refused("known attributes", "at least one, generalized or a number", "none", "let the intruder know one")
    n_released = len(part.cells) if part is not None else len(numbers.masked) if numbers is not None else 0
    truth = chosen(knowledge.records, n_released, "known records")
    if numbers is not None and (len(numbers.masked) != n_released or not np.array_equal(numbers.truth, truth)):
        raise _refused(
            "generalized attributes and numbers",
            "the same released records and known individuals in both",
            "others",
            "give both parts of one file, and the same knowledge",
        )
    tables, leaf, cell, position = _generalized(part, truth, knowledge.attributes, n_released, matching)
    original, masked = _scaled_numbers(numbers, len(truth), n_released)
    return MixedFiles(truth, n_released, tables, leaf, cell, position, original, masked)


def mixed_linkage(files: MixedFiles, weights: Sequence[float] | None = None) -> Linkage:
    """Link each individual to the released record with the least weighted sum of components; ties are shared.

    Parameters
    ----------
    files : MixedFiles
    weights : sequence of float, optional
        Weight of each component, from 0, not all 0; all 1 where not given.

    Raises
    ------
    ParameterError
        If weights are out of range.
    """
    weight = checked_weights(weights, files.n_components)
    tables = [own * table for own, table in zip(weight, files.tables, strict=False)]
    root = np.sqrt(weight[len(tables) :])
    original, masked = files.original * root, np.ascontiguousarray((files.masked * root).T)
    columns = np.ascontiguousarray(files.position.T)
    credit, apart = np.empty(len(files.truth)), np.empty(files.n_released)
    for who, truth in enumerate(files.truth):
        of_cells = np.zeros(len(files.position))
        for table, leaf, column in zip(tables, files.leaf[who], columns, strict=True):
            of_cells += table[leaf][column]
        total = of_cells[files.cell]
        for number, values in zip(original[who], masked, strict=True):
            np.subtract(values, number, out=apart)
            np.square(apart, out=apart)
            total += apart
        limit = tie_limit(total.min(keepdims=True))[0]
        credit[who] = 1 / np.count_nonzero(total <= limit) if total[truth] <= limit else 0.0
    return linkage(credit, files.n_released)


def components(files: MixedFiles, individuals: Positions | None = None) -> Floats:
    """Components of all pairs of some individuals and their released records, for a learner of weights.

    Parameters
    ----------
    files : MixedFiles
    individuals : array of shape (p,), optional
        Which of the intruder's individuals; all where not given.

    Returns
    -------
    array of shape (p, p, n_components)
        Entry (i, j) compares individual i with the record of individual j, so that the diagonal holds the own pairs.

    Raises
    ------
    ParameterError
        If individuals are not there or named twice, or there would be more than 2²⁷ components.
    """
    who = chosen(None if individuals is None else individuals.tolist(), len(files.truth), "individuals")
    if len(who) ** 2 * files.n_components > _MOST_COMPONENTS:
        raise _refused("individuals", f"at most {_MOST_COMPONENTS} components", "more", "draw a smaller sample")
    found = np.empty((len(who), len(who), files.n_components))
    records = files.truth[who]
    for axis, table in enumerate(files.tables):
        found[:, :, axis] = table[files.leaf[who, axis]][:, files.position[files.cell[records], axis]]
    for axis, (number, values) in enumerate(zip(files.original[who].T, files.masked[records].T, strict=True)):
        found[:, :, len(files.tables) + axis] = (number[:, None] - values) ** 2
    return found


def _generalized(
    part: GeneralizedPart | None,
    truth: Positions,
    attributes: Sequence[int] | None,
    n_released: int,
    matching: bool,
) -> tuple[tuple[Floats, ...], Positions, Positions, Positions]:
    none = np.zeros(n_released, dtype=np.intp)
    if part is None:
        return (), np.empty((len(truth), 0), dtype=np.intp), none, np.empty((1, 0), dtype=np.intp)
    _check_codes(part)
    axes = chosen(attributes, len(part.groups), "known attributes")
    known = [part.groups[axis] for axis in axes]
    _, first, cell = np.unique(
        cell_numbers(part.cells[:, axes], [group.n_positions for group in known]),
        return_index=True,
        return_inverse=True,
    )
    tables, leaf, position = [], [], []
    for axis, group in zip(axes, known, strict=True):
        leaves, row, people = np.unique(part.leaves[truth, axis], return_inverse=True, return_counts=True)
        positions, column, records = np.unique(part.cells[:, axis], return_inverse=True, return_counts=True)
        if matching:
            table = np.where(group.holds(leaves[:, None], positions), 0.0, _APART)
        else:
            table = distance_table(group, leaves, positions) ** 2
        mean = people @ table @ records / (len(truth) * n_released)
        tables.append(table / (mean if mean > 0 and not matching else 1.0))
        leaf.append(row)
        position.append(column[first])
    return tuple(tables), np.column_stack(leaf), cell, np.column_stack(position)


def _scaled_numbers(numbers: Files | None, n_known: int, n_released: int) -> tuple[Floats, Floats]:
    """Numbers whose squared differences have mean 1 over all pairs: var x + var y + (mean x − mean y)² before."""
    if numbers is None:
        return np.empty((n_known, 0)), np.empty((n_released, 0))
    original, masked = common_scale(numbers)
    mean = original.var(axis=0) + masked.var(axis=0) + (original.mean(axis=0) - masked.mean(axis=0)) ** 2
    return original / np.sqrt(mean), masked / np.sqrt(mean)


def _check_codes(part: GeneralizedPart) -> None:
    shape = (len(part.cells), len(part.groups))
    if part.leaves.shape != shape or part.cells.shape != shape or 0 in shape:
        raise _refused(
            "generalized attributes",
            "a leaf code and an axis position for each record and attribute, at least one of each",
            f"arrays of shape {part.leaves.shape} and {part.cells.shape} for {len(part.groups)} attributes",
            "give both for the same records",
        )
    for codes, sizes in (
        (part.leaves, [group.n_leaves for group in part.groups]),
        (part.cells, [group.n_positions for group in part.groups]),
    ):
        if not ((codes >= 0) & (codes < np.array(sizes))).all():
            raise _refused("codes", "codes of the hierarchies", "others", "encode the file with the same hierarchies")


def _refused(where: str, expected: str, got: str, fix: str) -> ParameterError:
    return ParameterError(
        "a file of mixed attributes cannot be attacked", where=where, expected=expected, got=got, fix=fix
    )

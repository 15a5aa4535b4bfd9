"""One file of real records and decoys, in which the place of a row tells nothing."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tasks.decoys.generalized_release import Flags
from tasks.decoys.sensitive_values import Column, Columns
from tasks.errors import ParameterError
from tasks.microdata.hierarchy import Codes


@dataclass(frozen=True)
class MergedRows:
    """Rows of one recipient's copy in their random order; shows none. Record ids are not kept."""

    cells: Codes = field(repr=False)
    """Axis positions, shape (n_rows, n_attributes)."""
    columns: dict[str, Column] = field(repr=False)
    """Other columns, each of shape (n_rows,)."""
    source: NDArray[np.intp] = field(repr=False)
    """Real record that each row is, by position; −1 for a decoy. For the manifest and for columns that follow."""

    @property
    def decoy(self) -> Flags:
        """Whether each row is a decoy."""
        return self.source < 0


def merge_rows(
    real: tuple[Codes, Columns],
    decoys: tuple[Codes, Columns],
    positions: NDArray[np.intp],
    generator: np.random.Generator,
) -> MergedRows:
    """Put real rows and decoys into one random order.

    Parameters
    ----------
    real, decoys : tuples of cells and columns
        Released cell of each record in axis positions, and the other columns; the same columns in the same order.
    positions : array of shape (n_real,)
        Position of each real record in the original file.
    generator : numpy.random.Generator
        Gives the order: all orders are equally likely, whichever rows are decoys.

    Raises
    ------
    ParameterError
        If real rows and decoys do not fit one another.
    """
    cells, columns = real
    own_cells, own_columns = decoys
    lengths = {len(cells), len(positions)} | {len(column) for column in columns.values()}
    own_lengths = {len(own_cells)} | {len(column) for column in own_columns.values()}
    if (
        list(columns) != list(own_columns)
        or len(lengths) > 1
        or len(own_lengths) > 1
        or not _same_types(columns, own_columns)
    ):
        raise ParameterError(
            "decoys do not fit the real rows",
            where="cells, columns and positions",
            expected="the same columns of the same types in the same order, with one entry a record",
            got=f"{len(columns)} and {len(own_columns)} columns",
            fix="draw the decoys' values from the columns of the released file",
        )
    order = generator.permutation(len(cells) + len(own_cells))
    source = np.concatenate([positions.astype(np.intp), np.full(len(own_cells), -1, dtype=np.intp)])
    return MergedRows(
        cells=np.concatenate([cells, own_cells])[order],
        columns={name: np.concatenate([column, own_columns[name]])[order] for name, column in columns.items()},
        source=source[order],
    )


def _same_types(columns: Mapping[str, Column], others: Mapping[str, Column]) -> bool:
    return all(column.dtype == others[name].dtype for name, column in columns.items())

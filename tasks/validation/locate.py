"""Cells of a prepared table that fail a check: our own evaluation, which never passes a value on.

Great Expectations says whether a check passed; it can say where only by handing out the values. So the places are
found here, from the same type and arguments.
"""

from typing import cast

import numpy as np
import numpy.typing as npt
import pandas as pd

from tasks.core.errors import StageFailed
from tasks.validation.suite import Check
from tasks.validation.tables import matches

Mask = npt.NDArray[np.bool_]


def failing(check: Check, table: pd.DataFrame) -> Mask:
    """Mark what fails a check.

    Parameters
    ----------
    check : Check
        What is expected, and of which field.
    table : DataFrame
        The prepared table that the check looks at.

    Returns
    -------
    array of shape (n_rows,), or (n_columns,) for a check of the table's columns
        True where the expectation is not met. A missing cell fails nothing but an expectation of presence.

    Raises
    ------
    StageFailed
        If the type of the expectation is not known here.
    """
    given = check.arguments
    if check.type == "ExpectTableColumnsToMatchSet":
        expected = set(cast(list[str], given["column_set"]))
        return np.array([name not in expected for name in table.columns], dtype=np.bool_)
    cells = table[check.field]
    missing = cells.isna().to_numpy()
    if check.type == "ExpectColumnValuesToNotBeNull":
        return missing
    return _unmet(check, cells) & ~missing


def _unmet(check: Check, cells: pd.Series) -> Mask:
    given = check.arguments
    match check.type:
        case "ExpectColumnValuesToMatchRegex":
            return ~matches(cells, str(given["regex"]))
        case "ExpectColumnValuesToNotMatchRegex":
            return matches(cells, str(given["regex"]))
        case "ExpectColumnValuesToBeInSet":
            return ~cells.isin(cast(list[str], given["value_set"])).to_numpy(dtype=np.bool_)
        case "ExpectColumnValuesToBeBetween":
            return _outside(cells, given)
        case "ExpectColumnValueLengthsToBeBetween":
            lengths = cells.str.len().to_numpy(dtype=np.float64, na_value=np.nan)
            return np.asarray(lengths > cast(int, given["max_value"]))
        case "ExpectColumnValuesToBeUnique":
            return cells.duplicated(keep=False).to_numpy(dtype=np.bool_)
    raise StageFailed(
        "validation cannot locate the failures of a check",
        where=check.id,
        expected="a type of expectation that tasks.validation.locate knows",
        got=check.type,
        fix="teach tasks.validation.locate this type",
    )


def _outside(cells: pd.Series, given: dict[str, object]) -> Mask:
    low = cast(float | None, given.get("min_value"))
    high = cast(float | None, given.get("max_value"))
    outside = np.zeros(len(cells), dtype=np.bool_)
    if low is not None:
        outside |= (cells < low).to_numpy(dtype=np.bool_)
    if high is not None:
        beyond = cells >= high if given.get("strict_max") else cells > high
        outside |= beyond.to_numpy(dtype=np.bool_)
    return outside

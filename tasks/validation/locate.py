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
    missing = table[check.field].isna().to_numpy()
    return missing if check.type == "ExpectColumnValuesToNotBeNull" else _unmet(check, table[check.field]) & ~missing


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
            low, high = (cast(float | None, given.get(name)) for name in ("min_value", "max_value"))
            below = cells < (-np.inf if low is None else low)
            above = cells >= high if given.get("strict_max") else cells > (np.inf if high is None else high)
            return (below | above).to_numpy(dtype=np.bool_)
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

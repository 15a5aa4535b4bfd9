"""Names of columns that identify a person: the first line of the file is a record."""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from tasks.core.errors import column_positions
from tasks.microdata.csv_file import header_of_data
from tasks.request.model import ValueType
from tasks.validation.scan import scan
from tasks.validation.values import EncodedColumn

_MOST = 0.5
"""Share of the filled cells past which a column is one of what its name matches."""


def check_names(names: Sequence[str], column: Callable[[str], EncodedColumn], where: str) -> None:
    """Refuse names that hold an identifier of the kind that most cells of their columns hold.

    `names` are in the order of the file, `column` encodes one of them; few are asked for.

    Raises
    ------
    DataError
        It names places and no name.
    """
    found = scan(pd.Series(names, dtype="string[pyarrow]"), ValueType.TEXT)
    data = []
    for place, name in enumerate(names):
        kinds = [kind for kind, matching in found.items() if matching[place]]
        encoded = column(name) if kinds else None
        if encoded is not None and (encoded.codes >= 0).any():
            filled = np.count_nonzero(encoded.codes >= 0)
            cells = scan(encoded.values, ValueType.TEXT, kinds)
            if any(np.count_nonzero(encoded.on_records(one)) > _MOST * filled for one in cells.values()):
                data.append(place + 1)
    if data:
        raise header_of_data(
            f"{where}, {column_positions(data)}", "names that identify somebody, as most cells of their columns do"
        )

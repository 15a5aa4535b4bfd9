"""The columns of pseudonyms of one copy, decoys included, and their crosswalk.

A decoy has a number of its own in the sealed manifest where a record has its identifier, and a pseudonym that is made
of it in the same way.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tasks.candidate.candidate import Candidate
from tasks.core.errors import StageFailed
from tasks.core.seed import derive_seed
from tasks.decoys.vault import Vault
from tasks.pseudonyms.crosswalk import Crosswalk
from tasks.pseudonyms.pseudonyms import Pseudonyms, PseudonymScope, pseudonyms_of
from tasks.validation.readings import arrow

Decoys = Sequence[Mapping[str, str | None]]


def pseudonyms_of_copy(candidate: Candidate, decoys: Decoys, scope: PseudonymScope) -> dict[str, Pseudonyms]:
    """Pseudonym of each identifier of the released records and of the decoys, by column; none without such columns.

    StageFailed names a column with missing identifiers, or one whose identifiers cannot have its pseudonyms.
    """
    names = candidate.request.pseudonyms
    if not names:
        return {}
    frame, leaving = candidate.rows_as_text, np.flatnonzero(candidate.leaves)
    values: dict[str, pa.Array] = {}
    for name in names:
        own = pc.unique(arrow(frame[name].take(own_of(candidate, name, leaving))))
        of_decoys = pa.array([decoy.get(name) for decoy in decoys], type=pa.large_string())
        values[name] = pa.concat_arrays([own, of_decoys])
        if values[name].null_count or pc.count_distinct(values[name]).as_py() < len(values[name]):
            raise StageFailed(
                "a column cannot have pseudonyms",
                where=f"column {name}",
                expected="an identifier in every record, and different ones of decoys",
                got="missing or equal ones",
                fix="complete the column, or withhold it (role: withheld); of a release that continues a "
                "version without pseudonyms it has to be withheld",
            )
    return pseudonyms_of(candidate.request, scope, values)


def own_of(candidate: Candidate, name: str, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Rows of the microdata, among some, that belong to the table of a column."""
    events = candidate.prepared.events
    if events is None or events.tables is None:
        return rows
    own: NDArray[np.intp] = rows[events.tables.of_row[rows] == candidate.request.number_of(name)]
    return own


def pseudonym_column(
    identifiers: pd.Series, rows: NDArray[np.intp], of_decoys: Sequence[str | None], pseudonyms: Pseudonyms
) -> pa.Array:
    """Pseudonyms by row of a copy; `rows` have the position in the microdata, −1 for the decoys, which are in order."""
    decoys = pa.array(rows < 0)
    cells = arrow(identifiers.take(np.maximum(rows, 0)))
    encoded = pc.replace_with_mask(cells, decoys, pa.array(of_decoys, type=pa.large_string())).dictionary_encode()
    return pseudonyms.of(encoded.dictionary).take(encoded.indices)


def keep_crosswalk(pseudonyms: Mapping[str, Pseudonyms], decoys: Decoys, scope: PseudonymScope) -> str | None:
    """Seal the crosswalk of a copy in the workspace's vault; returns its commitment, None without pseudonyms.

    The nonce follows from the workspace's key, so that a stage that is repeated commits to the same.
    """
    if not pseudonyms:
        return None
    columns = {}
    for name, made in pseudonyms.items():
        of_decoys = pa.array([decoy[name] for decoy in decoys], type=pa.large_string())
        is_decoy = pc.is_in(made.identifiers, value_set=of_decoys)
        columns[name] = (made.made, pc.if_else(is_decoy, pa.scalar(None, pa.large_string()), made.identifiers))
    nonce = derive_seed(scope.key_file, scope.release_id, f"crosswalk {scope.recipient}")
    crosswalk = Crosswalk(scope.release_id, scope.recipient, columns)
    return Vault.beside(scope.key_file).write_crosswalk(crosswalk, nonce)

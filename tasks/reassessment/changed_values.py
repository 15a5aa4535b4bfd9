"""People whose released values differ between an earlier copy and one that is to leave to the same party.

The two files laid side by side show whose values changed and how, as they show who was added. Quasi-identifiers are
compared by their cells (``tasks.reassessment.pooling``), pseudonyms not at all.
"""

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from tasks.candidate.candidate import Candidate
from tasks.delivery.kept import Names
from tasks.delivery.parquet_file import is_parquet, rewritten, types_in
from tasks.delivery.released_file import as_read, coded_columns
from tasks.microdata.coded_frame import coded_texts
from tasks.reassessment.scoring import Delivered
from tasks.request.model import ReleaseRequest

_MOST = 0.5
"""Share of the people with other values in a treated column from which these say nothing of who was changed."""

Rows = NDArray[np.intp]


def changed_people(
    candidate: Candidate, people: Names, delivered: Delivered, asked: ReleaseRequest
) -> NDArray[np.bool_]:
    """Whether each person of an earlier copy has other values in it than in one that is to leave; shape (n_people,).

    A person has other values if the rows of the person have, in some column of both copies, whatever their order.
    Columns that are masked, shifted or redacted count unless most people's values differ, as with other noise.

    Parameters
    ----------
    people : array of shape (n_records,)
        Names of the people of the copy that is to leave.
    asked : ReleaseRequest
        Request of the earlier copy.

    StageFailed says that the earlier file cannot be read.
    """
    request, kept, events = candidate.request, delivered.kept, candidate.prepared.events
    leaving = np.flatnonzero(candidate.leaves)
    records = leaving if events is None else events.of_row[leaving]
    place = np.full(len(candidate.prepared.tuple_of_record), -1)
    place[candidate.rows] = pd.Index(kept.people).get_indexer(pd.Index(people))
    now, then = place[records], delivered.persons()
    shared = np.isin(np.arange(len(kept.people)), now)
    then = np.where((then >= 0) & shared[then], then, -1)
    changed = np.zeros(len(kept.people), dtype=np.bool_)
    for name in request.delivered:
        if name not in asked.delivered or any(_is_other(one, name) for one in (request, asked)):
            continue
        is_masked = name in candidate.masked.names
        cells = coded_texts(candidate.masked.text(name) if is_masked else candidate.released_text(name))
        codes = cells.indices.fill_null(-1).to_numpy()[records if is_masked else leaving]
        earlier, texts = coded_columns(delivered.source, [name])[name]
        as_collected, _ = as_read(delivered.source)
        values = pd.Index(list(map(as_collected, texts)), dtype="str")
        number = np.append(_numbers(_as_written(delivered, name, cells.dictionary), values), -1)
        differs = _differing((then, earlier), (now, number[codes]), len(changed))
        if not any(_is_treated(one, name) for one in (request, asked)) or differs.sum() <= _MOST * shared.sum():
            changed |= differs
    return changed


def renamed(people: Names, changed: NDArray[np.bool_]) -> Names:
    """Names by which those who changed are other people: as if they had been withdrawn, and others added."""
    names = people.copy()
    bits = names.view(np.uint8).reshape(len(names), -1)
    bits[changed] ^= 255
    return names


def _is_other(request: ReleaseRequest, name: str) -> bool:
    return name in request.quasi_identifiers or name in request.pseudonyms


def _is_treated(request: ReleaseRequest, name: str) -> bool:
    return name in request.masked or name in request.dated or name in request.texts


def _as_written(delivered: Delivered, name: str, texts: pa.Array) -> pa.Array:
    """Texts as they would be read back from a column of the earlier file."""
    return rewritten(texts, types_in(delivered.source)[name]) if is_parquet(delivered.source) else texts


def _numbers(texts: pa.Array, values: pd.Index) -> NDArray[np.int64]:
    """Numbers of texts: places among the values of the other file, and after these of its own."""
    own, found = pd.factorize(texts.to_pandas())
    place = values.get_indexer(pd.Index(found))
    place = np.where(place < 0, len(values) + np.arange(len(place)), place)
    return place[own].astype(np.int64)


def _differing(
    then: tuple[NDArray[np.integer], NDArray[np.integer]],
    now: tuple[NDArray[np.integer], NDArray[np.integer]],
    people: int,
) -> NDArray[np.bool_]:
    """People of whom two files have other values, or not as often; a row is of person −1 if in one file alone."""
    persons, codes = np.concatenate([then[0], now[0]]), np.concatenate([then[1], now[1]])
    sign = np.repeat([1, -1], [len(then[0]), len(now[0])])
    both = persons >= 0
    pairs, place = np.unique(np.column_stack([persons[both], codes[both]]), axis=0, return_inverse=True)
    uneven = np.bincount(place.ravel(), weights=sign[both], minlength=len(pairs)) != 0
    differs = np.zeros(people, dtype=np.bool_)
    differs[pairs[uneven, 0]] = True
    return differs

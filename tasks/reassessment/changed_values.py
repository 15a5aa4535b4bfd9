"""People whose released values differ between an earlier copy and one that is to leave to the same party.

The two files laid side by side show whose values changed and how, as they show who was added. Quasi-identifiers are
compared by their cells (``tasks.reassessment.pooling``), pseudonyms not at all.
Records of people without a name in common are joined by their values, if these are of the same people after all.
"""

from collections.abc import Sequence
from math import exp

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from scipy.special import bdtrc

from tasks.candidate.candidate import Candidate
from tasks.delivery.kept import Names
from tasks.delivery.parquet_file import is_parquet, rewritten, types_in
from tasks.delivery.released_file import as_read, coded_columns
from tasks.generalization.kanonymity.classes import fold_columns
from tasks.microdata.coded_frame import coded_texts
from tasks.reassessment.scoring import Delivered
from tasks.request.model import ReleaseRequest

_MOST = 0.5
"""Share of the people with other values in a treated column from which these say nothing of who was changed."""

_ONCE = exp(-1)
"""Largest probability that of other people exactly one has given values: that of a Poisson number to be 1."""
_CHANCE = 1e-6
"""Largest probability of as many pairs of records by chance."""

Codes = NDArray[np.integer]


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
    request, kept = candidate.request, delivered.kept
    records = _records(candidate)
    place = np.full(len(candidate.prepared.tuple_of_record), -1)
    place[candidate.rows] = pd.Index(kept.people).get_indexer(pd.Index(people))
    now, then = place[records], delivered.persons()
    shared = np.isin(np.arange(len(kept.people)), now)
    then = np.where((then >= 0) & shared[then], then, -1)
    changed = np.zeros(len(kept.people), dtype=np.bool_)
    for name in _in_both(request, asked):
        earlier, own = _values(candidate, delivered, name)
        differs = _differing((then, earlier), (now, own), len(changed))
        if not any(_is_treated(one, name) for one in (request, asked)) or differs.sum() <= _MOST * shared.sum():
            changed |= differs
    return changed


def joining_columns(request: ReleaseRequest, asked: ReleaseRequest) -> tuple[str, ...]:
    """Columns of people in both copies, of which ``asked`` is the request of the earlier, that leave as collected."""
    both = (request, asked)
    return tuple(
        name for name in _in_both(*both) if not any(_is_treated(one, name) or name in one.of_rows for one in both)
    )


def are_joined(candidate: Candidate, delivered: Delivered, columns: Sequence[str]) -> bool:
    """Whether values of some columns join records of an earlier copy to those of one that is to leave.

    Of the values that one record alone has, at most 1 in e would be those of exactly one record of the other copy if
    its people were others.
    """
    now, own = np.unique(_records(candidate), return_index=True)
    then, earlier = np.unique(delivered.persons(), return_index=True)
    earlier = earlier[then >= 0]
    codes = []
    for name in columns:
        of_earlier, of_own = _values(candidate, delivered, name)
        codes.append(np.concatenate([of_own[own], of_earlier[earlier]]) + 1)
    classes, found = fold_columns(codes, len(now) + len(earlier))
    counts = [np.bincount(part, minlength=len(found)) for part in np.split(classes, [len(now)])]
    for some, others in (counts, counts[::-1]):
        alone = some == 1
        if alone.any() and bdtrc((others[alone] == 1).sum() - 1, alone.sum(), _ONCE) <= _CHANCE:
            return True
    return False


def _records(candidate: Candidate) -> Codes:
    """Record of each row that leaves."""
    leaving, events = np.flatnonzero(candidate.leaves), candidate.prepared.events
    return leaving if events is None else events.of_row[leaving]


def _in_both(request: ReleaseRequest, asked: ReleaseRequest) -> list[str]:
    """Columns of both copies but quasi-identifiers and pseudonyms."""
    named = set(asked.delivered)
    return [
        name for name in request.delivered if name in named and not (_is_other(request, name) or _is_other(asked, name))
    ]


def _values(candidate: Candidate, delivered: Delivered, name: str) -> tuple[Codes, Codes]:
    """Numbers of a column's values, equal for equal ones: of rows of the earlier file, and of rows that leave."""
    is_masked = name in candidate.masked.names
    cells = coded_texts(candidate.masked.text(name) if is_masked else candidate.released_text(name))
    rows = _records(candidate) if is_masked else np.flatnonzero(candidate.leaves)
    earlier, texts = coded_columns(delivered.source, [name])[name]
    as_collected, _ = as_read(delivered.source)
    values = pd.Index(list(map(as_collected, texts)), dtype="str")
    number = np.append(_numbers(_as_written(delivered, name, cells.dictionary), values), -1)
    return earlier, number[cells.indices.fill_null(-1).to_numpy()[rows]]


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

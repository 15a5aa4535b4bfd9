"""Microdata of Parquet files as categories: each text of a column once, and a small number for each cell.

A file is read a piece at a time, here or on the workers of a Dask cluster, so that its cells are never written out as
text together.
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tasks.core.errors import DataError
from tasks.microdata.parquet import machine_memory, read_parquet, too_large
from tasks.microdata.parts import in_pieces, pieces
from tasks.microdata.read import read_data, text_frame
from tasks.microdata.withheld import Factorized
from tasks.microdata.workers import done, other_records, shares
from tasks.request.load import LoadedRequest, open_snapshot
from tasks.request.model import ReleaseRequest

Signed = NDArray[np.signedinteger]
Made = TypeVar("Made")
MadeOfColumns = Callable[[pd.DataFrame, ReleaseRequest, Sequence[str]], Made]
"""Function that makes something of some columns of a file, independently of the others."""
CodedCells = list[tuple[Signed, pd.Series]]
"""Successive cells of a column: the number of each, −1 where missing, and the texts; some of these may be missing."""


def read_coded(loaded: LoadedRequest, dask: str | None = None) -> pd.DataFrame:
    """The microdata as ``read_data`` gives them; columns of Parquet with one row a person as categories.

    Columns of which texts are changed before they leave stay texts: those that are masked, redacted, shifted, or
    replaced by pseudonyms. `dask` is the address of a scheduler whose workers read such Parquet. Errors are those of
    ``read_data`` and ``done``.
    """
    request, missing = loaded.request, loaded.request.dataset.missing
    path = loaded.resolve(request.dataset.path, "dataset.path")
    if not in_pieces(path, request):
        return read_data(loaded)
    names, cut = list(request.attributes), pieces(path, request)
    read = done([partial(_read_piece, path, piece.groups, names, missing) for piece in cut], path, dask)
    for piece, part in zip(cut, read, strict=True):
        if any(sum(len(codes) for codes, _ in part[name]) != piece.rows for name in names):
            raise other_records(path)
    parts = {name: [cells for part in read for cells in part[name]] for name in names}
    del read
    masked = {name for masking in request.masking for name in masking.attributes}
    changed = masked.union(request.texts, request.dated, request.pseudonyms)
    columns, size = {}, 0
    for name in names:
        cells = _joined(parts.pop(name))
        lengths = pc.binary_length(_texts(cells.categories)).to_numpy().astype(np.int64)
        size += int(np.bincount(cells.codes[cells.codes >= 0], minlength=len(lengths)) @ lengths)
        if size > machine_memory():
            raise too_large(path, "longer texts")
        columns[name] = cells.astype(cells.categories.dtype) if name in changed else cells
    return pd.DataFrame(columns, copy=False)


def _read_piece(
    path: Path, groups: Sequence[int], names: Sequence[str], missing: Sequence[str]
) -> dict[str, CodedCells]:
    """Columns of some successive row groups of a file."""
    table = read_parquet(path, names, groups, coded=True)
    parts: dict[str, CodedCells] = {name: [] for name in names}
    for name in names:
        for chunk in table[name].chunks:
            cells = _encoded(chunk, name)
            levels = text_frame(pa.table({name: cells.dictionary}), path, [name], missing)[name]
            codes = cells.indices.fill_null(-1).to_numpy().astype(np.min_scalar_type(-max(len(levels), 1)))
            parts[name].append((codes, levels))
    return parts


def by_columns(make: MadeOfColumns[Made], names: Sequence[str], snapshot: Path, sha256: str, dask: str) -> list[Made]:
    """Results of ``make`` for shares of the columns of a dataset read in pieces, each from a worker of a cluster.

    Whether a cell identifies somebody often shows only in a whole column, or in the words of other people's
    identifiers: each worker reads the file, a piece at a time, and has all of it as categories. `snapshot` is the
    folder of the private copies of the inputs, named by `sha256`. Errors are those of `make` and ``done``.
    """
    loaded = open_snapshot(snapshot, sha256)
    path = loaded.resolve(loaded.request.dataset.path, "dataset.path")
    return done([partial(_made, make, share, snapshot, sha256) for share in shares(names, dask)], path, dask)


def _made(make: MadeOfColumns[Made], names: Sequence[str], snapshot: Path, sha256: str) -> Made:
    loaded = open_snapshot(snapshot, sha256)
    return make(read_coded(loaded), loaded.request, names)


def factorized(column: pd.Series) -> Factorized:
    """Number of each cell, −1 where missing, and the distinct texts in order of appearance, of texts or categories."""
    codes, levels = pd.factorize(column)
    if isinstance(levels, pd.CategoricalIndex):
        levels = levels.astype(column.cat.categories.dtype)
    return codes, pd.Index(levels)


def coded_texts(column: pd.Series) -> pa.DictionaryArray:
    """A column of texts or categories as its texts, each once or unused, and the number of each cell."""
    if not isinstance(column.dtype, pd.CategoricalDtype):
        cells = pa.array(column, type=pa.large_string(), from_pandas=True)
        whole = cells.combine_chunks() if isinstance(cells, pa.ChunkedArray) else cells
        return whole.dictionary_encode()
    codes = column.cat.codes.to_numpy()
    return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), _texts(column.cat.categories))


def _texts(levels: pd.Index) -> pa.Array:
    found = pa.array(levels, type=pa.large_string(), from_pandas=True)
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found


def _encoded(chunk: pa.Array, name: str) -> pa.DictionaryArray:
    """The cells of a part of a column, each value once."""
    if pa.types.is_dictionary(chunk.type):
        return chunk
    try:
        return chunk.dictionary_encode()
    except pa.ArrowException:
        raise DataError(
            "a column of the file cannot be read as text",
            where=f"column {name}",
            expected="columns of text, numbers or dates",
            got="another type",
            fix="convert nested or binary columns",
        ) from None


def _joined(parts: CodedCells) -> pd.Categorical:
    """The parts of a column, their texts numbered together; missing texts are no value."""
    places, levels = pd.factorize(pd.concat([texts for _, texts in parts], ignore_index=True))
    own = np.split(places, np.cumsum([len(texts) for _, texts in parts])[:-1])
    kind = np.min_scalar_type(-max(len(levels), 1))
    codes = [np.append(place, -1).astype(kind)[one] for (one, _), place in zip(parts, own, strict=True)]
    return pd.Categorical.from_codes(np.concatenate(codes), pd.Index(levels))

"""The released file as Parquet: columns with their types, text as it is, and no metadata beside the schema.

A column of numbers or days has that type if it holds each of its values exactly, and if no two texts, such as 1 and
1.0, stand for one value; else it is text, as it is in CSV. That follows from the released values alone, and loses none.
Nothing is written into the file that depends on where the data came from: no schema of another library, no index, no
path.

Text that looks like a formula is left alone. A program that opens Parquet reads text as text. Spreadsheets run formulas
in CSV, which does not mark text.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import IO, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tasks.request.model import ReleaseRequest, SensitivityWeights, ValueType

Source: TypeAlias = Path | pa.Buffer
"""A released file, on disk or in memory."""

ROWS_A_GROUP = 1024 * 1024
"""Rows of a row group, and of a part that is written at a time."""
_MAGIC = b"PAR1"
_DIGITS_OF_A_DOUBLE = 15
"""A decimal number of as many significant digits is held exactly enough to be written back."""
_TYPES: Mapping[ValueType, pa.DataType] = {
    ValueType.INTEGER: pa.int64(),
    ValueType.NUMBER: pa.float64(),
    ValueType.DATE: pa.date32(),
}


def typed(released: pa.Table, request: ReleaseRequest) -> pa.Table:
    """A released table of text, not marked against formulas, with the types that its columns have in Parquet.

    Generalized columns are text; the others have their attributes' types where every value allows it.
    """
    columns = {}
    for name in released.column_names:
        attribute = request.attributes[name]
        kind = None if name in request.quasi_identifiers else _TYPES.get(attribute.delivered_type)
        weighed = (attribute.sensitivity or SensitivityWeights()).values
        column = released[name].combine_chunks()
        cells = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        values = None if kind is None else _held(cells, kind, tuple(weighed))
        own = cells.dictionary.cast(pa.string()) if values is None else values
        columns[name] = pa.DictionaryArray.from_arrays(cells.indices, own)
    return pa.table(columns)


def _held(cells: pa.DictionaryArray, kind: pa.DataType, weighed: Sequence[str]) -> pa.Array | None:
    """The values of a column in a type that holds them, and keeps apart those that are, or have weights of their own.

    Values that no cell has are missing.
    """
    texts, used = cells.dictionary, pc.unique(cells.indices).drop_null()
    distinct = pc.unique(pa.concat_arrays([texts.take(used).drop_null(), pa.array(weighed, type=texts.type)]))
    try:
        values = converted(distinct, kind)
    except pa.ArrowException:
        return _held(cells, kind, ()) if weighed else None
    if len(pc.unique(values)) < len(distinct) or not _are_exact(distinct, values):
        return None
    return values.take(pc.index_in(texts, value_set=distinct))


def _are_exact(texts: pa.Array, values: pa.Array) -> bool:
    """Whether a double that is written in the fewest digits is the number that was given; other types always are."""
    if not pa.types.is_floating(values.type):
        return True
    digits = pc.utf8_length(pc.replace_substring_regex(texts, "[^0-9]", ""))
    long = pc.greater(digits, _DIGITS_OF_A_DOUBLE)
    pairs = zip(texts.filter(long).to_pylist(), values.filter(long).to_pylist(), strict=True)
    return all(Decimal(text) == Decimal(repr(value)) for text, value in pairs)


def converted(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """Texts as values of a type; an ArrowException where one of them is none."""
    if pa.types.is_date(kind):
        return pc.cast(texts, kind)
    values = pc.cast(pc.utf8_ltrim(texts, characters="+"), kind)
    return pc.add(values, pa.scalar(0, type=kind))  # there is one zero


def written_schema(released: pa.Table) -> pa.Schema:
    """Types in which the cells of a table are written, whose columns may be dictionaries."""
    types = (field.type.value_type if pa.types.is_dictionary(field.type) else field.type for field in released.schema)
    return pa.schema(list(zip(released.column_names, types, strict=True)))


def written_out(released: pa.Table) -> Iterator[pa.Table]:
    """A table in parts of successive rows, one at least, dictionaries written out: each takes little memory."""
    schema = written_schema(released)
    for start in range(0, max(released.num_rows, 1), ROWS_A_GROUP):
        yield released.slice(start, ROWS_A_GROUP).cast(schema).combine_chunks()


def write_parquet(released: pa.Table, target: IO[bytes]) -> None:
    """Write a table, a row group at a time: the same bytes for the same rows, by one version of the library."""
    schema, terms = written_schema(released), {"compression": "snappy", "store_schema": False, "version": "2.6"}
    with pq.ParquetWriter(target, schema, write_statistics=True, **terms) as writer:
        for part in written_out(released):
            writer.write_table(part, row_group_size=ROWS_A_GROUP)


def is_parquet(source: Source) -> bool:
    """Whether a released file is Parquet, by the marks at its beginning and its end."""
    with _opened(source) as stream:
        ends = stream.read_at(len(_MAGIC), 0), stream.read_at(len(_MAGIC), max(stream.size() - len(_MAGIC), 0))
    return ends == (_MAGIC, _MAGIC)


def read_parquet_text(source: Source, names: Sequence[str]) -> pa.Table:
    """Some columns of a Parquet file, each value as the text that stands for it. Raises ArrowException or OSError."""
    found = pq.read_table(_opened(source), columns=list(dict.fromkeys(names)), partitioning=None)
    return pa.table({name: pc.cast(found[name], pa.large_string()) for name in names})


def read_parquet_coded(source: Source, name: str) -> pa.ChunkedArray:
    """A column of a Parquet file, each value once as the text that stands for it. Raises ArrowException or OSError."""
    found = pq.read_table(_opened(source), columns=[name], partitioning=None, read_dictionary=[name])[name]
    chunks = [one if pa.types.is_dictionary(one.type) else one.dictionary_encode() for one in found.chunks]
    texts = [pc.cast(one.dictionary, pa.large_string()) for one in chunks]
    coded = [pa.DictionaryArray.from_arrays(one.indices, own) for one, own in zip(chunks, texts, strict=True)]
    return pa.chunked_array(coded, type=pa.dictionary(pa.int32(), pa.large_string()))


def types_in(source: Source) -> dict[str, pa.DataType]:
    """Type of each column of a Parquet file, in their order. Raises ArrowException or OSError."""
    schema = pq.read_schema(_opened(source))
    return dict(zip(schema.names, schema.types, strict=True))


def rewritten(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """Texts as collected as they are read back from a column of a type; unchanged where it does not hold them."""
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return texts
    try:
        return pc.cast(converted(texts, kind), pa.large_string())
    except pa.ArrowException:
        return texts


def spelling(source: Source) -> Callable[[str, str], str]:
    """Function from a column and the text as collected to the text as read back. Raises ArrowException or OSError."""
    types = types_in(source)

    def spelled(name: str, text: str) -> str:
        return str(rewritten(pa.array([text], type=pa.large_string()), types[name])[0].as_py())

    return spelled


def _opened(source: Source) -> pa.NativeFile:
    return pa.OSFile(str(source)) if isinstance(source, Path) else pa.BufferReader(source)

"""Reading tables of microdata and of population counts: CSV, Parquet, and microdata of other programs.

Every cell of microdata is read as text, and as the request says: types are checked later against it.
Messages name columns and rows, never a value; a library's own message may quote one and is therefore never passed on.
"""

import difflib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from tasks.core.errors import DataError, PopulationError, column_positions, raised_as
from tasks.core.plural import plural
from tasks.microdata.csv_file import first_bytes, other_delimiter, read_csv
from tasks.microdata.event_levels import at_released_levels
from tasks.microdata.foreign_file import format_of, read_foreign
from tasks.microdata.foreign_reader import LABELS, VALUE_LABELS
from tasks.microdata.joined import joined
from tasks.microdata.parquet import in_local_time, read_parquet, too_large
from tasks.microdata.written_forms import as_read
from tasks.request.file_form import FileForm
from tasks.request.load import LoadedRequest
from tasks.request.model import ExternalData, Population, ReleaseRequest

_MOST_PEOPLE = 2**53
_TEXT = pd.StringDtype("pyarrow")


def read_data(loaded: LoadedRequest) -> pd.DataFrame:
    """Read all tables of a request as one frame: the dataset, and where there are more, as ``joined`` has them.

    Errors are those of ``read_microdata`` and ``joined``.
    """
    dataset = loaded.resolve(loaded.request.dataset.path, "dataset.path")
    return read_files(dataset, table_files(loaded), loaded.request)


def read_files(dataset: Path, tables: Mapping[str, Path], request: ReleaseRequest) -> pd.DataFrame:
    """Read the tables of a request from these files as one frame; errors as of ``read_data``."""
    first = read_microdata(dataset, request)
    others: dict[str | None, pd.DataFrame] = {
        name: read_microdata(path, request, name) for name, path in tables.items()
    }
    return joined({None: first, **others}, request) if tables else first


def table_files(loaded: LoadedRequest) -> dict[str, Path]:
    """File of each further table of a request, by name; errors as of ``LoadedRequest.resolve``."""
    tables = loaded.request.tables.items()
    return {name: loaded.resolve(table.path, f"tables.{name}.path") for name, table in tables}


def read_microdata(path: Path, request: ReleaseRequest, table: str | None = None) -> pd.DataFrame:
    """Read the dataset of a request, or one of its tables, in the form that the request states.

    Columns have the names and the order of the request, those of a table after the keys that it has of others.
    Attributes of rows are at the levels at which they are released.

    Returns
    -------
    DataFrame of shape (n_records, n_columns)
        Every column of string type, missing cells as NA.

    Raises
    ------
    DataError
        If the file cannot be read as its form says, has no records, its columns are not those of the request, or an
        attribute of rows has a value outside its hierarchy.
    HierarchyError
        If a hierarchy of an attribute of rows is none.
    """
    read = _read_table(path, request.dataset)
    names = {request.own_name(name): name for name in request.columns_in(table)}
    check_columns(read.column_names, list(names), request, path)
    if read.num_rows == 0:
        raise no_records(path)
    frame = text_frame(read, path, list(names), request.dataset.missing).rename(columns=names)
    return at_released_levels(as_read(frame, request, [names.get(name, name) for name in numbers_of(read)]), request)


def frame_as_text(frame: pd.DataFrame, request: ReleaseRequest) -> pd.DataFrame:
    """Microdata in memory as ``read_microdata`` would give them.

    Raises
    ------
    DataError
        If there are no records, the columns are not those of the request, one cannot be written as text, or the request
        has several tables.
    """
    place = Path("frame")
    if request.tables:
        raise DataError(
            "a frame in memory is one table",
            where=place.name,
            expected="a request without tables",
            got=f"{len(request.tables)} further tables",
            fix="assess the request from its files with releasegate assess",
        )
    check_columns([str(name) for name in frame.columns], tuple(request.attributes), request, place)
    if frame.empty:
        raise no_records(place)
    try:
        table = pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowException, TypeError, ValueError):
        raise DataError(
            "a column of the frame cannot be read as text",
            where=place.name,
            expected="columns of text, numbers or dates, each of one type",
            fix="convert columns of mixed types to text",
        ) from None
    texts = text_frame(in_local_time(table), place, tuple(request.attributes), request.dataset.missing)
    return at_released_levels(as_read(texts, request, numbers_of(table)), request)


def numbers_of(table: pa.Table) -> list[str]:
    """Columns that hold numbers by their type."""
    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    held = ((one.name, one.type.value_type if pa.types.is_dictionary(one.type) else one.type) for one in table.schema)
    return [name for name, type_ in held if any(is_kind(type_) for is_kind in kinds)]


def text_frame(table: pa.Table, path: Path, names: Sequence[str], missing: Sequence[str] = ()) -> pd.DataFrame:
    """Columns of a table as text, with NA for what means “no value”; so some programs write “not a number”.

    Times of day lose a fraction of a second that is 0.

    Raises
    ------
    DataError
        If one of them cannot be text, or its name occurs twice.
    """
    columns: dict[str, pd.Series] = {}
    try:
        for name in names:
            column = table[name]
            is_time = pa.types.is_time(column.type)
            if pa.types.is_floating(column.type):
                column = pc.if_else(pc.is_nan(column), pa.scalar(None, type=column.type), column)
            column = pc.cast(column, pa.large_string())
            if is_time:
                column = pc.replace_substring_regex(column, r"\.0+$", "")
            empty = pc.is_in(column, value_set=pa.array(list(missing), type=column.type))
            if pc.any(empty).as_py():
                column = pc.if_else(empty, pa.scalar(None, type=column.type), column)
            columns[name] = pd.array(column, dtype=_TEXT)
    except MemoryError:
        raise too_large(path, "more than is free") from None
    except (pa.ArrowException, KeyError):
        places = [place for place, name in enumerate(table.column_names, start=1) if name == names[len(columns)]]
        raise DataError(
            "a column of the file cannot be read as text, or its name occurs twice",
            where=f"{path.name}, {column_positions(places)}",
            expected="columns of text, numbers or dates, each with a name of its own",
            fix="convert nested or binary columns, and rename repeated ones",
        ) from None
    return pd.DataFrame(columns, copy=False)


def no_records(path: Path) -> DataError:
    """The error for a file with nothing in it but the names of its columns."""
    return DataError(
        "the file has no records",
        where=path.name,
        expected="a header and at least one record",
        got="a header only",
        fix="export the file again",
    )


def read_text(path: Path, form: FileForm | None = None) -> pd.DataFrame:
    """Read a table that no request describes yet: every column as text, empty cells as NA.

    Labels that a program gave its columns are in ``attrs["labels"]``, by name; those of coded values in
    ``attrs["value_labels"]``, by name and code. ``attrs["numbers"]`` names columns of numbers by their type.

    Raises
    ------
    DataError
        If the file cannot be read.
    """
    table = _read_table(path, form)
    places = [str(place) for place in range(table.num_columns)]
    frame = text_frame(table.rename_columns(places), path, places, [""])
    frame.columns = pd.Index(table.column_names)
    frame.attrs["numbers"] = numbers_of(table)
    if format_of(path) is not None:  # written by our own reader; a Parquet file may have any metadata
        about = table.schema.metadata or {}
        frame.attrs["labels"] = json.loads(about.get(LABELS, "{}"))
        frame.attrs["value_labels"] = json.loads(about.get(VALUE_LABELS, "{}"))
    return frame


def _read_table(path: Path, form: FileForm | None = None) -> pa.Table:
    """A file as its form says; without one a Parquet file, or one of CSV in UTF-8 with commas."""
    form = form or FileForm(path=path.name)
    if path.stat().st_size == 0:
        raise DataError("the file is empty", where=path.name, expected="a header and records", fix="export it again")
    if form.format or format_of(path):
        return read_foreign(path, form)
    return read_parquet(path) if is_parquet(path) else read_csv(path, form)


def is_parquet(path: Path) -> bool:
    """Whether a file is Parquet, by the mark at its beginning."""
    return first_bytes(path).startswith(b"PAR1")


def check_columns(found: Sequence[str], declared: Sequence[str], request: ReleaseRequest, path: Path) -> None:
    """Refuse a file whose columns are not those that the request declares.

    Raises
    ------
    DataError
    """
    missing = [name for name in declared if name not in found]
    undeclared = [str(position) for position, name in enumerate(found, start=1) if name not in declared]
    repeated = [str(position) for position, name in enumerate(found, start=1) if list(found).count(name) > 1]
    twice = plural(len({found[int(position) - 1] for position in repeated}), "name")
    problems = {
        f"missing: {', '.join(missing)}": missing,
        f"undeclared: {'column' if len(undeclared) == 1 else 'columns'} {', '.join(undeclared)}": undeclared,
        f"{twice} used twice: columns {', '.join(repeated)}": repeated,
    }
    if len(found) == 1 < len(declared) and (other := other_delimiter(found[0], path, request.dataset)):
        raise other
    if any(problems.values()):
        raise DataError(
            "the columns of the file are not those of the request",
            where=path.name,
            expected=f"the {len(declared)} attributes of the request, each once",
            got="; ".join(text for text, applies in problems.items() if applies),
            fix="the whole header is one column: set dataset.delimiter to what stands between cells, not "
            f"“{request.dataset.delimiter}”"
            if len(found) == 1 < len(declared)
            else _misspelt(missing, {found[int(position) - 1]: position for position in undeclared})
            or "declare every column under attributes, spelled as in the header, or remove it from the file",
        )


def _misspelt(missing: Sequence[str], undeclared: Mapping[str, str]) -> str:
    """Advice where an undeclared name, of which only the position is shown, is much like a declared one."""
    alike = ((name, difflib.get_close_matches(name, undeclared, n=1)) for name in missing)
    pairs = [f"column {undeclared[close[0]]} may be what “{name}” means" for name, close in alike if close]
    return f"{'; '.join(pairs)}: spell it as in the header" if pairs else ""


def read_population(
    path: Path, population: Population | ExternalData, columns: Sequence[str]
) -> tuple[pd.DataFrame, np.ndarray]:
    """Read a population's counts by quasi-identifier values, or those of a register of named people.

    Returns
    -------
    values : DataFrame of shape (n_cells, n_columns)
        The quasi-identifiers as text.
    counts : array of shape (n_cells,), int64
        People in each cell, at least 0.

    Raises
    ------
    PopulationError
        If the file cannot be read, a column is missing, or a count is not a whole number from 0.
    """
    noun, place = ("register", "external_data") if isinstance(population, ExternalData) else ("population",) * 2
    with raised_as(PopulationError):
        table = _read_table(path)
        missing = [name for name in (*columns, population.count) if name not in table.column_names]
        if missing:
            raise PopulationError(
                f"the {noun} lacks columns",
                where=path.name,
                expected="a column for each quasi-identifier and one for the count",
                got="missing: " + ", ".join(missing),
                fix=f"write the {noun} with commas between cells"
                if len(table.column_names) == 1
                else f"add the columns, or name the count column under {place}.count",
            )
        return text_frame(table, path, columns), _counts(table, path, population.count, noun)


def read_domains(path: Path, population: Population | ExternalData) -> dict[str, pd.Index]:
    """Distinct values as text of every column of such a table but its count; errors as of ``read_population``."""
    with raised_as(PopulationError):
        table = _read_table(path)
        names = [name for name in table.column_names if name != population.count]
        distinct = {name: pa.table({name: pc.unique(table[name])}) for name in names}
        return {name: pd.Index(text_frame(one, path, [name])[name].dropna()) for name, one in distinct.items()}


def _counts(table: pa.Table, path: Path, name: str, noun: str) -> np.ndarray:
    try:
        counts = pc.cast(table[name], pa.int64())
        total = pc.sum(pc.cast(counts, pa.float64(), safe=False)).as_py() or 0
        valid = counts.null_count == 0 and 0 < total < _MOST_PEOPLE and pc.min(counts).as_py() >= 0
    except (pa.ArrowException, KeyError):
        valid = False
    if not valid:
        raise PopulationError(
            f"the {noun}'s counts are not usable",
            where=f"{path.name}, column {name}",
            expected="one column of whole numbers from 0, not all of them 0, none missing, below 2^53 in sum",
            fix="correct the counts",
        )
    return np.asarray(counts.to_numpy(), dtype=np.int64)

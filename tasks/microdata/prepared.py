"""Reading data and population once, coding them, and keeping the codes between stages.

Records appear only as numbers: of their tuple, and of their values in columns that are scored. The file is private to
the workspace and removed with the run.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tasks.core.errors import DataError, PopulationError, unreadable_intermediate
from tasks.microdata.coded import Column, Prepared, Register
from tasks.microdata.columns import code_columns, coded_attributes
from tasks.microdata.counting.choice import Counting, count_file
from tasks.microdata.hierarchies import build_hierarchies
from tasks.microdata.hierarchy import Hierarchy
from tasks.microdata.parts import distinct_values, joined_columns, joined_records
from tasks.microdata.read import is_parquet, read_microdata, read_population
from tasks.microdata.register import read_register
from tasks.microdata.row_groups import count_distinct, pieces
from tasks.microdata.tuples import Tuples, distinct_tuples, encode
from tasks.request.load import LoadedRequest
from tasks.request.model import Role


def prepare(loaded: LoadedRequest, frame: pd.DataFrame) -> Prepared:
    """Code the microdata and read the population that a request names.

    Parameters
    ----------
    loaded : LoadedRequest
    frame : DataFrame
        The microdata, as ``read_microdata`` gives it.

    Raises
    ------
    DataError, HierarchyError, PopulationError, WorkspaceError
        If a file cannot be read, or a quasi-identifier is missing or outside its hierarchy.
    """
    domain = read_domain(loaded)
    hierarchies, trees = domain.hierarchies, list(domain.hierarchies.values())
    codes = encode(frame, hierarchies, loaded.request.dataset.path)
    data, tuple_of_record = distinct_tuples(codes, trees)
    return _prepared(
        loaded,
        domain,
        data,
        tuple_of_record.astype(np.int32),
        {name: int(frame[name].nunique()) for name in frame.columns},
        code_columns(frame, loaded.request),
    )


def prepare_file(loaded: LoadedRequest, path: Path, counting: Counting) -> Prepared:
    """The same of a file, without ever holding its records as text where it is Parquet.

    Parameters
    ----------
    loaded : LoadedRequest
    path : Path
        Of the microdata.
    counting : Counting
        Where and how its records are counted; not a bit of the result depends on it.

    Raises
    ------
    DataError, HierarchyError, PopulationError, WorkspaceError
        As ``read_microdata`` and ``prepare`` raise.
    BadInput, StageFailed
        If the records are to be counted elsewhere, and cannot be.
    """
    request = loaded.request
    if path.stat().st_size == 0 or not is_parquet(path):
        if counting.dask is not None:
            raise _not_in_pieces(path)
        return prepare(loaded, read_microdata(path, request))
    cut = pieces(path, request)
    domain, wanted = read_domain(loaded), coded_attributes(request)
    trees = list(domain.hierarchies.values())
    counted = count_file(path, request, domain.hierarchies, wanted, cut, counting)
    if counted is None:
        # Somewhere a value is missing or unknown; reading the whole file shows in which records.
        return prepare(loaded, read_microdata(path, request))
    try:
        columns = joined_columns(counted.parts, request, wanted)
    except DataError:
        return prepare(loaded, read_microdata(path, request))
    found = distinct_values(counted.parts, counted.tuples, trees)
    for name in request.with_role(Role.DIRECT):
        found[name] = count_distinct(path, cut, name, request.dataset.missing)
    records = joined_records(counted.parts, counted.tuples)
    distinct = {name: found[name] for name in request.attributes}
    return _prepared(loaded, domain, counted.tuples, records, distinct, columns)


@dataclass(frozen=True)
class Domain:
    """Basis of the integer codes: the hierarchies, and the people that some of them come from."""

    hierarchies: dict[str, Hierarchy]
    values: pd.DataFrame
    """The population's quasi-identifiers as text."""
    counts: NDArray[np.int64]
    """People of each row of ``values``."""

    def population(self, loaded: LoadedRequest) -> Tuples:
        """The population as distinct tuples.

        Raises
        ------
        PopulationError
            If a value is missing or outside its hierarchy.
        """
        people = encode(self.values, self.hierarchies, loaded.request.population.path, PopulationError)
        some = self.counts > 0
        return distinct_tuples(people[some], list(self.hierarchies.values()), self.counts[some])[0]


def read_domain(loaded: LoadedRequest) -> Domain:
    """Read the population and build the hierarchies of a request.

    Raises
    ------
    HierarchyError, PopulationError, WorkspaceError
        If a file cannot be read or used.
    """
    request = loaded.request
    path = loaded.resolve(request.population.path, "population.path")
    values, counts = read_population(path, request.population, request.quasi_identifiers)
    return Domain(build_hierarchies(loaded, values), values, counts)


def _prepared(  # noqa: PLR0917
    loaded: LoadedRequest,
    domain: Domain,
    data: Tuples,
    tuple_of_record: NDArray[np.int32],
    distinct: dict[str, int],
    columns: dict[str, Column],
) -> Prepared:
    hierarchies, population = domain.hierarchies, domain.population(loaded)
    register = read_register(loaded, hierarchies, population)
    return Prepared(hierarchies, data, population, tuple_of_record, distinct, columns=columns, register=register)


def _not_in_pieces(path: Path) -> DataError:
    return DataError(
        "only Parquet can be counted on several machines",
        where=path.name,
        expected="a Parquet file, which is read a row group at a time",
        got="another form",
        fix="export the data as Parquet, or leave --dask out",
    )


def save(prepared: Prepared, path: Path) -> None:
    """Write to an ``.npz`` file without pickled objects."""
    labels = {name: hierarchy.labels for name, hierarchy in prepared.hierarchies.items()}
    arrays: dict[str, Any] = {
        "labels": _json_array(labels),
        "distinct_values": _json_array(prepared.distinct_values),
        "columns": _json_array(list(prepared.columns)),
        "tuple_of_record": prepared.tuple_of_record,
        **_tuple_arrays("data", prepared.data),
        **_tuple_arrays("population", prepared.population),
        **_column_arrays(prepared.columns),
        **_register_arrays(prepared.register),
        **{f"groups_{axis}": tree.groups for axis, tree in enumerate(prepared.hierarchies.values())},
    }
    np.savez(path, **arrays)


def load(path: Path) -> Prepared:
    """Read what ``save`` wrote.

    Raises
    ------
    StageFailed
        If the file is missing or damaged.
    """
    try:
        with np.load(path, allow_pickle=False) as arrays:
            labels = json.loads(arrays["labels"].tobytes())
            hierarchies = {
                name: Hierarchy(name, tuple(tuple(level) for level in levels), arrays[f"groups_{axis}"])
                for axis, (name, levels) in enumerate(labels.items())
            }
            return Prepared(
                hierarchies,
                _tuples("data", arrays),
                _tuples("population", arrays),
                arrays["tuple_of_record"],
                json.loads(arrays["distinct_values"].tobytes()),
                columns={
                    name: Column(arrays[f"column_{place}_codes"], arrays[f"column_{place}_weights"])
                    for place, name in enumerate(json.loads(arrays["columns"].tobytes()))
                },
                register=_register(arrays),
            )
    except (OSError, ValueError, LookupError, EOFError, RuntimeError, TypeError, AttributeError, BadZipFile) as error:
        raise unreadable_intermediate(path.name, "preparation", error) from None


def _column_arrays(columns: Mapping[str, Column]) -> dict[str, Any]:
    arrays: dict[str, Any] = {}
    for place, column in enumerate(columns.values()):
        arrays |= {f"column_{place}_codes": column.codes, f"column_{place}_weights": column.weights}
    return arrays


def _register_arrays(register: Register | None) -> dict[str, Any]:
    if register is None:
        return {}
    return {"register_listed": register.listed, "register_sha256": _json_array(register.sha256)}


def _register(arrays: Mapping[str, NDArray[Any]]) -> Register | None:
    if "register_listed" not in arrays:
        return None
    return Register(arrays["register_listed"].astype(np.int64), json.loads(arrays["register_sha256"].tobytes()))


def _json_array(document: object) -> NDArray[np.uint8]:
    return np.frombuffer(json.dumps(document).encode(), dtype=np.uint8)


def _tuple_arrays(name: str, tuples: Tuples) -> dict[str, NDArray[np.integer]]:
    return {f"{name}_codes": tuples.codes, f"{name}_counts": tuples.counts, f"{name}_keys": tuples.keys}


def _tuples(name: str, arrays: Mapping[str, NDArray[np.integer]]) -> Tuples:
    return Tuples(
        codes=arrays[f"{name}_codes"].astype(np.int32),
        counts=arrays[f"{name}_counts"].astype(np.int64),
        keys=arrays[f"{name}_keys"].astype(np.int64),
    )

"""Reading data and population once, coding them, and keeping the codes between stages.

Records appear only as numbers: of their tuple, and of their values in columns that are scored. The file is private to
the workspace and removed with the run.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tasks.core.errors import DataError, PopulationError, raised_as, row_positions
from tasks.core.files import file_sha256, save_arrays, saved_arrays
from tasks.microdata.build import build_hierarchies
from tasks.microdata.coded import CodedColumn, Prepared, Register
from tasks.microdata.columns import code_columns, coded_attributes
from tasks.microdata.counting.choice import Counting, count_file
from tasks.microdata.hierarchy import Hierarchy
from tasks.microdata.parts import distinct_values, joined_columns, joined_records
from tasks.microdata.read import is_parquet, read_microdata, read_population
from tasks.microdata.row_groups import PartCoder, count_distinct, pieces
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
    codes = encode(frame, domain.hierarchies, loaded.request.dataset.path)
    data, tuple_of_record = distinct_tuples(codes, list(domain.hierarchies.values()))
    distinct = {name: int(frame[name].nunique()) for name in frame.columns}
    return domain.with_data(data, tuple_of_record.astype(np.int32), distinct, code_columns(frame, loaded.request))


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
            raise DataError(
                "only Parquet can be counted on several machines",
                where=path.name,
                expected="a Parquet file, which is read a row group at a time",
                got="another form",
                fix="export the data as Parquet, or leave --dask out",
            )
        return prepare(loaded, read_microdata(path, request))
    cut = pieces(path, request)
    domain, missing = read_domain(loaded), request.dataset.missing
    coder = PartCoder(path.resolve(), request.outbound, coded_attributes(request), missing, domain.hierarchies)
    counted = count_file(coder, cut, counting)
    try:
        columns = joined_columns(counted[0], request, coder.by_record) if counted else None
    except DataError:
        columns = None
    if counted is None or columns is None:
        # Somewhere a value is missing or unknown; reading the whole file shows in which records.
        return prepare(loaded, read_microdata(path, request))
    parts, tuples = counted
    found = distinct_values(parts, tuples, list(domain.hierarchies.values()))
    found |= {name: count_distinct(path, cut, name, missing) for name in request.with_role(Role.DIRECT)}
    distinct = {name: found[name] for name in request.attributes}
    return domain.with_data(tuples, joined_records(parts, tuples), distinct, columns)


@dataclass(frozen=True)
class Domain:
    """Basis of the integer codes: the hierarchies, and the people that some of them come from."""

    loaded: LoadedRequest
    hierarchies: dict[str, Hierarchy]
    values: pd.DataFrame
    """The population's quasi-identifiers as text."""
    counts: NDArray[np.int64]
    """People of each row of ``values``."""

    def population(self) -> Tuples:
        """The population as distinct tuples.

        Raises
        ------
        PopulationError
            If a value is missing or outside its hierarchy.
        """
        with raised_as(PopulationError):
            people = encode(self.values, self.hierarchies, self.loaded.request.population.path)
        some = self.counts > 0
        return distinct_tuples(people[some], list(self.hierarchies.values()), self.counts[some])[0]

    def with_data(
        self,
        data: Tuples,
        tuple_of_record: NDArray[np.int32],
        distinct: dict[str, int],
        columns: dict[str, CodedColumn],
    ) -> Prepared:
        """The codes of the data, with those of the population and the register."""
        population = self.population()
        register = read_register(self.loaded, self.hierarchies, population)
        return Prepared(self.hierarchies, data, population, tuple_of_record, distinct, columns, register)


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
    return Domain(loaded, build_hierarchies(loaded, values), values, counts)


def read_register(loaded: LoadedRequest, hierarchies: Mapping[str, Hierarchy], population: Tuples) -> Register | None:
    """The register that a request names, on the population's tuples; None where it names none.

    Raises
    ------
    PopulationError
        If the register cannot be read, or lists more people than the population has of some combination of values.
    """
    register = loaded.request.external_data
    if register is None:
        return None
    path = loaded.resolve(register.path, "external_data.path")
    values, counts = read_population(path, register, loaded.request.quasi_identifiers)
    with raised_as(PopulationError):
        codes = encode(values, hierarchies, register.path)
    rows = np.flatnonzero(counts)
    tuples, tuple_of_row = distinct_tuples(codes[rows], list(hierarchies.values()), counts[rows])
    place = population.find(tuples.keys)
    known = place >= 0
    excess = ~known
    excess[known] = tuples.counts[known] > population.counts[place[known]]
    if excess.any():
        wrong = rows[excess[tuple_of_row]]
        raise PopulationError(
            "the register lists people whom the population does not have",
            where=f"{register.path}, {row_positions(wrong)}",
            expected="for each combination of quasi-identifier values at most as many people as in the population",
            got=f"{len(wrong)} rows with more",
            fix="use a population that holds everybody whom the register lists",
        )
    listed = np.zeros(len(population), dtype=np.int64)
    listed[place] = tuples.counts
    return Register(listed, file_sha256(path))


def save(prepared: Prepared, path: Path) -> None:
    """Keep the codes between the stages of a run."""
    register, columns = prepared.register, prepared.columns.values()
    about = {
        "labels": {name: hierarchy.labels for name, hierarchy in prepared.hierarchies.items()},
        "distinct_values": prepared.distinct_values,
        "columns": list(prepared.columns),
        "register": register and register.sha256,
    }
    save_arrays(
        path,
        about,
        tuple_of_record=prepared.tuple_of_record,
        listed=register.listed if register else np.empty(0, dtype=np.int64),
        **{f"{name}_data": array for name, array in vars(prepared.data).items()},
        **{f"{name}_population": array for name, array in vars(prepared.population).items()},
        **{f"groups_{axis}": tree.groups for axis, tree in enumerate(prepared.hierarchies.values())},
        **{f"codes_{place}": column.codes for place, column in enumerate(columns)},
        **{f"weights_{place}": column.weights for place, column in enumerate(columns)},
    )


def load(path: Path) -> Prepared:
    """Read what ``save`` wrote.

    Raises
    ------
    StageFailed
        If the file is missing or damaged.
    """
    with saved_arrays(path, "preparation") as (about, arrays):
        data, population = (
            Tuples(*(arrays[f"{name}_{kind}"] for name in ("codes", "counts", "keys")))
            for kind in ("data", "population")
        )
        return Prepared(
            {
                name: Hierarchy(name, tuple(map(tuple, levels)), arrays[f"groups_{axis}"])
                for axis, (name, levels) in enumerate(about["labels"].items())
            },
            data,
            population,
            arrays["tuple_of_record"],
            about["distinct_values"],
            columns={
                name: CodedColumn(arrays[f"codes_{place}"], arrays[f"weights_{place}"])
                for place, name in enumerate(about["columns"])
            },
            register=Register(arrays["listed"], about["register"]) if about["register"] else None,
        )

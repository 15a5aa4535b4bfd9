"""Reading data and population once, coding and counting them, and keeping the codes between stages.

Records appear only as numbers: of their tuple, and of their values in columns that are scored. The file is private to
the workspace and removed with the run.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tasks.core.errors import DataError, PopulationError, raised_as, row_positions
from tasks.core.files import file_sha256, save_arrays, saved_arrays
from tasks.core.plural import plural
from tasks.microdata.build import build_hierarchies
from tasks.microdata.cell_items import CellItems
from tasks.microdata.coded import (
    CodedColumn,
    Events,
    Prepared,
    Register,
    coded_attributes,
    holds_numbers,
    numbered_column,
)
from tasks.microdata.fit import check_room
from tasks.microdata.hierarchy import Codes, Hierarchy
from tasks.microdata.missing_values import people_beside_missing, with_missing_leaves
from tasks.microdata.part_table import PartTable, with_values_apart
from tasks.microdata.parts import (
    FilePart,
    PartCoder,
    code_part,
    is_plain_parquet,
    joined_column,
    joined_records,
    pieces,
    read_piece,
)
from tasks.microdata.persons import Persons, persons_of, records_of
from tasks.microdata.presence import Domains, Naming, Presence, Table, free_texts, namings, presences
from tasks.microdata.read import read_data, read_domains, read_microdata, read_population
from tasks.microdata.tables import RowTables, own_rows, row_tables
from tasks.microdata.tuples import Tuples, distinct_tuples, encode
from tasks.microdata.withheld import Factorized, withheld_columns
from tasks.request.load import LoadedRequest
from tasks.request.model import MissingReading, ReleaseRequest, ValueType


@dataclass(frozen=True)
class People:
    """Basis of the integer codes: the hierarchies, and the people of the population and the register."""

    hierarchies: dict[str, Hierarchy]
    population: Tuples | None
    """None where people are counted in the file."""
    register: Register | None
    domains: Domains
    table: PartTable | None = field(default=None, kw_only=True)
    """People of a table that lacks some quasi-identifiers, beside those of the file; None where it lacks none."""

    def lacking(self, names: Collection[str], request: ReleaseRequest) -> "People":
        """The people, under hierarchies with leaves for missing values of some quasi-identifiers.

        Raises
        ------
        DataError
            If there is a register, a recipient is to have decoys, or an adversary has several resources.
        HierarchyError
            As ``with_missing_leaves`` raises.
        """
        if not names:
            return self
        _check_may_lack(names, request)
        trees = with_missing_leaves(self.hierarchies, names)
        table = self.table and self.table.over(trees)
        population = None
        if self.population is not None:
            population, _ = distinct_tuples(self.population.codes, list(trees.values()), self.population.counts)
        return replace(self, hierarchies=trees, population=population, table=table)

    def with_frame(self, frame: pd.DataFrame, request: ReleaseRequest) -> Prepared:
        """The microdata of a request, as ``read_microdata`` gives them, coded on these people.

        Raises
        ------
        DataError
            If a quasi-identifier is outside its hierarchy, or a column whose order counts has values
            without one.
        """
        persons, names = persons_of(frame, request), list(request.outbound)
        records, terms = records_of(frame, persons), (self.hierarchies, coded_attributes(request), request.dataset.path)
        rows = frame.iloc[own_rows(frame, request, request.person_id)]
        part = code_records(records[names], rows[names], *terms)
        direct = {name: pd.factorize(records[name]) for name in request.withheld}
        prepared = self.with_parts([part], part.tuples, direct, request)
        return prepared if persons is None else self._with_events(prepared, frame, persons, request)

    def _with_events(
        self, prepared: Prepared, frame: pd.DataFrame, persons: Persons, request: ReleaseRequest
    ) -> Prepared:
        """The same with the attributes of rows."""
        found = {name: pd.factorize(frame[name]) for name in request.of_rows}
        own = {name: len(frame.iloc[own_rows(frame, request, name)]) for name in found}
        levels = {name: pd.Index(found[name][1]) for name in request.events}
        events = Events(
            persons,
            {name: numbered_column(request, name, *found[name]) for name in request.events},
            dict(withheld_columns(request, {name: found[name] for name in found if name not in levels}, own)),
            tuple(presences(levels, self.domains)),
            row_tables(frame, request),
        )
        texts = {name: found[name] for name in request.events if request.attributes[name].type is ValueType.TEXT}
        quasi = self._quasi_identifiers(prepared.data, prepared.tuple_of_record[persons.of_row])
        events = replace(events, named=tuple(namings(texts, quasi)))
        distinct = {name: len(values) for name, (_, values) in found.items()}
        return replace(
            prepared,
            events=events,
            distinct_values={**prepared.distinct_values, **distinct},
            free_texts=(*prepared.free_texts, *free_texts(texts)),
        )

    def with_parts(
        self, parts: Sequence[FilePart], tuples: Tuples, direct: Mapping[str, Factorized], request: ReleaseRequest
    ) -> Prepared:
        """The coded parts of a file as one; ``direct`` has codes and distinct values of the withheld columns."""
        joined = {name: joined_column(parts, name) for name in parts[0].levels}
        axes = {name: len(np.unique(tuples.codes[:, axis])) for axis, name in enumerate(self.hierarchies)}
        levels = {name: values for name, (_, values) in {**direct, **joined}.items()}
        found = {**axes, **{name: len(values) for name, values in levels.items()}}
        kept = {name: levels[name] for name in request.as_they_are}
        population = self._population(tuples, request.policy.missing.quasi_identifiers)
        of_record = joined_records(parts, tuples)
        texts = {
            name: joined[name] for name in coded_attributes(request) if request.attributes[name].type is ValueType.TEXT
        }
        return Prepared(
            self.hierarchies,
            tuples,
            population,
            of_record,
            {name: found[name] for name in request.attributes if name in found},
            {name: numbered_column(request, name, *joined[name]) for name in coded_attributes(request)},
            self.register,
            numerals=tuple(name for name, (_, values) in texts.items() if holds_numbers(values)),
            withheld=dict(withheld_columns(request, direct)),
            listed=tuple(presences(kept, self.domains)),
            named=tuple(namings(texts, self._quasi_identifiers(tuples, of_record))),
            free_texts=tuple(free_texts(texts)),
            left_out=max(self._listed - population.total, 0),
        )

    def _quasi_identifiers(self, tuples: Tuples, of_row: Codes) -> dict[str, tuple[Codes, Mapping[str, int]]]:
        """Codes of the quasi-identifiers by row, and the code of each of their values."""
        return {
            name: (tuples.codes[of_row, axis], one.domain) for axis, (name, one) in enumerate(self.hierarchies.items())
        }

    @property
    def _listed(self) -> int:
        """People of the table; 0 without one."""
        table = self.population or (self.table and self.table.people)
        return table.total if table else 0

    def _population(self, data: Tuples, missing: MissingReading) -> Tuples:
        if self.population is not None:
            return people_beside_missing(self.population, data, list(self.hierarchies.values()), missing)
        return data if self.table is None else self.table.with_file(data, self.hierarchies, missing)


def _check_may_lack(names: Collection[str], request: ReleaseRequest) -> None:
    """Refuse missing values of quasi-identifiers beside what rests on everybody's values."""
    adversaries = (one.adversary for one in request.recipients if request.population.path is not None)
    beside = {
        "external_data": (
            request.external_data is not None,
            "nobody knows how many of the people who lack one a register lists",
        ),
        "decoys": (
            any(one.decoys for one in request.recipients) or request.continues is not None,
            "a decoy has all values, and links to people who have them",
        ),
        "adversary.resources": (
            any(one is not None and one.resources for one in adversaries),
            "resources list shares of groups, whose size is known from below alone",
        ),
    }
    for term, (given, reason) in beside.items():
        if given:
            raise DataError(
                f"quasi-identifiers have missing values, in a request with {term}",
                where=f"{request.dataset.path}, columns {', '.join(names)}",
                expected=f"a value in every record: {reason}",
                got="records without one",
                fix=f"complete the records, leave them out of the file, or release without {term}",
            )


def code_records(
    records: pd.DataFrame,
    rows: pd.DataFrame,
    hierarchies: Mapping[str, Hierarchy],
    by_record: Sequence[str],
    where: str,
) -> FilePart:
    """``code_part`` of the records of a file; an error names rows of the file, of which a person has several."""
    failure: DataError | None = None
    try:
        return code_part(records, hierarchies, by_record, where)
    except DataError as error:
        failure = error
    if len(rows) > len(records):
        code_part(rows, hierarchies, by_record, where)
    raise failure


def prepare(loaded: LoadedRequest, frame: pd.DataFrame) -> Prepared:
    """Code the microdata, as ``read_microdata`` gives them, and the population that a request names.

    Raises
    ------
    DataError, HierarchyError, PopulationError, WorkspaceError
        If a file cannot be read, a quasi-identifier is outside its hierarchy, or there are fewer people than records.
    """
    people = read_people(loaded, lambda name: frame[name])
    people = people.lacking(lacking_columns(loaded.request, lambda name: frame[name]), loaded.request)
    return _with_room(people.with_frame(frame, loaded.request), loaded)


def prepare_file(loaded: LoadedRequest, path: Path, dask: str | None = None) -> Prepared:
    """Prepare a file, without ever holding its records as text where it is Parquet.

    ``dask`` is the address of a Dask scheduler whose workers code the pieces of such a file.

    Raises
    ------
    DataError, HierarchyError, PopulationError, WorkspaceError
        As ``read_microdata`` and ``prepare`` raise.
    BadInput, StageFailed
        If the records are to be counted elsewhere, and cannot be.
    """
    request, missing = loaded.request, loaded.request.dataset.missing
    whole = not is_plain_parquet(path, request)
    if whole or request.dataset.person is not None:
        if dask is not None:
            raise DataError(
                "only Parquet with one row a person can be read on several machines",
                where=path.name,
                expected="a Parquet file, which is read a row group at a time, and no dataset.person",
                got="another form" if whole else "several rows per person",
                fix="export the data as Parquet, or leave --dask out" if whole else "leave --dask out",
            )
        return prepare(loaded, read_data(loaded))
    cut = pieces(path, request)

    def column(name: str) -> pd.Series:
        joined: pd.Series = pd.concat([read_piece(path, piece.groups, [name], missing)[name] for piece in cut])
        return joined

    people = read_people(loaded, column)
    coder = PartCoder(path.resolve(), request.outbound, coded_attributes(request), missing, people.hierarchies)
    counted = coder.code_all(cut, dask)
    if counted is None and (lacking := lacking_columns(request, column)):
        people = people.lacking(lacking, request)
        coder = replace(coder, hierarchies=people.hierarchies)
        counted = coder.code_all(cut, dask)
    if counted is None:
        # Somewhere a value is unknown; reading the whole file shows in which records.
        return _with_room(people.with_frame(read_microdata(path, request), request), loaded)
    direct = {name: pd.factorize(column(name)) for name in request.withheld}
    return _with_room(people.with_parts(*counted, direct, request), loaded)


def lacking_columns(request: ReleaseRequest, column: Callable[[str], pd.Series]) -> tuple[str, ...]:
    """Quasi-identifiers of which a record has no value; ``column`` gives a column of the microdata."""
    return tuple(name for name in request.quasi_identifiers if column(name).isna().any())


def _with_room(prepared: Prepared, loaded: LoadedRequest) -> Prepared:
    check_room(prepared.data, prepared.population, loaded.place("population.path"))
    size = loaded.request.population.size
    if size is not None and size < prepared.data.total:
        raise PopulationError(
            "the population has fewer people than the file has records",
            where=loaded.place("population.size"),
            expected=f"at least {prepared.data.total:,}, since each record stands for one person",
            got=f"{size:,}",
            fix="give the people of the population that the file is a random sample of",
        )
    return prepared


def read_people(loaded: LoadedRequest, column: Callable[[str], pd.Series]) -> People:
    """Read the population of a request, build the hierarchies, and read the register.

    Without a population table, ``column`` gives a column of the microdata, whose values are the domain of a hierarchy
    by prefixes.

    Raises
    ------
    HierarchyError, PopulationError, WorkspaceError
        If a file cannot be read or used, or a value is missing or outside its hierarchy.
    """
    request, lacks = loaded.request, loaded.request.population.lacks
    cut = [name for name, one in request.attributes.items() if one.hierarchy and one.hierarchy.prefixes]
    if request.population.path is None:
        return People(build_hierarchies(loaded, {name: column(name) for name in cut}), None, None, {})
    path = loaded.resolve(request.population.path, "population.path")
    names = [name for name in request.quasi_identifiers if name not in lacks]
    values, counts = read_population(path, request.population, names)
    counted = {name: values[name] for name in names} | {name: column(name) for name in cut if name in lacks}
    hierarchies = build_hierarchies(loaded, counted)
    listed = {name: hierarchies[name] for name in names}
    with raised_as(PopulationError):
        codes = encode(values, listed, request.population.path, groups=True)
    some = counts > 0
    population, _ = distinct_tuples(codes[some], list(listed.values()), counts[some])
    if lacks:
        axes = tuple(request.quasi_identifiers.index(name) for name in names)
        table = PartTable(population, axes, loaded.place("population.path"))
        return People(with_values_apart(hierarchies, lacks), None, None, people_domains(loaded), table=table)
    return People(hierarchies, population, read_register(loaded, hierarchies, population), people_domains(loaded))


def people_domains(loaded: LoadedRequest) -> Domains:
    """Distinct values by column of the tables of people that a request names."""
    people, register = loaded.request.population, loaded.request.external_data
    domains: dict[Table, dict[str, pd.Index]] = {}
    if people.path is not None:
        domains["population"] = read_domains(loaded.resolve(people.path, "population.path"), people)
    if register is not None:
        domains["register"] = read_domains(loaded.resolve(register.path, "external_data.path"), register)
    return domains


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
        codes = encode(values, hierarchies, register.path, groups=True)
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
            got=f"{plural(len(wrong), 'row')} with more",
            fix="use a population that holds everybody whom the register lists",
        )
    listed = np.zeros(len(population), dtype=np.int64)
    listed[place] = tuples.counts
    return Register(listed, file_sha256(path))


def save(prepared: Prepared, path: Path) -> None:
    """Keep the codes between the stages of a run."""
    register, columns, events = prepared.register, prepared.columns.values(), prepared.events
    about = {
        "labels": {name: hierarchy.labels for name, hierarchy in prepared.hierarchies.items()},
        "values": {name: hierarchy.values for name, hierarchy in prepared.hierarchies.items()},
        "distinct_values": prepared.distinct_values,
        "columns": list(prepared.columns),
        "register": register and register.sha256,
        "numerals": prepared.numerals,
        "free_texts": prepared.free_texts,
        "left_out": prepared.left_out,
        "withheld": list(prepared.withheld),
        "listed": [asdict(one) for one in prepared.listed],
        "named": [asdict(one) for one in prepared.named],
        "events": events
        and {
            "columns": list(events.columns),
            "withheld": list(events.withheld),
            "listed": [asdict(one) for one in events.listed],
            "named": [asdict(one) for one in events.named],
        },
    }
    tables = None if events is None else events.tables
    save_arrays(
        path,
        about,
        tuple_of_record=prepared.tuple_of_record,
        listed=register.listed if register else np.empty(0, dtype=np.int64),
        **{f"{name}_data": array for name, array in vars(prepared.data).items()},
        **{f"{name}_population": array for name, array in vars(prepared.population).items()},
        **{f"groups_{axis}": tree.groups for axis, tree in enumerate(prepared.hierarchies.values())},
        **_arrays_of("", columns, prepared.withheld),
        **({} if events is None else _arrays_of("event_", events.columns.values(), events.withheld)),
        **({} if events is None else {"person_of_row": events.of_row}),
        **({} if tables is None else {"table_of_row": tables.of_row, "within": tables.within}),
    )


def _arrays_of(
    prefix: str, columns: Collection[CodedColumn], withheld: Mapping[str, Codes]
) -> dict[str, NDArray[np.generic]]:
    """Arrays of coded and of withheld columns, by name."""
    return {
        **{f"{prefix}codes_{place}": column.codes for place, column in enumerate(columns)},
        **{f"{prefix}weights_{place}": column.weights for place, column in enumerate(columns)},
        **{f"{prefix}places_{at}": column.places for at, column in enumerate(columns) if column.places is not None},
        **{
            f"{prefix}item_{part}_{at}": array
            for at, column in enumerate(columns)
            if column.items is not None
            for part, array in vars(column.items).items()
        },
        **{f"{prefix}withheld_{place}": codes for place, codes in enumerate(withheld.values())},
    }


def _columns_in(
    arrays: Mapping[str, Any], prefix: str, about: Mapping[str, Any]
) -> tuple[dict[str, CodedColumn], dict[str, Codes], tuple[Presence, ...]]:
    """Columns that ``_arrays_of`` stored, and the columns that tables of people have."""
    columns = {
        name: CodedColumn(
            arrays[f"{prefix}codes_{place}"],
            arrays[f"{prefix}weights_{place}"],
            arrays.get(f"{prefix}places_{place}"),
            CellItems(*(arrays[f"{prefix}item_{part.name}_{place}"] for part in fields(CellItems)))
            if f"{prefix}item_pairs_{place}" in arrays
            else None,
        )
        for place, name in enumerate(about["columns"])
    }
    withheld = {name: arrays[f"{prefix}withheld_{place}"] for place, name in enumerate(about["withheld"])}
    return columns, withheld, tuple(Presence(**one) for one in about["listed"])


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
        columns, withheld, listed = _columns_in(arrays, "", about)
        events = about["events"] and Events(
            Persons(arrays["person_of_row"]),
            *_columns_in(arrays, "event_", about["events"]),
            RowTables(arrays["table_of_row"], arrays["within"]) if "table_of_row" in arrays else None,
            tuple(Naming(**one) for one in about["events"]["named"]),
        )
        return Prepared(
            {
                name: Hierarchy.stored(name, levels, arrays[f"groups_{axis}"], about["values"][name])
                for axis, (name, levels) in enumerate(about["labels"].items())
            },
            data,
            population,
            arrays["tuple_of_record"],
            about["distinct_values"],
            columns=columns,
            register=Register(arrays["listed"], about["register"]) if about["register"] else None,
            numerals=tuple(about["numerals"]),
            withheld=withheld,
            listed=listed,
            named=tuple(Naming(**one) for one in about["named"]),
            free_texts=tuple(about["free_texts"]),
            events=events,
            left_out=about["left_out"],
        )

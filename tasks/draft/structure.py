"""How the tables of a folder hang together: the column of the person, keys, and rows within rows of another table.

All of it is found in the values: a column of the same name counts only where its values are those of the other table.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tasks.core.errors import DataError, row_positions
from tasks.core.plural import plural
from tasks.draft.roles import GENERIC_NAMES, ColumnProfile, theme_of
from tasks.request.column_names import Theme
from tasks.validation.values import EncodedColumn

Columns = Mapping[str, EncodedColumn]
Profiles = Mapping[str, ColumnProfile]


@dataclass(frozen=True)
class Place:
    """Place of a table among the others."""

    table: str
    key: str | None = None
    """Column that names each of its rows once."""
    within: str | None = None
    """Table to one of whose rows each row belongs."""
    link: str | None = None
    """Key of that table, a column of both."""
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class Structure:
    """The first table, which has one row for each person, and the others, each after the table that it is within."""

    person: str
    """Column of the person, in every table."""
    first: str
    others: tuple[Place, ...]


def structure_of(
    columns: Mapping[str, Columns], profiles: Mapping[str, Profiles], people: str | None = None
) -> Structure:
    """Find person, keys and rows within rows of two tables or more, each of which has rows.

    `columns` and `profiles` are by table and column; `people` is the table of people where it is known. A row whose
    cell for the other table's key is empty belongs to the person alone. Of several tables that rows could be within,
    that with most rows counts.

    Raises
    ------
    DataError
        If no column can be told to be that of the person.
    """
    person, first = _person(columns, profiles, [people] if people else list(columns))
    others = [name for name in columns if name != first]
    whose = {name: rows_of(columns[name][person], columns[first][person]) for name in others}
    keys = {name: _key(name, person, others, profiles) for name in others}
    links = {name: tuple(_links(name, keys, columns, profiles, whose)) for name in others}
    within = _within(links)
    places = {}
    for name in others:
        place = Place(name, keys[name], within.get(name), keys.get(within.get(name, "")))
        places[name] = replace(place, reasons=tuple(_reasons(place, links[name], keys, person)))
    return Structure(person, first, tuple(_parents_first(places)))


_OF_PEOPLE = frozenset({Theme.IDENTITY, Theme.AGE, Theme.ZIP, Theme.PERSON})


def _person(columns: Mapping[str, Columns], profiles: Mapping[str, Profiles], tables: Sequence[str]) -> tuple[str, str]:
    """Column of the person, and the table of people, which is one of `tables`."""

    def fitness(table: str, name: str) -> tuple[int, int]:
        """Order of tables with one row a person: first that with everybody, then that which says most of them."""
        own = profiles[table]
        return own[name].is_key * own[name].distinct, sum(theme_of(one)[0] in _OF_PEOPLE for one in own.values())

    shared = [name for name in next(iter(columns.values())) if all(name in of_table for of_table in columns.values())]
    found, refused = list[tuple[str, str]](), list[str]()
    for name in shared:
        table = max(tables, key=lambda one: fitness(one, name))
        if not profiles[table][name].can_name_records:
            refused.append(f"{name} names the rows of no file once")
            continue
        lacking = [*_lacking(name, table, columns)]
        lacking += [
            f"{name} names each row of {table} once, but {other} repeats there"
            for other in shared
            if not profiles[table][other].is_key and theme_of(profiles[table][other])[0] is Theme.IDENTITY
        ]
        refused += lacking
        if not lacking:
            found.append((name, table))
    if not found:
        raise DataError(
            "no column of these files can be told to be that of the person",
            where=f"{len(columns)} files: {', '.join(columns)}",
            expected="a column of one name in all files, such as a patient number, that names each row of one file "
            "once and has only values of that file in the others",
            got="; ".join(refused) or _nearly_shared(profiles) or "no column that all files have",
            fix="add a file with one row for each person, give the column one name, or leave out the files that do not "
            "belong; or draft a request for a single file",
        )
    found.sort(key=lambda one: not set(profiles[one[1]][one[0]].words) & GENERIC_NAMES)
    return found[0]


def _nearly_shared(profiles: Mapping[str, Profiles]) -> str:
    """The column with the fewest values that names rows of a file and that all files but one have; or empty."""
    found = list[tuple[int, str]]()
    for lacking, held in profiles.items():
        others = [one for name, one in profiles.items() if name != lacking]
        for name in others[0] if len(others) > 1 else ():
            named = [one[name].distinct for one in others if name in one and one[name].can_name_records]
            if named and name not in held and all(name in one for one in others):
                found.append((min(named), f"{lacking} lacks {name}, which the other files share"))
    return min(found)[1] if found else ""


def _lacking(name: str, table: str, columns: Mapping[str, Columns]) -> Iterator[str]:
    """Tables with rows that name nobody of the table of people."""
    for other, of_other in columns.items():
        rows = np.flatnonzero(rows_of(of_other[name], columns[table][name]) < 0)
        if len(rows):
            count = plural(len(rows), "row")
            yield f"{count} of {other} without a {name} that {table} has, {row_positions(rows)}"


def _key(name: str, person: str, others: Sequence[str], profiles: Mapping[str, Profiles]) -> str | None:
    """Column that names each row of a table once, and no larger table's: one that others have, else one so called."""
    found = []
    for one in profiles[name].values():
        having = [profiles[other][one.name] for other in others if one.name in profiles[other]]
        # Of equally many rows, those of the earlier table.
        largest = max((held for held in having if held.can_name_records), key=lambda held: held.records, default=None)
        if largest is one and one.name != person:
            found.append((len(having) == 1, not set(one.words) & GENERIC_NAMES, one.name))
    return min(found, key=lambda one: one[:2])[2] if found else None


@dataclass(frozen=True)
class _Link:
    """Another table's key in a table, under the same name."""

    parent: str
    rows: int
    """Rows of the other table."""
    stated: int
    """Rows with a value."""
    broken: int
    """Rows with a value that the other table lacks, or has for a different person."""


def _links(
    name: str,
    keys: Mapping[str, str | None],
    columns: Mapping[str, Columns],
    profiles: Mapping[str, Profiles],
    whose: Mapping[str, NDArray[np.intp]],
) -> Iterator[_Link]:
    """The keys of other tables that a table has; `whose` has the persons of each table's rows."""
    for parent, key in keys.items():
        child = profiles[name].get(key or "")
        if name == parent or key is None or child is None or not child.distinct:
            continue
        stated = np.flatnonzero(columns[name][key].codes >= 0)
        at = rows_of(columns[name][key], columns[parent][key])[stated]
        right = (at >= 0) & (whose[parent][at] == whose[name][stated])
        yield _Link(parent, profiles[parent][key].records, len(stated), int((~right).sum()))


def _within(links: Mapping[str, Sequence[_Link]]) -> dict[str, str]:
    """For each table the one with most rows that its rows are within, in no circle."""
    within: dict[str, str] = {}
    for name, found in links.items():
        for link in sorted(found, key=lambda one: -one.rows):
            above: str | None = link.parent
            while above not in (None, name):
                above = within.get(above or "")
            if not link.broken and above is None:
                within[name] = link.parent
                break
    return within


def rows_of(column: EncodedColumn, key: EncodedColumn) -> NDArray[np.intp]:
    """Row of a key's table with the value of each row of a column; −1 where there is none. The key names rows once."""
    row_of_value = np.empty(len(key.values) + 1, dtype=np.intp)
    row_of_value[key.codes] = np.arange(len(key.codes))
    row_of_value[-1] = -1
    at = np.append(pd.Index(key.values).get_indexer(pd.Index(column.values)), -1)
    rows: NDArray[np.intp] = row_of_value[at[column.codes]]
    return rows


def _reasons(place: Place, links: Sequence[_Link], keys: Mapping[str, str | None], person: str) -> Iterator[str]:
    """What was found of a table, in words."""
    if place.key is not None:
        yield f"{place.key} names each of its rows once"
    if place.within is not None:
        yield f"each row belongs to a row of {place.within} with the same {person}"
    for link in links:
        if 0 < link.broken <= link.stated / 2:
            yield (
                f"not within {link.parent}: {plural(link.broken, 'row')} with a {keys[link.parent]} that {link.parent} "
                f"lacks, or has for a different {person}"
            )


def _parents_first(places: Mapping[str, Place]) -> Iterator[Place]:
    """The places in their order, each after the one that it is within."""
    given = set[str]()

    def with_parents(place: Place) -> Iterator[Place]:
        if place.table not in given:
            given.add(place.table)
            if place.within is not None:
                yield from with_parents(places[place.within])
            yield place

    for place in places.values():
        yield from with_parents(place)

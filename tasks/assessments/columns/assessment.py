"""Places of the released columns in the attack, judged on all records of the file with masked values as released."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from math import log2

import numpy as np
from numpy.typing import NDArray

from tasks.assessments.columns.dependence import Codes, entropy
from tasks.assessments.columns.facts import DEPENDENT, ColumnFact, ColumnFinding, ColumnsFact, Sign
from tasks.assessments.columns.numbers import Numbers, numbers_of, stands_out
from tasks.assessments.columns.places import ColumnTable, distinct_share, links_a_few, places
from tasks.assessments.columns.whole_row import whole_row_figures
from tasks.candidate.assessment import Assessment, Effort, Finding
from tasks.candidate.candidate import Candidate
from tasks.masking.masked_columns import MaskedColumns
from tasks.microdata.coded import CodedColumn, Events, Prepared
from tasks.microdata.persons import distinct_values
from tasks.microdata.withheld import DATE_PARTS, with_date_parts
from tasks.request.column_names import is_of_residence, names_numbers, usually_known
from tasks.request.model import NUMERIC, Measure, ReleaseRequest, Role, ValueType

Rows = NDArray[np.intp]


def column_table(request: ReleaseRequest, prepared: Prepared, masked: MaskedColumns) -> ColumnTable:
    """The columns of a request's file."""
    leaves = prepared.data.codes[prepared.tuple_of_record]
    quasi: dict[str, Codes] = {}
    numbers = column_numbers(request, prepared.columns)
    for axis, (name, hierarchy) in enumerate(prepared.hierarchies.items()):
        own = (name, request.attributes[name].type, leaves[:, axis], hierarchy.labels[0])
        quasi |= with_date_parts(*own)
        numbers |= numbers_of(*own)
    released: dict[str, Codes] = {name: column.codes for name, column in prepared.columns.items()}
    collected: dict[str, Codes] = {}
    for place, name in enumerate(masked.names):
        values, collected[name] = np.unique(masked.original[:, place], return_inverse=True)
        stated = values[~np.isnan(values)]
        nearest = np.searchsorted((stated[1:] + stated[:-1]) / 2, masked.masked[:, place])
        released[name] = np.where(np.isnan(masked.masked[:, place]), len(stated), nearest)
        numbers[name] = np.append(stated, np.nan)
    known = (prepared.withheld, prepared.listed, prepared.named)
    return ColumnTable(released, collected, quasi, *known, numbers, prepared.free_texts)


def column_numbers(request: ReleaseRequest, columns: Mapping[str, CodedColumn]) -> dict[str, Numbers]:
    """The number of each code of the columns that have numbers, NaN for none."""
    return {
        name: np.append(one.places, np.nan)
        for name, one in columns.items()
        if one.places is not None and request.attributes[name].type is not ValueType.DATE
    }


def event_table(
    request: ReleaseRequest, people: ColumnTable, events: Events, rows: Rows, around: Collection[str]
) -> ColumnTable:
    """The columns of some rows of a file, of those of the persons as well; `people` are the latter by person.

    `around` are the attributes of rows that say something of these: of their table, and of the rows that they are in.
    """
    persons = events.of_row[rows]

    def by_row(columns: Mapping[str, Codes]) -> dict[str, Codes]:
        return {name: codes[persons] for name, codes in columns.items()}

    withheld = {
        name: codes[rows]
        for name, codes in events.withheld.items()
        if any(name in (one, *(f"{part} of {one}" for part in DATE_PARTS)) for one in around)
    }
    return ColumnTable(
        {
            **by_row(people.released),
            **{name: column.codes[rows] for name, column in events.columns.items() if name in around},
        },
        by_row(people.collected),
        by_row(people.quasi_identifiers),
        {**by_row(people.withheld), **withheld},
        events.listed,
        (*people.named, *events.named),
        {**people.numbers, **column_numbers(request, events.columns)},
        people.free_texts,
    )


def tables_around(request: ReleaseRequest, table: str | None) -> Iterator[str | None]:
    """A table, and those that its rows are within."""
    yield table
    outer = None if table is None else request.tables[table].within
    if outer is not None:
        yield from tables_around(request, outer)


def ends_of_people(people: ColumnTable, events: Events, rows: Rows, names: Collection[str]) -> Iterator[ColumnTable]:
    """The lowest and then the highest numbers and dates of each person in some rows, in place of released columns."""
    ends: tuple[dict[str, Codes], ...] = ({}, {})
    numbers = dict(people.numbers)
    for name in names:
        column, persons = events.columns[name], events.of_row[rows]
        if column.places is None:
            continue
        numbers[name] = np.append(column.places, np.nan)
        codes = column.codes[rows]
        order = np.lexsort((-numbers[name][codes], persons))
        order = order[~np.isnan(numbers[name][codes[order]])]
        for end, ordered in zip(ends, (order, order[::-1]), strict=True):
            end[name] = np.full(len(events.persons), column.missing)
            end[name][persons[ordered]] = codes[ordered]  # of several rows of a person the last is kept
    for end in ends:
        yield replace(people, released=end, collected={}, listed=(), named=(), numbers=numbers, free_texts=())


def histories(events: Events, name: str, number: int = 0) -> Codes:
    """Number of each person's values of an attribute of rows, equal for equal sets; shape (n_persons,).

    `number` is that of the attribute's table.
    """
    rows = events.rows_of(number)
    codes = events.columns[name].codes[rows].astype(np.int64)
    span = int(codes.max(initial=0)) + 1
    person, value = distinct_values(events.of_row[rows], codes)
    lengths = np.bincount(person, minlength=len(events.persons))
    starts, numbers = np.cumsum(lengths) - lengths, np.zeros(len(lengths), dtype=np.int64)
    for place in range(int(lengths.max(initial=0))):
        longer = np.flatnonzero(lengths > place)
        key = numbers[longer] * span + value[starts[longer] + place]
        numbers[longer] = np.unique(key, return_inverse=True)[1]
    return np.unique(np.column_stack([lengths, numbers]), axis=0, return_inverse=True)[1].ravel()


def column_places(request: ReleaseRequest, prepared: Prepared, masked: MaskedColumns) -> ColumnsFact:
    """Places of the released columns other than the quasi-identifiers, in the order of the request.

    Shifted and relative dates are judged as collected, which tell more; that they are nearly unique is no finding:
    whom they single out is measured (``tasks.assessments.dates``).
    """
    table = column_table(request, prepared, masked)
    found, columns = places(table), dict(table.released)
    if prepared.events is not None and prepared.events.columns:
        for one in (None, *request.tables):
            own = [name for name in request.events if request.table_of(name) == one]
            if own:
                rows = prepared.events.rows_of(request.table_number(one))
                around = {name for outer in tables_around(request, one) for name in request.attributes_in(outer)}
                of_rows = event_table(request, table, prepared.events, rows, around)
                columns |= {name: of_rows.released[name] for name in own}
                found = {**{name: told for name, told in places(of_rows).items() if name in own}, **found}
                if request.dataset.person in request.pseudonyms:
                    undated = [name for name in own if name not in request.dated]
                    for ends in ends_of_people(table, prepared.events, rows, undated):
                        for name, told in places(ends).items():
                            found[name] = _most_telling(*found[name], *(one for one in told if one.sign in DEPENDENT))
    released = (
        ColumnFact(
            name=name,
            distinct_share=round(distinct_share(columns[name]), 2),
            entropy=round(entropy(columns[name]), 2),
            masked=name in masked.names,
            numeric=request.attributes[name].type in NUMERIC and _complete(prepared, name),
            excused=str(request.attributes[name].excused or ""),
            findings=(
                *(
                    one.model_copy(update={"knowable": _knowable(request, one)})
                    for one in found[name]
                    if name not in request.dated or one.sign is not Sign.UNIQUE
                ),
                *_named(request, name),
                *_links(request, name, columns[name]),
            ),
        )
        for name in request.delivered
        if name in columns
    )
    return ColumnsFact(columns=(*released, *_linking(request, prepared), *_many_rows(request, prepared)))


def _most_telling(*findings: ColumnFinding) -> tuple[ColumnFinding, ...]:
    """The findings, of those that say the same the one with the largest share."""
    ascending = sorted(findings, key=lambda one: one.share)
    return tuple({(one.sign, one.columns, one.others): one for one in ascending}.values())


def _knowable(request: ReleaseRequest, finding: ColumnFinding) -> bool:
    """Whether a finding is on a withheld column of which the request does not state that nobody can know it."""
    withheld = {
        name for name, one in request.attributes.items() if one.role is Role.WITHHELD and one.known_probability != 0
    }
    return bool(finding.revealed(withheld))


def _named(request: ReleaseRequest, name: str) -> Iterator[ColumnFinding]:
    """A finding on a column whose name says what others usually know, where gates do not count on that.

    Either the request states that it is unknown, or it is a place of residence that the population does not have, which
    narrows nobody there: only where others can know who is in the file do gates count in the file alone.
    """
    attribute = request.attributes[name]
    word = usually_known(name, attribute.description or "")
    uncounted = is_of_residence(word) and request.policy.presence != "known"
    if word and attribute.known_probability == 0:
        yield ColumnFinding(sign=Sign.NAMED, columns=(name,), word=word, counted=not uncounted)
    elif uncounted:
        yield ColumnFinding(sign=Sign.PLACE, columns=(name,), word=word)


def _links(request: ReleaseRequest, name: str, codes: Codes) -> Iterator[ColumnFinding]:
    """A finding on an insensitive column of text or numbers of things whose values are each in a few records."""
    attribute = request.attributes[name]
    codelike = attribute.type is ValueType.TEXT or (attribute.type is ValueType.INTEGER and names_numbers(name))
    if attribute.role is Role.INSENSITIVE and codelike and name not in request.of_rows and links_a_few(codes):
        yield ColumnFinding(sign=Sign.LINKS, columns=(name,), share=round(distinct_share(codes), 2))


def _linking(request: ReleaseRequest, prepared: Prepared) -> Iterator[ColumnFact]:
    """Columns whose pseudonyms link records: they reveal nothing else, since no pseudonym reveals its value."""
    for name in request.linking:
        distinct = prepared.distinct_values[name]
        records = len(prepared.tuple_of_row) if name in request.of_rows else prepared.data.total
        if distinct < records:
            yield _of_pseudonyms(request, name, Sign.LINKS, distinct, records)


def _many_rows(request: ReleaseRequest, prepared: Prepared) -> Iterator[ColumnFact]:
    """The column of persons whose pseudonyms show that a few have far more rows of a table than all others."""
    events, name = prepared.events, request.dataset.person
    if events is None or name is None or name not in request.pseudonyms:
        return
    for table in (None, *request.tables):
        counts = np.bincount(events.of_row[events.rows_of(request.table_number(table))], minlength=len(events.persons))
        if stands_out(np.minimum(counts, request.policy.events.most_rows or np.inf).astype(np.float64)):
            yield _of_pseudonyms(request, name, Sign.ROWS, len(events.persons), len(events.of_row))
            return


def _of_pseudonyms(request: ReleaseRequest, name: str, sign: Sign, distinct: int, records: int) -> ColumnFact:
    share = round(distinct / records, 2)
    return ColumnFact(
        name=name,
        distinct_share=share,
        entropy=round(log2(max(distinct, 1)), 2),
        masked=False,
        numeric=False,
        excused=str(request.attributes[name].excused or ""),
        findings=(ColumnFinding(sign=sign, columns=(name,), share=share),),
    )


def _complete(prepared: Prepared, name: str) -> bool:
    """Whether every record has a value in a column; never in one of rows, which cannot be masked."""
    if name not in prepared.columns:
        return False
    column = prepared.columns[name]
    return int(column.codes.max(initial=0)) < len(column.weights) - 1


PLACES = "places of the released columns"


class ColumnsAssessment(Assessment[ColumnsFact]):
    """Revealing columns that nobody has excused: the same for every recipient."""

    id = "columns"
    stage = "released columns"
    fact = ColumnsFact

    def _assess(self, candidate: Candidate, effort: Effort) -> Finding[ColumnsFact]:
        """Judge the columns."""
        request, prepared, masked = candidate.request, candidate.as_collected, candidate.masked
        fact = candidate.known.get(PLACES)
        if not isinstance(fact, ColumnsFact):
            fact = column_places(request, prepared, masked)
        pairs = fact.telling(request.quasi_identifiers)
        if pairs:
            released = dict(column_table(request, prepared, masked).released)
            if prepared.events is not None:
                needed = {name for names, _ in pairs for name in names} & prepared.events.columns.keys()
                released |= {name: histories(prepared.events, name, request.number_of(name)) for name in sorted(needed)}
            figures = whole_row_figures(candidate, pairs, released)
            fact = fact.model_copy(update={"whole_row": {name.value: figure for name, figure in figures.items()}})
        return Finding(fact, {Measure.COLUMNS_UNPLACED: float(len(fact.unplaced))})

"""Suggested columns that tell of people, found as the gate finds them: nobody has reviewed these yet."""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace

import pandas as pd

from tasks.assessments.columns.facts import ColumnFinding, Sign
from tasks.assessments.columns.numbers import Numbers, numbers_of
from tasks.assessments.columns.places import ColumnTable, places
from tasks.draft.roles import MANY_VALUES, Suggestion
from tasks.draft.stated import STATED
from tasks.microdata.hierarchy import Codes
from tasks.microdata.presence import Factorized, free_texts, namings, presences
from tasks.microdata.withheld import NEARLY_UNIQUE, with_date_parts, without_gaps
from tasks.request.model import Role, ValueType
from tasks.validation.values import EncodedColumn


def with_places(
    suggestions: Sequence[Suggestion], columns: Mapping[str, EncodedColumn], population: pd.DataFrame | None
) -> tuple[Suggestion, ...]:
    """The suggestions; a column that would be released and tells of people becomes ``unreviewed``.

    Its reasons name the first finding. Once it has a role, ``check`` names all, and what lets the column leave.
    """
    by_role: dict[Role, dict[str, Suggestion]] = {role: {} for role in Role}
    for one in suggestions:
        by_role[one.role][one.profile.name] = one
    released = by_role[Role.SENSITIVE] | by_role[Role.INSENSITIVE] | by_role[Role.UNREVIEWED]
    names = list(released)
    quasi = {
        name: (codes, dict(zip(values, range(len(values)), strict=True)))
        for name, (codes, values) in _written(by_role[Role.QUASI], columns).items()
    }
    written = _written(released, columns)
    domains = {} if population is None else {str(name): pd.Index(population[name].unique()) for name in population}
    table = ColumnTable(
        {name: without_gaps(columns[name].codes) for name in names},
        {},
        _coded(by_role[Role.QUASI], columns),
        {
            name: codes
            for name, codes in _coded(by_role[Role.DIRECT] | by_role[Role.WITHHELD], columns).items()
            if name not in columns or len(columns[name].values) < NEARLY_UNIQUE * len(codes)
        },
        tuple(presences({name: pd.Index(columns[name].values) for name in names}, {"population": domains})),
        tuple(namings(written, quasi)),
        {
            name: numbers
            for each in (*released.values(), *by_role[Role.QUASI].values())
            for name, numbers in _numbers(each, columns[each.profile.name]).items()
        },
        tuple(free_texts(written)),
    )
    found = places(table)
    return tuple(
        replace(
            one,
            role=Role.UNREVIEWED,
            reasons=(
                *(reason for reason in one.reasons if reason != STATED),
                *_in_words(found[one.profile.name], one.reasons),
                *_not_excused(found[one.profile.name], by_role[Role.WITHHELD]),
            ),
        )
        if found.get(one.profile.name)
        else one
        for one in suggestions
    )


def _in_words(findings: Sequence[ColumnFinding], said: Sequence[str]) -> Iterator[str]:
    new = [one for one in findings if one.sign is not Sign.UNIQUE or MANY_VALUES not in said]
    if new:
        yield new[0].sentence
    if more := new[1:]:
        yield f"{len(more)} more such finding{'s' * (len(more) > 1)}"


def _not_excused(findings: Sequence[ColumnFinding], withheld: Container[str]) -> Iterator[str]:
    """Withheld columns that are revealed, which outsiders may know."""
    if names := " and ".join(sorted({name for one in findings for name in one.revealed(withheld)})):
        yield f"a reason counts only where nobody outside can know {names} (known_probability: 0)"


def _written(suggestions: Mapping[str, Suggestion], columns: Mapping[str, EncodedColumn]) -> dict[str, Factorized]:
    """Codes and values of columns of text."""
    return {
        name: (columns[name].codes, pd.Index(columns[name].values))
        for name, one in suggestions.items()
        if one.profile.type is ValueType.TEXT
    }


def _numbers(suggestion: Suggestion, column: EncodedColumn) -> dict[str, Numbers]:
    profile = suggestion.profile
    return numbers_of(profile.name, profile.type, without_gaps(column.codes), list(map(str, column.values)))


def _coded(suggestions: Mapping[str, Suggestion], columns: Mapping[str, EncodedColumn]) -> dict[str, Codes]:
    """Codes of some columns, and of the parts of dates among them."""
    coded: dict[str, Codes] = {}
    for name, one in suggestions.items():
        held = columns[name]
        coded |= with_date_parts(name, one.profile.type, without_gaps(held.codes), list(map(str, held.values)))
    return coded

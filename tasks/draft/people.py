"""The column that seems to name the person of each row in a drafted request, and the columns that differ within one."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from tasks.draft.roles import Suggestion
from tasks.generalization.kanonymity.classes import fold
from tasks.microdata.persons import Persons
from tasks.request.column_names import Theme, event_word, names_people
from tasks.request.model import PatternName, Role, ValueType
from tasks.validation.forms import rows_again
from tasks.validation.repeated_people import AGREEING, BY_CHANCE, agreeing
from tasks.validation.values import EncodedColumn, matches

PERSON = "it seems to name the person of each row: it repeats as names and numbers of people do"
_VARIES = "it differs between rows of a person"
_OF_PEOPLE = frozenset(PatternName) - {
    PatternName.FULL_DATE,
    PatternName.AGE_OVER_89,
    PatternName.COORDINATES,
    PatternName.URL,
    PatternName.IP,
}
"""Patterns that name people."""
_MOSTLY, _FOUR_WORDS = 0.9, r"[^\s]\s+[^\s]+\s+[^\s]+\s+[^\s]"
_MOST_COMBINATIONS = 20
"""Combinations of lasting quasi-identifiers that a person has on average at most, as ages grow in yearly rows."""
_LASTING = (Theme.AGE, Theme.PERSON, Theme.ZIP)
"""Subjects that visits do not change; days and places of visits do."""
_SHIFT = "or insensitive with “date: {shift: person, days: 30}” and a gate on dates.*"


def person_column(suggestions: Sequence[Suggestion], columns: Mapping[str, EncodedColumn]) -> str | None:
    """The column whose repeated values go with repeated quasi-identifiers, that with most values; None for none.

    Quasi-identifiers and keys of records are not asked, nor decimal numbers, private matters, or columns with missing
    cells. Where most records have the same quasi-identifiers, or none repeats, it is an identifier of people whose
    values are repeated as theirs are; but a name is not where a number of people names each record. A person mostly has
    one combination of quasi-identifiers, so that a column with far fewer values than there are combinations names none.
    """
    lasting = [
        columns[one.profile.name].codes for one in suggestions if one.role is Role.QUASI and one.theme in _LASTING
    ]
    numbered = any(_numbers_each(one) for one in suggestions)
    combinations = len(fold(np.column_stack(lasting))[1]) if lasting else 0
    return _agreeing(suggestions, columns) or next(
        (
            one.profile.name
            for one in sorted(suggestions, key=lambda one: -one.profile.distinct)
            if not one.profile.missing
            and (not numbered or names_people(one.profile.name))
            and one.profile.distinct * _MOST_COMBINATIONS >= combinations
            and _identifies(one, columns)
            and repeats(one, columns)
        ),
        None,
    )


def _numbers_each(suggestion: Suggestion) -> bool:
    """Whether a column is named as numbers of people are and names each record; cases may be those of one person."""
    column = suggestion.profile
    people = names_people(column.name) and not event_word(column.name) and "case" not in column.words
    return people and column.can_name_records and suggestion.role is Role.DIRECT


def repeats(suggestion: Suggestion, columns: Mapping[str, EncodedColumn]) -> bool:
    """Whether a column is drafted as a direct identifier and its values repeat as those of people do."""
    plain = suggestion.profile.type in (ValueType.TEXT, ValueType.INTEGER)
    return suggestion.role is Role.DIRECT and plain and bool(rows_again(columns[suggestion.profile.name]).any())


def _identifies(suggestion: Suggestion, columns: Mapping[str, EncodedColumn]) -> bool:
    """Whether the name of a column or its values say that it identifies people; text with some numbers in it does not.

    Nine in ten values of such text have four words or more, and fewer than nine in ten records a pattern of people.
    """
    found = [share for name, share in suggestion.profile.patterns.items() if name in _OF_PEOPLE]
    if suggestion.theme is Theme.IDENTITY or not found:
        return suggestion.theme is Theme.IDENTITY
    values = columns[suggestion.profile.name].values
    return max(found) >= _MOSTLY or matches(values, _FOUR_WORDS).mean() < _MOSTLY


def _agreeing(suggestions: Sequence[Suggestion], columns: Mapping[str, EncodedColumn]) -> str | None:
    quasi = [columns[one.profile.name].codes for one in suggestions if one.role is Role.QUASI]
    if not quasi:
        return None
    tuples, members = fold(np.column_stack(quasi))
    # What merely follows from quasi-identifiers has no more values than they have.
    asked = [
        one.profile
        for one in suggestions
        if one.role is Role.DIRECT
        or (
            one.role is not Role.QUASI
            and one.theme is not Theme.PRIVATE
            and one.profile.type is not ValueType.NUMBER
            and one.profile.distinct > len(members)
        )
    ]
    asked = [one for one in asked if 1 < one.distinct < one.records and not one.missing]
    most = np.bincount(tuples, minlength=len(members)).max(initial=0)
    for column in sorted(asked, key=lambda one: -one.distinct):
        _, again = agreeing(columns[column.name].codes, tuples)
        if most <= BY_CHANCE * column.records and again.mean() >= AGREEING:
            return column.name
    return None


def with_rows(
    suggestions: Sequence[Suggestion], columns: Mapping[str, EncodedColumn], person: str | None
) -> tuple[Suggestion, ...]:
    """The suggestions, with which columns are of rows: that of the person is a direct identifier.

    Where each row is a person, a column that repeats and says nothing of people is withheld as what it is.
    """
    if person is None:
        return tuple(
            replace(one, role=Role.WITHHELD) if repeats(one, columns) and not _identifies(one, columns) else one
            for one in suggestions
        )
    of_row = columns[person].codes
    found = []
    for one in suggestions:
        codes = columns[one.profile.name].codes
        varies = bool((codes != codes[Persons(of_row.astype(np.int32)).first_rows][of_row]).any())
        if one.profile.name == person:
            found.append(replace(one, role=Role.DIRECT, reasons=(PERSON,)))
        else:
            found.append(of_rows(one) if varies else one)
    return tuple(found)


def of_rows(suggestion: Suggestion) -> Suggestion:
    """The suggestion where rows of a person differ: the column is no quasi-identifier, and its dates can be shifted."""
    reasons, role = suggestion.reasons, suggestion.role
    if role is Role.QUASI:
        role, reasons = Role.WITHHELD, (*reasons, _VARIES)
    if role in (Role.DIRECT, Role.WITHHELD) and suggestion.profile.type is ValueType.DATE:
        reasons = (*reasons, _SHIFT)
    return replace(suggestion, role=role, reasons=reasons, of_row=True)

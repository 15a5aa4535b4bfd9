"""Profiles of columns without any of their values, and the roles suggested from them, with reasons.

When in doubt the suggestion is the careful one: a column that could single people out is withheld, and none is called
insensitive. People decide, and the reasons let them disagree.
"""

import re
from collections import Counter
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tasks.request.column_names import HINTS, NUMBER_WORDS, PEOPLE_WORDS, Theme, word_set
from tasks.request.model import DEFAULT_GATES, NUMERIC, GroupLevels, PatternName, Role, ValueType, records_for
from tasks.validation.forms import are_postcodes
from tasks.validation.patterns import DATE_AND_TIME, NUMBER
from tasks.validation.scan import scan
from tasks.validation.values import EncodedColumn, matches, nearly_numbers

PLAIN_INTEGER = r"^(?:0|-?[1-9][0-9]{0,17})\Z"
"""A whole number in its only plain form, so that it is the same text as its leaf in a hierarchy of intervals."""

ZIP_CODE = r"^[0-9]{5}(?:-[0-9]{4})?\Z"
YEAR = r"^(?:18|19|20)[0-9]{2}\Z"
_FREE_TEXT_LENGTH = 40
_HUMPS = re.compile(r"(?<=[a-zà-öø-ÿ])(?=[A-ZÀ-ÖØ-Þ])|(?<=[A-ZÀ-ÖØ-Þ])(?=[A-ZÀ-ÖØ-Þ][a-zà-öø-ÿ])")
"""Where a word begins inside a name, as in raceGroup and ICDCode."""
_TIMES = re.compile(r"(?<=.)(?:time|days|weeks|months)\Z")


@dataclass(frozen=True)
class ColumnProfile:
    """A column in figures.

    Attributes
    ----------
    missing
        Records without a value.
    distinct
        Different values.
    alone
        Records whose value no other record has.
    zip_share
        Share of the records with a value where it has the form of a US ZIP code.
    year_share
        Share of the records with a value where it is a year from 1800 to 2099.
    free_text_share
        Share of the records with a value where it is longer than 40 characters.
    patterns
        Share of the records with a value in which a direct identifier's pattern was found; found ones only.
    label
        Label that the program of the file gave the column; empty where there is none.
    value_labels
        Labels of coded values, by code, where a class of the default gates could be made of the records with it.
    like_numbers
        Whether whole numbers could be those of records: nearly without gaps, or nearly all of one length.
    postcodes
        Whether it has the form of a British, Canadian or Dutch postcode in nine of ten values.
    nearly_numbers
        Advice where nearly all of its cells are numbers, or numbers from 0; empty elsewhere.
    """

    name: str
    records: int
    missing: int
    distinct: int
    alone: int
    type: ValueType
    zip_share: float
    year_share: float
    free_text_share: float
    patterns: Mapping[PatternName, float]
    label: str = ""
    value_labels: Mapping[str, str] = field(default_factory=dict)
    like_numbers: bool = False
    postcodes: bool = False
    nearly_numbers: str = ""

    @property
    def distinct_ratio(self) -> float:
        """Different values over records that have one; 0 for an empty column."""
        present = self.records - self.missing
        return self.distinct / present if present else 0.0

    @property
    def is_key(self) -> bool:
        """Whether the column names each record once."""
        return self.records > 0 and self.distinct == self.records

    @property
    def can_name_records(self) -> bool:
        """Whether the column is a key by its nature and not by chance, as measurements are."""
        return self.is_key and self.type in (ValueType.TEXT, ValueType.INTEGER)

    @property
    def words(self) -> tuple[str, ...]:
        """Words of the column's name, in small letters."""
        parts = re.findall(r"[^\W\d_]+|[0-9]+", self.name)
        words = [word.lower() for part in parts for word in _HUMPS.split(part)]
        # A number named for a time in one word, such as “survtime”.
        times = [ends[0] for word in words if self.type in NUMERIC and (ends := _TIMES.search(word))]
        return (*words, *times, *re.findall(r"\bcd[48]\b", self.name.lower().replace("_", " ")))

    @property
    def label_words(self) -> tuple[str, ...]:
        """Words of the column's label, in small letters."""
        return tuple(re.findall(r"[^\W\d_]+", self.label.lower()))


def profile(
    name: str, column: EncodedColumn, label: str = "", value_labels: Mapping[str, str] = MappingProxyType({})
) -> ColumnProfile:
    """The figures of a column."""
    held = np.bincount(column.codes[column.codes >= 0], minlength=len(column.values))
    present = int(held.sum())
    kind = _type(column)
    lengths = column.values.str.len().to_numpy(dtype=np.int64)
    often = set(map(str, column.values[held >= records_for(DEFAULT_GATES[0].threshold)])) if value_labels else ()
    shares = {name: _share(mask, held) for name, mask in scan(column.values, kind).items()}
    return ColumnProfile(
        name=name,
        records=len(column.codes),
        missing=len(column.codes) - present,
        distinct=len(column.values),
        alone=int((held == 1).sum()),
        type=kind,
        zip_share=_share(matches(column.values, ZIP_CODE), held),
        year_share=_share(matches(column.values, YEAR), held),
        free_text_share=_share(lengths > _FREE_TEXT_LENGTH, held),
        patterns={pattern: share for pattern, share in shares.items() if share},
        label=label,
        value_labels={code: label for code, label in value_labels.items() if code in often},
        like_numbers=kind is ValueType.INTEGER and _like_numbers(column.values),
        postcodes=kind is ValueType.TEXT and are_postcodes(column.values),
        nearly_numbers=nearly_numbers(column),
    )


def _type(column: EncodedColumn) -> ValueType:
    """The narrowest type that all values have; whole numbers are in plain form, a code with leading zeros is text."""
    if _all(matches(column.values, PLAIN_INTEGER)):
        return ValueType.INTEGER
    if _all(matches(column.values, NUMBER) & ~matches(column.values, r"^[+-]?0[0-9]")):
        return ValueType.NUMBER
    if _all(matches(column.values, DATE_AND_TIME)):
        return ValueType.DATE
    return ValueType.TEXT


def _like_numbers(values: pd.Series) -> bool:
    """Whether different whole numbers could be those of records; measurements have gaps and vary in length.

    >>> _like_numbers(pd.Series(["1", "3", "4"])), _like_numbers(pd.Series(["8", "75", "1092"]))
    (True, False)
    """
    numbers = [int(value) for value in values]
    lengths = Counter(len(str(abs(number))) for number in numbers)
    dense = max(numbers) - min(numbers) < _GAPS * len(numbers)
    return dense or max(lengths.values()) >= _ONE_LENGTH * len(numbers)


def _all(mask: NDArray[np.bool_]) -> bool:
    return len(mask) > 0 and bool(mask.all())


def _share(mask: NDArray[np.bool_], held: NDArray[np.intp]) -> float:
    total = held.sum()
    return float(held[mask].sum() / total) if total else 0.0


NEARLY_A_NAME = 0.5
"""Distinct values over records from which an unknown column is kept back: most records would stand alone."""

_GAPS, _ONE_LENGTH = 2, 0.9
"""Numbers of records take up at most twice as many as there are, or nine in ten have one length: of numbers drawn below
a power of ten, as for 1 to 99,999, nine in ten have its length."""

KNOWN_ANYWAY = 0.4
"""Sensitivity of what neighbours know; below one half a class that shares a value discloses no secret."""

NO_VALUE = "it holds no value"
IN_NAME, IN_LABEL = " in its name", " in its label"
COUNTED = "the population table has it"
LACKING = "the population table lacks it"
UNCLEAR = "neither name nor values say what it is"
MANY_VALUES = "at least half as many values as records"
QUANTITY = "a quantity, not a record number: it has gaps, and values of several lengths"
OTHER_DATES = "to use them as dates, write years in four digits and months in digits"
MAYBE_QUANTITY = "if it is a quantity, role: sensitive, masked"

_MOSTLY = 0.95
_FEW = 0.1
_LEAST_PEOPLE = 20
"""Values from which a column that is named for people numbers them; fewer may be a status."""


@dataclass(frozen=True)
class Suggestion:
    """A role for a column, with the reasons in a few words each; what a role means is told once for all columns."""

    profile: ColumnProfile
    role: Role
    reasons: tuple[str, ...]
    theme: Theme | None = None
    of_row: bool = False
    """Whether its values differ between the rows of a person."""
    terms: Mapping[str, str] = field(default_factory=dict)
    """Further terms of the attribute, as YAML."""
    groups: GroupLevels | None = None
    """Groups of a public list of codes, for the hierarchy of a quasi-identifier."""

    @property
    def sensitivity(self) -> float:
        """Harm of learning a value, 0 to 1: low for what neighbours know, unless the law protects it specially."""
        words = (*self.profile.words, *self.profile.label_words)
        known = self.theme is Theme.PERSON and not _SPECIAL.intersection(words)
        return KNOWN_ANYWAY if known else 1.0


_OF_CALENDAR = word_set(
    "birth birthday birthdate born dob yob yrbth yrdth date day month year geburtsdatum geburtstag geburtsjahr "
    "datum jahr aufnahmedatum entlassungsdatum sterbedatum naissance année nacimiento fecha "
    "geboortedatum nascita nascimento födelsedatum födelseår fødselsdato fødselsår dato"
)
"""Words of dates whose parts are numbers as well."""

_SPECIAL = word_set(
    "race ethnicity ethnic nationality nation citizenship citizen native origin tribe religion faith nationalität "
    "staatsangehörigkeit konfession nationalité origine ethnie nacionalidad origen "
    "nationaliteit nazionalità nacionalidade"
)
"""Words of the kinds of personal data that GDPR, article 9, names, or that tell them."""

GENERIC_NAMES = NUMBER_WORDS | word_set("name names kennung nom")
"""Words that name anything: what else is in the column's name goes first."""

_OF_NAMES = frozenset({"name", "names", "nom"})
"""Those of them that are of people's names, not of numbers."""

_NUMBERS = (GENERIC_NAMES - _OF_NAMES) | word_set("mrn ssn nhs account uuid guid")
"""Words that name numbers and codes of people or things."""

_ENDS_OF_NUMBERS = ("id", "no", "nr", "num", "nbr", "key", "code")
"""Ends of names of numbers of people or things that are written as one word, such as “pidnum”."""

_PEOPLE_ALONE = word_set("person patient subject participant member client pid")
"""Words that alone name the numbers of people."""
_KEYED = word_set("visit encounter admission")
"""Words of events whose numbers are named so as well as their days."""

_KNOWN = frozenset({Theme.AGE, Theme.ZIP, Theme.PLACE, Theme.DATE, Theme.PERSON})
"""Subjects that neighbours, colleagues, registers and news know."""


def suggest(column: ColumnProfile, in_population: bool | None) -> Suggestion:
    """Suggest a role.

    ``in_population`` says whether the population table has the column; None where no table is given.
    """
    theme, sign = theme_of(column)
    role, reasons = Role.DIRECT, [sign]
    if column.distinct == 0:
        reasons = [NO_VALUE]
    elif in_population:
        role, reasons = Role.QUASI, [COUNTED]
    elif column.patterns:
        found = ", ".join(f"{name.plural} ({percent(share)} of its cells)" for name, share in column.patterns.items())
        reasons = [f"it seems to hold {found}"]
        reasons += [OTHER_DATES] * (column.patterns == {PatternName.FULL_DATE: 1.0})
    elif theme in _KNOWN:
        if in_population is None:
            role = Role.QUASI
        else:
            reasons.append(LACKING)
            role = Role.SENSITIVE if theme is Theme.PERSON else Role.WITHHELD
    elif theme is Theme.PRIVATE:
        role = Role.SENSITIVE
        if column.distinct_ratio >= NEARLY_A_NAME:
            reasons.append(MANY_VALUES)
    elif theme is not Theme.IDENTITY:
        role, reasons = _unsure(column)
    if column.nearly_numbers and theme not in (Theme.IDENTITY, Theme.ZIP):
        reasons.append(column.nearly_numbers)
    if role in (Role.DIRECT, Role.WITHHELD) and _can_be_replaced(column):
        reasons.append("or role: pseudonym")
    return Suggestion(column, role, tuple(reasons), theme)


def _can_be_replaced(column: ColumnProfile) -> bool:
    """Whether a column identifies by a number or code, in every record, so that a pseudonym can take its place."""
    words = set(column.words)
    numbers = bool(words & _NUMBERS) and not words & _OF_NAMES
    complete = bool(column.distinct) and not column.missing and not column.patterns
    return complete and column.type in (ValueType.TEXT, ValueType.INTEGER) and (numbers or column.can_name_records)


def theme_of(column: ColumnProfile) -> tuple[Theme | None, str]:
    """Subject of a column, by the words of its name, of its label, or the form of its values; and the evidence."""
    named = _by_name(column) or _by_label(column)
    if column.postcodes and not column.is_key and (named is None or named[0] not in (Theme.IDENTITY, Theme.ZIP)):
        return Theme.ZIP, "its values look like postcodes"
    return named or _by_values(column) or (None, "")


def _by_name(column: ColumnProfile) -> tuple[Theme, str] | None:
    words = set(column.words)
    generic = words & GENERIC_NAMES
    if words & _KEYED and column.can_name_records:
        return None
    if column.words and column.words[-1] in _PEOPLE_ALONE and _numbers_people(column):
        return Theme.IDENTITY, _in_name(column, _PEOPLE_ALONE)
    themes = [theme for theme, hints in HINTS.items() if words & hints]
    if generic and (not themes or column.is_key):
        # A number or code that many records share is that of a site or a group, unless it is named for people.
        shared = not words & (_OF_NAMES | PEOPLE_WORDS) and column.distinct_ratio < _FEW
        return (Theme.PLACE if shared else Theme.IDENTITY), _in_name(column, generic)
    if themes[:1] == [Theme.DATE] and _tells_an_event(column):
        return Theme.PRIVATE, _in_name(column, HINTS[Theme.DATE])
    return (themes[0], _in_name(column, HINTS[themes[0]])) if themes else None


def _by_label(column: ColumnProfile) -> tuple[Theme, str] | None:
    """Subject by the first word of a label that tells one, or by any that tells identity; none if values contradict.

    Periods and days are told by values alone, since labels have them beside the subject, as in “income last year”.
    """
    hits = [(theme, word) for word in column.label_words for theme, hints in HINTS.items() if word in hints]
    hits.sort(key=lambda hit: hit[0] is not Theme.IDENTITY)
    theme, word = next((hit for hit in hits if hit[0] is not Theme.DATE), (None, ""))
    nearly_a_name = column.distinct_ratio >= NEARLY_A_NAME or column.free_text_share >= _FEW
    measured = theme is Theme.PRIVATE and column.type is ValueType.NUMBER
    if theme is None or (nearly_a_name and not measured and theme is not Theme.IDENTITY):
        return None
    return theme, f"“{word}”{IN_LABEL}"


def _by_values(column: ColumnProfile) -> tuple[Theme, str] | None:
    if column.type is ValueType.DATE:
        return Theme.DATE, "its values are dates"
    if column.zip_share >= _MOSTLY and not column.is_key:
        return Theme.ZIP, "its values look like ZIP codes"
    if column.year_share >= _MOSTLY and column.distinct_ratio < NEARLY_A_NAME:
        return Theme.DATE, "its values look like years"
    return None


def _tells_an_event(column: ColumnProfile) -> bool:
    """Whether numbers in a column that is named for an event are no dates of it: codes, or times until it."""
    numbers = column.type in NUMERIC and column.year_share < _MOSTLY
    return numbers and not _OF_CALENDAR.intersection(column.words)


def _numbers_people(column: ColumnProfile) -> bool:
    """Whether values could be numbers of people with several rows: many, and not told to be something else."""
    plain = column.type in (ValueType.TEXT, ValueType.INTEGER) and not column.patterns
    return plain and not column.is_key and column.distinct >= _LEAST_PEOPLE


def _in_name(column: ColumnProfile, hints: Set[str]) -> str:
    return f"“{next(word for word in column.words if word in hints)}”{IN_NAME}"


def _unsure(column: ColumnProfile) -> tuple[Role, list[str]]:
    if column.free_text_share >= _FEW:
        return Role.WITHHELD, ["free text", "or role: text, redacted"]
    quantity = column.type is ValueType.INTEGER and not column.like_numbers and not _named_like_numbers(column)
    if column.can_name_records:
        return Role.DIRECT, ["each record has a value of its own", *[MAYBE_QUANTITY] * quantity]
    if column.distinct_ratio >= NEARLY_A_NAME and (quantity or column.type is ValueType.NUMBER):
        return Role.UNREVIEWED, [*[QUANTITY] * quantity, MANY_VALUES]
    if column.distinct_ratio >= NEARLY_A_NAME:
        return Role.DIRECT, ["most records have a value of their own"]
    return Role.UNREVIEWED, [UNCLEAR]


def _named_like_numbers(column: ColumnProfile) -> bool:
    """Whether a column may be named for people, or for their numbers in one word."""
    return any(word in PEOPLE_WORDS or word.endswith(_ENDS_OF_NUMBERS) for word in column.words)


def percent(share: float) -> str:
    """A share in percent, never rounded to none or all.

    >>> percent(0.5), percent(0.00001), percent(0.999999), percent(1.0), percent(0.0)
    ('50 %', 'under 0.1 %', 'over 99.9 %', '100 %', '0 %')
    """
    if 0 < share < 0.001:
        return "under 0.1 %"
    if 0.999 < share < 1:
        return "over 99.9 %"
    return f"{share * 100:.3g} %"

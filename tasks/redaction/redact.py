"""Columns of free text with what identifies people in it replaced by its kind.

In the order in which a word is judged:

1. expressions of identifiers (``tasks.redaction.entities``);
2. values of the file's own columns (``tasks.redaction.known``);
3. names by lists: each listed name with a capital, but an ordinary word at the beginning of a sentence only if the
   column never has it in small letters; in small letters from four letters, if it is no ordinary word and few people's
   texts have it; names by the word beside them, as the scans find them;
4. capitalized words after a word of kinship or of a part in care, and beside a name or an address, if they are listed
   names or the column never has them in small letters; initials beside a name;
5. capitalized words that few people's texts have, whatever they are: nobody knows all names, but a name that no list
   has is seldom one that many texts have. Few are under 1 % of the people; or fewer than the policy's smallest cell,
   where the column has the word in small letters as well, or it is an abbreviation in capitals.

Text is released as it is decoded (``tasks.validation.readings``), with one space between words; lines stay.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from tasks.assessments.text.facts import TextColumnFact
from tasks.core.errors import StageFailed
from tasks.microdata.persons import distinct_values, persons_of
from tasks.microdata.tables import own_rows
from tasks.redaction.entities import ENTITIES, EXPRESSIONS, Entity
from tasks.redaction.known import DATE, NAME, KnownValues, known_values
from tasks.redaction.language import check_language, common_words
from tasks.redaction.tokens import Kinds, Tokens
from tasks.request.model import ReleaseRequest
from tasks.validation.names import words_of_names
from tasks.validation.readings import arrow, found
from tasks.validation.words import Integers, Words


def _array(words: str) -> pa.Array:
    return pa.array(words.split())


_ADDRESS, _RARE = ENTITIES.index(Entity.ADDRESS) + 1, ENTITIES.index(Entity.RARE) + 1
_PLACEHOLDER = rf"\[(?:{'|'.join(one.name for one in ENTITIES)})\]"
_NO_WORD = " 0x0 "
"""In place of placeholders where words of released text are sought: a word that no value begins or ends with."""
_BESIDE = 3
"""Words that a name or an address goes on for, at most."""
_LEAST_LETTERS = 4
_LEADS = _array(
    "mother father wife husband spouse partner son daughter brother sister aunt uncle grandmother grandfather niece "
    "nephew cousin guardian neighbor neighbour friend caregiver caretaker kin contact nurse doctor physician surgeon "
    "provider attending resident therapist by per page paged called"
)
_FEW = 0.01
"""Share of the people who have a capitalized word in their texts under which it may be a name that no list has."""


@dataclass(frozen=True, eq=False)
class RedactedTexts:
    """Texts of one column before and after; arrays by token or by text."""

    tokens: Tokens
    kinds: Kinds
    residual: int
    """Words left that have a capital and are in a list of names, and numbers of five digits or more."""
    values: int
    """Distinct known values found."""

    @property
    def released(self) -> pa.Array:
        """The texts as they leave."""
        return self.tokens.replaced(self.kinds)


@dataclass(frozen=True, eq=False)
class RedactedColumn:
    """A column of text as it leaves, by row, and what was replaced in it."""

    text: pd.Series = field(repr=False)
    fact: TextColumnFact


def redact(frame: pd.DataFrame, request: ReleaseRequest, names: Sequence[str]) -> dict[str, RedactedColumn]:
    """Redact columns of text of a file.

    Raises DataError if a column is not in the language that the request states, or a row names no person; StageFailed
    if a known value remains, which would be an error of the program.
    """
    persons = persons_of(frame, request)
    of_row = np.arange(len(frame)) if persons is None else persons.of_row.astype(np.int64)
    known, made = known_values(frame, request, of_row), {}
    for name in names:
        language, stated = request.attributes[name].language, frame[name].notna().to_numpy()
        rows = np.arange(len(frame))[own_rows(frame, request, name)]
        rows = rows[stated[rows]]
        collected = arrow(frame[name]).take(pa.array(rows))
        column = redact_texts(collected, of_row[rows], known, language, request.policy.small_cell)
        check_language(column.tokens.words[0], language, name)
        released, left = column.released, values_in(column.released, of_row[rows], known)
        if left:
            raise StageFailed(
                "identifiers of the file remain in redacted text",
                where=f"column {name}",
                expected="none",
                got=f"{left:,} of {column.values:,}",
                fix="nothing is released; report this message",
            )
        place = np.full(len(frame), -1, dtype=np.int64)
        place[rows] = np.arange(len(rows))
        made[name] = RedactedColumn(
            pd.Series(released.take(pa.array(place, mask=place < 0)), dtype=pd.StringDtype("pyarrow")),
            TextColumnFact(
                column=name,
                language=language,
                records=len(rows),
                replaced=replacements(released),
                residual=column.residual,
                values_found=column.values,
                values_left=left,
            ),
        )
    return made


def redact_texts(
    texts: pa.Array, persons: Integers, known: KnownValues, language: str, small_cell: int
) -> RedactedTexts:
    """Redact texts of a language, none of them missing; `persons` has the person of each.

    Capitalized words are rare where fewer than `small_cell` people have them in their texts.
    """
    tokens = Tokens.of(texts)
    kinds = np.zeros(len(tokens.written), dtype=np.uint8)
    for entity, expression in EXPRESSIONS:
        kinds[tokens.found(expression) & (kinds == 0)] = ENTITIES.index(entity) + 1
    words, token = tokens.words
    values = known.found(words, persons)
    _fill(kinds, token, values.kinds)
    kinds[known.dated(tokens.written, persons[tokens.text]) & (kinds == 0)] = DATE
    people, common = _people(words, persons), words.among(common_words(language))
    ordinary, given, family = (words.listed(one) for one in ("ordinary-words", "given-names", "family-names"))
    given, family = given & ~common, family & ~common
    is_listed, letters = given | family, ~found(words.vocabulary, "[0-9]")[words.code]
    named = words_of_names(words, ordinary, given, family)
    small = (
        np.bincount(words.code[~words.capital & (kinds[token] == 0)], minlength=len(words.vocabulary))[words.code] > 0
    )
    begins = tokens.sentences[token] & (np.append(-1, token)[:-1] != token)
    plain = words.capital & (words.length > 1) & ~common
    named |= plain & is_listed & ~(ordinary & begins & small)
    named |= is_listed & ~ordinary & (words.length >= _LEAST_LETTERS) & (people < small_cell)
    _fill(kinds, token, np.where(named, NAME, 0))
    goes_on = words.capital & letters & ((words.length == 1) | (~common & (is_listed | ~small)))
    led = np.append(False, words.among(_LEADS))[:-1] & np.append(False, words.next_in_text & ~words.clause)[:-1]
    _fill(kinds, token, np.where(goes_on & led & (words.length > 1), NAME, 0))
    for kind in (NAME, _ADDRESS):
        for _ in range(_BESIDE):
            of_kind = kinds[token] == kind
            joined = words.next_in_text & ~words.clause
            after = np.append(False, (of_kind & joined)[:-1])[: len(of_kind)]
            before = joined & np.append(of_kind[1:], False)[: len(of_kind)] & (kind == NAME)
            _fill(kinds, token, np.where(goes_on & (after | before), kind, 0))
    known_form = small | ~found(tokens.written, "[a-z]")[token]
    few = people < np.where(known_form, small_cell, max(small_cell, _FEW * len(np.unique(persons))))
    _fill(kinds, token, np.where(plain & letters & few, _RARE, 0))
    number = found(words.vocabulary, "[0-9]{5}")[words.code]
    left = (kinds[token] == 0) & ((plain & is_listed) | number)
    return RedactedTexts(tokens, kinds, int(np.count_nonzero(left)), values.values)


def values_in(released: pa.Array, persons: Integers, known: KnownValues) -> int:
    """Distinct known values that released texts still have."""
    words, _ = Tokens.of(pc.replace_substring_regex(released, _PLACEHOLDER, _NO_WORD)).words
    return known.found(words, persons).values


def replacements(released: pa.Array) -> Mapping[str, int]:
    """Replacements in released texts by kind."""
    counts = {one.value: pc.sum(pc.count_substring(released, one.placeholder)).as_py() or 0 for one in ENTITIES}
    return {name: count for name, count in counts.items() if count}


def _fill(kinds: Kinds, token: Integers, of_words: Kinds) -> None:
    """Give tokens without a kind that of their words."""
    rows = np.flatnonzero(of_words)
    rows = rows[kinds[token[rows]] == 0]
    kinds[token[rows]] = of_words[rows]


def _people(words: Words, persons: Integers) -> Integers:
    """Of each word the people in whose texts it is, in whatever letters."""
    _, code = distinct_values(persons[words.text], words.code)
    return np.bincount(code, minlength=len(words.vocabulary))[words.code]

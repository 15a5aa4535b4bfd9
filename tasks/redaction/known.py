"""Values of a file's own columns that are sought in its texts: identifiers, dates and quasi-identifiers.

A value is a sequence of words, compared in small letters and without accents, whatever stands between the words.

==============================  ==================================================================================
sought                          where
==============================  ==================================================================================
direct identifier, pseudonym    of several words: in every text, from four characters; of one: in every text, an
                                ordinary word (a list) or one of two letters only with a capital, a number from five
                                digits, a code of letters and digits from four characters
a word of several               in every text, if it has three letters or more, is no ordinary one and is in the
                                identifiers of at most 5 % of the people, or of three; in small letters only if no
                                more texts have it so than there are people who bear it
any word of these               in the texts of the same person, if it has two characters or more
day and month of a date         in the texts of the same person, in digits, in either order
quasi-identifier of words       in every text, so that its absence tells nothing, if it has three letters or more
==============================  ==================================================================================

A value of more than 12 words is no name or number, and is not sought.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from tasks.microdata.persons import distinct_values
from tasks.microdata.tuples import places_among
from tasks.redaction.entities import ENTITIES, Entity
from tasks.redaction.tokens import Kinds
from tasks.request.model import ReleaseRequest, Role, ValueType
from tasks.validation.readings import found
from tasks.validation.values import EncodedColumn, encode, read_days
from tasks.validation.words import Flags, Integers, Words, is_listed, split

_MOST_WORDS = 12
_DIGITS = "[0-9]|^$"
"""In a word; one of zeros alone is empty as it is compared."""
_NUMBER, _CODE, _WORD = 5, 4, 3
_FEW_PEOPLE, _FEW = 3, 0.05
NAME, ID, VALUE, DATE = (ENTITIES.index(one) + 1 for one in (Entity.NAME, Entity.ID, Entity.VALUE, Entity.DATE))


@dataclass(frozen=True, eq=False)
class KnownValues:
    """Values that are sought in the texts of a file. Arrays of words have the shape (n_words,)."""

    words: pa.Array
    """All words of the values, as they are compared."""
    kinds: Kinds
    """Kind that each word stands for by itself, where it is sought: it is a value, or a telling word of one."""
    capital: Flags
    """Whether each counts only where it has a capital."""
    bearers: Integers
    """Of each of these, the most texts that may have it in small letters where it counts there too; 0 for none."""
    whole: Flags
    """Whether each is a whole value that is sought."""
    own: Integers
    """Of each person and word of the person's identifiers, person × n_words + word; ascending."""
    levels: tuple[tuple[Integers, Kinds], ...]
    """Values of several words as a tree: at each depth from 1, the keys of nodes, node above × n_words + word,
    ascending, and the kind of the value that ends there, 0 for none. The node above the first is 0."""
    dates: Integers
    """Days of the dates of people, person × 10,000 + 100 × month + day; ascending."""

    def found(self, words: Words, persons: Integers) -> "FoundValues":
        """Find them among the words of texts; `persons` has the person of each text."""
        place = pc.index_in(words.vocabulary, value_set=self.words).fill_null(-1).to_numpy().astype(np.int64)
        place, size = place[words.code], len(self.words)
        kinds = np.zeros(len(place), dtype=np.uint8)
        if not size:
            return FoundValues(kinds, 0)
        known = place >= 0
        _, word = distinct_values(words.text[known & ~words.capital], place[known & ~words.capital])
        seldom = (self.bearers > 0) & (np.bincount(word, minlength=size) <= self.bearers)
        alone = known & (self.kinds[place] > 0) & (words.capital | ~self.capital[place] | seldom[place])
        values = len(np.unique(place[alone & self.whole[place]]))
        own = known & places_among(self.own, persons[words.text] * size + place)[1]
        start = np.flatnonzero(known)
        node = np.zeros(len(start), dtype=np.int64)
        for depth, (keys, ends) in enumerate(self.levels):
            at = start + depth
            kept = at < len(place)
            start, node, at = start[kept], node[kept], at[kept]
            kept = (place[at] >= 0) & (words.text[at] == words.text[start])
            start, node, at = start[kept], node[kept], at[kept]
            node, kept = places_among(keys, node * size + place[at])
            start, node = start[kept], node[kept]
            ending = ends[node] > 0
            values += len(np.unique(node[ending]))
            for step in range(depth + 1):
                kinds[start[ending] + step] = ends[node[ending]]
        rest = kinds == 0
        kinds[rest & alone] = self.kinds[place[rest & alone]]
        rest &= ~alone & own
        number = found(self.words, _DIGITS)
        kinds[rest] = np.where(number[place[rest]], ID, NAME)
        return FoundValues(kinds, values)

    def dated(self, tokens: pa.Array, persons: Integers) -> Flags:
        """Tokens that are day and month of a date of the person of each, in digits and in either order."""
        parts = pc.extract_regex(tokens, r"^[^0-9]*(?P<one>[0-9]{1,2})[./-](?P<other>[0-9]{1,2})[.,;:)]*$")
        rows = np.flatnonzero(pc.is_valid(parts).to_numpy(zero_copy_only=False))
        one, other = (
            pc.cast(pc.struct_field(parts, name).take(pa.array(rows)), pa.int64()).to_numpy()
            for name in ("one", "other")
        )
        marked = np.zeros(len(tokens), dtype=np.bool_)
        days = (persons[rows] * 10_000 + month * 100 + day for month, day in ((one, other), (other, one)))
        marked[rows] = np.logical_or.reduce([places_among(self.dates, one)[1] for one in days])
        return marked


@dataclass(frozen=True)
class FoundValues:
    """Values that were found in texts."""

    kinds: Kinds
    """Kind of each word, 0 for none."""
    values: int
    """Distinct whole values of direct identifiers and quasi-identifiers that were found."""


NOTHING_KNOWN = KnownValues(
    words=pa.array([], pa.large_string()),
    kinds=np.zeros(0, dtype=np.uint8),
    capital=np.zeros(0, dtype=np.bool_),
    bearers=np.zeros(0, dtype=np.int64),
    whole=np.zeros(0, dtype=np.bool_),
    own=np.zeros(0, dtype=np.int64),
    levels=(),
    dates=np.zeros(0, dtype=np.int64),
)


def known_values(frame: pd.DataFrame, request: ReleaseRequest, persons: Integers) -> KnownValues:
    """Collect the values of a file that are sought in its texts; `persons` has the person of each row."""
    columns = tuple(_columns(frame, request))
    lists = pa.chunked_array([one.words.vocabulary for one in columns] or [[]], type=pa.large_string())
    vocabulary = pc.unique(lists)
    size, people = len(vocabulary), int(persons.max(initial=0)) + 1
    lengths = pc.utf8_length(vocabulary).to_numpy().astype(np.int64)
    number, mixed = found(vocabulary, "^[0-9]*$"), found(vocabulary, _DIGITS)
    plain = np.where(mixed, ID, NAME).astype(np.uint8)
    ordinary = is_listed(vocabulary, "ordinary-words")
    long_enough = lengths >= np.where(number, _NUMBER, np.where(mixed, _CODE, 2))
    kinds, whole = np.zeros(size, dtype=np.uint8), np.zeros(size, dtype=np.bool_)
    telling, bearers = np.zeros(size, dtype=np.bool_), np.zeros(size, dtype=np.int64)
    owned, sequences = [np.zeros(0, dtype=np.int64)], []
    for column in columns:
        place = pc.index_in(column.words.vocabulary, value_set=vocabulary).to_numpy().astype(np.int64)
        code, count = place[column.words.code], np.bincount(column.words.text, minlength=len(column.encoded.values))
        single = code[count[column.words.text] == 1]
        single = single[long_enough[single]]
        if column.identifies:
            kinds[single], whole[single] = plain[single], True
            own = column.spread(code, persons, size)
            bearing = np.bincount(own % max(size, 1), minlength=size)
            bearers = np.maximum(bearers, bearing)
            few = (bearing > 0) & (bearing <= max(_FEW_PEOPLE, _FEW * people))
            telling |= few & ~ordinary & (lengths >= np.where(mixed, _NUMBER, _WORD))
            owned.append(own[lengths[own % max(size, 1)] > 1])
        else:
            fresh = single[(kinds[single] == 0) & (lengths[single] >= _WORD)]
            kinds[fresh], whole[fresh] = VALUE, True
        kind = None if column.identifies else VALUE
        sequences += [(code[rows], kind) for rows in _by_value(column.words.text, count)]
    capital = (whole & (ordinary | (lengths < _WORD)) & (kinds != VALUE)) | (telling & ~whole)
    kinds[telling & ~whole] = plain[telling & ~whole]
    return KnownValues(
        words=vocabulary,
        kinds=kinds,
        capital=capital,
        bearers=np.where(telling & ~whole, bearers, 0),
        whole=whole,
        own=np.unique(np.concatenate(owned)),
        levels=_tree(sequences, plain, lengths, size),
        dates=_dates(frame, request, persons),
    )


@dataclass(frozen=True, eq=False)
class _Column:
    """One column whose values are sought."""

    encoded: EncodedColumn
    words: Words
    identifies: bool

    def spread(self, code: Integers, persons: Integers, size: int) -> Integers:
        """Person × size + word of each word of the person's values, each once."""
        present = np.flatnonzero(self.encoded.codes >= 0)
        values = self.encoded.codes[present]
        starts = np.searchsorted(self.words.text, np.arange(len(self.encoded.values) + 1))
        counts = np.diff(starts)[values]
        places = np.repeat(starts[values] - np.append(0, np.cumsum(counts))[:-1], counts) + np.arange(counts.sum())
        return np.unique(np.repeat(persons[present], counts) * size + code[places])


def _columns(frame: pd.DataFrame, request: ReleaseRequest) -> Iterator[_Column]:
    """Identifiers first, so that a word that is also a quasi-identifier's is taken for an identifier."""
    for role in (Role.DIRECT, Role.WITHHELD, Role.PSEUDONYM, Role.QUASI):
        for name, attribute in request.attributes.items():
            numbers = role is not Role.QUASI and attribute.type is not ValueType.DATE
            if attribute.role is role and (numbers or attribute.type is ValueType.TEXT):
                encoded = encode(frame[name])
                yield _Column(encoded, split(encoded.values), role is not Role.QUASI)


def _by_value(text: Integers, count: Integers) -> Iterator[Integers]:
    """Places of the words of the values of 2 words, of 3, and so on; each of shape (n_values, n_words)."""
    starts = np.searchsorted(text, np.arange(len(count)))
    for length in range(2, _MOST_WORDS + 1):
        first = starts[count == length]
        if len(first):
            yield first[:, None] + np.arange(length)


def _tree(
    sequences: list[tuple[Integers, int | None]], plain: Kinds, lengths: Integers, size: int
) -> tuple[tuple[Integers, Kinds], ...]:
    """Values of several words as ``KnownValues.levels``; those of few characters are left out."""
    sequences = [(codes[lengths[codes].sum(axis=1) >= _CODE], kind) for codes, kind in sequences]
    nodes = [np.zeros(len(codes), dtype=np.int64) for codes, _ in sequences]
    levels = []
    for depth in range(max((codes.shape[1] for codes, _ in sequences), default=0)):
        alive = [place for place, (codes, _) in enumerate(sequences) if codes.shape[1] > depth]
        made = {place: nodes[place] * size + sequences[place][0][:, depth] for place in alive}
        keys = np.unique(np.concatenate(list(made.values())))
        ends = np.zeros(len(keys), dtype=np.uint8)
        for place in reversed(alive):
            codes, kind = sequences[place]
            nodes[place] = np.searchsorted(keys, made[place])
            if codes.shape[1] == depth + 1:
                ends[nodes[place]] = plain[codes].min(axis=1) if kind is None else kind
        levels.append((keys, ends))
    return tuple(levels)


def _dates(frame: pd.DataFrame, request: ReleaseRequest, persons: Integers) -> Integers:
    """Days of all columns of dates by person, whatever their role."""
    keys = [np.zeros(0, dtype=np.int64)]
    for name, attribute in request.attributes.items():
        if attribute.type is ValueType.DATE:
            days = read_days(frame[name]).reset_index(drop=True)
            known = days.notna().to_numpy()
            day = (days.dt.month * 100 + days.dt.day)[known].to_numpy(dtype=np.int64)
            keys.append(persons[known] * 10_000 + day)
    return np.unique(np.concatenate(keys))

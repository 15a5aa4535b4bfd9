"""Words of the direct identifiers in other columns, of the same record and of any other.

A word counts wherever it stands unless it may be an ordinary one. Words that are not sought by themselves: those of
under 3 characters, numbers of under 5 digits, and words of more than 3 people and 5 % of the records. A word is taken
for an ordinary one in a column where

* it is in the list of ordinary words, a code of under 5 characters, or a number that says little (under 7 digits, or
  one number of its length in a thousand is an identifier);
* more people than bear it have it in their cell, mostly in small letters, while other words there have capitals;
* more than 10 + 10 × the people who bear it have it in their cell.

An ordinary word counts only in the cells of its bearers, and only where these have it more often than chance explains
(below one time in a thousand; all numbers of a column are judged together). Two words that stand side by side in an
identifier, such as given and family name, in either order, count wherever they stand side by side, unless more than
10 + 10 × their bearers have them.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse
from scipy.special import gammainc

from tasks.microdata.tuples import places_among
from tasks.validation.readings import arrow, folded, found
from tasks.validation.values import encode
from tasks.validation.words import Flags, Integers, Words, is_listed, split

CHANCE = 1e-3
"""Probability below which coincidence does not explain that people have their own words in their cells."""
FEW_PEOPLE = 3
FEW = 0.05
"""Share of the people up to which, as up to ``FEW_PEOPLE``, a word that they have may name one of them."""
_WORD = 3
_NUMBER = 5
_CODE = 5
_TELLING_NUMBER = 7
_RARE = 1e-3
_TIMES = 10
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class IdentifierWords:
    """The words of all direct identifiers of a file; arrays of shape (n_words,) where nothing else is said."""

    word: pa.Array
    people: Integers
    """Records in whose identifiers each is."""
    sought: Flags
    """Whether it may count by itself."""
    ordinary: Flags
    """Whether it may be an ordinary word, whatever the column."""
    number: Flags
    owned: Integers
    """Of each record and word of its identifiers, record × n_words + word; ascending."""
    pairs: Integers
    """Of each two words side by side in an identifier, first × n_words + second; ascending."""
    bearers: Integers
    """Records with each of the pairs."""
    records: int
    """Rows of the file."""


def identifier_words(columns: list[pd.Series], persons: npt.NDArray[np.integer] | None = None) -> IdentifierWords:
    """Collect the words of the direct identifiers, each a string column of shape (n_records,).

    `persons` numbers the person of each record, where several are of one: a word of few people may be in many records.
    """
    records = len(columns[0])
    encoded = [encode(column) for column in columns]
    several = [split(one.values) for one in encoded]
    joined = [_joined(one.values, split_up) for one, split_up in zip(encoded, several, strict=True)]
    lists = [*(one.vocabulary for one in several), *joined]
    coded = pa.chunked_array(lists, type=pa.large_string()).combine_chunks().dictionary_encode()
    vocabulary = coded.dictionary
    size = len(vocabulary)
    codes = coded.indices.fill_null(-1).to_numpy().astype(np.int64)
    parts = np.split(codes, np.cumsum([len(one) for one in lists])[:-1])
    owned, beside = [], []
    last: Integers | None = None
    for one, split_up, terms, whole in zip(encoded, several, parts, parts[len(several) :], strict=False):
        own = terms[split_up.code]
        rows, of_text = _by_text(one.codes, len(one.values))
        texts = np.concatenate([split_up.text, np.flatnonzero(whole >= 0)])
        owned.append(_spread(texts, np.concatenate([own, whole[whole >= 0]]), rows, of_text, size))
        inner = np.flatnonzero(split_up.next_in_text)
        beside.append(
            _spread(split_up.text[inner], own[inner] * size + own[inner + 1], rows, of_text, size**2, pairs=True)
        )
        first, final = _ends(split_up, own, len(one.values))
        begins = np.append(first, -1)[one.codes]
        if last is not None:
            both = np.flatnonzero((last >= 0) & (begins >= 0))
            beside.append(last[both] * size + begins[both])
        last = np.append(final, -1)[one.codes]
    keys = _distinct(np.concatenate(owned))
    people = np.bincount(keys % size, minlength=size) if size else np.zeros(0, dtype=np.int64)
    lengths = pc.utf8_length(vocabulary).to_numpy().astype(np.int64)
    number, letters = found(vocabulary, "^[0-9]+$"), found(vocabulary, r"^\p{L}+$")
    dense = np.bincount(lengths[number], minlength=20)[np.minimum(lengths, 19)] >= _RARE * 10.0**lengths
    bearing, owners, longest = people, records, 1
    if persons is not None:
        owned_by = _distinct(persons.astype(np.int64)[keys // max(size, 1)] * size + keys % max(size, 1))
        bearing, owners = np.bincount(owned_by % max(size, 1), minlength=size), int(persons.max()) + 1
        longest = int(np.bincount(persons).max())
    most = max(FEW_PEOPLE, FEW * owners)
    pairs, bearers = _pairs(beside, size, letters & (lengths > 1) | ~number & ~letters, most * longest)
    return IdentifierWords(
        word=vocabulary,
        people=people,
        sought=(lengths >= np.where(number, _NUMBER, _WORD)) & (bearing <= most),
        ordinary=is_listed(vocabulary, "ordinary-words")
        | (~number & ~letters & (lengths < _CODE))
        | (number & ((lengths < _TELLING_NUMBER) | dense)),
        number=number,
        owned=keys,
        pairs=pairs,
        bearers=bearers,
        records=records,
    )


def repeated(words: Words, codes: npt.NDArray[np.intp], known: IdentifierWords) -> Flags:
    """Whether each record has a word of a direct identifier in its cell.

    `words` are those of the distinct cells of a column, made readable, and `codes` the place of each record's cell
    among them, −1 where it has none.
    """
    marked = np.zeros(known.records, dtype=np.bool_)
    place = pc.index_in(words.vocabulary, value_set=known.word).fill_null(-1).to_numpy().astype(np.int64)[words.code]
    if not (place >= 0).any():
        return marked
    size = len(known.word)
    rows, of_text = _by_text(codes, words.texts)
    holders = np.diff(of_text)
    hits = _distinct(words.text[place >= 0] * size + place[place >= 0])
    text, word = hits // size, hits % size
    held = np.bincount(word, weights=holders[text], minlength=size).astype(np.float64)
    small = np.bincount(place[(place >= 0) & ~words.capital], minlength=size)
    written = np.bincount(place[place >= 0], minlength=size)
    uncommon = held <= _TIMES * (known.people + 1)
    uncommon &= ~((2 * small >= written) & (held > known.people) & words.capital.any() & ~known.number)
    anywhere = known.sought & ~known.ordinary & uncommon
    of_values = np.zeros(words.texts, dtype=np.bool_)
    of_values[text[anywhere[word]]] = True
    of_values |= words.of_texts(_beside(words, place, holders, known))
    marked |= np.append(of_values, False)[codes]
    rest = known.sought[word] & ~anywhere[word]
    own = _spread(text[rest], word[rest], rows, of_text, size)
    own = own[places_among(known.owned, own)[1]]
    return _mark_own(marked, own, held, known)


def _mark_own(marked: Flags, own: Integers, held: Floats, known: IdentifierWords) -> Flags:
    """Mark the records that have their own words where chance does not explain it."""
    size = len(known.word)
    shared = np.bincount(own % size, minlength=size)
    expected = known.people * held / known.records
    seen = shared > 0
    telling = np.zeros(size, dtype=np.bool_)
    telling[seen] = gammainc(shared[seen], expected[seen]) < CHANCE
    numbers = known.number & known.sought
    together = shared[numbers].sum()
    telling[numbers] = together > 0 and gammainc(together, expected[numbers].sum()) < CHANCE
    marked[own[telling[own % size]] // size] = True
    return marked


def _beside(words: Words, place: Integers, holders: Integers, known: IdentifierWords) -> Flags:
    """Whether each word and the one after it are side by side in an identifier as well."""
    size = len(known.word)
    first = np.flatnonzero(words.next_in_text & (place >= 0))
    first = first[place[first + 1] >= 0]
    mask = np.zeros(len(place), dtype=np.bool_)
    pair = place[first] * size + place[first + 1]
    which, shared = places_among(known.pairs, pair)
    first, which = first[shared], which[shared]
    held = np.bincount(which, weights=holders[words.text[first]], minlength=len(known.pairs))
    mask[first[(held <= _TIMES * (known.bearers + 1))[which]]] = True
    return mask


def _pairs(beside: list[Integers], size: int, wordlike: Flags, most: float) -> tuple[Integers, Integers]:
    """Pairs of words of few people in both orders, ascending, and the number of people who bear each."""
    pairs, bearers = np.unique(np.concatenate(beside), return_counts=True)
    kept = wordlike[pairs // size] & wordlike[pairs % size] & (bearers <= most) if size else np.zeros(0, dtype=np.bool_)
    pairs, bearers = pairs[kept], bearers[kept]
    both = np.concatenate([pairs, (pairs % max(size, 1)) * size + pairs // max(size, 1)])
    unique, first = np.unique(both, return_index=True)
    return unique, np.concatenate([bearers, bearers])[first]


def _by_text(codes: npt.NDArray[np.intp], texts: int) -> tuple[Integers, Integers]:
    """Records in the order of their texts, and where those of each text begin, of shape (texts + 1,)."""
    present = np.flatnonzero(codes >= 0)
    ends = np.arange(len(present) + 1)
    counted = sparse.csr_matrix((present, codes[present], ends), shape=(len(present), texts)).tocsc()
    return counted.data.astype(np.int64), counted.indptr.astype(np.int64)


def _spread(
    texts: Integers, word: Integers, rows: Integers, of_text: Integers, size: int, *, pairs: bool = False
) -> Integers:
    """Of each record that has a text with a word, record × size + word, or the words alone for pairs."""
    counts = of_text[texts + 1] - of_text[texts]
    places = np.repeat(of_text[texts] - np.append(0, np.cumsum(counts)[:-1]), counts) + np.arange(counts.sum())
    repeated_words = np.repeat(word, counts)
    return repeated_words if pairs else rows[places] * size + repeated_words


def _ends(words: Words, codes: Integers, texts: int) -> tuple[Integers, Integers]:
    """First and last word of each text, −1 where there is none."""
    first, final = np.full(texts, -1, dtype=np.int64), np.full(texts, -1, dtype=np.int64)
    final[words.text] = codes
    first[words.text[::-1]] = codes[::-1]
    return first, final


def _distinct(keys: Integers) -> Integers:
    """Different keys, ascending; by sorting, which is faster for millions than numpy's hashes."""
    ascending = np.sort(keys)
    kept: Integers = ascending[np.append(True, ascending[1:] != ascending[:-1])[: len(ascending)]]
    return kept


def _joined(values: pd.Series, words: Words) -> pa.Array:
    """Each value of several words as one word; missing for the others."""
    several = np.bincount(words.text, minlength=len(values)) > 1
    whole = pc.utf8_lower(pc.replace_substring_regex(folded(arrow(values)), r"[^\p{L}\p{N}]+", ""))
    return pc.if_else(pa.array(several), whole, pa.scalar(None, whole.type))

"""Texts as words: where each stands, how it is written, and lists of names and of ordinary words.

A word is a run of letters and digits. It is compared in small letters, without accents; a number without the zeros
before it.
"""

from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from tasks.core.errors import StageFailed
from tasks.validation.readings import arrow, flags, folded, found

Flags = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]

_PUNCTUATION_BEYOND_ASCII = (
    r"[\x{0080}-\x{00A9}\x{00AB}-\x{00B4}\x{00B6}-\x{00B9}\x{00BB}-\x{00BF}\x{00D7}\x{00F7}\x{2000}-\x{2BFF}"
    r"\x{3000}-\x{3004}\x{3007}-\x{303F}\x{FE00}-\x{FE6F}\x{FF00}-\x{FF0F}]"
)
_TEXTS_A_PART = 20_000
"""Texts whose bytes are looked at together, so that arrays of them stay small."""


def _bytes(characters: str) -> Flags:
    mask = np.zeros(256, dtype=np.bool_)
    mask[list(characters.encode("ascii"))] = True
    return mask


_OF_WORD = _bytes("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
_OF_WORD[128:] = True  # what remains outside ASCII once punctuation is gone are letters
_ENDS_CLAUSE = _bytes(';:!?\n|/()"')
_SPACE = _bytes(" \t\n\r")


@dataclass(frozen=True)
class Words:
    """The words of many texts in order, as arrays of shape (n_words,), where nothing else is said."""

    text: Integers
    """Position of the text that each is in; ascending."""
    code: Integers
    """Place of each in the vocabulary."""
    vocabulary: pa.Array
    """Different words as they are compared, of shape (n_different,); numbers may be there twice."""
    capital: Flags
    """Whether it begins with a capital letter A–Z."""
    clause: Flags
    """Whether a clause or sentence ends after it."""
    texts: int

    def of_texts(self, words: Flags) -> Flags:
        """Mark the texts that have one of the marked words."""
        mask = np.zeros(self.texts, dtype=np.bool_)
        mask[self.text[words]] = True
        return mask

    @property
    def next_in_text(self) -> Flags:
        """Whether the word after each is of the same text."""
        return np.append(self.text[1:] == self.text[:-1], False)[: len(self.text)]

    def listed(self, name: str) -> Flags:
        """Whether each is in a list that ships with the program."""
        return is_listed(self.vocabulary, name)[self.code]

    def among(self, words: pa.Array) -> Flags:
        """Whether each is one of some words."""
        return flags(pc.is_in(self.vocabulary, value_set=words.cast(self.vocabulary.type)))[self.code]

    @property
    def length(self) -> Integers:
        """Number of characters."""
        lengths: Integers = pc.utf8_length(self.vocabulary).to_numpy().astype(np.int64)[self.code]
        return lengths


def split(values: pd.Series) -> Words:
    """The words of each text."""
    texts = pc.fill_null(folded(arrow(values)), "")
    if not pc.all(pc.string_is_ascii(texts)).as_py():
        texts = pc.replace_substring_regex(texts, _PUNCTUATION_BEYOND_ASCII, " ")
    parts = [_part(texts.slice(start, _TEXTS_A_PART), start) for start in range(0, max(len(texts), 1), _TEXTS_A_PART)]
    coded = (
        pa.chunked_array([part.written for part in parts], type=pa.large_string()).combine_chunks().dictionary_encode()
    )
    vocabulary = coded.dictionary
    number = found(vocabulary, "^0+[0-9]+$")
    if number.any():
        vocabulary = pc.if_else(pa.array(number), pc.utf8_ltrim(vocabulary, characters="0"), vocabulary)
    return Words(
        text=np.concatenate([part.text for part in parts]),
        code=coded.indices.to_numpy().astype(np.int64),
        vocabulary=vocabulary,
        capital=np.concatenate([part.capital for part in parts]),
        clause=np.concatenate([part.clause for part in parts]),
        texts=len(texts),
    )


class _Part(NamedTuple):
    """Words of some of the texts; ``written`` is in small letters."""

    written: pa.Array
    text: Integers
    capital: Flags
    clause: Flags


def _part(texts: pa.Array, position: int) -> _Part:
    """The words of neighbouring texts, the first at a position, found in their bytes."""
    _, offsets, data = texts.buffers()
    bounds = np.frombuffer(offsets or b"\0" * 8, dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1]
    characters = np.frombuffer(data or b"", dtype=np.uint8)[bounds[0] : bounds[-1]]
    inside = _OF_WORD[characters]
    first = np.zeros(len(characters) + 1, dtype=np.bool_)
    first[bounds - bounds[0]] = True
    starts = np.flatnonzero(inside & (first[:-1] | ~np.append(False, inside[:-1])[: len(inside)]))
    kept = np.flatnonzero(inside)
    ends_of_words = np.append(np.searchsorted(kept, starts), len(kept)).astype(np.int64)
    written = pa.Array.from_buffers(
        pa.large_string(),
        len(starts),
        [None, *map(pa.py_buffer, (ends_of_words.tobytes(), characters[kept].tobytes()))],
    )
    lengths = np.diff(ends_of_words)
    breaks = _ENDS_CLAUSE[characters]
    breaks |= (characters == ord(".")) & np.append(_SPACE[characters[1:]], True)[: len(characters)]
    before = np.append(0, np.cumsum(breaks))
    capital = (characters[starts] >= ord("A")) & (characters[starts] <= ord("Z"))
    following = np.append(starts[1:], len(characters))[: len(starts)]
    return _Part(
        written=pc.utf8_lower(written),
        text=np.searchsorted(bounds - bounds[0], starts, side="right") - 1 + position,
        capital=capital,
        clause=(before[following] > before[starts + lengths]) & ~(capital & (lengths == 1)),
    )


@cache
def listed(name: str) -> pa.Array:
    """The words of a list that ships with the program: given names, family names or ordinary words.

    Raises StageFailed if the list cannot be read.
    """
    try:
        lines = (resources.files("tasks.validation") / "data" / f"{name}.txt").read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError):
        raise StageFailed(
            "a list of words is damaged",
            where=f"{name}.txt",
            expected="the file that ships with the program",
            fix="install the program again",
        ) from None
    return pa.array([line for line in lines if not line.startswith("#")], type=pa.large_string())


def is_listed(words: pa.Array, name: str) -> Flags:
    """Whether each word is in a list."""
    return flags(pc.is_in(words, value_set=listed(name)))

"""Columns of the file that the population table or the register has too, by their name or by their values.

And columns of text that name the values of other columns, or have sentences of one record each.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, product
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tasks.microdata.tuples import places_among

_LEAST_SHARED = 5
"""Values that two columns must share; fewer, such as yes and no, are common to many columns."""
_MOST = 0.9
"""Share of a column's values that the other one must have."""
_CHANCE = 1e-6
"""Probability of a match by chance up to which whole numbers count as a domain."""
_LEAST_LETTERS = 4
"""Letters of a value that is sought in text; shorter ones are common words."""
_MOST_TEXTS = 50_000
_NAMED, _EXPECTED = 0.95, 0.8
"""Share of the records that name a value from which it is theirs; share of all from which a value is expected."""
_SENTENCE_WORDS, _LEAST_SENTENCES = 4, 3
"""Words from which a value is a sentence, and sentences of one record each from which a column is free text."""
_WORD = re.compile(r"\w+")

Factorized = tuple[NDArray[np.integer], pd.Index]
"""Code of each record, −1 where missing, and the distinct values."""
Table = Literal["population", "register"]
Domains = Mapping[Table, Mapping[str, pd.Index]]
"""Distinct values by column of the population table and the register."""


@dataclass(frozen=True)
class Presence:
    """A column of the file that a table of people has too."""

    column: str
    table: Table
    listed: str
    """Name of the table's column."""

    @property
    def by_name(self) -> bool:
        """Whether the two have one name; otherwise they have the same values."""
        return self.column == self.listed


def presences(columns: Mapping[str, pd.Index], tables: Domains) -> Iterator[Presence]:
    """Columns, by their distinct values as text, that a table has: by name, or else by values."""
    for (table, domains), (name, values) in product(tables.items(), columns.items()):
        alike = (listed for listed, domain in domains.items() if same_domain(values, domain))
        listed = name if name in domains else next(alike, None)
        if listed is not None:
            yield Presence(name, table, listed)


def same_domain(values: pd.Index, domain: pd.Index) -> bool:
    """Whether nearly all values are from a domain, more of them than by chance.

    Whole numbers match by chance where they lie close together, as ages and counts do; ZIP codes do not. Other numbers
    never match.

    >>> zips, towns = pd.Index([str(10_000 + 13 * n) for n in range(9)]), pd.Index(["Ada", "Ayr", "Bly", "Coy", "Dix"])
    >>> same_domain(zips[1:8], zips), same_domain(towns, towns), same_domain(towns[:4], towns)
    (True, True, False)
    >>> ages = pd.Index([str(n) for n in range(90)])
    >>> same_domain(ages[20:60], ages)
    False
    """
    shared = int(values.isin(domain).sum())
    if shared < _LEAST_SHARED or shared < _MOST * len(values):
        return False
    numbers = pd.to_numeric(pd.Series(domain), errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    if np.isnan(numbers).any():
        return True
    whole = bool((numbers % 1 == 0).all())
    density = min(len(domain) / (numbers.max() - numbers.min() + 1), 1.0)
    return whole and bool(density**shared <= _CHANCE)


@dataclass(frozen=True)
class Naming:
    """A column of text that names the values of another column in the same records."""

    column: str
    other: str


def namings(
    texts: Mapping[str, Factorized], others: Mapping[str, tuple[NDArray[np.integer], Mapping[str, int]]]
) -> Iterator[Naming]:
    """Columns of text, each with another column whose values stand in it as whole words, beyond chance.

    Of the others the code of each record, and that of each value, are given.
    """
    written = {name: [_words(text) for text in values[:_MOST_TEXTS]] for name, (_, values) in texts.items()}
    for other, (own, values) in others.items():
        sought = {
            _words(value): place for value, place in values.items() if sum(map(str.isalpha, value)) >= _LEAST_LETTERS
        }
        for name, (codes, _) in texts.items():
            if sought and names_own(codes, own, _named(written[name], sought), max(values.values()) + 1):
                yield Naming(name, other)


def free_texts(texts: Mapping[str, Factorized]) -> Iterator[str]:
    """Columns of text in which a few records have sentences that no other record has, among whatever else is there."""
    for name, (codes, values) in texts.items():
        alone = values[np.bincount(codes[codes >= 0], minlength=len(values)) == 1]
        sentences = (text for text in alone if len(str(text).split()) >= _SENTENCE_WORDS)
        if len(list(islice(sentences, _LEAST_SENTENCES))) == _LEAST_SENTENCES:
            yield name


def names_own(codes: NDArray[np.integer], own: NDArray[np.integer], named: NDArray[np.int64], n_values: int) -> bool:
    """Whether the values that texts name are those of the same records, more often than by chance.

    ``codes`` and ``own`` have each record's text and value, shape (n_records,); ``named`` has text and value of each
    pair that occurs, shape (n_pairs, 2). A value counts if nearly all records that name it have it. The evidence is
    the product over values of likelihood ratios, each halved: of records that have what they name, against the value's
    share of all records.

    >>> named = np.array([[0, 0], [1, 1]])
    >>> own = np.repeat([0, 1], 50)
    >>> [names_own(np.repeat([0, 2, 1, 2], [n, 50 - n, n, 50 - n]), own, named, 2) for n in (11, 12)]
    [False, True]
    """
    if not len(named):
        return False
    shares = np.bincount(own[own >= 0], minlength=n_values) / max(len(own), 1)
    pairs, counts = np.unique(codes.astype(np.int64) * n_values + own, return_counts=True)
    asked = named[:, 0] * n_values + named[:, 1]
    at, found = places_among(pairs, asked)
    held = np.where(found, counts[at], 0)
    of_text = np.bincount(codes[codes >= 0], minlength=int(named[:, 0].max()) + 1)[named[:, 0]]
    have, name = (np.bincount(named[:, 1], weights=one, minlength=n_values) for one in (held, of_text))
    certain = (have >= _NAMED * name) & (name > 0) & (shares <= _EXPECTED) & (shares > 0)
    share, have, name, values = shares[certain], have[certain], name[certain], np.unique(named[:, 1])
    ratio = have * np.log(_NAMED / share) + (name - have) * np.log((1 - _NAMED) / (1 - share))
    gain = np.logaddexp(ratio, 0).sum() - np.log(2) * len(values)
    return bool(gain >= -np.log(_CHANCE))


def _words(text: object) -> tuple[str, ...]:
    return tuple(_WORD.findall(str(text).casefold()))


def _named(texts: list[tuple[str, ...]], sought: Mapping[tuple[str, ...], int]) -> NDArray[np.int64]:
    """Text and value of each value that a text names, shape (n_pairs, 2)."""
    lengths = sorted({len(words) for words in sought})
    pairs = {
        (number, sought[words[first : first + length]])
        for number, words in enumerate(texts)
        for length in lengths
        for first in range(len(words) - length + 1)
        if words[first : first + length] in sought
    }
    return np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)

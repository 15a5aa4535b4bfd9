"""Names of people by lists of given and family names, where ``tasks.validation.patterns`` sees no title or label.

A given name followed by a family name is a name, in either order, unless both are ordinary words; so is a given name
followed by any capitalized word that is no ordinary one, and a given name after a word of kinship or a title. A column
most of whose values are nothing but listed names is a column of names.
"""

import numpy as np
import pandas as pd
import pyarrow as pa

from tasks.validation.readings import arrow, folded, found
from tasks.validation.words import Flags, Words

LEAST_VALUES = 5
"""Distinct values from which a column is judged as a whole."""
MOST_NAMES = 0.5
"""Share of the distinct values that are names from which a column is one of names."""


def _array(words: str) -> pa.Array:
    return pa.array(words.split())


_SHORT = r"^[A-Z][A-Za-z'’.-]+(?:[ ,]+[A-Z][A-Za-z'’.-]*)*$"
_LEADS = _array(
    "mother father wife husband spouse son daughter brother sister aunt uncle grandmother grandfather niece nephew "
    "mum mom dad "
    "caregiver friend neighbour neighbor nurse doctor mutter vater ehefrau ehemann sohn tochter bruder schwester "
    "tante onkel "
    "oma opa pfleger mere pere epouse epoux mari fils fille frere soeur infirmiere madre padre esposa esposo marido "
    "hijo hija "
    "hermano hermana enfermera mr mrs ms miss dr prof herr herrn frau mme mlle sr sra srta don dona"
)
_OF_PLACES = _array("san santa santo saint sainte sankt st sao port fort mount lake")


def names(values: pd.Series, words: Words) -> Flags:
    """Whether each text holds a name of a person; False where missing. `words` are those of the texts."""
    if not len(words.text):
        return np.zeros(len(values), dtype=np.bool_)
    ordinary, given, family = (words.listed(kind) for kind in ("ordinary-words", "given-names", "family-names"))
    named = words_of_names(words, ordinary, given, family)
    return words.of_texts(named) | _column_of_names(values, words, (given | family) & ~ordinary)


def words_of_names(words: Words, ordinary: Flags, given: Flags, family: Flags) -> Flags:
    """Words that are part of a name by the word beside them; the flags say which words are in each list."""
    initial = words.capital & (words.length == 1)
    plain = words.capital & ~initial
    leads, of_place = words.among(_LEADS), words.among(_OF_PLACES)
    adjacent = words.next_in_text & ~words.clause
    given, family = given & plain, family & plain
    given &= ~np.append(False, (of_place & adjacent)[:-1])
    unknown = plain & ~ordinary & ~leads & (words.length > 2)
    # An initial between two names is passed over.
    last = len(initial) - 1
    second = np.minimum(np.arange(len(initial)) + 1, last)
    skipping = adjacent & initial[second] & adjacent[second]
    after = np.where(skipping, np.minimum(second + 1, last), second)
    both = (given & family[after]) | (family & given[after])
    named = adjacent & (
        (both & ~(ordinary & ordinary[after]))
        | (given & ~ordinary & unknown[after])
        | (leads & given[after] & ~ordinary[after])
    )
    marked: Flags = named.copy()
    marked[after[named]] = True
    return marked


def _column_of_names(values: pd.Series, words: Words, listed: Flags) -> Flags:
    """Values of one to a few capitalized words, in a column most of whose values are nothing but listed names."""
    marked = np.zeros(len(values), dtype=np.bool_)
    present = int(values.notna().sum())
    whole = words.of_texts(listed) & ~words.of_texts(~listed & (words.length > 1))
    if present >= LEAST_VALUES and whole.sum() >= MOST_NAMES * present:
        marked |= found(folded(arrow(values)), _SHORT)
    return marked

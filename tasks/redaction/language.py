"""The commonest words of languages: which are no names, and whether a column is in the language that is stated."""

import numpy as np
import pyarrow as pa

from tasks.core.errors import DataError
from tasks.validation.words import Words

_WORDS = {
    "en": "a an the this that these those he she it they we you his her its their our your him them us who which what "
    "when where how and or but if then than so as of to in on at by for from with without into over under after before "
    "between during since until up down out off not no nor all any both each few more most other some such only own "
    "same too very can could shall should would might must do does did done has have had having be been being am is "
    "are was were there here also patient pt",
    "de": "der die das und mit von zu im ist nicht ein eine keine bei nach dem den wurde patientin sich auf seit",
    "fr": "le les et avec des du une est pas dans pour par sur aux au qui sans depuis elle ses cette",
    "es": "el los las y con una del es por para se que su sin al desde fue esta paciente como",
    "it": "il gli e con un di della che per non si da sono alla nel dopo senza paziente",
    "nl": "het een van en met voor niet op aan te bij zijn geen werd door naar wordt",
}
LEAST_SHARE = 0.03
"""Share of a column's words that are common ones of its language, at least."""


def common_words(language: str) -> pa.Array:
    """Words of a language that are no names, whatever their letters."""
    return pa.array(_WORDS[language].split())


def check_language(words: Words, language: str, column: str) -> None:
    """Raise DataError, with the column, where most common words of a text are not those of its language."""
    counts = {name: int(words.among(common_words(name)).sum()) for name in _WORDS}
    own, letters = counts.pop(language), max(int(np.count_nonzero(words.length > 1)), 1)
    if len(words.text) and (own <= max(counts.values()) or own < LEAST_SHARE * letters):
        raise DataError(
            "a column of text does not read as the language that the request states",
            where=f"column {column}",
            expected=f"common words of “{language}”, more than those of any other language and at least "
            f"{LEAST_SHARE:.0%} of all words",
            got="fewer",
            fix="withhold the column (role: withheld); the recall of the scanner is not measured for it",
        )

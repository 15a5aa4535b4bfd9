"""Items of cells of text: those of a list, the categories and chapters of codes, and values of a series of columns.

Of other cells, the letters and digits alone, where some values differ in capitals, spaces and marks only.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

_SEPARATORS, _LISTING = (";", "|", ",", "/"), 0.1
"""Separators of lists within cells, and the least share of a column's values that hold one."""
_CODE, _MOSTLY_CODES = re.compile(r"[A-Z][0-9]{2}[0-9A-Z.]*"), 0.9
"""Codes such as those of ICD-10 and ATC: their first letter is a chapter, their first three characters a category."""

Item = tuple[str, int]
"""A text, and how many characters of it: 0 for all."""


@dataclass(frozen=True)
class CellItems:
    """Items of the values of a column of text."""

    pairs: NDArray[np.int64]
    """Number of a value and of an item of it, in order of the values; shape (n_pairs, 2)."""
    weights: NDArray[np.float64]
    """Sensitivity of each item; shape (n_items,)."""
    keys: NDArray[np.uint64]
    """A number of each item that is the same in all columns; shape (n_items,)."""

    @property
    def say_more(self) -> bool:
        """Whether some value has another item than itself."""
        return not np.array_equal(self.pairs[:, 0], self.pairs[:, 1])


def cell_items(levels: pd.Index, weigh: Callable[[str], float], *, in_series: bool = False) -> CellItems | None:
    """Items of the values of a column of text; None where the values say nothing besides themselves.

    A column has lists if a tenth of its values hold one separator, and it has fewer items than values; it has codes if
    nine tenths of its items are. A chapter or category weighs as the heaviest of its codes. In a series of columns each
    value is an item too. Spellings are judged apart as well: “+” and “-” may be all that differs.
    """
    texts = [str(level) for level in levels]
    separator = _separator(texts)
    parts = [sorted({part.strip() for part in text.split(separator)} - {""}) if separator else [text] for text in texts]
    each = {part for one in parts for part in one}
    coded = len(each) > 0 and sum(_CODE.fullmatch(part) is not None for part in each) >= _MOSTLY_CODES * len(each)
    alone = not (separator or coded or in_series)
    if alone and len({_plain(text) for text in texts}) == len(texts):
        return None
    weights, pairs = dict[Item, float](), dict[tuple[int, Item], None]()
    for code, own in enumerate(parts):
        for part in own:
            for item in (
                [(_plain(part), 0)] if alone else _of_part(part, whole=bool(separator) or in_series, coded=coded)
            ):
                weights[item] = max(weights.get(item, 0.0), weigh(part))
                pairs[code, item] = None
    numbers = {item: number for number, item in enumerate(weights)}
    found = [(code, numbers[item]) for code, item in pairs]
    names = np.array([f"{characters} {text}" for text, characters in weights], dtype=object)
    return CellItems(
        np.array(found, dtype=np.int64).reshape(-1, 2), np.array(list(weights.values())), pd.util.hash_array(names)
    )


def _plain(text: str) -> str:
    """Letters and digits, which spellings of one value have in common; texts without any are as they are."""
    return "".join(filter(str.isalnum, text.casefold())) or text


def _separator(texts: list[str]) -> str:
    """The separator of lists, empty for none."""
    for one in _SEPARATORS:
        if sum(one in text for text in texts) >= max(_LISTING * len(texts), 2):
            items = {part.strip() for text in texts for part in text.split(one)} - {""}
            if len(items) < len(texts):
                return one
    return ""


def _of_part(part: str, *, whole: bool, coded: bool) -> Iterator[Item]:
    if whole:
        yield part, 0
    if coded and _CODE.fullmatch(part):
        yield part[:1], 1
        yield part[:3], 3

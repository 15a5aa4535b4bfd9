"""Items of cells of text besides their value: those of a list, and the categories and chapters of codes."""

import re
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray

_SEPARATORS, _LISTING = (";", "|", ",", "/"), 0.1
"""Separators of lists within cells, and the least share of a column's values that hold one."""
_CODE, _MOSTLY_CODES = re.compile(r"[A-Z][0-9]{2}[0-9A-Z.]*"), 0.9
"""Codes such as those of ICD-10 and ATC: their first letter is a chapter, their first three characters a category."""

Item = tuple[str, int]
"""A text, and how many characters of it: 0 for all."""


Items = tuple[NDArray[np.int64], NDArray[np.float64]] | tuple[None, None]
"""Pairs of a value's number and an item's, and the weights of items; both None where there are no items."""


def cell_items(levels: pd.Index, weigh: Callable[[str], float]) -> Items:
    """Items of the values of a column of text, and their weights.

    Pairs are of a value's number and an item's, in order of the values, shape (n_pairs, 2); weights have shape
    (n_items,). Both are None where the values say nothing besides themselves. A column has lists if a tenth of its
    values hold one separator, and it has fewer items than values; it has codes if nine tenths of its items are. A
    chapter or category weighs as the heaviest of its codes.
    """
    texts = [str(level) for level in levels]
    separator = _separator(texts)
    parts = [sorted({part.strip() for part in text.split(separator)} - {""}) if separator else [text] for text in texts]
    each = {part for one in parts for part in one}
    coded = len(each) > 0 and sum(_CODE.fullmatch(part) is not None for part in each) >= _MOSTLY_CODES * len(each)
    if not (separator or coded):
        return None, None
    weights, pairs = dict[Item, float](), dict[tuple[int, Item], None]()
    for code, own in enumerate(parts):
        for part in own:
            for item in _of_part(part, listed=bool(separator), coded=coded):
                weights[item] = max(weights.get(item, 0.0), weigh(part))
                pairs[code, item] = None
    numbers = {item: number for number, item in enumerate(weights)}
    found = [(code, numbers[item]) for code, item in pairs]
    return np.array(found, dtype=np.int64).reshape(-1, 2), np.array(list(weights.values()))


def _separator(texts: list[str]) -> str:
    """The separator of lists, empty for none."""
    for one in _SEPARATORS:
        if sum(one in text for text in texts) >= max(_LISTING * len(texts), 2):
            items = {part.strip() for text in texts for part in text.split(one)} - {""}
            if len(items) < len(texts):
                return one
    return ""


def _of_part(part: str, *, listed: bool, coded: bool) -> Iterator[Item]:
    if listed:
        yield part, 0
    if coded and _CODE.fullmatch(part):
        yield part[:1], 1
        yield part[:3], 3

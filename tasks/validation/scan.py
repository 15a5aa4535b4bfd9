"""All kinds of identifiers in the values of one column, as validation finds them, for the draft of a request."""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import pandas as pd

from tasks.request.model import PatternName, ValueType
from tasks.validation.forms import days_in_digits
from tasks.validation.names import names
from tasks.validation.patterns import NUMBER_PATTERNS, TEXT_PATTERNS
from tasks.validation.readings import readable
from tasks.validation.values import matches
from tasks.validation.verified import VERIFIED, verified
from tasks.validation.words import split


def scan(
    values: pd.Series, kind: ValueType, patterns: Iterable[PatternName] = PatternName
) -> dict[PatternName, npt.NDArray[np.bool_]]:
    """Whether each value of a column contains an identifier, by kind; all of shape (n_values,)."""
    if kind is ValueType.TEXT:
        texts = readable(values)
        found = {name: holding(texts, name) for name in patterns}
    else:
        numbers = {} if kind is ValueType.DATE else NUMBER_PATTERNS
        found = {name: matches(values, numbers[name]) for name in patterns if name in numbers}
    if PatternName.FULL_DATE in found and days_in_digits(values):
        found[PatternName.FULL_DATE][:] = True
    return found


def holding(texts: pd.Series, name: PatternName) -> npt.NDArray[np.bool_]:
    """Whether each text, as it is read, contains an identifier of a kind; of shape (n_texts,)."""
    mask = np.zeros(len(texts), dtype=np.bool_)
    if name in TEXT_PATTERNS:
        mask |= matches(texts, TEXT_PATTERNS[name])
    if name in VERIFIED:
        mask |= verified(texts, name)
    if name is PatternName.NAME:
        mask |= names(texts, split(texts))
    return mask

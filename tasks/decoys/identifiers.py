"""Identifiers of decoys in columns of pseudonyms: numbers of their own, replaced by pseudonyms as real ones are."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from tasks.core.errors import ParameterError
from tasks.decoys.manifest import Record
from tasks.pseudonyms.pseudonyms import LARGEST
from tasks.request.model import ReleaseRequest


def refuse_repeated_identifiers(frame: pd.DataFrame, request: ReleaseRequest) -> None:
    """Refuse a column of pseudonyms whose identifiers repeat, by a ParameterError that names it.

    The pseudonym of a decoy is in one row, so that it would stand out among those in several.
    """
    for name in request.pseudonyms:
        repeated = int(frame[name].duplicated().sum())
        if repeated:
            raise ParameterError(
                "decoys have no pseudonyms like those of a column",
                where=f"column {name}",
                expected="an identifier of its own in each record",
                got=f"{repeated} records whose identifier an earlier record has",
                fix="withhold the column (role: direct identifier), or leave the decoys out",
            )


def with_identifiers(
    shares: Sequence[Sequence[Record]], frame: pd.DataFrame, request: ReleaseRequest, generator: np.random.Generator
) -> list[tuple[Record, ...]]:
    """Decoy records of each share with an identifier that nobody else has in each column of pseudonyms."""
    rows, names = sum(map(len, shares)), request.pseudonyms
    taken = {str(value) for name in names for value in frame[name].dropna()}
    drawn: list[str] = []
    while len(drawn) < rows * len(names):
        number = str(generator.integers(LARGEST))
        if number not in taken:
            taken.add(number)
            drawn.append(number)
    own = iter(drawn)
    return [tuple({**row, **{name: next(own) for name in names}} for row in share) for share in shares]

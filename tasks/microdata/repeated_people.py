"""Whether the records of a file look like several rows of the same people, though the request names no person."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tasks.microdata.coded import Prepared
from tasks.request.model import ReleaseRequest, Role

AGREEING = 0.9
"""Share of the repeated records that have the quasi-identifiers of the first with the same identifier."""
BY_CHANCE = 0.5
"""Share of the records with the most frequent quasi-identifiers from which that says nothing."""


def repeated_people(frame: pd.DataFrame, request: ReleaseRequest, prepared: Prepared) -> Iterator[tuple[str, int, int]]:
    """Direct identifiers that seem to name people with several records, each with its values and its records.

    An identifier counts whose values repeat, if the records that share a value share their quasi-identifiers too, as
    those of a ward or a physician do not. Nothing where the request names the person.
    """
    if request.dataset.person is not None or prepared.data.counts.max() > BY_CHANCE * prepared.data.total:
        return
    for name in request.with_role(Role.DIRECT):
        codes, values = pd.factorize(frame[name])
        stated = np.flatnonzero(codes >= 0)
        again = agreeing(codes[stated], prepared.tuple_of_record[stated])
        if len(again) and again.mean() >= AGREEING:
            yield name, len(values), len(stated)


def agreeing(codes: NDArray[np.integer], tuples: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Of each record but the first of its identifier, whether it has the tuple of that first."""
    _, first, place = np.unique(codes, return_index=True, return_inverse=True)
    later = np.setdiff1d(np.arange(len(codes)), first, assume_unique=True)
    same: NDArray[np.bool_] = tuples[later] == tuples[first[place.ravel()[later]]]
    return same

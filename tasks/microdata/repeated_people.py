"""Whether the records of a file look like several rows of the same people, though the request does not say so."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tasks.microdata.persons import persons_of, records_of
from tasks.request.model import ReleaseRequest, Role

AGREEING = 0.9
"""Share of the repeated records that have the quasi-identifiers of the first with the same identifier."""
BY_CHANCE = 0.5
"""Share of the records with the most frequent quasi-identifiers from which that says nothing."""


@dataclass(frozen=True)
class RepeatedPeople:
    """A direct identifier that seems to name people with several records."""

    column: str
    values: int
    records: int
    """Records with a value."""

    @property
    def again(self) -> int:
        """Records beyond the first of each value."""
        return self.records - self.values


def repeated_people(frame: pd.DataFrame, request: ReleaseRequest) -> Iterator[RepeatedPeople]:
    """Direct identifiers whose values repeat, if the records that share one share their quasi-identifiers too.

    Those of a ward or a physician do not. `frame` is the microdata; where the request names the persons of rows, its
    records are these. Nothing is found where most records have the same quasi-identifiers anyway.
    """
    records = records_of(frame, persons_of(frame, request))
    keys = [pd.factorize(records[name])[0] for name in request.quasi_identifiers]
    tuples = pd.DataFrame(dict(enumerate(keys))).groupby(list(range(len(keys))), sort=False).ngroup().to_numpy()
    if np.bincount(tuples).max() > BY_CHANCE * len(records):
        return
    for name in request.with_role(Role.DIRECT):
        codes, values = pd.factorize(records[name])
        stated = np.flatnonzero(codes >= 0)
        again = agreeing(codes[stated], tuples[stated])
        if len(again) and again.mean() >= AGREEING:
            yield RepeatedPeople(name, len(values), len(stated))


def agreeing(codes: NDArray[np.integer], tuples: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Whether each record but the first of its identifier has the tuple of that first."""
    _, first, place = np.unique(codes, return_index=True, return_inverse=True)
    later = np.setdiff1d(np.arange(len(codes)), first, assume_unique=True)
    same: NDArray[np.bool_] = tuples[later] == tuples[first[place.ravel()[later]]]
    return same

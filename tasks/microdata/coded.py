"""Data and population in integer form: what one reading leaves for all later stages."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks.microdata.hierarchy import Hierarchy
from tasks.microdata.tuples import Tuples


@dataclass(frozen=True)
class Prepared:
    """Data and population in integer form."""

    hierarchies: dict[str, Hierarchy]
    data: Tuples
    population: Tuples
    tuple_of_record: NDArray[np.int32]
    """Tuple of each record, in the order of the file; shape (n_records,)."""
    distinct_values: dict[str, int]
    """Distinct values of each column of the microdata, missing left out."""

    @property
    def covered(self) -> NDArray[np.bool_]:
        """Whether the population has each record's tuple, shape (n_records,)."""
        found: NDArray[np.bool_] = self.population.find(self.data.keys) >= 0
        return found[self.tuple_of_record]

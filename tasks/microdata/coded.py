"""Data and population in integer form: the result of one reading, for all later stages."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tasks.microdata.hierarchy import Hierarchy
from tasks.microdata.tuples import Counts, Tuples


@dataclass(frozen=True)
class CodedColumn:
    """A column other than the quasi-identifiers that others may know or that is sensitive."""

    codes: NDArray[np.unsignedinteger]
    """Number of each record's value, in the order of the file; a missing value is the last; shape (n_records,)."""
    weights: NDArray[np.float64]
    """Sensitivity of each value, 0 to 1, that of the attribute included; 0 for a missing one; shape (n_values,)."""


@dataclass(frozen=True)
class Register:
    """An external register of named people."""

    listed: Counts
    """Number of people of each population tuple that it lists."""
    sha256: str
    """Of its file."""


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
    columns: dict[str, CodedColumn] = field(default_factory=dict)
    """Further columns that are counted or weighed: for the combined score, record linkage and k-anonymity."""
    register: Register | None = None
    """The external register; None where the request names none."""

    @property
    def covered(self) -> NDArray[np.bool_]:
        """Whether the population has each record's tuple, shape (n_records,)."""
        found: NDArray[np.bool_] = self.population.find(self.data.keys) >= 0
        return found[self.tuple_of_record]

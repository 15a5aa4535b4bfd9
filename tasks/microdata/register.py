"""The external register: how many named people an adversary finds, by the quasi-identifiers of the population."""

from collections.abc import Mapping

import numpy as np

from tasks.core.errors import PopulationError, row_positions
from tasks.core.files import file_sha256
from tasks.microdata.coded import Register
from tasks.microdata.hierarchy import Hierarchy
from tasks.microdata.read import read_population
from tasks.microdata.tuples import Tuples, distinct_tuples, encode
from tasks.request.load import LoadedRequest


def read_register(loaded: LoadedRequest, hierarchies: Mapping[str, Hierarchy], population: Tuples) -> Register | None:
    """The register that a request names, on the population's tuples; None where it names none.

    Raises
    ------
    PopulationError
        If the register cannot be read, or lists more people than the population has of some combination of values.
    """
    register = loaded.request.external_data
    if register is None:
        return None
    path = loaded.resolve(register.path, "external_data.path")
    values, counts = read_population(path, register, loaded.request.quasi_identifiers)
    codes = encode(values, hierarchies, register.path, PopulationError)
    rows = np.flatnonzero(counts)
    tuples, tuple_of_row = distinct_tuples(codes[rows], list(hierarchies.values()), counts[rows])
    place = population.find(tuples.keys)
    known = place >= 0
    excess = ~known
    excess[known] = tuples.counts[known] > population.counts[place[known]]
    if excess.any():
        wrong = rows[excess[tuple_of_row]]
        raise PopulationError(
            "the register lists people whom the population does not have",
            where=f"{register.path}, {row_positions(wrong)}",
            expected="for each combination of quasi-identifier values at most as many people as in the population",
            got=f"{len(wrong)} rows with more",
            fix="use a population that holds everybody whom the register lists",
        )
    listed = np.zeros(len(population), dtype=np.int64)
    listed[place] = tuples.counts
    return Register(listed, file_sha256(path))

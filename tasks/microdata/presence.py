"""Columns of the file that the population table or the register has too, by their name or by their values."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np
import pandas as pd

_LEAST_SHARED = 5
"""Values that two columns must share; fewer, such as yes and no, are common to many columns."""
_MOST = 0.9
"""Share of a column's values that the other one must have."""
_CHANCE = 1e-6
"""Probability of a match by chance up to which whole numbers count as a domain."""


Table = Literal["population", "register"]
Domains = Mapping[Table, Mapping[str, pd.Index]]
"""Distinct values by column of the population table and the register."""


@dataclass(frozen=True)
class Presence:
    """A column of the file that a table of people has too."""

    column: str
    table: Table
    listed: str
    """Name of the table's column."""

    @property
    def by_name(self) -> bool:
        """Whether the two have one name; otherwise they have the same values."""
        return self.column == self.listed


def presences(columns: Mapping[str, pd.Index], tables: Domains) -> Iterator[Presence]:
    """Columns, by their distinct values as text, that a table has: by name, or else by values."""
    for (table, domains), (name, values) in product(tables.items(), columns.items()):
        alike = (listed for listed, domain in domains.items() if same_domain(values, domain))
        listed = name if name in domains else next(alike, None)
        if listed is not None:
            yield Presence(name, table, listed)


def same_domain(values: pd.Index, domain: pd.Index) -> bool:
    """Whether nearly all values are from a domain, more of them than by chance.

    Whole numbers match by chance where they lie close together, as ages and counts do; ZIP codes do not. Other numbers
    never match.

    >>> zips, towns = pd.Index([str(10_000 + 13 * n) for n in range(9)]), pd.Index(["Ada", "Ayr", "Bly", "Coy", "Dix"])
    >>> same_domain(zips[1:8], zips), same_domain(towns, towns), same_domain(towns[:4], towns)
    (True, True, False)
    >>> ages = pd.Index([str(n) for n in range(90)])
    >>> same_domain(ages[20:60], ages)
    False
    """
    shared = int(values.isin(domain).sum())
    if shared < _LEAST_SHARED or shared < _MOST * len(values):
        return False
    numbers = pd.to_numeric(pd.Series(domain), errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    if np.isnan(numbers).any():
        return True
    whole = bool((numbers % 1 == 0).all())
    density = min(len(domain) / (numbers.max() - numbers.min() + 1), 1.0)
    return whole and bool(density**shared <= _CHANCE)

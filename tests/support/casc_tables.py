"""The CASC reference files as arrays, and the protocol of the published linkage table."""

from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

_DATA = Path(__file__).parents[2] / "examples" / "casc" / "data"
KNOWN = 6
"""The intruder knows the first 1, 2, … 6 attributes; figures are the mean over these."""


@cache
def casc_table(name: str) -> NDArray[np.float64]:
    """All attributes of ``census`` (1,080 × 13) or ``eia`` (4,092 × 10)."""
    table = np.loadtxt(_DATA / f"{name}.csv", delimiter=",", skiprows=1)
    table.setflags(write=False)
    return table

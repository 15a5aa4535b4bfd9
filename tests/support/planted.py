"""A release small enough to plan its decoys by hand: nine values of x in threes, three of y, ten people in each cell.

    y2  2 2 2  2 2 2  2 2 2     records of each cell; x runs to the right
    y1  2 2 2  2 2 2  . . .
    y0  2 2 2  2 2 2  . . .

As it is (``FINE``): 21 classes of 2 records and 10 people, and six empty cells. With x in threes (``COARSE``): 7
classes of 6 records and 30 people, and two empty cells. So every decoy looks like every real class, its factor is 1.
"""

from typing import Any

import numpy as np

from tasks.decoys.classes import lineages
from tasks.decoys.decoy_cells import RiskBand
from tasks.decoys.linked_release import LinkedRelease
from tasks.decoys.planning import CopyToMark
from tasks.request.model import DecoyPolicy
from tests.support.decoy_grid import axis, tuples
from tests.support.recoded import recoded_alike

TREES = (axis("x", 9), axis("y", 3))
AXES = lineages(TREES)
BAND = RiskBand(0.5, 1)
PEOPLE = np.full((9, 3), 10)
RECORDS = np.full((9, 3), 2)
RECORDS[6:, :2] = 0
FINE, COARSE = (0, 0), (1, 0)


def release(levels: tuple[int, int] = FINE, records: np.ndarray = RECORDS, minimum: int = 1) -> LinkedRelease:
    """The release at some levels of the hierarchies."""
    return recoded_alike(tuples(records, TREES), tuples(PEOPLE, TREES), TREES, levels, minimum=minimum)


def asks(
    name: str,
    classes: int,
    levels: tuple[int, int] = FINE,
    records: np.ndarray = RECORDS,
    band: RiskBand = BAND,
) -> CopyToMark:
    """A recipient who asks for some decoy classes, or for none."""
    return CopyToMark(name, str(levels), release(levels, records), classes, band)


def policy(**terms: Any) -> DecoyPolicy:
    """One kept class a decoy, and no limit on what a copy may miss, but for what is given."""
    return DecoyPolicy(**({"kept_per_decoy": 1, "missing_limit": 1.0} | terms))

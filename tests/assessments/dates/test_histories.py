"""Dates of people on one scale: shifted ones, stays counted from them, and days since an event that stays unknown."""

import numpy as np
import pandas as pd

from tasks.assessments.dates.histories import Histories
from tasks.assessments.dates.matching import matches_of_known
from tasks.dates.released_dates import released_dates
from tasks.request.model import ReleaseRequest
from tests.dates.test_released_dates import KEY, by_hand, dates, frame, request_of


def histories(request: ReleaseRequest, data: pd.DataFrame) -> Histories:
    made = released_dates(request, data, KEY)
    released = {name: column.released for name, column in made.columns.items()}
    rows = np.arange(len(data))
    return Histories.of(request, made, released, rows=rows, persons=made.person_of_row, people=len(made.offsets))


def test_a_discharge_counted_from_a_shifted_visit_is_known_by_its_own_day() -> None:
    request = request_of(seen=dates(shift="person", days=2), left=dates(relative_to="seen"))
    visits = ["1970-01-11", "1970-01-21", "1970-01-21", "1970-01-31"]
    left = ["1970-01-13", None, None, "1970-02-02"]
    found = histories(request, frame(id=["a", "a", "a", "b"], seen=visits, left=left))
    assert found.persons.tolist() == [0, 0, 0, 1, 1]
    assert found.columns.tolist() == [1, 2, 1, 1, 2], "a day counts once"
    assert found.known.tolist() == [10, 12, 20, 30, 32]
    moved = [by_hand("a", 2)] * 3 + [by_hand("b", 2)] * 2
    assert (found.released - found.known).tolist() == moved
    assert found.reach == 2


def test_days_since_birth_are_a_fingerprint_with_birth_itself() -> None:
    """Ages in days: the second person is a day older at the second visit, whenever both were born."""
    request = request_of(born={"role": "direct identifier", "type": "date"}, seen=dates(relative_to="born"))
    born = ["1960-01-01", "1960-01-01", "1980-06-01", "1980-06-01", "1990-01-01", None]
    seen = ["1970-01-01", "1970-01-11", "1990-06-01", "1990-06-12", "2000-01-01", "2001-01-01"]
    found = histories(request, frame(id=["a", "a", "b", "b", "c", "d"], born=born, seen=seen))
    first = 3653  # three leap days in ten years from 1960; two from 1980-06-01, and from 1990
    assert found.columns.tolist() == [0, 1, 1, 0, 1, 1, 0, 1]
    assert found.known.tolist() == [0, first, first + 10, 0, 3652, 3663, 0, 3652]
    assert found.reach > 2 * 3663 - found.known.max()
    matches = matches_of_known(found, np.zeros(4, dtype=np.int64), 2).fewest
    # Birth and the first visit fit the second and third person; the fourth has no date, and could be anybody.
    assert matches.tolist() == [1, 1, 2, 4]

"""People with other values in two files, and names by which they are others."""

import numpy as np
import pandas as pd
import pyarrow as pa

from tasks.reassessment.changed_values import _differing, _numbers, renamed


def test_a_person_differs_whose_values_are_others_or_not_as_many() -> None:
    """Person 0 has the same two in another order, 1 another, 2 one more, 3 lacks one now; −1 is in one file alone."""
    then = np.array([0, 0, 1, 2, 3, 3, -1]), np.array([5, 6, 5, -1, 5, 5, 9])
    now = np.array([0, 0, 1, 2, 2, 3, -1, -1]), np.array([6, 5, 7, -1, -1, 5, 8, 9])
    assert _differing(then, now, 5).tolist() == [False, True, True, True, False]


def test_texts_are_numbered_by_the_values_of_the_other_file() -> None:
    numbers = _numbers(pa.array(["b", "new", "a", "other"]), pd.Index(["a", "b", "c"], dtype="str"))
    assert numbers[[0, 2]].tolist() == [1, 0]
    assert len({*numbers.tolist()} - {0, 1, 2}) == 2


def test_who_changed_has_a_name_that_nobody_has() -> None:
    people = np.array([b"a" * 16, b"b" * 16, b"\x00" * 16], dtype="S16")
    names = renamed(people, np.array([False, True, True]))
    assert names[0] == people[0]
    assert len({*names.tolist()} | {*people.tolist()}) == 5
    assert renamed(names, np.array([False, True, True])).tolist() == people.tolist()

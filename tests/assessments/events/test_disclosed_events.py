"""Values of rows that classes disclose: figures by hand, the definition as oracle, and one row a person as before."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from tasks.candidate.class_values import Disclosed, OrderedValues, disclosed_values
from tasks.candidate.several_values import disclosed_of_several
from tasks.microdata.coded import code_column
from tasks.request.model import MissingReading, SensitivityWeights, ValueType
from tests.reference.plain_disclosure import near, width_of

TESTS = 40


def ordered(
    values: list[str | None],
    kind: ValueType = ValueType.TEXT,
    missing: MissingReading = MissingReading.ANY_VALUE,
) -> OrderedValues:
    column = code_column(pd.Series(values, dtype="str"), SensitivityWeights(), kind)
    return OrderedValues.of(column, np.arange(len(values)), missing)


def found(
    classes: list[int],
    rows: list[tuple[int, str | None]],
    kind: ValueType = ValueType.TEXT,
    missing: MissingReading = MissingReading.ANY_VALUE,
) -> Disclosed:
    persons = np.array([person for person, _ in rows])
    return disclosed_of_several(np.array(classes), persons, ordered([value for _, value in rows], kind, missing), TESTS)


def test_a_diagnosis_that_a_whole_class_has_at_some_visit() -> None:
    """Ten people in one class have hiv beside other diagnoses, as 10 of 200 in the file: 0.05¹⁰ · 40 is below 1 %."""
    classes = [person // 10 for person in range(200)]
    rows = [(person, illness) for person in range(200) for illness in ("flu", "cold")]
    rows += [(person, "hiv") for person in range(10)]
    made = found(classes, rows)
    assert made.disclosed.tolist() == [True] * 10 + [False] * 190
    assert made.homogeneous.tolist() == [True] * 10 + [False] * 190, "flu, which everybody has, is no news"
    assert made.largest_share == 1.0
    assert made.rises.tolist() == pytest.approx([0.95, *[0.0] * 19])


def test_many_rows_of_one_person_are_one_person() -> None:
    """A hundred rows with hiv of one person of ten disclose nothing of the others, nor of the one."""
    classes = [person // 10 for person in range(200)]
    rows = [(person, "flu") for person in range(200)] + [(0, "hiv")] * 100
    made = found(classes, rows)
    assert not made.disclosed.any()
    assert made.rises[0] == pytest.approx(1 / 10 - 1 / 200)


def test_people_without_a_value_hide_nothing_unless_these_are_a_group() -> None:
    rows: list[tuple[int, str | None]] = [(0, "hiv"), (1, None), (2, None), (3, "flu"), (3, None)]
    made = found([0, 0, 0, 1], rows)
    assert made.largest_share == 1.0
    assert made.rises.tolist() == pytest.approx([1 - 1 / 2, 1 - 1 / 4]), "as of a box that is ticked or empty"
    assert made.homogeneous.tolist() == [True] * 4
    made = found([0, 0, 0, 1], rows, missing=MissingReading.OWN_GROUP)
    assert made.rises.tolist() == pytest.approx([1 / 3 - 1 / 4, 1 - 1 / 4])
    assert made.homogeneous.tolist() == [False, False, False, True]


def test_near_numbers_of_one_person_count_once() -> None:
    """Values 0, 1 and 2 of a range of 100 are one value, of which each person of the class has several."""
    rows = [(person, str(value)) for person in range(10) for value in (0, 1, 2)]
    rows += [(person, str(value)) for person in range(10, 200) for value in (20 + person * 37 % 80, 100)]
    made = found([person // 10 for person in range(200)], rows, ValueType.NUMBER)
    assert made.disclosed.tolist() == [True] * 10 + [False] * 190
    assert made.largest_share == 1.0


people = st.integers(1, 12).flatmap(
    lambda count: st.tuples(
        st.lists(st.integers(0, 2), min_size=count, max_size=count),
        st.lists(st.tuples(st.integers(0, count - 1), st.sampled_from([None, "1", "2", "3", "40", "41"])), min_size=1),
    )
)


@given(people, st.sampled_from([ValueType.TEXT, ValueType.NUMBER]), st.sampled_from(MissingReading))
def test_as_the_definition_says(
    made: tuple[list[int], list[tuple[int, str | None]]], kind: ValueType, missing: MissingReading
) -> None:
    classes, rows = np.unique(made[0], return_inverse=True)[1].tolist(), made[1]
    told = found(classes, rows, kind, missing)
    numeric = kind is ValueType.NUMBER
    read = [(person, value if value is None or not numeric else float(value)) for person, value in rows]
    stated = [value for _, value in read if value is not None]
    width = width_of(stated) if numeric and stated else None
    own = missing is MissingReading.OWN_GROUP
    gaps = {person for person, _ in read} - {person for person, value in read if value is not None}
    counted = set(range(len(classes))) - (set() if own else gaps)  # who has no row at all has no value
    disclosed, homogeneous = [False] * len(classes), [False] * len(classes)
    rises, largest = [0.0] * (max(classes) + 1), 0.0
    for one in range(max(classes) + 1):
        members = {person for person, of in enumerate(classes) if of == one}
        for start in {value for person, value in read if person in members and value is not None}:
            having = {person for person, value in read if value is not None and near(start, value, width)}
            share, inside, judged = len(having) / len(counted), having & members, members & counted
            rise = len(inside) / len(judged) - share
            rises[one], largest = max(rises[one], rise), max(largest, len(inside) / len(judged))
            for person in inside | (members - counted):
                chance = binom.sf(len(inside) - 1, len(judged), share) * TESTS
                halved = 1 - len(inside) / len(judged) <= (1 - share) / 2 + 1e-12
                disclosed[person] |= halved and rise >= 0.2 - 1e-12 and chance <= 0.01
                homogeneous[person] |= inside == judged and share <= 0.8 + 1e-12
    assert told.disclosed.tolist() == disclosed
    assert told.homogeneous.tolist() == homogeneous
    assert told.rises.tolist() == pytest.approx(rises)
    assert told.largest_share == pytest.approx(largest)


@given(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from([None, "1", "2", "3", "30"])), min_size=1, max_size=40),
    st.sampled_from([ValueType.TEXT, ValueType.NUMBER]),
    st.sampled_from(MissingReading),
)
def test_one_row_a_person_is_an_attribute_of_people(
    records: list[tuple[int, str | None]], kind: ValueType, missing: MissingReading
) -> None:
    classes = np.unique([one for one, _ in records], return_inverse=True)[1]
    values = ordered([value for _, value in records], kind, missing)
    before, now = (
        disclosed_values(classes, values, TESTS),
        disclosed_of_several(classes, np.arange(len(classes)), values, TESTS),
    )
    assert now.disclosed.tolist() == before.alone.tolist()
    assert now.homogeneous.tolist() == before.homogeneous.tolist()
    assert now.rises.tolist() == before.rises.tolist()
    assert now.largest_share == before.largest_share

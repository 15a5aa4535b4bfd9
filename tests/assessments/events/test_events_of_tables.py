"""Known rows of several tables, by hand and by definition; people without rows; and rows that are left out."""

from collections import Counter
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.assessments.events.assessment import EventValues
from tasks.candidate.class_values import OrderedValues
from tasks.candidate.several_values import disclosed_of_several
from tasks.generalization.known_rows import WithheldTables, known_events, withheld_rows
from tasks.microdata.joined import joined
from tasks.microdata.prepared import prepare
from tasks.microdata.tables import RowTables, own_rows
from tasks.request.load import LoadedRequest, load_request
from tasks.request.model import MissingReading

REQUEST = """\
schema_version: releasegate/request/1
title: Patients
requested_by: a.steward
dataset: {path: data.csv, title: Patients, source: drawn, record_id: patient, person: patient}
attributes:
  patient: {role: pseudonym}
  sex: {role: quasi-identifier, hierarchy: {groups: {levels: [{"*": [F, M]}]}}}
tables:
  visits:
    path: visits.csv
    key: visit
    attributes:
      visit: {role: direct identifier}
      ward: {role: insensitive}
      diagnosis: {role: sensitive, known_probability: 0}
  labs:
    path: labs.csv
    within: visits
    attributes:
      test: {role: insensitive}
  notes:
    path: notes.csv
    within: visits
    attributes:
      mood: {role: sensitive, known_probability: 0}
population: {self: true, source: the file}
recipients:
  - id: university
    organisation: University
    purpose: research
    agreement: {id: A-1, expires: 2030-01-01}
    stakes: {benefit: 1200, loss: 300, cost: 4}
policy: {id: rules, version: "1", presence: known}
"""

People = list[str]
Visits = list[tuple[int, str | None]]
Inner = list[tuple[int, int | None, str | None]]


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> LoadedRequest:
    path = tmp_path_factory.mktemp("tables") / "request.yaml"
    Path(path).write_text(REQUEST)
    return load_request(path)


def text(**columns: list[str | None]) -> pd.DataFrame:
    return pd.DataFrame({name.replace("__", "."): pd.array(cells, dtype="string") for name, cells in columns.items()})


def frame_of(loaded: LoadedRequest, sexes: People, visits: Visits, labs: Inner, notes: Inner = []) -> pd.DataFrame:  # noqa: B006
    """Persons by sex; visits of persons with a ward; laboratory values and notes of persons, within a visit or none."""

    def key(visit: int | None) -> str | None:
        return None if visit is None else f"v{visit}"

    tables: dict[str | None, pd.DataFrame] = {
        None: text(patient=[f"p{one}" for one in range(len(sexes))], sex=list(sexes)),
        "visits": text(
            patient=[f"p{person}" for person, _ in visits],
            visits__visit=[f"v{number}" for number in range(len(visits))],
            visits__ward=[ward for _, ward in visits],
            visits__diagnosis=["flu" for _ in visits],
        ),
    }
    for name, column, rows in (("labs", "labs__test", labs), ("notes", "notes__mood", notes)):
        keys = [key(visit) for _, visit, _ in rows]
        cells = [cell for _, _, cell in rows]
        tables[name] = text(patient=[f"p{one}" for one, _, _ in rows], visits__visit=keys, **{column: cells})
    return joined(tables, loaded.request)


def values_of(loaded: LoadedRequest, frame: pd.DataFrame) -> EventValues:
    prepared = prepare(loaded, frame)
    events = prepared.events
    assert events is not None
    classes = prepared.tuple_of_record.astype(np.int64)
    return EventValues.of(classes, events.of_row.astype(np.int64), events.columns, events.tables, loaded.request)


def held_by(sexes: People, visits: Visits, labs: Inner) -> list[Counter[tuple[object, ...]]]:
    """What may be known of each person's rows: the table, its attributes, and those of the visit around."""
    held: list[Counter[tuple[object, ...]]] = [Counter() for _ in sexes]
    for person, ward in visits:
        held[person]["visits", ward] += 1
    for person, visit, test in labs:
        held[person]["labs", test, None if visit is None else visits[visit][1]] += 1
    return held


def by_definition(sexes: People, held: list[Counter[tuple[object, ...]]], p: int) -> list[int]:
    some = []
    for sex, own in zip(sexes, held, strict=True):
        others = [one for other, one in zip(sexes, held, strict=True) if other == sex]
        sets = map(Counter, combinations(own.elements(), min(p, own.total())))
        some.append(min(sum(chosen <= other for other in others) for chosen in sets))
    return some


def test_a_laboratory_value_tells_the_ward_of_its_visit_and_a_note_nobody_knows_tells_nothing(
    loaded: LoadedRequest,
) -> None:
    """Both were on both wards and had both tests; only on the ward of each test do they differ."""
    visits: Visits = [(0, "a"), (0, "b"), (1, "a"), (1, "b")]
    labs: Inner = [(0, 0, "x"), (0, 1, "y"), (1, 3, "x"), (1, 2, "y")]
    found = values_of(loaded, frame_of(loaded, ["F", "F"], visits, labs, [(0, 0, "glad")])).matched
    assert found is not None
    assert found.some.tolist() == [1, 1]
    outside = values_of(loaded, frame_of(loaded, ["F", "F"], visits, [(0, None, "x"), (1, None, "x")])).matched
    assert outside is not None
    assert outside.some.tolist() == [2, 2]


@st.composite
def worlds(draw: st.DrawFn) -> tuple[People, Visits, Inner]:
    sexes = draw(st.lists(st.sampled_from("FM"), min_size=1, max_size=6))
    person = st.integers(0, len(sexes) - 1)
    visits = draw(st.lists(st.tuples(person, st.sampled_from(["a", "b", None])), min_size=1, max_size=8))
    labs: Inner = []
    for visit, test in draw(
        st.lists(st.tuples(st.integers(-1, len(visits) - 1), st.sampled_from(["x", "y", None])), max_size=8)
    ):
        labs.append((draw(person), None, test) if visit < 0 else (visits[visit][0], visit, test))
    return sexes, visits, labs


@pytest.mark.slow
@given(worlds(), st.integers(1, 3))
def test_people_who_match_rows_of_any_tables(
    loaded: LoadedRequest, world: tuple[People, Visits, Inner], p: int
) -> None:
    found = values_of(loaded, frame_of(loaded, *world))
    assert found.events is not None
    some = known_events(found.classes, found.known_of, found.events, p).some
    assert some.tolist() == by_definition(world[0], held_by(*world), p)


@pytest.mark.slow
@given(worlds(), st.integers(1, 2), st.integers(1, 3))
def test_no_row_is_left_whose_visit_is_left_out_and_nobody_left_is_found(
    loaded: LoadedRequest, world: tuple[People, Visits, Inner], p: int, least: int
) -> None:
    found = values_of(loaded, frame_of(loaded, *world))
    sexes, visits, labs = world
    assert found.events is not None
    tables = RowTables(
        np.array([1] * len(visits) + [2] * len(labs), dtype=np.int8),
        np.array([-1] * len(visits) + [-1 if one is None else one for _, one, _ in labs], dtype=np.int32),
    )
    known = WithheldTables(tables, np.ones(len(tables.of_row), dtype=np.bool_))
    out = withheld_rows(
        found.classes, found.known_of, found.events, known=p, least=least, nothing=-1 % 2**31, tables=known
    )
    left = [place for place in range(len(visits)) if not out[place]]
    kept = [
        one
        for place, one in enumerate(labs, start=len(visits))
        if not out[place] and (one[1] is None or one[1] in left)
    ]
    assert len(kept) == int((~out[len(visits) :]).sum())
    held = held_by(sexes, [], [])
    for place in left:
        held[visits[place][0]]["visits", visits[place][1]] += 1
    for person, visit, test in kept:
        held[person]["labs", test, None if visit is None else visits[visit][1]] += 1
    some = by_definition(sexes, held, p)
    assert all(count >= least for count, own in zip(some, held, strict=True) if own)


def test_people_without_a_row_in_the_table_have_no_value_and_are_no_gap(loaded: LoadedRequest) -> None:
    """One of four has a visit, with flu: nobody's class discloses it, and three have no missing value."""
    found = values_of(loaded, frame_of(loaded, ["F"] * 4, [(0, "a")], []))
    flu = found.found["visits.diagnosis"]
    assert flu.largest_share == 0.25
    assert not flu.disclosed.any()
    assert not flu.homogeneous.any()


def test_only_people_with_gaps_are_taken_to_have_what_their_class_discloses() -> None:
    """In class 0 the one who states a value has flu, one has a gap, one no row; class 1 has ten others without."""
    classes = np.array([0, 0, 0] + [1] * 30)
    persons = np.array([0, 1, *range(3, 33)])
    values = OrderedValues(
        ranks=np.array([0, -1] + [1] * 30),
        ends=np.array([1, 2]),
        judged=np.array([True, True]),
        width=None,
        missing=MissingReading.ANY_VALUE,
    )
    found = disclosed_of_several(classes, persons, values, 1)
    assert found.largest_share == 1.0
    assert found.rises[0] == pytest.approx(0.5 - 1 / 32)


def test_columns_have_rows_of_their_own(loaded: LoadedRequest) -> None:
    frame = frame_of(loaded, ["F", "M"], [(1, "a"), (0, None)], [(1, 0, "x"), (0, None, "y")])
    assert frame["sex"].tolist() == ["F", "M", "M", "F", "M", "F"]
    assert frame["visits.ward"].fillna("-").tolist() == ["-", "-", "a", "-", "a", "-"]
    assert own_rows(frame, loaded.request, "labs.test") == slice(4, 6)
    assert own_rows(frame, loaded.request, "sex") == slice(0, 2)

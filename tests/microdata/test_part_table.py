"""Tables that lack quasi-identifiers: no cell has fewer people than are counted, whoever is not in the file."""

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.core.errors import DataError, PopulationError
from tasks.generalization.game.count_index import matching_people
from tasks.generalization.setting import count_index
from tasks.microdata.cube import cells_at
from tasks.microdata.hierarchy import hierarchy_from_rows
from tasks.microdata.part_table import APART, PartTable, with_values_apart
from tasks.microdata.prepared import prepare_file
from tasks.microdata.tuples import Tuples, distinct_tuples
from tests.support.tiny import DATA, WHOLE_CELLS, changed, tiny_prepared, tiny_request

TREES = {
    "age": hierarchy_from_rows("age", [[str(n), f"{n // 2}s", "*"] for n in range(4)], "age"),
    "stage": hierarchy_from_rows("stage", [[one, one[0], "*"] for one in ("a1", "a2", "b1")], "stage"),
}
APARTS = with_values_apart(TREES, ["stage"])
PEOPLE = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.booleans()), min_size=1, max_size=30).filter(
    lambda people: any(inside for *_, inside in people)
)
SEXLESS = "zip,age,count\n37010,88,3\n37010,89,4\n37011,88,5\n37201,90,6\n37201,93,9\n"
LACKING = (
    WHOLE_CELLS,
    changed("population", "lacks", to=["sex"]),
    changed("policy", "generalization", "cell_weights", to="data"),
)


def tuples(rows: list[tuple[int, ...]], trees: object) -> Tuples:
    return distinct_tuples(np.array(rows, dtype=np.int32), list(trees.values()))[0]  # type: ignore[attr-defined]


@given(PEOPLE)
def test_each_cell_has_at_least_the_people_counted_and_exactly_those_where_nothing_lacking_is_told(
    people: list[tuple[int, int, bool]],
) -> None:
    """Brute force: the world has everybody's values, the file some people, and the table counts by age alone."""
    inside = tuples([one[:2] for one in people if one[2]], APARTS)
    table = PartTable(tuples([(one[0],) for one in people], {"age": TREES["age"]}), (0,), "population.path")
    made = table.with_file(inside, APARTS)
    assert made.total == len(people)
    for levels in product(range(3), range(3)):
        cells = {
            tuple(TREES[name].labels[level][TREES[name].groups[code, level]] for name, level, code in zip(
                TREES, levels, one[:2], strict=True
            ))
            for one in people
        }  # fmt: skip
        mine = {
            tuple(tree.labels[level][tree.groups[code, level]] for tree, level, code in zip(
                APARTS.values(), levels, codes, strict=True
            )): 0
            for codes in made.codes
        }  # fmt: skip
        for codes, count in zip(made.codes, made.counts, strict=True):
            cell = tuple(
                tree.labels[level][tree.groups[code, level]]
                for tree, level, code in zip(APARTS.values(), levels, codes, strict=True)
            )
            mine[cell] += int(count)
        for cell in cells:
            truth, filed = (
                sum(
                    all(
                        TREES[name].labels[level][TREES[name].groups[code, level]] == label
                        for name, level, code, label in zip(TREES, levels, one[:2], cell, strict=True)
                    )
                    for one in people
                    if one[2] or everybody
                )
                for everybody in (True, False)
            )
            assert filed <= mine.get(cell, 0) <= truth
            if cell[1] == "*":
                assert mine[cell] == truth


def test_a_request_counts_the_table_where_sex_is_withheld_and_the_file_where_it_is_told(tmp_path: Path) -> None:
    loaded = tiny_request(tmp_path, *LACKING, population=SEXLESS)
    prepared = tiny_prepared(loaded)
    assert prepared.population.total == 27
    table = count_index(loaded.request, prepared)
    assert table.from_below
    codes = prepared.data.codes
    told = matching_people(table, cells_at(codes, np.array([0, 0, 0], dtype=np.int32), table.hierarchies))
    assert told.tolist() == prepared.data.counts.tolist()
    withheld = matching_people(table, cells_at(codes, np.array([0, 0, 1], dtype=np.int32), table.hierarchies))
    labels = {
        (table.hierarchies[0].labels[0][one[0]], table.hierarchies[1].labels[0][one[1]]): int(count)
        for one, count in zip(codes, withheld, strict=True)
    }
    assert labels == {
        ("37010", "88"): 3, ("37010", "89"): 4, ("37011", "88"): 5, ("37201", "90"): 6, ("37201", "93"): 9,
    }  # fmt: skip


def test_a_table_with_fewer_people_than_records_is_refused(tmp_path: Path) -> None:
    loaded = tiny_request(tmp_path, *LACKING, population=SEXLESS.replace("37010,88,3", "37010,88,1"))
    with pytest.raises(PopulationError, match="more records than people"):
        tiny_prepared(loaded)


def test_a_table_without_the_people_of_some_records_is_refused(tmp_path: Path) -> None:
    loaded = tiny_request(tmp_path, *LACKING, population=SEXLESS.replace("37011,88,5\n", ""))
    with pytest.raises(PopulationError, match="more records than people"):
        tiny_prepared(loaded)


def test_a_record_with_the_value_apart_is_refused(tmp_path: Path) -> None:
    data = DATA.replace("1,37010,88,F", f"1,37010,88,{APART}")
    loaded = tiny_request(tmp_path, *LACKING, population=SEXLESS, data=data)
    with pytest.raises(DataError, match="what the population table lacks"):
        tiny_prepared(loaded)


def test_a_file_that_is_its_own_population_is_coded_alike_in_every_form(tmp_path: Path) -> None:
    """Codes by prefixes have the file's values for a domain, whether it is read as a whole or piece by piece."""
    prefixes = changed("attributes", "zip", "hierarchy", to={"prefixes": {"keep": [3]}})
    itself = changed("population", to={"self": True, "source": "made up"})
    known = changed("policy", "presence", to="known")
    whole = tiny_prepared(tiny_request(tmp_path, prefixes, itself, known))
    assert whole.hierarchies["zip"].labels[0] == ("37010", "37011", "37201")
    assert whole.population.counts.tolist() == whole.data.counts.tolist()
    assert whole.covered.all()
    pd.read_csv(tmp_path / "data.csv", dtype=str).to_parquet(tmp_path / "data.parquet", row_group_size=2)
    stored = changed("dataset", "path", to="data.parquet")
    loaded = tiny_request(tmp_path, prefixes, itself, known, stored)
    pieced = prepare_file(loaded, tmp_path / "data.parquet")
    assert pieced.population.keys.tolist() == whole.population.keys.tolist()
    assert pieced.tuple_of_record.tolist() == whole.tuple_of_record.tolist()

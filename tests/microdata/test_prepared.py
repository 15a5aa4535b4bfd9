"""Data and population in integer form, written and read back."""

from pathlib import Path

import numpy as np
import pytest

from tasks.core.errors import DataError, PopulationError, StageFailed
from tasks.microdata.coded import group_sensitivities
from tasks.microdata.hierarchy import MISSING
from tasks.microdata.prepared import Prepared, load, save
from tests.support.silence import CANARY, assert_silent
from tests.support.tiny import DATA, POPULATION, changed, tiny_prepared, tiny_request


@pytest.fixture
def prepared(tmp_path: Path) -> Prepared:
    return tiny_prepared(tiny_request(tmp_path))


def decoded(prepared: Prepared, codes: np.ndarray) -> list[tuple[str, ...]]:
    trees = list(prepared.hierarchies.values())
    return [tuple(tree.labels[0][leaf] for tree, leaf in zip(trees, code, strict=True)) for code in codes]


def test_tuples_of_data_and_population(prepared: Prepared) -> None:
    assert list(prepared.hierarchies) == ["zip", "age", "sex"]
    records = dict(zip(decoded(prepared, prepared.data.codes), prepared.data.counts.tolist(), strict=True))
    assert records == {
        ("37010", "88", "F"): 2,
        ("37010", "89", "M"): 1,
        ("37011", "88", "F"): 1,
        ("37201", "90", "M"): 1,
        ("37201", "93", "M"): 1,
    }
    rows = decoded(prepared, prepared.data.codes[prepared.tuple_of_record])
    assert [",".join(row) for row in rows] == [",".join(line.split(",")[1:4]) for line in DATA.splitlines()[1:]]
    assert prepared.population.total == 27
    assert len(prepared.population) == 6, "a count of nobody is no tuple"
    assert prepared.covered.all()
    assert prepared.distinct_values == {"id": 6, "zip": 3, "age": 4, "sex": 2, "diagnosis": 2}


def test_records_outside_the_population_are_not_covered(tmp_path: Path) -> None:
    fewer = POPULATION.replace("37010,88,F,3\n", "").replace("37201,93,M,7", "37201,93,M,0")
    prepared = tiny_prepared(tiny_request(tmp_path, population=fewer))
    assert prepared.covered.tolist() == [False, False, True, True, True, False]


def test_repeated_cells_of_the_population_add_up(tmp_path: Path) -> None:
    prepared = tiny_prepared(tiny_request(tmp_path, population=POPULATION + "37010,88,F,100\n"))
    assert prepared.population.total == 127
    assert prepared.population.counts.max() == 103


def test_a_value_outside_its_hierarchy_names_the_file_that_has_it(tmp_path: Path) -> None:
    bad = DATA.replace("4,37011,88,F", f"4,37011,{CANARY},F")
    with pytest.raises(DataError) as caught:
        tiny_prepared(tiny_request(tmp_path, data=bad))
    assert caught.value.where == "data.csv, column age, row 4"
    assert_silent(caught.value)
    bad = POPULATION.replace("37201,91,F", f"{CANARY},91,F")
    with pytest.raises(PopulationError) as caught_in_population:
        tiny_prepared(tiny_request(tmp_path, population=bad))
    assert caught_in_population.value.where == "population.csv, column zip, row 5"
    assert_silent(caught_in_population.value)


def test_a_value_of_the_data_alone_is_in_no_hierarchy(tmp_path: Path) -> None:
    by_prefixes = changed("attributes", "zip", "hierarchy", to={"prefixes": {"keep": [3]}})
    with pytest.raises(DataError, match="missing from a hierarchy") as caught:
        tiny_prepared(tiny_request(tmp_path, by_prefixes, data=DATA.replace("4,37011", f"4,{CANARY}")))
    assert caught.value.where == "data.csv, column zip, row 4"
    assert "population" in caught.value.fix
    assert_silent(caught.value)


def test_a_missing_quasi_identifier_has_a_leaf_of_its_own_below_the_top(tmp_path: Path) -> None:
    prepared = tiny_prepared(tiny_request(tmp_path, data=DATA.replace("5,37201,90,M", "5,37201,,M")))
    assert [tree.missing_leaf for tree in prepared.hierarchies.values()] == [-1, 6, -1]
    tree = prepared.hierarchies["age"]
    assert [tree.labels[level][group] for level, group in enumerate(tree.groups[6])] == [MISSING, MISSING, "*"]
    rows = decoded(prepared, prepared.data.codes[prepared.tuple_of_record])
    assert rows[4] == ("37201", MISSING, "M")


def test_saved_and_loaded_it_is_the_same(prepared: Prepared, tmp_path: Path) -> None:
    path = tmp_path / "prepared.npz"
    save(prepared, path)
    again = load(path)
    assert again.distinct_values == prepared.distinct_values
    np.testing.assert_array_equal(again.tuple_of_record, prepared.tuple_of_record)
    for one, other in ((prepared.data, again.data), (prepared.population, again.population)):
        for part in ("codes", "counts", "keys"):
            np.testing.assert_array_equal(getattr(one, part), getattr(other, part))
            assert getattr(one, part).dtype == getattr(other, part).dtype
    assert list(again.hierarchies) == list(prepared.hierarchies)
    for name, tree in prepared.hierarchies.items():
        assert again.hierarchies[name].labels == tree.labels
        np.testing.assert_array_equal(again.hierarchies[name].groups, tree.groups)


def test_items_of_lists_are_saved_with_the_weights_of_the_request(tmp_path: Path) -> None:
    lists = iter(["a;b", "a; c", "b;c", "a;b;c", "a", "b"])
    head, *rows = DATA.splitlines()
    data = "\n".join([head, *(f"{row.rpartition(',')[0]},{next(lists)}" for row in rows)]) + "\n"
    weighed = changed("attributes", "diagnosis", to={"role": "sensitive", "sensitivity": {"values": {"c": 0.25}}})
    save(tiny_prepared(tiny_request(tmp_path, weighed, data=data)), tmp_path / "prepared.npz")
    column = load(tmp_path / "prepared.npz").columns["diagnosis"]
    assert column.items is not None
    assert column.items.pairs.tolist() == [
        [0, 0],
        [0, 1],
        [1, 0],
        [1, 2],
        [2, 1],
        [2, 2],
        [3, 0],
        [3, 1],
        [3, 2],
        [4, 0],
        [5, 1],
    ]
    assert column.items.weights.tolist() == [1.0, 1.0, 0.25]


def test_it_holds_no_record_id_and_nothing_but_the_quasi_identifiers(tmp_path: Path) -> None:
    secret = DATA.replace("1,37010,88,F,flu", f"id{CANARY},37010,88,F,{CANARY}")
    path = tmp_path / "prepared.npz"
    save(tiny_prepared(tiny_request(tmp_path, data=secret)), path)
    assert CANARY.encode() not in path.read_bytes()


@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "flipped", "no archive", "other archive"])
def test_a_damaged_file_blocks(prepared: Prepared, tmp_path: Path, damage: str) -> None:
    path = tmp_path / "prepared.npz"
    save(prepared, path)
    whole = path.read_bytes()
    at = whole.index(b"37010")
    if damage == "missing":
        path.unlink()
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "cut":
        path.write_bytes(whole[: len(whole) // 2])
    elif damage == "flipped":
        path.write_bytes(whole[:at] + b"9" + whole[at + 1 :])
    elif damage == "no archive":
        path.write_bytes(b"not an archive at all")
    else:
        np.savez(path, labels=np.arange(3))
    with pytest.raises(StageFailed, match="intermediate file") as caught:
        load(path)
    assert caught.value.where == "prepared.npz"
    assert caught.value.__suppress_context__


def test_a_flipped_byte_anywhere_blocks_or_changes_nothing(prepared: Prepared, tmp_path: Path) -> None:
    path = tmp_path / "prepared.npz"
    save(prepared, path)
    whole = path.read_bytes()
    blocked = 0
    for at in range(0, len(whole), 23):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x41]) + whole[at + 1 :])
        try:
            again = load(path)
        except StageFailed:
            blocked += 1
        else:
            assert again.hierarchies["zip"].labels == prepared.hierarchies["zip"].labels
            np.testing.assert_array_equal(again.population.counts, prepared.population.counts)
            np.testing.assert_array_equal(again.tuple_of_record, prepared.tuple_of_record)
    assert blocked > 0


BY_GROUP = POPULATION.replace(",88,", ",88-89,").replace(",93,", ",92-93,")
"""Some people by the two-year band of their age, some by the age."""


def test_people_are_counted_alike_by_values_and_by_the_groups_that_may_leave(tmp_path: Path) -> None:
    """Ages 88 and 89 are one band: 3 and 4 people of 37010 differ in sex alone, as do 37201's 8 of 90-91."""
    finest = changed("attributes", "age", "level", to=1)
    by_value, by_group = (
        tiny_prepared(tiny_request(tmp_path, finest, population=text)) for text in (POPULATION, BY_GROUP)
    )
    people = dict(zip(decoded(by_value, by_value.population.codes), by_value.population.counts.tolist(), strict=True))
    assert people == {
        ("37010", "88-89", "F"): 3,
        ("37010", "88-89", "M"): 4,
        ("37011", "88-89", "F"): 5,
        ("37201", "90-91", "F"): 2,
        ("37201", "90-91", "M"): 6,
        ("37201", "92-93", "M"): 7,
    }
    for name in ("codes", "counts", "keys"):
        assert (getattr(by_group.population, name) == getattr(by_value.population, name)).all()
        assert (getattr(by_group.data, name) == getattr(by_value.data, name)).all()
    save(by_value, tmp_path / "kept.npz")
    assert load(tmp_path / "kept.npz").hierarchies["age"].domain == by_value.hierarchies["age"].domain


@pytest.mark.parametrize("cell", ["88-89", "94", CANARY])
def test_the_values_of_the_data_are_still_those_of_the_whole_hierarchy(tmp_path: Path, cell: str) -> None:
    bad = DATA.replace("4,37011,88,F", f"4,37011,{cell},F")
    with pytest.raises(DataError) as caught:
        tiny_prepared(tiny_request(tmp_path, changed("attributes", "age", "level", to=1), data=bad))
    assert caught.value.where == "data.csv, column age, row 4"
    assert caught.value.expected == "a whole number from 88 to 93, as the hierarchy has them"
    assert_silent(caught.value)


def test_a_group_weighs_as_its_heaviest_value(tmp_path: Path) -> None:
    weights = changed("attributes", "age", "sensitivity", to={"values": {"89": 0.9, "92": 0.1}, "default": 0.3})
    loaded = tiny_request(tmp_path, changed("attributes", "age", "level", to=1), weights)
    prepared = tiny_prepared(loaded)
    found = group_sensitivities(loaded.request, prepared.hierarchies)["age"].values
    assert found == {"88-89": 0.9, "90-91": 0.3, "92-93": 0.3, "*": 0.0}

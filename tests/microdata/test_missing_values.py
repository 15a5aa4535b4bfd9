"""Records without a value: brute force over small worlds, in which everybody's values are known."""

from collections import Counter
from itertools import permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.core.errors import DataError, HierarchyError, PopulationError
from tasks.generalization.setting import count_index
from tasks.microdata.hierarchy import MISSING, hierarchy_from_rows
from tasks.microdata.missing_values import lacking_values, people_beside_missing, with_missing_leaves
from tasks.microdata.part_table import PartTable, with_values_apart
from tasks.microdata.prepared import Prepared, load, prepare_file, save
from tasks.microdata.tuples import Tuples, distinct_tuples
from tasks.request.model import MissingReading
from tests.support.examples import examples
from tests.support.tiny import DATA, WHOLE_CELLS, changed, larger, tiny_prepared, tiny_request

OWN, ANY = MissingReading.OWN_GROUP, MissingReading.ANY_VALUE
TREES = with_missing_leaves(
    {
        "age": hierarchy_from_rows("age", [[str(n), f"{n // 2}s", "*"] for n in range(4)], "age"),
        "sex": hierarchy_from_rows("sex", [["F", "*"], ["M", "*"]], "sex"),
        "zone": hierarchy_from_rows("zone", [[one, one[0], "*"] for one in ("a1", "a2", "b1")], "zone"),
    },
    ["age", "sex", "zone"],
)
TREE = list(TREES.values())
VALUES = [4, 2, 3]
GONE = tuple(tree.missing_leaf for tree in TREE)
Person = tuple[tuple[int, ...], tuple[bool, ...] | None]
"""Values of a person, and which of them the person's record lacks; None for a person without a record."""

people = st.tuples(
    st.tuples(*(st.integers(0, count - 1) for count in VALUES)),
    st.one_of(st.none(), st.tuples(*(st.sampled_from([False, False, True]) for _ in VALUES))),
)
worlds = st.lists(people, min_size=1, max_size=40).filter(lambda world: any(gone for _, gone in world))


def tuples(rows: list[tuple[int, ...]]) -> Tuples:
    return distinct_tuples(np.array(rows, dtype=np.int32).reshape(-1, len(TREE)), TREE)[0]


def recorded(person: Person) -> tuple[int, ...]:
    values, gone = person
    return values if gone is None else tuple(GONE[at] if gone[at] else value for at, value in enumerate(values))


def divided(world: list[Person], reading: MissingReading) -> Tuples:
    records = [recorded(one) for one in world if one[1] is not None]
    return people_beside_missing(tuples([values for values, _ in world]), tuples(records), TREE, reading)


def cell(codes: tuple[int, ...], levels: tuple[int, ...]) -> tuple[str, ...]:
    return tuple(
        tree.labels[level][tree.groups[code, level]] for tree, code, level in zip(TREE, codes, levels, strict=True)
    )


def counted(made: Tuples, levels: tuple[int, ...]) -> Counter[tuple[str, ...]]:
    found: Counter[tuple[str, ...]] = Counter()
    for codes, count in zip(made.codes.tolist(), made.counts.tolist(), strict=True):
        found[cell(tuple(codes), levels)] += count
    return found


EVERY_LEVEL = list(product(*(range(tree.n_levels) for tree in TREE)))


@settings(deadline=None)
@given(worlds)
def test_own_group_counts_nobody_whom_somebody_who_knows_whose_values_are_missing_rules_out(
    world: list[Person],
) -> None:
    """The adversary has everybody's values, but of the people with records these as they are recorded."""
    made = divided(world, OWN)
    assert (made.counts > 0).all()
    for levels in EVERY_LEVEL:
        found = counted(made, levels)
        left = Counter(cell(recorded(one), levels) for one in world)
        records = Counter(cell(recorded(one), levels) for one in world if one[1] is not None)
        assert all(records[one] <= found[one] <= left[one] for one in left | found)


@pytest.mark.slow
@settings(max_examples=examples(300), deadline=None)
@given(worlds)
def test_any_value_counts_nobody_who_is_behind_another_record_or_has_other_values(world: list[Person]) -> None:
    """In each cell: who has the values that it tells; of missing ones, but those behind records in other cells."""
    made = divided(world, ANY)
    for levels in EVERY_LEVEL:
        found = counted(made, levels)
        records = Counter(cell(recorded(one), levels) for one in world if one[1] is not None)
        for one, count in found.items():
            like = [
                other
                for other in world
                if all(told in (own, MISSING) for told, own in zip(one, cell(other[0], levels), strict=True))
            ]
            behind_others = [other for other in like if other[1] is not None and cell(recorded(other), levels) != one]
            most = len(like) - (len(behind_others) if MISSING in one else 0)
            assert records[one] <= count <= most
    assert made.total <= len(world)
    own = divided(world, OWN)
    assert made.total >= sum(1 for one in world if one[1] is not None)
    if made.keys.tolist() == own.keys.tolist():
        lacking = lacking_values(made.codes, TREE).any(axis=1)
        assert (made.counts >= own.counts)[lacking].all()


few = st.lists(people, min_size=1, max_size=6).filter(
    lambda world: any(gone and any(gone) for _, gone in world) and sum(gone is not None for _, gone in world) <= 4
)


@settings(max_examples=examples(60), deadline=None)
@given(few)
def test_no_record_is_likelier_to_be_somebodys_than_one_in_the_people_counted(world: list[Person]) -> None:
    """Any value, all ways to put people behind records that fit being equally likely: 1/n at most, for all of them."""
    made = divided(world, ANY)
    count_of = {tuple(codes): count for codes, count in zip(made.codes.tolist(), made.counts.tolist(), strict=True)}
    records = [recorded(one) for one in world if one[1] is not None]
    hits: Counter[tuple[int, int]] = Counter()
    ways = 0
    for chosen in permutations(range(len(world)), len(records)):
        if all(
            told in (own, gone)
            for record, person in zip(records, chosen, strict=True)
            for told, own, gone in zip(record, world[person][0], GONE, strict=True)
        ):
            ways += 1
            hits.update(enumerate(chosen))
    for (record, _), times in hits.items():
        assert times / ways <= 1 / count_of[records[record]] + 1e-12


def test_people_by_hand() -> None:
    """Ten people of two ages and a sex; of three records one lacks the age."""
    world: list[Person] = [((0, 0, 0), None)] * 3 + [((0, 0, 0), (False,) * 3)]
    world += [((1, 0, 0), None)] * 4 + [((1, 0, 0), (False,) * 3), ((1, 0, 0), (True, False, False))]
    own = divided(world, OWN)
    assert dict(zip(map(tuple, own.codes.tolist()), own.counts.tolist(), strict=True)) == {
        (0, 0, 0): 4 - 1,
        (1, 0, 0): 6 - 1,
        (GONE[0], 0, 0): 1,
    }
    # Three and five are behind no record with all values, and two and four whoever lacks one. A third of the records
    # lacks it, and so two of these six are set aside beside the one; that one is taken from the first as well as any.
    any_value = divided(world, ANY)
    assert any_value.counts.tolist() == [4 - 1, 6 - 2, 1 + 2]


def test_nobody_is_set_aside_where_nobody_fits() -> None:
    """A record whose other values nobody of the table has is outside the population, as one with all values is."""
    for reading in MissingReading:
        made = people_beside_missing(tuples([(0, 0, 0)] * 3), tuples([(GONE[0], 1, 0)]), TREE, reading)
        assert made.codes.tolist() == [[0, 0, 0]]
        assert made.counts.tolist() == [3]


GAPS = DATA.replace("5,37201,90,M", "5,37201,90,").replace("3,37010,89", "3,37010,")


def labelled(prepared: Prepared, made: Tuples) -> dict[tuple[str, ...], int]:
    trees = list(prepared.hierarchies.values())
    return {
        tuple(tree.labels[0][leaf] for tree, leaf in zip(trees, codes, strict=True)): int(count)
        for codes, count in zip(made.codes, made.counts, strict=True)
    }


@pytest.mark.parametrize("reading", MissingReading)
def test_a_request_counts_people_as_its_policy_reads_missing_values(tmp_path: Path, reading: MissingReading) -> None:
    read_as = changed("policy", "missing", "quasi_identifiers", to=reading)
    loaded = tiny_request(tmp_path, read_as, data=GAPS, population=larger(10))
    prepared = tiny_prepared(loaded)
    assert prepared.covered.all()
    assert labelled(prepared, prepared.data)["37201", "90", MISSING] == 1
    people = labelled(prepared, prepared.population)
    assert prepared.population.total == (270 if reading is ANY else 270 - 1 - 1 + 2)
    found = ("37201", "90", MISSING), ("37010", MISSING, "M"), ("37201", "90", "M"), ("37010", "89", "M")
    if reading is OWN:
        assert [people[one] for one in found] == [1, 1, 59, 39]
    else:
        # A sixth of the records lacks the sex, and as many the age: beside each one sixth of those who are left whoever
        # they are, (60 − 1)/6 of the ones, and of the others, whom missing sexes have taken a sixth of, 33/6.
        assert [people[one] for one in found[:2]] == [1 + 10, 1 + 5]
        assert people[found[2]] <= 60 - 11
    assert count_index(loaded.request, prepared).from_below
    save(prepared, tmp_path / "prepared.npz")
    assert labelled(prepared, load(tmp_path / "prepared.npz").population) == people


def test_a_file_in_pieces_has_the_same_missing_values(tmp_path: Path) -> None:
    missing = changed("dataset", "missing", to=["", "?"])
    whole = tiny_prepared(tiny_request(tmp_path, missing, data=GAPS))
    frame = pd.read_csv(tmp_path / "data.csv", dtype=str)
    frame.loc[6] = ["7", "37201", "90", "?", "flu"]
    frame.loc[7] = ["8", "37201", "90", "", "flu"]
    frame.to_parquet(tmp_path / "data.parquet", row_group_size=2)
    stored = changed("dataset", "path", to="data.parquet")
    loaded = tiny_request(tmp_path, missing, stored, data=GAPS, population=larger(3))
    found = prepare_file(loaded, tmp_path / "data.parquet")
    more = labelled(found, found.data)
    assert more.pop(("37201", "90", MISSING)) == 3
    assert more == {one: count for one, count in labelled(whole, whole.data).items() if one[2] != MISSING}


def test_people_counted_in_the_file_are_its_records_under_both_readings(tmp_path: Path) -> None:
    itself = changed("population", to={"self": True, "source": "made up"})
    known = changed("policy", "presence", to="known")
    for reading in MissingReading:
        read_as = changed("policy", "missing", "quasi_identifiers", to=reading)
        loaded = tiny_request(tmp_path, itself, known, read_as, data=GAPS)
        prepared = tiny_prepared(loaded)
        assert labelled(prepared, prepared.population) == labelled(prepared, prepared.data)
        assert not count_index(loaded.request, prepared).from_below


def test_a_table_that_lacks_attributes_divides_those_that_it_has(tmp_path: Path) -> None:
    """The table has no sexes: a missing sex is a value of the file, a missing age takes one of the table's people."""
    lacking = changed("population", "lacks", to=["sex"])
    weights = changed("policy", "generalization", "cell_weights", to="data")
    table = "zip,age,count\n37010,88,3\n37010,89,4\n37011,88,5\n37201,90,6\n37201,93,9\n"
    loaded = tiny_request(tmp_path, WHOLE_CELLS, lacking, weights, data=GAPS, population=table)
    prepared = tiny_prepared(loaded)
    people = labelled(prepared, prepared.population)
    assert people["37201", "90", MISSING] == 1
    assert people["37010", MISSING, "M"] == 1
    by_zip: Counter[str] = Counter()
    for (code, _, _), count in people.items():
        by_zip[code] += count
    assert by_zip == {"37010": 3 + 4 - 1, "37011": 5, "37201": 15}
    trees = with_missing_leaves(with_values_apart(TREES, []), [])
    assert PartTable(tuples([(0, 0, 0)]), (0, 1, 2), "x").over(trees).people.counts.tolist() == [1]


def test_more_records_without_a_value_than_people_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PopulationError, match="more records than people"):
        tiny_prepared(tiny_request(tmp_path, data=DATA + "".join(f"{n},37010,89,,flu\n" for n in range(7, 12))))


RESOURCES = [{"source": "a roll", "candidates": [{"people": 0.5}]}]


@pytest.mark.parametrize(
    ("terms", "named"),
    [
        ({"external_data": {"path": "population.csv", "source": "made up"}}, "external_data"),
        ({"decoys": {"classes": 1}}, "decoys"),
        ({"adversary": {"resources": RESOURCES}}, "adversary.resources"),
    ],
)
def test_what_rests_on_everybodys_values_is_refused(tmp_path: Path, terms: dict[str, Any], named: str) -> None:
    def change(document: dict[str, Any]) -> None:
        (document if "external_data" in terms else document["recipients"][0]).update(terms)

    with pytest.raises(DataError, match=f"missing values, in a request with {named}") as caught:
        tiny_prepared(tiny_request(tmp_path, change, data=GAPS))
    assert caught.value.where == "data.csv, columns age, sex"


def test_the_label_of_missing_values_is_nobodys_value(tmp_path: Path) -> None:
    labels = changed("attributes", "sex", "hierarchy", to={"groups": {"levels": [{"*": ["F", "M", MISSING]}]}})
    with pytest.raises(HierarchyError, match="stands for missing values"):
        tiny_prepared(tiny_request(tmp_path, labels, data=GAPS))
    with pytest.raises(DataError, match="missing from a hierarchy"):
        tiny_prepared(tiny_request(tmp_path, data=GAPS.replace("6,37201,93,M", f"6,37201,93,{MISSING}")))

"""Careful requests with one change at random: whatever is approved keeps the promise of its gates."""

import os
from pathlib import Path

import numpy as np
import pytest

from tests.mutations.bases import Base, survey, visits
from tests.mutations.mutate import mutant
from tests.mutations.running import run
from tests.mutations.truth import highest_risk, identifiers_left
from tests.support.examples import FULL

MUTANTS = 12 if os.environ.get(FULL) else 9


@pytest.fixture
def delivered(tmp_path: Path) -> Path:
    return tmp_path / "data.csv"


def people(base: Base, **values: set[str]) -> int:
    return sum(int(one["count"]) for one in base.population if all(one[name] in held for name, held in values.items()))


def test_risk_is_counted_from_the_cells(delivered: Path) -> None:
    base = survey()
    ages, north = {str(age) for age in range(40, 45)}, {"N1", "N2", "N3", "N4"}
    delivered.write_text("age,sex,region,smoker\n40-44,female,N,yes\n")
    assert highest_risk(base, base.trees, delivered) == 1 / people(base, age=ages, sex={"female"}, region=north)
    delivered.write_text("age,region\n40-44,N1\n*,*\n")
    assert highest_risk(base, base.trees, delivered) == 1 / people(base, age=ages, region={"N1"})


def test_a_column_that_tells_another_counts_as_that(delivered: Path) -> None:
    base = survey()
    delivered.write_text("age,sex,region,pregnancies\n40s,*,N1,3\n")
    forties = {str(age) for age in range(40, 50)}
    assert highest_risk(base, base.trees, delivered) == 1 / people(base, age=forties, sex={"female"}, region={"N1"})


def test_where_presence_is_known_rows_are_counted_too(delivered: Path) -> None:
    base = visits()
    delivered.write_text("age,sex,zip\n*,F,*\n*,*,*\n*,M,*\n*,M,*\n")
    assert highest_risk(base, base.trees, delivered) == 1 / 2, "a woman may be one of two rows"


def test_a_column_that_names_people_is_seen(delivered: Path) -> None:
    delivered.write_text("patient,age\nPT1,40s\n")
    assert identifiers_left(visits(), delivered) == ("patient",)


def test_a_mutant_differs_in_one_part() -> None:
    base, generator = visits(), np.random.default_rng(1)
    for _ in range(50):
        found = mutant(base, generator)
        careful = base.document()["attributes"]
        changed = [name for name, terms in found.document["attributes"].items() if terms != careful[name]]
        trees = [name for name, tree in found.trees.items() if tree != base.trees[name]]
        assert len(changed) + len(trees) <= 1, found.change


@pytest.mark.slow
def test_no_mutant_is_approved_whose_true_risk_exceeds_its_gate() -> None:
    ended = [run(number, seed=3) for number in range(MUTANTS)]
    assert [one for one in ended if one.outcome in {"UNSAFE", "UNCLEAR"}] == []
    assert {one.outcome for one in ended} >= {"approved", "refused"}

"""Levels that cross, from a request's files to what is released: as plain loops over sets of labels have it."""

import csv
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.assessments.identity.policies import Comparison
from tasks.assessments.identity.stakes import stakes_fact
from tasks.core.errors import HierarchyError, StageFailed
from tasks.decoys.classes import lineages
from tasks.generalization.game.count_index import CountIndex
from tasks.generalization.game.demands import plain_demands
from tasks.generalization.game.exact import GameRule
from tasks.generalization.game.partition import partition
from tasks.generalization.game.payoffs import InformationLoss
from tasks.generalization.game.problem import Problem
from tasks.generalization.generalize import generalize, population_cells
from tasks.generalization.kanonymity.metrics import Metric
from tasks.generalization.kanonymity.optimum import search
from tasks.generalization.setting import game_table, payoffs_of, weights_of
from tasks.microdata.coded import Prepared
from tasks.request.load import LoadedRequest
from tasks.request.model import PARTITIONS, BudgetPolicy, Method, ReleaseRequest
from tests.reference.continued_search import continued_search
from tests.support import slow
from tests.support.examples import examples
from tests.support.generalization import NO_ATTACK, as_sets, cells_as_sets, slow_rule, values_of
from tests.support.tiny import changed, tiny_document, tiny_prepared, tiny_request
from tests.support.worlds import WITHOUT_TERMS, World, worlds

QUICK = settings(deadline=None, max_examples=examples(12))
BY_RULE = tuple(method for method in WITHOUT_TERMS if method not in {*PARTITIONS, Method.NO_ATTACK_COMMON})


def asked(world: World, folder: Path) -> LoadedRequest:
    """A world's request with its files in a folder."""
    names = [f"q{axis}" for axis in range(len(world.rows))]
    for name, rows in zip(names, world.rows, strict=True):
        (folder / f"{name}.csv").write_text("".join(";".join(row) + "\n" for row in rows))
    records = [value for value, number in world.records.items() for _ in range(number)]
    _write(folder / "data.csv", ["id", *names], [(str(number), *value) for number, value in enumerate(records)])
    people = [(*value, str(number)) for value, number in world.people.items()]
    _write(folder / "population.csv", [*names, "count"], people)
    document = tiny_document()
    document["attributes"] = {"id": {"role": "direct identifier"}} | {
        name: {
            "role": "quasi-identifier",
            "hierarchy": {"file": f"{name}.csv", "levels_may_cross": True},
            "weight": weight,
        }
        for name, weight in zip(names, world.weights, strict=True)
    }
    document["recipients"][0]["stakes"] = {
        name: getattr(world.payoffs, name) for name in ("benefit", "loss", "gain", "cost")
    }
    request = ReleaseRequest.model_validate(document)
    return LoadedRequest(request=request, path=folder / "request.yaml", base=folder.resolve(), sha256="0" * 64)


def _write(path: Path, header: list[str], rows: list[tuple[str, ...]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([header, *rows])


def table_asked(world: World, *, dense: bool) -> tuple[CountIndex, ReleaseRequest]:
    with tempfile.TemporaryDirectory() as folder:
        loaded = asked(world, Path(folder))
        table = game_table(loaded.request, tiny_prepared(loaded))
    return table if dense else replace(table, memory_limit=0), loaded.request


def own_cells(table: CountIndex, request: ReleaseRequest, method: Method) -> list[slow.Cell]:
    payoffs, weights = payoffs_of(request.recipients[0]), weights_of(request)
    return as_sets(table, population_cells(table, method, payoffs, weights))


@QUICK
@given(world=worlds(max_attributes=2, crossing=True), dense=st.booleans(), method=st.sampled_from(BY_RULE))
def test_a_request_is_counted_and_played_as_plain_loops_do(world: World, dense: bool, method: Method) -> None:
    world = replace(
        world, people=world.people | {one: max(n, world.people.get(one, 0)) for one, n in world.records.items()}
    )
    table, request = table_asked(world, dense=dense)
    assert table.people.form == ("dense" if dense else "sparse")
    payoffs = payoffs_of(request.recipients[0])
    if method in NO_ATTACK and payoffs.cost * sum(world.people.values()) < payoffs.gain:
        with pytest.raises(StageFailed):
            generalize(table, method, payoffs, weights_of(request))
        return
    generalization = generalize(table, method, payoffs, weights_of(request))
    own = slow_rule(world, method, (0,) * len(world.rows), "population")
    sizes = slow.informed(world, own)
    cells = cells_as_sets(table, generalization)
    for row, (value, cell) in enumerate(zip(values_of(table, table.data.codes), cells, strict=True)):
        assert cell == own(value)
        assert generalization.kept[row] == pytest.approx(slow.kept(world, cell), abs=1e-12)
        assert generalization.people[row] == slow.count(world.people, cell)
        assert generalization.effective[row] == sizes(cell)
    assert own_cells(table, request, method) == [own(value) for value in values_of(table, table.population.codes)]


CROSSING_AGES = changed(
    "attributes", "age", "hierarchy",
    to={"intervals": {"minimum": 88, "maximum": 93, "widths": [2, 3]}, "levels_may_cross": True},
)  # fmt: skip


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> tuple[LoadedRequest, Prepared, CountIndex]:
    loaded = tiny_request(tmp_path_factory.mktemp("tiny"), CROSSING_AGES)
    prepared = tiny_prepared(loaded)
    return loaded, prepared, game_table(loaded.request, prepared)


Tiny = tuple[LoadedRequest, Prepared, CountIndex]


def problem_of(tiny: Tiny) -> Problem:
    loaded, _, table = tiny
    loss = InformationLoss(table.hierarchies, weights_of(loaded.request))
    return Problem(table.hierarchies, loss, payoffs_of(loaded.request.recipients[0]), table.people)


def generalization(tiny: Tiny, method: Method, **changes: Any) -> object:
    problem = problem_of(tiny)
    return generalize(replace(tiny[2], outcomes={}, made={}, **changes), method, problem.payoffs, problem.loss.weights)


NEEDS_TREES: dict[str, Callable[[Tiny], object]] = {
    "k-anonymity": lambda tiny: generalization(tiny, Method.BASIC, demands=plain_demands(2, tiny[1])),
    "search": lambda tiny: search(tiny[2].data.codes, tiny[2].hierarchies, 2, 0.0, Metric.LOSS),
    "budget of records": lambda tiny: generalization(tiny, Method.BASIC, budget=BudgetPolicy(reidentifications=1.0)),
    "budget of cells": lambda tiny: generalization(
        tiny, Method.BASIC_PARTITION, budget=BudgetPolicy(reidentifications=1.0)
    ),
    "exact recursion": lambda tiny: partition(problem_of(tiny), tiny[2].people, GameRule.BASIC),
    "pruned lattice": lambda tiny: continued_search(problem_of(tiny), tiny[2].data.codes),
    "lineage": lambda tiny: lineages(tiny[2].hierarchies),
}


@pytest.mark.parametrize("name", NEEDS_TREES)
def test_what_needs_trees_refuses_levels_that_cross(tiny: Tiny, name: str) -> None:
    with pytest.raises(HierarchyError) as caught:
        NEEDS_TREES[name](tiny)
    assert caught.value.where == "attributes with levels that cross: age"
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("method", sorted(PARTITIONS))
def test_a_partition_into_whole_cells_refuses_levels_that_cross(tiny: Tiny, method: Method) -> None:
    with pytest.raises(StageFailed, match="whole cells") as caught:
        generalization(tiny, method)
    assert caught.value.got == "levels that cross"
    assert "no-attack-remainder" in caught.value.fix


def test_the_comparison_says_that_k_anonymity_cannot_be_played(tiny: Tiny) -> None:
    loaded, prepared, table = tiny
    compared = {one.policy: one for one in Comparison(loaded.request, prepared, table).of(loaded.request.recipients[0])}
    assert compared["k-anonymity"].because.startswith("k-anonymity rests on hierarchies that are trees")
    unplayed = {name for name, one in compared.items() if one.figures is None}
    assert unplayed == {"k-anonymity", "no-attack-common", *PARTITIONS, "fmdp-partition-basic", "fmdp-partition"}


def changed_points(request: ReleaseRequest) -> ReleaseRequest:
    sensitivity = request.policy.sensitivity.model_copy(update={"points": 5})
    return request.model_copy(update={"policy": request.policy.model_copy(update={"sensitivity": sensitivity})})


def test_remainders_are_not_played_again_at_other_stakes(tiny: Tiny) -> None:
    loaded, _, table = tiny
    (recipient,) = loaded.request.recipients
    for method, reaches in ((Method.NO_ATTACK_REMAINDER, False), (Method.BASIC, True)):
        problem = problem_of(tiny)
        own = generalize(table, method, problem.payoffs, problem.loss.weights)
        everything = np.ones(len(table.data), dtype=np.bool_)
        fact = stakes_fact(table, changed_points(loaded.request), recipient, own, everything)
        figures = {reach.figure for reach in fact.reaches}
        assert ("regret" in figures) == reaches

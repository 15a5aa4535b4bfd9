"""The papers' own algorithms by ``assess --algorithm``."""

from typing import Any

import pytest

from tests.support.world import World


def recipient(told: Any) -> Any:
    assert told.code == 0, told.err
    return told.document["recipients"]["university"]


def test_the_game_by_each_search(world: World, releasegate: Any) -> None:
    found = {
        name: {
            one["method"]: one
            for one in recipient(releasegate("assess", "game", world.request, "--algorithm", name, "--json"))
        }
        for name in ("exact", "bis", "lbs")
    }
    for method in ("basic", "no-attack", "sh-friendly"):
        assert found["exact"][method]["payoff"] == pytest.approx(found["bis"][method]["payoff"], abs=1e-9)
        assert found["bis"][method]["nodes_a_record"] == found["bis"][method]["strategies"]
    assert found["lbs"]["basic"]["payoff"] <= found["exact"]["basic"]["payoff"] + 1e-9
    compared = recipient(releasegate("assess", "game", world.request, "--json"))
    claimed = {one["policy"]: one["claimed"]["publisher_payoff"] for one in compared}
    assert found["exact"]["basic"]["payoff"] == pytest.approx(claimed["basic"])
    shown = releasegate("assess", "game", world.request, "--algorithm", "lbs")
    assert shown.code == 0
    assert "Algorithm 2" in shown.out
    assert "payoff optimal" in shown.out


def test_the_game_over_one_record(world: World, releasegate: Any) -> None:
    found = recipient(releasegate("assess", "game", world.request, "--record", "1", "--json"))
    assert found["row"] == 1
    assert sum(one["released"] for one in found["strategies"]) == 1
    shown = releasegate("assess", "game", world.request, "--record", "1", "--top", "3")
    assert shown.code == 0
    assert "The best strategy where benefit V" in shown.out
    for arguments in (("game", world.request, "--record", "1000000"), ("combined", world.request, "--record", "1")):
        refused = releasegate("assess", *arguments)
        assert refused.code == 2
        assert "no record can be explained" in refused.err


@pytest.mark.slow
def test_the_plan_by_each_solver(world: World, releasegate: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tasks.assessments.sequential.solvers.MOST_STATES", 5_000)
    for name in ("recursion", "two-level-lp", "value-iteration"):
        told = releasegate("assess", "fmdp", world.request, "--algorithm", name, "--json")
        assert told.document["algorithm"] == name
        found = recipient(told)
        assert list(found) == ["collected", "released"]
        for one in (*found["collected"], *found["released"]):
            assert one["compared"] == one["solved"] <= one["groups"]
            assert one["risk_difference"] <= 1e-9
    shown = releasegate("assess", "fmdp", world.request, "--algorithm", "two-level-lp")
    assert shown.code == 0
    assert "variables" in shown.out


def test_a_learned_distance(world: World, releasegate: Any) -> None:
    told = releasegate("assess", "linkage", world.request, "--algorithm", "mean", "--json")
    found = recipient(told)
    assert told.document["algorithm"] == "mean"
    assert found["kind"] == "weighted mean"
    assert found["learned"]["in_sample"]["share"] >= found["equal"]["in_sample"]["share"]
    assert (found["masking"], found["note"]) == ([], "")
    shown = releasegate("assess", "linkage", world.request, "--algorithm", "mean")
    assert shown.code == 0
    assert "learned distance, weighted mean" in shown.out
    refused = releasegate("assess", "linkage", world.request, "--algorithm", "bilinear", "--json")
    assert (refused.code, refused.document["error"]["where"]) == (2, "--algorithm")


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("game recursion", "exact or bis or lbs"),
        ("fmdp exact", "recursion or two-level-lp or value-iteration"),
        ("linkage exact", "mean or owa or choquet or bilinear or mahalanobis"),
        ("linkage Mean", "mean or owa or choquet or bilinear or mahalanobis"),
        ("utility exact", "no --algorithm"),
    ],
)
def test_an_algorithm_that_a_method_does_not_have(asked: str, expected: str, world: World, releasegate: Any) -> None:
    method, name = asked.split()
    told = releasegate("assess", method, world.request, "--algorithm", name, "--json")
    assert (told.code, told.document["error"]["where"]) == (2, "--algorithm")
    assert expected in told.document["error"]["expected"]


def test_the_names_are_those_of_the_registries() -> None:
    from flows.cli.assess import ALGORITHMS, AssessedMethod
    from tasks.assessments.linkage.families import DISTANCES
    from tasks.assessments.sequential.solvers import SOLVERS as PLANS
    from tasks.generalization.paper_searches import SOLVERS as SEARCHES

    registries = {AssessedMethod.GAME: SEARCHES, AssessedMethod.FMDP: PLANS, AssessedMethod.LINKAGE: DISTANCES}
    assert {method: tuple(registry) for method, registry in registries.items()} == ALGORITHMS

"""All policies of a request side by side, against what each is by itself."""

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tasks.adversary import exploiting
from tasks.adversary.derived_profile import derive_profile
from tasks.assessments.identity.policies import POLICIES, ComparedPolicy, Comparison, PolicyFigures
from tasks.assessments.sequential.assessment import external_fact, plan
from tasks.candidate.groups import recipient_profile, released_tuples
from tasks.generalization.game.sequential_follower import Belief, SequentialFollower
from tasks.generalization.generalize import generalize
from tasks.generalization.setting import game_table, payoffs_of, weights_of
from tasks.microdata.prepared import prepare
from tasks.microdata.read import read_microdata
from tasks.request.load import load_request
from tasks.request.model import Method, Recipient
from tests.support.tiny import POPULATION, WHOLE_CELLS, Change, changed, tiny_prepared, tiny_request

ROOT = Path(__file__).parents[3]
GENERALIZATION = ("policy", "generalization")
DIGITS = 1e-9


@cache
def clinic() -> tuple[Comparison, Recipient, dict[str, ComparedPolicy]]:
    """The example of the clinic: gain 200, cost 10, so groups of 20 are left alone by one attempt."""
    loaded = load_request(ROOT / "examples/clinic/request-clean.yaml", [])
    prepared = prepare(loaded, read_microdata(loaded.resolve(loaded.request.dataset.path, "here"), loaded.request))
    comparison = Comparison(loaded.request, prepared, game_table(loaded.request, prepared))
    recipient = loaded.request.recipients[0]
    return comparison, recipient, {one.policy: one for one in comparison.of(recipient)}


def figures(one: ComparedPolicy) -> PolicyFigures:
    assert one.figures is not None, one.because
    return one.figures


def compared(folder: Path, *changes: Change, population: str = POPULATION) -> dict[str, ComparedPolicy]:
    loaded = tiny_request(folder, *changes, population=population)
    prepared = tiny_prepared(loaded)
    comparison = Comparison(loaded.request, prepared, game_table(loaded.request, prepared))
    return {one.policy: one for one in comparison.of(loaded.request.recipients[0])}


def gain(units: float) -> Change:
    def change(document: dict[str, Any]) -> None:
        document["recipients"][0]["stakes"]["gain"] = units

    return change


@pytest.mark.slow
def test_every_policy_is_there_and_the_recipients_is_marked() -> None:
    _, _, rows = clinic()
    fmdp = ["fmdp-partition-basic", "fmdp-partition", "fmdp-remainder"]
    assert list(rows) == [one.name for one in POLICIES]
    assert sorted(rows) == sorted([*(method.value for method in Method), *fmdp])
    assert [name for name, one in rows.items() if one.chosen] == ["no-attack-remainder"]
    assert all(one.figures is not None and not one.because for one in rows.values())
    assert {name for name, one in rows.items() if one.against != "one-shot"} == set(fmdp)


@pytest.mark.parametrize("method", [method for method in Method if method is not Method.K_ANONYMITY])
def test_a_row_is_what_the_method_makes_of_the_file(method: Method) -> None:
    """Recomputed record by record from what is played, V = 500, L = G = 200, c = 10."""
    comparison, recipient, rows = clinic()
    request, table = comparison.request, comparison.table
    found, stakes = figures(rows[method.value]), payoffs_of(recipient)
    made = generalize(table, method, stakes, weights_of(request))
    records = np.repeat(np.arange(len(table.data)), table.data.counts)
    kept, people, effective = made.kept[records], made.people[records], made.effective[records]
    claimed, informed = (np.where(size < 20, 1 / size, 0) for size in (people, effective))
    assert len(records) == 400
    assert found.outcome.publisher_payoff == pytest.approx(np.mean(500 * kept - 200 * claimed), abs=DIGITS)
    assert found.outcome.information_kept == pytest.approx(kept.mean(), abs=DIGITS)
    assert found.claimed == found.outcome
    assert found.outcome.naive_expected_reidentifications == pytest.approx(claimed.sum(), abs=1e-6)
    assert found.outcome.transparent_expected_reidentifications == pytest.approx(informed.sum(), abs=1e-6)
    assert (found.claimed_maximum, found.informed_maximum) == (1 / people.min(), 1 / effective.min())
    assert found.left_out == 0
    assert found.seconds > 0


@pytest.mark.slow
def test_p_reid_is_that_of_the_stage_of_one_who_plans() -> None:
    comparison, recipient, rows = clinic()
    for name in ("no-attack", "no-attack-partition", "fmdp-partition-basic"):
        found = figures(rows[name])
        kept = released_tuples(comparison.table, found.generalization, 1)
        derived = recipient_profile(recipient, found.generalization, kept)
        external = external_fact(comparison.request, comparison.prepared, derived.profile.prior)
        fact = plan(comparison.table, found.generalization, kept, derived, external)
        assert found.planned is not None
        assert found.planned.beliefs == fact.residual
        shared = fact.residual[2]
        lost = 200 * shared.expected_reidentifications / 400
        value = 500 * found.outcome.information_kept
        assert found.planned.payoff == pytest.approx(value - lost, abs=DIGITS)


@pytest.mark.parametrize(
    ("name", "method"),
    [("fmdp-partition-basic", Method.BASIC_PARTITION), ("fmdp-partition", Method.NO_ATTACK_PARTITION)],
)
def test_the_fmdp_partitions_are_played_against_one_who_plans(name: str, method: Method) -> None:
    """Though the policy has the game played against one attempt."""
    comparison, recipient, rows = clinic()
    table, found = comparison.table, figures(rows[name])
    people, profile = table.population.total, derive_profile(recipient).profile
    planner = SequentialFollower(500, 200, profile, people, Belief.SUNK)
    made = generalize(table, method, planner, weights_of(comparison.request))
    np.testing.assert_array_equal(found.generalization.levels, made.levels)
    risks = planner.reidentified(made.people)
    payoff = table.data.counts @ (500 * made.kept - 200 * risks) / 400
    assert found.claimed.publisher_payoff == pytest.approx(payoff, abs=DIGITS)
    assert found.claimed.naive_expected_reidentifications == pytest.approx(table.data.counts @ risks, abs=1e-6)
    own = figures(rows[method.value])
    assert found.planned is not None
    assert own.planned is not None
    assert found.division is not None
    assert found.division.exact
    if method is Method.BASIC_PARTITION:
        assert found.planned.payoff > own.planned.payoff
    else:
        assert found.planned.beliefs[2].maximum_risk == 0


def test_k_is_the_safe_group_where_the_policy_has_none() -> None:
    comparison, _, rows = clinic()
    row = rows["k-anonymity"]
    found, records = figures(row), comparison.table.data.counts
    assert row.k == 20
    assert found.generalization.k_anonymity is not None
    assert found.generalization.k_anonymity.suppressed_records <= 0.02 * 400
    assert len(np.unique(found.generalization.levels, axis=0)) == 1
    _, place = np.unique(found.generalization.cells, axis=0, return_inverse=True)
    withheld = (
        np.zeros(len(records), np.bool_) if found.generalization.withheld is None else found.generalization.withheld
    )
    assert np.bincount(place.ravel()[~withheld], weights=records[~withheld]).min() >= 20
    assert found.outcome.transparent_expected_reidentifications == 0


def test_k_is_that_of_the_policy_and_every_row_keeps_it(tmp_path: Path) -> None:
    terms = {"k": 2, "suppression_limit": 0.5}
    rows = compared(tmp_path, changed(*GENERALIZATION, "k_anonymity", to=terms))
    assert rows["k-anonymity"].k is None
    for one in rows.values():
        assert figures(one).generalization.k_anonymity is not None
        assert one.document()["k_anonymity"]["metric"] == "loss"
    assert figures(rows["no-attack-partition"]).left_out == pytest.approx(1 / 3)


def test_a_policy_that_cannot_be_played_says_why_and_stops_no_other(tmp_path: Path) -> None:
    """With a gain of 600 groups of 60 would be needed; there are 27 people, and 6 records."""
    rows = compared(tmp_path, gain(600), WHOLE_CELLS)
    reasons = {name: one.because for name, one in rows.items() if one.figures is None}
    assert set(reasons) == {
        "k-anonymity",
        "no-attack",
        "no-attack-common",
        "no-attack-partition",
        "no-attack-remainder",
        "fmdp-partition",
        "fmdp-remainder",
    }
    assert "at most 6 records, got 60" in reasons["k-anonymity"]
    assert "at least 60 people" in reasons["no-attack"]
    assert "at least 60 people" in reasons["no-attack-partition"]
    assert rows["no-attack-partition"].chosen
    document = rows["no-attack-partition"].document()
    assert document["not_played"] == reasons["no-attack-partition"]
    assert "publisher_payoff" not in document
    assert figures(rows["basic"]).outcome.publisher_payoff > 0


@pytest.fixture
def _few_steps(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Plans on more than a hundred candidates are taken to need too long."""
    exploiting._table.cache_clear()
    monkeypatch.setattr(exploiting, "_MOST_STEPS", 1e4)
    yield
    exploiting._table.cache_clear()


@pytest.mark.slow
@pytest.mark.usefixtures("_few_steps")
def test_a_plan_that_cannot_be_solved_leaves_the_other_figures(tmp_path: Path) -> None:
    """With a hundred times the people, a cheap attempt and a fine, groups past a hundred are worth an attempt."""
    fined = {"id": "D-1", "expires": "2030-01-01", "penalty": 1, "detection_rate": 0.01}

    def fine(document: dict[str, Any]) -> None:
        document["recipients"][0]["agreement"] = fined
        document["recipients"][0]["stakes"]["cost"] = 0.04

    more = POPULATION.splitlines(keepends=True)
    people = "".join([more[0], *(line.replace("\n", "00\n") for line in more[1:])])
    rows = compared(tmp_path, fine, population=people)
    found = figures(rows["basic"])
    assert found.planned is None
    assert "reasonable time" in found.unplanned
    assert found.outcome.publisher_payoff > 0
    document = rows["basic"].document()
    assert (document["p_reid"], document["planned_payoff"]) == (None, None)
    assert document["not_planned"] == found.unplanned
    assert "reasonable time" in rows["fmdp-partition"].because


def test_a_partition_too_wide_to_count_is_refused_and_remainder_classes_tell_their_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory for no cube and no list of cells; the bound may be above what is best, never below."""
    exact = compared(tmp_path)
    monkeypatch.setattr("tasks.generalization.methods.partitions._SPARSE_AT_LEAST", 0)
    loaded = tiny_request(tmp_path)
    prepared = tiny_prepared(loaded)
    table = replace(game_table(loaded.request, prepared), memory_limit=1)
    found = {one.policy: one for one in Comparison(loaded.request, prepared, table).of(loaded.request.recipients[0])}
    for name in ("basic-partition", "no-attack-partition", "fmdp-partition-basic", "fmdp-partition"):
        assert "whole cells" in found[name].because
    for name in ("no-attack-remainder", "fmdp-remainder"):
        classes, whole = figures(found[name]).division, figures(exact[name.replace("remainder", "partition")]).division
        with_cells = figures(exact[name]).division
        assert classes is not None
        assert whole is not None
        assert with_cells is not None
        assert classes.bound is not None
        assert classes.payoff <= with_cells.payoff + DIGITS <= classes.bound + 2 * DIGITS
        assert whole.payoff <= with_cells.payoff + DIGITS
        assert classes.gap == pytest.approx(classes.bound - classes.payoff)
    assert figures(found["basic"]).division is None


def test_the_document_has_everything_unrounded() -> None:
    _, _, rows = clinic()
    for name, one in rows.items():
        document = json.loads(json.dumps(one.document(), allow_nan=False))
        found = figures(one)
        assert document["policy"] == name
        assert document["chosen"] == one.chosen
        assert document["publisher_payoff"] == found.outcome.publisher_payoff
        assert document["claimed"]["publisher_payoff"] == found.claimed.publisher_payoff
        assert document["seconds"] == found.seconds
        assert found.planned is not None
        assert [belief["mean_risk"] for belief in document["p_reid"]] == [
            belief.mean_risk for belief in found.planned.beliefs
        ]
        assert (document["division"] is None) is (found.division is None)


def test_equal_stakes_are_played_once_and_say_the_time_that_took() -> None:
    comparison, recipient, rows = clinic()
    again = {one.policy: one for one in comparison.of(recipient)}
    assert all(figures(again[name]).generalization is figures(one).generalization for name, one in rows.items())
    assert all(figures(again[name]).seconds == figures(one).seconds for name, one in rows.items())

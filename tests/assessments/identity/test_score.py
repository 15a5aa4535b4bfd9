"""All figures of a release, by hand on the tiny request: Safe Harbor, with and without a minimum class size.

Safe Harbor makes three classes of its six records: 370** 88 F has 3 records and 8 people, 370** 89 M has 1 and 4,
37201 90+ M has 2 and 13. Each loses 2·ln 2 of the 2·ln 3 + ln 6 + ln 2 there are. Groups below 6 people are attacked.
"""

from dataclasses import replace
from math import log
from pathlib import Path

import numpy as np
import pytest

from tasks.assessments.identity.assessment import IdentityAssessment
from tasks.assessments.identity.score import Score, score
from tasks.core.errors import StageFailed
from tasks.generalization.game.zip3 import zip_table
from tasks.generalization.generalize import generalize
from tasks.generalization.setting import game_table, payoffs_of, weights_of
from tasks.request.measures import ESTIMATED
from tasks.request.model import Measure, Method
from tests.support.tiny import WHOLE_CELLS, Change, changed, tiny_prepared, tiny_request
from tests.support.worlds import WITHOUT_TERMS

KEPT = 1 - 2 * log(2) / (2 * log(3) + log(6) + log(2))
SAFE_HARBOR = changed("policy", "generalization", "method", to="safe-harbor")
JOURNALIST = (3 / 8 + 1 / 4 + 2 / 13) / 6


def scored(folder: Path, *changes: Change, compare: tuple[Method, ...] = tuple(Method)) -> Score:
    loaded = tiny_request(folder, *changes)
    request, recipient = loaded.request, loaded.request.recipients[0]
    prepared = tiny_prepared(loaded)
    table = game_table(request, prepared)
    generalization = generalize(table, request.method_for(recipient), payoffs_of(recipient), weights_of(request))
    return score(table, generalization, request, recipient, prepared.distinct_values, compare=compare)


def minimum(size: int) -> Change:
    return changed("policy", "generalization", "minimum_class_size", to=size)


def test_every_figure_that_a_gate_can_judge(tmp_path: Path) -> None:
    figures = scored(tmp_path, SAFE_HARBOR).figures
    own = {one for one in Measure if one.value.partition(".")[0] in IdentityAssessment.families}
    assert set(figures) == own - ESTIMATED  # the file is no sample
    assert figures == pytest.approx(
        {
            Measure.TRANSPARENT_MAXIMUM: 1 / 4,
            Measure.TRANSPARENT_MEAN: JOURNALIST,
            Measure.TRANSPARENT_ATTACKED: 1 / 6,
            Measure.TRANSPARENT_EXPECTED: 1 / 4,
            Measure.PROSECUTOR_MAXIMUM: 1,
            Measure.PROSECUTOR_MEAN: 1 / 2,
            Measure.JOURNALIST_MAXIMUM: 1 / 4,
            Measure.JOURNALIST_MEAN: JOURNALIST,
            Measure.SMALLEST_CLASS: 1,
            Measure.SUPPRESSED_SHARE: 0,
            Measure.INFORMATION_KEPT: KEPT,
            Measure.PUBLISHER_PAYOFF: 90 * KEPT - 60 / 4 / 6,
        }
    )


def test_records_of_small_classes_are_suppressed_and_count_as_nothing_kept(tmp_path: Path) -> None:
    result = scored(tmp_path, SAFE_HARBOR, minimum(2))
    assert result.risk.game.suppressed_records == 1
    assert result.figures == pytest.approx(
        {
            Measure.TRANSPARENT_MAXIMUM: 1 / 8,
            Measure.TRANSPARENT_MEAN: (3 / 8 + 2 / 13) / 5,
            Measure.TRANSPARENT_ATTACKED: 0,
            Measure.TRANSPARENT_EXPECTED: 0,
            Measure.PROSECUTOR_MAXIMUM: 1 / 2,
            Measure.PROSECUTOR_MEAN: 2 / 5,
            Measure.JOURNALIST_MAXIMUM: 1 / 8,
            Measure.JOURNALIST_MEAN: (3 / 8 + 2 / 13) / 5,
            Measure.SMALLEST_CLASS: 2,
            Measure.SUPPRESSED_SHARE: 1 / 6,
            Measure.INFORMATION_KEPT: KEPT * 5 / 6,
            Measure.PUBLISHER_PAYOFF: 90 * KEPT * 5 / 6,
        }
    )


def test_a_minimum_that_leaves_nothing_is_a_block(tmp_path: Path) -> None:
    game = scored(tmp_path, SAFE_HARBOR, minimum(3)).risk.game
    assert (game.suppressed_records, game.suppressed_classes) == (3, 2)
    with pytest.raises(StageFailed, match="every record would be suppressed"):
        scored(tmp_path, SAFE_HARBOR, minimum(4))


def demanding(**terms: object) -> Change:
    return changed("policy", "generalization", "k_anonymity", to=terms)


def test_what_k_anonymity_suppresses_counts_as_nothing_too(tmp_path: Path) -> None:
    """At no cost but its own record, the class of one is left out; to join it to another costs more by any measure."""
    suppressed = scored(tmp_path, SAFE_HARBOR, minimum(2))
    demanded = scored(tmp_path, SAFE_HARBOR, demanding(k=2, suppression_limit=0.2))
    assert demanded.figures == pytest.approx(suppressed.figures)
    assert demanded.risk.game.suppressed_records == 1
    chosen = next(outcome for outcome in demanded.risk.game.outcomes if outcome.chosen)
    assert chosen.information_kept == pytest.approx(KEPT * 5 / 6)
    assert chosen.publisher_payoff == pytest.approx(90 * KEPT * 5 / 6)
    assert chosen.transparent_expected_reidentifications == 0


def test_a_minimum_counts_the_records_that_k_anonymity_leaves(tmp_path: Path) -> None:
    result = scored(tmp_path, SAFE_HARBOR, demanding(k=2, suppression_limit=0.2), minimum(3))
    assert result.risk.game.suppressed_records == 3
    assert result.figures[Measure.SMALLEST_CLASS] == 3


def test_demands_that_leave_nothing_are_a_block(tmp_path: Path) -> None:
    """No five of four colds and two flus are as even as entropy 2-diversity asks for."""
    even = {"attribute": "diagnosis", "kind": "entropy", "l": 2}
    with pytest.raises(StageFailed, match="every record would be suppressed") as caught:
        scored(tmp_path, SAFE_HARBOR, demanding(k=5, suppression_limit=1, diversity=[even]))
    assert caught.value.where == "policy.generalization.k_anonymity"
    with pytest.raises(StageFailed, match="within the suppression limit") as caught:
        scored(tmp_path, SAFE_HARBOR, demanding(k=5, suppression_limit=0.9, diversity=[even]))
    assert "less of the sensitive values" in caught.value.fix


def test_the_payoff_that_is_gated_is_what_an_informed_recipient_leaves(tmp_path: Path) -> None:
    def change(document: dict) -> None:
        document["recipients"][0]["stakes"] = {"benefit": 90, "loss": 60, "cost": 8}

    result = scored(tmp_path, changed("policy", "generalization", "method", to="no-attack"), change)
    # Groups from 8 people are safe. 37010 89 M is released among 12 people, of whom 4 are released so, and
    # 37201 93 M among 13, of whom 7 are; so both are attacked in truth.
    game = next(outcome for outcome in result.risk.game.outcomes if outcome.chosen)
    assert game.naive_attacked_share == 0
    assert result.figures[Measure.TRANSPARENT_ATTACKED] == pytest.approx(2 / 6)
    assert result.figures[Measure.TRANSPARENT_EXPECTED] == pytest.approx(1 / 4 + 1 / 7)
    assert game.publisher_payoff == pytest.approx(90 * result.figures[Measure.INFORMATION_KEPT])
    expected = game.publisher_payoff - 60 * (1 / 4 + 1 / 7) / 6
    assert result.figures[Measure.PUBLISHER_PAYOFF] == pytest.approx(expected)


def test_risk_before_and_after(tmp_path: Path) -> None:
    risk = scored(tmp_path, SAFE_HARBOR).risk
    assert risk.initial.prosecutor.mean == pytest.approx(5 / 6)
    assert risk.initial.journalist.mean == pytest.approx((2 / 3 + 1 / 4 + 1 / 5 + 1 / 6 + 1 / 7) / 6)
    assert risk.initial.journalist.maximum == pytest.approx(1 / 3)
    assert (risk.initial.classes, risk.residual.classes) == (5, 3)
    assert risk.residual.prosecutor.mean == pytest.approx(1 / 2)
    assert risk.residual.below_small_cell == 1
    assert risk.transparent.attacked_records == 1
    assert risk.transparent.smallest_effective_group == 4
    assert risk.zip_table is not None
    assert risk.zip_table.sha256 == zip_table().sha256


def test_with_demands_every_method_is_compared_as_it_would_be_released(tmp_path: Path) -> None:
    game = scored(tmp_path, SAFE_HARBOR, demanding(k=3, suppression_limit=0)).risk.game
    assert [outcome.method for outcome in game.outcomes] == [method.value for method in Method]
    without = {outcome.method: outcome for outcome in scored(tmp_path, SAFE_HARBOR).risk.game.outcomes}
    for outcome in game.outcomes:
        before = without.get(outcome.method)
        if before is not None:
            assert outcome.information_kept <= before.information_kept
            assert outcome.mean_generalization >= before.mean_generalization


def test_a_record_of_nobody_in_the_population_is_at_full_risk(tmp_path: Path) -> None:
    loaded = tiny_request(tmp_path, SAFE_HARBOR)
    prepared = tiny_prepared(loaded)
    people = prepared.population
    gone = replace(people, codes=people.codes[1:], counts=people.counts[1:], keys=people.keys[1:])
    table = game_table(loaded.request, replace(prepared, population=gone))
    recipient = loaded.request.recipients[0]
    generalization = generalize(table, Method.SAFE_HARBOR, payoffs_of(recipient), weights_of(loaded.request))
    result = score(table, generalization, loaded.request, recipient, prepared.distinct_values, compare=())
    assert result.risk.initial.journalist.maximum == 1
    assert result.risk.transparent.smallest_effective_group == 4
    assert result.risk.transparent.attacked_records == 4, "370** 88 F has 5 people left"


def test_the_game_as_it_was_played(tmp_path: Path) -> None:
    game = scored(tmp_path, SAFE_HARBOR).risk.game
    assert game.method == "safe-harbor"
    assert game.weights == {"zip": 2.0, "age": 1.0, "sex": 1.0}
    assert (game.lattice_nodes, game.cube_cells, game.cube_form, game.distinct_tuples) == (18, 180, "dense", 5)
    assert [outcome.method for outcome in game.outcomes] == [method.value for method in WITHOUT_TERMS]
    assert [outcome.method for outcome in game.outcomes if outcome.chosen] == ["safe-harbor"]
    by_method = {outcome.method: outcome for outcome in game.outcomes}
    assert by_method["safe-harbor"].publisher_payoff == pytest.approx(90 * KEPT - 60 / 4 / 6)
    assert by_method["no-attack-partition"].transparent_attacked_share == 0


def test_only_the_methods_asked_for_are_compared(tmp_path: Path) -> None:
    game = scored(tmp_path, SAFE_HARBOR, compare=(Method.BASIC, Method.SAFE_HARBOR)).risk.game
    assert [outcome.method for outcome in game.outcomes] == ["basic", "safe-harbor"]


def test_methods_without_a_strategy_are_left_out_of_the_comparison(tmp_path: Path) -> None:
    eager = {"benefit": 90, "loss": 60, "cost": 10, "gain": 270.5}

    def change(document: dict) -> None:
        document["recipients"][0]["stakes"] = eager

    methods = [outcome.method for outcome in scored(tmp_path, SAFE_HARBOR, change).risk.game.outcomes]
    assert methods == ["safe-harbor", "basic", "sh-friendly", "common", "basic-partition"]


def test_fields(tmp_path: Path) -> None:
    fields = {field.name: field for field in scored(tmp_path, SAFE_HARBOR).fields}
    assert list(fields) == ["id", "zip", "age", "sex", "diagnosis"]
    assert {name: field.treatment for name, field in fields.items()} == {
        "id": "removed",
        "zip": "generalized (safe-harbor)",
        "age": "generalized (safe-harbor)",
        "sex": "generalized (safe-harbor)",
        "diagnosis": "released as collected",
    }
    assert {name: field.distinct_values for name, field in fields.items()} == {
        "id": 6,
        "zip": 3,
        "age": 4,
        "sex": 2,
        "diagnosis": 2,
    }
    assert fields["zip"].levels == ("as collected", "level 1", "withheld")
    assert fields["zip"].groups_per_level == (3, 2, 1)
    assert fields["zip"].records_per_level == (2, 4, 0)
    assert fields["zip"].information_kept == pytest.approx(1 - 4 / 6 * log(2) / log(3))
    assert fields["age"].groups_per_level == (6, 3, 1)
    assert fields["age"].records_per_level == (4, 0, 2), "90+ is no level; the least level that covers it is the top"
    assert fields["age"].information_kept == pytest.approx(1 - 2 / 6 * log(4) / log(6))
    assert fields["sex"].information_kept == 1
    assert fields["diagnosis"].levels == ()
    assert fields["diagnosis"].information_kept is None


def test_fields_count_released_records_only(tmp_path: Path) -> None:
    fields = {field.name: field for field in scored(tmp_path, SAFE_HARBOR, minimum(2)).fields}
    assert fields["zip"].records_per_level == (2, 3, 0)
    assert fields["zip"].information_kept == pytest.approx(1 - 3 / 5 * log(2) / log(3))


def test_no_figure_is_anything_but_a_number(tmp_path: Path) -> None:
    for method in Method:
        terms = [] if method in WITHOUT_TERMS else [demanding(k=2)]
        chosen = changed("policy", "generalization", "method", to=method.value)
        figures = scored(tmp_path, chosen, *terms, compare=()).figures
        assert np.isfinite(list(figures.values())).all()


def test_a_budget_counts_what_decoys_take_from_a_copy(tmp_path: Path) -> None:
    limits = changed("policy", "generalization", "budget", to={"suppression": 0.2, "utility_floor": {"age": 0.1}})
    loaded = tiny_request(tmp_path, changed("policy", "generalization", "method", to="basic"), limits)
    request, recipient, prepared = loaded.request, loaded.request.recipients[0], tiny_prepared(loaded)
    table = game_table(request, prepared)
    generalization = generalize(table, Method.BASIC, payoffs_of(recipient), weights_of(request))

    def without(*places: int) -> Score:
        missing = np.isin(np.arange(len(table.data)), places)
        copy = replace(generalization, withheld=missing)
        return score(table, copy, request, recipient, prepared.distinct_values, compare=())

    single = np.flatnonzero(table.data.counts == 1)[:2]
    whole, one = without().risk.game.budget, without(single[0]).risk.game.budget
    assert whole is not None
    assert one is not None
    assert generalization.budget is not None
    assert [limit.used for limit in whole.limits] == pytest.approx(
        [spent.used for spent in generalization.budget.limits]
    )
    age = table.hierarchies[0]
    lost = np.log(age.sizes[generalization.cells[single[0], 0]]) / np.log(age.sizes[-1])
    assert one.limits[0].used == 1
    assert one.limits[1].used == pytest.approx(whole.limits[1].used + 1 - lost)
    assert one.limits[1].kept == pytest.approx(1 - one.limits[1].used / 6)
    with pytest.raises(StageFailed, match="break the budget") as caught:
        without(*single)
    assert caught.value.expected == "suppressed records at most 1.2"


def test_a_copy_without_others_decoys_keeps_the_suppression_limit_or_is_blocked(tmp_path: Path) -> None:
    """Six records, of which a third may be left out; k-anonymity leaves out one, and a class of two more is missing."""
    loaded = tiny_request(tmp_path, SAFE_HARBOR, demanding(k=2, suppression_limit=1 / 3))
    request, recipient = loaded.request, loaded.request.recipients[0]
    prepared = tiny_prepared(loaded)
    table = game_table(request, prepared)
    generalization = generalize(table, Method.SAFE_HARBOR, payoffs_of(recipient), weights_of(request))
    withheld = generalization.withheld
    assert withheld is not None

    def without(*places: int) -> Score:
        missing = withheld | np.isin(np.arange(len(table.data)), places)
        return score(
            table, replace(generalization, withheld=missing), request, recipient, prepared.distinct_values, compare=()
        )

    others = np.flatnonzero(~withheld & (table.data.counts == 1))
    assert without().risk.game.suppressed_records == 1
    assert without(others[0]).risk.game.suppressed_records == 2
    with pytest.raises(StageFailed, match="more records than k-anonymity may suppress") as caught:
        without(*others[:2])
    assert caught.value.where == "policy.generalization.k_anonymity.suppression_limit"
    assert "missing_limit" in caught.value.fix


def test_how_good_a_partition_is_stands_in_the_game(tmp_path: Path) -> None:
    """All of its cells are counted: it is the best. Nothing is said of other methods, nor within a budget."""
    division = scored(tmp_path, WHOLE_CELLS, compare=()).risk.game.division
    assert division is not None
    assert (division.exact, division.gap) == (True, 0)
    assert scored(tmp_path, SAFE_HARBOR, compare=()).risk.game.division is None
    limited = changed("policy", "generalization", "budget", to={"reidentifications": 1})
    game = scored(tmp_path, limited, compare=()).risk.game
    assert game.division is None
    assert game.budget is not None

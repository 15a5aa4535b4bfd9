"""What decoys a release could have, before it is asked for: counted anew, and held against what the stage then does."""

from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest

from tasks.candidate.candidate import Candidate
from tasks.core.errors import ParameterError
from tasks.decoys.decoy_cells import RiskBand
from tasks.decoys.planning import axes_of, copies_to_mark, minimum_class, plan
from tasks.decoys.prospect import LIMITS, MINIMA, ratio_costs, room_table, sampled_rooms, supported
from tasks.request.model import DecoyPolicy
from tests.support.decoyed_copies import copies, generators
from tests.support.decoyed_world import POLICY, STAKES, population_rows, with_decoys
from tests.support.world import recipient

BAND = RiskBand(0.1, 1)
UNIVERSITY = recipient("university", stakes=STAKES)


@cache
def held(
    classes: int = 2, missing_limit: float = 0.1, minimum: int = 1, factors: tuple[float, float] = (0.1, 1)
) -> list[Candidate]:
    terms = {"classes": classes, "minimum_risk_factor": factors[0], "maximum_risk_factor": factors[1]}
    policy = POLICY | {
        "decoys": POLICY["decoys"] | {"missing_limit": missing_limit, "seats": 0},
        "generalization": {"method": "no-attack-partition", "minimum_class_size": minimum},
    }
    return copies(recipients=[with_decoys("clinic", decoys=terms), UNIVERSITY], policy=policy)


def test_room_is_what_counting_the_groups_gives() -> None:
    """Every row again from the tables as text: groups of records, of people, and without records."""
    one = held()
    rows = room_table(one[0], BAND)
    assert {(row.k, row.suppression_limit) for row in rows} == set(product(MINIMA, LIMITS))
    names = one[0].request.quasi_identifiers
    trees = [one[0].prepared.hierarchies[name] for name in names]
    data = [tuple(row) for row in one[0].frame[list(names)].itertuples(index=False)]
    people = [(tuple(row[name] for name in names), int(row["count"])) for row in population_rows()]
    for row in {str(row.levels): row for row in rows}.values():
        levels, k = row.levels, row.k

        def group(values: tuple[str, ...], levels: tuple[int, ...] = levels) -> tuple[str, ...]:
            return tuple(
                tree.labels[level][tree.groups[tree.labels[0].index(value), level]]
                for tree, level, value in zip(trees, levels, values, strict=True)
            )

        records, linked = Counter(map(group, data)), Counter[tuple[str, ...]]()
        for values, count in people:
            linked[group(values)] += count
        released = [cell for cell, count in records.items() if count >= k]
        least = min(linked[cell] for cell in released)
        empty = [count for cell, count in linked.items() if cell not in records]
        assert row.classes == len(released)
        assert row.suppressed_records == sum(count for count in records.values() if count < k)
        assert row.least_linked == least
        assert row.close_to_minimum == sum(k <= records[cell] <= k + -(-k // 10) for cell in released)
        assert row.riskier == sum(k <= count < least for count in empty)
        factors = sorted(least / count for cell, count in linked.items() if cell not in released and k <= count < least)
        assert (
            (row.factors[0], row.factors[-1]) == pytest.approx((factors[0], factors[-1]))
            if factors
            else not row.factors
        )
        assert row.sizes == tuple(
            sum(min(records[cell] // k, 10) == multiple for cell in released) for multiple in range(1, 11)
        )
        assert row.in_band == sum(count >= k and 0.1 <= least / count <= 1 for count in empty)
    assert all(row.suppressed_records <= row.suppression_limit * 900 for row in rows)


def test_samples_of_the_population_spread_around_what_each_gives() -> None:
    """As many people as there are records, drawn without replacement; the same generator gives the same figures."""
    one = held()[0]
    rows = sampled_rooms(one, BAND, np.random.default_rng(1), 6)
    assert rows == sampled_rooms(one, BAND, np.random.default_rng(1), 6)
    assert {(row.k, row.suppression_limit) for row in rows} <= set(product(MINIMA, LIMITS))
    assert all(row.samples == 6 and row.classes.mean > 0 for row in rows)
    assert any(row.classes.deviation > 0 for row in rows)
    by_k = {row.k: row.least_linked.mean for row in rows if row.suppression_limit == 0.15}
    assert by_k[2] < by_k[5] < by_k[50]


def test_settings_that_cannot_be_met_are_left_out() -> None:
    """Of four records no class of five can be made, with or without leaving some of them out."""
    whole, rows = held()[0], np.arange(4)
    few = replace(
        whole,
        prepared=replace(whole.prepared, tuple_of_record=whole.prepared.tuple_of_record[rows]),
    )
    assert {row.k for row in room_table(few, BAND)} == {2}


def test_costs_are_those_of_the_plan() -> None:
    one = held()
    paid = ratio_costs(one, generators)
    assert [cost.ratio for cost in paid] == [1, 2, 4]
    for cost in paid:
        policy = DecoyPolicy(kept_per_decoy=cost.ratio, missing_limit=1.0)
        made = plan(copies_to_mark(one), axes_of(one[0]), policy, minimum_class(one[0]), generators("plan"))
        assert (cost.optimal, cost.proven) == (made.found.worst_missing, True)
        assert cost.why_not == ""


def test_the_limit_of_the_policy_does_not_hide_a_cost() -> None:
    assert ratio_costs(held(missing_limit=0.0), generators) == ratio_costs(held(), generators)


def test_a_ratio_that_cannot_be_had_says_why() -> None:
    (cost,) = ratio_costs(held(), generators, ratios=(90,))
    assert (cost.optimal, cost.proven) == (None, False)
    assert cost.why_not


def worst(one: list[Candidate], number: int) -> int:
    """Records that the worst copy misses if as many recipients get two decoy classes each, and one gets none."""
    first, without = copies_to_mark(one)
    asked = [type(first)(f"r{place}", first.form, first.release, 2, first.band) for place in range(number)]
    policy = DecoyPolicy(kept_per_decoy=1, missing_limit=1.0)
    made = plan([*asked, without], axes_of(one[0]), policy, minimum_class(one[0]), np.random.default_rng(1))
    return max(int(part.release.classes.records[made.missing(part)].sum()) for part in [*asked, without])


def test_as_many_recipients_as_are_said_to_be_supported_get_decoys_and_no_more() -> None:
    one = held(missing_limit=1.0)
    found = supported(one, copies_to_mark(one)[0], generators("offer"))
    assert found.limit == "candidates"
    worst(one, found.recipients)
    with pytest.raises(ParameterError):
        worst(one, found.recipients + 1)


@pytest.mark.slow
def test_a_budget_limits_the_number_to_what_the_plan_then_finds() -> None:
    """36 of 900 records may be missing; whoever has no decoys misses most. The draw is another, so one may differ."""
    tight = held(missing_limit=0.04)
    found = supported(tight, copies_to_mark(tight)[0], generators("offer"))
    assert found.limit == "budget"
    enough = [number for number in range(1, 12) if worst(tight, number) <= 36]
    assert 2 < len(enough) < 11
    assert abs(found.recipients - max(enough)) <= 1


def test_a_budget_for_nobody() -> None:
    nothing = held(missing_limit=0.0)
    found = supported(nothing, copies_to_mark(nothing)[0], generators("offer"))
    assert (found.recipients, found.limit) == (0, "budget")


def test_no_candidate_is_refused() -> None:
    one = held(factors=(9e5, 1e6))
    with pytest.raises(ParameterError, match="no decoy can be made that looks like a real class"):
        supported(one, copies_to_mark(one)[0], generators("offer"))

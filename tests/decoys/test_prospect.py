"""What decoys a release could have, before it is asked for: counted anew, and held against what the stage then does."""

from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest

from tasks.core.errors import ParameterError
from tasks.decoys.candidates import RiskBand
from tasks.decoys.planting import plan
from tasks.decoys.prospect import LIMITS, MINIMA, costs, room, supported
from tasks.decoys.stage import Copies
from tasks.request.model import DecoyPolicy
from tests.support.decoyed_copies import copies, generators
from tests.support.decoyed_world import POLICY, STAKES, population_rows, with_decoys
from tests.support.world import recipient

BAND = RiskBand(0.1, 1)
UNIVERSITY = recipient("university", stakes=STAKES)


@cache
def held(
    classes: int = 2, missing_limit: float = 0.1, minimum: int = 1, factors: tuple[float, float] = (0.1, 1)
) -> Copies:
    terms = {"classes": classes, "minimum_risk_factor": factors[0], "maximum_risk_factor": factors[1]}
    policy = POLICY | {
        "decoys": POLICY["decoys"] | {"missing_limit": missing_limit, "seats": 0},
        "generalization": {"minimum_class_size": minimum},
    }
    return copies(recipients=[with_decoys("clinic", decoys=terms), UNIVERSITY], policy=policy)


def test_room_is_what_counting_the_groups_gives() -> None:
    """Every row again from the tables as text: groups of records, of people, and without records."""
    one = held()
    rows = room(one, BAND)
    assert {(row.setting.minimum, row.setting.suppression_limit) for row in rows} == set(product(MINIMA, LIMITS))
    names = one.request.quasi_identifiers
    trees = [one.prepared.hierarchies[name] for name in names]
    data = [tuple(row) for row in one.frame[list(names)].itertuples(index=False)]
    people = [(tuple(row[name] for name in names), int(row["count"])) for row in population_rows()]
    for row in {str(row.setting.levels): row for row in rows}.values():
        levels, k = row.setting.levels, row.setting.minimum

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
        assert row.room.classes == len(released)
        assert row.room.suppressed_records == sum(count for count in records.values() if count < k)
        assert row.room.least_linked == least
        assert row.room.close_to_minimum == sum(k <= records[cell] <= k + -(-k // 10) for cell in released)
        assert row.room.riskier == sum(k <= count < least for count in empty)
        assert row.room.in_band == sum(count >= k and 0.1 <= least / count <= 1 for count in empty)
    assert all(row.room.suppressed_records <= row.setting.suppression_limit * 900 for row in rows)


def test_settings_that_cannot_be_met_are_left_out() -> None:
    """Of four records no class of five can be made, with or without leaving some of them out."""
    whole, rows = held(), np.arange(4)
    few = replace(
        whole,
        prepared=replace(whole.prepared, tuple_of_record=whole.prepared.tuple_of_record[rows]),
        frame=whole.frame.iloc[rows],
    )
    assert {row.setting.minimum for row in room(few, BAND)} == {3}


def test_costs_are_those_of_the_plan() -> None:
    one = held()
    paid = costs(one, generators)
    assert [cost.ratio for cost in paid] == [1, 2, 4]
    for cost in paid:
        policy = DecoyPolicy(kept_per_decoy=cost.ratio, missing_limit=1.0)
        made = plan(one.asked, one.axes, policy, one.minimum, generators("plan"))
        assert (cost.optimal, cost.proven) == (made.found.worst_missing, True)
        assert cost.why_not == ""


def test_the_limit_of_the_policy_does_not_hide_a_cost() -> None:
    assert costs(held(missing_limit=0.0), generators) == costs(held(), generators)


def test_a_ratio_that_cannot_be_had_says_why() -> None:
    (cost,) = costs(held(), generators, ratios=(90,))
    assert (cost.optimal, cost.proven) == (None, False)
    assert cost.why_not


def worst(one: Copies, number: int) -> int:
    """Records that the worst copy misses if as many recipients get two decoy classes each, and one gets none."""
    first, without = one.asked
    asked = [type(first)(f"r{place}", first.form, first.release, 2, first.band) for place in range(number)]
    policy = DecoyPolicy(kept_per_decoy=1, missing_limit=1.0)
    made = plan([*asked, without], one.axes, policy, one.minimum, np.random.default_rng(1))
    return max(int(part.release.classes.sizes[made.missing_classes[part.recipient]].sum()) for part in made.asked)


def test_as_many_recipients_as_are_said_to_be_supported_get_decoys_and_no_more() -> None:
    one = held(missing_limit=1.0)
    found = supported(one, one.asked[0], generators("offer"))
    assert found.limit == "candidates"
    worst(one, found.recipients)
    with pytest.raises(ParameterError):
        worst(one, found.recipients + 1)


def test_a_budget_limits_the_number_to_what_the_plan_then_finds() -> None:
    """36 of 900 records may be missing; whoever has no decoys misses most. The draw is another, so one may differ."""
    tight = held(missing_limit=0.04)
    found = supported(tight, tight.asked[0], generators("offer"))
    assert found.limit == "budget"
    enough = [number for number in range(1, 12) if worst(tight, number) <= 36]
    assert 2 < len(enough) < 11
    assert abs(found.recipients - max(enough)) <= 1


def test_a_budget_for_nobody() -> None:
    nothing = held(missing_limit=0.0)
    found = supported(nothing, nothing.asked[0], generators("offer"))
    assert (found.recipients, found.limit) == (0, "budget")


def test_no_candidate_is_refused() -> None:
    one = held(factors=(9e5, 1e6))
    with pytest.raises(ParameterError, match="no candidate that looks like a real class"):
        supported(one, one.asked[0], generators("offer"))

"""Recipients who compare and drop what stands alone: they go unnamed, at a price that is stated and can be raised."""

import numpy as np
import pytest

from tasks.core.errors import ParameterError
from tasks.decoys.collusion import collusion
from tasks.decoys.stage import plant
from tasks.decoys.tracing import incident_of_cells, trace
from tests.decoys.test_decoy_stage import FIRST, asked
from tests.support.decoy_tables import of_same_origin
from tests.support.decoy_world import rows_of, world
from tests.support.decoyed_copies import generators


def test_who_drops_what_stands_alone_is_not_named_and_loses_what_is_stated() -> None:
    made = world()
    first, second = (copy.classes for copy in made.held[:2])
    alone = ~of_same_origin(first.cells, second.cells, made.axes)
    whole = incident_of_cells(rows_of(first), made.axes, "rows")
    assert trace(made.manifest, made.axes, whole, made.population).named == (made.recipients[0],)
    rest = incident_of_cells(rows_of(first.take(~alone)), made.axes, "rows")
    found = trace(made.manifest, made.axes, rest, made.population)
    assert (found.named, found.suspected) == ((), ())
    pair = collusion(made.held[:2], made.axes, np.random.default_rng(1))
    shares = [
        one.records[~of_same_origin(one.cells, other.cells, made.axes)].sum() / one.records.sum()
        for one, other in ((first, second), (second, first))
    ]
    assert pair[0].evasion == 0, "who compares nothing drops nothing"
    assert min(shares) - 0.001 < pair[1].evasion <= min(shares)


@pytest.mark.slow
def test_a_policy_can_ask_for_a_price() -> None:
    plain = plant(asked(), FIRST, None, generators)
    before = plain.facts["clinic"].collusion[1].evasion
    dear = plant(asked(evasion_cost=2 * before, missing_limit=0.5), FIRST, None, generators)
    fact = dear.facts["clinic"]
    assert fact.collusion[1].evasion >= 2 * before - 0.001
    assert fact.kept_per_decoy > plain.facts["clinic"].kept_per_decoy
    assert dear.manifest.ratio == fact.kept_per_decoy
    assert fact.planned_probability == 1 / (1 + fact.kept_per_decoy)


def test_a_price_that_cannot_be_had_is_refused_with_the_one_that_can() -> None:
    with pytest.raises(ParameterError, match="as costly to evade") as refusal:
        plant(asked(evasion_cost=0.9), FIRST, None, generators)
    assert "at most 0.0" in refusal.value.got

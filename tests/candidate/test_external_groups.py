"""Candidates of the records in the external data, by hand: with a register, and with a share of the population."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.adversary.group_sizes import expected_listed
from tasks.candidate.groups import (
    Groups,
    collected_groups,
    collected_profile,
    groups,
    recipient_profile,
    released_groups,
)
from tasks.generalization.game.count_index import CountIndex, Generalization
from tasks.generalization.generalize import generalize
from tasks.request.model import AdversaryTerms, Method, ReleaseRequest
from tests.support.examples import examples
from tests.support.explaining import table
from tests.support.slow import best_strategy, cell_of, informed
from tests.support.tiny import tiny_document
from tests.support.worlds import World, worlds

LISTED = np.array([4, 0, 30, 40])
"""Of the 10, 20, 30 and 40 people with the values a, b, c and d."""


def as_lists(found: Groups) -> tuple[list[int], list[float], list[int], int]:
    return found.candidates.tolist(), found.densities.tolist(), found.records.tolist(), found.external_size


def generalization(on: CountIndex) -> Generalization:
    """Groups of 25 people are safe: a and b are released as one group of 30, c and d as they are."""
    from tasks.generalization.game.payoffs import Payoffs

    payoffs = Payoffs(benefit=100.0, loss=100.0, gain=100.0, cost=4.0)
    return generalize(on, Method.NO_ATTACK_PARTITION, payoffs, np.ones(1))


def test_records_as_collected_by_a_share_of_the_population() -> None:
    assert as_lists(collected_groups(table(), 0.5)) == ([5, 10, 15, 20], [0.1, 0.2, 0.3, 0.4], [1, 1, 1, 1], 50)


def test_candidates_are_rounded_up_and_at_least_one() -> None:
    assert as_lists(collected_groups(table(), 0.25))[0] == [3, 5, 8, 10]
    assert as_lists(collected_groups(table(), 0.1))[0] == [1, 2, 3, 4], "0.1·30 is 3, whatever its binary digits"
    assert as_lists(collected_groups(table(), 0.001)) == ([1, 1, 1, 1], [0.1, 0.2, 0.3, 0.4], [1] * 4, 1)
    assert [expected_listed(prior, 101) for prior in (0.001, 0.01, 0.5, 0.999)] == [1, 1, 50, 101]


def test_records_as_collected_by_a_register() -> None:
    registered = replace(table(), listed=LISTED)
    assert as_lists(collected_groups(registered, 0.5)) == ([4, 0, 30, 40], [0.1, 0.2, 0.3, 0.4], [1, 1, 1, 1], 74)


def test_released_records() -> None:
    for listed, candidates, external in ((None, [15, 15, 15, 20], 50), (LISTED, [4, 4, 30, 40], 74)):
        on = replace(table(), listed=listed)
        found = released_groups(on, generalization(on), np.full(4, True), 0.5)
        assert as_lists(found) == (candidates, [0.3, 0.3, 0.3, 0.4], [1, 1, 1, 1], external)


def test_suppressed_records_are_not_there() -> None:
    on = replace(table(records={("a",): 3, ("b",): 1, ("d",): 2}), listed=LISTED)
    kept = np.array([True, False, True])
    assert as_lists(released_groups(on, generalization(on), kept, 0.5)) == ([4, 40], [0.3, 0.4], [3, 2], 74)


def test_a_record_of_nobody_in_the_population() -> None:
    """By a share of the population one candidate is assumed to be there; in a register nobody is."""
    few = table(people={("a",): 10, ("c",): 30}, records={("a",): 1, ("b",): 1})
    assert as_lists(collected_groups(few, 0.5)) == ([5, 1], [0.25, 0], [1, 1], 20)
    registered = replace(few, listed=np.array([2, 30]))
    assert as_lists(collected_groups(registered, 0.5)) == ([2, 0], [0.25, 0], [1, 1], 32)


def test_a_group_of_which_nobody_is_listed() -> None:
    on = replace(table(), listed=np.array([0, 0, 30, 40]))
    assert as_lists(released_groups(on, generalization(on), np.full(4, True), 0.5))[0] == [0, 0, 30, 40]


def test_sizes_as_given() -> None:
    people, records = np.array([30, 40]), np.array([2, 1])
    assert as_lists(groups(table(), people, None, records, 0.1)) == ([3, 4], [0.3, 0.4], [2, 1], 10)
    registered = replace(table(), listed=LISTED)
    assert as_lists(groups(registered, people, np.array([7, 0]), records, 0.1)) == ([7, 0], [0.3, 0.4], [2, 1], 74)


@given(world=worlds(max_attributes=2), prior=st.sampled_from([0.2, 0.5, 0.99]), data=st.data())
@settings(max_examples=examples(25), deadline=None)
def test_candidates_are_the_listed_people_whose_own_cell_it_is(world: World, prior: float, data: st.DataObject) -> None:
    """Against plain loops over people, for a method whose cells overlap."""
    base = table(world.rows, world.people, world.records)
    order = [
        tuple(tree.labels[0][leaf] for tree, leaf in zip(base.hierarchies, codes, strict=True))
        for codes in base.population.codes
    ]
    register = {values: data.draw(st.integers(0, world.people[values])) for values in order}
    on = replace(base, listed=np.array([register[values] for values in order]))
    weights = np.array(world.weights)
    outcome = generalize(on, Method.BASIC, world.payoffs, weights)

    def own(values: tuple[str, ...]) -> tuple[frozenset[str], ...]:
        levels, _ = best_strategy(world, values)
        assert levels is not None
        return cell_of(world, values, levels)

    names = [
        tuple(tree.labels[0][leaf] for tree, leaf in zip(base.hierarchies, codes, strict=True))
        for codes in base.data.codes
    ]
    kept = np.full(len(names), True)
    people = [informed(world, own)(own(values)) for values in names]
    listed = informed(World(world.rows, register, world.records, world.payoffs, world.weights), own)
    by_register = released_groups(on, outcome, kept, prior)
    assert by_register.candidates.tolist() == [listed(own(values)) for values in names]
    by_share = released_groups(base, generalize(base, Method.BASIC, world.payoffs, weights), kept, prior)
    assert by_share.candidates.tolist() == [max(math.ceil(prior * max(number, 1) - 1e-9), 1) for number in people]
    assert by_share.densities.tolist() == pytest.approx([number / sum(world.people.values()) for number in people])
    assert by_share.records.tolist() == [world.records[values] for values in names]


def test_before_has_the_prior_of_its_own_groups() -> None:
    """Of ten people of the first group the register lists four, of a released group fewer; a declared prior stands."""
    on = replace(table(), listed=np.array([4, 0, 3, 4]))
    recipient = ReleaseRequest.model_validate(tiny_document()).recipients[0]
    assert collected_profile(recipient, on).prior == 0.4
    assert recipient_profile(recipient, generalization(on), np.full(4, True)).profile.prior == pytest.approx(4 / 30)
    declared = recipient.model_copy(update={"adversary": AdversaryTerms(prior=0.6)})
    assert collected_profile(declared, on).prior == 0.6
    lower = recipient.model_copy(update={"adversary": AdversaryTerms(prior=0.2)})
    assert collected_profile(lower, on).prior == 0.4
    assert collected_profile(lower, table()).prior == 0.2

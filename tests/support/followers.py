"""Followers of the game for small random worlds: planning recipients, and several recipients of one representation."""

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from tasks.adversary.profile import AdversaryProfile
from tasks.generalization.game.payoffs import Follower, Payoffs
from tasks.generalization.game.sequential_follower import Belief, SequentialFollower
from tasks.generalization.game.shared_follower import SharedFollower
from tests.support.worlds import World, stakes, worlds


def one_attempt(payoffs: Payoffs, *, discount: float = 1.0, population: int = 1_000_000) -> SequentialFollower:
    """Who plans under terms that leave him one attempt: detection is certain to be noticed, and dear, from the second
    on."""
    profile = AdversaryProfile(
        gain=payoffs.gain / discount,
        penalty=3 * payoffs.gain / discount,
        access_cost=0,
        link_cost=0,
        exploit_cost=payoffs.cost,
        prior=1 - 1e-15,
        detection_intercept=-700,
        detection_slope=700,
        discount=discount,
    )
    return SequentialFollower(payoffs.benefit, payoffs.loss, profile, population)


@st.composite
def sequential(draw: st.DrawFn, population: int) -> SequentialFollower:
    """Recipients whose attacks end at group sizes of a small world."""
    gain = float(draw(st.integers(20, 400)))
    profile = AdversaryProfile(
        gain=gain,
        penalty=gain * draw(st.sampled_from([0.0, 0.5, 1.0, 5.0])),
        access_cost=gain * draw(st.sampled_from([0.0, 0.02, 0.2])),
        link_cost=gain * draw(st.sampled_from([0.0, 0.01])),
        exploit_cost=gain * draw(st.sampled_from([0.01, 0.04, 0.1])),
        prior=draw(st.sampled_from([0.3, 0.63, 0.88, 0.99])),
        detection_intercept=draw(st.sampled_from([-6.0, -4.6, -2.0, 0.0])),
        detection_slope=draw(st.sampled_from([0.0, 0.2, 4.0])),
        max_penalties=draw(st.sampled_from([None, 1, 2])),
        discount=draw(st.sampled_from([1.0, 0.9])),
        confirmation=draw(st.sampled_from([1.0, 0.7])),
    )
    benefit, loss = float(draw(st.integers(10, 300))), float(draw(st.integers(1, 300)))
    return SequentialFollower(benefit, loss, profile, population, draw(st.sampled_from(Belief)))


def single(population: int) -> st.SearchStrategy[Follower]:
    """One recipient of either kind."""
    return st.one_of(stakes(), sequential(population))


@st.composite
def shared(draw: st.DrawFn, population: int) -> SharedFollower:
    """Up to three recipients of any kinds: together, of one benefit, or types."""
    members = draw(st.lists(single(population), min_size=1, max_size=3))
    way = draw(st.sampled_from(["together", "published", "types"]))
    if way == "together":
        return SharedFollower.together(members)
    if way == "published":
        return SharedFollower(100.0, tuple(members), (1.0,) * len(members))
    parts = draw(st.lists(st.integers(1, 5), min_size=len(members), max_size=len(members)))
    return SharedFollower.types(members, [part / sum(parts) for part in parts])


@st.composite
def worlds_with_followers(draw: st.DrawFn, max_attributes: int = 3) -> World:
    """A world whose recipient plans, or has others beside him."""
    world = draw(worlds(max_attributes=max_attributes))
    people = sum(world.people.values())
    return replace(world, payoffs=draw(st.one_of(sequential(people), shared(people))))


def attacked_everywhere(world: World) -> bool:
    """Whether every cell that somebody is in, of any strategy, is attacked."""
    sizes = np.unique(world.problem().people.counts)
    return bool(world.payoffs.attacked(sizes[sizes > 0]).all())

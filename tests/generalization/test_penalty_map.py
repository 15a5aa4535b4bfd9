"""The publisher's payoff over penalty and detection: each point as if it were played alone."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.adversary.planning.terms import Term, with_term
from tasks.core.errors import ParameterError, StageFailed
from tasks.generalization.penalty_map import penalty_map
from tasks.generalization.play import play
from tasks.generalization.sequential_follower import SequentialFollower
from tasks.request.model import Method
from tests.support.adversary_profiles import CASE_STUDY
from tests.support.examples import examples
from tests.support.followers import sequential
from tests.support.played import table_of
from tests.support.worlds import World, worlds

METHODS = (Method.BASIC, Method.NO_ATTACK, Method.BASIC_PARTITION, Method.NO_ATTACK_PARTITION)
PENALTIES, DETECTIONS = np.array([0.0, 50.0, 5000.0]), np.array([0.01, 0.4])
MEBIBYTE = 2**20


@settings(deadline=None, max_examples=examples(15))
@given(world=worlds(max_attributes=2), method=st.sampled_from(METHODS), data=st.data())
def test_each_point_as_if_played_alone(world: World, method: Method, data: st.DataObject) -> None:
    weights = np.array(world.weights)
    follower = data.draw(sequential(sum(world.people.values())))
    table = table_of(world, (0,) * len(world.rows), MEBIBYTE)
    found = penalty_map(table, method, follower, weights, penalties=PENALTIES, detections=DETECTIONS)
    assert 1 <= found.games <= found.publisher.size
    records, total = table.data.counts, table.data.total
    for row, penalty in enumerate(PENALTIES):
        for column, detection in enumerate(DETECTIONS):
            profile = with_term(with_term(follower.profile, Term.DETECTION, detection), Term.PENALTY, penalty)
            alone, at = replace(follower, profile=profile), (row, column)
            try:
                played = play(table_of(world, (0,) * len(world.rows), MEBIBYTE), method, alone, weights)
            except StageFailed:
                assert np.isnan(found.publisher[at])
                continue
            payoff = alone.publisher(alone.benefit * played.kept, played.effective)
            assert found.publisher[at] == pytest.approx(records @ payoff / total)
            assert found.attacked[at] == pytest.approx(records @ alone.attacked(played.effective) / total)
            assert found.recipient[at] == pytest.approx(records @ alone.adversary(played.effective) / total)
            assert found.information_kept[at] == pytest.approx(records @ played.kept / total)
            assert found.safe_group[at] == alone.safe_group


def test_a_higher_penalty_never_costs_the_publisher(pair_world: World) -> None:
    # Its records are its people, so that what a partition maximises is the mean over the records.
    world = replace(pair_world, records=pair_world.people)
    follower = SequentialFollower(90, 60, _planner(gain=60.0, cost=1.0), population=10)
    penalties = np.array([0.0, 50.0, 500.0, 5000.0])
    for method in (Method.BASIC_PARTITION, Method.NO_ATTACK_PARTITION):
        pays = penalty_map(
            table_of(world, (0, 0), MEBIBYTE),
            method,
            follower,
            np.ones(2),
            penalties=penalties,
            detections=np.array([0.1]),
        ).publisher[:, 0]
        pays = pays[np.isfinite(pays)]
        assert (np.diff(pays) >= -1e-9).all()
        assert pays[-1] == 90
        assert pays[0] <= 60


def test_without_a_penalty_detection_changes_nothing(pair_world: World) -> None:
    follower = SequentialFollower(90, 60, replace(_planner(gain=60.0, cost=10.0), penalty=0.0), population=10)
    table = table_of(pair_world, (0, 0), MEBIBYTE)
    found = penalty_map(
        table, Method.BASIC, follower, np.ones(2), penalties=np.array([0.0]), detections=np.array([0.3, 0.01, 0.1])
    )
    assert found.games == 1
    assert found.own.publisher == found.publisher[0, 0]
    assert found.detections.tolist() == [0.01, 0.1, 0.3]
    assert len(set(found.publisher.ravel().tolist())) == 1


def test_records_of_small_classes_are_suppressed(pair_world: World) -> None:
    follower = SequentialFollower(90, 60, _planner(gain=60.0, cost=10.0), population=10)
    world = replace(pair_world, records=pair_world.people)
    table = table_of(world, (0, 0), MEBIBYTE)
    grid = {"penalties": np.array([5000.0]), "detections": np.array([0.1])}
    sizes = table.data.counts
    least = int(sizes.max())
    assert sizes.min() < least
    found = penalty_map(table, Method.BASIC, follower, np.ones(2), minimum_class_size=least, **grid)
    assert found.safe_group[0, 0] == 1, "everything is released as it is"
    assert found.publisher[0, 0] == pytest.approx(90 * sizes[sizes == least].sum() / sizes.sum())
    nothing = penalty_map(table, Method.BASIC, follower, np.ones(2), minimum_class_size=least + 1, **grid)
    assert np.isnan(nothing.publisher[0, 0])
    assert np.isnan(nothing.own.publisher)
    assert nothing.safe_group[0, 0] == nothing.own.safe_group == 1


def test_detection_must_be_a_probability(pair_world: World) -> None:
    follower = SequentialFollower(90, 60, _planner(gain=60.0, cost=10.0), population=10)
    table = table_of(pair_world, (0, 0), MEBIBYTE)
    for wrong in ([], [0.0], [0.5, 1.0]):
        with pytest.raises(ParameterError, match="not a probability"):
            penalty_map(
                table, Method.BASIC, follower, np.ones(2), penalties=np.array([1.0]), detections=np.array(wrong)
            )


def _planner(gain: float, cost: float):
    return replace(CASE_STUDY, gain=gain, exploit_cost=cost, access_cost=0.0, prior=0.99)

"""From a request and its prepared data to table, stakes and weights."""

from pathlib import Path

import numpy as np
import pytest

from tasks.core.errors import RequestError, StageFailed
from tasks.generalization.constraints.closeness import TCloseness
from tasks.generalization.constraints.constraint import ValueConstraint
from tasks.generalization.constraints.diversity import DistinctDiversity, EntropyDiversity, RecursiveDiversity
from tasks.generalization.constraints.k_map import KMap
from tasks.generalization.generalize import generalize
from tasks.generalization.kanonymity.metrics import Metric
from tasks.generalization.setting import check_setting, game_table, payoffs_of, weights_of
from tasks.request.model import Method, MissingReading, ReleaseRequest, Stakes
from tests.support.tiny import DATA, Change, changed, tiny_prepared, tiny_request


def test_the_gain_is_the_loss_where_the_request_does_not_say(tmp_path: Path) -> None:
    recipient = tiny_request(tmp_path).request.recipients[0]
    payoffs = payoffs_of(recipient)
    assert (payoffs.benefit, payoffs.loss, payoffs.gain, payoffs.cost) == (90, 60, 60, 10)
    eager = recipient.model_copy(update={"stakes": Stakes(benefit=90, loss=60, cost=10, gain=500)})
    assert payoffs_of(eager).gain == 500


def test_weights_follow_the_policy(tmp_path: Path) -> None:
    def weights(preset: str) -> list[float]:
        request = tiny_request(tmp_path, changed("policy", "generalization", "information_loss", to=preset))
        return weights_of(request.request).tolist()

    assert weights("declared") == [2.0, 1.0, 1.0]
    assert weights("printed") == [1.0, 1.0, 1.0]
    assert weights("table7") == [1.0, 1.0, 0.0]


def test_table_has_the_attributes_in_the_order_of_the_request(tmp_path: Path) -> None:
    loaded = tiny_request(tmp_path)
    request: ReleaseRequest = loaded.request
    prepared = tiny_prepared(loaded)
    table = game_table(request, prepared)
    assert [tree.name for tree in table.hierarchies] == ["zip", "age", "sex"] == list(request.quasi_identifiers)
    assert [axis.extra_labels for axis in table.safe_harbor] == [(), ("90+",), ()]
    assert table.memory_limit == 1024 * 2**20
    np.testing.assert_array_equal(table.data.counts, prepared.data.counts)


def test_a_setting_that_stops_every_game_is_found_before_one_is_played(tmp_path: Path) -> None:
    good = tiny_request(tmp_path)
    prepared = tiny_prepared(good)
    check_setting(good.request, prepared)
    idle = [changed("attributes", name, "weight", to=0) for name in ("zip", "age", "sex")]
    with pytest.raises(RequestError, match="no quasi-identifier counts"):
        check_setting(tiny_request(tmp_path, *idle).request, prepared)
    with pytest.raises(RequestError, match="ages in years"):
        check_setting(tiny_request(tmp_path, changed("attributes", "sex", "safe_harbor", to="age")).request, prepared)


def _demanding(**terms: object) -> Change:
    return changed("policy", "generalization", "k_anonymity", to=terms)


def test_demands_are_those_of_the_request(tmp_path: Path) -> None:
    plain = tiny_request(tmp_path)
    assert game_table(plain.request, tiny_prepared(plain)).demands is None
    loaded = tiny_request(
        tmp_path,
        _demanding(
            k=2,
            suppression_limit=0.25,
            metric="non-uniform entropy",
            people=3,
            diversity=[
                {"attribute": "diagnosis", "l": 2},
                {"attribute": "diagnosis", "kind": "entropy", "l": 2},
                {"attribute": "diagnosis", "kind": "recursive", "l": 2, "c": 3},
            ],
            closeness=[{"attribute": "diagnosis", "t": 0.5}],
            local_recoding=True,
        ),
    )
    prepared = tiny_prepared(loaded)
    demands = game_table(loaded.request, prepared).demands
    assert demands is not None
    assert (demands.k, demands.suppression_limit, demands.local_recoding) == (2, 0.25, True)
    assert demands.metric is Metric.NON_UNIFORM_ENTROPY
    kinds = [DistinctDiversity, EntropyDiversity, RecursiveDiversity, TCloseness]
    k_map, *others = demands.constraints
    assert k_map == KMap(None, 3)
    assert [type(one) for one in others] == kinds
    for one in others:
        assert np.asarray(one.sensitive).tolist() == [0, 1, 0, 1, 0, 0]
    assert demands.tuple_of_record is prepared.tuple_of_record


@pytest.mark.parametrize(
    ("terms", "what", "fix"),
    [
        ({"k": 7}, "larger than the file", "release more records"),
        ({"k": 2, "people": 28}, "so many people", "larger population"),
        ({"k": 2, "diversity": [{"attribute": "diagnosis", "l": 3}]}, "so many sensitive values", "less diversity"),
    ],
)
def test_what_no_class_can_have_is_refused_before_a_game(
    tmp_path: Path, terms: dict[str, object], what: str, fix: str
) -> None:
    loaded = tiny_request(tmp_path, _demanding(**terms))
    prepared = tiny_prepared(loaded)
    with pytest.raises(RequestError, match=what) as caught:
        check_setting(loaded.request, prepared)
    assert fix in caught.value.fix
    assert caught.value.where.startswith("policy.generalization.k_anonymity.")
    recipient = loaded.request.recipients[0]
    with pytest.raises(StageFailed):
        generalize(
            game_table(loaded.request, prepared), Method.BASIC, payoffs_of(recipient), weights_of(loaded.request)
        )


@pytest.mark.parametrize("reading", MissingReading)
def test_missing_sensitive_values_are_read_as_the_policy_says(tmp_path: Path, reading: MissingReading) -> None:
    """Values flu and cold, and one missing: three only where it is one of its own."""
    data = DATA.replace("3,37010,89,M,flu", "3,37010,89,M,")
    three = _demanding(
        k=2, diversity=[{"attribute": "diagnosis", "l": 3}], closeness=[{"attribute": "diagnosis", "t": 0.5}]
    )
    loaded = tiny_request(tmp_path, three, changed("policy", "missing", "sensitive", to=reading), data=data)
    prepared = tiny_prepared(loaded)
    demands = game_table(loaded.request, prepared).demands
    assert demands is not None
    own = reading is MissingReading.OWN_GROUP
    assert [one.missing for one in demands.constraints if isinstance(one, ValueConstraint)] == [None if own else 2] * 2
    if own:
        check_setting(loaded.request, prepared)
        return
    with pytest.raises(RequestError, match="so many sensitive values") as caught:
        check_setting(loaded.request, prepared)
    assert "at most the 2 distinct values" in caught.value.expected


def test_as_much_as_a_class_can_have_passes(tmp_path: Path) -> None:
    terms = {"k": 6, "people": 27, "diversity": [{"attribute": "diagnosis", "l": 2}]}
    loaded = tiny_request(tmp_path, _demanding(**terms))
    prepared = tiny_prepared(loaded)
    check_setting(loaded.request, prepared)
    recipient = loaded.request.recipients[0]
    table = game_table(loaded.request, prepared)
    generalization = generalize(table, Method.BASIC, payoffs_of(recipient), weights_of(loaded.request))
    assert generalization.withheld is None
    assert generalization.people.tolist() == generalization.effective.tolist() == [27] * len(table.data)

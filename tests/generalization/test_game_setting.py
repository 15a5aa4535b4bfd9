"""From a request and its prepared data to table, stakes and weights."""

from pathlib import Path

import numpy as np
import pytest

from tasks.errors import RequestError
from tasks.generalization.setting import check_setting, game_table, payoffs_of, weights_of
from tasks.request.model import ReleaseRequest, Stakes
from tests.support.tiny import changed, tiny_prepared, tiny_request


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

"""The game over one record, against counting people by hand: V 90, L 60, c 10, so that six people are safe."""

from itertools import product
from math import log
from pathlib import Path

import numpy as np
import pytest

from tasks.assessments.identity.record_game import FACTORS, RecordGame, record_game
from tasks.candidate.candidate import CandidateSource
from tasks.microdata.prepared import prepare
from tasks.microdata.read import read_microdata
from tests.support.tiny import Change, changed, tiny_request

PEOPLE = {
    ("37010", 88, "F"): 3,
    ("37010", 89, "M"): 4,
    ("37011", 88, "F"): 5,
    ("37201", 90, "M"): 6,
    ("37201", 91, "F"): 2,
    ("37201", 93, "M"): 7,
}
RECORD = ("37010", 88, "F")
FULL = 2 * log(3) + log(6) + log(2)
BASIC = changed("policy", "generalization", to={"method": "basic", "adversary": "one-shot"})


def game_of(folder: Path, row: int, *changes: Change) -> RecordGame:
    loaded = tiny_request(folder, *changes)
    frame = read_microdata(loaded.resolve(loaded.request.dataset.path, "dataset.path"), loaded.request)
    source = CandidateSource(loaded.request, prepare(loaded, frame), frame, lambda _: np.random.default_rng(3))
    return record_game(source.candidate(loaded.request.recipients[0]), row)


def by_hand(benefit: float, loss: float) -> dict[tuple[int, int, int], tuple[float, int, bool]]:
    """Payoff, people and attack of each strategy, by level of ZIP code, age and sex."""
    found = {}
    for levels in product(range(3), range(3), range(2)):
        width = (1, 2, 6)[levels[1]]
        start = 88 + (RECORD[1] - 88) // width * width
        prefix = (5, 3, 0)[levels[0]]
        people = sum(
            count
            for (code, age, sex), count in PEOPLE.items()
            if code[:prefix] == RECORD[0][:prefix]
            and start <= age < start + width
            and (levels[2] == 1 or sex == RECORD[2])
        )
        lost = 2 * log((1, 2, 3)[levels[0]]) + log(width) + log((1, 2)[levels[2]])
        attacked = loss / people > 10
        found[levels] = benefit * (1 - lost / FULL) - (loss / people if attacked else 0), people, attacked
    return found


def test_every_strategy_by_hand(tmp_path: Path) -> None:
    game = game_of(tmp_path, 0, BASIC)
    expected = by_hand(90, 60)
    assert (game.row, game.alike, game.is_released) == (1, 2, True)
    assert len(game.strategies) == len(expected)
    for one in game.strategies:
        payoff, people, attacked = expected[one.levels["zip"], one.levels["age"], one.levels["sex"]]
        assert (one.publisher, one.people, one.attacked) == (pytest.approx(payoff), people, attacked)
        assert one.reidentified == pytest.approx(1 / people if attacked else 0)
        assert one.adversary == pytest.approx(max(60 / people - 10, 0))
    payoffs = [one.publisher for one in game.strategies]
    assert payoffs == sorted(payoffs, reverse=True)
    (released,) = [one for one in game.strategies if one.released]
    assert released == game.strategies[0], "the basic game releases the best"


def test_the_map_by_hand(tmp_path: Path) -> None:
    game = game_of(tmp_path, 0, BASIC)
    for down, loss in enumerate(FACTORS):
        for across, benefit in enumerate(FACTORS):
            one = game.strategies[game.best[down][across]]
            expected = by_hand(90 * benefit, 60 * loss)
            payoff, _, attacked = expected[one.levels["zip"], one.levels["age"], one.levels["sex"]]
            assert payoff == pytest.approx(max(found for found, _, _ in expected.values()))
            assert game.attacked[down][across] == attacked


def test_a_record_that_is_left_out_is_called_so(tmp_path: Path) -> None:
    harbor = changed("policy", "generalization", to={"method": "safe-harbor", "minimum_class_size": 2})
    assert not game_of(tmp_path, 2, harbor).is_released

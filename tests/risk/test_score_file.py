"""A score, written and read back."""

import json
from pathlib import Path

import pytest

from tasks.errors import StageFailed
from tasks.generalization.play import play
from tasks.generalization.setting import game_table, payoffs_of, weights_of
from tasks.risk.score import Score, score
from tasks.risk.score_file import load_score, save_score
from tests.support.silence import CANARY, assert_silent
from tests.support.tiny import tiny_prepared, tiny_request


@pytest.fixture
def scored(tmp_path: Path) -> Score:
    loaded = tiny_request(tmp_path)
    request, recipient = loaded.request, loaded.request.recipients[0]
    prepared = tiny_prepared(loaded)
    table = game_table(request, prepared)
    played = play(table, request.method_for(recipient), payoffs_of(recipient), weights_of(request))
    return score(table, played, request, recipient, prepared.distinct_values)


def test_saved_and_loaded_it_is_the_same(scored: Score, tmp_path: Path) -> None:
    save_score(scored, tmp_path / "score.json")
    assert load_score(tmp_path / "score.json") == scored


DAMAGE = {
    "cut": lambda text: text[: len(text) // 2],
    "empty": lambda _text: "",
    "a list": lambda _text: "[]",
    "no figures": lambda text: json.dumps({k: v for k, v in json.loads(text).items() if k != "figures"}),
    "figures in a list": lambda text: json.dumps(json.loads(text) | {"figures": []}),
    "figures that are none": lambda text: json.dumps(
        json.loads(text) | {"figures": {"released.smallest_class": CANARY}}
    ),
    "an unknown figure": lambda text: json.dumps(json.loads(text) | {"figures": {CANARY: 1.0}}),
    "another field": lambda text: text.replace('"lattice_nodes"', f'"{CANARY}"'),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_a_damaged_file_blocks(scored: Score, tmp_path: Path, case: str) -> None:
    path = tmp_path / "score.json"
    save_score(scored, path)
    path.write_text(DAMAGE[case](path.read_text()))
    with pytest.raises(StageFailed, match="intermediate file") as caught:
        load_score(path)
    assert caught.value.where == "score.json"
    assert_silent(caught.value)


def test_a_missing_file_blocks(tmp_path: Path) -> None:
    with pytest.raises(StageFailed, match="intermediate file"):
        load_score(tmp_path / "score.json")

"""A played method, written and read back."""

from pathlib import Path

import numpy as np
import pytest

from tasks.core.errors import StageFailed
from tasks.generalization.game.count_index import Generalization
from tasks.generalization.generalization_file import load_generalization, save_generalization
from tasks.generalization.generalize import generalize
from tasks.generalization.setting import game_table, payoffs_of, weights_of
from tasks.request.model import Method
from tests.support.tiny import changed, tiny_prepared, tiny_request

ARRAYS = ("levels", "cells", "kept", "people", "effective")


@pytest.fixture
def generalization(tmp_path: Path) -> Generalization:
    loaded = tiny_request(tmp_path)
    table = game_table(loaded.request, tiny_prepared(loaded))
    return generalize(table, Method.BASIC, payoffs_of(loaded.request.recipients[0]), weights_of(loaded.request))


def test_saved_and_loaded_it_is_the_same(generalization: Generalization, tmp_path: Path) -> None:
    save_generalization(generalization, tmp_path / "played.npz")
    again = load_generalization(tmp_path / "played.npz")
    assert again.method is Method.BASIC
    assert again.withheld is None
    assert again.k_anonymity is None
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(again, name), getattr(generalization, name))
        assert getattr(again, name).dtype == getattr(generalization, name).dtype


def test_what_k_anonymity_did_is_kept(tmp_path: Path) -> None:
    demand = changed("policy", "generalization", "k_anonymity", to={"k": 2, "suppression_limit": 0.5})
    loaded = tiny_request(tmp_path, demand)
    table = game_table(loaded.request, tiny_prepared(loaded))
    made = generalize(table, Method.K_ANONYMITY, payoffs_of(loaded.request.recipients[0]), weights_of(loaded.request))
    assert made.withheld is not None
    save_generalization(made, tmp_path / "played.npz")
    again = load_generalization(tmp_path / "played.npz")
    np.testing.assert_array_equal(again.withheld, made.withheld)
    assert again.k_anonymity == made.k_anonymity
    assert dict(made.k_anonymity.levels).keys() == {"zip", "age", "sex"}


@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "no archive", "no method", "other arrays"])
def test_a_damaged_file_blocks(generalization: Generalization, tmp_path: Path, damage: str) -> None:
    path = tmp_path / "played.npz"
    save_generalization(generalization, path)
    whole = path.read_bytes()
    if damage == "missing":
        path.unlink()
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "cut":
        path.write_bytes(whole[: len(whole) // 2])
    elif damage == "no archive":
        path.write_bytes(b"not an archive at all")
    elif damage == "no method":
        path.write_bytes(whole.replace(b"basic", b"music"))
    else:
        np.savez(path, method=np.frombuffer(b"basic", dtype=np.uint8))
    with pytest.raises(StageFailed, match="intermediate file") as caught:
        load_generalization(path)
    assert caught.value.where == "played.npz"


def test_a_flipped_byte_anywhere_blocks_or_changes_nothing(generalization: Generalization, tmp_path: Path) -> None:
    path = tmp_path / "played.npz"
    save_generalization(generalization, path)
    whole = path.read_bytes()
    blocked = 0
    for at in range(0, len(whole), 17):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x41]) + whole[at + 1 :])
        try:
            again = load_generalization(path)
        except StageFailed:
            blocked += 1
        else:
            for name in ARRAYS:
                np.testing.assert_array_equal(getattr(again, name), getattr(generalization, name))
    assert blocked > 0

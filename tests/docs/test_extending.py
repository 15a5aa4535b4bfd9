"""The patches of docs/extending.md fit the code, and those of classes and levels do what they should."""

import re
import subprocess
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tasks.generalization.constraints.registry import PRIVACY_MODELS
from tasks.generalization.game import demands as demands_module
from tasks.generalization.game.demands import demands_of, in_words
from tasks.generalization.game.payoffs import Payoffs
from tasks.generalization.game.transparency import cell_numbers
from tasks.generalization.generalize import generalize
from tasks.generalization.methods.registry import METHODS
from tasks.generalization.setting import game_table, weights_of
from tasks.request import model
from tasks.request.model import KAnonymity, Method
from tests.support.tiny import tiny_prepared, tiny_request

ROOT = Path(__file__).parents[2]
PATCHES = sorted((ROOT / "examples" / "extending").glob("*.patch"))
STAKES = Payoffs(benefit=90, loss=60, gain=60, cost=10)


def module(patch: str) -> dict[str, Any]:
    """Names of the module that a patch adds."""
    text = (ROOT / "examples" / "extending" / f"{patch}.patch").read_text(encoding="utf-8")
    (code,) = re.findall(r"^@@ -0,0 .*\n((?:\+.*\n)+)", text, flags=re.MULTILINE)
    names: dict[str, Any] = {"__name__": "shown"}
    exec(compile(re.sub(r"^\+", "", code, flags=re.MULTILINE), patch, "exec"), names)  # noqa: S102
    return names


def test_every_patch_is_linked() -> None:
    page = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    linked = re.findall(r"\(\.\./examples/extending/([\w-]+\.patch)\)", page)
    assert sorted(linked) == [one.name for one in PATCHES]


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.stem)
def test_every_patch_fits_the_code(patch: Path) -> None:
    done = subprocess.run(
        ["git", "apply", "--check", "-C1", patch], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_privacy_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terms(KAnonymity):
        presence: float | None = None

    monkeypatch.setattr(demands_module, "PRIVACY_MODELS", (*PRIVACY_MODELS, module("privacy-model")["PRESENCE"]))
    request = tiny_request(tmp_path).request
    terms = Terms(k=1, suppression_limit=0.5, presence=0.2)
    policy = request.policy.generalization.model_copy(update={"k_anonymity": terms})
    request = request.model_copy(update={"policy": request.policy.model_copy(update={"generalization": policy})})
    prepared = tiny_prepared(tiny_request(tmp_path))
    table = game_table(request, prepared).demanding(demands_of(request, prepared))
    made = generalize(table, Method.K_ANONYMITY, STAKES, weights_of(request))
    kept = np.ones(len(table.data), dtype=bool) if made.withheld is None else ~made.withheld
    _, number = np.unique(cell_numbers(made.cells[kept], table.axis_sizes), return_inverse=True)
    records = np.bincount(number, table.data.counts[kept])[number]
    assert kept.any()
    assert (records <= 0.2 * made.people[kept]).all()
    assert in_words(terms)[1] == "at most 20% of the people who match it are in the file"


def test_a_generalization_method(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Named(StrEnum):
        ONE_LEVEL = "one-level"

    with monkeypatch.context() as patch:
        patch.setattr(model, "Method", Named)
        method = module("generalization-method")["ONE_LEVEL"]
    monkeypatch.setitem(METHODS, method.name, method)
    request = tiny_request(tmp_path).request
    table = game_table(request, tiny_prepared(tiny_request(tmp_path)))
    made = generalize(table, method.name, STAKES, weights_of(request))
    assert (made.levels == 1).all()
    assert (made.people >= 1).all()
    assert made.people.tolist() == made.effective.tolist()

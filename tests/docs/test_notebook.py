"""The notebook runs from its first cell to its last, in an empty folder, and shows what its words say."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from releasegate import Checked, Finding, Outcome
from releasegate._assess import Assessed

pytestmark = pytest.mark.slow

NOTEBOOK = json.loads((Path(__file__).parents[2] / "docs" / "notebook.ipynb").read_text(encoding="utf-8"))
CELLS = ["".join(cell["source"]) for cell in NOTEBOOK["cells"] if cell["cell_type"] == "code"]


def run(cell: str, names: dict[str, Any]) -> Any:
    """What a cell shows: the value of its last line where that is an expression."""
    tree = ast.parse(cell)
    last = ast.Expression(tree.body.pop().value) if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)  # noqa: S102 - the notebook is ours
    return None if last is None else eval(compile(last, "cell", "eval"), names)  # noqa: S307


def test_it_holds_no_outputs() -> None:
    assert all(cell.get("outputs", []) == [] for cell in NOTEBOOK["cells"])
    assert all(cell.get("execution_count") is None for cell in NOTEBOOK["cells"])


def test_every_cell_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    shown = [run(cell, names) for cell in CELLS]
    (checked,) = (one for one in shown if isinstance(one, Checked))
    assert checked.passed
    assert "checks passed" in checked._repr_html_()
    before, after = (one for one in shown if isinstance(one, Assessed))
    assert not before.passed
    assert after.passed
    assert isinstance(before["identity"], Finding)
    html = before._repr_html_()
    assert html.count("<svg") == 1
    assert "✗ failed" in html
    assert "✗ failed" not in after._repr_html_()
    (outcome,) = (one for one in shown if isinstance(one, Outcome))
    assert [record.decision.value for record in outcome.records] == ["approved"]
    assert '<span class="approved">APPROVED</span>' in outcome._repr_html_()
    assert len(names["copy"]) == 2_000

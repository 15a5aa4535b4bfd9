"""Changes with which a copy keeps more and still passes, as ``explain`` says: typed into the request, and released."""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tasks.decision.record import DecisionRecord, Verdict
from tests.support.world import World, make_world, recipient

Command = Callable[..., Any]
WIDTHS = "attributes.age.hierarchy.intervals.widths"
AGES = {"intervals": {"minimum": 20, "maximum": 59, "widths": [20]}}

pytestmark = pytest.mark.slow


def ask(world: World, k: int) -> None:
    """240 records in classes of k, with nothing between an age and twenty years."""
    clinic = recipient("clinic", method="k-anonymity")
    policy = {"generalization": {"k_anonymity": {"k": k, "local_recoding": True}}}
    world.ask(attributes={"age": {"hierarchy": {"file": None, **AGES}}}, recipients=[clinic], policy=policy)


def typed(document: dict[str, Any], changes: list[Mapping[str, Any]]) -> None:
    """Make changes in a request, at their places; a withheld column has no hierarchy."""
    for change in changes:
        *outer, last = [int(step) if step.isdigit() else step for step in re.split(r"[.\[\]]+", change["where"])]
        part: Any = document
        for step in outer:
            part = part[step]
        part[last] = change.get("levels") or change["needed"]
        if last == "role":
            part.pop("hierarchy")
            part.pop("safe_harbor", None)


def released(world: World, engine: Any, workspace: Path | None = None) -> DecisionRecord:
    (record,) = world.run(engine, workspace).records
    return record


def kept(record: DecisionRecord) -> float:
    assert record.risk is not None
    return next(one for one in record.risk.game.outcomes if one.chosen).information_kept


@pytest.mark.parametrize(("k", "term"), [(12, "policy.generalization.k_anonymity.k"), (4, WIDTHS)])
def test_what_keeps_more_passes_when_it_is_released(
    k: int, term: str, engine: Any, tmp_path: Path, releasegate: Command
) -> None:
    world = make_world(tmp_path / "world")
    ask(world, k)
    before = released(world, engine)
    assert before.decision is Verdict.APPROVED
    told = releasegate("explain", before.release_id, "--workspace", world.workspace.root, "--json")
    assert told.code == 0, told.err
    (one,) = told.document["recipients"]
    shares = [column["kept"] for column in one["columns"]]
    assert shares == sorted(shares)
    assert one["figures"]["released.information_kept"] == pytest.approx(kept(before))
    assert "k" in [cost["term"].split(":")[0] for cost in one["costs"]]
    assert all(cost["kept"] > kept(before) for cost in one["costs"])

    asked, found = json.loads(world.request.read_text()), one["keeping"]
    assert term in {change["where"] for each in found for change in each["changes"]}
    assert any(change["needed"] == "withheld" for each in found for change in each["changes"])
    for number, each in enumerate(found):
        document = json.loads(json.dumps(asked))
        typed(document, each["changes"])
        document["policy"]["version"] = f"2-{number}"
        world.request.write_text(json.dumps(document))
        after = released(world, engine, tmp_path / f"without-the-first-copy-{number}")
        assert after.decision is Verdict.APPROVED, after.reasons
        assert each["kept"] > each["now"]
        if not each["of"]:
            assert kept(after) == pytest.approx(each["kept"]), each
            assert each["now"] == pytest.approx(kept(before))


def test_it_is_read_on_a_page(engine: Any, tmp_path: Path, releasegate: Command) -> None:
    world = make_world(tmp_path / "world")
    ask(world, 4)
    told = releasegate("explain", released(world, engine).release_id, "--workspace", world.workspace.root)
    shown = told.out
    assert re.search(r"The copy keeps \d\d\.\d% of its information; what its columns keep, the least first", shown)
    assert "bands of 20" in shown or "withheld" in shown
    assert re.search(r"attributes\.age\.hierarchy\.intervals\.widths: \[5, 20\] \(now \[20\]\)", shown)
    assert len(shown.splitlines()) <= 45

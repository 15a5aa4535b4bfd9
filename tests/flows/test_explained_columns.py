"""``releasegate explain`` where released columns close the gates: the column to withhold, or to answer for."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tasks.decision.record import Verdict
from tasks.decision.remedies import remedies
from tests.support.world import COLUMNS, WHOLE_CELLS, World, drawn_rows, make_world

EXCUSE = {"excused": {"by": "Dana Whitfield", "because": "Recipients have it from us already."}}
COLUMN: dict[str, Any] = {"role": "insensitive", "type": "integer", "known_probability": 0}
WITHHELD = {"role": "withheld", "type": "integer", "known_probability": None, "excused": None}


@pytest.fixture
def world(tmp_path: Path) -> World:
    """With a column that tells the age, and one that tells the sex."""
    made, draw = make_world(tmp_path / "world"), np.random.default_rng(3)
    rows = [
        row | {"year-born": str(1990 - int(row["age"])), "mark": str(int(row["sex"] == "F") * draw.integers(1, 4))}
        for row in drawn_rows()
    ]
    made.write_rows(rows, (*COLUMNS, "year-born", "mark"))
    return made


def explained(world: World, engine: Any, releasegate: Any, **attributes: Any) -> dict[str, Any]:
    """The explanation of a blocked release; names are written as the request's are read."""
    asked = {name.replace("_", "-"): terms for name, terms in attributes.items()}
    world.ask(attributes=asked, policy=WHOLE_CELLS)
    outcome = world.run(engine)
    assert outcome.records[0].decision is Verdict.BLOCKED
    found = releasegate("explain", outcome.release_id, "--workspace", world.workspace.root, "--json")
    (one,) = found.document["recipients"]
    assert not one["fixed"]
    return dict(one)


def changes(flip: dict[str, Any]) -> dict[str, str]:
    return {one["where"]: one["needed"] for one in flip["changes"]}


@pytest.mark.slow
def test_the_column_that_undoes_a_generalization_is_named(world: World, engine: Any, releasegate: Any) -> None:
    """Excused, the year of birth leaves classes by age, which the gates judge; withheld, the file passes."""
    found = explained(world, engine, releasegate, year_born=COLUMN | EXCUSE, mark=WITHHELD)
    assert changes(found["smallest"]) == {'attributes["year-born"].role': "withheld"}
    world.ask(attributes={"year-born": WITHHELD, "mark": WITHHELD})
    assert world.run(engine).records[0].decision is Verdict.APPROVED


@pytest.mark.slow
def test_an_unplaced_column_is_withheld_or_answered_for(world: World, engine: Any, releasegate: Any) -> None:
    """The mark says whether somebody is 40 or older, as the released groups do, so that an excuse is enough."""
    world.write_rows(
        [row | {"mark": str(int(int(row["age"]) >= 40)), "year-born": "0"} for row in drawn_rows()],
        (*COLUMNS, "year-born", "mark"),
    )
    found = explained(world, engine, releasegate, mark=COLUMN, year_born=WITHHELD)
    assert changes(found["smallest"]) == {"attributes.mark.role": "withheld"}
    assert {"attributes.mark.excused": "{by, because}"} in map(changes, found["flips"])


@pytest.mark.slow
def test_as_few_columns_as_it_takes_are_withheld(world: World, engine: Any, releasegate: Any) -> None:
    found = explained(world, engine, releasegate, year_born=COLUMN, mark=COLUMN)
    assert changes(found["smallest"]) == {
        'attributes["year-born"].role': "withheld",
        "attributes.mark.role": "withheld",
    }


@pytest.mark.slow
def test_what_tells_a_column_that_has_to_be_withheld_is_withheld_with_it(
    world: World, engine: Any, releasegate: Any
) -> None:
    """Visits link people by numbers; where they are withheld, the label would tell them. Masked, they may leave."""
    rows = [
        row | {"visits": str(1000 + number // 4), "mark": f"label {number // 4}", "year-born": "0"}
        for number, row in enumerate(drawn_rows())
    ]
    world.write_rows(rows, (*COLUMNS, "year-born", "mark"))
    label = {"role": "insensitive", "known_probability": 0}
    asked = {"visits": COLUMN | {"known_probability": None}, "mark": label, "year-born": WITHHELD}
    found = explained(world, engine, releasegate, **asked)
    both = dict.fromkeys(("attributes.visits.role", "attributes.mark.role"), "withheld")
    assert both in map(changes, found["flips"])
    together = len(rows) // 10
    assert changes(found["smallest"]) == {"masking": f"[{{attributes: [visits], method: mdav, k: {together}}}]"}
    masking = [{"attributes": ["visits"], "method": "mdav", "k": together}]
    world.ask(attributes=asked, policy=WHOLE_CELLS, masking=masking)
    assert world.run(engine).records[0].decision is Verdict.APPROVED


@pytest.mark.slow
@pytest.mark.parametrize("names", [("visits", "mark"), ("visits",)])
def test_masked_columns_that_are_withheld_leave_their_masking_and_both_screens_say_so(
    names: tuple[str, ...], world: World, engine: Any, releasegate: Any
) -> None:
    """Means of two are not enough; a masking that named a withheld column made every try of it an invalid request."""
    draw = np.random.default_rng(4)
    rows = [
        row | {"visits": str(visits), "mark": str(mark), "year-born": "0"}
        for row, visits, mark in zip(drawn_rows(), *draw.permuted([range(240)] * 2, axis=1), strict=True)
    ]
    world.write_rows(rows, (*COLUMNS, "year-born", "mark"))
    secret = {"role": "sensitive", "type": "integer", "known_probability": 0.2, "excused": None}
    attributes = dict.fromkeys(("visits", "mark", "year-born"), WITHHELD) | dict.fromkeys(names, secret)
    masking = [{"attributes": [name], "method": "mdav", "k": 2} for name in names]
    world.ask(attributes=attributes, policy=WHOLE_CELLS, masking=masking)
    outcome = world.run(engine)
    sentence, *_ = remedies(outcome.records[0])
    assert sentence.startswith(f"Withhold {', '.join(names)} (role: withheld) to open all closed gates.")
    explained = ("explain", outcome.release_id, "--workspace", world.workspace.root)
    (one,) = releasegate(*explained, "--json").document["recipients"]
    withheld = {f"attributes.{name}.role": "withheld" for name in names}
    assert withheld in map(changes, one["flips"])
    assert not [found for found in one["no_flips"] if "role" in found["lever"]]
    assert "they leave the verdict as it is" not in releasegate(*explained, "--details").out
    world.ask(attributes=attributes | dict.fromkeys(names, WITHHELD), policy=WHOLE_CELLS)
    assert world.run(engine).records[0].decision is Verdict.APPROVED

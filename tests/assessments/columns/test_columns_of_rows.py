"""What the rows of a person tell together: their lowest and highest numbers, and how many there are."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tasks.assessments.columns.assessment import column_places
from tasks.assessments.columns.facts import ColumnsFact
from tasks.candidate.candidate import CandidateSource
from tasks.microdata.prepared import prepare
from tasks.microdata.read import read_microdata
from tasks.request.load import load_request
from tests.support.longitudinal_world import COLUMNS, ask_for_visits, make_visits, visit_rows
from tests.support.world import Row


def judged(folder: Path, rows: list[Row], person: str = "pseudonym", **changes: Any) -> ColumnsFact:
    """Findings on a file of visits whose persons have this role."""
    world = make_visits(folder / "world")
    world.write_rows(rows, COLUMNS)
    terms = {"patient": {"role": person}, "visits": {"type": "integer"}}
    loaded = load_request(ask_for_visits(world, attributes=terms, **changes))
    frame = read_microdata(loaded.resolve(loaded.request.dataset.path, "dataset.path"), loaded.request)
    source = CandidateSource(loaded.request, prepare(loaded, frame), frame, lambda _: np.random.default_rng(3))
    candidate = source.candidate(loaded.request.recipients[0])
    return column_places(candidate.request, candidate.as_collected, candidate.masked)


def found(fact: ColumnsFact) -> dict[str, set[tuple[str, ...]]]:
    """Signs and what is revealed, of the columns that nobody has excused."""
    return {one.name: {(each.sign.value, *each.others) for each in one.findings} for one in fact.unplaced}


@pytest.mark.parametrize(("person", "told"), [("pseudonym", True), ("direct identifier", False)])
def test_the_first_of_a_persons_years_tells_the_age(tmp_path: Path, person: str, told: bool) -> None:
    """The year of leaving school and up to four later ones: a row may be of many ages, the lowest of two."""
    people = {row["patient"]: row for row in visit_rows()}
    rows = [
        row | {"record_id": f"V{place}-{year}", "visits": str(2040 - int(row["age"]) // 2 * 2 + year)}
        for place, row in enumerate(people.values())
        for year in {0, *np.random.default_rng(place).integers(1, 40, 4).tolist()}
    ]
    assert found(judged(tmp_path, rows, person)) == ({"visits": {("tells", "age")}} if told else {})


@pytest.mark.parametrize(("most", "told"), [(None, True), (6, False)])
def test_a_person_with_far_more_rows_than_all_others_is_known(tmp_path: Path, most: int | None, told: bool) -> None:
    """All have one to six visits, one person sixty more."""
    rows = visit_rows()
    rows += [rows[0] | {"record_id": f"V-{place}"} for place in range(60)]
    fact = judged(tmp_path, rows, policy={"events": {"most_rows": most}})
    assert found(fact) == ({"patient": {("rows",)}} if told else {})
    assert ["policy.events.most_rows" in one.advice for one in fact.unplaced] == [True] * told

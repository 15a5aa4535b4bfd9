"""Expected disclosure where what is sensitive is in rows: found with a person, learned with the person."""

from pathlib import Path

import pytest

from tasks.assessments.combined.expected import expected_disclosure
from tasks.candidate.candidate import Candidate, CandidateSource
from tasks.microdata.prepared import prepare
from tasks.microdata.read import read_microdata
from tests.support.tiny import DATA, changed, tiny_request

SAFE_HARBOR = changed("policy", "generalization", "method", to="safe-harbor")


def candidate(folder: Path, *changes: object, data: str | None = None) -> Candidate:
    loaded = tiny_request(folder, SAFE_HARBOR, *changes, **({} if data is None else {"data": data}))
    frame = read_microdata(folder / "data.csv", loaded.request)
    source = CandidateSource(loaded.request, prepare(loaded, frame), frame, lambda _purpose: None)
    return source.candidate(loaded.request.recipients[0])


def of_rows(document: dict) -> None:
    """The file's own id is that of the person, who has one row; the diagnosis is of rows."""
    document["dataset"]["person"] = "id"
    document["attributes"]["diagnosis"]["of"] = "row"


def test_a_sensitive_attribute_of_rows_counts_as_one_of_people(tmp_path: Path) -> None:
    """The same file, its diagnosis once of people and once of rows: both are learned of whoever is found."""
    people, rows = candidate(tmp_path), candidate(tmp_path, of_rows)
    assert rows.request.outbound == ("zip", "age", "sex")
    assert expected_disclosure(people).max() > 0
    assert expected_disclosure(rows).tolist() == pytest.approx(expected_disclosure(people).tolist())


def test_several_sensitive_attributes_of_rows_count_together(tmp_path: Path) -> None:
    """Each is learned with the person, so that the share of all of them is that of one."""
    both = changed("attributes", "lab", to={"role": "sensitive", "of": "row", "known_probability": 0})
    head, *lines = DATA.splitlines()
    data = "\n".join([f"{head},lab", *(f"{line},{place}" for place, line in enumerate(lines))]) + "\n"
    rows, one = candidate(tmp_path, of_rows, both, data=data), candidate(tmp_path, of_rows)
    assert expected_disclosure(rows).tolist() == pytest.approx(expected_disclosure(one).tolist())


def test_harmless_attributes_of_rows_count_nothing(tmp_path: Path) -> None:
    harmless = changed("attributes", "diagnosis", "role", to="insensitive")
    assert expected_disclosure(candidate(tmp_path, of_rows, harmless)).max() == 0

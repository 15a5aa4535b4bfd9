"""The shipped example data are what they are said to be."""

import csv
import gzip
import runpy
from collections import Counter
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
CLINIC = EXAMPLES / "clinic"


def test_the_clinic_is_made_by_its_script(tmp_path: Path) -> None:
    runpy.run_path(str(CLINIC / "make.py"))["main"](tmp_path)
    for made in sorted(tmp_path.iterdir()):
        assert made.read_bytes() == (CLINIC / "data" / made.name).read_bytes()
    assert len(list(tmp_path.iterdir())) == len(list((CLINIC / "data").iterdir())) == 2


def test_everybody_in_the_clinic_is_among_its_population() -> None:
    names = ("visit_date", "age", "postcode", "sex")
    with (CLINIC / "data" / "population.csv").open() as lines:
        people = {tuple(row[name] for name in names): int(row["count"]) for row in csv.DictReader(lines)}
    with (CLINIC / "data" / "visits.csv").open() as lines:
        records = Counter(tuple(row[name] for name in names) for row in csv.DictReader(lines))
    assert sum(people.values()) == 12_000
    assert sum(records.values()) == 400
    assert all(count <= people.get(visit, 0) for visit, count in records.items())


def test_two_notes_of_the_clinic_hold_an_identifier() -> None:
    with (CLINIC / "data" / "visits.csv").open() as lines:
        notes = [(number, row) for number, row in enumerate(csv.DictReader(lines), 1)]
    assert [number for number, row in notes if "@" in row["note"]] == [58]
    assert [number for number, row in notes if row["mrn"] in row["note"]] == [213]


@pytest.mark.parametrize(
    "request_file",
    [
        "clinic/request.yaml",
        "clinic/request-clean.yaml",
        "adult-tn/request.yaml",
        "adult-tn/request-masked.yaml",
        "adult-tn/request-decoys.yaml",
        "adult-tn/request-game.yaml",
        "adult-tn/request-sample.yaml",
    ],
)
def test_every_column_of_an_example_is_declared(request_file: str) -> None:
    from tasks.request.load import load_request

    loaded = load_request(EXAMPLES / request_file)
    path = loaded.resolve(loaded.request.dataset.path, "dataset.path")
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt") as lines:
        header = next(csv.reader(lines))
    assert sorted(header) == sorted(loaded.request.attributes)

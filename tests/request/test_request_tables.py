"""Requests with several tables: names of their columns, and every refusal with its place."""

from pathlib import Path

import pytest

from tasks.core.errors import RequestError
from tasks.request.load import load_request, named_files
from tasks.request.model import ReleaseRequest

TABLES = """\
tables:
  visits:
    path: visits.csv
    key: visit_id
    attributes:
      visit_id: {role: pseudonym}
      ward: {role: insensitive}
      admitted: {role: direct identifier, type: date}
      discharged: {role: direct identifier, type: date, date: {age: nights}}
      nights: {role: direct identifier, type: integer}
  labs:
    path: labs.parquet
    key: lab_id
    within: visits
    attributes:
      lab_id: {role: direct identifier}
      result: {role: sensitive, type: number, known_probability: 0}
population:
"""


@pytest.fixture
def hospital(good: str) -> str:
    """The good request, of patients with visits and laboratory values."""
    text = good.replace("  record_id: record_id\n", "  record_id: record_id\n  person: record_id\n")
    text = text.replace("  record_id: {role: direct identifier}\n", "  record_id: {role: pseudonym}\n")
    born = "  born: {role: direct identifier, type: date, date: {event: birth}}\n"
    return text.replace("attributes:\n", f"attributes:\n{born}", 1).replace("population:\n", TABLES)


def loaded(tmp_path: Path, text: str) -> ReleaseRequest:
    path = tmp_path / "request.yaml"
    path.write_text(text, encoding="utf-8")
    return load_request(path).request


def test_columns_of_tables_are_attributes_of_rows_with_names_of_their_own(tmp_path: Path, hospital: str) -> None:
    request = loaded(tmp_path, hospital)
    visits = tuple(f"visits.{name}" for name in ("visit_id", "ward", "admitted", "discharged", "nights"))
    labs = ("labs.lab_id", "labs.result")
    assert request.of_rows == (*visits, *labs)
    assert request.events == ("visits.ward", "labs.result")
    assert request.known_events == ("visits.ward",)
    assert request.attributes_in("visits") == visits
    assert request.columns_in("visits") == ("record_id", *visits)
    assert request.columns_in("labs") == ("record_id", "visits.visit_id", *labs)
    assert request.columns_in(None) == ("born", "record_id", "age", "zip", "ward", "diagnosis", "stay")
    assert (request.own_name("labs.result"), request.own_name("ward")) == ("result", "ward")
    assert request.table_keys == ("visits.visit_id", "labs.lab_id")
    assert request.linking == ()


def test_terms_name_columns_of_their_own_table(tmp_path: Path, hospital: str) -> None:
    terms = loaded(tmp_path, hospital).attributes["visits.discharged"].date
    assert terms is not None
    assert terms.age == "visits.nights"


def test_every_table_is_an_input(tmp_path: Path, hospital: str) -> None:
    path = tmp_path / "request.yaml"
    path.write_text(hospital, encoding="utf-8")
    files = dict(named_files(load_request(path)))
    assert files["tables.visits.path"] == "visits.csv"
    assert files["tables.labs.path"] == "labs.parquet"


REFUSALS = {
    "no person": ("  person: record_id\n", "", "dataset.person"),
    "no such table around": ("within: visits", "within: stays", "tables.labs.within"),
    "a table around without a key": (
        "    key: visit_id\n    attributes",
        "    attributes",
        "tables.labs.within",
    ),
    "a table around that comes later": ("    key: visit_id\n", "    key: visit_id\n    within: labs\n", "within"),
    "a key that is no column": ("key: lab_id", "key: number", "tables.labs.key"),
    "a key that leaves as collected": (
        "lab_id: {role: direct identifier}",
        "lab_id: {role: insensitive}",
        "tables.labs.key",
    ),
    "the person again": (
        "      lab_id: {role: direct identifier}\n",
        "      lab_id: {role: direct identifier}\n      record_id: {role: pseudonym}\n",
        "tables.labs.attributes.record_id",
    ),
    "the key around again": (
        "      lab_id: {role: direct identifier}\n",
        "      lab_id: {role: direct identifier}\n      visit_id: {role: pseudonym}\n",
        "tables.labs.attributes.visit_id",
    ),
    "an attribute of people": (
        "{role: insensitive}\n      adm",
        "{role: insensitive, of: person}\n      adm",
        "ward.of",
    ),
    "a quasi-identifier": (
        "ward: {role: insensitive}",
        "ward: {role: quasi-identifier, hierarchy: {prefixes: {keep: [1]}}}",
        "tables.visits.attributes.ward.role",
    ),
    "a table of which nothing leaves": (
        "result: {role: sensitive, type: number, known_probability: 0}",
        "result: {role: direct identifier, type: number}",
        "tables.labs.attributes",
    ),
    "one file twice": ("path: labs.parquet", "path: ./visits.csv", "tables.labs.path"),
    "the file of the dataset": ("path: labs.parquet", "path: data.csv", "tables.labs.path"),
    "a name of the dataset like that of a column": (
        "  born:",
        "  visits.ward: {role: direct identifier}\n  born:",
        "attributes",
    ),
    "a name of the dataset that begins like those of a table": (
        "  born:",
        "  visits.cost: {role: direct identifier}\n  born:",
        "begins with the name of a table",
    ),
    "a name of a table with a dot": ("  labs:\n", "  labs.1:\n", "tables"),
    "decoys": ("    purpose: tariffs\n", "    purpose: tariffs\n    decoys: {}\n", "recipients[1].decoys"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_what_does_not_fit_is_refused_at_its_place(tmp_path: Path, hospital: str, case: str) -> None:
    old, new, place = REFUSALS[case]
    assert old in hospital
    with pytest.raises(RequestError) as refused:
        loaded(tmp_path, hospital.replace(old, new, 1))
    assert place in str(refused.value)

"""Texts of a request that leave with the values are sought for identifiers: labels, groups, descriptions, titles."""

from pathlib import Path
from typing import Any

import pytest

from tasks.core.errors import DataError
from tasks.request.model import ReleaseRequest
from tasks.validation.labels import check_texts
from tests.support.tiny import changed, tiny_request


def labelled(folder: Path, label: str, **terms: object) -> ReleaseRequest:
    folder.mkdir(exist_ok=True)
    to = {"role": "sensitive", "labels": {"flu": "influenza", "cold": label}, **terms}
    return tiny_request(folder, changed("attributes", "diagnosis", to=to)).request


def refused(request: ReleaseRequest) -> tuple[str, str]:
    """Place and finding of the refusal, which shows no text."""
    with pytest.raises(DataError) as error:
        check_texts(request)
    for shown in ("Okafor", "okafor", "Miller", "@", "615-555", "445566"):
        assert shown not in str(error.value.fields())
    return error.value.where, error.value.got


@pytest.mark.parametrize(
    ("label", "kind"),
    [
        ("Dr Anna Miller", "names of people"),
        ("Peter Okafor", "names of people"),
        ("dr peter okafor, bolivar", "names of people"),
        ("anna.miller@clinic.org", "email addresses"),
        ("seen on 1950-03-12", "full dates"),
        ("call +49 30 901820", "phone numbers"),
    ],
)
def test_labels_that_name_people_are_refused_without_being_quoted(tmp_path: Path, label: str, kind: str) -> None:
    place, got = refused(labelled(tmp_path, label))
    assert place == "attributes.diagnosis.labels"
    assert f"1 of 2 labels of diagnosis look like {kind}" in got


def test_other_labels_and_those_that_are_not_scanned_pass(tmp_path: Path) -> None:
    check_texts(labelled(tmp_path / "one", "common cold, J00"))
    check_texts(labelled(tmp_path / "two", "Dr Anna Miller", scan=False))
    check_texts(labelled(tmp_path / "three", "never smoked, lives with mother"))
    check_texts(tiny_request(tmp_path).request)


@pytest.mark.parametrize(
    ("path", "text", "held"),
    [
        (("attributes", "diagnosis", "description"), "questions to anna.miller@clinic.org", "email addresses"),
        (("attributes", "diagnosis", "description"), "as told at 615-555-0134", "phone numbers"),
        (("dataset", "title"), "Chart of MRN 445566", "medical record numbers"),
        (("dataset", "source"), "Clinic, anna.miller@clinic.org", "email addresses"),
    ],
)
def test_descriptions_and_titles_hold_no_identifier(
    tmp_path: Path, path: tuple[str, ...], text: str, held: str
) -> None:
    place, got = refused(tiny_request(tmp_path, changed(*path, to=text)).request)
    assert place == ".".join(path)
    assert got == f"{place} holds {held}"


def test_a_purpose_holds_no_identifier(tmp_path: Path) -> None:
    def named(document: dict[str, Any]) -> None:
        document["recipients"][0]["purpose"] = "work on MRN 445566"

    assert refused(tiny_request(tmp_path, named).request)[0] == "recipients[0].purpose"


def test_a_registry_may_be_named_for_a_person_and_a_day_be_stated(tmp_path: Path) -> None:
    source = "Alan Turing Institute, 12 Main Street, extract of 1 March 2024; call 615-555-0134"
    check_texts(tiny_request(tmp_path, changed("dataset", "source", to=source)).request)


@pytest.mark.parametrize(
    ("groups", "number"),
    [
        (("Anna Schmidt", "Peter Okafor", "others"), 2),  # of four groups with the top
        (("Paul Ortiz", "Peter Okafor", "Anna Schmidt"), 3),
        (("Anderson", "Van Buren", "Jackson"), 0),  # counties of Tennessee
        (("Anna Schmidt", "North", "South"), 0),
        (("anna.miller@clinic.org", "North", "South"), 1),
    ],
)
def test_written_groups_of_which_most_are_names_are_refused(
    tmp_path: Path, groups: tuple[str, str, str], number: int
) -> None:
    members = (("North Hill",), ("South Hill",), ("East Hill", "West Hill"))
    levels = [dict(zip(groups, members, strict=True)), {"*": groups}]
    to = {"role": "quasi-identifier", "hierarchy": {"groups": {"levels": levels}}}
    request = tiny_request(tmp_path, changed("attributes", "sex", to=to)).request
    if not number:
        check_texts(request)
        return
    place, got = refused(request)
    assert place == "attributes.sex.hierarchy.groups"
    assert got.startswith(f"{number} of 4 groups of sex look like ")

"""Labels of coded values, which leave with them, are sought for identifiers."""

from pathlib import Path

import pytest

from tasks.core.errors import DataError
from tasks.request.model import ReleaseRequest
from tasks.validation.labels import check_labels
from tests.support.tiny import changed, tiny_request


def labelled(folder: Path, label: str, **terms: object) -> ReleaseRequest:
    folder.mkdir(exist_ok=True)
    to = {"role": "sensitive", "labels": {"flu": "influenza", "cold": label}, **terms}
    return tiny_request(folder, changed("attributes", "diagnosis", to=to)).request


@pytest.mark.parametrize("label", ["Dr Anna Miller", "anna.miller@clinic.org", "seen on 1950-03-12"])
def test_labels_that_name_people_are_refused_without_being_quoted(tmp_path: Path, label: str) -> None:
    with pytest.raises(DataError) as refused:
        check_labels(labelled(tmp_path, label))
    assert refused.value.where == "attributes.diagnosis.labels"
    assert label not in str(refused.value.fields())


def test_other_labels_and_those_that_are_not_scanned_pass(tmp_path: Path) -> None:
    check_labels(labelled(tmp_path / "one", "common cold, J00"))
    check_labels(labelled(tmp_path / "two", "Dr Anna Miller", scan=False))
    check_labels(tiny_request(tmp_path).request)

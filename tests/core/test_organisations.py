"""Names that may be of one organisation."""

import pytest

from tasks.core.organisations import may_be_same_organisation


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("the UNIVERSITY.", "University"),
        ("Regional University", "Regional Univ. Epidemiology Dept"),
        ("Regional University", "Department of Epidemiology, Regional Uni"),
        ("Regional University", "Epidemiology Dept Regional University"),
        ("Regional University", "School of Medicine of the Regional University"),
        ("Regional University, Epidemiology", "Regional Univ., Statistics"),
        ("Universität Graz", "Institut für Physik, Univ. Graz"),
        ("Graz University", "University of Graz"),
        ("Meridian Data Services", "Meridian Data Services Ltd."),
        ("Meridian", "Meridian GmbH"),
        ("State Health Department", "State Dept. of Health"),
    ],
)
def test_abbreviations_parts_and_legal_forms_do_not_make_another_organisation(one: str, other: str) -> None:
    assert may_be_same_organisation(one, other)
    assert may_be_same_organisation(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("University", "University of Graz"),
        ("University of Graz", "Medical University of Graz"),
        ("University of Graz", "Institute of Hygiene, Medical University of Graz"),
        ("University of Graz", "Graz University of Technology"),
        ("State University", "Ohio State University"),
        ("State Health Department", "State Education Department"),
        ("Ministry of Health, Norway", "Ministry of Health, Denmark"),
        ("State University, School of Public Health", "Public Health Department"),
        ("Meridian Services", "Meridian Data Services"),
        ("Med", "Medtronic"),
        ("The clinic", "The registry"),
        ("Regional Disease Registry", "Cardiac Disease Registry"),
    ],
)
def test_other_words_make_another_organisation(one: str, other: str) -> None:
    assert not may_be_same_organisation(one, other)
    assert not may_be_same_organisation(other, one)

"""Subjects of columns by the words of their names."""

import pytest

from tasks.request.column_names import name_words, usually_known


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("age", "age"),
        ("AgeAtVisit", "age"),
        ("home_city", "city"),
        ("plz_2019", "plz"),
        ("Bildung", "bildung"),
        ("Größe", "grosse"),
        ("kjønn", "kjonn"),
        ("niveau d’éducation", "education"),
        ("Wohngemeinde", "wohngemeinde"),
        ("initials", "initials"),
        ("birth_year", "birth"),
        ("kid1", "kid"),
        ("state", "state"),
        ("languageCode", "language"),
        ("marital-status", "marital"),
        ("job_title", "job"),
        ("mother_tongue", "tongue"),
        ("lat1", "lat"),
        ("kanton", "kanton"),
    ],
)
def test_others_usually_know_columns_of_these_names(name: str, word: str) -> None:
    assert usually_known(name) == word


@pytest.mark.parametrize(
    "name",
    [
        "birth_weight",
        "white_blood_cells",
        "family_history",
        "anxiety_state",
        "school_absence",
        "school_score",
        "job_satisfaction",
        "teacher_rating",
        "interviewer_effect",
        "glasses_of_wine",
        "gp_visits",
        "stop_reason",
        "site",
        "grid_test",
        "practice",
        "t_h_cell",
        "phone_use",
        "code",
        "coordination",
        "x_ray",
        "output",
    ],
)
def test_a_word_that_another_follows_may_be_of_something_else(name: str) -> None:
    assert usually_known(name) == ""


@pytest.mark.parametrize(
    ("names", "word"),
    [
        ("home_stop bus_stop", "stop"),
        ("first_boarding boarding_stop", "boarding"),
        ("last_alighting alighting_stop", "alighting"),
        ("workplace work_place work_site", "work"),
        ("gp_practice", "gp practice"),
        ("school school_attended", "school"),
        ("polling_station", "polling"),
        ("class_teacher teacher teacher_name", "teacher"),
        ("tutor_group", "tutor"),
        ("caseworker caseWorker", "case"),
        ("interviewer interviewer_id", "interviewer"),
        ("phone_prefix", "phone prefix"),
        ("dialling_code DialingCode", "ing"),
        ("grid_e grid_n grid_cell GridRef", "grid"),
        ("h3_cell", "h cell"),
        ("what3words", "what words"),
        ("x_coord yCoordinate utm_coord", "coord"),
        ("coord_x coordinate_y", "coord"),
        ("neighbourhood neighborhood_id", "rhood"),
        ("output_area", "output area"),
        ("cost_centre cost_center_no", "cost cent"),
        ("glasses wears_glasses", "glasses"),
        ("wheelchair wheelchair_user", "wheelchair"),
        ("twin is_twin twins", "twin"),
        ("eye_colour eyeColor hair_colour haircolor", "col"),
        ("handedness left_handed", "handed"),
        ("shoe_size", "shoe"),
        ("siblings n_siblings", "siblings"),
        ("pay_grade", "pay grade"),
        ("hire_year year_hired", "hire"),
        ("graduation_year", "graduation"),
        ("Augenfarbe", "augenfarbe"),
    ],
)
def test_others_usually_know_places_of_work_looks_and_the_like(names: str, word: str) -> None:
    for name in names.split():
        assert word in usually_known(name)


@pytest.mark.parametrize(
    ("name", "description", "word"),
    [
        ("q3", "Country of birth", "country"),
        ("v01", "Occupation, ISCO-08 unit group", "occupation"),
        ("q4", "Diagnosis by age", ""),
        ("hiv", "Test result, by age", ""),
        ("q5", "", ""),
        ("q6", "Rated by the class teacher", ""),
    ],
)
def test_a_description_counts_where_the_name_tells_nothing(name: str, description: str, word: str) -> None:
    assert usually_known(name, description) == word


@pytest.mark.parametrize("name", ["diagnosis", "stage", "agent", "hospital", "home_ward", "kn", "n", "income", "年齢"])
def test_columns_of_these_names_may_be_unknown(name: str) -> None:
    assert usually_known(name) == ""


def test_words_have_neither_accents_nor_capitals() -> None:
    assert name_words("Straße_FøreÅr2") == ("strasse", "fore", "ar")

"""The column that a draft takes for the name of the person of each row."""

import numpy as np
import pandas as pd
import pytest

from tasks.draft.draft import Draft, Source, draft_file, profiled
from tasks.request.model import Role

CHANCE = np.random.default_rng(26)
PEOPLE, SESSIONS = 45, 1800


def drafted(**columns: object) -> Draft:
    cells = {name: pd.array([str(one) for one in of], dtype="string[pyarrow]") for name, of in columns.items()}  # type: ignore[attr-defined]
    return draft_file(profiled(Source("data.csv", pd.DataFrame(cells))), None)


def sessions(**columns: object) -> Draft:
    """Forty sessions of each of 45 people, whose age grows half-way: 22 or so of 40 rows have the first age."""
    person = CHANCE.permutation(np.repeat(np.arange(PEOPLE), SESSIONS // PEOPLE))
    age = 30 + person + (np.arange(SESSIONS) >= SESSIONS // 2)
    sex = np.where(person % 2 == 0, "F", "M")
    given = {name: [of[one] for one in person] for name, of in columns.items()}  # type: ignore[index]
    return drafted(session=[f"S{row:04d}" for row in range(SESSIONS)], **given, age=age, sex=sex)


def test_a_number_or_name_of_people_is_proposed_though_their_age_grows() -> None:
    numbers = [70_000 + 37 * one for one in range(PEOPLE)]
    assert sessions(mrn=numbers).person == "mrn"
    assert sessions(patient_id=numbers).person == "patient_id"
    assert sessions(name=[f"Alma F{chr(97 + one % 26)}lk{'e' * (one // 26)}" for one in range(PEOPLE)]).person == "name"


def test_a_number_of_a_ward_is_not_proposed() -> None:
    draft = drafted(
        session=[f"S{row:04d}" for row in range(SESSIONS)],
        ward_no=CHANCE.integers(1, 9, SESSIONS),
        age=CHANCE.integers(20, 80, SESSIONS),
        sex=CHANCE.choice(["F", "M"], SESSIONS),
    )
    assert draft.person is None


def test_an_amount_with_one_repeated_pair_is_not_proposed() -> None:
    """A charge with 899 values in 900 records, the two equal ones of the same age and sex."""
    charge = [600 + 0.37 * row for row in range(899)]
    draft = drafted(
        member_id=[f"M{row:04d}" for row in range(900)],
        age=[*(20 + row % 60 for row in range(899)), 20 + 898 % 60],
        sex=[*("FM"[row // 60 % 2] for row in range(899)), "FM"[898 // 60 % 2]],
        charge=[f"{one:.2f}" for one in [*charge, charge[-1]]],
    )
    assert draft.person is None


def test_the_draft_tells_days_and_postcodes_by_their_values() -> None:
    days = pd.date_range("2025-01-01", "2025-12-31")
    zones = [f"LS{area} {sector}{unit}" for area in range(1, 20) for sector in (1, 2, 3) for unit in ("AB", "ZQ")]
    draft = drafted(
        patient_id=[f"P{row:04d}" for row in range(1000)],
        sex=CHANCE.choice(["F", "M"], 1000),
        result_code=[f"{days[row % 365]:%m%d}" for row in range(1000)],
        lab_run=[f"{days[row % 365]:%y%m%d}{row % 2}" for row in range(1000)],
        benefit_zone=[zones[row % len(zones)] for row in range(1000)],
    )
    roles = {one.profile.name: one.role for one in draft.suggestions}
    assert roles["result_code"] == roles["lab_run"] == Role.DIRECT
    assert roles["benefit_zone"] == Role.QUASI


@pytest.mark.parametrize(("key", "person"), [("patient no", None), ("patient_visit_no", "Name"), ("case_id", "Name")])
def test_a_repeating_name_is_no_person_where_a_number_of_people_names_each_row(key: str, person: str | None) -> None:
    """Six hundred people with 36 names."""
    draft = drafted(
        **{key: [f"P{row:04d}" for row in range(600)]},
        Name=[f"{'ABCDEF'[one // 6]}nna {'UVWXYZ'[one % 6]}alk" for one in CHANCE.integers(0, 36, 600)],
        Age=CHANCE.integers(20, 80, 600),
        Sex=CHANCE.choice(["F", "M"], 600),
    )
    roles = {one.profile.name: one.role for one in draft.suggestions}
    assert (draft.person, roles["Name"]) == (person, Role.DIRECT)
    assert roles["Age"] is roles["Sex"] is (Role.WITHHELD if person else Role.QUASI)


def test_what_repeats_and_is_no_person_is_withheld_as_what_it_is() -> None:
    """A place that the population table lacks does not leave, and is no identifier of people."""
    data = pd.DataFrame(
        {
            "patient_id": [f"P{row:04d}" for row in range(600)],
            "hospital": [f"Hospital {'ABCDEF'[row % 6]}" for row in range(600)],
            "sex": CHANCE.choice(["F", "M"], 600),
        },
        dtype="string[pyarrow]",
    )
    counts = pd.DataFrame({"sex": ["F", "M"], "count": ["9000", "9000"]}, dtype="string[pyarrow]")
    draft = draft_file(profiled(Source("data.csv", data)), Source("population.csv", counts))
    assert {one.profile.name: one.role for one in draft.suggestions} == {
        "patient_id": Role.DIRECT,
        "hospital": Role.WITHHELD,
        "sex": Role.QUASI,
    }
    assert draft.person is None


def test_comments_with_some_telephone_numbers_are_withheld_and_contacts_name_people() -> None:
    """Comments repeat, and half of them have a number; a contact is an address of mail or a name, and nothing more."""
    calls = [f"called pt at 615-555-{1000 + row % 40}" if row % 2 else "stable, f/u 2 wks" for row in range(600)]
    comments = drafted(
        patient_id=[f"P{row:04d}" for row in range(600)],
        comments=calls,
        sex=CHANCE.choice(["F", "M"], 600),
    )
    assert {one.profile.name: one.role for one in comments.suggestions}["comments"] == Role.WITHHELD
    assert comments.person is None
    contacts = drafted(
        session=[f"S{row:04d}" for row in range(600)],
        reach=[f"alma{row % 40}@example.org" if row % 40 < 24 else f"Alma Falk {row % 40}" for row in range(600)],
        sex=CHANCE.choice(["F", "M"], 600),
    )
    assert contacts.person == "reach"


def test_groups_and_values_alone_are_counted_in_people_where_these_have_several_rows() -> None:
    """One person is of 1941, in 40 rows, and is hidden in a decade; a third of the people have the rarest ward."""
    born = [f"{1960 + one % 3}-05-{1 + one % 9:02}" for one in range(PEOPLE - 1)]
    draft = sessions(
        mrn=[70_000 + 37 * one for one in range(PEOPLE)],
        dob=["1941-05-17", *born],
        ward=["NSW"[one % 3] for one in range(PEOPLE)],
    )
    assert draft.person == "mrn"
    assert [one.smallest for one in draft.levels["ward"]] == [PEOPLE // 3, PEOPLE]
    assert draft.levels["dob"][0].smallest == 1
    assert "minimum: 1940-01-01" in draft.text
    assert "# People with unique values: " in draft.text


def test_records_alone_are_called_so_where_each_row_is_a_person() -> None:
    draft = drafted(id=[f"P{row}" for row in range(60)], age=range(20, 80), sex=["F", "M"] * 30)
    assert "# Records with unique values: 100 % by age + sex." in draft.text


def test_a_column_with_far_fewer_values_than_the_people_have_combinations_is_no_person() -> None:
    """Five models of a device among 600 people, most of whom are alone with age, sex and ZIP code."""
    rows = range(600)
    draft = drafted(
        case=[f"C{row:04d}" for row in rows],
        device_model=[f"model {row % 5}" for row in rows],
        age=[20 + row % 60 for row in rows],
        sex=["FM"[row // 60 % 2] for row in rows],
        zip=[37000 + row // 40 for row in rows],
    )
    assert draft.person is None
    roles = {one.profile.name: one.role for one in draft.suggestions}
    assert roles["age"] is roles["sex"] is roles["zip"] is Role.QUASI


@pytest.mark.parametrize("dated", [False, True])
def test_a_patient_is_the_person_and_a_visit_that_names_each_row_its_number(*, dated: bool) -> None:
    """Eighty patients with thirty visits each, on days of their own."""
    rows = range(2400)
    days = {"day": [f"2024-{1 + row % 12:02}-{1 + row % 28:02}" for row in rows]} if dated else {}
    draft = drafted(
        visit=[f"V{9000 + row}" for row in rows],
        patient=[f"P{row // 30}" for row in rows],
        age=[20 + row // 30 % 60 for row in rows],
        sex=["FM"[row // 30 % 2] for row in rows],
        **days,
    )
    assert (draft.person, draft.record_id) == ("patient", "visit")
    roles = {one.profile.name: one.role for one in draft.suggestions}
    assert roles["visit"] is roles["patient"] is Role.DIRECT
    assert roles["age"] is Role.QUASI


def test_a_status_named_for_patients_is_no_number_of_theirs() -> None:
    draft = drafted(
        patient=["in" if row % 3 else "out" for row in range(600)],
        patient_age=[20 + row % 60 for row in range(600)],
        sex=["FM"[row % 2] for row in range(600)],
    )
    roles = {one.profile.name: one.role for one in draft.suggestions}
    assert (roles["patient"], roles["patient_age"]) == (Role.UNREVIEWED, Role.QUASI)
    assert draft.person is None

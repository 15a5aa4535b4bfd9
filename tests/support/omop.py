"""A small hospital in tables of the OMOP Common Data Model, version 5.4.

It has what such tables have: empty columns, rows without a visit, and concepts without a match.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

COLUMNS = {
    "person": "person_id gender_concept_id year_of_birth month_of_birth day_of_birth birth_datetime race_concept_id "
    "ethnicity_concept_id location_id provider_id care_site_id person_source_value gender_source_value "
    "gender_source_concept_id race_source_value race_source_concept_id ethnicity_source_value "
    "ethnicity_source_concept_id",
    "visit_occurrence": "visit_occurrence_id person_id visit_concept_id visit_start_date visit_start_datetime "
    "visit_end_date visit_end_datetime visit_type_concept_id provider_id care_site_id visit_source_value "
    "visit_source_concept_id admitted_from_concept_id admitted_from_source_value discharged_to_concept_id "
    "discharged_to_source_value preceding_visit_occurrence_id",
    "condition_occurrence": "condition_occurrence_id person_id condition_concept_id condition_start_date "
    "condition_start_datetime condition_end_date condition_end_datetime condition_type_concept_id "
    "condition_status_concept_id stop_reason provider_id visit_occurrence_id visit_detail_id condition_source_value "
    "condition_source_concept_id condition_status_source_value",
    "drug_exposure": "drug_exposure_id person_id drug_concept_id drug_exposure_start_date drug_exposure_start_datetime "
    "drug_exposure_end_date drug_exposure_end_datetime verbatim_end_date drug_type_concept_id stop_reason refills "
    "quantity days_supply sig route_concept_id lot_number provider_id visit_occurrence_id visit_detail_id "
    "drug_source_value drug_source_concept_id route_source_value dose_unit_source_value",
    "measurement": "measurement_id person_id measurement_concept_id measurement_date measurement_datetime "
    "measurement_time measurement_type_concept_id operator_concept_id value_as_number value_as_concept_id "
    "unit_concept_id range_low range_high provider_id visit_occurrence_id visit_detail_id measurement_source_value "
    "measurement_source_concept_id unit_source_value unit_source_concept_id value_source_value measurement_event_id "
    "meas_event_field_concept_id",
    "death": "person_id death_date death_datetime death_type_concept_id cause_concept_id cause_source_value "
    "cause_source_concept_id",
    "note": "note_id person_id note_date note_datetime note_type_concept_id note_class_concept_id note_title note_text "
    "encoding_concept_id language_concept_id provider_id visit_occurrence_id visit_detail_id note_source_value "
    "note_event_id note_event_field_concept_id",
}
"""Columns of each table in the order of the specification."""
ENGLISH, EHR = "4180186", "32817"
NOTES = (
    "The patient was seen in the clinic and has no fever; the pain is better than it was in the week before.",
    "No complaints at the control. The patient takes the medication and will come back in a month.",
    "Patient was admitted with pain in the chest, which went away after the first day on the ward.",
)


def omop_tables(people: int = 300, seed: int = 54) -> dict[str, pd.DataFrame]:
    """Tables by name, every cell text, empty where there is no value."""
    draw = np.random.default_rng(seed)
    person = np.arange(1, people + 1)
    sex, race = draw.choice(["8507", "8532"], people), draw.choice(["8527", "8516", "8515", "0"], people)
    born = draw.integers(1940, 2005, people)
    visits = np.repeat(person, draw.integers(1, 5, people))
    start = np.datetime64("2023-01-02") + draw.integers(0, 700, len(visits))
    end = start + draw.integers(0, 9, len(visits))
    visit_ids = 1000 + np.arange(len(visits))
    of_row = np.repeat(np.arange(len(visits)), 2)
    loose = draw.random(len(of_row)) < 0.1
    dead = np.sort(draw.choice(person, people // 20, replace=False))
    conditions = draw.choice(["320128", "201826", "317009", "0"], len(of_row))
    tests = draw.choice(["3004249", "3016723"], len(of_row))
    noted = np.arange(0, len(visits), 3)

    def shared(rows: np.ndarray) -> dict[str, object]:
        """Person and visit of rows that mostly belong to visits."""
        visit = pd.Series(visit_ids[rows]).astype(str)
        return {"person_id": visits[rows], "visit_occurrence_id": visit.where(~loose[: len(rows)], "")}

    held: Mapping[str, Mapping[str, object]] = {
        "person": {
            "person_id": person,
            "gender_concept_id": sex,
            "year_of_birth": born,
            "month_of_birth": draw.integers(1, 13, people),
            "day_of_birth": draw.integers(1, 29, people),
            "race_concept_id": race,
            "ethnicity_concept_id": draw.choice(["38003563", "38003564", "0"], people),
            "location_id": draw.integers(1, 20, people),
            "care_site_id": draw.integers(1, 4, people),
            "person_source_value": [f"MRN-{number * 7919 % 100_003:06d}" for number in person],
            "gender_source_value": np.where(sex == "8507", "M", "F"),
            "race_source_value": race,
        },
        "visit_occurrence": {
            "visit_occurrence_id": visit_ids,
            "person_id": visits,
            "visit_concept_id": draw.choice(["9201", "9202", "9203"], len(visits)),
            "visit_start_date": start,
            "visit_start_datetime": [
                f"{day} {hour:02d}:15:00" for day, hour in zip(start, draw.integers(0, 24, len(visits)), strict=True)
            ],
            "visit_end_date": np.where(draw.random(len(visits)) < 0.2, "", end.astype(str)),
            "visit_type_concept_id": EHR,
            "care_site_id": draw.integers(1, 4, len(visits)),
            "visit_source_value": draw.choice(["INP", "OUT", "ER"], len(visits)),
            "admitted_from_concept_id": "0",
        },
        "condition_occurrence": {
            "condition_occurrence_id": np.arange(len(of_row)),
            **shared(of_row),
            "condition_concept_id": conditions,
            "condition_start_date": start[of_row],
            "condition_type_concept_id": EHR,
            "condition_source_value": [f"ICD10CM {one}" for one in conditions],
        },
        "drug_exposure": {
            "drug_exposure_id": np.arange(len(of_row)),
            **shared(of_row),
            "drug_concept_id": draw.choice(["1127433", "1503297", "0"], len(of_row)),
            "drug_exposure_start_date": start[of_row],
            "drug_exposure_end_date": start[of_row] + 7,
            "drug_type_concept_id": EHR,
            "quantity": draw.integers(1, 60, len(of_row)),
            "sig": "one tablet in the morning",
        },
        "measurement": {
            "measurement_id": np.arange(len(of_row)),
            **shared(of_row),
            "measurement_concept_id": tests,
            "measurement_date": start[of_row],
            "measurement_time": "08:00",
            "measurement_type_concept_id": EHR,
            "value_as_number": np.round(draw.normal(120, 15, len(of_row)), 0),
            "unit_concept_id": np.where(tests == "3004249", "8876", "8840"),
            "measurement_source_value": tests,
        },
        "death": {
            "person_id": dead,
            "death_date": "2025-01-15",
            "death_type_concept_id": EHR,
            "cause_concept_id": draw.choice(["317009", "0"], len(dead)),
        },
        "note": {
            "note_id": np.arange(len(noted)),
            **shared(noted),
            "note_date": start[noted],
            "note_type_concept_id": EHR,
            "note_class_concept_id": "44814645",
            "note_text": draw.choice(NOTES, len(noted)),
            "encoding_concept_id": "32678",
            "language_concept_id": ENGLISH,
        },
    }
    return {
        name: pd.DataFrame(
            {column: held[name].get(column, "") for column in columns.split()},
            index=range(len(held[name]["person_id"])),
        ).astype(str)
        for name, columns in COLUMNS.items()
    }


def written(folder: Path, tables: Mapping[str, pd.DataFrame], *, capitals: bool = False) -> Path:
    """A folder with a CSV file of each table; names of tables and columns in capitals where asked."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        shown = table.rename(columns=str.upper) if capitals else table
        shown.to_csv(folder / f"{name.upper() if capitals else name}.csv", index=False)
    return folder

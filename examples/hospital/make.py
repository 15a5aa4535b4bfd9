"""Make a synthetic hospital: 20,000 patients of Nashville with 110,000 visits, and the people of their ZIP codes.

Nobody here exists. Age, sex, race and ZIP code of each patient are drawn from the 2010 census of the example
``adult-tn``, which is also the population. Admissions follow weekday and season; some diagnoses are rare, some people
share a family name, and values are missing.
``python examples/hospital/make.py [FOLDER] [PATIENTS]`` writes the same bytes each time.
"""

import gzip
import io
import sys
from pathlib import Path

import numpy as np
import pandas as pd

SEED = 20261126
PATIENTS, VISITS_EACH = 20_000, 5.5
CENSUS = Path(__file__).parents[1] / "adult-tn" / "data" / "population-tn.parquet"
FIRST_DAY, DAYS = np.datetime64("2024-01-01"), 731
WEEKDAYS = np.array([1.25, 1.15, 1.1, 1.05, 1.0, 0.55, 0.5])
"""Admissions by day of the week, Monday first."""

WARDS = ["medicine", "surgery", "emergency", "cardiology", "obstetrics", "paediatrics", "psychiatry", "oncology"]
DIAGNOSES = {
    "I10": 90, "J06": 80, "E11": 60, "M54": 60, "J18": 45, "I25": 40, "N39": 40, "F41": 35, "F32": 35, "K21": 30,
    "J45": 30, "S52": 25, "I50": 25, "L03": 20, "R07": 20, "K80": 15, "C50": 12, "C18": 10, "G40": 8, "B20": 4,
    "F20": 4, "D57": 2, "G35": 2, "E84": 0.5, "G12": 0.3, "E75": 0.1,
}  # fmt: skip
"""ICD-10 categories and how often they are met; the last ones are rare."""
GIVEN = "Ada Ben Cora Dean Elsa Finn Gia Hal Ida Joel Kay Lars Mona Neil Ora Pia Quinn Rex Sara Ted Una Vic Wes Zoe"
FAMILY = "Abbott Barnes Cole Dawson Ellis Foster Grant Hayes Irwin Jarvis Keller Lowe Mercer Nolan Osborne Pruitt Quinn"


def main(folder: Path, patients: int = PATIENTS) -> None:
    """Write ``visits.csv.gz`` and ``population.parquet``."""
    generator = np.random.Generator(np.random.PCG64(SEED))
    census = pd.read_parquet(CENSUS)
    area = census[census["zip"].between(37200, 37299)].reset_index(drop=True)
    people = patients_of(generator, area, patients)
    visits = visits_of(generator, people)
    folder.mkdir(parents=True, exist_ok=True)
    area.to_parquet(folder / "population.parquet", index=False)
    with gzip.GzipFile(folder / "visits.csv.gz", "wb", mtime=0) as packed, io.TextIOWrapper(packed, "utf-8") as lines:
        visits.to_csv(lines, index=False, lineterminator="\n")


def patients_of(generator: np.random.Generator, area: pd.DataFrame, patients: int) -> pd.DataFrame:
    """Patients drawn from the census: of no kind more than there are; one in ten has the family name of another."""
    kinds = np.repeat(np.arange(len(area)), area["count"])
    people = area.iloc[np.sort(generator.choice(kinds, patients, replace=False))].drop(columns="count")
    people = people.iloc[generator.permutation(patients)].reset_index(drop=True)
    family, given = (generator.choice(names.split(), patients) for names in (FAMILY, GIVEN))
    shared = generator.random(patients) < 0.1
    family = np.where(shared, np.roll(family, 1), family)
    return people.assign(
        patient_id=[f"P{number:06d}" for number in generator.permutation(patients) + 1],
        name=[f"{one} {other}" for one, other in zip(given, family, strict=True)],
        insurance=generator.choice(["private", "public", "none"], patients, p=[0.55, 0.36, 0.09]),
    )


def visits_of(generator: np.random.Generator, people: pd.DataFrame) -> pd.DataFrame:
    """Visits by patient, in the order of admission."""
    age = people["age"].astype(int).to_numpy()
    each = np.minimum(1 + generator.negative_binomial(1.1, 1.1 / (1.1 + VISITS_EACH - 1), len(people)), 60)
    who = np.repeat(np.arange(len(people)), each)
    day = generator.choice(DAYS, len(who), p=_by_day())
    codes, often = list(DIAGNOSES), np.array(list(DIAGNOSES.values()))
    usual = generator.choice(len(codes), len(people), p=often / often.sum())
    any_other = generator.choice(len(codes), len(who), p=often / often.sum())
    diagnosis = np.where(generator.random(len(who)) < 0.4, usual[who], any_other)
    ward = generator.choice(5, len(who), p=[0.4, 0.25, 0.25, 0.06, 0.04])
    ward = np.where((age[who] < 18) & (ward < 3), 5, ward)
    ward = np.where(np.isin(diagnosis, [codes.index(one) for one in ("F41", "F32", "F20")]) & (ward == 0), 6, ward)
    ward = np.where(np.isin(diagnosis, [codes.index(one) for one in ("C50", "C18")]), 7, ward)
    stay = generator.geometric(0.3, len(who))
    creatinine = np.round(generator.lognormal(-0.1 + age[who] / 400, 0.25), 2).astype(str)
    name = people["name"].to_numpy()[who]
    visits = people.iloc[who].assign(
        admission=np.datetime_as_string(FIRST_DAY + day, unit="D"),
        ward=np.array(WARDS)[ward],
        diagnosis=np.where(generator.random(len(who)) < 0.01, "", np.array(codes)[diagnosis]),
        stay_days=stay,
        creatinine=np.where(generator.random(len(who)) < 0.35, "", creatinine),
        note=[f"{one} seen on the ward, stayed {days} days." for one, days in zip(name, stay, strict=True)],
    )
    visits = visits.iloc[np.lexsort((who, day))]
    return visits.assign(visit_id=[f"V{number:07d}" for number in range(1, len(visits) + 1)])


def _by_day() -> np.ndarray:
    """Share of admissions by day: by weekday, more in winter."""
    day = np.arange(DAYS)
    weekday = (day + (FIRST_DAY.astype("datetime64[D]").astype(int) + 3)) % 7
    share = WEEKDAYS[weekday] * (1 + 0.25 * np.cos(2 * np.pi * day / 365.25))
    return share / share.sum()


if __name__ == "__main__":
    main(
        Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "data",
        int(sys.argv[2]) if len(sys.argv) > 2 else PATIENTS,
    )

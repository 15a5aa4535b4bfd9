"""Make a synthetic hospital: patients of Nashville with visits, laboratory values and notes, and their neighbours.

Nobody here exists. Age, sex, race and ZIP code of each patient are drawn from the 2010 census of the example
``adult-tn``, which is also the population. Households share an address and a family name, twins a date of birth too.
Admissions follow weekday and season, some diagnoses are rare, and values are missing.
``python examples/hospital/make.py [FOLDER] [--patients NUMBER] [--visits-each MEAN]`` writes the same bytes each time.
"""

import argparse
import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import csv

SEED = 20261126
PATIENTS, VISITS_EACH = 20_000, 5.5
CENSUS = Path(__file__).parents[1] / "adult-tn" / "data" / "population-tn.parquet"
CITY = (37200, 37299)
"""First and last ZIP code of the city; where it has too few people, patients come from the whole state."""
FIRST_DAY, DAYS = np.datetime64("2024-01-01"), 731
AGES_ON = np.datetime64("2024-01-01")
"""Day on which patients have the age of the table."""
WEEKDAYS = np.array([1.25, 1.15, 1.1, 1.05, 1.0, 0.55, 0.5])
"""Admissions by day of the week, Monday first."""

HOUSEHOLD = 2.4
"""Patients of a household, on average, among those of one ZIP code and race."""
TWINS = 0.03
"""Share of the patients who have a twin among the patients, of those for whom there is one of the same age."""

WARDS = ["medicine", "surgery", "emergency", "cardiology", "obstetrics", "paediatrics", "psychiatry", "oncology"]
DIAGNOSES = {
    "I10": 90, "J06": 80, "E11": 60, "M54": 60, "J18": 45, "I25": 40, "N39": 40, "F41": 35, "F32": 35, "K21": 30,
    "J45": 30, "S52": 25, "I50": 25, "L03": 20, "R07": 20, "K80": 15, "C50": 12, "C18": 10, "G40": 8, "B20": 4,
    "F20": 4, "D57": 2, "G35": 2, "E84": 0.5, "G12": 0.3, "E75": 0.1,
}  # fmt: skip
"""ICD-10 categories and how often they are met; the last ones are rare."""
TESTS = {"creatinine": (0.95, 0.25), "haemoglobin": (13.5, 0.12), "crp": (4.0, 0.9), "potassium": (4.1, 0.1)}
"""Median and spread of the logarithm of each laboratory test."""
NOTES = (
    "{name} was seen by the team and went home after {days} days. No complaints at discharge.",
    "Admitted on {when} with pain, better after two days. The family of {name} can be called at 615-555-0{phone}.",
    "Patient feels well and wants to go home. {other} will pick the patient up; next control in a month.",
    "Stable over night, no fever. Medication was explained to {name}, who takes it since {when}.",
)
"""What a note says; `other` is somebody of the family. None names the ward, which others may know of a visit."""
GIVEN = "Ada Ben Cora Dean Elsa Finn Gia Hal Ida Joel Kay Lars Mona Neil Ora Pia Quinn Rex Sara Ted Una Vic Wes Zoe"
FAMILY = "Abbott Barnes Cole Dawson Ellis Foster Grant Hayes Irwin Jarvis Keller Lowe Mercer Nolan Osborne Pruitt Quinn"
STREETS = "Acorn Birch Cedar Dogwood Elder Fern Garland Hickory Iris Juniper Laurel Maple Oakwood Poplar Spruce Walnut"


def main(folder: Path, patients: int = PATIENTS, visits_each: float = VISITS_EACH) -> None:
    """Write patients, visits, labs and notes as CSV, and the population as Parquet."""
    generator = np.random.Generator(np.random.PCG64(SEED))
    census = pd.read_parquet(CENSUS)
    city = census[census["zip"].between(*CITY)]
    area = (city if city["count"].sum() > 2 * patients else census).reset_index(drop=True)
    people = patients_of(generator, area, patients)
    visits = visits_of(generator, people, visits_each)
    folder.mkdir(parents=True, exist_ok=True)
    area.to_parquet(folder / "population.parquet", index=False)
    tables = {
        "patients": people.drop(columns=["household"]),
        "visits": visits.drop(columns=["row"]),
        "labs": labs_of(generator, visits),
        "notes": notes_of(generator, people, visits),
    }
    for name, table in tables.items():
        with gzip.GzipFile(folder / f"{name}.csv.gz", "wb", compresslevel=6, mtime=0) as packed:
            written = pa.Table.from_pandas(table, preserve_index=False)
            csv.write_csv(written, packed, csv.WriteOptions(quoting_style="needed"))


def patients_of(generator: np.random.Generator, area: pd.DataFrame, patients: int) -> pd.DataFrame:
    """Patients drawn from the census, of no kind more than there are, in households of one ZIP code and race."""
    kinds = np.repeat(np.arange(len(area)), area["count"])
    people = area.iloc[generator.choice(kinds, patients, replace=False)].drop(columns="count").reset_index(drop=True)
    people["household"], twin_of = _households(generator, people)
    homes = int(people["household"].max()) + 1
    family, street = (generator.choice(words.split(), homes) for words in (FAMILY, STREETS))
    number = generator.integers(1, 2000, homes).astype(str)
    born = AGES_ON - 365 * people["age"].astype(int).to_numpy() - people["age"].astype(int).to_numpy() // 4
    born = born - generator.integers(1, 364, patients)
    of_home = people["household"].to_numpy()
    people = people.assign(
        race=people["race"].astype(str).mask(generator.random(patients) < 0.01, ""),
        patient_id=_codes("P", generator.permutation(patients) + 1, 7),
        name=_joined(generator.choice(GIVEN.split(), patients), family[of_home]),
        address=_joined(_joined(number, street), np.full(homes, "Street"))[of_home],
        born=np.datetime_as_string(born[twin_of], unit="D"),
        insurance=generator.choice(["private", "public", "none", ""], patients, p=[0.53, 0.35, 0.09, 0.03]),
    )
    columns = ["patient_id", "name", "address", "born", "age", "sex", "race", "zip", "insurance", "household"]
    return people[columns].iloc[generator.permutation(patients)].reset_index(drop=True)


def _households(generator: np.random.Generator, people: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Household of each person, and the person whose date of birth each shares: the twin, or nobody else."""
    alike = people.groupby(["zip", "race"], observed=True).ngroup().to_numpy()
    same_age = people.groupby(["zip", "race", "age"], observed=True).ngroup().to_numpy()
    order = np.lexsort((generator.random(len(people)), same_age))
    twin_of = np.arange(len(people))
    place = np.arange(len(people)) - np.searchsorted(same_age[order], same_age[order])
    second = np.flatnonzero((place % 2 == 1) & (generator.random(len(people)) < TWINS))
    twin_of[order[second]] = order[second - 1]
    order = np.lexsort((generator.random(len(people)), alike))
    starts = generator.random(len(people)) < 1 / HOUSEHOLD
    starts[1:] |= np.diff(alike[order]) != 0
    starts[0] = True
    home = np.empty(len(people), dtype=np.int64)
    home[order] = np.cumsum(starts) - 1
    return np.unique(home[twin_of], return_inverse=True)[1], twin_of


def visits_of(generator: np.random.Generator, people: pd.DataFrame, visits_each: float) -> pd.DataFrame:
    """Visits in the order of admission; ``row`` is that of the patient."""
    age = people["age"].astype(int).to_numpy()
    each = np.minimum(1 + generator.negative_binomial(1.1, 1.1 / (1.1 + visits_each - 1), len(people)), 60)
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
    order = np.lexsort((who, day))
    return pd.DataFrame(
        {
            "visit_id": _codes("V", np.arange(1, len(who) + 1), 8),
            "patient_id": people["patient_id"].to_numpy()[who][order],
            "admission": np.datetime_as_string(FIRST_DAY + day, unit="D")[order],
            "ward": np.array(WARDS)[ward][order],
            "diagnosis": np.where(generator.random(len(who)) < 0.01, "", np.array(codes)[diagnosis])[order],
            "stay_days": generator.geometric(0.3, len(who)),
            "row": who[order],
        }
    )


def labs_of(generator: np.random.Generator, visits: pd.DataFrame) -> pd.DataFrame:
    """Laboratory values of about every second visit, one to three each, some without a result."""
    each = generator.choice(4, len(visits), p=[0.5, 0.25, 0.15, 0.1])
    of = np.repeat(np.arange(len(visits)), each)
    test = generator.integers(0, len(TESTS), len(of))
    median, spread = (np.array([one[place] for one in TESTS.values()])[test] for place in (0, 1))
    result = pd.Series(np.round(median * np.exp(generator.normal(0, spread)), 1)).astype(str)
    return pd.DataFrame(
        {
            "patient_id": visits["patient_id"].to_numpy()[of],
            "visit_id": visits["visit_id"].to_numpy()[of],
            "test": np.array(list(TESTS))[test],
            "day_of_stay": np.minimum(generator.geometric(0.6, len(of)), visits["stay_days"].to_numpy()[of]),
            "result": result.mask(generator.random(len(of)) < 0.08, ""),
        }
    )


def notes_of(generator: np.random.Generator, people: pd.DataFrame, visits: pd.DataFrame) -> pd.DataFrame:
    """A short note on every tenth visit, with the names, days and numbers that notes have."""
    chosen = np.flatnonzero(generator.random(len(visits)) < 0.1)
    row = visits["row"].to_numpy()[chosen]
    name, days = people["name"].to_numpy()[row], visits["stay_days"].to_numpy()[chosen]
    when, phone = visits["admission"].to_numpy()[chosen], generator.integers(100, 999, len(chosen))
    other = generator.choice(GIVEN.split(), len(chosen))
    form = generator.integers(0, len(NOTES), len(chosen))
    told = [
        NOTES[one].format(name=who, when=day, days=stay, phone=number, other=f"{given} {who.split()[1]}")
        for one, who, day, stay, number, given in zip(form, name, when, days, phone, other, strict=True)
    ]
    return pd.DataFrame(
        {
            "note_id": _codes("N", np.arange(1, len(chosen) + 1), 7),
            "patient_id": visits["patient_id"].to_numpy()[chosen],
            "visit_id": visits["visit_id"].to_numpy()[chosen],
            "text": told,
        }
    )


def _codes(letter: str, numbers: np.ndarray, digits: int) -> np.ndarray:
    return _strings(letter, pd.Series(numbers).astype(str).str.zfill(digits))


def _joined(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return _strings(pd.Series(first) + " ", pd.Series(second))


def _strings(first: "str | pd.Series[str]", second: "pd.Series[str]") -> np.ndarray:
    return (first + second).to_numpy(dtype=object)


def _by_day() -> np.ndarray:
    """Share of admissions by day: by weekday, more in winter."""
    day = np.arange(DAYS)
    weekday = (day + (FIRST_DAY.astype("datetime64[D]").astype(int) + 3)) % 7
    share = WEEKDAYS[weekday] * (1 + 0.25 * np.cos(2 * np.pi * day / 365.25))
    return share / share.sum()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Make a synthetic hospital.")
    parser.add_argument("folder", type=Path, nargs="?", default=Path(__file__).parent / "data")
    parser.add_argument("--patients", type=int, default=PATIENTS)
    parser.add_argument("--visits-each", type=float, default=VISITS_EACH, help="mean number of visits of a patient")
    given = parser.parse_args()
    main(given.folder, given.patients, given.visits_each)

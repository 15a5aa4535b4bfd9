"""Make the synthetic clinic: 12,000 visitors of a region's clinics in eighteen months, 400 of them in our file.

Everybody here is invented. Two notes hold an identifier that somebody forgot: an e-mail address and a medical record
number. ``python examples/clinic/make.py [FOLDER]`` writes the same bytes each time.
"""

import csv
import random
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from pathlib import Path

SEED = 20260107
VISITORS = 12_000
RECORDS = 400
FIRST_DAY, LAST_DAY = date(2025, 1, 1), date(2026, 6, 30)
OLDEST = 97

POSTCODES = {"1010": 9, "1020": 14, "1030": 11, "1110": 6, "1120": 8, "2010": 17, "2020": 12, "2110": 5, "3010": 4}
AGE_BANDS = {(0, 4): 8, (5, 17): 10, (18, 39): 22, (40, 64): 30, (65, 79): 21, (80, OLDEST): 9}
DIAGNOSES = {
    "hypertension": 20,
    "respiratory infection": 18,
    "back pain": 14,
    "type 2 diabetes": 11,
    "migraine": 8,
    "asthma": 8,
    "anxiety disorder": 7,
    "depression": 7,
    "fracture": 4,
    "HIV infection": 2,
    "substance use disorder": 1,
}
CHILD_DIAGNOSES = {"respiratory infection": 12, "asthma": 4, "fracture": 3, "migraine": 1}
ADULT_AGE = 16
GIVEN_NAMES = (
    "Alma Bruno Carla Dario Edith Felix Greta Hugo Irene Jonas Klara Lorenz Marta Nils Olga Paul Rosa Simon Thea Ulrich"
)
FAMILY_NAMES = (
    "Albrecht Brandt Conti Dreyer Ebner Falk Gruber Hollis Imhof Jansen Kessler Lang Moser Novak Ortner Pichler Reiter"
)
NOTES = (
    "Routine visit, no complaints.",
    "Symptoms for two weeks, improving.",
    "Blood pressure 128/82, medication unchanged.",
    "Advised rest and fluids; return if worse.",
    "Laboratory results within range.",
    "Referred to physiotherapy.",
    "Dose increased from 5 mg to 10 mg.",
    "Sleeps badly, counselling offered.",
    "",
)
FORGOTTEN = {
    57: "Reports by mail please: {address}. Dose unchanged.",
    212: "Same complaint as under MRN {mrn}, see there.",
}

Visit = tuple[str, int, str, str]


def choose(source: random.Random, weighted: dict[object, int]) -> object:
    """One key, with the probability that its weight gives it."""
    return source.choices(list(weighted), list(weighted.values()))[0]


def visitors(source: random.Random) -> list[Visit]:
    """Visit date, age, postcode and sex of everybody who came, on working days."""
    days = [FIRST_DAY + timedelta(number) for number in range((LAST_DAY - FIRST_DAY).days + 1)]
    working_days = [day.isoformat() for day in days if day.weekday() < 5]
    people = []
    for _ in range(VISITORS):
        youngest, oldest = choose(source, AGE_BANDS)
        age = source.randint(youngest, oldest)
        people.append((source.choice(working_days), age, choose(source, POSTCODES), source.choice("FM")))
    return people


def records(source: random.Random, people: Sequence[Visit]) -> Iterable[list[object]]:
    """Our clinic's records of some of them, with names and notes."""
    given, family = GIVEN_NAMES.split(), FAMILY_NAMES.split()
    numbers = source.sample(range(10_000_000, 100_000_000), RECORDS)
    for row, (day, age, postcode, sex) in enumerate(source.sample(people, RECORDS)):
        name = f"{source.choice(given)} {source.choice(family)}"
        mrn = numbers[row]
        address = name.lower().replace(" ", ".") + "@example.org"
        note = FORGOTTEN.get(row, source.choice(NOTES)).format(mrn=mrn, address=address)
        diagnosis = choose(source, DIAGNOSES if age >= ADULT_AGE else CHILD_DIAGNOSES)
        yield [f"V{row + 1:04d}", name, mrn, day, age, postcode, sex, diagnosis, note]


def write(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a CSV file."""
    with path.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def main(folder: Path) -> None:
    """Write the clinic's records and the population of visitors; a folder that is not there is made."""
    folder.mkdir(parents=True, exist_ok=True)
    source = random.Random(SEED)  # noqa: S311 - synthetic data, the same each time
    people = visitors(source)
    quasi_identifiers = ["visit_date", "age", "postcode", "sex"]
    header = ["visit_id", "name", "mrn", *quasi_identifiers, "diagnosis", "note"]
    write(folder / "visits.csv", header, records(source, people))
    counts = sorted(Counter(people).items())
    write(folder / "population.csv", [*quasi_identifiers, "count"], ([*visit, count] for visit, count in counts))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "data")

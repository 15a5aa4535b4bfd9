"""Three files of people and the requests that a careful requester would write for them, drawn with a fixed seed.

Hierarchies are files with a column for each level, so that a released label can be looked up by hand.
"""

import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from tests.support.world import PENALTY, QUICK_LINKAGE, STAKES, World

Row = dict[str, str]
Tree = list[list[str]]
"""Rows of a hierarchy: a value, then its label on each level."""
Attributes = dict[str, dict[str, Any]]
_WHERE_KNOWN = {"generalization": {"adversary": "sequential", "budget": {"least_records": 12, "suppression": 0.02}}}
HARMLESS: dict[str, Any] = {"known_probability": 0}


@dataclass(frozen=True)
class Base:
    """A file, its population, and what is true of its columns, whatever a request says of them."""

    name: str
    rows: tuple[Row, ...]
    population: tuple[Row, ...]
    """Combinations of the quasi-identifiers' values, with the number of people in ``count``."""
    trees: Mapping[str, Tree]
    attributes: Attributes
    identifiers: tuple[str, ...]
    """Columns that name a person."""
    tells: Mapping[str, tuple[str, Mapping[str, frozenset[str]]]]
    """For a column that tells a quasi-identifier: which one, and the values of it that each of its own leaves."""
    presence_known: bool = True
    """Whether others can know who is in the file."""

    @property
    def quasi_identifiers(self) -> tuple[str, ...]:
        return tuple(self.trees)

    def document(self) -> dict[str, Any]:
        """The request of a careful requester."""
        return {
            "schema_version": "releasegate/request/1",
            "title": self.name,
            "requested_by": "a.steward",
            "dataset": {"path": "data.csv", "title": self.name, "source": "drawn", "record_id": self.identifiers[0]},
            "attributes": {name: dict(terms) for name, terms in self.attributes.items()},
            "population": {"path": "population.csv", "source": "drawn"},
            "recipients": [
                {
                    "id": "university",
                    "organisation": "The university",
                    "purpose": "research",
                    "agreement": {"id": "DUA-1", "expires": "2030-12-31"} | PENALTY,
                    "stakes": STAKES,
                }
            ],
            "policy": {"id": "standard", "version": "1", "linkage": QUICK_LINKAGE}
            | (_WHERE_KNOWN if self.presence_known else {"presence": "unknown"}),
        }

    def write(self, world: World) -> None:
        """Write data, population and hierarchies; the request is another matter."""
        world.folder.mkdir(parents=True)
        _write(world.data, self.rows)
        _write(world.population, self.population)
        for name, tree in self.trees.items():
            write_tree(world, name, tree)


def write_tree(world: World, name: str, tree: Tree) -> None:
    """Write a hierarchy as the request names it."""
    (world.folder / f"{name}.csv").write_text("".join(";".join(row) + "\n" for row in tree))


def _write(path: Any, rows: Sequence[Row]) -> None:
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _quasi(name: str, **terms: Any) -> dict[str, Any]:
    return {"role": "quasi-identifier", "hierarchy": {"file": f"{name}.csv"}} | terms


def _ages(low: int, high: int) -> Tree:
    return [[str(age), f"{age // 5 * 5}-{age // 5 * 5 + 4}", f"{age // 10 * 10}s", "*"] for age in range(low, high)]


def _population(people: Sequence[Row], names: Sequence[str]) -> tuple[Row, ...]:
    counts = Counter(tuple(one[name] for name in names) for one in people)
    return tuple(dict(zip(names, key, strict=True)) | {"count": str(n)} for key, n in sorted(counts.items()))


def _drawn(generator: np.random.Generator, size: int, columns: Mapping[str, Sequence[str]]) -> list[Row]:
    drawn = {name: generator.choice(list(values), size) for name, values in columns.items()}
    return [{name: str(column[row]) for name, column in drawn.items()} for row in range(size)]


@cache
def visits() -> Base:
    """Visits to a clinic: year of birth beside age, a note, and a number of the patient."""
    generator = np.random.default_rng(201)
    zips = ("37201", "37203", "37206", "38103", "38104", "38106")
    keys = {"age": [str(age) for age in range(20, 60)], "sex": ("F", "M"), "zip": zips}
    people = _drawn(generator, 3_000, keys)
    rows = [
        {"patient": f"PT{4_000_000 + 7919 * number % 999_983}"}
        | people[number]
        | {
            "born": str(2026 - int(people[number]["age"])),
            "diagnosis": str(generator.choice(["influenza", "migraine", "asthma", "fracture"])),
            "visits": str(generator.integers(1, 9)),
        }
        for number in range(300)
    ]
    return Base(
        "Visits",
        tuple(rows),
        _population(people, tuple(keys)),
        {
            "age": _ages(20, 60),
            "sex": [["F", "*"], ["M", "*"]],
            "zip": [[code, f"{code[:3]}**", "*"] for code in zips],
        },
        {
            "patient": {"role": "direct identifier"},
            "age": _quasi("age", type="integer"),
            "sex": _quasi("sex"),
            "zip": _quasi("zip", safe_harbor="zip"),
            "born": {"role": "direct identifier"},
            "diagnosis": {"role": "sensitive"} | HARMLESS,
            "visits": {"role": "insensitive", "type": "integer"} | HARMLESS,
        },
        ("patient",),
        {"born": ("age", {str(2026 - age): frozenset({str(age)}) for age in range(20, 60)})},
    )


@cache
def survey() -> Base:
    """A health survey: height and weight that nearly everybody has alone, and pregnancies, which tell the sex."""
    generator = np.random.default_rng(202)
    regions = tuple(f"{area}{place}" for area in "NESW" for place in range(1, 5))
    keys = {"age": [str(age) for age in range(18, 78)], "sex": ("female", "male"), "region": regions}
    people = _drawn(generator, 6_000, keys)
    rows = []
    for number in range(400):
        one = people[number]
        woman = one["sex"] == "female"
        rows.append(
            {"respondent": f"HS-{100_000 + 104_729 * number % 899_981}"}
            | one
            | {
                "height": str(round(float(generator.normal(165 if woman else 178, 8)), 1)),
                "pregnancies": str(generator.integers(0, 5)) if woman else "none",
                "smoker": str(generator.choice(["yes", "no", "formerly"], p=[0.2, 0.6, 0.2])),
                "income": str(generator.choice(["low", "middle", "high"])),
            }
        )
    women, both = frozenset({"female"}), frozenset({"female", "male"})
    told = {str(number): women for number in range(5)} | {"none": frozenset({"male"})}
    return Base(
        "Health survey",
        tuple(rows),
        _population(people, tuple(keys)),
        {
            "age": _ages(18, 78),
            "sex": [["female", "*"], ["male", "*"]],
            "region": [[place, place[0], "*"] for place in regions],
        },
        {
            "respondent": {"role": "direct identifier"},
            "age": _quasi("age", type="integer"),
            "sex": _quasi("sex"),
            "region": _quasi("region"),
            "height": {"role": "direct identifier"},
            "pregnancies": {"role": "direct identifier"},
            "smoker": {"role": "sensitive"} | HARMLESS,
            "income": {"role": "insensitive"} | HARMLESS,
        },
        ("respondent", "height"),
        {"pregnancies": ("sex", {value: told.get(value, both) for value in told})},
        presence_known=False,
    )


@cache
def patients() -> Base:
    """Patients of a ward with days of admission: a district that tells the county, and a number of the insurance."""
    generator = np.random.default_rng(203)
    districts = tuple(f"{county}-{place}" for county in ("Ash", "Birch", "Cedar") for place in range(1, 6))
    keys = {"age": [str(age) for age in range(40, 80)], "sex": ("f", "m"), "district": districts}
    people = _drawn(generator, 4_000, keys)
    rows = [
        {"insurance": f"{chr(65 + number % 26)}{10_000_000 + 7_654_321 * number % 89_999_999}"}
        | people[number]
        | {
            "county": people[number]["district"].split("-")[0],
            "admitted": f"20{generator.integers(20, 26)}-{generator.integers(1, 13):02}-{generator.integers(1, 29):02}",
            "stage": str(generator.choice(["I", "II", "III", "IV"])),
            "treated": str(generator.choice(["yes", "no"])),
        }
        for number in range(350)
    ]
    of_county = {
        name: frozenset(one for one in districts if one.startswith(name)) for name in ("Ash", "Birch", "Cedar")
    }
    return Base(
        "Patients",
        tuple(rows),
        _population(people, tuple(keys)),
        {
            "age": _ages(40, 80),
            "sex": [["f", "*"], ["m", "*"]],
            "district": [[one, one.split("-")[0], "*"] for one in districts],
        },
        {
            "insurance": {"role": "direct identifier"},
            "age": _quasi("age", type="integer"),
            "sex": _quasi("sex"),
            "district": _quasi("district"),
            "county": {"role": "direct identifier"},
            "admitted": {"role": "direct identifier"},
            "stage": {"role": "sensitive"} | HARMLESS,
            "treated": {"role": "insensitive"} | HARMLESS,
        },
        ("insurance", "admitted"),
        {"county": ("district", of_county)},
    )


BASES = (visits, survey, patients)

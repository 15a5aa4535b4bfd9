"""A file of labelled cells: kinds of identifiers, plain and in disguise, and of harmless text that looks like them.

Each kind is a column. Text identifiers come bare, in a sentence and encoded, in equal parts. Names are from
lists of this module's own, not from those of the program, so that some are unknown to it.
"""

import base64
import html
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from random import Random
from typing import Any
from urllib.parse import quote

import numpy as np
import pandas as pd

from tasks.request.model import ReleaseRequest
from tasks.validation.run import failing
from tasks.validation.suite import CheckedTable, derive
from tasks.validation.tables import ColumnTables, FileTables


def _words(text: str, at: str = " ") -> list[str]:
    return text.split(at)


GIVEN = _words(
    "James Mary Robert Patricia Michael Linda David Elizabeth William Barbara Susan Joseph Thomas Karen Aaliyah "
    "Brayden Jürgen "
    "Ursula Günther Heike Uwe Petra Françoise Thierry Odile Bastien María José Lucía Álvaro Consuelo Giulia Matteo "
    "Agnieszka "
    "Zbigniew Siobhán Oluwaseun Ngozi Priya Rajesh Mei Hiroshi Fatima Omar Svetlana Dmitri Anh Yusuf Leilani "
    "Thandiwe Grace "
    "Rose Mark May"
)
FAMILY = _words(
    "Smith Johnson Williams Brown Jones Garcia Miller Davis Rodriguez Wilson Anderson Thompson Nguyen Patel O'Brien "
    "McCarthy "
    "Whitfield Okafor Lindqvist Schmidt Müller Schröder Weiß Bauer Kowalczyk Nowak Dupont Lefèvre Moreau García "
    "Fernández Ortega "
    "Rossi Bianchi Yamamoto Kim Chen Haddad Abdullah Ivanova Petrov Quackenbush Featherstone Van-Dyke Oyelaran "
    "Szymański "
    "Thorvaldsen Papadopoulos Achterberg Zuberbühler Baker White Young King"
)
SENTENCES = (
    "Patient reports {}, follow-up in two weeks.",
    "seen today; {} noted by the team",
    "Referred earlier ({}) and stable since.",
    "Befund unauffällig, {} laut Akte",
    "note: {}",
)
DRUGS = _words(
    "Metformin Lisinopril Atorvastatin Amlodipine Omeprazole Losartan Gabapentin Sertraline Levothyroxine Albuterol"
)
SIGNS = _words(
    "Chest Pain|Back Pain|Shortness of Breath|Type 2 Diabetes|Atrial Fibrillation|Crohn Disease|Parkinson Disease", "|"
)
WARDS = _words(
    "Internal Medicine|Intensive Care Unit|St. Mary Hospital|General Surgery|Grace Hospital|North Wing|Emergency Room",
    "|",
)
FINDINGS = _words(
    "Normal Sinus Rhythm|White Blood Cell Count High|Left Ventricular Hypertrophy|MRI Brain Without Contrast|No "
    "Acute Distress|"
    "Graves Disease|Bell Palsy Right Side|Glasgow Coma Scale 15|Down Syndrome|Baker Cyst Left Knee|Hodgkin Lymphoma "
    "Stage II|"
    "Mother Diabetes, Father Hypertension|Rome Criteria Apply|Pain Scale Mild|Vitamin D Low|Apgar 9|Marked Improvement",
    "|",
)
JOBS = _words(
    "Baker|Cook|Exec-managerial|Prof-specialty|Truck Driver|School Teacher|Machine-op-inspct|Farming-fishing", "|"
)


@dataclass(frozen=True)
class Kind:
    """One column of the file."""

    name: str
    harmful: bool
    cell: Callable[[Random, int], str]
    """A cell by a source of chance and the number of its record."""
    type: str = "text"
    disguised: bool = True
    """Whether cells come in sentences and encoded as well."""
    column: str = ""
    """Name of the column, where it says something."""
    truly: Callable[[int], bool] = lambda _: True
    """Which records of an identifier's column have one."""


def _digits(chance: Random, form: str) -> str:
    return "".join(chance.choice("0123456789") if one == "#" else one for one in form)


def _day(chance: Random, first: int = 1930, last: int = 2024) -> date:
    return date(first, 1, 1) + timedelta(chance.randrange((last - first) * 365))


def _phone(chance: Random, _row: int) -> str:
    area, office = chance.choice([212, 615, 901, 415, 303, 828]), chance.randrange(200, 999)
    last = chance.randrange(10_000)
    return chance.choice(
        ["{}-{}-{:04d}", "({}) {}-{:04d}", "{}.{}.{:04d}", "+1 {} {} {:04d}", "{}{}{:04d}", "1-{}-{}-{:04d}"]
    ).format(area, office, last)


def _foreign_phone(chance: Random, _row: int) -> str:
    forms = ["+49 30 9018####", "030 9018 ####", "0171/23#####", "+44 20 7946 0###", "020 7946 0###", "01 42 68 5# ##"]
    return _digits(
        chance, chance.choice([*forms, "+33 6 12 34 ## ##", "06 12 34 ## ##", "+34 612 34# ###", "0041 44 668 18 ##"])
    )


def _ssn(chance: Random, _row: int) -> str:
    parts = chance.choice([219, 415, 78, 601, 123]), chance.randrange(1, 100), chance.randrange(1, 10_000)
    return chance.choice(
        _words(
            "{:03d}-{:02d}-{:04d}|{:03d} {:02d} {:04d}|{:03d}.{:02d}.{:04d}|{:03d}{:02d}{:04d}|{:03d}/{:02d}/{:04d}|"
            "{:03d}_{:02d}_{:04d}|{:03d} - {:02d} - {:04d}",
            "|",
        )
    ).format(*parts)


def _dated(chance: Random, _row: int) -> str:
    return _day(chance).strftime(
        chance.choice(["%Y-%m-%d", "%m/%d/%Y", "%d.%m.%Y", "%Y/%m/%d", "%Y%m%d", "%d-%m-%Y", "%d.%m.%y"])
    )


MONTHS = {
    "en": _words("January February March April May June July August September October November December"),
    "de": _words("Januar Februar März April Mai Juni Juli August September Oktober November Dezember"),
    "fr": _words("janvier février mars avril mai juin juillet août septembre octobre novembre décembre"),
    "es": _words("enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"),
}


def _written_date(chance: Random, _row: int) -> str:
    day, language = _day(chance), chance.choice(list(MONTHS))
    month = MONTHS[language][day.month - 1]
    forms = {
        "en": ["{1} {0}, {2}", "{0} {1} {2}"],
        "de": ["{0}. {1} {2}"],
        "fr": ["{0} {1} {2}"],
        "es": ["{0} de {1} de {2}"],
    }
    return chance.choice(forms[language]).format(
        day.day, chance.choice([month, month[:3]]) if language == "en" else month, day.year
    )


def _name(chance: Random, _row: int) -> str:
    given, family = chance.choice(GIVEN), chance.choice(FAMILY)
    forms = ["{0} {1}", "{1}, {0}", "Dr. {1}", "{0} A. {1}", "Frau {1}", "her husband {0}", "Mme {1}", "name: {0} {1}"]
    return chance.choice([*forms, "{0} {1}", "{0} {1}"]).format(given, family)


def _address(chance: Random, _row: int) -> str:
    number = chance.randrange(1, 2000)
    forms = [
        "{} Main Street",
        "{} Elm St",
        "{} Old Hickory Blvd",
        "{} W. 12th Avenue",
        "Hauptstraße {}",
        "Lange Gasse {}",
    ]
    forms += [
        "{} rue de la République",
        "{}, avenue Victor Hugo",
        "Calle Mayor {}",
        "Avenida de América, {}",
        "PO Box {}",
    ]
    return chance.choice([*forms, "Nashville, TN 372{:02d}", "{} Sunset Drive, Apt 4"]).format(number % 100)


def _coordinates(chance: Random, _row: int) -> str:
    north, east = chance.uniform(-89, 89), chance.uniform(-179, 179)
    forms = [
        f"{north:.5f}, {east:.5f}",
        f"{north:.4f} {east:.4f}",
        f"lat: {north:.3f}",
        f"{abs(north):.4f}N {abs(east):.4f}W",
    ]
    return chance.choice([*forms, f"{abs(int(north))}°{chance.randrange(60)}'{chance.randrange(60)}\"N"])


def _iban(chance: Random, _row: int) -> str:
    country, form = chance.choice(
        [("DE", "37040044##########"), ("GB", "WEST123456########"), ("AT", "19043#############"[:16])]
    )
    account = _digits(chance, form)
    number = int("".join(str(int(one, 36)) for one in account + country + "00"))
    whole = f"{country}{98 - number % 97:02d}{account}"
    return chance.choice(
        [whole, " ".join(whole[place : place + 4] for place in range(0, len(whole), 4)), whole.lower()]
    )


def _card(chance: Random, _row: int) -> str:
    body = chance.choice("45") + _digits(chance, "#" * 14)
    doubled = [int(one) * (2 - place % 2) for place, one in enumerate(body)]
    whole = body + str(-sum(one - 9 * (one > 9) for one in doubled) % 10)
    return chance.choice([whole, " ".join(whole[place : place + 4] for place in range(0, 16, 4))])


def _national(chance: Random, _row: int) -> str:
    number = chance.randrange(10**8)
    dni = f"{number:08d}" + "TRWAGMYFPDXBNJZSQVHLCKE"[number % 23]
    body = f"{chance.choice('12')}{chance.randrange(100):02d}{chance.randrange(1, 13):02d}{_digits(chance, '75056###')}"
    nir = f"{body}{97 - int(body) % 97:02d}"
    return chance.choice(
        [
            dni,
            nir,
            "AB123456C".replace("123456", _digits(chance, "######")),
            f"{nir[0]} {nir[1:3]} {nir[3:5]} {nir[5:7]} {nir[7:10]} {nir[10:13]} {nir[13:]}",
        ]
    )


def _record_number(chance: Random, _row: int) -> str:
    forms = [
        "MRN ######",
        "MRN: ########",
        "patient ID ######",
        "Fallnummer ########",
        "Patientennr. #######",
        "n° de dossier ######",
    ]
    return _digits(
        chance, chance.choice([*forms, "historia clínica #######", "chart no. #####", "account number #########"])
    )


def _old(chance: Random, _row: int) -> str:
    forms = [
        "{}-year-old",
        "{} years old",
        "aged {}",
        "{}-jährige Patientin",
        "{} ans",
        "{} años",
        "{} yo",
        "Alter: {}",
        "{} y/o",
    ]
    return chance.choice(forms).format(chance.randrange(90, 108))


def _lab(chance: Random, _row: int) -> str:
    value = chance.uniform(0.1, 300)
    forms = [
        "{:.1f} mg/dL",
        "{:.2f}",
        "Hb {:.1f} g/dl",
        "{:.3f} mmol/l",
        "CRP {:.0f}",
        "120/80 mmHg, HR {:.0f}",
        "pO2 {:.1f} (75-100)",
    ]
    return chance.choice(forms).format(value)


def _clinical(chance: Random, _row: int) -> str:
    first, second = chance.sample(SIGNS, 2)
    drug, dose = chance.choice(DRUGS), chance.randrange(5, 1000, 5)
    forms = [
        "{0} since March 2019, on {2} {3} mg. May need {1} review in 3 months.",
        "Started {2} {3} mg daily for {0}; {1} resolved.",
    ]
    forms += [
        "Patient {5} improved. Pain 3/10, BP 120/80, no {0}. Will return if {1} recurs.",
        "Discharged to {4}. {2} {3}mg BID.",
    ]
    forms += [
        "Pt seen in {4}. {0}. Mother with {1}. Age 64.",
        "Rose from bed at 08:30, mark on left arm. {0}. {2} {3} mg",
    ]
    return chance.choice(forms).format(
        first, second, drug, dose, chance.choice(WARDS), chance.choice(["much", "slightly"])
    )


def _statistic(chance: Random, _row: int) -> str:
    low = chance.uniform(0.5, 2)
    return chance.choice(
        [
            f"OR {low:.2f} (95 % CI {low / 2:.2f}-{low * 2:.2f}), p<0.05",
            f"{low:.2f} ± {low / 9:.2f}",
            f"n={chance.randrange(9999)}, {low:.1%}",
        ]
    )


def _weekday(chance: Random, _row: int) -> str:
    while True:
        day = _day(chance, 2018, 2024)
        if day.weekday() < 5 or chance.random() < 0.1:
            return str((day - date(1899, 12, 30)).days)


def _birthday(row: int) -> date:
    return _day(Random(row), 1931, 2005)


KINDS = (
    Kind(
        "e-mail address",
        True,
        lambda c, r: f"{c.choice(GIVEN).lower()[:3]}.{r}@example.{c.choice(['org', 'de', 'co.uk'])}",
    ),
    Kind("US phone number", True, _phone),
    Kind("European phone number", True, _foreign_phone),
    Kind("social security number", True, _ssn),
    Kind("IP address", True, lambda c, _: ".".join(str(c.randrange(1, 255)) for _ in range(4))),
    Kind(
        "web address",
        True,
        lambda c, r: c.choice(["https://example.org/p/{}", "www.example{}.com", "linkedin.com/in/u{}"]).format(r),
    ),
    Kind("record number", True, _record_number),
    Kind("date in digits", True, _dated),
    Kind("date in words", True, _written_date),
    Kind("name in text", True, _name),
    Kind("column of given names", True, lambda c, _: c.choice(GIVEN), disguised=False, column="kin"),
    Kind("postal address", True, _address),
    Kind("coordinates", True, _coordinates),
    Kind("IBAN", True, _iban),
    Kind("payment card", True, _card),
    Kind("national number", True, _national),
    Kind("age over 89 in text", True, _old),
    Kind("own family name", True, lambda _, r: _family(r)),
    Kind("another record's family name", True, lambda c, _: _family(c.randrange(40))),
    Kind("own record number", True, lambda _, r: f"7{r * 7919 % 9_999_991:07d}"),
    Kind("own record number in integers", True, lambda _, r: f"7{r * 7919 % 9_999_991:07d}", "integer", False),
    Kind(
        "Excel day numbers, named",
        True,
        lambda c, _: str((_day(c) - date(1899, 12, 30)).days),
        "integer",
        False,
        "birth_serial",
    ),
    Kind("Excel day numbers, unnamed", True, _weekday, "integer", False, "serial"),
    Kind("day of a split date, named", True, lambda _, r: str(_birthday(r).day), "integer", False, "birth_day"),
    Kind("month of a split date, named", True, lambda _, r: str(_birthday(r).month), "integer", False, "birth_month"),
    Kind("latitude column", True, lambda c, _: f"{c.uniform(30, 40):.5f}", "number", False, "lat"),
    Kind(
        "ages over 89 under another name",
        True,
        lambda _, r: str(_age(r)),
        "integer",
        False,
        "yrs",
        lambda r: _age(r) > 89,
    ),
    Kind(
        "ages in months",
        True,
        lambda c, r: str(_age(r) * 12 + c.randrange(12)),
        "integer",
        False,
        "m_life",
        lambda r: _age(r) > 89,
    ),
    Kind(
        "product code",
        False,
        lambda c, _: _digits(c, c.choice(["AB-####-##", "####-###-##", "###-###-###", "SKU######", "X##.####"])),
    ),
    Kind("ICD code", False, lambda c, _: _digits(c, c.choice(["E11.#", "I2#.##", "Z##.#", "C50.#11", "S72.0#1A"]))),
    Kind("laboratory value", False, _lab),
    Kind(
        "price",
        False,
        lambda c, _: c.choice(["${:,.2f}", "{:.2f} EUR", "USD {:.0f}", "{:,.0f} €"]).format(c.uniform(1, 99999)),
    ),
    Kind(
        "time of day",
        False,
        lambda c, _: c.choice(["{:02d}:{:02d}", "{:02d}:{:02d}:30", "{}.{:02d} Uhr", "{:02d}h{:02d}"]).format(
            c.randrange(24), c.randrange(60)
        ),
    ),
    Kind("ZIP code", False, lambda c, _: _digits(c, c.choice(["37###", "38###", "372##-####"])), disguised=False),
    Kind("clinical text", False, _clinical, disguised=False),
    Kind("statistic", False, _statistic),
    Kind(
        "year or month",
        False,
        lambda c, _: c.choice(["{}", "March {}", "Q3 {}", "{}-07", "Mai {}", "en {}"]).format(c.randrange(1950, 2024)),
    ),
    Kind(
        "hash or UUID",
        False,
        lambda c, _: c.choice(["{:032x}", "{:016x}", "{:08x}-4a1b-11ee-be56-0242ac120002"]).format(c.getrandbits(30)),
    ),
    Kind(
        "drug and dose",
        False,
        lambda c, _: f"{c.choice(DRUGS)} {c.choice(['HCl', 'Extended Release', 'Sodium'])} {c.randrange(5, 999, 5)} mg",
    ),
    Kind("ward or site", False, lambda c, _: c.choice(WARDS), disguised=False),
    Kind("occupation", False, lambda c, _: c.choice(JOBS), disguised=False),
    Kind(
        "race and ethnicity",
        False,
        lambda c, _: c.choice(["White", "Black", "Asian-Pac-Islander", "Hispanic or Latino", "Other"]),
        disguised=False,
    ),
    Kind(
        "ages under 90 in text",
        False,
        lambda c, _: c.choice(["{}-year-old", "{} years old", "aged {}", "{}-jährig"]).format(c.randrange(1, 89)),
    ),
    Kind(
        "order number",
        False,
        lambda c, _: _digits(c, c.choice(["PO-############", "4500######", "############", "R-###-####"])),
    ),
    Kind(
        "gene or variant",
        False,
        lambda c, _: _digits(c, c.choice(["BRCA1 c.##_##delAG", "rs#######", "HLA-DRB1*15:0#", "p.Val6##Glu"])),
    ),
    Kind("finding in capitals", False, lambda c, _: c.choice(FINDINGS)),
    Kind("income", False, lambda c, _: str(c.randrange(80, 600) * 100), "integer", False),
    Kind("step count", False, lambda c, _: str(c.randrange(7400, 50000)), "integer", False),
    Kind("hours a week", False, lambda c, _: str(c.randrange(1, 32)), "integer", False, "hours"),
    Kind("score of 1 to 12", False, lambda c, _: str(c.randrange(1, 13)), "integer", False, "score"),
    Kind("measurement", False, lambda c, _: f"{c.gauss(80, 15):.4f}", "number", False, "weight"),
)
"""The kinds, those of identifiers first."""


def _family(row: int) -> str:
    return Random(row * 31 + 7).choice(
        ["Quillfeather", "Abernathy", "Zumwalt", "Oberhollenzer", "Vandersloot", "Marchbanks"]
    ) + ("abcdefghijklmnopqrst"[row % 20] + "aeiou"[row // 20 % 5])


def _age(row: int) -> int:
    return Random(row + 5).choice([*range(18, 90), 91, 93, 95, 97])


def _disguise(chance: Random, cell: str) -> str:
    way = chance.randrange(6)
    if way == 0:
        return quote(cell, safe="")
    if way == 1:
        return "".join(f"&#{ord(one)};" if chance.random() < 0.5 else html.escape(one) for one in cell)
    if way == 2:
        return "".join(f"\\u{ord(one):04x}" if chance.random() < 0.5 else one for one in cell)
    if way == 3:
        return "\u200b".join(cell) if chance.random() < 0.5 else "\u00ad".join(cell)
    if way == 4:
        return "".join(chr(ord(one) + 0xFEE0) if "!" <= one <= "~" else one for one in cell)
    return base64.b64encode(cell.encode()).decode()


def labelled(rows: int, seed: int = 20) -> tuple[pd.DataFrame, ReleaseRequest]:
    """The file, of ``rows`` records, and a request for it that calls every kind insensitive."""
    columns: dict[str, list[str]] = {
        "record_id": [str(row) for row in range(rows)],
        "name": [f"Test {_family(row)}" for row in range(rows)],
        "mrn": [f"7{row * 7919 % 9_999_991:07d}" for row in range(rows)],
        "age": [str(_age(row)) for row in range(rows)],
        "sex": ["F", "M"] * (rows // 2) + ["F"] * (rows % 2),
    }
    attributes: dict[str, dict[str, Any]] = {
        name: {"role": "direct identifier"} for name in ("record_id", "name", "mrn", "age")
    }
    attributes["sex"] = {"role": "quasi-identifier", "hierarchy": {"groups": {"levels": [{"any": ["F", "M"]}]}}}
    for place, kind in enumerate(KINDS):
        chance = Random(seed * 1000 + place)
        cells = [kind.cell(chance, row) for row in range(rows)]
        if kind.disguised:
            for row in range(rows):
                if row % 3 == 1:
                    cells[row] = chance.choice(SENTENCES).format(cells[row])
                elif row % 3 == 2:
                    cells[row] = _disguise(chance, cells[row])
        columns[column_of(place)] = cells
        attributes[column_of(place)] = {"role": "insensitive", "type": kind.type}
    frame = pd.DataFrame({name: pd.array(cells, dtype=pd.StringDtype("pyarrow")) for name, cells in columns.items()})
    document = {
        "schema_version": "releasegate/request/1",
        "title": "Labelled",
        "requested_by": "steward",
        "dataset": {"path": "labelled.csv", "title": "Labelled", "source": "synthetic", "record_id": "record_id"},
        "attributes": attributes,
        "population": {"path": "population.csv", "source": "synthetic"},
        "recipients": [
            {
                "id": "university",
                "organisation": "University",
                "purpose": "research",
                "agreement": {"id": "DUA-1", "expires": "2030-01-01"},
                "stakes": {"benefit": 1200, "loss": 300, "cost": 4},
            }
        ],
        "policy": {"id": "house", "version": "1", "presence": "unknown"},
    }
    return frame, ReleaseRequest.model_validate(document)


def column_of(place: int) -> str:
    """Name of the column of a kind, by its place in ``KINDS``; says nothing unless the kind's own does."""
    return KINDS[place].column or "c" + "".join("qwertzuiop"[int(digit)] for digit in f"{place:02d}")


def flagged(frame: pd.DataFrame, request: ReleaseRequest, column: str) -> dict[str, np.ndarray]:
    """Cells of a column that fail a check of validation, by the check's id; without those of its declared type."""
    file = FileTables(frame, request, np.ones(len(frame), dtype=np.bool_))
    tables = ColumnTables(file, column)
    found = {}
    for check in derive(request).checks:
        if check.column == column and check.kind != "type":
            failed = failing(check, tables.build(check.table, [check.field]))
            if check.mostly == 1:
                found[check.id] = tables.encoded.on_records(failed) if check.table is CheckedTable.VALUES else failed
    return found


@dataclass(frozen=True)
class Share:
    """Outcome for one kind."""

    kind: Kind
    found: float
    """Share of the cells with an identifier that are flagged; NaN where there is none."""
    wrong: float
    """Share of the cells without one that are flagged; NaN where there is none."""
    checks: dict[str, float]
    """Shares by the checks that flag any."""


def shares(rows: int, seed: int = 20) -> list[Share]:
    """Outcomes of the scans for each kind."""
    frame, request = labelled(rows, seed)
    result = []
    for place, kind in enumerate(KINDS):
        checks = flagged(frame, request, column_of(place))
        marked = np.logical_or.reduce(list(checks.values()))
        truth = np.array([kind.harmful and kind.truly(row) for row in range(rows)])
        found, wrong = (float(marked[of].mean()) if of.any() else float("nan") for of in (truth, ~truth))
        result.append(
            Share(kind, found, wrong, {name: float(mask.mean()) for name, mask in checks.items() if mask.any()})
        )
    return result

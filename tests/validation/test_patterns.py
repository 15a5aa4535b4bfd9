"""Patterns: what is found and what is left alone, and that both engines of pandas agree on it."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.request.model import PatternName
from tasks.validation.patterns import (
    DATE_AND_TIME,
    NUMBER,
    NUMBER_PATTERNS,
    PATTERN_TITLES,
    TEXT_PATTERNS,
    WHOLE_NUMBER,
)
from tasks.validation.values import matches
from tasks.validation.verified import VERIFIED
from tests.support.examples import examples

EVERY_EXPRESSION = [*TEXT_PATTERNS.values(), *NUMBER_PATTERNS.values(), WHOLE_NUMBER, NUMBER, DATE_AND_TIME]

FOUND = {
    PatternName.EMAIL: [
        "jane.doe@example.org",
        "write to <j_d+x@mail.example.co.uk>, please",
        "Ünal@büro.de",
        "a@b.io",
        "line one\njane@example.org\nline three",
    ],
    PatternName.PHONE: [
        "212-555-0187",
        "(212) 555-0187",
        "(212)555-0187",
        "212.555.0187",
        "212 555 0187",
        "212/555-0187",
        "212–555–0187",
        "2125550187",
        "1-212-555-0187",
        "+1 (212) 555-0187",
        "+12125550187",
        "+44 20 7946 0958",
        "+49(0)30 901820",
        "call 555-0187",
        "Phone: 555 0187",
        "tel.no. 5550187",
        "Fax 555-0187 ext 4",
        "reached at 212-555-0187x12",
        "Tel.2125550187.",
    ],
    PatternName.SSN: [
        "219-09-9999",
        "219 09 9999",
        "219.09.9999",
        "219‑09‑9999",
        "219099999",
        "SSN:219099999.",
        "219/09/9999",
        "219_09_9999",
        "219 - 09 - 9999",
        "2 1 9 0 9 9 9 9 9",
        "001-01-0001",
        "665-01-0001",
        "667-01-0001",
        "912-70-1234",
    ],
    PatternName.IP: [
        "10.0.0.1",
        "from 192.168.255.254:8080.",
        "255.255.255.255",
        "10.0.0.1/24",
        "2001:db8::1",
        "fe80::1ff:fe23:4567:890a%eth0",
        "[2001:db8:0:0:0:0:2:1]",
        "fd12:3456:789a:1::1",
    ],
    PatternName.URL: [
        "https://example.org/p/1",
        "HTTP://EXAMPLE.ORG",
        "ftp://files.example.org",
        "see www.example.org",
        "linkedin.com/in/jdoe",
        "(profile.example.net/jdoe)",
    ],
    PatternName.MEDICAL_RECORD_NUMBER: [
        "MRN 123456",
        "mrn:00123",
        "M.R.N. is A-123456",
        "MRN#123",
        "medical record number 0012345",
        "Med Rec No. AB12345",
        "chart # 45678",
        "patient ID: 12-345-678",
        "account no 998877",
        "health plan number H12345678",
        "Fallnummer 123456",
        "Patienten-ID: 44556",
        "n° de dossier 12345",
        "historia clínica 123456",
        "case no. 44521",
    ],
    PatternName.FULL_DATE: [
        "2019-03-05",
        "2019/3/5",
        "born 1931-12-31T10:15",
        "03/05/2019",
        "3.5.2019",
        "31-12-1999",
        "12/31/99",
        "5 March 2019",
        "5th of March, 2019",
        "March 5, 2019",
        "Sept. 5th 2019",
        "05MAR2019",
        "5-Mar-19",
        "20190305",
        "20190305T1015",
        "DOB2019-03-05",
        "05.03.19",
        "05-03-19",
        "2019 03 05",
        "05 03 2019",
        "5. März 2019",
        "le 1er mars 2019",
        "5 de marzo de 2019",
        "3. Mai 2019",
        "15 janv. 2020",
        "1. Dez. 2020",
        "2019-Mar-05",
    ],
    PatternName.NAME: [
        "seen by Dr. Smith",
        "Mrs Oyelaran called",
        "Frau Müller",
        "Mme Lefèvre",
        "Señora Ortega",
        "née Dupont",
        "geb. Bauer",
        "name: Peter Miller",
        "Nom : Dupont",
        "a friend called Thandiwe",
    ],
    PatternName.POSTAL_ADDRESS: [
        "12 Main St",
        "lives at 1600 Pennsylvania Avenue NW",
        "45 W. 12th Street",
        "Hauptstraße 12",
        "Lange Straße 5a",
        "12 rue de la Paix",
        "Calle Mayor 5",
        "Avenida de América, 12",
        "PO Box 123",
        "Postfach 12 34",
        "Nashville, TN 37201",
    ],
    PatternName.COORDINATES: [
        "36.1627, -86.7816",
        "36.1627 N 86.7816 W",
        "36°09'46\"N",
        "lat: 36.16",
        "geo:36.1,-86.7",
    ],
    PatternName.AGE_OVER_89: [
        "93-year-old",
        "a woman 101 years old",
        "aged 93",
        "92 yo",
        "93-jährige Patientin",
        "93 ans",
        "93 años",
        "Alter: 97",
    ],
}

LEFT_ALONE = {
    PatternName.EMAIL: ["user@localhost", "@handle.name", "a @ b.com", "3@2.5", "mean ± sd @ 12.5"],
    PatternName.PHONE: [
        "555-0187",
        "range 500-1000",
        "0.2125550187",
        "1,212,555",
        "112-555-0187",
        "212-155-0187",
        "12125550187123",
        "+12345",
        "deadbeef2125550187cafe",
        "T cell 200-1000",
        "1990-2000",
        "37766-1234",
        "120/80",
    ],
    PatternName.SSN: [
        "000-12-3456",
        "666-12-3456",
        "219-00-9999",
        "219-09-0000",
        "900-12-3456",
        "37766-1234",
        "2190999990",
        "21909999",
        "0.219099999",
        "219-099-999",
        "2019-03-05",
    ],
    PatternName.IP: [
        "1.2.3",
        "1.2.3.4.5",
        "v1.2.3.4",
        "256.1.1.1",
        "1.2.3.999",
        "12:34:56",
        "00:1A:2B:3C:4D:5E",
        "std::vector",
        "ratio 1::2",
    ],
    PatternName.URL: ["and/or", "e.g./i.e.", "example.org", "http:", "www", "done.Then/now"],
    PatternName.MEDICAL_RECORD_NUMBER: [
        "medical record reviewed",
        "MRN pending",
        "MRN 12",
        "patient number 1234",
        "medical record 2019",
        "chart 45678",
        "hormrn 12345",
    ],
    PatternName.FULL_DATE: [
        "2019",
        "2019-03",
        "03/2019",
        "March 2019",
        "March 5",
        "5 March",
        "1990-2000",
        "120/80",
        "30/60/90",
        "2019-13-05",
        "2019-00-10",
        "20191305",
        "0.20190305",
        "may 20 patients",
        "12.03.15.2",
        "mars 2019",
        "5 de marzo",
    ],
    PatternName.NAME: [
        "Dr visit",
        "frau",
        "the patient is stable",
        "patient: stable",
        "M. Crohn",
        "MR Brain",
        "St. Mary",
    ],
    PatternName.POSTAL_ADDRESS: ["stage 2 ring 3", "bed 5, ward 3", "5 mg way too much", "main street", "Nashville"],
    PatternName.COORDINATES: ["1.234, 5.678", "120.5, 80.25", "95.12345, 200.12345", "late 36.16"],
    PatternName.AGE_OVER_89: [
        "83 years old",
        "90+",
        "1993 years old",
        "aged 89",
        "90 years of follow-up",
        "HR 93",
        "93 %",
    ],
}


@pytest.mark.parametrize(("pattern", "cell"), [(name, cell) for name, cells in FOUND.items() for cell in cells])
def test_an_identifier_is_found(pattern, cell, text):
    assert matches(text([cell]), TEXT_PATTERNS[pattern]).tolist() == [True]


@pytest.mark.parametrize(("pattern", "cell"), [(name, cell) for name, cells in LEFT_ALONE.items() for cell in cells])
def test_a_near_miss_is_left_alone(pattern, cell, text):
    assert matches(text([cell]), TEXT_PATTERNS[pattern]).tolist() == [False]


def test_every_pattern_of_the_policy_has_an_expression_and_words():
    assert set(TEXT_PATTERNS) == set(FOUND) == set(LEFT_ALONE)
    assert set(PATTERN_TITLES) == set(PatternName) == set(TEXT_PATTERNS) | set(VERIFIED)


@pytest.mark.parametrize(
    "cell", ["77516", "1484705", "39", "-0.5", "12345678", "99999999", "666123456", "212.555", "1e9"]
)
def test_an_ordinary_number_is_no_identifier(cell, text):
    assert not any(matches(text([cell]), regex)[0] for regex in NUMBER_PATTERNS.values())


@pytest.mark.parametrize(
    ("pattern", "cell"),
    [
        (PatternName.SSN, "219099999"),
        (PatternName.SSN, "219099999.0"),
        (PatternName.SSN, "001010001"),
        (PatternName.PHONE, "2125550187"),
        (PatternName.PHONE, "12125550187"),
        (PatternName.FULL_DATE, "20190305"),
    ],
)
def test_an_identifier_kept_as_a_number_is_found(pattern, cell, text):
    assert matches(text([cell]), NUMBER_PATTERNS[pattern]).tolist() == [True]


@pytest.mark.parametrize(
    ("regex", "good", "bad"),
    [
        (
            WHOLE_NUMBER,
            ["0", "-12", "+7", "007", "9" * 18],
            ["", " 1", "1 ", "1\n", "1.0", "1e3", "9" * 19, "１", "x", "-"],
        ),
        (
            NUMBER,
            ["0", "-1.5", ".5", "5.", "1e-9", "+2E10"],
            ["", "1,5", "nan", "inf", "1e999", ".", "1.5\n", "0x1A", "1_0"],
        ),
        (
            DATE_AND_TIME,
            ["2019-03-05", "2019-03-05T10:15", "2019-03-05 10:15:59.123456Z", "2019-03-05T10:15:59+02:00"],
            ["2019-3-5", "05.03.2019", "2019-13-01", "2019-00-01", "2019-03-32", "2019-03-05\n", "2019-03-05 noon"],
        ),
    ],
)
def test_what_a_typed_column_may_hold(regex, good, bad, text):
    assert matches(text(good), regex).all()
    assert not matches(text(bad), regex).any()


@pytest.mark.parametrize("regex", EVERY_EXPRESSION)
def test_an_expression_stays_with_the_linear_engine(regex, text):
    assert re.compile(regex).groups == 0
    awkward = text(["a\nb", "é\v"]).astype("str").array
    assert not awkward._needs_python_regex(regex)


@pytest.mark.slow
@settings(max_examples=examples(150), deadline=None)
@given(st.text(alphabet="0123456789-./:+@() aAbBfFjJmMnNrRwW\n\u00a0–é", max_size=30))
def test_both_engines_agree(cell):
    import pandas as pd

    column = pd.Series([cell], dtype=pd.StringDtype("pyarrow"))
    for regex in EVERY_EXPRESSION:
        assert matches(column, regex)[0] == bool(re.search(regex, cell)), regex

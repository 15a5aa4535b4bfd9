import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.core.errors import DataError, PopulationError, RequestError, WorkspaceError
from tasks.draft.document import Given
from tasks.draft.draft import Draft, Source, draft_file, write_draft
from tasks.draft.draft import profiled as profile_file
from tasks.draft.hierarchies import date_levels, interval_levels
from tasks.draft.questions import Answer
from tasks.draft.roles import (
    MANY_VALUES,
    MAYBE_QUANTITY,
    OTHER_DATES,
    QUANTITY,
    UNCLEAR,
    ColumnProfile,
    Suggestion,
    profile,
    suggest,
)
from tasks.draft.separation import MAXIMUM_RECORDS, separations
from tasks.draft.stated import Stated
from tasks.microdata.build import from_dates, from_intervals, from_prefixes, read_arx
from tasks.request.column_names import Theme
from tasks.request.document import Location
from tasks.request.file_form import FileForm
from tasks.request.load import LoadedRequest, load_request
from tasks.request.model import MaskingName, Method, PatternName, Policy, Role, SafeHarborRule, ValueType
from tasks.validation.values import encode
from tests.support.drafted import draft_request, filled
from tests.support.examples import examples
from tests.support.world import releasegate_here


def column(values: Sequence[str | None]) -> pd.Series:
    return pd.Series(list(values), dtype="string[pyarrow]")


def frame(columns: Mapping[str, Sequence[str | None]]) -> pd.DataFrame:
    return pd.DataFrame({name: column(values) for name, values in columns.items()})


def profiled(name: str, values: Sequence[str | None]) -> ColumnProfile:
    return profile(name, encode(column(values)))


@pytest.fixture(scope="module")
def clinic() -> pd.DataFrame:
    """400 records with something of everything."""
    draws = np.random.default_rng(7)
    n = 400
    return frame(
        {
            "Record No": [str(number) for number in range(5000, 5000 + n)],
            "age": [str(age) for age in draws.integers(18, 89, n)],
            "zip": [f"{code:05}" for code in draws.integers(37010, 37040, n)],
            "sex": list(draws.choice(["Mvalue", "Fvalue"], n)),
            "raceGroup": list(draws.choice(["Avalue", "Bvalue", "Cvalue"], n)),
            "admitted": [f"2024-0{month}-1{day}" for month, day in draws.integers(1, 9, (n, 2))],
            "contact": [f"person{number}@example.org" if number % 9 == 0 else "noneknown" for number in range(n)],
            "remarks": [f"a long remark about what was seen and done, number {number % 50}" for number in range(n)],
            "lab_result": [f"{value:.3f}" for value in draws.normal(5, 1, n)],
            "weightfactor": [str(value) for value in draws.integers(100_000, 999_999, n)],
            "smoker": [None if number % 40 == 0 else "?" if number % 40 == 1 else "Yvalue" for number in range(n)],
        }
    )


def flat(text: str) -> str:
    """A draft in one line, without the marks of comments."""
    return " ".join(text.replace("#", " ").split())


def loaded(draft: Draft, folder: Path) -> LoadedRequest:
    write_draft(draft, folder)
    path = folder / "request.yaml"
    path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")
    return load_request(path)


def test_columns_that_the_study_needs_have_one_grouping(clinic: pd.DataFrame, tmp_path: Path) -> None:
    file, needed = (
        profile_file(Source("data.csv", clinic)),
        Stated(roles={"age": Role.QUASI}, needed=frozenset({"age"})),
    )
    folders = tmp_path / "needed", tmp_path / "plain"
    requests = []
    for folder, stated in zip(folders, (needed, Stated()), strict=True):
        folder.mkdir()
        requests.append(loaded(draft_file(file, None, stated), folder).request)
    first, second = requests
    assert first.policy.generalization.method is Method.NO_ATTACK_COMMON
    assert {name for name in first.quasi_identifiers if first.attributes[name].weight == 10} == {"age"}
    assert second.policy.generalization.method is Method.NO_ATTACK_REMAINDER


def test_numbers_that_some_outside_may_know_are_masked(clinic: pd.DataFrame, tmp_path: Path) -> None:
    """A tenth of 400 records is 40; a word is not masked, nor what nobody outside knows."""
    file = profile_file(Source("data.csv", clinic))
    draft = draft_file(file, None, Stated(roles={"age": Role.SENSITIVE, "smoker": Role.SENSITIVE}))
    request = loaded(draft, tmp_path).request
    assert [(one.attributes, one.method, one.k) for one in request.masking] == [(("age",), MaskingName.MDAV, 40)]
    assert "masking:" not in draft.answered(Given({("attributes", "age", "known_probability"): 0})).text


def test_an_identifier_that_is_withheld_still_names_the_records(tmp_path: Path) -> None:
    """A wage that differs in every record does not; and of two identifiers, that which is called one does."""
    rows = range(60)
    table = frame(
        {
            "wage": [str(1000 + row * row) for row in rows],
            "register number": [f"r{row:03}" for row in rows],
            "letter": [f"l{row:03}" for row in rows],
            "age": [str(30 + row % 3) for row in rows],
        }
    )
    file = profile_file(Source("data.csv", table))

    def drafted(*withheld: str) -> Draft:
        return draft_file(file, None, Stated(persons=True, roles=dict.fromkeys(withheld, Role.WITHHELD)))

    both = drafted("wage", "register number", "letter")
    assert both.record_id == "register number"
    assert '"register number": {role: direct identifier} # stated by a person; record_id needs this role' in both.text
    request = loaded(both, tmp_path).request
    assert {name: one.role for name, one in request.attributes.items() if name != "age"} == {
        "wage": Role.WITHHELD,
        "register number": Role.DIRECT,
        "letter": Role.WITHHELD,
    }
    assert drafted("register number").record_id == "letter"
    without = profile_file(Source("data.csv", table.drop(columns=["register number", "letter"])))
    assert draft_file(without, None, Stated(persons=True, roles={"wage": Role.WITHHELD})).record_id is None


def test_separation_by_hand() -> None:
    *_, measured = separations({"a": np.array([0, 0, 1, 1, 1]), "b": np.array([0, 1, 0, 0, -1])})
    # classes {0}, {1}, {2, 3}, {4}: of 10 pairs only one is alike
    assert (measured.separation_ratio, measured.distinction_ratio, measured.alone) == (0.9, 0.8, 0.6)
    assert separations({"a": np.array([3])})[0].separation_ratio == 0.0
    assert separations({"a": np.array([], dtype=int)})[0].alone == 0.0


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.tuples(*[st.integers(-1, 3)] * 4), min_size=2, max_size=12))
def test_separations_are_those_of_counted_pairs(rows: list[tuple[int, ...]]) -> None:
    names = ("a", "b", "c", "d")
    codes = {name: np.array([row[axis] for row in rows]) for axis, name in enumerate(names)}
    measured = separations(codes)
    assert {frozenset(one.columns) for one in measured} == {
        frozenset(chosen) for size in (1, 2, 3) for chosen in combinations(names, size)
    }
    for one in measured:
        axes = [names.index(name) for name in one.columns]
        tuples = [tuple(row[axis] for axis in axes) for row in rows]
        pairs = list(combinations(tuples, 2))
        assert one.separation_ratio == pytest.approx(sum(x != y for x, y in pairs) / len(pairs))
        assert one.distinction_ratio == len(set(tuples)) / len(tuples)
        assert one.alone == sum(tuples.count(each) == 1 for each in tuples) / len(tuples)
    sizes = [len(one.columns) for one in measured]
    assert sizes == sorted(sizes)


def test_separation_of_many_columns_and_records_stays_small() -> None:
    wide = separations({f"c{number:02}": np.arange(40) // (number + 1) for number in range(14)})
    assert sum(len(one.columns) == 1 for one in wide) == 14
    assert {name for one in wide if len(one.columns) > 1 for name in one.columns} == {f"c{n:02}" for n in range(10)}
    long = separations({"a": np.arange(3 * MAXIMUM_RECORDS) % 2, "b": np.arange(3 * MAXIMUM_RECORDS)})
    assert long[0].columns == ("b",)
    assert long[0].distinction_ratio == 1.0


def test_a_profile_by_hand() -> None:
    told = profiled("ZipCode_of Home", ["37010", "37010", "37011-1234", None, "x" * 41])
    assert (told.records, told.missing, told.distinct, told.alone) == (5, 1, 3, 2)
    assert told.distinct_ratio == 0.75
    assert (told.zip_share, told.free_text_share) == (0.75, 0.25)
    assert told.words == ("zip", "code", "of", "home")
    assert not told.is_key
    empty = profiled("x", [None, None])
    assert (empty.distinct, empty.distinct_ratio, empty.zip_share, empty.is_key) == (0, 0.0, 0.0, False)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", "-20", "0"], ValueType.INTEGER),
        (["1", "2.5"], ValueType.NUMBER),
        (["01", "02"], ValueType.TEXT),
        (["01.5", "2"], ValueType.TEXT),
        (["+1", "2"], ValueType.NUMBER),
        (["2024-02-29", "1999-12-31"], ValueType.DATE),
        (["2024", "1999-12-31"], ValueType.TEXT),
        (["NaN", "1"], ValueType.TEXT),
        ([None], ValueType.TEXT),
    ],
)
def test_types_are_the_narrowest_that_fit(values: list[str | None], kind: ValueType) -> None:
    assert profiled("x", values).type is kind


@pytest.mark.parametrize(
    ("cell", "pattern"),
    [
        ("write to ann@example.org", PatternName.EMAIL),
        ("call 615-555-0100", PatternName.PHONE),
        ("078-05-1121", PatternName.SSN),
        ("host 192.168.10.12", PatternName.IP),
        ("https://example.org/x", PatternName.URL),
        ("MRN 448812", PatternName.MEDICAL_RECORD_NUMBER),
        ("seen on 3/14/2024", PatternName.FULL_DATE),
    ],
)
def test_one_cell_with_an_identifier_keeps_a_column_back(cell: str, pattern: PatternName) -> None:
    told = profiled("notice", [cell, *["nothing"] * 99])
    assert told.patterns == {pattern: pytest.approx(0.01)}
    suggestion = suggest(told, None)
    assert suggestion.role is Role.DIRECT
    assert f"{pattern.plural} (1 % of its cells)" in suggestion.reasons[0]
    assert cell not in " ".join(suggestion.reasons)


NUMBERS = [str(number) for number in range(40)]
FEW = [str(number % 4) for number in range(100)]
MANY = [f"v{number % 60}" for number in range(100)]
KEY = [f"v{number}" for number in range(100)]
SOME = [f"{number % 30}.5" for number in range(100)]
DAYS = [str((number % 60) ** 2 + 5) for number in range(100)]
"""From 5 to 3,486: of 60 days, 3 have one digit, 7 have two, 22 three, 28 four."""
AMOUNTS = [f"{number % 60}.75" for number in range(100)]


@pytest.mark.parametrize(
    ("name", "values", "role", "theme"),
    [
        ("record_id", KEY, Role.DIRECT, Theme.IDENTITY),
        ("PatientName", FEW, Role.DIRECT, Theme.IDENTITY),
        ("SSN", FEW, Role.DIRECT, Theme.IDENTITY),
        ("e-mail", FEW, Role.DIRECT, Theme.IDENTITY),
        ("home address", FEW, Role.DIRECT, Theme.IDENTITY),
        ("site_id", FEW, Role.QUASI, Theme.PLACE),
        ("group_code", FEW, Role.QUASI, Theme.PLACE),
        ("drug_name", FEW, Role.SENSITIVE, Theme.PRIVATE),
        ("diagnosis_code", KEY, Role.DIRECT, Theme.IDENTITY),
        ("Age", FEW, Role.QUASI, Theme.AGE),
        ("AgeAtVisit", FEW, Role.QUASI, Theme.AGE),
        ("stage", FEW, Role.UNREVIEWED, None),
        ("charged", AMOUNTS, Role.UNREVIEWED, None),
        ("Hauptdiagnose", FEW, Role.SENSITIVE, Theme.PRIVATE),
        ("ZIP", FEW, Role.QUASI, Theme.ZIP),
        ("postcode", MANY, Role.QUASI, Theme.ZIP),
        ("where", ["37010", "37011"] * 50, Role.QUASI, Theme.ZIP),
        ("city", MANY, Role.QUASI, Theme.PLACE),
        ("birth_date", KEY, Role.QUASI, Theme.DATE),
        ("seen", ["2024-01-05", "2024-02-05"] * 50, Role.QUASI, Theme.DATE),
        ("gender", FEW, Role.QUASI, Theme.PERSON),
        ("ethnicity", FEW, Role.QUASI, Theme.PERSON),
        ("diagnosis", FEW, Role.SENSITIVE, Theme.PRIVATE),
        ("income", SOME, Role.SENSITIVE, Theme.PRIVATE),
        ("birthplace", FEW, Role.QUASI, Theme.PERSON),
        ("black_male", ["0", "1"] * 50, Role.QUASI, Theme.PERSON),
        ("menopause", ["pre", "post"] * 50, Role.SENSITIVE, Theme.PRIVATE),
        ("menostat", ["pre", "post"] * 50, Role.SENSITIVE, Theme.PRIVATE),
        ("continent_name", ["a", "b"] * 50, Role.QUASI, Theme.PERSON),
        ("yrdth", ["1987", "2004"] * 50, Role.QUASI, Theme.DATE),
        ("death", ["0", "1"] * 50, Role.SENSITIVE, Theme.PRIVATE),
        ("death", ["1987", "2004"] * 50, Role.QUASI, Theme.DATE),
        ("followup_time", SOME, Role.SENSITIVE, Theme.PRIVATE),
        ("days to death", SOME, Role.SENSITIVE, Theme.PRIVATE),
        ("futime", NUMBERS, Role.SENSITIVE, Theme.PRIVATE),
        ("visit_month", ["1", "12"] * 50, Role.QUASI, Theme.DATE),
        ("survtime", DAYS, Role.SENSITIVE, Theme.PRIVATE),
        ("rectime", ["1987", "2004"] * 50, Role.QUASI, Theme.DATE),
        ("dosetime", ["08:30", "21:00"] * 50, Role.UNREVIEWED, None),
        ("CD4_count", DAYS, Role.SENSITIVE, Theme.PRIVATE),
        ("cd40", DAYS, Role.UNREVIEWED, None),
        ("sales", DAYS, Role.UNREVIEWED, None),
        ("sales", [str(7 * int(day)) for day in DAYS[:60]], Role.DIRECT, None),
        ("sales", [str(100_000 + 900 * (number % 60)) for number in range(100)], Role.DIRECT, None),
        ("sales", [str(900 + 2 * (number % 60)) for number in range(100)], Role.DIRECT, None),
        ("pidnum", DAYS, Role.DIRECT, None),
        ("subject", DAYS, Role.DIRECT, Theme.IDENTITY),
        ("x1", KEY, Role.DIRECT, None),
        ("x2", MANY, Role.DIRECT, None),
        ("x3", SOME, Role.UNREVIEWED, None),
        ("x4", [f"what somebody wrote about another person, {n % 9}" for n in range(100)], Role.WITHHELD, None),
        ("x5", ["same"] * 100, Role.UNREVIEWED, None),
        ("age", [None] * 100, Role.DIRECT, Theme.AGE),
        ("sample.yr", ["1995", "2003"] * 50, Role.QUASI, Theme.DATE),
        ("grams", [str(1800 + number) for number in range(100)], Role.DIRECT, None),
        ("état_civil", FEW, Role.QUASI, Theme.PERSON),
        ("personnes_à_charge", FEW, Role.QUASI, Theme.PERSON),
        ("revenu_mensuel", SOME, Role.SENSITIVE, Theme.PRIVATE),
        ("leeftijd", SOME, Role.QUASI, Theme.AGE),
        ("fødselsår", ["1987", "2004"] * 50, Role.QUASI, Theme.DATE),
        ("kön", FEW, Role.QUASI, Theme.PERSON),
        ("inntekt", SOME, Role.SENSITIVE, Theme.PRIVATE),
        ("comune", SOME, Role.QUASI, Theme.PLACE),
    ],
)  # fmt: skip
def test_roles_by_name_and_form(name: str, values: list[str | None], role: Role, theme: Theme | None) -> None:
    suggestion = suggest(profiled(name, values), None)
    assert (suggestion.role, suggestion.theme) == (role, theme)
    assert suggestion.reasons


@pytest.mark.parametrize(
    ("name", "label", "values", "role", "reason"),
    [
        ("mrt", "marital status = 1 if married", FEW, Role.QUASI, "“marital” in its label"),
        ("rns", "residency in South", FEW, Role.QUASI, "“residency” in its label"),
        ("lw", "log wage", [str(number % 40 / 8) for number in range(100)], Role.SENSITIVE, "“wage” in its label"),
        ("kww", "score on knowledge in world of work test", FEW, Role.SENSITIVE, "“score” in its label"),
        ("inc", "income last year, in dollars", FEW, Role.SENSITIVE, "“income” in its label"),
        ("contact", "employment: office phone", FEW, Role.DIRECT, "“phone” in its label"),
        ("sex", "income", FEW, Role.QUASI, "“sex” in its name"),
        ("v1", "last year", FEW, Role.UNREVIEWED, UNCLEAR),
        ("v2", "hospital number", KEY, Role.DIRECT, "each record has a value of its own"),
        ("v3", "name of the employer", MANY, Role.DIRECT, "most records have a value of their own"),
        ("v4", "blood test", [str(number / 8) for number in range(100)], Role.SENSITIVE, "“test” in its label"),
    ],
)
def test_a_label_tells_the_role_where_the_name_does_not(
    name: str, label: str, values: list[str], role: Role, reason: str
) -> None:
    """First the name, then the first word of the label but periods; nearly unique values go before a label."""
    suggestion = suggest(replace(profiled(name, values), label=label), None)
    assert (suggestion.role, suggestion.reasons[0]) == (role, reason)


@pytest.mark.parametrize(
    ("values", "like"),
    [
        (["1", "3", "5"], True),  # five numbers from the first to the last, at most twice three
        (["1", "3", "7"], True),  # of one digit
        (["8", "9", "14"], False),  # a third has two digits, and seven numbers are more than six
        (["8", "9", "13"], True),
        ([*map(str, range(1000, 1900, 100)), "99"], True),  # nine in ten have four digits
        ([*map(str, range(1000, 1800, 100)), "99"], False),  # eight in nine
        (["-5", "0", "8"], True),
        (["0.5", "1", "90"], False),
    ],
)
def test_numbers_that_could_be_those_of_records(values: list[str], like: bool) -> None:
    assert profiled("x", values).like_numbers is like


def test_a_quantity_is_told_from_numbers_of_records() -> None:
    quantity, numbers = (suggest(profiled(name, DAYS), None).reasons for name in ("sales", "pidnum"))
    assert quantity == (QUANTITY, MANY_VALUES)
    assert numbers == ("most records have a value of their own",)
    whole = [str(number**2) for number in range(100)]
    assert MAYBE_QUANTITY in suggest(profiled("sales", whole), None).reasons
    assert MAYBE_QUANTITY not in suggest(profiled("sales", KEY), None).reasons


def test_what_neighbours_know_is_no_great_secret() -> None:
    """Unless it is of a kind that the law protects."""
    columns = ("marital-status", "education", "native-country", "religion", "salary", "remark")
    found = [suggest(profiled(name, ["a", "a", "b", "b"] * 5), in_population=False) for name in columns]
    assert [one.sensitivity for one in found] == [0.4, 0.4, 1.0, 1.0, 1.0, 1.0]


def test_nothing_is_called_insensitive(clinic: pd.DataFrame) -> None:
    draft = draft_request(clinic, "data.csv")
    assert all(suggestion.role is not Role.INSENSITIVE for suggestion in draft.suggestions)


def test_what_the_population_lacks_is_not_a_quasi_identifier() -> None:
    assert suggest(profiled("x3", FEW), True).role is Role.QUASI
    assert suggest(profiled("sex", FEW), False).role is Role.SENSITIVE
    for name in ("age", "zip", "city", "birth_date"):
        suggestion = suggest(profiled(name, FEW), False)
        assert suggestion.role is Role.WITHHELD, name
        assert "population table lacks it" in suggestion.reasons[1]


def test_private_values_that_occur_once_come_with_a_warning() -> None:
    assert len(suggest(profiled("income", [f"{n}.25" for n in range(100)]), None).reasons) == 2
    assert len(suggest(profiled("income", SOME), None).reasons) == 1


@settings(max_examples=examples(80), deadline=None)
@given(st.integers(-5000, 5000), st.integers(0, 20_000))
def test_intervals_nest_and_hide_the_extremes(low: int, width: int) -> None:
    levels = interval_levels(low, low + width)
    assert levels is not None
    assert levels.minimum <= low <= low + width <= levels.maximum
    widest = levels.widths[-1]
    assert levels.minimum % widest == 0
    assert (levels.maximum + 1) % widest == 0
    assert all(later % earlier == 0 for earlier, later in zip(levels.widths, levels.widths[1:], strict=False))
    assert levels.maximum - levels.minimum < (width + 1) + 2 * widest


def test_years_that_a_person_makes_a_quasi_identifier_have_bands_as_those_that_the_draft_finds() -> None:
    """Fewer than ten different numbers are codes, but years are not; 1995 to 2003 in steps of two and four."""
    frame = pd.DataFrame({"entered": column([str(1995 + row % 9) for row in range(900)])})
    file = profile_file(Source("data.csv", frame))
    bands = "intervals: {minimum: 1992, maximum: 2003, widths: [2, 4]}"
    for stated in (Stated(), Stated(roles={"entered": Role.QUASI})):
        assert bands in draft_file(file, None, stated).text


def test_interval_hierarchies_are_built_from_the_draft() -> None:
    levels = interval_levels(17, 90)
    assert levels is not None
    assert (levels.minimum, levels.maximum, levels.widths) == (0, 99, (5, 10, 20))
    hierarchy = from_intervals("age", levels)
    assert hierarchy.n_levels == 5
    assert hierarchy.labels[-1] == ("*",)
    assert interval_levels(0, 1_000_000) is None
    assert interval_levels(-1, 999_998) is None


def test_the_draft_suggests_what_a_careful_person_would(clinic: pd.DataFrame) -> None:
    draft = draft_request(clinic, "data.csv")
    roles = {suggestion.profile.name: suggestion.role for suggestion in draft.suggestions}
    assert roles == {
        "Record No": Role.DIRECT,
        "age": Role.QUASI,
        "zip": Role.QUASI,
        "sex": Role.QUASI,
        "raceGroup": Role.QUASI,
        "admitted": Role.QUASI,
        "contact": Role.DIRECT,
        "remarks": Role.WITHHELD,
        "lab_result": Role.UNREVIEWED,
        "weightfactor": Role.DIRECT,
        "smoker": Role.UNREVIEWED,
    }
    assert draft.record_id == "Record No"
    assert set(draft.hierarchies) == {"hierarchy-sex.csv", "hierarchy-racegroup.csv"}


def test_a_raw_draft_is_refused_and_names_what_to_fill_in(clinic: pd.DataFrame, tmp_path: Path) -> None:
    request, *_ = write_draft(draft_request(clinic, "data.csv"), tmp_path)
    with pytest.raises(RequestError) as caught:
        load_request(request)
    assert [problem.path for problem in caught.value.problems] == [
        "title",
        "requested_by",
        "recipients[0].organisation",
        "recipients[0].id",
        "recipients[0].purpose",
        "recipients[0].agreement.id",
        "recipients[0].agreement.expires",
        "population.source",
        "dataset.title",
        "dataset.source",
    ]
    assert {problem.fix for problem in caught.value.problems} == {"fill in the value"}
    lines = request.read_text(encoding="utf-8").splitlines()
    asked = [number for number, line in enumerate(lines, start=1) if "# fill in: " in line]
    assert asked == [problem.line for problem in caught.value.problems]
    assert asked[-1] < lines.index("attributes:")
    others = [lines[number - 1] for number in range(asked[0], asked[-1]) if number not in asked]
    between = [line.split(":")[0] for line in others if not line.startswith(" " * 8)]
    assert between == ["recipients", "    agreement", "    stakes", "policy", "population", "  self", "dataset"]


@pytest.mark.parametrize(
    ("years", "bounds", "periods"),
    [
        ({1941: 12, 2003: 12}, ("1941-01-01", "2003-12-31"), ["month", "year", "five-years", "decade"]),
        ({1941: 11, 2003: 11}, ("1940-01-01", "2009-12-31"), ["month", "year", "five-years", "decade"]),
        ({2004: 12, 2023: 11}, ("2004-01-01", "2029-12-31"), ["month", "quarter", "year"]),
        ({2023: 12}, ("2023-01-01", "2023-12-31"), ["month", "quarter"]),
    ],
)
def test_levels_of_days_fit_the_years_they_span(
    years: dict[int, int], bounds: tuple[str, str], periods: list[str]
) -> None:
    """A first or last year of fewer than 12 records, the smallest class of the default gates, is not told."""
    levels = date_levels({f"{year}-05-17": records for year, records in years.items()})
    assert levels is not None
    assert (str(levels.minimum), str(levels.maximum)) == bounds
    assert [period.value for period in levels.levels] == periods


def test_terms_of_a_recipient_take_one_line_once_they_are_answered(clinic: pd.DataFrame) -> None:
    place = ("recipients", 0, "agreement")
    draft = draft_request(clinic, "data.csv")
    some: dict[Location, Answer] = {(*place, "id"): "DUA, 7"}
    below = draft.answered(Given(some)).text.partition("    agreement: # “penalty:”")[2].splitlines()[1:3]
    assert below[0] == '      id: "DUA, 7"'
    assert below[1].startswith("      expires: # fill in")
    both = some | {(*place, "expires"): "2040-01-01"}
    assert '\n    agreement: {id: "DUA, 7", expires: 2040-01-01} # “penalty:”' in draft.answered(Given(both)).text
    whole = both | {(*place, "penalty"): 2000, (*place, "detection_rate"): 0.01}
    one_line = '\n    agreement: {id: "DUA, 7", penalty: 2000, detection_rate: 0.01, expires: 2040-01-01}\n'
    assert one_line in draft.answered(Given(whole)).text


def test_a_filled_in_draft_is_a_request(clinic: pd.DataFrame, tmp_path: Path) -> None:
    request = loaded(draft_request(clinic, "data.csv"), tmp_path).request
    assert tuple(request.attributes) == tuple(clinic.columns)
    assert request.quasi_identifiers == ("age", "zip", "sex", "raceGroup", "admitted")
    assert request.dataset.missing == ("", "?")
    age, zip_code, admitted = (request.attributes[name] for name in ("age", "zip", "admitted"))
    assert (age.type, age.safe_harbor) == (ValueType.INTEGER, SafeHarborRule.AGE)
    assert age.hierarchy is not None
    assert age.hierarchy.intervals is not None
    assert (zip_code.type, zip_code.safe_harbor) == (ValueType.TEXT, SafeHarborRule.ZIP)
    assert zip_code.hierarchy is not None
    assert zip_code.hierarchy.prefixes is not None
    assert from_prefixes("zip", zip_code.hierarchy.prefixes, clinic["zip"]).n_levels == 4, (
        "prefixes that tell no more than the next are left out"
    )
    assert admitted.type is ValueType.DATE
    assert admitted.hierarchy is not None
    assert admitted.hierarchy.dates is not None
    days = from_dates("admitted", admitted.hierarchy.dates)
    assert set(clinic["admitted"]) <= set(days.labels[0])
    assert [days.labels[0][0], days.labels[0][-1]] == ["2024-01-01", "2024-12-31"], "whole years tell nobody's day"
    assert [len(level[0]) for level in days.labels] == [10, 7, 7, 1]


def test_days_with_times_of_day_are_grouped_by_day_month_and_year() -> None:
    days = [f"{year}-{month:02}-{day}" for year in (2023, 2024) for month in range(1, 13) for day in (10, 20)]
    stays = [f"{day} {hour}:30" for day in days for hour in (10, 11)]
    draft = draft_request(frame({"admitted": stays, "sex": ["F", "M"] * 48}), "data.csv")
    assert 'hierarchy: {prefixes: {keep: [10, 7, 4], mask: ""}}' in " ".join(draft.text.split())
    assert [one.groups for one in draft.levels["admitted"]] == [96, 48, 24, 2, 1]


def test_hierarchy_files_cover_data_and_population(tmp_path: Path, clinic: pd.DataFrame) -> None:
    people = frame({"sex": ["Mvalue", "Fvalue", "Xvalue"], "age": ["0", "104", "50"], "people": ["1", "2", "3"]})
    draft = draft_request(clinic, "data.csv", population=people, population_path="population.csv")
    request = loaded(draft, tmp_path)
    assert request.request.quasi_identifiers == ("age", "sex")
    assert (request.request.population.path, request.request.population.count) == ("population.csv", "people")
    source = request.request.attributes["sex"].hierarchy
    assert source is not None
    assert source.file is not None
    hierarchy = read_arx("sex", request.resolve(source.file, "attributes.sex.hierarchy.file"))
    assert set(hierarchy.labels[0]) == {"Mvalue", "Fvalue", "Xvalue"}
    age = request.request.attributes["age"].hierarchy
    assert age is not None
    assert age.intervals is not None
    assert age.intervals.maximum >= 104


def test_a_population_of_other_columns_is_refused(clinic: pd.DataFrame) -> None:
    with pytest.raises(PopulationError, match="shares no column"):
        draft_request(clinic, "data.csv", population=frame({"alter": ["1"], "count": ["2"]}))


def test_a_population_whose_counts_are_not_plain_leaves_them_to_be_named(clinic: pd.DataFrame) -> None:
    people = frame({"sex": ["Mvalue"], "adults": ["1"], "minors": ["1"]})
    text = draft_request(clinic, "data.csv", population=people, population_path="p.csv").text
    assert re.search(r"^  count: +# fill in: column with the number of people$", text, re.M)


def test_no_value_of_the_data_is_in_the_draft(clinic: pd.DataFrame) -> None:
    text = draft_request(clinic, "data.csv").text
    figures = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?![\w.])")
    for name in ("sex", "raceGroup", "admitted", "contact", "remarks", "lab_result", "smoker"):
        for value in clinic[name].dropna().unique():
            assert value == "?" or value not in text, name
    numbers = {number.replace(",", "") for number in figures.findall(text)}
    for name in ("Record No", "zip", "weightfactor"):
        assert not numbers & set(clinic[name]), name
    bounds = re.search(r"minimum: (\d+), maximum: (\d+)", text)
    assert bounds is not None
    ages = clinic["age"].astype(int)
    assert (int(bounds[1]), int(bounds[2])) not in {(ages.min(), ages.max())}


def test_reasons_and_separation_are_told_in_comments(clinic: pd.DataFrame) -> None:
    draft = draft_request(clinic, "data.csv")
    told = flat(draft.text.partition("\nattributes:\n")[2])
    for suggestion in draft.suggestions:
        reasons = [reason.removesuffix(" in its name") for reason in suggestion.reasons]
        reasons = ["unclear" if reason.startswith("neither name") else reason for reason in reasons]
        assert f" {'; '.join(reasons)}; " in told
        assert f"; {suggestion.profile.distinct:,} value{'s' * (suggestion.profile.distinct > 1)}" in told
    quasi = (one.profile.name for one in draft.suggestions if one.role is Role.QUASI)
    measured = separations({name: encode(clinic[name]).codes for name in quasi})
    for size in (2, 3):
        best = next(one for one in measured if len(one.columns) == size)
        assert f" by {' + '.join(best.columns)}" in draft.text
    assert "; 1 value; 5 % missing" in told


def test_attributes_that_split_alike_are_named() -> None:
    data = frame(
        {"id": [str(n) for n in range(40)], "sex": ["a", "b"] * 20, "gender": ["c", "d"] * 20, "race": FEW[:40]}
    )
    text = flat(draft_request(data, "data.csv").text)
    assert "“sex”; same groups as gender; 2 values" in text
    assert "“gender”; same groups as sex; 2 values" in text
    assert text.count("same groups as") == 2


def test_missing_quasi_identifiers_are_pointed_out() -> None:
    data = frame({"id": NUMBERS, "sex": [None, *["b", "c", "d"] * 13]})
    text = draft_request(data, "data.csv").text
    assert "; 3 values; 2.5 % missing" in text
    assert "Records without a value of a quasi-identifier are a group of their own" in text
    assert "Records without" not in draft_request(data[1:], "data.csv").text


def test_empty_cells_are_missing_in_data_and_population() -> None:
    data = frame({"id": NUMBERS, "sex": ["", *["b", "c", "d"] * 13], "smoker": ["", "y"] * 20})
    people = frame({"sex": ["", "b"], "count": ["1", "1"]})
    draft = draft_request(data, "data.csv", population=people, population_path="p.csv")
    assert [suggestion.profile.missing for suggestion in draft.suggestions] == [0, 1, 20]
    assert set(draft.hierarchies["hierarchy-sex.csv"].labels[0]) == {"b", "c", "d"}


def test_without_a_key_the_record_id_is_left_to_be_named(tmp_path: Path) -> None:
    draft = draft_request(frame({"sex": ["a", "b"] * 20, "ward": FEW[:40]}), "data.csv")
    assert draft.record_id is None
    request, *_ = write_draft(draft, tmp_path)
    with pytest.raises(RequestError) as caught:
        load_request(request)
    assert "dataset.record_id" in [problem.path for problem in caught.value.problems]


def test_the_key_that_is_called_so_is_the_record_id() -> None:
    numbers = [str(n) for n in range(40)]
    data = frame({"row": [f"r{n}" for n in numbers], "case_id": numbers, "sex": ["a", "b"] * 20})
    assert draft_request(data, "data.csv").record_id == "case_id"
    assert draft_request(data.drop(columns="case_id"), "data.csv").record_id == "row"
    measured = frame({"length": [f"{n}.5" for n in NUMBERS], "sex": ["a", "b"] * 20})
    assert draft_request(measured, "data.csv").record_id is None


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        *("no", "null", "true", "~", "<<", "*x", "&y", "!t", "|", "{", "%w", "?", "[1]", "- z", "# x", "a: b"),
        *('"q"', "it's", "a\\b", "é ü", "年齢", "x" * 120),
    ],
)
def test_column_names_of_any_kind_survive(tmp_path: Path, name: str) -> None:
    data = frame({"id": NUMBERS, name: ["a", "b"] * 20, "sex": ["a", "b"] * 20})
    people = data[[name]].assign(count=column(["1"] * 40))
    request = loaded(draft_request(data, "data.csv", population=people, population_path="p.csv"), tmp_path).request
    assert tuple(request.attributes) == ("id", name, "sex")
    assert request.quasi_identifiers == (name,)


@pytest.mark.parametrize(
    "names",
    [
        ["id", "39"],
        ["id", "2.5"],
        ["id", "1980-02-03"],
        ["id", "zq7@example.org"],
        ["id", "615-555-0100"],
        ["id", ""],
        ["id", " sex"],
        ["id", "a\nb"],
        ["id", "x" * 121],
        ["id", "id"],
    ],
)
def test_a_header_that_is_data_is_refused_and_not_repeated(names: list[str]) -> None:
    data = pd.DataFrame([["1", "a"], ["2", "b"]], columns=names, dtype="string[pyarrow]")
    with pytest.raises(DataError) as caught:
        draft_request(data, "data.csv")
    assert "column" in caught.value.where
    assert "2" in caught.value.where
    assert "zq7" not in str(caught.value)
    assert "1980" not in str(caught.value)


def test_a_header_with_a_name_as_the_cells_below_have_is_refused() -> None:
    people = ["Weber, Karl", "Brown, Mary", "Miller, John", "Schmidt, Anna", "Taylor, Emma", "Ward A"]
    draft_request(frame({"patient": people, "n": list("123456")}), "data.csv")
    draft_request(frame({"Smith, Anna": ["low", "high"] * 3, "n": list("123456")}), "data.csv")
    with pytest.raises(DataError) as caught:
        draft_request(frame({"Smith, Anna": people, "n": list("123456")}), "data.csv")
    assert caught.value.where == "data.csv, column 1"
    assert "header: false" in caught.value.fix
    assert "Anna" not in str(caught.value)


@pytest.mark.parametrize(
    ("others", "told"),
    [
        (["k.A."] * 3, "97 % of its cells are numbers; 3 hold other text"),
        ([], ""),
        (["a", "b", "c", "d"], ""),
        (["k.A."] * 20, ""),
    ],
)
def test_numbers_with_another_text_are_told_without_it(others: list[str], told: str) -> None:
    found = profiled("score", [str(n) for n in range(40, 137)] + others)
    assert told in found.nearly_numbers
    assert bool(told) == bool(found.nearly_numbers)
    assert "k.A." not in found.nearly_numbers
    reasons = suggest(found, None).reasons
    assert (found.nearly_numbers in reasons) == bool(told)


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([*range(20, 80), -9, -9, -99], "3 of its cells are negative"),
        ([*range(20, 80), -1.0], "1 of its cells are negative"),
        (range(20, 80), ""),
        ([*range(20, 80), -9, -8, -7, -6], ""),
        ([*range(20, 80), -12], ""),
        ([-2, -1, 0, 1, 2] * 12, ""),
    ],
)
def test_negative_numbers_that_may_be_codes_are_told(values: Iterable[float], told: str) -> None:
    found = profiled("age", [str(value) for value in values])
    assert found.nearly_numbers.startswith(told)
    assert bool(told) == bool(found.nearly_numbers)
    assert (found.nearly_numbers in suggest(found, None).reasons) == bool(told)


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("{}.234,50 €", True),
        ("$1,{}", True),
        ("{},5%", True),
        ("{} kg", True),
        ("{}", False),
        ("P{}", False),
        ("{}A", False),
        ("3-{}", False),
    ],
)
def test_numbers_with_a_unit_are_told(written: str, told: bool) -> None:
    found = profiled("share", [written.format(n) for n in range(100, 160)] * 5)
    assert found.nearly_numbers.startswith("numbers with a unit") is told
    assert any("unit" in reason for reason in suggest(found, None).reasons) is told


def test_dates_of_another_form_are_told_how_to_be_dates() -> None:
    days = [f"{day:02}.03.{year}" for day in range(1, 21) for year in (84, 92)]
    assert suggest(profiled("seen", days), None).reasons[-1] == OTHER_DATES
    mixed = [*days, "Emma Miller"]
    assert OTHER_DATES not in suggest(profiled("seen", mixed), None).reasons


def test_a_line_break_in_a_header_is_told() -> None:
    data = pd.DataFrame([["1", "a", "x"]], columns=["id", "a\nb", " sex"], dtype="string[pyarrow]")
    with pytest.raises(DataError) as caught:
        draft_request(data, "data.csv")
    assert (caught.value.where, caught.value.got) == (
        "data.csv, columns 2, 3",
        "a line break in 1 name; spaces around 1 name",
    )


def test_spaces_around_names_and_a_blank_name_are_told_as_what_they_are() -> None:
    for names, where, got, fix in (
        ([" id", "sex ", "age"], "data.csv, columns 1, 2", "spaces around 2 names", "remove the spaces around"),
        (["id", "", "age"], "data.csv, column 2", "no text in 1 name", "add or correct the header line"),
    ):
        with pytest.raises(DataError) as caught:
            draft_request(pd.DataFrame([["1", "a", "x"]], columns=names, dtype="string[pyarrow]"), "../data.csv")
        assert (caught.value.where, caught.value.got) == (where, got)
        assert caught.value.fix.startswith(fix)
        assert ("header=false" in caught.value.fix) is ("" in names)


def test_no_records_are_refused() -> None:
    for data in (frame({"a": []}), pd.DataFrame(index=range(3))):
        with pytest.raises(DataError, match="no records"):
            draft_request(data, "data.csv")


def test_names_that_make_one_file_name_get_two(tmp_path: Path) -> None:
    values = ["p", "q"] * 20
    data = frame(
        {"id": [str(n) for n in range(40)], "sex a": values, "sex-a": values, "sex/a": values, "性 sex": values}
    )
    draft = draft_request(data, "data.csv")
    assert list(draft.hierarchies) == [
        "hierarchy-sex-a.csv",
        "hierarchy-sex-a-2.csv",
        "hierarchy-sex-a-3.csv",
        "hierarchy-sex.csv",
    ]
    request = loaded(draft, tmp_path).request
    assert len({attribute.hierarchy.file for attribute in request.attributes.values() if attribute.hierarchy}) == 4


def test_values_that_look_like_a_hierarchys_top_or_delimiter(tmp_path: Path) -> None:
    data = frame({"id": NUMBERS, "sex": ["*", "**", 'a;"b', "line\nbreak"] * 10})
    request = loaded(draft_request(data, "data.csv"), tmp_path)
    hierarchy = read_arx("sex", request.resolve("hierarchy-sex.csv", "x"))
    assert set(hierarchy.labels[0]) == {"*", "**", 'a;"b', "line\nbreak"}
    assert hierarchy.labels[1] == ("***",)


def test_how_the_data_file_is_written_is_kept(tmp_path: Path, clinic: pd.DataFrame) -> None:
    form = FileForm(path="in/data.csv", delimiter=";", encoding="latin-1")
    dataset = loaded(draft_request(clinic, "in/data.csv", form=form), tmp_path).request.dataset
    assert (dataset.path, dataset.delimiter, dataset.encoding) == ("in/data.csv", ";", "latin-1")


def test_a_draft_is_the_same_each_time(clinic: pd.DataFrame) -> None:
    assert draft_request(clinic, "data.csv").text == draft_request(clinic, "data.csv").text


@pytest.mark.parametrize("present", ["request.yaml", "hierarchy-sex.csv"])
def test_a_draft_never_replaces_a_file(tmp_path: Path, clinic: pd.DataFrame, present: str) -> None:
    (tmp_path / present).symlink_to("nowhere")
    with pytest.raises(WorkspaceError, match="never replaces") as caught:
        write_draft(draft_request(clinic, "data.csv"), tmp_path)
    assert caught.value.got == present
    assert "--output" in caught.value.fix
    assert [path.name for path in tmp_path.iterdir()] == [present]


def test_a_draft_that_cannot_be_written_leaves_nothing(tmp_path: Path, clinic: pd.DataFrame) -> None:
    draft = draft_request(clinic, "data.csv")
    tables = dict(draft.hierarchies)
    tables["missing/folder.csv"] = next(iter(tables.values()))
    broken = replace(draft, hierarchies=tables)
    with pytest.raises(WorkspaceError, match="cannot be written"):
        write_draft(broken, tmp_path)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(WorkspaceError, match="cannot be written"):
        write_draft(draft, tmp_path / "file")


def test_suggestions_hold_no_values(clinic: pd.DataFrame) -> None:
    told = str(draft_request(clinic, "data.csv").suggestions)
    assert isinstance(draft_request(clinic, "data.csv").suggestions[0], Suggestion)
    for name in ("sex", "raceGroup", "admitted", "contact", "remarks", "zip"):
        for value in clinic[name].unique():
            assert value not in told, name


def test_nothing_is_masked_and_numbers_that_could_be_are_named(clinic: pd.DataFrame) -> None:
    drafted = draft_request(clinic, "clinic.csv")
    masked = re.search(
        r"Mask numbers, unless nobody can know them \(known_probability: 0\): (.*)\.", drafted.text.replace("\n#", "")
    )
    numbers = {
        one.profile.name
        for one in drafted.suggestions
        if one.role in (Role.SENSITIVE, Role.UNREVIEWED) and one.profile.type in (ValueType.INTEGER, ValueType.NUMBER)
    }
    assert numbers
    assert masked is not None
    assert set(masked[1].split(", ")) == numbers
    assert not re.search(r"^masking:", drafted.text, re.MULTILINE)
    signs = draft_request(clinic.assign(smoker=["0", "1"] * (len(clinic) // 2)), "clinic.csv").text
    assert "smoker" in signs
    scored = draft_request(clinic.assign(score=[str(1 + row % 5) for row in range(len(clinic))]), "clinic.csv").text
    assert "score: {role: sensitive, type: integer}" in scored
    assert not re.search(r"Mask numbers, unless[^.]*score", scored)
    assert not re.search(r"Mask numbers, unless[^.]*smoker", signs)
    words = draft_request(frame({"id": ["1", "2", "3"], "sex": ["F", "M", "F"], "note": ["x", "y", "x"]}), "data.csv")
    assert "Mask numbers" not in words.text


def test_numbers_of_rows_cannot_be_masked_and_what_others_know_of_rows_is_to_be_stated() -> None:
    """Masking is of people alone; a request that masks a number of rows is refused."""
    visits = frame(
        {
            "visit": [str(1000 + row) for row in range(400)],
            "patient": [f"P{row // 2:05d}" for row in range(400)],
            "sex": ["FM"[row // 2 % 2] for row in range(400)],
            "stay": [str(row * 7 % 41) for row in range(400)],
        }
    )
    text = draft_request(visits, "data.csv").text
    assert "stay: {role: unreviewed, type: integer, of: row}" in text
    assert "Mask numbers" not in text
    assert "write “known_probability: 0” for what nobody outside can know" in text
    assert "of: row" not in draft_request(visits[["visit", "sex", "stay"]], "data.csv").text


def test_a_column_that_tells_a_quasi_identifier_is_not_drafted_for_release() -> None:
    draw = np.random.default_rng(3)
    sexes = draw.choice(["F", "M"], 400)
    frame = pd.DataFrame(
        {
            "sex": sexes,
            "pregnancy outcome": np.where(sexes == "F", draw.choice(["a", "b", "c"], 400), "none"),
            "income": draw.choice(["low", "high"], 400),
        },
        dtype="string[pyarrow]",
    )
    told, plain = draft_request(frame, "data.csv").suggestions[1:]
    assert told.role is Role.UNREVIEWED
    assert told.reasons[-1] == "pregnancy outcome reveals sex: 99% of the information on it"
    assert plain.role is Role.SENSITIVE
    frame["gender"] = frame["sex"]
    told = next(one for one in draft_request(frame, "data.csv").suggestions if one.role is Role.UNREVIEWED)
    assert told.reasons[-2:] == (
        "pregnancy outcome reveals sex: 99% of the information on it",
        "1 more such finding",
    )


def test_many_columns_beside_nothing_to_tell_are_drafted_soon() -> None:
    """No set of them is looked at: there are four million of three."""
    frame = pd.DataFrame({f"q{place}": ["a", "b"] * 20 for place in range(300)}, dtype="string[pyarrow]")
    begun = time.process_time()
    draft_request(frame, "data.csv")
    assert time.process_time() - begun < 30  # three minutes with all sets


def test_a_finding_beside_many_values_is_told_and_not_counted_alone() -> None:
    draw = np.random.default_rng(3)
    incomes = [str(round(value, 2)) for value in draw.lognormal(10, 0.3, 399)] + ["90000000.25"]
    frame = pd.DataFrame({"income": incomes}, dtype="string[pyarrow]")
    (told,) = draft_request(frame, "data.csv").suggestions
    assert told.role is Role.UNREVIEWED
    assert "more such" not in told.reasons[-1]


def test_a_column_of_unknown_meaning_is_judged_too_but_not_against_the_counts_of_the_population() -> None:
    ages = [str(age) for age in range(20, 60)] * 10
    frame = pd.DataFrame(
        {
            "id": [f"p{place}" for place in range(400)],
            "age": ages,
            "k1": [str(520 - int(age)) for age in ages],
            "k2": ["7", "8"] * 200,
        },
        dtype="string[pyarrow]",
    )
    people = pd.DataFrame({"age": [str(age) for age in range(20, 60)], "count": ["7", "8"] * 20}, dtype="string")
    _, _, told, plain = draft_request(frame, "data.csv", population=people, population_path="people.csv").suggestions
    assert any(reason.startswith("k1 reveals age: ") for reason in told.reasons)
    assert plain.role is Role.UNREVIEWED
    assert not any("population" in reason for reason in plain.reasons)


@pytest.mark.parametrize(
    ("name", "values", "offered"),
    [
        ("record_id", [str(number) for number in range(100)], True),
        ("MRN", [f"M{number % 10}" for number in range(100)], True),
        ("MRN", [None, *(f"M{number % 10}" for number in range(99))], False),
        ("PatientName", [f"M{number % 10}" for number in range(100)], False),
        ("home address", [f"M{number % 10}" for number in range(100)], False),
    ],
)
def test_a_pseudonym_is_offered_in_place_of_numbers_and_codes(
    name: str, values: Sequence[str | None], *, offered: bool
) -> None:
    suggestion = suggest(profiled(name, values), None)
    assert suggestion.role is Role.DIRECT
    assert any("role: pseudonym" in reason for reason in suggestion.reasons) is offered


def wide() -> pd.DataFrame:
    """A file of 24 columns, as a hospital's register has them."""
    draws, n = np.random.default_rng(11), 600
    days = np.datetime64("2021-01-01") + draws.integers(0, 1500, (2, n))

    def choice(values: str, *shares: float) -> list[str]:
        return list(draws.choice(values.split(), n, p=shares or None))

    return frame(
        {
            "patient_id": [f"P{number:05}" for number in range(n)],
            "age": [f"{age}.0" for age in draws.integers(18, 95, n)],
            "sex": choice("F M"),
            "race": choice("Avalue Bvalue Cvalue Dvalue Evalue Fvalue", 0.6, 0.2, 0.1, 0.08, 0.01, 0.01),
            "black_male": choice("0 1"),
            "birthplace": choice("TN KY GA abroad"),
            "zip": [f"{code}" for code in draws.integers(37010, 37090, n)],
            "county": choice(" ".join(f"county{number}" for number in range(30))),
            "marital_status": choice("single married divorced widowed"),
            "education": list(map(str, draws.integers(1, 17, n))),
            "insurance": choice("private public none"),
            "menopause": choice("pre post"),
            "yrdth": [str(year) if year > 2014 else None for year in draws.integers(2005, 2018, n)],
            "death": choice("0 1"),
            "followup_days": list(map(str, draws.integers(1, 4000, n))),
            "admitted": list(map(str, days[0])),
            "discharged": list(map(str, days[1])),
            "icd10": choice("I21.4 I50.9 E11.9 J44.1"),
            "procedure": choice("pci cabg none"),
            "hba1c": [f"{value:.1f}" for value in draws.normal(6, 1, n)],
            "ldl": list(map(str, draws.integers(40, 220, n))),
            "smoker": choice("yes no ?"),
            "bmi": [f"{value:.1f}" for value in draws.normal(27, 4, n)],
            "notes": [f"patient number {number} was seen in the clinic and did well" for number in range(n)],
        }
    )


def test_a_wide_file_is_drafted_in_sixty_lines(tmp_path: Path) -> None:
    data = wide().assign(age=[age.removesuffix(".0") for age in wide()["age"]]).astype("string[pyarrow]")
    assert data.shape[1] == 24
    draft = draft_request(data, "data.csv")
    assert len(draft.text.splitlines()) <= 60
    assert max(map(len, draft.text.splitlines())) <= 120
    assert draft.text.count("# fill in: ") == 10
    shown = (
        "  age: {role: quasi-identifier, type: integer, safe_harbor: age, # “age”; 77 values",
        "      hierarchy: {intervals: {minimum: 0, maximum: 99, widths: [5, 10, 20]}}}",
        "  insurance: {role: unreviewed} # unclear; 3 values",
    )
    assert set(shown) <= set(draft.text.splitlines())
    request = loaded(draft, tmp_path).request
    for name, one in request.attributes.items():
        stated = {key: getattr(one, key) for key in one.model_fields_set}
        assert all(value != type(one).model_fields[key].default for key, value in stated.items()), name
    assert request.policy == Policy(id="default", version="1")
    assert request.budget is not None
    assert (request.budget.least_records, request.budget.suppression) == (12, 0.02)


def test_what_holds_for_many_columns_is_told_once() -> None:
    data = wide()
    people = data[["age", "sex", "zip"]].drop_duplicates().assign(n=column(["1"] * len(data)))
    text = draft_request(data, "data.csv", population=people, population_path="people.csv").text
    assert len(text.splitlines()) <= 60
    assert max(map(len, text.splitlines())) <= 120
    assert text.count("population.lacks") == 1
    assert text.count("; not in the population; ") > 5
    assert text.count("0.5 or more if it is a secret") == 1
    assert "population.lacks" not in draft_request(data, "data.csv").text


def test_init_takes_ages_with_noughts_for_ages(tmp_path: Path) -> None:
    wide()[["patient_id", "age", "sex"]].to_csv(tmp_path / "data.csv", index=False)
    assert releasegate_here("init", tmp_path / "data.csv").returncode == 0
    text = flat((tmp_path / "request.yaml").read_text(encoding="utf-8"))
    assert (
        "age: {role: quasi-identifier, type: integer, safe_harbor: age, “age”; 77 values hierarchy: {intervals: "
        in text
    )
    assert "{intervals: {minimum: 0, maximum: 99, widths: [5, 10, 20]}}" in text


def test_init_says_how_it_reads_and_names_the_request_by_its_path(tmp_path: Path) -> None:
    wide()[["patient_id", "age", "sex"]].to_csv(tmp_path / "data.csv", index=False, sep=";")
    told = releasegate_here("init", tmp_path / "data.csv", "--output", tmp_path / "d1")
    shown = " ".join(told.stdout.split())
    assert shown.startswith("Read as: semicolons ")
    assert f"fill in {tmp_path / 'd1' / 'request.yaml'}, run" in shown


def test_rare_values_are_pooled() -> None:
    """Of 400 records a value is rare that fewer than 12 have; one that is rare alone stays."""
    values = ["a"] * 200 + ["b"] * 178 + ["c"] * 11 + ["other"] * 11
    draft = draft_request(frame({"id": list(map(str, range(400))), "race": values}), "data.csv")
    table = draft.hierarchies["hierarchy-race.csv"]
    assert {leaf: table.labels[1][table.groups[row, 1]] for row, leaf in enumerate(table.labels[0])} == {
        "a": "a",
        "b": "b",
        "c": "other*",
        "other": "other*",
    }
    assert "; rare: “other*”, or your word; 4 values" in draft.text
    values = ["a"] * 200 + ["b"] * 189 + ["c"] * 11
    draft = draft_request(frame({"id": list(map(str, range(400))), "race": values}), "data.csv")
    assert draft.hierarchies["hierarchy-race.csv"].labels[1:] == (("*",),)


def test_diagnoses_that_the_population_has_go_by_category_block_and_chapter() -> None:
    codes = ["I21.4", "I21.0", "I50.9", "E11.9"] * 20
    data = frame({"id": list(map(str, range(80))), "dx": codes})
    people = frame({"dx": ["I21.4", "J44.1"], "count": ["1", "1"]})
    draft = draft_request(data, "data.csv", population=people, population_path="people.csv")
    assert draft.hierarchies["hierarchy-dx.csv"].labels == (
        ("E11.9", "I21.0", "I21.4", "I50.9", "J44.1"),
        ("E11.-", "I21.-", "I50.-", "J44.-"),
        ("block E08", "block I20", "block I30", "block J40"),
        ("chapter E00", "chapter I00", "chapter J00"),
        ("*",),
    )


def test_rows_that_others_may_know_are_asked_about(tmp_path: Path) -> None:
    """A draft in which that is not answered is refused, whatever else is filled in."""
    data = frame(
        {
            "patient": [f"p{number // 4}" for number in range(400)],
            "sex": ["F", "F", "F", "F", "M", "M", "M", "M"] * 50,
            "age": [str(20 + number // 8 % 25) for number in range(400)],
            "diagnosis": ["d1", "d2", "d3"] * 133 + ["d1"],
        }
    )
    draft = draft_request(data, "data.csv")
    assert draft.person == "patient"
    assert "# Fill in below, in place of “?”: known_probability of diagnosis.\n" in draft.text
    request, *_ = write_draft(draft, tmp_path)
    request.write_text(filled(draft.text).replace("known_probability: 0}", 'known_probability: "?"}'), encoding="utf-8")
    with pytest.raises(RequestError) as caught:
        load_request(request)
    assert [problem.path for problem in caught.value.problems] == ["attributes.diagnosis.known_probability"]

"""``releasegate init`` in a terminal: it asks for what only people know, and what they answer is in the request."""

import csv
import re
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn.datasets

from tasks.request.load import load_request
from tasks.request.model import DateLevels, DatePeriod, HierarchySource, PopulationBasis, PrefixLevels, Role
from tests.support.shared_workers import BRIEFLY, shared_workers
from tests.support.terminal import CTRL_C, CTRL_D, Session, in_terminal
from tests.support.world import releasegate, releasegate_here

ROWS = 240
TERMS = [
    "Visits of 2025",
    "dana.whitfield",
    "Uni A",
    "",
    "research",
    "",
    "DUA 1",
    "2000",
    "0.01",
]
"""From the title to the penalty of one recipient, without earlier releases."""
STAKES = ["2040-01-01", "1200", "300", "4"]


def visits(folder: Path, *, key: bool = True) -> Path:
    """A file of visits, of which nothing tells what ``grouping`` is."""
    path = folder / "visits.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        lines = csv.writer(stream)
        lines.writerow([*(["visit_id"] if key else []), "age", "sex", "grouping", "diagnosis"])
        for row in range(ROWS):
            values = [str(20 + row % 40), "FM"[row // 40 % 2], f"g{row % 7 % 4}", f"d{row * row % 11 % 5}"]
            lines.writerow([*([f"v{row:04}"] if key else []), *values])
    return path


def files(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir())


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Session]:
    """A dialogue in which everything is answered, some of it wrongly at first."""
    folder = tmp_path_factory.mktemp("held")
    visits(folder)
    roles = ["9", "4", "no such column", "diagnosis", "1", "diagnosis", "3", ""]
    terms = [*TERMS[:1], "Dana Whitfield", *TERMS[1:]]
    stakes = ["2040-02-30", STAKES[0], "twelve", *STAKES[1:]]
    answers = [
        "1",
        "2",
        "5",
        "5000",
        "n",
        *roles,
        *terms,
        *stakes,
        "All patients",
        "Clinic system",
        "4",
        "disks; no copies",
        "1",
    ]
    return folder, in_terminal(["init", "visits.csv"], answers, folder)


@pytest.mark.slow
def test_a_person_who_answers_gets_a_request_that_check_accepts(held: tuple[Path, Session]) -> None:
    folder, session = held
    assert session.code == 0, session.shown
    checked = releasegate_here("check", folder / "request.yaml")
    assert checked.returncode == 0, checked.stderr
    request = load_request(folder / "request.yaml").request
    (recipient,) = request.recipients
    assert (request.title, request.dataset.title, request.requested_by) == (*("Visits of 2025",) * 2, "dana.whitfield")
    assert (recipient.id, recipient.organisation, recipient.controls) == ("uni-a", "Uni A", ("disks", "no copies"))
    assert (recipient.agreement.penalty, recipient.agreement.detection_rate) == (2000, 0.01)
    assert (recipient.stakes.benefit, recipient.stakes.loss, recipient.stakes.cost) == (1200, 300, 4)
    assert (request.population.basis, request.population.size) == (PopulationBasis.SAMPLE, 5000)
    assert (request.policy.presence, request.expert) == ("unknown", None)
    assert request.attributes["grouping"].role is Role.INSENSITIVE
    assert request.attributes["diagnosis"].role is Role.SENSITIVE, "taken back"
    assert "fill in" not in session.shown.partition("written:")[2]


def test_wrong_answers_are_explained_at_once_and_asked_again(held: tuple[Path, Session]) -> None:
    _, session = held
    for told in (
        "Please select one of the available options",
        f"too few: the file has {ROWS} people",
        "no such column; there are visit_id, age, sex, grouping, diagnosis",
        "not of the right form; expected 1 to 64 small letters",
        "not a date; expected a date of the calendar as YYYY-MM-DD",
        "not clear as a number; write it without marks",
    ):
        assert told in " ".join(session.shown.split()), told
    asked = [re.sub(r".*(?=Its last day)", "", one) for one in session.asked]
    assert sum("Its last day" in one for one in asked) == 2
    assert "Traceback" not in session.shown


def test_each_question_comes_with_its_reason_within_eighty_columns(held: tuple[Path, Session]) -> None:
    _, session = held
    words = " ".join(session.shown.split())
    for reason in (
        "Risks are of people: rows of one person must not pass for a crowd to hide in.",
        "A record hides among the people who look like it.",
        "grouping: 4 values",
        "Nothing leaves without an agreement that is in force.",
        "Nobody attacks a record for less than an attempt costs.",
    ):
        assert reason in words, reason
    dialogue = session.shown.partition("\nwritten:")[0]
    typed = ("Dana Whitfield", "dana.whitfield")
    assert max(len(line.rstrip()) for line in dialogue.splitlines() if not line.endswith(typed)) <= 80


def test_group_sizes_are_shown_before_the_terms_and_small_ones_are_hidden(held: tuple[Path, Session]) -> None:
    """240 records with 40 ages: six records each; half of them are of either sex."""
    _, session = held
    lines = [line.split() for line in session.shown.splitlines()]
    assert ["age", "values", "40", "<11"] in lines
    assert ["by", "5", "8", "30"] in lines
    assert ["sex", "values", "2", "120"] in lines
    assert ["all", "1", "240"] not in lines, "everybody is in the one group of the top"


@pytest.mark.slow
def test_enter_leaves_blanks_and_takes_the_defaults_shown(tmp_path: Path) -> None:
    visits(tmp_path)
    session = in_terminal(["init", "visits.csv"], [""] * 30, tmp_path)
    assert session.code == 0, session.shown
    asked = (tmp_path / "asked.yaml").write_text((tmp_path / "request.yaml").read_text("utf-8"), "utf-8")
    (tmp_path / "request.yaml").unlink()
    (tmp_path / "hierarchy-sex.csv").unlink()
    assert asked
    assert releasegate_here("init", tmp_path / "visits.csv").returncode == 0
    assert (tmp_path / "request.yaml").read_text("utf-8") == (tmp_path / "asked.yaml").read_text("utf-8")
    assert "fill in request.yaml, then run" in session.shown


@pytest.mark.parametrize(
    ("stop", "after"),
    [(CTRL_C, 8), pytest.param(CTRL_C, 0, marks=pytest.mark.slow), pytest.param(CTRL_D, 4, marks=pytest.mark.slow)],
)
def test_a_dialogue_that_is_broken_off_leaves_nothing(stop: str, after: int, tmp_path: Path) -> None:
    visits(tmp_path)
    session = in_terminal(["init", "visits.csv", "--output", "out"], [*[""] * after, stop], tmp_path)
    assert session.code == 130
    assert "stopped; nothing was written" in session.shown
    assert "Traceback" not in session.shown
    assert files(tmp_path) == ["visits.csv"]


@pytest.mark.slow
def test_an_answer_is_taken_back_and_the_ones_after_it_are_offered_again(tmp_path: Path) -> None:
    """The title is typed one question too late; back over three kinds of questions, and what was right stays."""
    visits(tmp_path)
    early = ["<", "2", "<", "1", "2", "5000", "<", "6000", "", "4", ""]
    late = ["", "Visits of 2025", "<", "Visits of 2025", *TERMS[1:]]
    end = ["All", "Clinic", "3", "Dr Roe", "<", "-", "1"]
    session = in_terminal(["init", "visits.csv"], [*early, *late, *STAKES, *end], tmp_path)
    assert session.code == 0, session.shown
    assert "this is the first question" in session.shown
    assert any(one.endswith("How many people there are (5000; - for none):") for one in session.asked)
    assert any(one.endswith("(Dr Roe; - for none):") for one in session.asked)
    request = load_request(tmp_path / "request.yaml").request
    assert (request.title, request.requested_by, request.expert) == ("Visits of 2025", "dana.whitfield", None)
    assert (request.population.size, request.attributes["grouping"].role) == (6000, Role.INSENSITIVE)
    assert session.shown.count("Roles of the columns:") == 1


@pytest.mark.slow
def test_a_draft_that_is_there_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    visits(tmp_path)
    (tmp_path / "request.yaml").write_text("title: mine", "utf-8")
    session = in_terminal(["init", "visits.csv"], [], tmp_path)
    assert (session.code, session.asked) == (2, ())
    assert "a draft never replaces a file" in session.shown


@pytest.mark.slow
def test_yes_asks_nothing_in_a_terminal(tmp_path: Path) -> None:
    visits(tmp_path)
    session = in_terminal(["init", "visits.csv", "--yes"], [], tmp_path)
    assert (session.code, session.asked) == (0, ())
    assert "# fill in: " in (tmp_path / "request.yaml").read_text("utf-8")


@pytest.mark.slow
def test_records_without_a_key_are_numbered_in_a_copy_if_a_person_agrees(tmp_path: Path) -> None:
    visits(tmp_path, key=False)
    answers = ["1", "y", "1", "4", "", *TERMS, *STAKES, "All", "Clinic", "1"]
    session = in_terminal(["init", "visits.csv"], answers, tmp_path)
    assert session.code == 0, session.shown
    assert files(tmp_path) == ["hierarchy-sex.csv", "request.yaml", "visits-numbered.csv", "visits.csv"]
    with (tmp_path / "visits-numbered.csv").open(encoding="utf-8", newline="") as stream:
        header, *rows = list(csv.reader(stream))
    assert (header[0], [row[0] for row in rows]) == ("record_number", [str(n) for n in range(1, ROWS + 1)])
    with (tmp_path / "visits.csv").open(encoding="utf-8", newline="") as stream:
        assert [row[1:] for row in rows] == list(csv.reader(stream))[1:]
    assert load_request(tmp_path / "request.yaml").request.dataset.record_id == "record_number"
    assert releasegate_here("check", tmp_path / "request.yaml").returncode == 0


@pytest.mark.slow
def test_a_table_of_counts_and_two_recipients(tmp_path: Path) -> None:
    """Of the counts, ages alone: sex is made a quasi-identifier that the table lacks."""
    visits(tmp_path)
    counts = "age,count\n" + "".join(f"{age},100\n" for age in range(15, 70))
    (tmp_path / "people.csv").write_text(counts, "utf-8")
    people = ["3", "visits.csv.gz", "people.csv", "y"]
    roles = ["5", "sex", "2", ""]
    again = ["2", "Uni A", "uni-a", "uni-b", "teaching", "", "DUA 2", "", "2040-01-01", "900", "200", "4"]
    described = ["5", "number of the visit", "", "", "", "as coded by the ward", "1"]
    answers = ["1", *people, *roles, *TERMS, *STAKES, "Census", "Clinic", *again, *described]
    session = in_terminal(["init", "visits.csv"], answers, tmp_path)
    assert session.code == 0, session.shown
    assert "there is no such file" in session.shown
    assert "another recipient has this id" in session.shown
    request = load_request(tmp_path / "request.yaml").request
    assert (request.population.path, request.population.lacks) == ("people.csv", ("sex",))
    assert [one.id for one in request.recipients] == ["uni-a", "uni-b"]
    assert request.recipients[1].agreement.penalty is None
    assert request.attributes["visit_id"].description == "number of the visit"
    assert request.attributes["diagnosis"].description == "as coded by the ward"
    checked = releasegate_here("check", tmp_path / "request.yaml")
    assert checked.returncode == 0, checked.stderr


@pytest.mark.slow
def test_a_column_that_tells_of_people_leaves_only_with_a_reason(tmp_path: Path) -> None:
    """Two columns follow from the age, so that they are withheld unless somebody says why not, as of one of them."""
    lines = ["visit_id,age,sex,grouping,batch,flag"]
    lines += [f"v{row},{20 + row % 40},{'FM'[row % 2]},g{row % 40},b{row % 40},{row * row % 3}" for row in range(ROWS)]
    (tmp_path / "visits.csv").write_text("\n".join(lines) + "\n", "utf-8")
    roles = ["none", "", "all", "1", "It is public", "Dana Whitfield", ""]
    answers = ["1", "1", *roles, *TERMS, *STAKES, "All", "Clinic", "1"]
    session = in_terminal(["init", "visits.csv"], answers, tmp_path)
    assert session.code == 0, session.shown
    attributes = load_request(tmp_path / "request.yaml").request.attributes
    assert str(attributes["grouping"].excused) == "Dana Whitfield: It is public"
    roles = [attributes[name].role for name in ("grouping", "batch", "flag")]
    assert roles == [Role.INSENSITIVE, Role.UNREVIEWED, Role.INSENSITIVE]
    assert releasegate_here("check", tmp_path / "request.yaml").returncode == 0


@pytest.mark.slow
def test_the_form_is_asked_for_where_the_bytes_leave_it_open(tmp_path: Path) -> None:
    days = ["01/02/2024", "03/04/2024", "05/06/2024", "07/08/2024"]
    lines = ["visit_id,seen,sex", *(f"v{row},{days[row % 4]},{'FM'[row % 2]}" for row in range(ROWS))]
    (tmp_path / "visits.csv").write_text("\n".join(lines) + "\n", "utf-8")
    session = in_terminal(["init", "visits.csv"], ["dates", "dates=dd/mm/yyyy", *[""] * 30], tmp_path)
    assert session.code == 0, session.shown
    assert "dates can be read in two ways" in session.shown
    assert 'dates: {"seen": "dd/mm/yyyy"}' in (tmp_path / "request.yaml").read_text("utf-8")


@pytest.mark.slow
def test_the_next_command_names_the_folder_of_data_elsewhere(tmp_path: Path) -> None:
    visits(tmp_path)
    answers = ["1", "4", "4", "", *TERMS, *STAKES, "Clinic", "1"]
    session = in_terminal(["init", "visits.csv", "--output", "out"], answers, tmp_path)
    found = re.search(r"run\s+`releasegate ([^`]+)`", session.shown)
    assert found is not None, session.shown
    arguments = found[1].split()
    assert arguments == ["check", "out/request.yaml", "--root", "."]
    assert in_terminal(arguments, [], tmp_path).code == 0
    people = load_request(tmp_path / "out" / "request.yaml").request.population
    assert people.basis is PopulationBasis.FILE, "where nobody knows how many more there are"
    assert "whether there are others is not known" in people.source


@pytest.mark.slow
def test_a_file_in_latin_1_with_semicolons_takes_thirty_prompts_at_most(tmp_path: Path) -> None:
    """The diabetes study of scikit-learn (442 patients), as a hospital in Germany would export it."""
    folder = Path(sklearn.datasets.__file__).parent / "data"
    study = pd.read_csv(folder / "diabetes_data_raw.csv.gz", sep=r"\s+", header=None)
    study.columns = pd.Index(["Alter", "Geschlecht", "BMI", "Blutdruck", "S1", "S2", "S3", "S4", "S5", "S6"])
    study["Geschlecht"] = study["Geschlecht"].map({1: "männlich", 2: "weiblich"})
    study.insert(0, "Patientennummer", [f"P{row * 7919 % 10007:05}" for row in range(len(study))])
    study.to_csv(tmp_path / "studie.csv", sep=";", decimal=",", index=False, encoding="latin-1")
    # S2 is nearly unique, and nobody says why it may leave.
    answers = [
        "1",
        "2",
        "100.000",
        "y",
        "",
        "S10",
        "all",
        "",
        "",
        "BMI and S1",
        "1, S1",
        *TERMS,
        *STAKES,
        "Patienten der Region",
        "Klinik",
        "1",
    ]
    session = in_terminal(["init", "studie.csv"], answers, tmp_path)
    assert (session.code, len(session.asked) <= 30) == (0, True), session.shown
    request = load_request(tmp_path / "request.yaml").request
    assert (request.dataset.delimiter, request.dataset.encoding, request.dataset.decimal) == (";", "cp1252", ",")
    assert request.dataset.record_id == "Patientennummer"
    assert request.quasi_identifiers == ("Alter", "Geschlecht")
    assert request.attributes["BMI"].role is Role.SENSITIVE
    assert "some with “,” between them, all or none" in " ".join(session.shown.split())
    known = {one: request.attributes[one].known_probability for one in ("BMI", "Blutdruck", "S1", "S3", "S4", "S6")}
    assert known == {"BMI": None, "Blutdruck": 0, "S1": None, "S3": 0, "S4": 0, "S6": 0}
    text = (tmp_path / "request.yaml").read_text("utf-8")
    assert "# Mask numbers, unless nobody can know them (known_probability: 0): BMI, S1, S2.\n" in text
    assert len(text.splitlines()) <= 60
    checked = releasegate_here("check", tmp_path / "request.yaml")
    assert checked.returncode == 0, checked.stderr


@pytest.mark.slow
def test_tables_of_a_folder_ask_what_is_known_of_their_rows(tmp_path: Path) -> None:
    folder = tmp_path / "export"
    folder.mkdir()
    patients = [f"p{row:03},{20 + row % 40},{'FM'[row // 40 % 2]}" for row in range(ROWS)]
    (folder / "patients.csv").write_text("\n".join(["patient,age,sex", *patients]) + "\n", "utf-8")
    labs = [f"l{row},p{row % ROWS:03},r{row * row % 11 % 5}" for row in range(3 * ROWS)]
    (folder / "labs.csv").write_text("\n".join(["lab_id,patient,diagnosis", *labs]) + "\n", "utf-8")
    answers = ["1", "", *TERMS, *STAKES, "All", "Clinic", "1.5", "0", "1"]
    session = in_terminal(["init", "export"], answers, tmp_path)
    assert session.code == 0, session.shown
    assert "(labs.diagnosis)" in session.asked[-2]
    assert "out of range; expected a number at most 1" in session.shown
    request = load_request(folder / "request.yaml").request
    assert request.attributes["labs.diagnosis"].known_probability == 0
    checked = releasegate_here("check", folder / "request.yaml")
    assert checked.returncode == 0, checked.stderr


LIFE = (DatePeriod.MONTH, DatePeriod.YEAR, DatePeriod.FIVE_YEARS, DatePeriod.DECADE)
YEAR = (DatePeriod.MONTH, DatePeriod.QUARTER)
DISEASES = ("E11.9", "I10", "I50.1", "J18.9", "K80.2", "S72.0")


def discharges(folder: Path, rows: int = 300) -> Path:
    """24 columns of hospital stays as a system in Germany exports them: days, decimal commas, thousands, umlauts."""
    draws = np.random.default_rng(11)
    born = pd.Timestamp("1935-01-01") + pd.to_timedelta(draws.integers(0, 25_000, rows), unit="D")
    came = pd.Timestamp("2024-01-01") + pd.to_timedelta(draws.integers(0, 330, rows), unit="D")
    place = draws.integers(0, 4, rows)
    frame = pd.DataFrame({"Fallnummer": [f"F{row:05}" for row in draws.permutation(rows)]})
    frame["Nachname"] = draws.choice(["Müller", "Weiß", "Köhler"], rows)
    for name, days in {"Geburtsdatum": born, "Aufnahmedatum": came}.items():
        frame[name] = days.strftime("%d.%m.%Y")
    frame["Geschlecht"] = draws.choice(["männlich", "weiblich"], rows)
    frame["PLZ"] = np.array(["79098", "79312", "78462", "77652"])[place]
    frame["Größe_cm"] = draws.integers(150, 195, rows)
    frame["Gewicht_kg"] = [f"{value:.1f}".replace(".", ",") for value in draws.normal(78, 12, rows)]
    frame["Kosten_EUR"] = [f"{value:,.2f}".translate(str.maketrans(",.", ".,")) for value in draws.gamma(2, 3e3, rows)]
    for name in ("Hauptdiagnose", "Nebendiagnose"):
        frame[name] = draws.choice(DISEASES, rows)
    for number in range(1, 14):
        frame[f"Merkmal_{number}"] = draws.choice(["a", "b", "c"], rows)
    path = folder / "entlassungen.csv"
    frame.to_csv(path, sep=";", index=False, encoding="latin-1")
    return path


@pytest.mark.slow
def test_a_german_file_goes_to_a_decision_by_answers_alone(tmp_path: Path) -> None:
    """24 columns, no edit: at most 60 lines, levels that fit the days, and a verdict with both documents."""
    discharges(tmp_path)
    # Columns without a role are insensitive; weight and costs are nearly unique and not excused: withheld.
    answers = ["1", "1", "", "none", "all", "", "", *TERMS, *STAKES, "Alle Fälle", "Klinik", ""]
    session = in_terminal(["init", "entlassungen.csv"], answers, tmp_path)
    assert session.code == 0, session.shown
    text = (tmp_path / "request.yaml").read_text("utf-8")
    assert len(text.splitlines()) <= 60, text
    request = load_request(tmp_path / "request.yaml").request
    assert len(request.attributes) == 24
    assert (request.dataset.encoding, request.dataset.delimiter) == ("cp1252", ";")
    assert (request.dataset.decimal, request.dataset.thousands) == (",", ".")
    born, came, code = (request.attributes[name].hierarchy for name in ("Geburtsdatum", "Aufnahmedatum", "PLZ"))
    assert born == HierarchySource(dates=DateLevels(minimum=date(1930, 1, 1), maximum=date(2009, 12, 31), levels=LIFE))
    assert came == HierarchySource(dates=DateLevels(minimum=date(2024, 1, 1), maximum=date(2024, 12, 31), levels=YEAR))
    assert code == HierarchySource(prefixes=PrefixLevels(keep=(3, 2)))
    assert request.attributes["Kosten_EUR"].role is Role.UNREVIEWED
    line = ["release", tmp_path / "request.yaml", "--enrol", "--workspace", tmp_path / "workspace"]
    run = releasegate(*line, environment=BRIEFLY | shared_workers())
    assert run.returncode in (0, 3, 4), run.stderr
    assert len([*tmp_path.rglob("uni-a.pdf")]) == 1
    assert len([*tmp_path.rglob("report-uni-a.pdf")]) == 1

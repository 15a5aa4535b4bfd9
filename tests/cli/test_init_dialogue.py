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
from tasks.request.recipient import Stakes
from tests.support.shared_workers import BRIEFLY, shared_workers
from tests.support.terminal import CTRL_C, CTRL_D, Session, in_terminal
from tests.support.world import releasegate, releasegate_here

ROWS = 240
AGREED = "DUA 1; 2040-01-01; 2000; 0.01"
STAKES = "1200; 300; 4"
TERMS = ["Survey of 2025", "dana.whitfield", "Uni A; research", AGREED, STAKES, "All patients; clinic system"]
"""From the title to the source of the data."""


def survey(folder: Path, *, key: bool = True) -> Path:
    """A survey of people, of which nothing tells what ``grouping`` is."""
    path = folder / "survey.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        lines = csv.writer(stream)
        lines.writerow([*(["record_id"] if key else []), "age", "sex", "grouping", "diagnosis"])
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
    survey(folder)
    changes = ["4=x", "9=s", "group=s", "grouping s", "diagnosis = s, 4=i"]
    agreed = ["DUA 1", "31.12.2040; 2040-01-01", "DUA 1; 2040-02-30", AGREED + "; 1", AGREED]
    stakes = ["1200, 300, 4", "twelve; 300; 4", "1200; ; 4", STAKES]
    terms = ["Survey of 2025", "Dana Whitfield", "dana.whitfield", "Uni A", "Uni A; research"]
    more = ["6", "3", "disks; no copies", ""]
    answers = ["", "5", "5000", "n", "?", *changes, *terms, *agreed, *stakes, TERMS[-1], *more]
    return folder, in_terminal(["init", "survey.csv"], answers, folder)


@pytest.mark.slow
def test_a_person_who_answers_gets_a_request_that_check_accepts(held: tuple[Path, Session]) -> None:
    folder, session = held
    assert session.code == 0, session.shown
    checked = releasegate_here("check", folder / "request.yaml")
    assert checked.returncode == 0, checked.stderr
    request = load_request(folder / "request.yaml").request
    (recipient,) = request.recipients
    assert (request.title, request.dataset.title, request.requested_by) == (*("Survey of 2025",) * 2, "dana.whitfield")
    assert (recipient.id, recipient.organisation, recipient.controls) == ("uni-a", "Uni A", ("disks", "no copies"))
    assert (recipient.agreement.penalty, recipient.agreement.detection_rate) == (2000, 0.01)
    assert recipient.stakes == Stakes(benefit=1200, loss=300, cost=4)
    assert (request.population.basis, request.population.size) == (PopulationBasis.SAMPLE, 5000)
    assert (request.population.source, request.dataset.source) == ("All patients", "clinic system")
    assert (request.policy.presence, request.expert) == ("unknown", None)
    known = {name: (one.role, one.known_probability) for name, one in request.attributes.items()}
    assert (known["grouping"], known["diagnosis"]) == ((Role.INSENSITIVE, 0), (Role.SENSITIVE, 0))
    assert "fill in" not in session.shown.partition("written:")[2]


def test_wrong_answers_are_explained_at_once_and_asked_again(held: tuple[Path, Session]) -> None:
    _, session = held
    words = " ".join(session.shown.split())
    for told in (
        f"too few: the file has {ROWS} people",
        "no such letter: x; there are q, n, s, k, i, w, d",
        "no such column: 9; a name, or a number from 1 to 5",
        "no such column: group; a name, or a number from 1 to 5",
        "not clear; columns, “=” and a letter, such as 4-6,9=s 12=w",
        "not of the right form; expected 1 to 64 small letters",
        "1 answer; expected 2: “;” separates answers Who",
        "1 answer; expected 2 to 4: “;” separates answers Data",
        "5 answers; expected 2 to 4: “;” separates answers, so put a comma within one Data",
        "answer 1: that looks like a day; the number comes first",
        "answer 2: not a date; expected a date of the calendar as YYYY-MM-DD",
        "answer 1: not clear as a number; write it without marks",
        "answer 2: empty",
        "numbers from 1 to 5",
    ):
        assert told in words, told
    assert "a group of at least 148. With the penalty, 26 are enough. Who the 5,000 people are," in words
    assert "a survey of 4,000 of 230,000 women: nobody knows who was asked: no" in words
    assert "Who the 5,000 people are, of whom the file is a sample; where the data come from" in words
    assert "Traceback" not in session.shown


def test_reasons_and_levels_are_shown_on_demand(held: tuple[Path, Session]) -> None:
    """240 records with 40 ages: six records each; half of them are of either sex."""
    _, session = held
    shown = " ".join(session.shown.split())
    for reason in ("Columns in groups are quasi-identifiers", "neither name nor values say what it is"):
        assert reason in shown, reason
    lines = [line.split() for line in session.shown.splitlines()]
    assert ["age", "values", "40", "<11"] in lines
    assert ["by", "5", "8", "30"] in lines
    assert ["sex", "values", "2", "120"] in lines
    assert ["all", "1", "240"] not in lines, "everybody is in the one group of the top"
    assert (
        max(len(line.rstrip()) for line in session.shown.partition("\nwritten:")[0].splitlines() if ":" not in line)
        <= 80
    )


@pytest.mark.slow
def test_every_question_has_its_reason(tmp_path: Path) -> None:
    survey(tmp_path)
    session = in_terminal(["init", "survey.csv"], ["?", ""] * 10, tmp_path)
    assert session.code == 0, session.shown
    words = " ".join(session.shown.split())
    for reason in (
        "Risks are of people: rows of one person must not pass for a crowd to hide in.",
        "A record hides among the people who look like it.",
        "You state whether anybody outside knows the values that leave as they are",
        "It heads the decision and every document of the release.",
        "Nobody may review their own request.",
        "Reviewers weigh the risk against the purpose",
        "Nothing leaves without an agreement that is in force.",
        "Nobody attacks a record for less than an attempt costs.",
        "The terms decide whether the data may be passed on at all.",
        "Copies held by one party can be compared, so name the earlier ones.",
    ):
        assert reason in words, reason


@pytest.mark.slow
def test_a_draft_that_is_accepted_takes_twelve_answers_and_few_words(tmp_path: Path) -> None:
    """What others might know as well does not leave, and everything else is as a request needs it."""
    survey(tmp_path, key=False)
    terms = [line for line in TERMS if line != STAKES]
    session = in_terminal(["init", "survey.csv"], ["", "", "", *terms[:-1], "", terms[-1], ""], tmp_path)
    assert session.code == 0, session.shown
    assert "which column names the person (of age, sex, grouping, diagnosis)? Enter: one row each" in session.asked[0]
    assert len(session.asked) <= 12
    typed = sum(len(line.split()) for line in terms)
    assert len(re.findall(r"\S*\w\S*", session.shown)) - typed <= 420
    assert (
        "At these amounts repeated attempts pay for groups of fewer than 148 people; each record will be put into a "
        "group of at least 148. With the penalty, 26 are enough. The file is small for that, with "
        f"{ROWS} people: a statement"
    ) in " ".join(session.shown.split())
    request = load_request(tmp_path / "request.yaml").request
    roles = {name: one.role for name, one in request.attributes.items()}
    assert roles == {
        "record_number": Role.DIRECT,
        "age": Role.QUASI,
        "sex": Role.QUASI,
        "grouping": Role.UNREVIEWED,
        "diagnosis": Role.UNREVIEWED,
    }
    assert (request.policy.presence, request.population.basis) == ("known", PopulationBasis.FILE)
    stakes = request.recipients[0].stakes
    assert (stakes.benefit, stakes.loss, stakes.cost) == (1200, 300, 4)
    assert stakes.basis is not None
    assert "NIH funding" in stakes.basis
    assert releasegate_here("check", tmp_path / "request.yaml").returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("key", [False, True])
def test_rows_named_as_visits_ask_who_states_that_each_is_of_another_person(tmp_path: Path, *, key: bool) -> None:
    survey(tmp_path, key=key).rename(tmp_path / "visits.csv")
    terms = [line for line in TERMS if line != STAKES]
    answers = ["", "first visits only; dana.whitfield", "", "", *terms[:-1], "", terms[-1], ""]
    session = in_terminal(["init", "visits.csv"], answers, tmp_path)
    assert session.code == 0, session.shown
    assert "“visits” names the rows: reason why each is of another person" in session.asked[1]
    request = load_request(tmp_path / "request.yaml").request
    excused = request.attributes[str(request.dataset.record_id)].excused
    assert excused is not None
    assert (excused.by, excused.because) == ("dana.whitfield", "first visits only")
    assert releasegate_here("check", tmp_path / "request.yaml").returncode == 0


@pytest.mark.slow
def test_enter_leaves_blanks_and_takes_the_defaults_shown(tmp_path: Path) -> None:
    survey(tmp_path)
    session = in_terminal(["init", "survey.csv", "-o", "asked"], ["", "", "", "-", *[""] * 6], tmp_path)
    assert session.code == 0, session.shown
    asked = (
        (tmp_path / "asked" / "request.yaml").read_text("utf-8").replace('"../survey.csv"', "survey.csv").splitlines()
    )
    assert releasegate_here("init", tmp_path / "survey.csv").returncode == 0
    left = (tmp_path / "request.yaml").read_text("utf-8").splitlines()
    assert [one for one in asked if one not in left] == ["  diagnosis: {role: unreviewed} # “diagnosis”; 4 values"]
    assert [one for one in left if one not in asked] == ["  diagnosis: {role: sensitive} # “diagnosis”; 4 values"]
    assert "fill in asked/request.yaml, run `releasegate check" in session.shown


@pytest.mark.parametrize(
    ("stop", "after"),
    [(CTRL_C, 5), pytest.param(CTRL_C, 0, marks=pytest.mark.slow), pytest.param(CTRL_D, 4, marks=pytest.mark.slow)],
)
def test_a_dialogue_that_is_broken_off_leaves_nothing(stop: str, after: int, tmp_path: Path) -> None:
    survey(tmp_path)
    session = in_terminal(["init", "survey.csv", "--output", "out"], [*[""] * after, stop], tmp_path)
    assert session.code == 130
    assert "stopped; nothing was written" in session.shown
    assert "can be run again" not in session.shown
    assert "Traceback" not in session.shown
    assert files(tmp_path) == ["survey.csv"]


@pytest.mark.slow
def test_an_answer_is_taken_back_and_the_ones_after_it_are_offered_again(tmp_path: Path) -> None:
    """The title is typed one question too late; back over three kinds of questions, and what was right stays."""
    survey(tmp_path)
    early = ["<", "", "5000", "<", "6000", "", "4=i"]
    late = ["Survey of 2025", "<", "Survey of 2025", *TERMS[1:]]
    end = ["2", "Dr Roe", "<", "-", ""]
    session = in_terminal(["init", "survey.csv"], [*early, *late, *end], tmp_path)
    assert session.code == 0, session.shown
    assert "this is the first question" in session.shown
    assert any(one.endswith("others may know who is in it (5000; - for none):") for one in session.asked)
    assert any(one.endswith("(Dr Roe; - for none):") for one in session.asked)
    request = load_request(tmp_path / "request.yaml").request
    assert (request.title, request.requested_by, request.expert) == ("Survey of 2025", "dana.whitfield", None)
    assert (request.population.size, request.attributes["grouping"].role) == (6000, Role.INSENSITIVE)
    assert session.shown.count("240 records.") == 1


@pytest.mark.slow
def test_a_draft_that_is_there_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    survey(tmp_path)
    (tmp_path / "request.yaml").write_text("title: mine", "utf-8")
    session = in_terminal(["init", "survey.csv"], [], tmp_path)
    assert (session.code, session.asked) == (2, ())
    assert "a draft never replaces a file" in session.shown


@pytest.mark.slow
def test_yes_asks_nothing_in_a_terminal(tmp_path: Path) -> None:
    survey(tmp_path)
    session = in_terminal(["init", "survey.csv", "--yes"], [], tmp_path)
    assert (session.code, session.asked) == (0, ())
    assert "# fill in: " in (tmp_path / "request.yaml").read_text("utf-8")


@pytest.mark.slow
def test_records_without_a_key_are_numbered_in_a_copy(tmp_path: Path) -> None:
    survey(tmp_path, key=False)
    session = in_terminal(["init", "survey.csv"], ["", "", "", *TERMS, ""], tmp_path)
    assert session.code == 0, session.shown
    assert "keep it as safe as the file" in " ".join(session.shown.split())
    assert files(tmp_path) == ["hierarchy-sex.csv", "request.yaml", "survey-numbered.csv", "survey.csv"]
    with (tmp_path / "survey-numbered.csv").open(encoding="utf-8", newline="") as stream:
        header, *rows = list(csv.reader(stream))
    assert (header[0], [row[0] for row in rows]) == ("record_number", [str(n) for n in range(1, ROWS + 1)])
    with (tmp_path / "survey.csv").open(encoding="utf-8", newline="") as stream:
        assert [row[1:] for row in rows] == list(csv.reader(stream))[1:]
    assert load_request(tmp_path / "request.yaml").request.dataset.record_id == "record_number"
    assert releasegate_here("check", tmp_path / "request.yaml").returncode == 0


@pytest.mark.slow
def test_a_table_of_counts_and_two_recipients(tmp_path: Path) -> None:
    """Of the counts, ages alone: sex is made a quasi-identifier that the table lacks."""
    survey(tmp_path)
    counts = "age,count\n" + "".join(f"{age},100\n" for age in range(15, 70))
    (tmp_path / "people.csv").write_text(counts, "utf-8")
    again = ["5,4", "Uni A; teaching", "DUA 2; 2040-01-01", "900; 200; 4", "uni-a", "uni-b"]
    described = ["", "", "as coded by the ward", ""]  # of age, sex and diagnosis; the others do not leave
    people = ["survey.csv.gz", "people.csv", "y"]
    answers = ["", *people, "sex=q diagnosis=s", *TERMS, *again, *described]
    session = in_terminal(["init", "survey.csv"], answers, tmp_path)
    assert session.code == 0, session.shown
    assert "there is no such file" in session.shown
    assert "another recipient has this id" in session.shown
    request = load_request(tmp_path / "request.yaml").request
    assert (request.population.path, request.population.lacks) == ("people.csv", ("sex",))
    assert [one.id for one in request.recipients] == ["uni-a", "uni-b"]
    assert request.recipients[1].agreement.penalty is None
    assert request.attributes["record_id"].description is None
    assert request.attributes["diagnosis"].description == "as coded by the ward"
    checked = releasegate_here("check", tmp_path / "request.yaml")
    assert checked.returncode == 0, checked.stderr


@pytest.mark.slow
def test_a_column_that_tells_of_people_leaves_only_with_a_reason(tmp_path: Path) -> None:
    """Three columns follow from the age: one is excused, one left withheld, one leaves in groups."""
    lines = ["record_id,age,sex,grouping,batch,lot,flag"]
    for row in range(ROWS):
        place = row % 40
        lines.append(f"v{row},{20 + place},{'FM'[row % 2]},g{place},b{place},l{place},{row * row % 3}")
    (tmp_path / "survey.csv").write_text("\n".join(lines) + "\n", "utf-8")
    answers = ["", "", "4,5,7=i 6=s", "It is public", "It is public; Dana Whitfield", "", "q", *TERMS, ""]
    session = in_terminal(["init", "survey.csv"], answers, tmp_path)
    assert session.code == 0, session.shown
    told = "lot: no longer protected as a secret. If nobody outside knows it, go back (<) and give a reason."
    assert told in " ".join(session.shown.split())
    attributes = load_request(tmp_path / "request.yaml").request.attributes
    assert str(attributes["grouping"].excused) == "Dana Whitfield: It is public"
    stated = [attributes[name] for name in ("grouping", "batch", "lot", "flag")]
    assert [(one.role, one.known_probability) for one in stated] == [
        (Role.INSENSITIVE, 0),
        (Role.UNREVIEWED, None),
        (Role.QUASI, None),
        (Role.INSENSITIVE, 0),
    ]
    assert releasegate_here("check", tmp_path / "request.yaml").returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize(("figure", "known"), [("0.2", 0.2), ("", None)], ids=["figure", "no figure"])
def test_a_secret_that_some_outside_know_leaves_with_one_more_answer(
    tmp_path: Path, figure: str, known: float | None
) -> None:
    """Only whoever says “k” is asked how likely others know it; without a figure the request has none."""
    survey(tmp_path)
    session = in_terminal(["init", "survey.csv"], ["", "", "4=i 5=k", "?", "2", figure, *TERMS, ""], tmp_path)
    assert session.code == 0, session.shown
    words = " ".join(session.shown.split())
    for told in (
        "k secret that some outsiders may know",
        "Probability that somebody outside knows diagnosis of a person",
        "Whoever knows it can find the person and learn the rest.",
        "as it is grouping, diagnosis",
    ):
        assert told in words, told
    attributes = load_request(tmp_path / "request.yaml").request.attributes
    stated = [(attributes[name].role, attributes[name].known_probability) for name in ("grouping", "diagnosis")]
    assert stated == [(Role.INSENSITIVE, 0), (Role.SENSITIVE, known)]
    assert releasegate_here("check", tmp_path / "request.yaml").returncode == 0


@pytest.mark.slow
def test_secrets_that_differ_in_who_knows_them_have_figures_of_their_own(tmp_path: Path) -> None:
    """And the number of a record, withheld by a letter that does not name it an identifier, still names the records."""
    survey(tmp_path)
    figures = ["5=0.5 2=0.1", "diagnosis=half", "4=0.5, diagnosis=0.1"]
    session = in_terminal(["init", "survey.csv"], ["", "", "1=w 4,5=k", *figures, *TERMS, ""], tmp_path)
    assert session.code == 0, session.shown
    words = " ".join(session.shown.split())
    for told in (
        "knows grouping, diagnosis of a person, such as 0.2, or 4=0.5 5=0.1: the share of people",
        "not marked k: age",
        "diagnosis: not clear as a number",
    ):
        assert told in words, told
    request = load_request(tmp_path / "request.yaml").request
    assert [request.attributes[name].known_probability for name in ("grouping", "diagnosis")] == [0.5, 0.1]
    assert (request.dataset.record_id, request.attributes["record_id"].role) == ("record_id", Role.DIRECT)
    assert releasegate_here("check", tmp_path / "request.yaml").returncode == 0


@pytest.mark.slow
def test_changes_are_shown_and_what_they_leave_open_is_told(tmp_path: Path) -> None:
    """A secret column in groups; one that reveals a withheld column; a penalty whose chance nobody knows."""
    lines = ["record_id,age,sex,disease,grouping,copy,flag"]
    for row in range(ROWS):
        group = row % 40 % 7
        lines.append(f"v{row},{20 + row % 40},{'FM'[row % 2]},d{row * row % 11 % 5},g{group},c{group},{row * row % 3}")
    (tmp_path / "survey.csv").write_text("\n".join(lines) + "\n", "utf-8")
    terms = [*TERMS[:3], "DUA 1; 2020-01-01; 50000", *TERMS[4:]]
    session = in_terminal(["init", "survey.csv"], ["", "", "4=q 5=w 6-7=s", "", *terms, ""], tmp_path)
    assert session.code == 0, session.shown
    lines = [line.split() for line in session.shown.splitlines()]
    for shown in ("in groups disease", "no grouping", "? no copy", "as it is flag"):
        assert shown.split() in lines, shown
    words = " ".join(session.shown.split())
    told = "disease: no longer protected as a secret. If nobody outside knows it, go back (<) and put disease=s"
    assert f"{told} among the changes, or =k if few do." in words
    assert "All changes in one line, such as 4-6,9=s 12=w; Enter: none" in words
    assert "a reason counts only where nobody outside can know grouping (known_probability: 0)" in words
    agreement = load_request(tmp_path / "request.yaml").request.recipients[0].agreement
    assert (agreement.penalty, agreement.detection_rate) == (50_000, None)
    assert "The agreement ended on 2020-01-01, and nothing leaves without one that is in force." in words
    assert "The penalty is not counted: nobody has stated the chance that an attempt is noticed." in words


@pytest.mark.slow
def test_columns_that_the_study_needs_weigh_more(tmp_path: Path) -> None:
    survey(tmp_path)
    session = in_terminal(["init", "survey.csv"], ["", "", "age=n 4=q", *TERMS, ""], tmp_path)
    assert session.code == 0, session.shown
    attributes = load_request(tmp_path / "request.yaml").request.attributes
    weights = {name: one.weight for name, one in attributes.items() if one.role is Role.QUASI}
    assert weights == {"age": 10, "sex": 1, "grouping": 1}


@pytest.mark.slow
def test_a_numbered_copy_of_an_earlier_draft_is_told_before_the_first_question(tmp_path: Path) -> None:
    survey(tmp_path, key=False)
    (tmp_path / "survey-numbered.csv").write_text("", "utf-8")
    session = in_terminal(["init", "survey.csv"], [], tmp_path)
    assert (session.code, session.asked) == (2, ())
    assert "got: survey-numbered.csv" in session.shown


@pytest.mark.slow
def test_policies_and_the_person_that_are_enrolled_need_no_typing(tmp_path: Path) -> None:
    survey(tmp_path)
    first = in_terminal(["init", "survey.csv", "-o", "first"], ["", "", "", *TERMS, ""], tmp_path)
    assert first.code == 0, first.shown
    request = tmp_path / "first" / "request.yaml"
    own = request.read_text("utf-8").replace('{id: default, version: "1"}', '{id: clinic, version: "2026.1"}')
    request.write_text(own, "utf-8")
    workspace = ["--workspace", "workspace"]
    assert in_terminal(["enrol", "request", "first/request.yaml", "--root", ".", *workspace], [], tmp_path).code == 0
    answers = ["", "", "4=i", "", "", *TERMS[2:-1], "1", "1; ward system", ""]
    again = in_terminal(["init", "survey.csv", "-o", "again"], answers, tmp_path)
    assert again.code == 0, again.shown
    assert "The policy clinic/2026.1 judges." in " ".join(again.shown.split())
    text = (tmp_path / "again" / "request.yaml").read_text("utf-8")
    assert "\npolicy: clinic/2026.1 # enrolled\n" in text
    assert [line for line in text.splitlines() if "source: " in line] == [
        '  source: "All patients"',
        '  source: "ward system"',
    ]
    assert "\nrequested_by: dana.whitfield\n" in text
    assert "\ntitle: survey\n" in text
    assert in_terminal(["check", "again/request.yaml", "--root", "."], [], tmp_path).code == 0

    folder = tmp_path / "policies"
    folder.mkdir()
    policy = folder / "strict.yaml"
    policy.write_text('id: strict\nversion: "1"\n', "utf-8")
    made = in_terminal(["enrol", "policy", policy, "--as", "dana.whitfield"], [], tmp_path)
    assert made.code == 0, made.shown
    answers = ["", "", "lax/1", "strict/1", "4=i", "", "", *TERMS[2:], ""]
    chosen = in_terminal(["init", "survey.csv", "-o", "chosen"], answers, tmp_path)
    assert chosen.code == 0, chosen.shown
    assert "there are clinic/2026.1, strict/1" in " ".join(chosen.shown.split())
    assert "\npolicy: strict/1 # enrolled\n" in (tmp_path / "chosen" / "request.yaml").read_text("utf-8")


@pytest.mark.slow
def test_the_form_is_asked_for_where_the_bytes_leave_it_open(tmp_path: Path) -> None:
    days = ["01/02/2024", "03/04/2024", "05/06/2024", "07/08/2024"]
    lines = ["record_id,seen,sex", *(f"v{row},{days[row % 4]},{'FM'[row % 2]}" for row in range(ROWS))]
    (tmp_path / "survey.csv").write_text("\n".join(lines) + "\n", "utf-8")
    session = in_terminal(["init", "survey.csv"], ["dates", "dates=dd/mm/yyyy", *[""] * 30], tmp_path)
    assert session.code == 0, session.shown
    assert "dates can be read in two ways" in session.shown
    assert 'dates: {"seen": "dd/mm/yyyy"}' in (tmp_path / "request.yaml").read_text("utf-8")


@pytest.mark.slow
def test_the_next_command_names_the_folder_of_data_elsewhere(tmp_path: Path) -> None:
    survey(tmp_path)
    answers = ["", "", "4=i", *TERMS, ""]
    session = in_terminal(["init", "survey.csv", "--output", "out"], answers, tmp_path)
    found = re.search(r"run\s+`releasegate ([^`]+)`", session.shown)
    assert found is not None, session.shown
    arguments = found[1].split()
    assert arguments == ["release", "out/request.yaml", "--root", ".", "--dry-run"]
    assert in_terminal(["check", *arguments[1:-1]], [], tmp_path).code == 0


@pytest.mark.slow
def test_a_file_in_latin_1_with_semicolons_takes_a_dozen_answers(tmp_path: Path) -> None:
    """The diabetes study of scikit-learn (442 patients), as a hospital in Germany would export it."""
    folder = Path(sklearn.datasets.__file__).parent / "data"
    study = pd.read_csv(folder / "diabetes_data_raw.csv.gz", sep=r"\s+", header=None)
    study.columns = pd.Index(["Alter", "Geschlecht", "BMI", "Blutdruck", "S1", "S2", "S3", "S4", "S5", "S6"])
    study["Geschlecht"] = study["Geschlecht"].map({1: "männlich", 2: "weiblich"})
    study.insert(0, "Patientennummer", [f"P{row * 7919 % 10007:05}" for row in range(len(study))])
    study.to_csv(tmp_path / "studie.csv", sep=";", decimal=",", index=False, encoding="latin-1")
    # S2 is nearly unique, gives S1 with S3 and S5 (the parts of cholesterol), and nobody says why they may leave.
    answers = ["", "100.000", "y", "S10=s", "5-11=s BMI,S1=q", "", "", "", *TERMS, ""]
    session = in_terminal(["init", "studie.csv"], answers, tmp_path)
    assert (session.code, len(session.asked) <= 16) == (0, True), session.shown
    request = load_request(tmp_path / "request.yaml").request
    assert (request.dataset.delimiter, request.dataset.encoding, request.dataset.decimal) == (";", "cp1252", ",")
    assert request.dataset.record_id == "Patientennummer"
    assert request.quasi_identifiers == ("Alter", "Geschlecht", "BMI", "S1")
    known = {one: request.attributes[one].known_probability for one in ("BMI", "Blutdruck", "S2", "S3", "S4", "S6")}
    assert known == {"BMI": None, "Blutdruck": 0, "S2": None, "S3": None, "S4": 0, "S6": 0}
    text = (tmp_path / "request.yaml").read_text("utf-8")
    assert "# Mask numbers, unless nobody can know them (known_probability: 0): S2, S3, S5.\n" in text
    assert len(text.splitlines()) <= 60
    checked = releasegate_here("check", tmp_path / "request.yaml")
    assert checked.returncode == 0, checked.stderr


@pytest.mark.slow
@pytest.mark.parametrize(("letter", "known"), [("s", 0), ("k", 1)])
def test_tables_of_a_folder_ask_what_is_known_of_their_rows(tmp_path: Path, letter: str, known: int) -> None:
    folder = tmp_path / "export"
    folder.mkdir()
    patients = [f"p{row:03},{20 + row % 40},{'FM'[row // 40 % 2]}" for row in range(ROWS)]
    (folder / "patients.csv").write_text("\n".join(["patient,age,sex", *patients]) + "\n", "utf-8")
    labs = [f"l{row},p{row % ROWS:03},r{row * row % 11 % 5}" for row in range(3 * ROWS)]
    (folder / "labs.csv").write_text("\n".join(["lab_id,patient,diagnosis", *labs]) + "\n", "utf-8")
    answers = ["", "labs.diagnosis=q", f"labs.diagnosis={letter}", *TERMS, ""]
    session = in_terminal(["init", "export"], answers, tmp_path)
    assert session.code == 0, session.shown
    assert "labs.diagnosis: differs between rows of a person" in " ".join(session.shown.split())
    request = load_request(folder / "request.yaml").request
    assert request.attributes["labs.diagnosis"].known_probability == known
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
    frame = pd.DataFrame({"Satznummer": [f"F{row:05}" for row in draws.permutation(rows)]})
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
    path = folder / "klinik.csv"
    frame.to_csv(path, sep=";", index=False, encoding="latin-1")
    return path


@pytest.mark.slow
def test_a_german_file_goes_to_a_decision_by_answers_alone(tmp_path: Path) -> None:
    """24 columns, no edit: at most 60 lines, levels that fit the days, and a verdict with both documents."""
    discharges(tmp_path)
    # Columns without a role are harmless; weight and costs are nearly unique and not excused: withheld.
    answers = ["", "", "Hauptdiagnose,Nebendiagnose,Gewicht_kg,Kosten_EUR=s 12-24=i", "", "", *TERMS, ""]
    session = in_terminal(["init", "klinik.csv"], answers, tmp_path)
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
    assert run.returncode == 0, run.stdout + run.stderr
    assert len([*tmp_path.rglob("report/uni-a.pdf")]) == 1
    assert len([*tmp_path.rglob("report-uni-a.pdf")]) == 1

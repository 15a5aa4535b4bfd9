"""Answers are judged by the request's models, and every question of a draft has its words."""

import json
import re
from pathlib import Path

import pytest

from tasks.draft.document import Given
from tasks.draft.draft import Draft, write_draft
from tasks.draft.questions import EVERY, OF_RECIPIENT, AnswerLine, Answers, problem_of, read_answer, words_of
from tasks.request.document import Location
from tasks.request.load import load_request
from tests.draft.test_draft import wide
from tests.support.drafted import draft_request

BENEFIT: Location = ("recipients", 3, "stakes", "benefit")
KNOWN: Location = ("tables", "labs", "attributes", "value", "known_probability")


@pytest.mark.parametrize(
    ("place", "text", "answer", "problem"),
    [
        (BENEFIT, "1200", 1200, ""),
        (BENEFIT, "0.5", 0.5, ""),
        (BENEFIT, "0", 0, "out of range; expected a number greater than 0"),
        (BENEFIT, "1,200", 1200, ""),
        (BENEFIT, "1\u202f200.5", 1200.5, ""),
        (BENEFIT, "1.200", "1.200", "not clear as a number; write it without marks between thousands"),
        (BENEFIT, "true", "true", "not clear as a number"),
        (KNOWN, "1", 1, ""),
        (KNOWN, "1.5", 1.5, "out of range; expected a number at most 1"),
        (("population", "size"), "12.5", 12.5, "not a whole number"),
        (("requested_by",), "dana.whitfield", "dana.whitfield", ""),
        (("requested_by",), "Dana", "Dana", "not of the right form; expected 1 to 64 small letters, digits or marks"),
        (("recipients", 0, "id"), "12", "12", ""),
        (("recipients", 0, "id"), "Uni A", "Uni A", "not of the right form; expected 1 to 64 small letters, digits"),
        (("recipients", 0, "agreement", "expires"), "2040-12-31", "2040-12-31", ""),
        (("recipients", 0, "agreement", "expires"), "31.12.2040", "31.12.2040", "not a date; expected a date"),
        (("recipients", 1, "agreement", "detection_rate"), "1", 1, "out of range; expected a number less than 1"),
        (("recipients", 0, "controls"), "a b;  c ;", ("a b", "c"), ""),
        (("recipients", 0, "agreement", "id"), "31.12.2040", "31.12.2040", "that looks like a day"),
        (("recipients", 0, "agreement", "id"), "2026-07-019/A", "2026-07-019/A", ""),
        (("title",), "two   spaces", "two spaces", ""),
        (("title",), "x" * 2001, "x" * 2001, "too long; expected at most 2000 characters"),
    ],
)
def test_answers_are_values_that_the_request_takes_or_refuses(
    place: Location, text: str, answer: object, problem: str
) -> None:
    read = read_answer(place, text)
    assert (read, type(read)) == (answer, type(answer))
    found = problem_of(place, read)
    assert found.startswith(problem) if problem else found == ""


@pytest.mark.parametrize("text", ["fifty", "1.5"])
@pytest.mark.parametrize("place", [("population", "size"), ("recipients", 0, "agreement", "detection_rate")])
def test_refusals_are_in_the_words_of_the_question(place: Location, text: str) -> None:
    """Descriptions of the request's terms name others, such as detection_rate, which a question does not."""
    found = problem_of(place, read_answer(place, text))
    assert found
    assert not re.search(r"_|\*|—|correct", found)


def answers_of(draft: Draft) -> Answers:
    """An answer to each question; every text is one that YAML could read as something else."""
    known: dict[object, str] = {
        "requested_by": "a.steward",
        "id": "007",
        "expires": "2040-01-01",
        "controls": "null; a: b # c",
        "prior_release_ids": "1; 2",
        "detection_rate": "0.25",
    }
    numbers = dict.fromkeys(("penalty", "benefit", "loss", "cost", "known_probability"), "1e2")
    texts = known | numbers
    return {one.place: read_answer(one.place, texts.get(one.place[-1], 'yes: "#, {x}" ')) for one in draft.questions}


def test_answers_are_in_the_request_as_they_were_given(tmp_path: Path) -> None:
    draft = draft_request(wide().drop(columns="age"), "data.csv")
    two = draft.answered(Given(recipients=2))
    answers = dict(answers_of(two)) | {("recipients", 1, "id"): "true"}
    answered = two.answered(Given(answers, 2))
    assert answered.blanks == ()
    assert max(map(len, answered.text.splitlines())) <= 120
    request = load_request(write_draft(answered, tmp_path)[0]).request
    document = json.loads(request.model_dump_json())
    for place, answer in answers.items():
        held = document
        for step in place:
            held = held[step]
        assert held == (list(answer) if isinstance(answer, tuple) else answer), place


def test_blanks_are_those_that_a_request_needs() -> None:
    draft = draft_request(wide(), "data.csv")
    assert len(draft.blanks) == draft.text.count("# fill in: ") == 10
    assert draft.blanks[:3] == ("title", "requested_by", "recipients[0].organisation")
    answered = draft.answered(Given({("title",): "x"}))
    assert answered.blanks == draft.blanks[1:]


def test_amounts_that_nobody_states_are_published_ones_and_say_so(tmp_path: Path) -> None:
    """22,272,084 / 18,663 = 1,193; a recipient's own amounts have no basis but their own."""
    draft = draft_request(wide().drop(columns="age"), "data.csv").answered(Given(recipients=2))
    answers = {place: answer for place, answer in answers_of(draft).items() if place[:2] != ("recipients", 0)}
    first = {("recipients", 0, *place[2:]): answer for place, answer in answers.items() if place[0] == "recipients"}
    money = OF_RECIPIENT[-1].at(1).read("900; 200; 5")
    stated = {place: answer for place, answer in (answers | first).items() if "stakes" not in place}
    answered = draft.answered(Given(stated | {("recipients", 0, "id"): "a"} | money, 2))
    assert answered.blanks == ()
    published, own = (one.stakes for one in load_request(write_draft(answered, tmp_path)[0]).request.recipients)
    assert (published.benefit, published.loss, published.cost, published.gain) == (1200, 300, 4, None)
    assert published.basis is not None
    assert all(figure in published.basis for figure in ("$22,272,084 for 18,663 records", "$325.95", "$3.95"))
    assert (own.benefit, own.loss, own.cost, own.basis) == (900, 200, 5, None)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("DUA; 2040-01-01; 2000; 0.01", 4),
        ("DUA; 2040-01-01; 2000; unknown", 3),
        ("DUA; 2040-01-01; 0; 0.01", 2),
        ("DUA; 2040-01-01; None", 2),
        ("DUA; 2040-01-01;", 2),
        ("-; 2040-01-01", 2),
    ],
)
def test_what_a_line_may_do_without_can_be_answered_by_none(text: str, kept: int) -> None:
    """A chance of being noticed counts for nothing without a penalty, and a request would refuse it."""
    agreement = OF_RECIPIENT[1].at(0)
    assert agreement.problem(text) == ""
    assert tuple(agreement.read(text)) == agreement.places[:kept]


def test_the_example_of_an_agreement_invites_nobody_to_copy_a_chance_of_being_noticed() -> None:
    """A chance that nobody knows would let more detail leave."""
    (example,) = re.findall(r"such as (.+) \(fourth, only if you know it", OF_RECIPIENT[1].hint)
    assert OF_RECIPIENT[1].at(0).problem(example) == ""
    assert [*OF_RECIPIENT[1].at(0).read(example).values()] == ["DUA-7", "2030-12-31", 2000]


def test_a_text_with_a_semicolon_of_its_own_is_told_that_it_separates_answers() -> None:
    line = AnswerLine("", ((EVERY, "description"), (EVERY, "description")), 2)
    told = "3 answers; expected 2: “;” separates answers, so put a comma within one"
    assert line.problem("an outcome; of the trial; A. Roe") == told
    assert line.problem("an outcome") == "1 answer; expected 2: “;” separates answers"


def test_what_is_neither_a_penalty_nor_none_is_refused_in_these_words() -> None:
    assert OF_RECIPIENT[1].at(0).problem("DUA; 2040-01-01; much").endswith("such as 50000 or 0.5, or none")
    assert OF_RECIPIENT[1].at(0).problem("DUA; soon").endswith("such as 2030-12-31")


def test_words_end_and_begin_as_prompts_and_sentences_do() -> None:
    for one in draft_request(wide(), "data.csv").questions:
        words = words_of(one.place)
        assert words.why[0].isupper()
        assert words.why.endswith(".")
        assert not words.hint.endswith(".")


def test_a_line_has_several_answers_in_the_order_of_its_places() -> None:
    agreement = OF_RECIPIENT[1].at(2)
    place = ("recipients", 2, "agreement")
    assert agreement.read("D 1 ;2040-12-31; 2.000 ;0,01", ",") == {
        (*place, "id"): "D 1",
        (*place, "expires"): "2040-12-31",
        (*place, "penalty"): 2000,
        (*place, "detection_rate"): 0.01,
    }
    assert agreement.problem("D 1; 2040-12-31") == ""
    assert agreement.problem("D 1; 2040-12-31; 2000") == ""
    assert agreement.read("D 1; 2040-12-31; 2000")[(*place, "penalty")] == 2000
    assert (*place, "detection_rate") not in agreement.read("D 1; 2040-12-31; 2000")
    assert agreement.problem("D 1; 2040-12-31; 2000; 0.1; 3").startswith("5 answers; expected 2 to 4")
    assert agreement.problem("D 1; 2040-12-31; 2000; 1").startswith("answer 4: out of range")
    assert agreement.problem("; 2040-12-31") == "answer 1: empty"

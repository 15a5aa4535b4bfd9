"""Questions that a drafted request leaves to people: the words, the reason for asking, and whether an answer is valid.

A question is named by the place of its answer in the request. The draft has its hint where it is not answered, and
``releasegate init`` asks it in a terminal; an answer is judged by the models that judge the request.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import ValidationError

from tasks.request.document import Location, read_document
from tasks.request.load import REQUEST
from tasks.request.model import ReleaseRequest
from tasks.request.reading import explained, follows_from_others

Answer = str | int | float | bool | tuple[str, ...]
Answers = Mapping[Location, Answer]
EVERY = "*"
"""Stands in a place for any recipient, gate, table or column."""


@dataclass(frozen=True)
class Wording:
    """How a question is put."""

    hint: str
    """What to fill in, with an example where that helps."""
    why: str
    """What the answer is needed for."""
    optional: bool = False
    """Whether the request is complete without an answer."""


@dataclass(frozen=True)
class Question:
    """A question of a draft."""

    place: Location
    words: Wording


_QUESTIONS: Mapping[Location, Wording] = {
    ("title",): Wording("what is released, in a few words", "It heads the decision and every document of the release."),
    ("requested_by",): Wording(
        "id of the person who asks for it, such as dana.whitfield",
        "The ledger records who asked, and nobody may review their own request. The first release of a workspace "
        "enrols them (--enrol); later ones name a person whom releasegate enrol list shows.",
    ),
    ("expert",): Wording(
        "name and qualification of the expert who signs the determination",
        "The determination has a line for this signature. Without an expert it has none.",
        optional=True,
    ),
    ("recipients", EVERY, "organisation"): Wording(
        "who receives the copy", "Every recipient gets a copy and a decision of its own."
    ),
    ("recipients", EVERY, "id"): Wording(
        "short name in small letters, such as university-a", "It names the recipient's files and reports."
    ),
    ("recipients", EVERY, "purpose"): Wording(
        "what they may use it for",
        "Reviewers weigh the risk against the purpose; the agreement should state it too.",
    ),
    ("recipients", EVERY, "controls"): Wording(
        "controls at the recipient, with “;” between them, such as “encrypted disks; no copies”",
        "The determination lists them for the expert; no figure depends on them.",
        optional=True,
    ),
    ("recipients", EVERY, "prior_release_ids"): Wording(
        "ids of earlier releases that the recipient has, with “;” between them",
        "Copies in one hand can be compared; re-assessment takes these together.",
        optional=True,
    ),
    ("recipients", EVERY, "agreement", "id"): Wording(
        "number of the data use agreement", "Nothing leaves without an agreement that is in force."
    ),
    ("recipients", EVERY, "agreement", "expires"): Wording(
        "its last day, as YYYY-MM-DD", "A decision never holds for longer than the agreement."
    ),
    ("recipients", EVERY, "agreement", "penalty"): Wording(
        "penalty in it for an attempt to identify somebody, such as 2000",
        "A penalty deters such attempts, so that more detail can leave.",
        optional=True,
    ),
    ("recipients", EVERY, "agreement", "detection_rate"): Wording(
        "probability that such an attempt is noticed, such as 0.01",
        "A penalty deters nobody who is never noticed; it is left out unless you state this.",
        optional=True,
    ),
    ("recipients", EVERY, "stakes", "benefit"): Wording(
        "publisher's benefit of sharing it in full detail, such as 1200",
        "Detail is kept for as long as its benefit exceeds the expected loss.",
    ),
    ("recipients", EVERY, "stakes", "loss"): Wording(
        "publisher's loss when it is re-identified, such as 300",
        "It is also taken to be the attacker's gain.",
    ),
    ("recipients", EVERY, "stakes", "cost"): Wording(
        "recipient's cost of one attempt on it, such as 4", "Nobody attacks a record for less than an attempt costs."
    ),
    ("policy", "gates", EVERY, "at_most"): Wording(
        "",
        "Redacted text may keep some; the gate closes above this figure.",
    ),
    ("policy", "gates", EVERY, "because"): Wording("", "The determination states the reason for every gate."),
    ("population", "source"): Wording(
        "who the people are, such as all patients of the clinic in 2025",
        "A record hides among these people, so the expert has to be able to judge them.",
    ),
    ("population", "count"): Wording(
        "column with the number of people", "Several columns of the table could be the number of people."
    ),
    ("dataset", "title"): Wording("name of the dataset", "The determination and the recipient's certificate name it."),
    ("dataset", "source"): Wording(
        "where the data come from and under which terms", "The terms decide whether the data may be passed on at all."
    ),
    ("dataset", "record_id"): Wording(
        "no column names each record once; add one, a direct identifier (init without --yes does)",
        "Records are told apart by a column that never leaves.",
    ),
    (EVERY, "known_probability"): Wording(
        "probability that others know its values: 0 if nobody outside can, 1 if somebody can",
        "Its values differ between the rows of a person, and what is known of rows can single the person out.",
    ),
    (EVERY, "description"): Wording("what the column holds", "The recipient's data dictionary has it.", optional=True),
}


def words_of(place: Location) -> Wording:
    """The words of a question; a column's questions are the same in every table."""
    if "attributes" in place:
        return _QUESTIONS[(EVERY, place[-1])]
    named = tuple(EVERY if isinstance(step, int) else step for step in place)
    return _QUESTIONS[named]


def read_answer(place: Location, text: str) -> Answer:
    """An answer as a value: a number where it is one and the request has one there, else the text.

    Texts of a list have “;” between them.
    """
    kind = REQUEST.annotation_at(_anywhere(place))
    words = " ".join(text.split())
    if kind in (int, float):
        try:
            number = json.loads(words)
        except ValueError:
            return words
        return words if isinstance(number, bool) or not isinstance(number, int | float) else number
    if getattr(kind, "__origin__", None) is tuple:
        return tuple(one for part in words.split(";") if (one := part.strip()))
    return words


def problem_of(place: Location, answer: Answer) -> str:
    """What is wrong with an answer, in one sentence or two; empty where the request would take it.

    Rules that relate several terms are not checked.
    """
    at = _anywhere(place)
    held: object = list(answer) if isinstance(answer, tuple) else answer
    for step in reversed(at):
        held = [held] if isinstance(step, int) else {step: held}
    text = json.dumps(held)
    try:
        ReleaseRequest.model_validate_json(text, strict=True)
    except ValidationError as error:
        document = read_document(text)
        for one in error.errors(include_url=False, include_input=False):
            if one["loc"][: len(at)] == at and not follows_from_others(one, document.data):
                found = explained(one, REQUEST, document)
                expected = f"expected {found.expected}" if found.expected else ""
                return "; ".join(filter(None, (found.what, expected, found.fix)))
    return ""


def _anywhere(place: Location) -> Location:
    """The place in a document that has nothing else: the first of a list stands for any of it."""
    return tuple(0 if isinstance(step, int) else step for step in place)

"""Questions that a drafted request leaves to people: the words, the reason for asking, and whether an answer is valid.

A question is named by the place of its answer in the request. The draft has its hint where it is not answered, and
``releasegate init`` asks it in a terminal; an answer is judged by the models that judge the request.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from pydantic import ValidationError

from tasks.request.document import Location, read_document
from tasks.request.load import REQUEST
from tasks.request.model import ReleaseRequest
from tasks.request.reading import explained, follows_from_others

Answer = str | int | float | bool | tuple[str, ...]
Answers = Mapping[Location, Answer]
_NUMBERS = (int, float)
_DAY = re.compile(r"[0-9]{1,4}([-./])[0-9]{1,2}\1[0-9]{1,4}")
EVERY = "*"
"""Stands in a place for any recipient, gate, table or column."""
_NONE = frozenset({"", "-", "0", "n/a", "no", "none", "unknown"})
"""Answers that leave open what a line may do without."""
PUBLISHED: Mapping[str, str | int] = {
    "benefit": 1200,
    "loss": 300,
    "cost": 4,
    "basis": "published figures, rounded (Wan et al. 2015): NIH funding of the eMERGE study, $22,272,084 for 18,663 "
    "records; average fine per record of a breach reported to the US Office for Civil Rights, $325.95; a data broker's "
    "price of a basic report, $3.95",
}
"""Stakes where nobody states any: those of the paper's case study."""


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


@dataclass(frozen=True)
class AnswerLine:
    """Questions that one line of text answers, with “;” between the answers."""

    hint: str
    """Words of the prompt, with an example where that helps."""
    places: tuple[Location, ...]
    """Places of the answers, in their order; the last ones may be missing."""
    needed: int
    """Answers without which the line is not complete."""

    def at(self, recipient: int) -> "AnswerLine":
        """These questions about one of the recipients."""
        places = (tuple(recipient if step == EVERY else step for step in place) for place in self.places)
        return replace(self, places=tuple(places))

    @property
    def why(self) -> str:
        """Reasons for asking."""
        return " ".join(words_of(place).why for place in self.places)

    def read(self, text: str, decimal: str = ".") -> Answers:
        """The answers that a line has, up to one that it may do without and that says none."""
        parts = [part.strip() for part in text.split(";")]
        none = (place for place, part in enumerate(parts) if place >= self.needed and part.casefold() in _NONE)
        parts = parts[: next(none, len(parts))]
        return {place: read_answer(place, part, decimal) for place, part in zip(self.places, parts, strict=False)}

    def problem(self, text: str, decimal: str = ".") -> str:
        """The mistake in a line, in a sentence; empty where the request would take it."""
        given = text.count(";") + 1
        if not self.needed <= given <= len(self.places):
            some = "" if self.needed == len(self.places) else f" to {len(self.places)}"
            within = ", so put a comma within one" if given > len(self.places) else ""
            return f"{given} answer{'s' * (given > 1)}; expected {self.needed}{some}: “;” separates answers{within}"
        for number, (place, answer) in enumerate(self.read(text, decimal).items(), 1):
            found = problem_of(place, answer) if answer != "" else "empty"
            if found:
                return f"answer {number}: {found}{', or none' * (number > self.needed)}"
        return ""


_QUESTIONS: Mapping[Location, Wording] = {
    ("title",): Wording("what is released, in a few words", "It heads the decision and every document of the release."),
    ("requested_by",): Wording(
        "id of the person who asks for it, such as dana.whitfield",
        "Nobody may review their own request. It is a person whom releasegate enrol list shows; the first release of a "
        "workspace enrols them (--enrol).",
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
        "what they may use it for", "Reviewers weigh the risk against the purpose; the agreement should state it too."
    ),
    ("recipients", EVERY, "controls"): Wording(
        "controls at the recipient, with “;” between them, such as “encrypted disks; no copies”",
        "The determination lists them for the expert; no figure depends on them.",
        optional=True,
    ),
    ("recipients", EVERY, "prior_release_ids"): Wording(
        "ids of earlier releases that the recipient has, with “;” between them",
        "Copies held by one party can be compared; re-assessment takes these together.",
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
        "A penalty deters such attempts, so that more detail can leave. It is in the currency of the amounts below.",
        optional=True,
    ),
    ("recipients", EVERY, "agreement", "detection_rate"): Wording(
        "probability, from 0 to 1, that such an attempt is noticed; only if you know it",
        "Such as 0.02, where your logs and audits would notice 2 of 100 attempts. Without it a penalty counts as "
        "none. A higher chance lets more detail leave, so that the release rests on it.",
        optional=True,
    ),
    ("recipients", EVERY, "stakes", "benefit"): Wording(
        "",
        "Three amounts for one record, in one currency; only their ratios matter, and that to the penalty. Detail is "
        "kept for as long as its worth exceeds the expected loss.",
    ),
    ("recipients", EVERY, "stakes", "loss"): Wording("", "An attacker is assumed to gain what you lose."),
    ("recipients", EVERY, "stakes", "cost"): Wording("", "Nobody attacks a record for less than an attempt costs."),
    ("recipients", EVERY, "stakes", "basis"): Wording(
        "",
        "The published amounts are a study's funding, fines for breaches and a data broker's price, each per record "
        "(Wan et al. 2015). A fourth answer says where your own come from.",
        optional=True,
    ),
    ("policy", "gates", EVERY, "at_most"): Wording(
        "", "Redacted text may keep some; the gate closes above this figure."
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

_AGREEMENT: Location = ("recipients", EVERY, "agreement")
_STAKES: Location = ("recipients", EVERY, "stakes")
OF_RECIPIENT = (
    AnswerLine(
        "who receives the copy; what they may use it for",
        (("recipients", EVERY, "organisation"), ("recipients", EVERY, "purpose")),
        2,
    ),
    AnswerLine(
        "data use agreement: number; last day; if any, penalty for an attempt on somebody, such as DUA-7; 2030-12-31; "
        "2000 (fourth, only if you know it: the chance that an attempt is noticed; it lets more detail leave)",
        tuple((*_AGREEMENT, term) for term in ("id", "expires", "penalty", "detection_rate")),
        2,
    ),
    AnswerLine(
        "money for one record: worth of sharing it; your loss if its person is identified; recipient's cost of an "
        "attempt; Enter: 1200; 300; 4 US dollars, published for research data",
        tuple((*_STAKES, term) for term in PUBLISHED),
        3,
    ),
)
"""Questions on a recipient, in three lines."""
OF_DATA = AnswerLine(
    "who the people are; where the data come from and on which terms",
    (("population", "source"), ("dataset", "source")),
    2,
)


def words_of(place: Location) -> Wording:
    """The words of a question; a column's questions are the same in every table."""
    if "attributes" in place:
        return _QUESTIONS[(EVERY, place[-1])]
    named = tuple(EVERY if isinstance(step, int) else step for step in place)
    return _QUESTIONS[named]


def read_answer(place: Location, text: str, decimal: str = ".") -> Answer:
    """An answer as a value: a number where it is one and the request has one there, else the text.

    Texts of a list have “;” between them. `decimal` is the decimal mark of the file, “.” or “,”: the other one, spaces
    and apostrophes may stand between thousands. A number that could be meant with either is left as text.
    """
    kind = REQUEST.annotation_at(_anywhere(place))
    words = " ".join(text.split())
    if kind in _NUMBERS:
        number = _number(words, decimal)
        return words if number is None else number
    if getattr(kind, "__origin__", None) is tuple:
        return tuple(one for part in words.split(";") if (one := part.strip()))
    return words


def _number(text: str, decimal: str) -> int | float | None:
    """The number that a text is; None where it is none, or might be a fraction as well as thousands.

    >>> [_number(text, ".") for text in ("50,000", "1 200 000.5", "0.125", "50.000", "5,00")]
    [50000, 1200000.5, 0.125, None, None]
    >>> [_number(text, ",") for text in ("50.000", "0,125", "50,000", "12.5")]
    [50000, 0.125, None, 12.5]
    """
    thousands = {".": ",", ",": "."}[decimal]
    if re.fullmatch(rf"[1-9][0-9]{{0,2}}\{decimal}[0-9]{{3}}", text):
        return None
    grouped = re.fullmatch(
        rf"[1-9][0-9]{{0,2}}([\{thousands} ’'])[0-9]{{3}}(?:\1[0-9]{{3}})*(?:\{decimal}[0-9]+)?", text
    )
    plain = (text.replace(grouped[1], "") if grouped else text).replace(decimal, ".")
    try:
        number = json.loads(plain)
    except ValueError:
        return None
    return None if isinstance(number, bool) or not isinstance(number, int | float) else number


def problem_of(place: Location, answer: Answer) -> str:
    """What is wrong with an answer, in a sentence; empty where the request would take it.

    Rules that relate several terms are not checked.
    """
    at = _anywhere(place)
    if isinstance(answer, str) and REQUEST.annotation_at(at) in _NUMBERS:
        return "not clear as a number; write it without marks between thousands, such as 50000 or 0.5"
    if at[-2:] == ("agreement", "id") and isinstance(answer, str) and _DAY.fullmatch(answer):
        return "that looks like a day; the number comes first"
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
                expected, *_ = found.expected.partition(" — ")  # what the request says of the term is in the question
                return f"{found.what}; expected {expected}" if expected else found.what
    return ""


def _anywhere(place: Location) -> Location:
    """The place in a document that has nothing else: the first of a list stands for any of it."""
    return tuple(0 if isinstance(step, int) else step for step in place)

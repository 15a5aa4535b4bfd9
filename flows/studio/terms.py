"""Terms of a request that a page has fields for, and the changes of the document that a filled-in form makes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from flows.studio.masking import masking_problems
from flows.studio.project import ReadRequest
from tasks.core.errors import RequestProblem
from tasks.request.document import Location
from tasks.request.load import REQUEST
from tasks.request.model import Method

MOST_RECIPIENTS = 50
_LONGEST_NUMBER = 30


@dataclass(frozen=True)
class FormTerm:
    """A term of the request with a field of the page."""

    place: Location
    label: str
    hint: str = ""
    kind: Literal["text", "number", "lines"] = "text"
    """A list of texts has one on each line."""
    choices: tuple[tuple[str, str], ...] = ()
    """Values with their labels, where the term takes one of these."""

    @property
    def field(self) -> str:
        """Name of the field in a form."""
        return ".".join(map(str, self.place))


@dataclass(frozen=True)
class ShownTerm:
    """A term with its value and its mistakes."""

    term: FormTerm
    value: str
    problems: tuple[RequestProblem, ...]


@dataclass(frozen=True)
class TermGroup:
    """Terms that belong together."""

    title: str
    terms: tuple[ShownTerm, ...]
    recipient: int = -1
    """Position of the recipient that they are of; −1 where they are of none."""


_RELEASE = (
    FormTerm(("title",), "Title", "What is released, in a few words."),
    FormTerm(("requested_by",), "Requested by", "Id of the person who asks for it, such as dana.whitfield."),
    FormTerm(("expert",), "Expert", "Who signs the determination, with qualification. Empty where nobody does."),
    FormTerm(("dataset", "title"), "Name of the dataset"),
    FormTerm(("dataset", "source"), "Source of the data", "Where they come from and under which terms."),
    FormTerm(("population", "source"), "Who the people are", "Such as all patients of the clinic in 2025."),
)
_POLICY = (
    FormTerm(
        ("policy", "presence"),
        "Can others know who is in the file?",
        "Known by default. Unknown only where nobody can know it.",
        choices=(("", "as by default: known"), ("known", "known"), ("unknown", "unknown")),
    ),
    FormTerm(
        ("policy", "generalization", "k_anonymity", "k"),
        "Least records of a class (k)",
        "Demanded of every copy, whatever the method. Empty for none.",
        kind="number",
    ),
)
_METHODS = (("", "as by the policy"), *((method.value, method.value) for method in Method))
_OF_RECIPIENT = (
    FormTerm(("id",), "Short name", "In small letters, such as university-a."),
    FormTerm(("organisation",), "Organisation", "Who receives the copy."),
    FormTerm(("purpose",), "Purpose", "What they may use it for."),
    FormTerm(("agreement", "id"), "Number of the agreement"),
    FormTerm(("agreement", "expires"), "Last day of the agreement", "YYYY-MM-DD"),
    FormTerm(("stakes", "benefit"), "Benefit of a record", "Yours, of sharing it in full detail.", "number"),
    FormTerm(("stakes", "loss"), "Loss of a record", "Yours, when its person is re-identified.", "number"),
    FormTerm(("stakes", "cost"), "Cost of an attempt", "The recipient's, on one record.", "number"),
    FormTerm(("stakes", "basis"), "Where the amounts come from", "Change it with them; the determination repeats it."),
    FormTerm(
        ("agreement", "penalty"), "Penalty", "For an attempt that is noticed, where the agreement names one.", "number"
    ),
    FormTerm(
        ("agreement", "detection_rate"),
        "Detection",
        "Probability that an attempt is noticed, with a penalty.",
        "number",
    ),
    FormTerm(("controls",), "Controls at the recipient", "Technical and contractual ones, one on each line.", "lines"),
    FormTerm(("method",), "Method", "How quasi-identifiers are generalized.", choices=_METHODS),
)


def term_groups(read: ReadRequest) -> list[TermGroup]:
    """The terms of a request by subject, with their values and mistakes."""
    groups = [_group(read, "The release", _RELEASE)]
    if isinstance(read.value(("policy",)), dict):
        groups.append(_group(read, "The policy", _POLICY))
    for number in range(recipients(read.data)):
        named = read.value(("recipients", number, "id"))
        title = f"Recipient {number + 1}" + (f": {named}" if isinstance(named, str) else "")
        groups.append(_group(read, title, _terms_of(number), number))
    return groups


def labels_of(groups: Sequence[TermGroup]) -> dict[str, str]:
    """Labels of the terms that have mistakes, by the paths of these; those of recipients with their title."""
    return {
        one.path: term.term.label + (f" ({group.title})" if group.recipient >= 0 else "")
        for group in groups
        for term in group.terms
        for one in term.problems
    }


def elsewhere(read: ReadRequest, groups: Sequence[TermGroup]) -> list[RequestProblem]:
    """Mistakes of a request that stand at none of its terms, nor at a column."""
    shown = {id(one) for group in groups for term in group.terms for one in term.problems}
    attributes = read.value(("attributes",))
    for name in attributes if isinstance(attributes, dict) else ():
        shown |= {id(one) for one in masking_problems(read, name)}
    return [
        one
        for one in read.problems
        if id(one) not in shown and not one.path.startswith(("attributes.", "attributes[", "tables."))
    ]


def recipients(data: Mapping[str, Any]) -> int:
    """Number of recipients of a document."""
    listed = data.get("recipients")
    return min(len(listed), MOST_RECIPIENTS) if isinstance(listed, list) else 0


def term_changes(read: ReadRequest, fields: Mapping[str, str]) -> dict[Location, Any]:
    """Changes of a document that a form's fields make.

    A field that was not sent, or says what is there, changes nothing. A number that is none stays text, which the
    request's own rules then name.
    """
    terms = [*_RELEASE, *_POLICY, *(one for number in range(recipients(read.data)) for one in _terms_of(number))]
    changes = changes_of(read, terms, fields)
    return {_emptied(read, place) if value is None else place: value for place, value in changes.items()}


def changes_of(
    read: ReadRequest, terms: Sequence[FormTerm], fields: Mapping[str, str], base: Location = ()
) -> dict[Location, Any]:
    """As of ``term_changes``, of some terms whose places are below a `base`; None for one that is emptied."""
    changes: dict[Location, Any] = {}
    for term in terms:
        place = (*base, *term.place)
        sent = _tidied(term, fields[term.field]) if term.field in fields else None
        if sent is not None and sent != written(term, read.value(place)):
            changes[place] = typed(term, sent) if sent else None
    return changes


def _emptied(read: ReadRequest, place: Location) -> Location:
    """The place to remove where a term is emptied: the demands on classes with their k, if it is all that they say."""
    demands = place[:-1]
    return demands if demands[-1:] == ("k_anonymity",) and len(read.value(demands) or ()) == 1 else place


def new_recipient(read: ReadRequest) -> dict[Location, Any]:
    """Changes that add a recipient whose terms are to be filled in."""
    number = recipients(read.data)
    terms: dict[str, Any] = {"id": None, "organisation": None, "purpose": None}
    terms |= {"agreement": {"id": None, "expires": None}, "stakes": {"benefit": None, "loss": None, "cost": None}}
    return {("recipients", number): terms} if number else {("recipients",): [terms]}


def _terms_of(number: int) -> tuple[FormTerm, ...]:
    return tuple(
        FormTerm(("recipients", number, *one.place), one.label, one.hint, one.kind, one.choices)
        for one in _OF_RECIPIENT
    )


def _group(read: ReadRequest, title: str, terms: Sequence[FormTerm], recipient: int = -1) -> TermGroup:
    return TermGroup(title, tuple(shown_term(read, term) for term in terms), recipient)


def shown_term(read: ReadRequest, term: FormTerm, base: Location = ()) -> ShownTerm:
    """A term, whose place is below a `base`, with its value and its mistakes."""
    place = (*base, *term.place)
    problems = read.problems_at(REQUEST.written_path(place, read.data))
    return ShownTerm(term, written(term, read.value(place)), tuple(problems))


def written(term: FormTerm, value: Any) -> str:
    """A value as a field has it."""
    if isinstance(value, list) and term.kind == "lines":
        return _tidied(term, "\n".join(map(str, value)))
    if value is None or isinstance(value, dict | list):
        return ""
    if isinstance(value, float) and value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return str(value)


def _tidied(term: FormTerm, text: str) -> str:
    """The text of a field, without blanks around it, or around each of its lines."""
    if term.kind != "lines":
        return text.strip()
    return "\n".join(line for one in text.splitlines() if (line := one.strip()))


def typed(term: FormTerm, text: str) -> object:
    """The value of a field, as a document has it."""
    if term.kind == "lines":
        return text.splitlines()
    if term.kind == "number" and len(text) <= _LONGEST_NUMBER:
        plain = text.replace(",", "") if text.count(",") and "." in text else text
        for kind in (int, float):
            try:
                return kind(plain)
            except ValueError:
                continue
    return text

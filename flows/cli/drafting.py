"""The dialogue of ``releasegate init``: what only people know, in the order in which the draft needs it.

Choices that change what is drafted come first: rows, people, roles. Nothing is written here.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from flows.cli.asking import BACK, LEFT, Asking
from flows.cli.levels import shown_levels
from flows.cli.output import table
from tasks.core.errors import ReleasegateError
from tasks.core.plain_name import plain_name
from tasks.draft.document import Given, can_be_masked
from tasks.draft.draft import Draft, Source, shared_columns
from tasks.draft.folder import NUMBER, ProfiledFolder
from tasks.draft.questions import Answer, Question, problem_of, read_answer
from tasks.draft.roles import UNCLEAR, Suggestion
from tasks.draft.stated import STATED, Stated
from tasks.request.document import Location
from tasks.request.model import Policy, Role

_INTRODUCTION = (
    f"Enter takes the default that is shown, or leaves a blank to fill in later; {BACK} goes back to the question "
    "before. Ctrl-C stops, and nothing is written."
)
_ROLES: Mapping[str, tuple[Role, str]] = {
    "1": (Role.DIRECT, "names a person: withheld"),
    "2": (Role.QUASI, "others may know it: leaves generalized"),
    "3": (Role.SENSITIVE, "an attacker would like to learn it: leaves as it is"),
    "4": (Role.INSENSITIVE, "neither: leaves as it is"),
    "5": (Role.WITHHELD, "does not leave"),
    "6": (Role.UNREVIEWED, "not judged yet: does not leave"),
}
_MORE = {
    "1": "nothing",
    "2": "another recipient",
    "3": "an expert who signs the determination",
    "4": "controls at the recipient, for the expert",
    "5": "what each column holds, for the recipient's dictionary",
}
_ADDED = {"3": "expert", "4": "controls", "5": "description"}
"""Terms that are asked for only then."""
_WHICH: Mapping[Role, tuple[str, str]] = {
    Role.QUASI: ("which may others know of a person", "As neighbours and registers know them: they leave generalized."),
    Role.SENSITIVE: ("which of the rest would an attacker like to learn", "Sensitive columns leave as they are."),
    Role.INSENSITIVE: ("which of the rest are neither", "Insensitive columns leave as they are."),
}
"""Questions about several columns at once."""
_TELLS = "The gate withholds what tells of people, unless somebody states why it may leave."
_ALL, _NOTHING = "all", "none"
_FEW = 2
"""Columns without a role past which they are asked about at once."""
_SIZE, _PRESENCE = ("population", "size"), ("policy", "presence")
_NONE_COUNTED_ON = "The people in the file; whether there are others is not known, and none are counted on"
SMALL_CELL = Policy(id="default", version="1").small_cell
"""Smallest count of people that is shown before a policy says otherwise."""


@dataclass(frozen=True)
class Dialogue:
    """A draft in the making, and the questions to a person about it."""

    folder: ProfiledFolder
    population: Source | None
    read: Callable[[str], Source]
    """Reads a table that a person names by its path; raises ReleasegateError."""
    check: Callable[[Draft], None]
    """Refuses a draft whose files are there already, before a person answers in vain."""
    asking: Asking
    stated: Stated = field(default_factory=Stated)
    answers: Mapping[Location, Answer] = field(default_factory=dict)
    decimal: str = "."
    """Decimal mark of the file, with which people write numbers."""
    numbered: Source | None = None
    """A copy of the file whose records are numbered, where a person has asked for one."""

    def held(self) -> tuple[Draft, Source | None]:
        """Ask everything; the draft with the answers, and the numbered copy that it is of, None for none."""
        self.check(self.draft)
        return self.asking.held(self._held)

    def _held(self) -> tuple[Draft, Source | None]:
        self.asking.say(_INTRODUCTION)
        begun = replace(self, decimal=str(self.draft.form.get("decimal", self.decimal)))
        settled = begun._rows()._numbers()._people()._presence()._roles()
        draft = settled.draft
        self.check(draft)
        people = settled.population is not None or draft.person is not None
        levels = {name: [one for one in found if one.groups > 1] for name, found in draft.levels.items()}
        self.asking.show(shown_levels(levels, SMALL_CELL, of_people=people))
        return settled._terms(draft), settled.numbered

    @cached_property
    def draft(self) -> Draft:
        """The draft by what is stated so far."""
        return self.folder.draft(self.population, self.stated)

    def _rows(self) -> "Dialogue":
        if self.folder.file is None:
            return self  # the tables tell
        found, columns = self.draft.person, self.folder.file.profiles
        chosen = self.asking.choice(
            "a row is",
            {"1": "one person, who has no other row", "2": "one of several rows that a person may have"},
            default="1" if found is None else "2",
            why="Risks are of people: rows of one person must not pass for a crowd to hide in."
            + (f" Rows that share {found} share quasi-identifiers." if found else ""),
        )
        if chosen == "1":
            return replace(self, stated=replace(self.stated, persons=True))

        def wrong(name: str) -> str:
            if name not in columns:
                return f"no such column; the file has {', '.join(columns)}"
            one = columns[name]
            lacking = (
                "cells without a value" if one.missing else "a value of its own in every row" if one.is_key else ""
            )
            return f"{name} has {lacking}, so that it cannot name the person of several rows" if lacking else ""

        named = self.asking.text("column that names the person of each row", default=found or LEFT, wrong=wrong)
        return replace(self, stated=replace(self.stated, persons=named != LEFT, person=named or None))

    def _numbers(self) -> "Dialogue":
        """Offer a copy with numbered records where no column names each record."""
        file = self.folder.file
        if file is None or self.draft.record_id is not None or NUMBER in file.columns:
            return self
        wanted = self.asking.confirmed(
            f"write {self.folder.numbered_path} beside the draft, with a column {NUMBER}",
            "No column of this file names each record once. A copy with numbers, which never leave, can replace it: "
            "keep it as safe as the file, and give the same person the same number in later versions.",
            default=True,
        )
        if not wanted:
            return self
        folder, copy = self.folder.numbered
        return replace(self, folder=folder, numbered=copy)

    def _people(self) -> "Dialogue":
        if self.population is not None:
            return self
        chosen = self.asking.choice(
            "the people that the data are drawn from",
            {
                "1": "everybody of them is in the file",
                "2": "the file is a random sample of more people",
                "3": "a table counts them, by age, sex, place or the like",
                "4": "not known: a record hides among those in the file alone",
            },
            default="1",
            why="A record hides among the people who look like it. These are counted in a table, or else in the file.",
        )
        if chosen == "2":
            person = next((one for name, one in _columns(self.draft) if name == self.draft.person), None)
            records = self.draft.suggestions[0].profile.records if person is None else person.profile.distinct

            def wrong(text: str) -> str:
                number = read_answer(_SIZE, text, self.decimal)
                found = problem_of(_SIZE, number)
                few = isinstance(number, int) and number < records
                return found or (f"too few: the file has {records:,} people" if few else "")

            size = self.asking.text("how many people there are", wrong=wrong)
            if size != LEFT:
                return replace(self, answers={**self.answers, _SIZE: read_answer(_SIZE, size, self.decimal)})
        if chosen == "3":
            found: list[Source] = []
            names = [one.profile.name for one in self.draft.suggestions]

            def unusable(path: str) -> str:
                try:
                    read = self.read(path)
                    shared_columns(names, read.frame)
                except ReleasegateError as error:
                    return str(error)
                found.append(read)
                return ""

            if self.asking.text("path of the table", wrong=unusable) != LEFT:
                return replace(self, population=found[-1])
        if chosen == "4":
            return replace(self, answers={**self.answers, ("population", "source"): _NONE_COUNTED_ON})
        return self

    def _presence(self) -> "Dialogue":
        if self.population is None and _SIZE not in self.answers:
            return self  # the file is the population, so that others know who is in it
        known = self.asking.confirmed(
            "can others know that a person is in the file",
            "As a neighbour knows of a patient. They look among the records of the file alone: a risk of its own.",
            default=True,
        )
        return self if known else replace(self, answers={**self.answers, _PRESENCE: "unknown"})

    def _roles(self) -> "Dialogue":
        """Ask for the role of columns that nothing tells, then for what is to change."""
        held, now, asked = dict(_columns(self.draft)), self, self.asking
        unsure = [name for name, one in held.items() if one.role is Role.UNREVIEWED]
        rows = [(name, one.role.value, "; ".join(one.reasons)) for name, one in held.items() if name not in unsure]
        asked.say("Roles of the columns:")
        asked.show(table("", ("column", "role", "why"), rows))
        if unsure:
            asked.say("Nothing tells the role of these for certain. They are withheld until they have one:")
            known = [(f"{place} {name}", *_told(held[name])) for place, name in enumerate(unsure, 1)]
            asked.show(table("", ("column", ">values", "what is known"), known))
        if len(unsure) > _FEW:
            now = now._together(unsure)
        else:
            asked.options(_words_of(_ROLES) if unsure else {})
            for name in unsure:
                now = now._role(name, held[name], listed=False)
        while True:
            reason = "Correct what you know better. Enter goes on."
            if all(one.role is not Role.QUASI for _, one in _columns(now.draft)):
                reason = "A request needs a quasi-identifier: a column that others may know of a person. There is none."
            name = asked.text(
                "name of a column whose role is to change",
                reason,
                wrong=lambda text: "" if text in held else f"no such column; there are {', '.join(held)}",
            )
            if name == LEFT:
                return now
            now = now._role(name, dict(_columns(now.draft))[name])

    def _together(self, names: Sequence[str]) -> "Dialogue":
        """Ask role by role which columns have it; the rest stay as they are."""
        held, roles = dict(_columns(self.draft)), dict[str, Role]()
        for role, (question, why) in _WHICH.items():
            left = [one for one in names if one not in roles and not (role is Role.QUASI and held[one].of_row)]
            roles |= dict.fromkeys(self._which(question, why, left, names) if left else (), role)
        now = replace(self, stated=replace(self.stated, roles={**self.stated.roles, **roles}))
        found = {name: one for name, one in _columns(now.draft) if name in roles and one.role is Role.UNREVIEWED}
        telling = [*found]
        if len(telling) > 1:
            said = "; ".join(reason for one in found.values() for reason in one.reasons)
            telling = now._which("which may leave all the same", f"{said}. {_TELLS}", telling, names)
        for name in telling:
            now = now._excused(name, roles[name])
        return now

    def _which(
        self, question: str, why: str, names: Sequence[str], numbered: Sequence[str], default: str = _NOTHING
    ) -> list[str]:
        """Ask which of some columns a question is true of; they can be named by their numbers among others."""

        def listed(text: str) -> set[str]:
            numbers = {str(number): name for number, name in enumerate(numbered, 1)}
            return {numbers.get(one, one) for part in text.split(",") if (one := part.strip())}

        def wrong(text: str) -> str:
            found = text in (_ALL, _NOTHING) or listed(text) <= set(names)
            return "" if found else f"of {', '.join(names)}: some with “,” between them, {_ALL} or {_NOTHING}"

        asked = f"{question}: names or numbers, {_ALL} or {_NOTHING}"
        chosen = self.asking.text(asked, why, default=default, wrong=wrong)
        return [one for one in names if chosen == _ALL or one in listed(chosen)]

    def _role(self, name: str, one: Suggestion, *, listed: bool = True) -> "Dialogue":
        """Ask for the role of a column; one of rows is no quasi-identifier."""
        offered = {key: role for key, role in _ROLES.items() if not (one.of_row and role[0] is Role.QUASI)}
        default = next((key for key, (role, _) in offered.items() if role is one.role), "6")
        distinct, told = _told(one)
        why = f"{name}: {distinct} value{'s' * (one.profile.distinct != 1)}{'; ' * bool(told)}{told}"
        chosen = self.asking.choice(f"role of {name}", _words_of(offered), default=default, why=why, listed=listed)
        role = offered[chosen][0]
        if role is one.role:
            return self
        roles = {**self.stated.roles, name: role}
        return replace(self, stated=replace(self.stated, roles=roles))._excused(name, role)

    def _excused(self, name: str, role: Role) -> "Dialogue":
        """Ask who lets a column leave that tells of people all the same."""
        found = dict(_columns(self.draft))[name]
        if role.withheld or found.role is not Role.UNREVIEWED:
            return self
        told = "; ".join(reason for reason in found.reasons if reason != STATED)
        because = self.asking.text(
            "why it may leave all the same",
            f"{told}. {_TELLS} Enter withholds it.",
            wrong=lambda text: problem_of((*_ANY, "excused", "because"), text),
        )
        by = (
            LEFT
            if because == LEFT
            else self.asking.text("who decides that", wrong=lambda text: problem_of((*_ANY, "excused", "by"), text))
        )
        if LEFT in (because, by):
            return self
        excuse = json.dumps({"by": by, "because": because}, ensure_ascii=False)
        return replace(self, stated=replace(self.stated, excused={**self.stated.excused, name: excuse}))

    def _terms(self, draft: Draft) -> Draft:
        """Ask the questions of the draft, then for what it may do without."""
        given = self._numbers_known(draft, Given(self.answers))
        given = self._answered(given, _of_request(draft, given))
        if (title := given.answers.get(("title",))) is not None:
            given = replace(given, answers={**given.answers, ("dataset", "title"): title})
        while (chosen := self.asking.choice("anything to add", _MORE, default="1")) != "1":
            place = ("recipients", given.recipients)
            if chosen == "2":
                given = replace(given, recipients=given.recipients + 1)
                asked = [one for one in _of_request(draft, given) if one.place[:2] == place]
            else:
                asked = [one for one in draft.answered(given).questions if one.place[-1] == _ADDED[chosen]]
            given = self._answered(given, asked)
        return draft.answered(given)

    def _numbers_known(self, draft: Draft, given: Given) -> Given:
        """Ask once which of the numbers that leave exactly as collected outsiders can know."""
        held = [one for one in draft.suggestions if can_be_masked(one) and one.role is not Role.UNREVIEWED]
        names = [one.profile.name for one in held if not one.of_row and one.profile.distinct > _MOST_CODES]
        if not names:
            return given
        known = self._which(
            "which of them can somebody outside know exactly",
            f"Their values leave as they are: {', '.join(f'{place} {name}' for place, name in enumerate(names, 1))}. A "
            "colleague may know a wage, nobody a laboratory value. What can be known is likely to be blocked unless it "
            "is masked or withheld.",
            names,
            names,
            _ALL,
        )
        unknown: dict[Location, Answer] = {("attributes", name, _KNOWN): 0 for name in names if name not in known}
        return replace(given, answers={**given.answers, **unknown})

    def _answered(self, given: Given, questions: Iterable[Question]) -> Given:
        answers = dict(given.answers)
        for one in questions:
            if one.place in answers:
                continue
            if one.place[-1] == "detection_rate" and (*one.place[:-1], "penalty") not in answers:
                continue  # it deters nobody without a penalty
            answer = self._answer(one, answers)
            if answer is not None:
                answers[one.place] = answer
            elif one.place[-1] == "detection_rate":
                del answers[(*one.place[:-1], "penalty")]
        return replace(given, answers=answers)

    def _answer(self, one: Question, answers: Mapping[Location, Answer]) -> Answer | None:
        """The answer to a question; None where it is left open."""

        def wrong(text: str) -> str:
            answer = read_answer(one.place, text, self.decimal)
            again = one.place[-1] == "id" and len(one.place) == 3 and answer in _ids(answers)
            return "another recipient has this id" if again else problem_of(one.place, answer)

        question = one.words.hint + (f" ({_column(one.place)})" if "attributes" in one.place else "")
        why = one.words.why + (" Enter for none." if one.words.optional else "")
        text = self.asking.text(question, why, default=_default(one, answers), wrong=wrong)
        return None if text == LEFT else read_answer(one.place, text, self.decimal)


_ANY: Location = ("attributes", "any")
_KNOWN = "known_probability"
_MOST_CODES = 10
"""Different numbers up to which a column may be one of codes that many people share."""


def _words_of(roles: Mapping[str, tuple[Role, str]]) -> dict[str, str]:
    return {key: f"{role.value}: {meaning}" for key, (role, meaning) in roles.items()}


def _told(one: Suggestion) -> tuple[str, str]:
    """Number of values of a column; its label, and reasons but that nothing is known."""
    label = [f"“{one.profile.label}”"] if one.profile.label else []
    return f"{one.profile.distinct:,}", "; ".join([*label, *(reason for reason in one.reasons if reason != UNCLEAR)])


def _columns(draft: Draft) -> Iterator[tuple[str, Suggestion]]:
    """The columns of all files, those of further tables after the table's name and a dot."""
    yield from ((one.profile.name, one) for one in draft.suggestions)
    for held in draft.further.tables:
        yield from ((f"{held.place.table}.{one.profile.name}", one) for one in held.suggestions)


def _of_request(draft: Draft, given: Given) -> list[Question]:
    """The questions of a draft that it needs; no column of the file can be made up for a record's name."""
    left = {*_ADDED.values(), "record_id"}
    questions = draft.answered(given).questions
    return [one for one in questions if one.place[-1] not in left and one.place != ("dataset", "title")]


def _column(place: Location) -> str:
    """Name of a column, that of a further table after the table's."""
    return ".".join(str(step) for step in place[1:-1] if step != "attributes")


def _ids(answers: Mapping[Location, Answer]) -> set[Answer]:
    return {answer for place, answer in answers.items() if place[0] == "recipients" and place[2:] == ("id",)}


def _default(one: Question, answers: Mapping[Location, Answer]) -> str:
    """What an earlier answer suggests."""
    if one.place[0] == "recipients" and one.place[2:] == ("id",):
        name = str(answers.get((*one.place[:2], "organisation"), LEFT))
        short = plain_name(name.partition(",")[0])[:40].strip("-")
        return LEFT if short in _ids(answers) else short
    return LEFT

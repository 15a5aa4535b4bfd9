"""The dialogue of ``releasegate init``: what only people know, in the order in which the draft needs it.

Choices that change what is drafted come first: rows, people, roles. Nothing is written here.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from pathlib import Path

import pandas as pd

from flows.cli.column_answers import KNOWN_TO_SOME, LETTERS, UNKNOWN, read_changes, read_figures, shown_columns, way_of
from flows.cli.levels import shown_levels
from flows.cli.prompts import BACK, LEFT, NONE, WHY, Asking
from flows.workspace.actor import utc_now
from reports.model.blocks import table
from reports.model.document import named as shortened
from tasks.core.errors import ReleasegateError
from tasks.core.plain_name import plain_name
from tasks.decision.verdict import is_over, utc_day
from tasks.draft.document import Given, can_be_masked
from tasks.draft.draft import Draft, Source, count_column, shared_columns
from tasks.draft.folder import NUMBER, ProfiledFolder
from tasks.draft.questions import OF_DATA, OF_RECIPIENT, Answer, AnswerLine, Question, problem_of, read_answer, words_of
from tasks.draft.roles import ColumnProfile, Suggestion
from tasks.draft.stated import STATED, Stated
from tasks.ledger.enrolment import EnrolledSample
from tasks.request.column_names import event_word, names_people
from tasks.request.document import Location
from tasks.request.model import Policy, Role

_INTRODUCTION = f"Enter takes what is in brackets, or leaves a blank; {WHY} explains; {BACK} goes back. Ctrl-C stops."
_MORE: Mapping[str, tuple[str, str]] = {
    "1": ("prior_release_ids", "a recipient's earlier releases"),
    "2": ("expert", "expert who signs"),
    "3": ("controls", "controls at a recipient"),
    "4": ("description", "what columns hold"),
    "5": ("recipients", "another recipient"),
}
"""Terms that are asked for only then."""
_GROUPED, _NEEDED = "q", "n"
_AS_ENROLLED = "a number from above; or who else the people are, which another officer must then enrol"
_SIZE, _POLICY, _PRESENCE = ("population", "size"), ("policy",), ("policy", "presence")
_DEFAULT = "default/1"
"""Policy of a draft that names none."""
SMALL_CELL = Policy(id="default", version="1").small_cell
"""Smallest count of people that is shown before a policy says otherwise."""


@dataclass(frozen=True)
class Dialogue:
    """A draft in the making, and the questions to a person about it."""

    folder: ProfiledFolder
    population: Source | None
    read: Callable[[str], Source]
    """Reads a table that a person names by its path; raises ReleasegateError."""
    check: Callable[..., None]
    """Refuses a draft whose files, or others named after it, are there already, before a person answers in vain."""
    asking: Asking
    stated: Stated = field(default_factory=Stated)
    answers: Mapping[Location, Answer] = field(default_factory=dict)
    decimal: str = "."
    """Decimal mark of the file, with which people write numbers."""
    policies: Sequence[str] = ()
    """Policies that are enrolled in the workspace, as ID/VERSION; one of them is drafted unless it is the default."""
    samples: Sequence[EnrolledSample] = ()
    """Populations without a table that are enrolled in the workspace."""
    requester: str = LEFT
    """Id of the person who holds the dialogue, where they are enrolled."""
    numbered: Source | None = None
    """A copy of the file whose records are numbered, where a person has asked for one."""

    def held(self) -> tuple[Draft, Source | None]:
        """Ask everything; the draft with the answers, and the numbered copy that it is of, None for none."""
        self.check(self.draft, *([self.folder.numbered_path] if self._is_unnumbered else ()))
        return self.asking.held(self._held)

    def _held(self) -> tuple[Draft, Source | None]:
        self.asking.say(_INTRODUCTION)
        begun = replace(self, decimal=str(self.draft.form.get("decimal", self.decimal)))
        settled = begun._rows()._numbers()._people()._policy()._presence()._roles()
        self.check(settled.draft)
        draft = settled._terms(settled.draft)
        self.asking.say("".join(settled._assumed()))
        return draft, settled.numbered

    def _assumed(self) -> Iterator[str]:
        """Choices that nobody was asked for."""
        policy = self.answers.get(_POLICY)
        yield f"The {f'policy {policy} judges' if policy else 'default gates judge'}."
        if self.numbered is not None:
            yield f" No column names each record: {self.numbered.path} numbers them; keep it as safe as the file."

    @property
    def _has_people(self) -> bool:
        """Whether the data are drawn from more people."""
        return self.population is not None or _SIZE in self.answers

    @cached_property
    def draft(self) -> Draft:
        """The draft by what is stated so far."""
        return self.folder.draft(self.population, self.stated)

    def _rows(self) -> "Dialogue":
        if self.folder.file is None:
            return self  # the tables tell
        found, columns = self.draft.person, self.folder.file.profiles

        def lacking(one: ColumnProfile) -> str:
            return "cells without a value" if one.missing else "a value of its own in every row" if one.is_key else ""

        def wrong(name: str) -> str:
            if name not in columns:
                return f"no such column; the file has {', '.join(columns)}"
            found = "" if columns[name].is_key else lacking(columns[name])
            return f"{name} has {found}, so that it cannot name the person of several rows" if found else ""

        possible = shortened(name for name, one in columns.items() if not lacking(one))
        of = f" (of {possible})" if possible and not found else ""
        named = self.asking.text(
            f"if a person can have several rows: which column names the person{of}? {NONE if found else 'Enter'}: one "
            "row each",
            "Risks are of people: rows of one person must not pass for a crowd to hide in."
            + (f" {found} repeats as names and numbers of people do." if found else ""),
            default=found or LEFT,
            wrong=wrong,
        )
        # Whoever names the number of the rows says that each row is a person.
        person = None if not named or columns[named].is_key else named
        now = replace(self, stated=replace(self.stated, persons=True, person=person))
        return now if person else now._one_row_each()

    def _one_row_each(self) -> "Dialogue":
        """Ask who states that each row is another person where names tell of visits or the like."""
        record = self.draft.record_id or NUMBER
        word = event_word(record, Path(self.draft_path).name)
        people = any(
            one.role is Role.DIRECT and name != record and names_people(name) for name, one in _columns(self.draft)
        )
        if not word or people:
            return self
        stated = self._stated_excuse(
            record,
            f"“{word}” names the rows: reason why each is of another person, such as first visits only; who states "
            f"that; Enter: not sure ({BACK} to name the column of the person)",
            "Where people have several rows, and nothing says whose they are, rows pass for a crowd. A request without "
            "the column of the person or this statement is blocked.",
        )
        return stated or self

    @property
    def _is_unnumbered(self) -> bool:
        """Whether no column of the only file names each record."""
        file = self.folder.file
        return file is not None and self.draft.record_id is None and NUMBER not in file.columns

    def _numbers(self) -> "Dialogue":
        """Take a copy with numbered records where no column names each record."""
        if not self._is_unnumbered:
            return self
        folder, copy = self.folder.numbered
        return replace(self, folder=folder, numbered=copy)

    def _people(self) -> "Dialogue":
        if self.population is not None:
            return self
        person = next((one for name, one in _columns(self.draft) if name == self.draft.person), None)
        records = self.draft.suggestions[0].profile.records if person is None else person.profile.distinct
        names, found = [one.profile.name for one in self.draft.suggestions], list[Source]()

        def wrong(text: str) -> str:
            number = read_answer(_SIZE, text, self.decimal)
            if isinstance(number, int | float):
                few = isinstance(number, int) and number < records
                return problem_of(_SIZE, number) or (f"too few: the file has {records:,} people" if few else "")
            try:
                read = self.read(text)
                shared_columns(names, read.frame)
            except ReleasegateError as error:
                return str(error)
            found.append(read)
            return ""

        given = self.asking.text(
            "number of people of whom the file is a random sample; path of a table that counts them; Enter: "
            "neither (a study, a whole group): records hide only among each other, and others may know who is in it",
            "A record hides among the people who look like it. These are counted in the table, by age, sex, place "
            "or the like; estimated from the sample; or else they are those in the file alone.",
            wrong=wrong,
        )
        if given == LEFT:
            return self
        number = read_answer(_SIZE, given, self.decimal)
        if isinstance(number, str):
            return replace(self, population=found[-1])
        return replace(self, answers={**self.answers, _SIZE: number})

    def _policy(self) -> "Dialogue":
        """Take the policy that is enrolled, or ask which; dates and text of rows need gates of their own."""
        further = self.draft.further
        if not {*self.policies} - {_DEFAULT} or further.having("date") or further.having("text"):
            return self
        named, *others = self.policies
        if others:
            named = self.asking.text(
                f"policy, of {', '.join(self.policies)}; Enter: {_DEFAULT}",
                "These are enrolled: their gates judge, and they say whether others know who is in the file.",
                wrong=lambda text: "" if text in self.policies else f"there are {', '.join(self.policies)}",
            )
        return self if named in (LEFT, _DEFAULT) else replace(self, answers={**self.answers, _POLICY: named})

    def _presence(self) -> "Dialogue":
        if _POLICY in self.answers:
            return self  # it tells
        if not self._has_people:
            return self  # the file is the population, so that others know who is in it
        known = self.asking.confirmed(
            "can others know that a person is in the file (a survey of 4,000 of 230,000 women: nobody knows who was "
            "asked: no; a register of all claims: yes)",
            "A neighbour may know of a patient. They search only the records of the file, which is a separate risk.",
            default=True,
        )
        return self if known else replace(self, answers={**self.answers, _PRESENCE: "unknown"})

    def _roles(self) -> "Dialogue":
        """Show what becomes of the columns, and ask for what is to change.

        What others might know of a person as well does not leave before somebody has judged that.
        """
        asked, held = self.asking, dict(_columns(self.draft))
        open_ = {
            name: Role.UNREVIEWED
            for name, one in held.items()
            if one.role in (Role.SENSITIVE, Role.INSENSITIVE) and not {"known_probability", "date"} & one.terms.keys()
        }
        asked.say(f"{self.draft.suggestions[0].profile.records:,} records. “?”: in doubt, does not leave.")
        asked.show(shown_columns(held, frozenset(open_)))
        asked.options({letter: meaning for letter, (_, meaning) in LETTERS.items() if meaning})
        quasi = any(one.role is Role.QUASI for one in held.values())
        levels = {name: [one for one in found if one.groups > 1] for name, found in self.draft.levels.items()}
        people = self.population is not None or self.draft.person is not None
        why = table(
            "",
            ("column", "role", "why"),
            [(name, one.role.value, "; ".join(one.reasons)) for name, one in held.items()],
        )
        text = asked.text(
            "all changes in one line, such as 4-6,9=s 12=w; Enter: none"
            if quasi
            else "columns in groups (a request needs one), such as 3,5=q",
            "Columns in groups are quasi-identifiers, known to neighbours and registers. You state whether anybody "
            "outside knows the values that leave as they are; the gate relies on it. In the request, “level: 1” on a "
            "column in groups keeps its exact values from leaving, whatever the method.",
            wrong=lambda line: read_changes(line, held)[1],
            more=[*why, *shown_levels(levels, SMALL_CELL, of_people=people)],
        )
        made, _ = read_changes(text, held)
        roles = {**self.stated.roles, **open_, **{name: LETTERS[letter][0] for name, letter in made.items()}}
        needed = frozenset(name for name, letter in made.items() if letter == _NEEDED)
        now = replace(self, stated=replace(self.stated, roles=roles, needed=needed))
        found = {name: one for name, one in _columns(now.draft) if one.role is Role.UNREVIEWED}
        asked.options(now._result(made))
        groups = [name for name, letter in made.items() if LETTERS[letter][0] is Role.QUASI]
        secret = [name for name in groups if held[name].role is Role.SENSITIVE]
        now._warn(secret, f"put {','.join(secret)}=s among the changes, or =k if few do")
        for name in made:
            if name in found and not roles[name].withheld:
                now = now._excused(name, found[name])
        return now._known(made)

    def _result(self, made: Mapping[str, str]) -> dict[str, str]:
        """Columns that a person has changed, by the way in which they leave now."""
        now, ways = dict(_columns(self.draft)), dict[str, list[str]]()
        for name in made:
            masked = made[name] == KNOWN_TO_SOME and can_be_masked(now[name])
            ways.setdefault("as means of groups" if masked else way_of(now[name].role), []).append(name)
        return {way: ", ".join(names) for way, names in ways.items()}

    def _warn(self, secret: Sequence[str], instead: str) -> None:
        """Say what sensitive columns lose as quasi-identifiers, and how they stay sensitive."""
        if secret:
            self.asking.say(
                f"{', '.join(secret)}: no longer protected as a secret. If nobody outside knows it, go back ({BACK}) "
                f"and {instead}."
            )

    def _excused(self, name: str, found: Suggestion) -> "Dialogue":
        """Ask who lets a column leave that tells of people all the same, or whether it leaves in groups."""
        groups = "" if found.of_row else f"; {_GROUPED}: in groups"
        self.asking.say("; ".join(reason for reason in found.reasons if reason != STATED))
        question = (
            f"reason why {name} may leave all the same (gates still judge what it reveals); who decides that{groups}; "
            "Enter: it does not leave"
        )
        why = (
            "A column that reveals people is withheld unless somebody states why it may leave. If it reveals what "
            "was generalized, groups still count as smaller."
        )
        now = self._stated_excuse(name, question, why, other=_GROUPED if groups else None)
        if now is not None:
            return now
        self._warn([name] if self.stated.roles[name] is Role.SENSITIVE else [], "give a reason")
        return replace(self, stated=replace(self.stated, roles={**self.stated.roles, name: Role.QUASI}))

    def _stated_excuse(self, name: str, question: str, why: str, *, other: str | None = None) -> "Dialogue | None":
        """Ask for a reason and who gives it, which a column's draft then names; None for the ``other`` answer."""
        place: Location = ("attributes", "any", "excused")
        line = AnswerLine("", ((*place, "because"), (*place, "by")), 2)
        given = self.asking.text(question, why, wrong=lambda text: "" if text == other else line.problem(text))
        if given in (LEFT, other):
            return self if given == LEFT else None
        because, by = line.read(given).values()
        excuse = json.dumps({"by": by, "because": because}, ensure_ascii=False)
        return replace(self, stated=replace(self.stated, excused={**self.stated.excused, name: excuse}))

    def _known(self, made: Mapping[str, str]) -> "Dialogue":
        """The statements on what somebody outside knows, of columns that leave as they are; asks how likely some is."""
        leaving = [
            ((*place, "known_probability"), name, one.of_row)
            for place, name, one in _placed(self.draft)
            if name in made and not one.role.withheld and one.role is not Role.QUASI
        ]
        known: dict[Location, Answer] = {place: 0 for place, name, _ in leaving if made[name] in tuple(UNKNOWN)}
        some = [one for one in leaving if made[one[1]] == KNOWN_TO_SOME]
        known |= {place: 1 for place, _, of_row in some if of_row}  # the rows of a person are known or not
        if people := {name: place for place, name, of_row in some if not of_row}:
            names = [name for name, _ in _columns(self.draft)]

            def read(text: str) -> tuple[dict[Location, Answer], str]:
                figures, found = read_figures(text, names, people) if "=" in text else (dict.fromkeys(people, text), "")
                answers = {name: read_answer(people[name], figure, self.decimal) for name, figure in figures.items()}
                problems = {name: problem_of(people[name], one) for name, one in answers.items()}
                wrong = (f"{name}: {problem}" for name, problem in problems.items() if problem)
                return {people[name]: one for name, one in answers.items()}, found or next(wrong, "")

            numbers = [names.index(name) + 1 for name in people]
            each = f", or {numbers[0]}=0.5 {numbers[1]}=0.1" if len(numbers) > 1 else ""
            given = self.asking.text(
                f"probability that somebody outside knows {', '.join(people)} of a person, such as 0.2{each}: the "
                "share of people of whom some outsider (neighbour, colleague, another file) knows it; Enter: no "
                "figure; in any case, unique records can block",
                "Whoever knows it can find the person and learn the rest. Expected disclosure uses your figure, or "
                "0.1; singling out always counts it as known. At 1 it is no longer a secret.",
                wrong=lambda text: read(text)[1],
            )
            known |= {} if given == LEFT else read(given)[0]
        return replace(self, answers={**self.answers, **known})

    def _terms(self, draft: Draft) -> Draft:
        """Ask the questions of the draft, then for what it may do without."""
        given = Given(self.answers)
        first = [one for one in draft.questions if one.place in (("title",), ("requested_by",))]
        given = self._answered(given, first)
        if (title := given.answers.get(("title",))) is not None:
            given = replace(given, answers={**given.answers, ("dataset", "title"): title})
        given = self._of_recipient(given, 0)
        given = self._of_people(given)
        asked = {one.place for one in first}.union(OF_DATA.places, *(line.at(0).places for line in OF_RECIPIENT))
        asked.add(("recipients", 0, "id"))
        given = self._answered(given, (one for one in self._needed(draft, given) if one.place not in asked))
        while chosen := self._more():
            for key in chosen:
                term, _ = _MORE[key]
                if term == "recipients":
                    given = self._of_recipient(replace(given, recipients=given.recipients + 1), given.recipients)
                else:
                    left = {place for place, _, one in _placed(draft) if one.role.withheld}
                    questions = draft.answered(given).questions
                    asked_now = (one for one in questions if one.place[-1] == term and one.place[:-1] not in left)
                    given = self._answered(given, [*asked_now])
        return draft.answered(given)

    def _more(self) -> list[str]:
        """Ask what else there is to say."""

        def keys(text: str) -> list[str]:
            return [part for part in text.replace(",", " ").split() if part]

        offered = ", ".join(f"{key} {meaning}" for key, (_, meaning) in _MORE.items())
        text = self.asking.text(
            f"what to add, by number: {offered}; Enter: nothing",
            "Copies held by one party can be compared, so name the earlier ones. Expert and controls are for the "
            "determination; what columns hold, for the recipient's dictionary.",
            wrong=lambda text: "" if {*keys(text)} <= _MORE.keys() else f"numbers from 1 to {len(_MORE)}",
        )
        return keys(text)

    def _of_recipient(self, given: Given, recipient: int) -> Given:
        for line in OF_RECIPIENT:
            given = self._line(given, line.at(recipient))
        agreed: Location = ("recipients", recipient, "agreement")
        ends = given.answers.get((*agreed, "expires"))
        if isinstance(ends, str) and is_over(date.fromisoformat(ends), utc_day(utc_now())):
            self.asking.say(
                f"The agreement ended on {ends}, and nothing leaves without one that is in force. Go back ({BACK}) to "
                "state its new last day."
            )
        if given.answers.get((*agreed, "penalty")) and (*agreed, "detection_rate") not in given.answers:
            self.asking.say("The penalty is not counted: nobody has stated the chance that an attempt is noticed.")
        self._tell_group_sizes(given, recipient)
        name = str(given.answers.get(("recipients", recipient, "organisation"), LEFT))
        short = plain_name(name.partition(",")[0])[:40].strip("-")
        place: Location = ("recipients", recipient, "id")
        if short and short not in _ids(given.answers) and not problem_of(place, short):
            return replace(given, answers={**given.answers, place: short})
        return given if name == LEFT else self._answered(given, [Question(place, words_of(place))])

    def _tell_group_sizes(self, given: Given, recipient: int) -> None:
        """Say which groups a recipient's amounts lead to, by the default gates."""
        if _POLICY in self.answers:
            return
        from tasks.draft.group_sizes import Crowd, group_sizes_in_words  # noqa: PLC0415  imports the methods

        size, held = self.answers.get(_SIZE), self.draft.suggestions[0].profile.records
        person = next((one.profile for name, one in _columns(self.draft) if name == self.draft.person), None)
        people, terms = held if person is None else person.distinct, dict[str, object]({"self": True})
        if isinstance(size, int | float):
            people, terms = round(size), {"size": size}
        elif self.population is not None:
            people, terms = _people_of(self.population, self.draft) or people, {"path": "population.csv"}
        known = str(self.answers.get(_PRESENCE, "known"))
        answers, place = given.with_amounts, ("recipients", recipient)
        agreement, stakes = (
            {str(at[-1]): one for at, one in answers.items() if at[:3] == (*place, term)}
            for term in ("agreement", "stakes")
        )
        self.asking.say(group_sizes_in_words(agreement, stakes, Crowd(people, terms, known)))

    def _of_people(self, given: Given) -> Given:
        """Ask of people and data; people who are enrolled so are named by a number."""
        size = self.answers.get(_SIZE)
        sources = [
            one.source
            for one in self.samples
            if self.population is None and one.size == size and one.everybody is not self._has_people
        ]
        if not sources:
            hint = OF_DATA.hint
            if isinstance(size, int | float):
                hint = hint.replace("the people are", f"the {size:,} people are, of whom the file is a sample")
            return self._line(given, replace(OF_DATA, hint=hint))
        numbered = {str(number): source for number, source in enumerate(sources, 1)}

        def line(text: str) -> str:
            people, *rest = text.split(";")
            return ";".join([numbered.get(people.strip(), people), *rest])

        self.asking.options(numbered)
        text = self.asking.text(
            f"{_AS_ENROLLED}; {words_of(OF_DATA.places[1]).hint}",
            OF_DATA.why,
            wrong=lambda text: OF_DATA.problem(line(text), self.decimal),
        )
        answers = {} if text == LEFT else OF_DATA.read(line(text), self.decimal)
        return replace(given, answers={**given.answers, **answers})

    def _needed(self, draft: Draft, given: Given) -> list[Question]:
        """The questions of a draft that it needs; no column of the file can be made up for a record's name."""
        left = {*(term for term, _ in _MORE.values()), "record_id"}
        questions = draft.answered(given).questions
        return [one for one in questions if one.place[-1] not in left and one.place != ("dataset", "title")]

    def _line(self, given: Given, line: AnswerLine) -> Given:
        """Ask several questions in one line."""
        text = self.asking.text(line.hint, line.why, wrong=lambda text: line.problem(text, self.decimal))
        answers = {} if text == LEFT else line.read(text, self.decimal)
        return replace(given, answers={**given.answers, **answers})

    def _answered(self, given: Given, questions: Iterable[Question]) -> Given:
        answers = dict(given.answers)
        for one in questions:
            if one.place not in answers and (answer := self._answer(one, answers)) is not None:
                answers[one.place] = answer
        return replace(given, answers=answers)

    def _answer(self, one: Question, answers: Mapping[Location, Answer]) -> Answer | None:
        """The answer to a question; None where it is left open."""

        def wrong(text: str) -> str:
            answer = read_answer(one.place, text, self.decimal)
            again = one.place[-1] == "id" and len(one.place) == 3 and answer in _ids(answers)
            return "another recipient has this id" if again else problem_of(one.place, answer)

        question = one.words.hint + (f" ({_column(one.place)})" if "attributes" in one.place else "")
        defaults: Mapping[Location, str] = {
            ("title",): Path(self.draft_path).name.partition(".")[0],
            ("requested_by",): self.requester,
        }
        text = self.asking.text(question, one.words.why, default=defaults.get(one.place, LEFT), wrong=wrong)
        return None if text == LEFT else read_answer(one.place, text, self.decimal)

    @property
    def draft_path(self) -> str:
        """Path of the only file, or empty."""
        return "" if self.folder.file is None else self.folder.file.path.removesuffix("-numbered.csv")


def _people_of(population: Source, draft: Draft) -> int:
    """People whom a table counts; 0 where its column of counts is not clear."""
    counted = count_column(population.frame, [one.profile.name for one in draft.suggestions])
    return 0 if counted is None else int(pd.to_numeric(population.frame[counted], errors="coerce").sum())


def _placed(draft: Draft) -> Iterator[tuple[Location, str, Suggestion]]:
    """The columns of all files with their places; those of further tables after the table's name and a dot."""
    for one in draft.suggestions:
        yield ("attributes", one.profile.name), one.profile.name, one
    for held in draft.further.tables:
        for one in held.suggestions:
            place: Location = ("tables", held.place.table, "attributes", one.profile.name)
            yield place, f"{held.place.table}.{one.profile.name}", one


def _columns(draft: Draft) -> Iterator[tuple[str, Suggestion]]:
    """The columns of all files by their names."""
    return ((name, one) for _, name, one in _placed(draft))


def _column(place: Location) -> str:
    """Name of a column, that of a further table after the table's."""
    return ".".join(str(step) for step in place[1:-1] if step != "attributes")


def _ids(answers: Mapping[Location, Answer]) -> set[Answer]:
    return {answer for place, answer in answers.items() if place[0] == "recipients" and place[2:] == ("id",)}

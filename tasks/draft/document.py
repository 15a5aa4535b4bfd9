"""The drafted request as YAML: what only people know comes first, empty; then a line for each column, with reasons.

Terms that are as by default are left out. No value of the data is written: counts, shares and forms only.
``templates/draft/request.yaml`` has the words, ``tasks.draft.questions`` those of the blanks.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from jinja2 import Environment, FileSystemLoader

from tasks.core.shipped import shipped
from tasks.draft.hierarchies import FEWEST_FOR_INTERVALS, DraftedHierarchy
from tasks.draft.lines import folded
from tasks.draft.questions import PUBLISHED, Answer, Answers, Question, words_of
from tasks.draft.roles import COUNTED, IN_LABEL, IN_NAME, LACKING, UNCLEAR, ColumnProfile, Suggestion, percent
from tasks.draft.separation import MAXIMUM_RECORDS, Separation
from tasks.draft.stated import STATED
from tasks.draft.structure import Place
from tasks.request.document import Location
from tasks.request.form import printable
from tasks.request.gate import masked_together
from tasks.request.model import HierarchySource, Policy, Role, SafeHarborRule, ValueType

_TEMPLATES = shipped("templates") / "draft"
_SETS_SHOWN = (2, 3)
_UNQUOTED = re.compile(r"(?!(?:true|false|null|yes|no|on|off)\Z)[a-z_][a-z0-9_./-]*", re.IGNORECASE)
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_QUOTED, _PLAIN = re.compile(r'"([^"\\]*)"'), re.compile(f"{_UNQUOTED.pattern}|{_DAY.pattern}", re.IGNORECASE)
_UNLABELLED = (Role.DIRECT, Role.PSEUDONYM, Role.TEXT)
_IN_SHORT = {COUNTED: "in the population", LACKING: "not in the population", UNCLEAR: "unclear"}
_KNOWN = "known_probability"
_MAY_LEAVE = (Role.SENSITIVE, Role.INSENSITIVE, Role.UNREVIEWED)
_ASKED = "“?”: 0 if nobody outside can know it, 1 if somebody can"


@dataclass(frozen=True)
class DraftedTable:
    """A further table of a request."""

    place: Place
    path: str
    suggestions: tuple[Suggestion, ...] = ()
    """Role and reasons for each column that is declared in this table, in the order of the file."""


@dataclass(frozen=True)
class DraftedTables:
    """Further tables of a request, each after the one that it is within, and files that it leaves out, with reasons."""

    tables: tuple[DraftedTable, ...] = ()
    left_out: tuple[str, ...] = ()
    omop: bool = False
    """Whether these are tables of the OMOP Common Data Model."""

    def having(self, key: str) -> bool:
        """Whether some attribute of a table has a term."""
        return any(key in one.terms for table in self.tables for one in table.suggestions)


NO_FURTHER = DraftedTables()
"""Those of a draft for one file."""


@dataclass(frozen=True)
class Given:
    """What people have answered."""

    answers: Answers = field(default_factory=dict)
    """Beside those to questions, ``population.size`` where the file is a sample, ``policy`` where it is an enrolled one
    and ``policy.presence`` where not, and the ``known_probability`` of columns."""
    recipients: int = 1

    @property
    def with_amounts(self) -> Answers:
        """The answers, with published amounts for recipients for whom nobody states any."""
        stakes = [("recipients", recipient, "stakes") for recipient in range(self.recipients)]
        unstated = [one for one in stakes if not any((*one, term) in self.answers for term in PUBLISHED)]
        return {(*one, term): value for one in unstated for term, value in PUBLISHED.items()} | {**self.answers}


NOTHING_GIVEN = Given()
"""No answer, and one recipient."""


@dataclass
class _Blanks:
    """The questions of a draft, in the order in which the draft has them, and their answers."""

    answers: Answers
    questions: list[Question] = field(default_factory=list)

    def answer(self, place: Location, hint: str = "") -> Answer | None:
        """The answer at a place; the question is noted, and None is that nobody has answered it."""
        words = words_of(place)
        self.questions.append(Question(place, replace(words, hint=hint) if hint else words))
        return self.answers.get(place)

    def blank(self, *place: str | int, hint: str = "") -> str:
        """A term that the request needs: with its answer, or with the hint, or else that of its question."""
        answer = self.answer(place, hint)
        return f"{place[-1]}: " + (f"# fill in: {hint or words_of(place).hint}" if answer is None else _written(answer))

    def group(self, *place: str | int, terms: Sequence[str], note: str) -> str:
        """A mapping of a recipient's terms with a note: in one line where all that it needs is answered."""
        needed = {one for one in terms if not words_of((*place, one)).optional}
        given = {one for one in terms if (*place, one) in self.answers}
        written = (self.blank(*place, one) if one in needed else self.optional(*place, one).rstrip() for one in terms)
        lines = list(filter(None, written))
        if needed <= given:
            return f"{place[-1]}: {{{', '.join(lines)}}}" + f" # {note}" * (needed == given)
        return "\n      ".join((f"{place[-1]}: # {note}", *lines))

    def optional(self, *place: str | int, indent: int = 0) -> str:
        """A line of a term that the request may do without, with the indentation of the next; empty unanswered."""
        answer = self.answer(place)
        return "" if answer is None else f"{place[-1]}: {_written(answer)}\n{' ' * indent}"


def compose(
    data: Mapping[str, Any],
    population: Mapping[str, Any] | None,
    suggestions: Sequence[Suggestion],
    hierarchies: Mapping[str, DraftedHierarchy],
    sets: Sequence[Separation],
    *,
    further: DraftedTables = NO_FURTHER,
    given: Given = NOTHING_GIVEN,
) -> tuple[str, tuple[Question, ...]]:
    """Write the draft, and list its questions in order, answered or not.

    `data` are facts of the data file: path, form (terms that say how it is read), missing (a tuple of texts); record_id
    and person, each None where no column is one.
    `population` has the path of the population table; count, its column of counts, None where that is not clear; and
    lacks, the quasi-identifiers that it does not have.
    `suggestions` are in the order of the file; `hierarchies` has one for each suggested quasi-identifier; `sets` are
    measured sets of quasi-identifiers, the best of each size first; `further` are the other tables of a folder.
    """
    blanks = _Blanks(given.with_amounts)
    environment = Environment(  # noqa: S701  YAML, whose texts are quoted by ``scalar``
        loader=FileSystemLoader(_TEMPLATES), trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    environment.filters |= {
        "scalar": _scalar,
        "json": partial(json.dumps, ensure_ascii=False),
        "percent": percent,
        "printable": printable,
    }
    twins = _twins(sets)
    measured = next(
        (one.profile.distinct for one in suggestions if one.profile.name == data["person"]),
        suggestions[0].profile.records,
    )
    largest = (next((one for one in sets if len(one.columns) == size), None) for size in _SETS_SHOWN)
    everywhere: list[tuple[Location, str, Suggestion]] = [(("attributes",), "", one) for one in suggestions]
    for further_table in further.tables:
        name = further_table.place.table
        everywhere += [(("tables", name, "attributes"), f"{name}.", one) for one in further_table.suggestions]
    knowable = [
        one
        for one in suggestions
        if can_be_masked(one)
        and not _is_code(one.profile)
        and given.answers.get(("attributes", one.profile.name, _KNOWN)) != 0
    ]
    terms: Mapping[str, object] = {
        "data": data,
        "population": population,
        "size": given.answers.get(("population", "size")),
        "unknown": given.answers.get(("policy", "presence")) == "unknown",
        "needed": any("weight" in one.terms for one in suggestions),
        "named": given.answers.get(("policy",)),
        "recipients": given.recipients,
        "lacks": [] if population is None else population.get("lacks", ()),
        "further": further,
        "asked": [
            f"{table}{one.profile.name}"
            for path, table, one in everywhere
            if _is_asked(one) and (*path, one.profile.name, _KNOWN) not in given.answers
        ],
        "lacking": any(LACKING in one.reasons for one in suggestions),
        "known": any(one.role is Role.SENSITIVE and one.sensitivity < 1 for _, _, one in everywhere),
        "gaps": any(one.role is Role.QUASI and one.profile.missing for one in suggestions),
        "sets": [one for one in largest if one is not None],
        "in_part": measured > MAXIMUM_RECORDS,
        "numbers": [one.profile.name for one in knowable if not (_is_known_to_some(one) or _is_scale(one.profile))],
        "rows": any(one.of_row and one.role in _MAY_LEAVE for one in suggestions),
        "masked": [
            (one.profile.name, masked_together(one.profile.records - one.profile.missing))
            for one in knowable
            if _is_known_to_some(one)
        ],
        "gates": Policy(id="default", version="1").gates,
        "blank": blanks.blank,
        "optional": blanks.optional,
        "group": blanks.group,
    }
    head, columns = (environment.get_template(f"{name}.yaml") for name in ("request", "columns"))
    text = head.render(terms)
    lines_of: dict[str, list[str]] = {"": []}
    for path, table, one in everywhere:
        name = one.profile.name
        beside = (hierarchies.get(name), twins.get(name, ())) if not table else (None, ())
        of_row = one.of_row and not table
        lines_of.setdefault(table, []).append(_line(one, *beside, (*path, name), blanks, of_row=of_row))
    text += columns.render(terms, lines_of=lines_of)
    return "".join(f"{one}\n" for line in text.rstrip("\n").split("\n") for one in folded(line)), tuple(
        blanks.questions
    )


def _line(
    one: Suggestion,
    hierarchy: DraftedHierarchy | None,
    twins: Sequence[str],
    place: Location,
    blanks: _Blanks,
    *,
    of_row: bool = False,
) -> str:
    """A column with its terms, those by default left out, and why, in one line.

    `twins` are quasi-identifiers that distinguish the same records; `place` is that of the column in the request;
    `of_row` says whether “of: row” is to be stated.
    """
    column = one.profile
    reasons = in_short(one)
    terms = {"role": one.role.value}
    kind = (hierarchy or column).type
    if kind is not ValueType.TEXT:
        terms["type"] = kind.value
    if of_row:
        terms["of"] = "row"
    terms |= one.terms
    if _is_asked(one):
        known = blanks.answer((*place, _KNOWN))
        terms[_KNOWN] = '"?"' if known is None else _written(known)
        reasons += [_ASKED] if known is None else []
    elif (*place, _KNOWN) in blanks.answers:
        terms[_KNOWN] = _written(blanks.answers[(*place, _KNOWN)])
    described = blanks.answer((*place, "description")) or column.label
    if described:
        terms["description"] = json.dumps(described, ensure_ascii=False)
    if column.value_labels and one.role not in _UNLABELLED:
        terms["labels"] = json.dumps(dict(column.value_labels), ensure_ascii=False)
    if one.role is Role.SENSITIVE and one.sensitivity < 1:
        terms["sensitivity"] = f"{{attribute: {one.sensitivity:g}}}"
    if hierarchy is not None:
        if hierarchy.safe_harbor is not SafeHarborRule.NONE:
            terms["safe_harbor"] = hierarchy.safe_harbor.value
        terms["hierarchy"] = _source(hierarchy.source)
        reasons += [hierarchy.note] if hierarchy.note else []
    if twins:
        reasons.append(f"same groups as {', '.join(map(printable, twins))}")
    reasons.append(f"{column.distinct:,} value{'s' * (column.distinct != 1)}")
    if column.missing:
        reasons.append(f"{percent(column.missing / column.records)} missing")
    stated = ", ".join(f"{key}: {value}" for key, value in terms.items())
    return f"{_scalar(column.name)}: {{{stated}}} # {'; '.join(reasons)}"


def in_short(one: Suggestion) -> list[str]:
    """The reasons for a suggestion, as short as they can be beside the column's name."""
    return [
        _IN_SHORT.get(reason, reason.removesuffix(IN_NAME).replace(IN_LABEL, ", label"))
        .removeprefix(f"{one.profile.name} ")
        .removeprefix("is ")
        for reason in one.reasons
    ]


def _written(answer: Answer) -> str:
    """An answer as YAML; a day is quoted by nobody, and a text wherever it could be read as anything else."""
    if isinstance(answer, tuple):
        return f"[{', '.join(json.dumps(one, ensure_ascii=False) for one in answer)}]"
    if isinstance(answer, str):
        return answer if _DAY.fullmatch(answer) else _scalar(answer)
    return json.dumps(answer)


def _scalar(text: str) -> str:
    return text if _UNQUOTED.fullmatch(text) else json.dumps(text, ensure_ascii=False)


def _source(source: HierarchySource) -> str:
    """Terms of a source as a mapping in one line."""
    written = json.dumps(source.model_dump(mode="json", exclude_defaults=True), ensure_ascii=False)
    return _QUOTED.sub(lambda found: found[1] if _PLAIN.fullmatch(found[1]) else found[0], written)


def _is_asked(one: Suggestion) -> bool:
    """Whether somebody has to say if others know the column's values, which are of rows and would leave."""
    return one.of_row and one.role in (Role.SENSITIVE, Role.INSENSITIVE) and not {_KNOWN, "date"} & one.terms.keys()


def _is_code(column: ColumnProfile) -> bool:
    """Whether its numbers are signs: those with labels, and those of which there are two."""
    return bool(column.value_labels) or column.distinct == 2


def _is_scale(column: ColumnProfile) -> bool:
    """Whether its numbers are few whole ones, such as scores from 1 to 5."""
    return column.type is ValueType.INTEGER and column.distinct < FEWEST_FOR_INTERVALS


def can_be_masked(suggestion: Suggestion) -> bool:
    """Whether a column has numbers of people that differ and that may leave."""
    column = suggestion.profile
    varying = column.distinct > 1 and column.type in (ValueType.INTEGER, ValueType.NUMBER)
    return varying and suggestion.role in _MAY_LEAVE and not suggestion.of_row


def _is_known_to_some(suggestion: Suggestion) -> bool:
    """Whether a person has said that it is a secret, which some outside may know."""
    return suggestion.role is Role.SENSITIVE and STATED in suggestion.reasons


def _twins(sets: Sequence[Separation]) -> dict[str, list[str]]:
    """For each quasi-identifier those that distinguish the same records as it does."""
    ratios = {one.columns: one.distinction_ratio for one in sets if len(one.columns) < 3}
    pairs = [one for one in ratios if len(one) == 2 and {ratios[(name,)] for name in one} == {ratios[one]}]
    found: dict[str, list[str]] = {}
    for first, second in pairs:
        found.setdefault(first, []).append(second)
        found.setdefault(second, []).append(first)
    return found

"""The drafted request as YAML: what only people know comes first, empty; then a line for each column, with reasons.

Terms that are as by default are left out. No value of the data is written: counts, shares and forms only.
``templates/draft/request.yaml`` has the words.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader

from tasks.draft.hierarchies import DraftedHierarchy
from tasks.draft.roles import LACKING, Suggestion, percent
from tasks.draft.separation import MAXIMUM_RECORDS, Separation
from tasks.draft.structure import Place
from tasks.request.form import printable
from tasks.request.model import HierarchySource, Policy, Role, SafeHarborRule, ValueType

_TEMPLATES = Path(__file__).resolve().parents[2] / "templates" / "draft"
_SETS_SHOWN = (2, 3)
_UNQUOTED = re.compile(r"(?!(?:true|false|null|yes|no|on|off)\Z)[a-z_][a-z0-9_./-]*", re.IGNORECASE)
_KNOWN = "known_probability"
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


def compose(
    data: Mapping[str, Any],
    population: Mapping[str, str | None] | None,
    suggestions: Sequence[Suggestion],
    hierarchies: Mapping[str, DraftedHierarchy],
    sets: Sequence[Separation],
    *,
    further: DraftedTables = NO_FURTHER,
) -> str:
    """Write the draft.

    `data` are facts of the data file: path, form (terms that say how it is read), missing (a tuple of texts); record_id
    and person, each None where no column is one.
    `population` has the path of the population table, and count, its column of counts, None where that is not clear.
    `suggestions` are in the order of the file; `hierarchies` has one for each suggested quasi-identifier; `sets` are
    measured sets of quasi-identifiers, the best of each size first; `further` are the other tables of a folder.
    """
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
    everywhere = (("", suggestions), *((f"{one.place.table}.", one.suggestions) for one in further.tables))
    largest = (next((one for one in sets if len(one.columns) == size), None) for size in _SETS_SHOWN)
    return environment.get_template("request.yaml").render(
        data=data,
        population=population,
        further=further,
        lines=[
            _line(one, hierarchies.get(one.profile.name), twins.get(one.profile.name, ()), of_row=one.of_row)
            for one in suggestions
        ],
        lines_of={one.place.table: [_line(each, None, ()) for each in one.suggestions] for one in further.tables},
        asked=[f"{table}{one.profile.name}" for table, held in everywhere for one in held if _is_asked(one)],
        lacking=any(LACKING in one.reasons for one in suggestions),
        known=any(one.role is Role.SENSITIVE and one.sensitivity < 1 for _, held in everywhere for one in held),
        gaps=any(one.role is Role.QUASI and one.profile.missing for one in suggestions),
        sets=[one for one in largest if one is not None],
        in_part=suggestions[0].profile.records > MAXIMUM_RECORDS,
        numbers=[one.profile.name for one in suggestions if _can_be_masked(one)],
        gates=Policy(id="default", version="1").gates,
    )


def _line(one: Suggestion, hierarchy: DraftedHierarchy | None, twins: Sequence[str], *, of_row: bool = False) -> str:
    """A column with its terms, those by default left out, and why, in one line.

    `twins` are quasi-identifiers that distinguish the same records; `of_row` says whether “of: row” is to be stated.
    """
    column, reasons = one.profile, [*one.reasons]
    terms = {"role": one.role.value}
    kind = (hierarchy or column).type
    if kind is not ValueType.TEXT:
        terms["type"] = kind.value
    if of_row:
        terms["of"] = "row"
    terms |= one.terms
    if _is_asked(one):
        terms[_KNOWN] = '"?"'
        reasons.append(_ASKED)
    if hierarchy is not None:
        terms["hierarchy"] = _source(hierarchy.source)
        if hierarchy.safe_harbor is not SafeHarborRule.NONE:
            terms["safe_harbor"] = hierarchy.safe_harbor.value
        reasons += [hierarchy.note] if hierarchy.note else []
    if one.role is Role.SENSITIVE and one.sensitivity < 1:
        terms["sensitivity"] = f"{{attribute: {one.sensitivity:g}}}"
    if not one.role.withheld:
        terms["maximum_missing_rate"] = f"{column.missing_rate:g}"
    if twins:
        reasons.append(f"it tells the same records apart as {', '.join(map(printable, twins))}")
    reasons.append(f"{column.distinct:,} value{'s' * (column.distinct != 1)}")
    if column.missing:
        reasons.append(f"{percent(column.missing / column.records)} missing")
    stated = ", ".join(f"{key}: {value}" for key, value in terms.items())
    return f"{_scalar(column.name)}: {{{stated}}} # {'; '.join(reasons)}"


def _scalar(text: str) -> str:
    return text if _UNQUOTED.fullmatch(text) else json.dumps(text, ensure_ascii=False)


def _source(source: HierarchySource) -> str:
    """Terms of a source as a mapping in one line."""
    written = json.dumps(source.model_dump(mode="json", exclude_defaults=True), ensure_ascii=False)
    return re.sub(r'"(\w+)":', r"\1:", written)


def _is_asked(one: Suggestion) -> bool:
    """Whether somebody has to say if others know the column's values, which are of rows and would leave."""
    return one.of_row and one.role in (Role.SENSITIVE, Role.INSENSITIVE) and not {_KNOWN, "date"} & one.terms.keys()


def _can_be_masked(suggestion: Suggestion) -> bool:
    column = suggestion.profile
    varying = column.distinct > 1 and column.type in (ValueType.INTEGER, ValueType.NUMBER)
    return varying and suggestion.role in (Role.SENSITIVE, Role.INSENSITIVE, Role.UNREVIEWED)


def _twins(sets: Sequence[Separation]) -> dict[str, list[str]]:
    """For each quasi-identifier those that distinguish the same records as it does."""
    ratios = {one.columns: one.distinction_ratio for one in sets if len(one.columns) < 3}
    pairs = [one for one in ratios if len(one) == 2 and {ratios[(name,)] for name in one} == {ratios[one]}]
    found: dict[str, list[str]] = {}
    for first, second in pairs:
        found.setdefault(first, []).append(second)
        found.setdefault(second, []).append(first)
    return found

"""The drafted request as YAML, each choice with its reason in a comment; what only people know is left empty.

No value of the data is written: figures, shares and forms only. ``templates/draft/request.yaml`` has the words.
"""

import json
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader

from tasks.draft.hierarchies import DraftedHierarchy
from tasks.draft.roles import Suggestion, percent
from tasks.draft.separation import MAXIMUM_RECORDS, Separation
from tasks.draft.structure import Place
from tasks.request.form import printable
from tasks.request.model import HierarchySource, Policy, Role, ValueType, records_for

_TEMPLATES = Path(__file__).resolve().parents[2] / "templates" / "draft"
_WIDTH = 110
_SETS_SHOWN = 3
_FORMS = {
    ValueType.TEXT: "text",
    ValueType.INTEGER: "whole numbers",
    ValueType.NUMBER: "decimal numbers",
    ValueType.DATE: "dates",
}
_UNQUOTED = re.compile(r"(?!(?:true|false|null|yes|no|on|off)\Z)[a-z_][a-z0-9_./-]*", re.IGNORECASE)


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
        "comment": _comment,
        "scalar": _scalar,
        "source": _source,
        "json": partial(json.dumps, ensure_ascii=False),
        "percent": percent,
        "printable": printable,
    }
    by_size = ([one for one in sets if len(one.columns) == size][:_SETS_SHOWN] for size in (2, 3))
    return environment.get_template("request.yaml").render(
        data=data,
        population=population,
        suggestions=suggestions,
        further=further,
        hierarchies=hierarchies,
        sets=[*chain.from_iterable(by_size)],
        in_part=suggestions[0].profile.records > MAXIMUM_RECORDS,
        separations=_alone(sets),
        numbers=[one.profile.name for one in suggestions if _can_be_masked(one)],
        forms=_FORMS,
        policy=Policy(id="default", version="1"),
        least=records_for,
    )


def _comment(text: str, hanging: str = "  ") -> str:
    lines = (textwrap.wrap(paragraph, _WIDTH, subsequent_indent=hanging) for paragraph in text.splitlines())
    return "".join(f"# {line}\n" for paragraph in lines for line in paragraph)


def _scalar(text: str) -> str:
    return text if _UNQUOTED.fullmatch(text) else json.dumps(text, ensure_ascii=False)


def _source(source: HierarchySource) -> str:
    (kind, given), *_ = source.model_dump(mode="json", exclude_defaults=True).items()
    written = _scalar(given) if isinstance(given, str) else re.sub(r'"(\w+)":', r"\1:", json.dumps(given))
    return f"{kind}: {written}"


def _can_be_masked(suggestion: Suggestion) -> bool:
    column = suggestion.profile
    varying = column.distinct > 1 and column.type in (ValueType.INTEGER, ValueType.NUMBER)
    return varying and suggestion.role in (Role.SENSITIVE, Role.INSENSITIVE, Role.UNREVIEWED)


def _alone(sets: Sequence[Separation]) -> dict[str, dict[str, Any]]:
    """Share of record pairs that each quasi-identifier separates alone, and attributes that separate the same pairs."""
    single = {one.columns[0]: one for one in sets if len(one.columns) == 1}
    twins = [
        one.columns
        for one in sets
        if len(one.columns) == 2 and {single[name].distinction_ratio for name in one.columns} == {one.distinction_ratio}
    ]
    return {
        name: {
            "ratio": one.separation_ratio,
            "twins": [other for pair in twins if name in pair for other in pair if other != name],
        }
        for name, one in single.items()
    }

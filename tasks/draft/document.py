"""The drafted request as YAML, each choice with its reason in a comment; what only people know is left empty.

No value of the data is written: figures, shares and forms only.
"""

import io
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq

from tasks.draft.hierarchies import DraftedHierarchy
from tasks.draft.profile import ColumnProfile
from tasks.draft.roles import Suggestion, percent
from tasks.draft.separation import MAXIMUM_RECORDS, Separation
from tasks.request.form import printable
from tasks.request.model import DEFAULT_GATES, Role, SafeHarborRule, ValueType

_WIDTH = 110
_SETS_SHOWN = 3
_FORMS = {
    ValueType.TEXT: "text",
    ValueType.INTEGER: "whole numbers",
    ValueType.NUMBER: "decimal numbers",
    ValueType.DATE: "dates",
}
_BEGINNING_OF_COMMENT = re.compile(r"^((?!attributes:) *[^ #\n].*\n)(?= *#)", re.MULTILINE)
_BLANK_LINE_BEFORE = r"\1\n"
_HEAD = (
    "Draft of a release request. Nothing is released by it as it stands: fill in every key without a value, read the "
    "reason beside each role and change what you know better, then run “releasegate check”.",
    "Reasons rest on counts, shares and names only, and no value of the data is in this file. A hierarchy-….csv "
    "beside it, where there is one, lists the values of its column: keep it as safe as the data.",
)
_RECIPIENT = {
    "id": "short name in small letters, such as university-a",
    "organisation": "who receives the copy",
    "purpose": "what they may use it for",
}
_STAKES = {
    "benefit": "publisher's benefit of sharing one record in full detail, such as 1200",
    "loss": "publisher's loss when a record is re-identified, such as 300; same currency, per record",
    "cost": "recipient's cost of one attempt on a record, such as 4",
}

_MASKING = (
    "Numbers leave as they are ({names}). Where others may hold them too, add “masking:” before this, a list of "
    "“attributes:” with a “method:”, such as rank-swapping with “p: 10” or mdav with “k: 5”."
)
_POLICY = (
    "The gates every release is held to; these are the defaults.",
    "The file is attacked by somebody who holds the quasi-identifiers and the masked attributes of everybody; where "
    "others hold different ones, add “linkage:” with “known:”, a list of all of them. If users of the file will "
    "predict an attribute, add “utility:” with “target:”, and classifiers are compared before and after.",
)


@dataclass(frozen=True)
class DataFile:
    """How the data file is named and read."""

    path: str
    delimiter: str
    encoding: str
    missing: tuple[str, ...]
    record_id: str | None


@dataclass(frozen=True)
class PopulationFile:
    """How the population table is named and which column holds its counts."""

    path: str
    count: str | None


def compose(
    data: DataFile,
    population: PopulationFile | None,
    suggestions: Sequence[Suggestion],
    hierarchies: Mapping[str, DraftedHierarchy],
    sets: Sequence[Separation],
) -> str:
    """Write the draft.

    Parameters
    ----------
    data, population : DataFile, PopulationFile or None
        The files it is about.
    suggestions : sequence of Suggestion
        One for each column, in the order of the file.
    hierarchies : mapping of str to DraftedHierarchy
        One for each suggested quasi-identifier.
    sets : sequence of Separation
        Measured sets of the quasi-identifiers, the best of each size first.
    """
    root = CommentedMap(schema_version="releasegate/request/1")
    _unfilled(root, "title", "what is released, in a few words")
    _unfilled(root, "requested_by", "who asks for the release")
    root["dataset"] = _dataset(data)
    root["attributes"] = CommentedMap()
    for suggestion in suggestions:
        name = suggestion.profile.name
        root["attributes"][name] = _attribute(suggestion, hierarchies.get(name))
        remarks = [*_remarks(suggestion, hierarchies.get(name)), *_separation_remarks(name, sets)]
        _above(root["attributes"], name, remarks, indent=2)
    _above(root, "attributes", _sets_told(sets, suggestions[0].profile.records))
    root["population"] = _population(population)
    numbers = [one.profile.name for one in suggestions if _can_be_masked(one)]
    if numbers:
        _above(root, "population", [_MASKING.format(names=", ".join(map(printable, numbers)))])
    root["recipients"] = CommentedSeq([_recipient()])
    _above(
        root,
        "recipients",
        [
            "One item for each recipient; repeat the whole item, from “- id”, for another. If the agreement names a "
            "penalty for attempts to identify somebody, add “penalty:” and “detection_rate:” to it (the probability "
            "that one is noticed): they deter a recipient who would try one person after another.",
        ],
    )
    root["policy"] = _policy()
    _above(root, "policy", _POLICY)
    return _dumped(root)


def _can_be_masked(suggestion: Suggestion) -> bool:
    numbers = suggestion.profile.type in (ValueType.INTEGER, ValueType.NUMBER)
    complete = not suggestion.profile.missing and suggestion.profile.distinct > 1
    return numbers and complete and suggestion.role in (Role.SENSITIVE, Role.INSENSITIVE)


def _dumped(root: CommentedMap) -> str:
    yaml = YAML(typ="rt")
    yaml.width = 4096
    yaml.indent(mapping=2, sequence=4, offset=2)
    stream = io.StringIO()
    yaml.dump(root, stream)
    head = "\n".join(f"# {line}" for paragraph in _HEAD for line in textwrap.wrap(paragraph, _WIDTH))
    return f"{head}\n\n{_BEGINNING_OF_COMMENT.sub(_BLANK_LINE_BEFORE, stream.getvalue())}"


def _above(part: CommentedMap, key: str, paragraphs: Sequence[str], indent: int = 0) -> None:
    lines = [line for text in paragraphs for line in textwrap.wrap(text, _WIDTH, subsequent_indent="  ")]
    part.yaml_set_comment_before_after_key(key, before="\n".join(lines), indent=indent)


def _unfilled(part: CommentedMap, key: str, meaning: str) -> None:
    part[key] = None
    part.yaml_add_eol_comment(f"fill in: {meaning}", key)


def _dataset(data: DataFile) -> CommentedMap:
    part = CommentedMap(path=data.path)
    _unfilled(part, "title", "name of the dataset")
    _unfilled(part, "source", "where the data come from and under which terms")
    if data.record_id is None:
        _unfilled(part, "record_id", "no column names each record once; add one, with the role “direct identifier”")
    else:
        part["record_id"] = data.record_id
        part.yaml_add_eol_comment("names each record once; never released", "record_id")
    if data.delimiter != ",":
        part["delimiter"] = data.delimiter
    if data.encoding.lower() not in ("utf-8", "utf8"):
        part["encoding"] = data.encoding
    if data.missing != ("",):
        part["missing"] = _flow(data.missing)
        part.yaml_add_eol_comment("cells that mean “no value”; remove what is a value of yours", "missing")
    return part


def _attribute(suggestion: Suggestion, hierarchy: DraftedHierarchy | None) -> CommentedMap:
    kind = suggestion.profile.type if hierarchy is None else hierarchy.type
    part = CommentedMap(role=suggestion.role.value, type=kind.value)
    if hierarchy is not None:
        part["hierarchy"] = _hierarchy(hierarchy)
        if hierarchy.safe_harbor is not SafeHarborRule.NONE:
            part["safe_harbor"] = hierarchy.safe_harbor.value
    if suggestion.role is Role.SENSITIVE:
        part["sensitivity"] = _flow_map({"attribute": 1.0})
        part.yaml_add_eol_comment("0 harmless … 1 most harmful to learn", "sensitivity")
    if suggestion.role is not Role.DIRECT:
        part["maximum_missing_rate"] = _rounded_up(suggestion.profile)
    return part


def _hierarchy(hierarchy: DraftedHierarchy) -> CommentedMap:
    given = hierarchy.source.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    return CommentedMap(
        {name: _flow_map(source) if isinstance(source, dict) else source for name, source in given.items()}
    )


def _rounded_up(profile: ColumnProfile) -> float:
    """Share of missing values, up to the next twentieth."""
    return -(-profile.missing * 20 // profile.records) / 20


def _remarks(suggestion: Suggestion, hierarchy: DraftedHierarchy | None) -> list[str]:
    profile = suggestion.profile
    missing = "none missing" if not profile.missing else f"{percent(profile.missing / profile.records)} missing"
    lines = [
        f"{profile.distinct:,} distinct values in {profile.records:,} records ({percent(profile.distinct_ratio)}), "
        f"{profile.alone:,} of them in one record only; {missing}; {_FORMS[profile.type]}."
    ]
    lines.append(f"{suggestion.role.value.capitalize()}: {'; '.join(suggestion.reasons)}.")
    if hierarchy is not None:
        lines.append(f"Hierarchy: {hierarchy.explanation}.")
        if profile.missing:
            lines.append("A quasi-identifier must not be missing: complete these records or leave them out.")
    return lines


def _separation_remarks(name: str, sets: Sequence[Separation]) -> list[str]:
    """Share of record pairs that a quasi-identifier separates alone, and attributes that separate the same pairs."""
    single = {one.columns[0]: one for one in sets if len(one.columns) == 1}
    if name not in single:
        return []
    classes = single[name].distinction_ratio
    twins = [
        printable(other)
        for pair in sets
        if len(pair.columns) == 2 and name in pair.columns and pair.distinction_ratio == classes
        for other in pair.columns
        if other != name and single[other].distinction_ratio == classes
    ]
    lines = [f"Alone it tells apart {percent(single[name].separation_ratio)} of the pairs of records."]
    if twins:
        lines.append(f"It splits the records just as {', '.join(twins)}: one of them is enough.")
    return lines


def _sets_told(sets: Sequence[Separation], records: int) -> list[str]:
    part = " (in an evenly spaced part of the records)" if records > MAXIMUM_RECORDS else ""
    lines = [
        f"How well the quasi-identifiers tell records apart together{part}: pairs that differ; distinct "
        "combinations over records; records alone in theirs."
    ]
    for size in range(2, max((len(one.columns) for one in sets), default=0) + 1):
        for one in [one for one in sets if len(one.columns) == size][:_SETS_SHOWN]:
            names = " + ".join(printable(name) for name in one.columns)
            figures = (one.separation_ratio, one.distinction_ratio, one.alone)
            lines.append(f"- {names}: {'; '.join(percent(figure) for figure in figures)}")
    return lines if len(lines) > 1 else []


def _population(population: PopulationFile | None) -> CommentedMap:
    part = CommentedMap()
    if population is None:
        _unfilled(part, "path", "table with a column for each quasi-identifier and one with the number of people")
    else:
        part["path"] = population.path
    _unfilled(part, "source", "where the counts come from and under which terms")
    if population is not None and population.count is None:
        _unfilled(part, "count", "column with the number of people")
    elif population is not None:
        part["count"] = population.count
    return part


def _recipient() -> CommentedMap:
    part = CommentedMap()
    for key, meaning in _RECIPIENT.items():
        _unfilled(part, key, meaning)
    part["agreement"] = CommentedMap()
    _unfilled(part["agreement"], "id", "number of the data use agreement")
    _unfilled(part["agreement"], "expires", "its last day, as YYYY-MM-DD")
    part["stakes"] = CommentedMap()
    for key, meaning in _STAKES.items():
        _unfilled(part["stakes"], key, meaning)
    return part


def _policy() -> CommentedMap:
    gates = [CommentedMap(gate.model_dump(mode="json", exclude_none=True)) for gate in DEFAULT_GATES]
    return CommentedMap(id="default", version="1", gates=CommentedSeq(gates))


def _flow(items: Sequence[Any]) -> CommentedSeq:
    sequence = CommentedSeq(items)
    sequence.fa.set_flow_style()
    return sequence


def _flow_map(items: Mapping[str, Any]) -> CommentedMap:
    mapping = CommentedMap({key: _flow(value) if isinstance(value, list) else value for key, value in items.items()})
    mapping.fa.set_flow_style()
    return mapping

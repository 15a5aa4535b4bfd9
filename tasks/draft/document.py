"""The drafted request as YAML, each choice with its reason in a comment; what only people know is left empty.

No value of the data is written: figures, shares and forms only.
"""

import json
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tasks.draft.hierarchies import DraftedHierarchy
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
_UNQUOTED = re.compile(r"(?!(?:true|false|null|yes|no|on|off)\Z)[a-z_][a-z0-9_./-]*", re.IGNORECASE)
_HEAD = (
    "Draft of a release request. Nothing is released by it as it stands: fill in every key without a value, read the "
    "reason beside each role and change what you know better, then run “releasegate check”.",
    "Reasons rest on counts, shares and names only, and no value of the data is in this file. A hierarchy-….csv "
    "beside it, where there is one, lists the values of its column: keep it as safe as the data.",
)
_RECIPIENT = """\
  - id: # fill in: short name in small letters, such as university-a
    organisation: # fill in: who receives the copy
    purpose: # fill in: what they may use it for
    agreement:
      id: # fill in: number of the data use agreement
      expires: # fill in: its last day, as YYYY-MM-DD
    stakes:
      benefit: # fill in: publisher's benefit of sharing one record in full detail, such as 1200
      loss: # fill in: publisher's loss when a record is re-identified, such as 300; same currency, per record
      cost: # fill in: recipient's cost of one attempt on a record, such as 4"""
_RECIPIENTS = (
    "One item for each recipient; repeat the whole item, from “- id”, for another. If the agreement names a penalty "
    "for attempts to identify somebody, add “penalty:” and “detection_rate:” to it (the probability that one is "
    "noticed): they deter a recipient who would try one person after another.",
)
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


def compose(
    data: DataFile,
    population: tuple[str, str | None] | None,
    suggestions: Sequence[Suggestion],
    hierarchies: Mapping[str, DraftedHierarchy],
    sets: Sequence[Separation],
) -> str:
    """Write the draft.

    Parameters
    ----------
    data : DataFile
    population : (str, str or None) or None
        Path of the population table, and its column of counts where that is clear.
    suggestions : sequence of Suggestion
        One for each column, in the order of the file.
    hierarchies : mapping of str to DraftedHierarchy
        One for each suggested quasi-identifier.
    sets : sequence of Separation
        Measured sets of the quasi-identifiers, the best of each size first.
    """
    numbers = ", ".join(printable(one.profile.name) for one in suggestions if _can_be_masked(one))
    lines = [
        *_comment(_HEAD, hanging=""),
        "",
        "schema_version: releasegate/request/1",
        _ask("title", "what is released, in a few words"),
        _ask("requested_by", "who asks for the release"),
        "dataset:",
        *(f"  {line}" for line in _dataset(data)),
        "",
        *_comment(_sets_shown(sets, suggestions[0].profile.records)),
        "attributes:",
    ]
    for one in suggestions:
        hierarchy = hierarchies.get(one.profile.name)
        remarks = _comment([*_remarks(one, hierarchy), *_separation_remarks(one.profile.name, sets)])
        lines += [f"  {line}" for line in (*remarks, *_attribute(one, hierarchy))] + [""]
    lines += _comment([_MASKING.format(names=numbers)] if numbers else [])
    lines += ["population:", *(f"  {line}" for line in _population(population)), ""]
    lines += [*_comment(_RECIPIENTS), "recipients:", _RECIPIENT, "", *_comment(_POLICY)]
    lines += ["policy:", "  id: default", '  version: "1"', "  gates:"]
    for gate in DEFAULT_GATES:
        lines += [f"    - measure: {gate.measure.value}", f"      at_most: {gate.at_most}"]
        lines += [f"      because: {_scalar(gate.because)}"]
    return "\n".join(lines) + "\n"


def _comment(paragraphs: Sequence[str], hanging: str = "  ") -> list[str]:
    return [f"# {line}" for text in paragraphs for line in textwrap.wrap(text, _WIDTH, subsequent_indent=hanging)]


def _ask(key: str, meaning: str) -> str:
    return f"{key}: # fill in: {meaning}"


def _scalar(text: str) -> str:
    return text if _UNQUOTED.fullmatch(text) else json.dumps(text, ensure_ascii=False)


def _can_be_masked(suggestion: Suggestion) -> bool:
    column = suggestion.profile
    complete = not column.missing and column.distinct > 1 and column.type in (ValueType.INTEGER, ValueType.NUMBER)
    return complete and suggestion.role in (Role.SENSITIVE, Role.INSENSITIVE)


def _dataset(data: DataFile) -> Iterator[str]:
    yield f"path: {_scalar(data.path)}"
    yield _ask("title", "name of the dataset")
    yield _ask("source", "where the data come from and under which terms")
    if data.record_id is None:
        yield _ask("record_id", "no column names each record once; add one, with the role “direct identifier”")
    else:
        yield f"record_id: {_scalar(data.record_id)} # names each record once; never released"
    if data.delimiter != ",":
        yield f"delimiter: {json.dumps(data.delimiter)}"
    if data.encoding.lower() not in ("utf-8", "utf8"):
        yield f"encoding: {_scalar(data.encoding)}"
    if data.missing != ("",):
        marks = ", ".join(map(json.dumps, data.missing))
        yield f"missing: [{marks}] # cells that mean “no value”; remove what is a value of yours"


def _attribute(suggestion: Suggestion, hierarchy: DraftedHierarchy | None) -> Iterator[str]:
    column = suggestion.profile
    yield f"{_scalar(column.name)}:"
    yield f"  role: {suggestion.role.value}"
    yield f"  type: {(hierarchy or column).type.value}"
    if hierarchy is not None:
        (kind, source), *_ = hierarchy.source.model_dump(mode="json", exclude_defaults=True).items()
        yield "  hierarchy:"
        written = _scalar(source) if isinstance(source, str) else re.sub(r'"(\w+)":', r"\1:", json.dumps(source))
        yield f"    {kind}: {written}"
        if hierarchy.safe_harbor is not SafeHarborRule.NONE:
            yield f"  safe_harbor: {hierarchy.safe_harbor.value}"
    if suggestion.role is Role.SENSITIVE:
        yield "  sensitivity: {attribute: 1.0} # 0 harmless … 1 most harmful to learn"
    if suggestion.role is not Role.DIRECT:
        # The share of missing values, up to the next twentieth.
        yield f"  maximum_missing_rate: {-(-column.missing * 20 // column.records) / 20}"


def _population(population: tuple[str, str | None] | None) -> Iterator[str]:
    source = _ask("source", "where the counts come from and under which terms")
    if population is None:
        yield _ask("path", "table with a column for each quasi-identifier and one with the number of people")
        yield source
    else:
        path, count = population
        yield f"path: {_scalar(path)}"
        yield source
        yield _ask("count", "column with the number of people") if count is None else f"count: {_scalar(count)}"


def _remarks(suggestion: Suggestion, hierarchy: DraftedHierarchy | None) -> Iterator[str]:
    profile = suggestion.profile
    missing = f"{percent(profile.missing / profile.records)} missing" if profile.missing else "none missing"
    yield (
        f"{profile.distinct:,} distinct values in {profile.records:,} records ({percent(profile.distinct_ratio)}), "
        f"{profile.alone:,} of them in one record only; {missing}; {_FORMS[profile.type]}."
    )
    yield f"{suggestion.role.value.capitalize()}: {'; '.join(suggestion.reasons)}."
    if hierarchy is not None:
        yield f"Hierarchy: {hierarchy.explanation}."
        if profile.missing:
            yield "A quasi-identifier must not be missing: complete these records or leave them out."


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


def _sets_shown(sets: Sequence[Separation], records: int) -> list[str]:
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

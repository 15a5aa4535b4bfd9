"""Terms of a column: its weight in groups; of one that leaves as collected or masked, who accepts that, and how."""

from collections.abc import Mapping
from typing import Any

from flows.studio.columns import ShownColumn
from flows.studio.masking import masking_changes, masking_of, masking_problems
from flows.studio.project import ReadRequest
from flows.studio.terms import FormTerm, ShownTerm, changes_of, shown_term, typed, written
from tasks.request.document import Location
from tasks.request.model import NUMERIC, MaskingName, Role

_EXCUSE = (
    FormTerm(("excused", "by"), "Accepted by", "Who accepts its release although it reveals people."),
    FormTerm(("excused", "because"), "Reason", "For the reviewers to judge."),
)
_WEIGHT = FormTerm(
    ("weight",),
    "Weight",
    "10 for a column that the study needs most: it keeps its detail at the cost of others, which have 1.",
    "number",
)
_EXCUSABLE = frozenset({Role.SENSITIVE.value, Role.INSENSITIVE.value, Role.PSEUDONYM.value})
_MASKABLE = frozenset({Role.SENSITIVE.value, Role.INSENSITIVE.value})
_METHOD = FormTerm(
    ("masking", "method"),
    "Masking",
    "How its numbers are changed before they leave.",
    choices=(("", "not masked"), *((method.value, method.value) for method in MaskingName)),
)
_STRENGTH = FormTerm(
    ("masking", "strength"),
    "Strength of the masking",
    "Swapping: percent of the records that a value moves past at most, or the number of buckets. Ranking and mdav: "
    "records that share a value. Noise: its variance as a share of the column's.",
    "number",
)


def column_terms(read: ReadRequest, column: ShownColumn) -> tuple[ShownTerm, ...]:
    """The terms that a column of its role and type may have, with their values and mistakes; none for most roles."""
    terms = _EXCUSE if column.role in _EXCUSABLE else (_WEIGHT,) if column.role == Role.QUASI.value else ()
    shown = [shown_term(read, term, column.place) for term in terms]
    masking = masking_of(read, column.name)
    if masking is None and not _is_maskable(read, column):
        return tuple(shown)
    at_method = (f"masking[{masking.number}].method",) if masking else ()
    problems = masking_problems(read, column.name)
    shown.append(
        ShownTerm(_METHOD, masking.method if masking else "", tuple(one for one in problems if one.path in at_method))
    )
    strength = written(_STRENGTH, masking.strength) if masking else ""
    shown.append(ShownTerm(_STRENGTH, strength, tuple(one for one in problems if one.path not in at_method)))
    return tuple(shown)


def column_changes(read: ReadRequest, column: ShownColumn, fields: Mapping[str, str]) -> dict[Location, Any]:
    """Changes of a document that a form's fields make of a column's terms."""
    offered = {one.term.field for one in column_terms(read, column)}
    sent = {field: text.strip() for field, text in fields.items() if field in offered}
    changes = changes_of(read, _EXCUSE, sent, column.place)
    excuse: Location = (*column.place, "excused")
    if changes and not any(sent.get(term.field) for term in _EXCUSE):
        changes = {excuse: None}
    changes |= changes_of(read, (_WEIGHT,), sent, column.place)
    if _METHOD.field in sent:
        strength = sent.get(_STRENGTH.field) or None
        stated = None if strength is None else typed(_STRENGTH, strength)
        changes |= masking_changes(read, column.name, sent[_METHOD.field], stated)
    return changes


def _is_maskable(read: ReadRequest, column: ShownColumn) -> bool:
    """Whether the column has numbers of people that leave as collected."""
    terms = [read.value((*column.place, term)) for term in ("type", "of")]
    return (
        column.role in _MASKABLE
        and column.place[0] == "attributes"
        and terms[0] in {one.value for one in NUMERIC}
        and terms[1] != "row"
    )

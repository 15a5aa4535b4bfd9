"""Errors of pydantic as mistakes in plain words: the problem, what was expected, what was got, and what to do.

Rules that validators state come with their words (``tasks.request.part.broken_rule``); the words for pydantic's own
types of error are here.
"""

import difflib
from datetime import date
from enum import StrEnum
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from tasks.request.document import Document, Location, Mistake
from tasks.request.form import Form, described, printable, value_at
from tasks.request.part import BROKEN_RULE, IDENTIFIER, RELEASE_ID, all_of, one_of

_KINDS: dict[Any, str] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    tuple: "a list",
    dict: "a mapping of names to values",
    date: "a date as YYYY-MM-DD",
}
_BOUNDS = {
    "greater_than": ("gt", "greater than"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "less than"),
    "less_than_equal": ("le", "at most"),
}
_PATTERNS = {
    IDENTIFIER: "1 to 64 small letters, digits, dots, hyphens or underscores, a letter or digit first",
    RELEASE_ID: "a release id: 64 digits or letters from a to f",
}
_KEY = "[key]"
"""Step that pydantic adds to the place of a key that cannot be used."""
_EMPTY = ("empty", "", "fill in the value")
_NOT_A_DATE = ("not a date", "a date of the calendar as YYYY-MM-DD, such as 2030-12-31", "correct the date")
_DIGITS = "write the number in digits, without quotes, units or thousands separators"
_WORDS = {
    **dict.fromkeys(_BOUNDS, ("out of range", "", "correct the number")),
    "enum": ("not one of the choices", "", ""),
    "literal_error": ("not one of the choices", "", ""),
    "finite_number": ("not a finite number", "a finite number", "write the number in digits"),
    "string_type": ("not text", "text", "put the value in quotes, so that YAML reads it as text"),
    "string_too_short": _EMPTY,
    "too_short": _EMPTY,
    "string_too_long": ("too long", "", "shorten it"),
    "too_long": ("too long", "", "shorten it"),
    "string_pattern_mismatch": ("not of the right form", "", "correct it"),
    "date_type": _NOT_A_DATE,
    "date_parsing": _NOT_A_DATE,
    "date_from_datetime_parsing": _NOT_A_DATE,
    "date_from_datetime_inexact": _NOT_A_DATE,
    "int_type": ("not a whole number", "", _DIGITS),
    "int_parsing_size": ("not a whole number", "", _DIGITS),
    "float_type": ("not a number", "", _DIGITS),
    "bool_type": ("not a yes or no", "", "write true or false, without quotes"),
    "tuple_type": ("not a list", "", "begin every item with “- ”, or put them in brackets"),
    "dict_type": ("not a mapping", "", "write “name: value” lines below it, indented"),
    "model_type": ("not a mapping", "", "write its keys below it, indented"),
}
"""The problem, what was expected (where it does not follow from the place) and what to do, by type of error."""


def follows_from_others(error: ErrorDetails, data: object) -> bool:
    """Whether an error of a list or mapping that is too short only follows from errors of its items."""
    if error["type"] != "too_short":
        return False
    value = value_at(data, error["loc"])
    return isinstance(value, list) and len(value) >= error["ctx"]["min_length"]


def placed(error: ErrorDetails, document: Document) -> Location:
    """The place of an error in the document: without the names that pydantic gives to the choices of a union."""
    location: Location = error["loc"]
    if location not in document.positions:
        location, data = (), document.data
        for step in error["loc"]:
            if isinstance(step, int) or step == _KEY or isinstance(data, dict):
                location = (*location, step)
                data = value_at(data, (step,))
    return (*location, *error["ctx"]["at"]) if error["type"] == BROKEN_RULE else location


def explained(error: ErrorDetails, form: Form[Any], document: Document) -> Mistake:
    """One error that pydantic found, in plain words.

    Parameters
    ----------
    error : ErrorDetails
        As ``ValidationError.errors()`` lists it.
    form : Form
        The kind of document.
    document : Document
    """
    location = placed(error, document)
    kind, context, value = error["type"], error.get("ctx", {}), value_at(document.data, location)
    if kind == BROKEN_RULE:
        what = "a broken rule"
        return Mistake(location, what, context["expected"], context["got"], context["fix"])
    if location[-1:] == (_KEY,):
        fix = "rename it"
        return Mistake(location[:-1], "an unusable name", "1 to 2000 characters of text", "an unusable name", fix)
    if kind == "extra_forbidden":
        return _unknown_key(location, form)
    expected = _described_type(location, form)
    if kind == "missing":
        return Mistake(location, "a missing key", expected, "nothing", f"add “{location[-1]}: …”")
    if value is None:
        return Mistake(location, "no value", expected, "nothing", "fill in the value")
    what, words, fix = _WORDS.get(kind, ("the wrong kind of value", "", "write the kind that is expected"))
    if kind in _BOUNDS:
        name, relation = _BOUNDS[kind]
        words = f"a number {relation} {_plain(context[name])}"
    elif kind in ("enum", "literal_error"):
        fix = _suggestion(value, _choices(form.annotation_at(location)))
    elif kind == "string_pattern_mismatch":
        words = _PATTERNS.get(context["pattern"], "")
    elif kind == "string_type" and not isinstance(value, int | float):
        fix = "write one text in place of it"
    elif kind == "string_too_long":
        words = f"at most {context['max_length']} characters"
    elif kind == "int_type" and isinstance(value, float):
        fix = "write it without a decimal point"
    return Mistake(location, what, words or expected, described(value, form.shows_value(location)), fix)


def _unknown_key(location: Location, form: Form[Any]) -> Mistake:
    model = form.model_at(location[:-1])
    names = [] if model is None else list(model.model_fields)
    key = str(location[-1])
    got = f"“{printable(key)}”" if form.shows_key(location) else "a key that is not among them"
    if location in form.retired:
        return Mistake(
            location, "a key that is no longer used", one_of(names), got, form.retired[location], at_key=True
        )
    closest = difflib.get_close_matches(key, names, n=1)
    fix = f"did you mean “{closest[0]}”?" if closest else "remove the key, or move it to where it belongs"
    return Mistake(location, "an unknown key", one_of(names), got, fix, at_key=True)


def _suggestion(value: object, choices: list[str]) -> str:
    closest = difflib.get_close_matches(str(value), choices, n=1, cutoff=0.4)
    return f"did you mean “{closest[0]}”?" if closest else "take one of the choices"


def _described_type(location: Location, form: Form[Any]) -> str:
    """The kind of value that belongs at a place, with the model's description of it."""
    parent = form.model_at(location[:-1]) if location else None
    field = None if parent is None else parent.model_fields.get(str(location[-1]))
    description = "" if field is None or not field.description else f" — {field.description.rstrip('.')}"
    return _kind_of(form.annotation_at(location)) + description


def _kind_of(annotation: Any) -> str:
    choices = _choices(annotation)
    if choices:
        return one_of(choices)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        names = [name for name, field in annotation.model_fields.items() if field.is_required()]
        return "a mapping" + (f" with {all_of(names)}" if names else f" of {one_of(list(annotation.model_fields))}")
    return _KINDS.get(get_origin(annotation) or annotation, "a value")


def _choices(annotation: Any) -> list[str]:
    if isinstance(annotation, type) and issubclass(annotation, StrEnum):
        return [choice.value for choice in annotation]
    return [str(choice) for choice in get_args(annotation)] if get_origin(annotation) is Literal else []


def _plain(number: float) -> str:
    return f"{number:,.0f}" if number == int(number) else f"{number}"

"""Reading a document that people write: its bytes, its text, its values; every mistake in one error.

Rules that validators state come with their words (``tasks.request.part.broken_rule``); the words for pydantic's own
types of error are here: the problem, what was expected, what was got, and what to do.
"""

import difflib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from enum import StrEnum
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from tasks.core.collector import collector_paused
from tasks.core.errors import RequestError, RequestProblem
from tasks.core.opening import open_regular
from tasks.core.people import PERSON_ID
from tasks.core.plain_name import plain_name
from tasks.core.plural import listed
from tasks.request.document import (
    MAXIMUM_BYTES,
    NOTHING,
    Location,
    Mistake,
    NotYaml,
    Position,
    YamlDocument,
    read_document,
)
from tasks.request.form import Form, Model, described, printable, value_at
from tasks.request.part import BROKEN_RULE, IDENTIFIER, RELEASE_ID

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
    PERSON_ID: "1 to 64 small letters, digits or marks of “._@+-”, a letter or digit first",
}
_WORDS_OF = re.compile(r"[^\W_]+")
_AS_CLOSE = 0.05
"""Difference of similarity below which two choices are as close to what was written."""
_KEY = "[key]"
"""Step that pydantic adds to the place of a key that cannot be used."""
_PERCENT = re.compile(r"([0-9]{1,3}(?:\.[0-9]+)?) ?%")
_ALL = 100
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


def placed(error: ErrorDetails, document: YamlDocument) -> Location:
    """The place of an error in the document: without the names that pydantic gives to the choices of a union."""
    location: Location = error["loc"]
    if location not in document.positions:
        location, data = (), document.data
        for step in error["loc"]:
            if isinstance(step, int) or step == _KEY or isinstance(data, dict):
                location = (*location, step)
                data = value_at(data, (step,))
    return (*location, *error["ctx"]["at"]) if error["type"] == BROKEN_RULE else location


def explained(error: ErrorDetails, form: Form[Any], document: YamlDocument) -> Mistake:
    """One error that pydantic found, as ``ValidationError.errors()`` lists it, in plain words."""
    location = placed(error, document)
    kind, context, value = error["type"], error.get("ctx", {}), value_at(document.data, location)
    position = document.position_of(location)
    if kind == BROKEN_RULE:
        return Mistake(location, "a broken rule", context["expected"], context["got"], context["fix"], position)
    if location[-1:] == (_KEY,):
        name = "an unusable name"
        return Mistake(location[:-1], name, "1 to 2000 characters of text", name, "rename it", position)
    if kind == "extra_forbidden":
        return _unknown_key(location, form, document)
    expected = _described_type(location, form)
    if kind == "missing":
        return Mistake(location, "a missing key", expected, "nothing", f"add “{location[-1]}: …”", position)
    if value is None:
        return Mistake(location, "no value", expected, "nothing", "fill in the value", position)
    what, words, fix = _WORDS.get(kind, ("the wrong kind of value", "", "write the kind that is expected"))
    if kind in _BOUNDS:
        name, relation = _BOUNDS[kind]
        words = f"a number {relation} {_plain(context[name])}"
    elif kind in ("enum", "literal_error"):
        fix = _suggestion(value, _choices(form.annotation_at(location)))
    elif kind == "string_pattern_mismatch":
        words = _PATTERNS.get(context["pattern"], "")
        meant = plain_name(str(value), ".") if context["pattern"] == PERSON_ID and form.shows_value(location) else ""
        fix = f"did you mean “{meant}”?" if meant else fix
    elif kind == "string_type" and not isinstance(value, int | float):
        fix = "write one text in place of it"
    elif kind == "string_too_long":
        words = f"at most {context['max_length']} characters"
    if percent := _percent(kind, context, value):
        fix = f"a share of {percent:g} % is written {percent / 100:g}"
    elif kind == "int_type" and isinstance(value, float):
        fix = "write it without a decimal point"
    return Mistake(location, what, words or expected, described(value, form.shows_value(location)), fix, position)


def _percent(kind: str, context: Mapping[str, Any], value: object) -> float | None:
    """A number of percent in place of a share: past 1 where no share can be, or with its sign."""
    if kind == "float_type" and isinstance(value, str) and (written := _PERCENT.fullmatch(value)):
        return float(written[1])
    is_share = 1 in (context.get("le"), context.get("lt"))
    return float(value) if is_share and isinstance(value, int | float) and 1 < value <= _ALL else None


def _unknown_key(location: Location, form: Form[Any], document: YamlDocument) -> Mistake:
    position = document.keys.get(location, document.position_of(location))
    model = form.model_at(location[:-1])
    names = [] if model is None else list(model.model_fields)
    key = str(location[-1])
    got = f"“{printable(key)}”" if form.shows_key(location) else "a key that is not among them"
    fix = _meant(key, names, 0.6) or "remove the key, or move it to where it belongs"
    home = form.home_of(key, location[:-1])
    if home is not None:
        place = f"under {form.written_path(home, document.data)}" if home else "at the top of the document"
        fix = f"it belongs {place}"
    return Mistake(location, "an unknown key", listed(names, "or"), got, fix, position)


def _suggestion(value: object, choices: list[str]) -> str:
    return _meant(str(value), choices, 0.4) or "take one of the choices"


def _meant(given: str, choices: Sequence[str], cutoff: float) -> str:
    """A question for the choice that is abbreviated (“max” for “maximum”), or closest; two where both are as close."""
    parts = _WORDS_OF.findall(given)
    short = [one for one in choices if parts and _abbreviates(parts, _WORDS_OF.findall(one))]
    closest = short if len(short) == 1 else difflib.get_close_matches(given, choices, n=2, cutoff=cutoff)
    ratios = [difflib.SequenceMatcher(None, one, given).ratio() for one in closest]
    near = {one for one, ratio in zip(closest, ratios, strict=True) if max(ratios) - ratio < _AS_CLOSE}
    meant = " or ".join(f"“{one}”" for one in choices if one in near)
    return f"did you mean {meant}?" if meant else ""


def _abbreviates(parts: Sequence[str], words: Sequence[str]) -> bool:
    return len(parts) <= len(words) and all(map(str.startswith, words, parts))


def _described_type(location: Location, form: Form[Any]) -> str:
    """The kind of value that belongs at a place, with the model's description of it."""
    parent = form.model_at(location[:-1]) if location else None
    field = None if parent is None else parent.model_fields.get(str(location[-1]))
    description = "" if field is None or not field.description else f" — {field.description.rstrip('.')}"
    return _kind_of(form.annotation_at(location)) + description


def _kind_of(annotation: Any) -> str:
    choices = _choices(annotation)
    if choices:
        return listed(choices, "or")
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        names = [name for name, field in annotation.model_fields.items() if field.is_required()]
        return (
            f"a mapping with {listed(names)}" if names else f"a mapping of {listed([*annotation.model_fields], 'or')}"
        )
    return _KINDS.get(get_origin(annotation) or annotation, "a value")


def _choices(annotation: Any) -> list[str]:
    if isinstance(annotation, type) and issubclass(annotation, StrEnum):
        return [choice.value for choice in annotation]
    return [str(choice) for choice in get_args(annotation)] if get_origin(annotation) is Literal else []


def _plain(number: float) -> str:
    return f"{number:,.0f}" if number == int(number) else f"{number}"


Complete = Callable[[dict[str, Any]], Iterable[Mistake]]
_MOST_SHOWN = 100
"""Mistakes that are explained, the first of the document."""
Found = Mistake | ErrorDetails
"""A mistake as YAML, or one that pydantic found."""


def read_bytes(path: Path, form: Form[Any]) -> bytes:
    """The bytes of a document; RequestError if it cannot be read, or is larger than 1 MB."""
    try:
        if path.exists() and not path.is_file():
            raise RequestError(
                "not a file", where=str(path), expected="a YAML document", got="a folder or a device", fix="name a file"
            )
        with open_regular(path) as stream:
            content = stream.read(MAXIMUM_BYTES + 1)
    except (OSError, ValueError) as error:
        missing = isinstance(error, FileNotFoundError)
        raise RequestError(
            f"{form.name} cannot be read",
            where=str(path),
            expected="a readable YAML document",
            got="no such file" if missing else getattr(error, "strerror", None) or type(error).__name__,
            fix="correct the path" if missing else "check the path and its permissions",
        ) from None
    if len(content) > MAXIMUM_BYTES:
        raise RequestError(
            f"{form.name} is too large",
            where=str(path),
            expected=f"at most {MAXIMUM_BYTES:,} bytes",
            got="more bytes",
            fix=form.shorten,
        )
    return content


def _decoded(content: bytes, path: Path, form: Form[Any]) -> str:
    try:
        return content.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        before = content[: error.start].decode()
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise RequestError(
            f"{form.name} is not text in UTF-8",
            where=f"{path}:{line}:{column}",
            expected="UTF-8",
            got="UTF-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "bytes of a different encoding",
            fix="save the document as UTF-8",
        ) from None


@collector_paused()
def checked(
    content: bytes, path: Path, form: Form[Model], complete: Complete = lambda _: ()
) -> tuple[Model, YamlDocument]:
    """The document as an instance of its form's model, and with the positions of its values.

    ``complete`` puts values in place of those that name or mean them, before they are checked, and finds mistakes,
    whose lines and columns are added.
    Raises RequestError if it is not UTF-8, YAML or valid, as ``tasks.request.load.load_request`` describes.
    """
    text = _decoded(content, path, form)
    form.check_text(text, path)
    try:
        document = read_document(text)
    except NotYaml as unreadable:
        raise _error(path, form, NOTHING, [((1, 1), unreadable.mistake)]) from None
    foreign = _foreign(document.data, form)
    if foreign is not None:
        raise _error(path, form, document, [((1, 1), foreign)])
    more = [replace(one, position=document.position_of(one.location)) for one in complete(document.data)]
    found: list[tuple[Position, Found]] = [(mistake.position, mistake) for mistake in (*document.mistakes, *more)]
    places = {mistake.location for mistake in document.mistakes}
    try:
        model = form.model.model_validate_json(json.dumps(document.data), strict=True)
    except ValidationError as error:
        for details in error.errors(include_url=False, include_input=False):
            location = placed(details, document)  # of several errors at one place, the first
            if location not in places and not follows_from_others(details, document.data):
                places.add(location)
                found.append((document.position_of(location), details))
    if found:
        raise _error(path, form, document, found)
    return model, document


def _foreign(data: Any, form: Form[Any]) -> Mistake | None:
    """The mistake of a document that is nothing like the form, so that no key or value of it should be repeated."""
    if data is None:
        return Mistake((), f"{form.name} is empty", form.kind, "nothing", form.start)
    if not isinstance(data, dict) or not data.keys() & form.model.model_fields.keys():
        got = "a mapping without any of its keys" if isinstance(data, dict) else "text, a number or a list"
        names = ", ".join(name for name, part in form.model.model_fields.items() if part.is_required())
        return Mistake((), f"not {form.kind}", f"a mapping with {names}", got, form.start)
    return None


def _error(path: Path, form: Form[Any], document: YamlDocument, found: list[tuple[Position, Found]]) -> RequestError:
    """The error of all mistakes, given with their positions, of which the first of the document are explained."""
    found.sort(key=itemgetter(0))
    shown = [one for _, one in found[:_MOST_SHOWN]]
    mistakes = [one if isinstance(one, Mistake) else explained(one, form, document) for one in shown]
    problems = [
        RequestProblem(
            one.what, form.written_path(one.location, document.data), *one.position, one.expected, one.got, one.fix
        )
        for one in sorted(mistakes, key=attrgetter("position"))
    ]
    if len(problems) == 1:
        (only,) = problems
        where = f"{path}:{only.line}:{only.column}" + (f", {only.path}" if only.path else "")
        return RequestError(
            only.what, where=where, expected=only.expected, got=only.got, fix=only.fix, problems=(only,)
        )
    return RequestError(
        f"{form.name} has {len(found)} mistakes",
        where=str(path),
        got="; ".join(f"{problem.place}: {problem.what}" for problem in problems),
        fix="correct each of them",
        problems=tuple(problems),
        more=len(found) - len(problems),
    )

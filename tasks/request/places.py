"""Places in a request: which model describes one, how its path is written, and whether its value may be shown.

A request holds terms, but its attributes name parts of the data's domain: groups, weighted values, allowed values,
bounds. Keys and values of that kind are never shown; a path then counts the key instead of naming it. Nor is what
stands in place of a public key, since it may be another kind of key.
"""

import re
from collections.abc import Mapping
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel

from tasks.request.document import Location
from tasks.request.model import ReleaseRequest

_SHOWN_IN_ATTRIBUTE = frozenset(
    {"role", "type", "weight", "safe_harbor", "known_probability", "maximum_missing_rate", "scan"}
)
_PLAIN_KEY = re.compile(r"[A-Za-z_][\w-]*")
_LONGEST_SHOWN = 80


def annotation_at(location: Location) -> Any:
    """The type that the request's model gives to a place; None where it knows no such place."""
    annotation: Any = ReleaseRequest
    for step in location:
        annotation = _step(_bare(annotation), step)
    return _bare(annotation)


def model_at(location: Location) -> type[BaseModel] | None:
    """The model that describes a place; None where it is a single value, a list or unknown."""
    annotation = annotation_at(location)
    return annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None


def _bare(annotation: Any) -> Any:
    """A type without its constraints and without “or nothing”."""
    while True:
        origin = get_origin(annotation)
        if origin is Annotated:
            annotation = get_args(annotation)[0]
        elif origin in (Union, UnionType):
            annotation = next(choice for choice in get_args(annotation) if choice is not type(None))
        else:
            return annotation


def _step(annotation: Any, step: str | int) -> Any:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        known = annotation.model_fields.get(str(step))
        return None if known is None else known.annotation
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is tuple and isinstance(step, int):
        return arguments[0]
    if origin is dict and isinstance(step, str):
        return arguments[1]
    return None


def shows_key(location: Location) -> bool:
    """Whether the last step of a place is a word of the request and not part of the data's domain."""
    step = location[-1]
    if isinstance(step, int):
        return True
    parent = model_at(location[:-1])
    if parent is not None:
        return step in parent.model_fields or len(location) == 1 or location[0] != "attributes"
    return location[:-1] == ("attributes",)


def shows_value(location: Location) -> bool:
    """Whether a value at a place may be repeated in a message."""
    if not all(shows_key(location[: depth + 1]) for depth in range(len(location))):
        return False
    if annotation_at(location) is None or "encrypt_to" in location:
        return False
    return location[:1] != ("attributes",) or (len(location) == 3 and location[2] in _SHOWN_IN_ATTRIBUTE)


def written_path(location: Location, data: object) -> str:
    """The path of a place as it is written in messages, such as ``recipients[1].stakes.cost``.

    Parameters
    ----------
    location : tuple of str and int
        Keys and positions from the top of the document.
    data : object
        The document, to count keys that are not shown.
    """
    path = ""
    for depth, step in enumerate(location):
        if isinstance(step, int):
            path += f"[{step}]"
        elif not shows_key(location[: depth + 1]):
            path += f".<key {_ordinal(data, step)}>"
        elif _PLAIN_KEY.fullmatch(step):
            path += f".{step}"
        else:
            path += f'["{printable(step)}"]'
        data = _value(data, step)
    return path.removeprefix(".")


def value_at(data: object, location: Location) -> object:
    """The value at a place; None where the document has none."""
    for step in location:
        data = _value(data, step)
    return data


def _value(data: object, step: str | int) -> object:
    if isinstance(data, Mapping):
        return data.get(step)
    if isinstance(data, list) and isinstance(step, int) and step < len(data):
        return data[step]
    return None


def _ordinal(data: object, key: str) -> str:
    return str(list(data).index(key) + 1) if isinstance(data, Mapping) and key in data else "?"


def printable(text: str) -> str:
    """Text cut to a length that fits a message, control characters written out."""
    cut = text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "…"
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode() for character in cut
    )


def described(value: object, shown: bool) -> str:
    """What a value is, in words, and the value itself where it may be shown."""
    if isinstance(value, Mapping | list):
        kind, noun = ("a mapping", "key") if isinstance(value, Mapping) else ("a list", "item")
        return f"{kind} of {len(value)} {noun}{'' if len(value) == 1 else 's'}"
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower() if shown else "true or false"
    if isinstance(value, int | float):
        return f"the number {value}" if shown else "a number"
    text = str(value)
    if not text.strip():
        return "empty text"
    return f"“{printable(text)}”" if shown else "text"

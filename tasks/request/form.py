"""Forms of the documents that people write: the model of each, and which of its keys and values a message may repeat.

The values of a document may be secrets or parts of the data's domain. Nothing of them is repeated unless its form
allows it; the path of a place then counts the key instead of naming it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Generic, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel

from tasks.request.document import Location

Model = TypeVar("Model", bound=BaseModel)

_PLAIN_KEY = re.compile(r"[A-Za-z_][\w-]*")
_LONGEST_SHOWN = 80


@dataclass(frozen=True)
class Form(Generic[Model]):
    """A kind of document: names the keys of its model in messages, and repeats nothing else."""

    model: type[Model]
    name: str
    """The document in a message, such as “the request”."""
    kind: str
    """Its kind, such as “a release request”."""
    start: str
    """Advice to an author who has no such document yet."""
    shorten: str
    """Advice to the author of a document that is too large."""

    def annotation_at(self, location: Location) -> Any:
        """The type that the model gives to a place; None where it knows no such place."""
        annotation: Any = self.model
        for step in location:
            origin, arguments = get_origin(annotation), get_args(annotation)
            if isinstance(annotation, type) and issubclass(annotation, BaseModel):
                known = annotation.model_fields.get(str(step))
                annotation = None if known is None else known.annotation
            elif origin in (tuple, dict) and isinstance(step, int) is (origin is tuple):
                annotation = arguments[0 if origin is tuple else 1]
            else:
                return None
            annotation = _bare(annotation)
        return annotation

    def model_at(self, location: Location) -> type[BaseModel] | None:
        """The model that describes a place; None where it is a single value, a list or unknown."""
        annotation = self.annotation_at(location)
        return annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None

    def home_of(self, key: str, location: Location) -> Location | None:
        """The only part below a place, or else of the whole document, that has a key of this name; None if none has.

        Parts in lists and mappings are passed over.
        """
        for start in (location, ()):
            found = [(*start, *steps) for steps in _parts_with(key, self.annotation_at(start))]
            if len(found) == 1:
                return found[0]
        return None

    def shows_key(self, location: Location) -> bool:
        """Whether the last step of a place may be named."""
        parent = self.model_at(location[:-1])
        return isinstance(location[-1], int) or (parent is not None and location[-1] in parent.model_fields)

    def shows_value(self, location: Location) -> bool:  # noqa: ARG002
        """Whether the value at a place may be repeated."""
        return False

    def check_text(self, text: str, path: Path) -> None:
        """Refuse a text of which nothing may be repeated in a message."""

    def written_path(self, location: Location, data: object) -> str:
        """The path of a place as it is written in messages, such as ``recipients[1].stakes.cost``.

        Keys that are not shown are counted among the values of the document, ``data``.
        """
        path = ""
        for depth, step in enumerate(location, start=1):
            if isinstance(step, int):
                path += f"[{step}]"
            elif not self.shows_key(location[:depth]):
                place = list(data).index(step) + 1 if isinstance(data, dict) and step in data else "?"
                path += f".<key {place}>"
            elif _PLAIN_KEY.fullmatch(step):
                path += f".{step}"
            else:
                path += f'["{printable(step)}"]'
            data = value_at(data, (step,))
        return path.removeprefix(".")


def _parts_with(key: str, annotation: Any) -> Iterator[Location]:
    """Places, below a model, of the models that have a key."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        for name, field in annotation.model_fields.items():
            if name == key:
                yield ()
            yield from ((name, *steps) for steps in _parts_with(key, _bare(field.annotation)))


def _bare(annotation: Any) -> Any:
    """A type without its constraints and without “or nothing”."""
    while get_origin(annotation) in (Annotated, Union, UnionType):
        annotation = next(choice for choice in get_args(annotation) if choice is not type(None))
    return annotation


def value_at(data: object, location: Location) -> object:
    """The value at a place; None where the document has none."""
    for step in location:
        try:
            data = data[step] if isinstance(data, dict | list) else None  # type: ignore[index]
        except (KeyError, IndexError, TypeError):
            return None
    return data


def printable(text: str) -> str:
    """Text cut to a length that fits a message, control characters written out."""
    cut = text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "…"
    return "".join(mark if mark.isprintable() else mark.encode("unicode_escape").decode() for mark in cut)


def described(value: object, shown: bool) -> str:
    """A value in words, repeated where it may be shown."""
    if isinstance(value, dict | list):
        kind, noun = ("a mapping", "key") if isinstance(value, dict) else ("a list", "item")
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

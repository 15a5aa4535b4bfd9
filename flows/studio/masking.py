"""Maskings of a request as a page changes them: the one that a column has, its mistakes, and another in its place."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from flows.studio.project import ReadRequest
from tasks.core.errors import RequestProblem
from tasks.request.document import Location
from tasks.request.form import value_at
from tasks.request.model import PARAMETER_OF, MaskingName

_PLACE = "masking"
_PARAMETER = {method.value: parameter for method, parameter in PARAMETER_OF.items()}


@dataclass(frozen=True)
class ColumnMasking:
    """The masking that a column has."""

    number: int
    """Its position among the maskings of the request."""
    method: str
    """As stated; empty where it is no text."""
    strength: Any
    """Value of the method's own parameter; None where it is not given."""
    others: tuple[str, ...]
    """Columns that are masked together with it."""

    @property
    def in_words(self) -> str:
        """Method and strength.

        >>> ColumnMasking(0, "mdav", 25, ()).in_words
        'mdav, k = 25'
        """
        parameter = _PARAMETER.get(self.method, "")
        return f"{self.method}, {parameter} = {self.strength}" if parameter and self.strength else self.method


def masking_of(read: ReadRequest, name: str) -> ColumnMasking | None:
    """The masking of a column, the first where a document has several; None where it has none."""
    for number, place in _places(read, name):
        method = read.value((_PLACE, number, "method"))
        method = method if isinstance(method, str) else ""
        strength = read.value((_PLACE, number, _PARAMETER.get(method, "")))
        named = _named(read, number)
        return ColumnMasking(number, method, strength, tuple(map(str, named[:place] + named[place + 1 :])))
    return None


def masking_problems(read: ReadRequest, name: str) -> tuple[RequestProblem, ...]:
    """Mistakes of the maskings of a column, but for those of other columns in them."""
    found: list[RequestProblem] = []
    for number, place in _places(read, name):
        columns = f"{_PLACE}[{number}].attributes["
        found += [
            one
            for one in read.problems_at(f"{_PLACE}[{number}]")
            if not one.path.startswith(columns) or one.path == f"{columns}{place}]"
        ]
    return tuple(found)


def masking_changes(read: ReadRequest, name: str, method: str, strength: object) -> dict[Location, Any]:
    """Changes of a document that mask a column by a method with the strength of its parameter, None for none.

    Columns that are masked together with it are then masked so too. Without a method the column is no longer masked.
    """
    if not method:
        return unmasked(read, (name,))
    found, own = masking_of(read, name), {_PARAMETER[method]: strength} if method in _PARAMETER else {}
    if found is None:
        terms = {"attributes": [name], "method": method} | {key: one for key, one in own.items() if one is not None}
        listed = read.value((_PLACE,))
        return {(_PLACE, len(listed)): terms} if isinstance(listed, list) and listed else {(_PLACE,): [terms]}
    wanted: dict[str, Any] = {"method": method} | dict.fromkeys(_PARAMETER.values()) | own
    if method != MaskingName.RANK_SWAPPING.value:
        wanted["reading"] = None
    place: Location = (_PLACE, found.number)
    return {(*place, key): value for key, value in wanted.items() if read.value((*place, key)) != value}


def unmasked(read: ReadRequest, names: Collection[str]) -> dict[Location, Any]:
    """Changes of a document that mask some columns no longer; maskings of these alone are removed, the last first."""
    listed = read.value((_PLACE,))
    changes: dict[Location, Any] = {}
    for number in reversed(range(len(listed) if isinstance(listed, list) else 0)):
        named = _named(read, number)
        kept = [one for one in named if one not in names]
        if len(kept) < len(named):
            changes |= {(_PLACE, number, "attributes"): kept} if kept else {(_PLACE, number): None}
    removed = sum(value is None for value in changes.values())
    return {(_PLACE,): None} if removed and removed == len(listed) else changes


def _places(read: ReadRequest, name: str) -> Iterator[tuple[int, int]]:
    """Position of each masking that names a column, and of the column in it."""
    listed = read.value((_PLACE,))
    for number in range(len(listed) if isinstance(listed, list) else 0):
        named = _named(read, number)
        if name in named:
            yield number, named.index(name)


def _named(read: ReadRequest, number: int) -> list[Any]:
    """Columns that a masking names."""
    named = value_at(read.data, (_PLACE, number, "attributes"))
    return named if isinstance(named, list) else []

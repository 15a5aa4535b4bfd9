"""Pages of a long list, and their addresses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Self, TypeVar
from urllib.parse import urlencode

Row = TypeVar("Row")
_LONGEST = 9


def number_of(text: str) -> int:
    """A number from an address; 0 if it is none."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _LONGEST else 0


def query(terms: Mapping[str, str], **changes: str) -> str:
    """A query string with some terms changed; empty ones are left out."""
    return "?" + urlencode({name: value for name, value in {**terms, **changes}.items() if value})


@dataclass(frozen=True)
class ListPage(Generic[Row]):
    """One page of a list."""

    rows: Sequence[Row]
    number: int
    """From 1."""
    pages: int
    before: str
    """Address of the previous page; empty if there is none."""
    after: str
    """Address of the next page; empty if there is none."""

    @classmethod
    def of(cls, everything: Sequence[Row], number: int, size: int, terms: Mapping[str, str]) -> Self:
        """A page of a list, or its last page if there are fewer."""
        pages = max(1, -(-len(everything) // size))
        shown = min(max(1, number), pages)
        before = query(terms, page=str(shown - 1)) if shown > 1 else ""
        after = query(terms, page=str(shown + 1)) if shown < pages else ""
        return cls(everything[(shown - 1) * size : shown * size], shown, pages, before, after)

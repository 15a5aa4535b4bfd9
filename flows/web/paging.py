"""A part of a long list, and the addresses of the others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Self, TypeVar
from urllib.parse import urlencode

Row = TypeVar("Row")
_LONGEST = 9


def number_of(text: str) -> int:
    """A number from an address, 0 where it is none."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _LONGEST else 0


def query(terms: Mapping[str, str], **changes: str) -> str:
    """Terms of an address with some of them changed; those without a value are left out."""
    return "?" + urlencode({name: value for name, value in {**terms, **changes}.items() if value})


@dataclass(frozen=True)
class Page(Generic[Row]):
    """One page of a list."""

    rows: Sequence[Row]
    number: int
    """From 1."""
    pages: int
    before: str
    """Address of the page before; empty for none."""
    after: str
    """Address of the next page; empty for none."""

    @classmethod
    def of(cls, everything: Sequence[Row], number: int, size: int, terms: Mapping[str, str]) -> Self:
        """A page of a list; the last one where there are not so many."""
        pages = max(1, -(-len(everything) // size))
        shown = min(max(1, number), pages)
        before = query(terms, page=str(shown - 1)) if shown > 1 else ""
        after = query(terms, page=str(shown + 1)) if shown < pages else ""
        return cls(everything[(shown - 1) * size : shown * size], shown, pages, before, after)

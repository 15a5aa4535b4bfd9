"""Long lines of a drafted request, folded without a change of what they say.

A line of a draft is a comment, or a key with a value in flow style and perhaps a comment after it. Texts in it are
quoted as JSON quotes them, so that a single space may become a line break wherever it stands but in a key.
"""

import re
import textwrap
from collections.abc import Iterator

WIDTH = 120
_STEP = " " * 4
_STRING = r'"(?:\\.|[^"\\])*"'
_KEY = rf"(?:- )?(?:{_STRING}|[^\s\"#:][^\s:]*):(?= |\Z)"
_VALUE = rf"(?:{_STRING}|(?<! )\#|[^\"#])*?"
_PARTS = re.compile(rf"( *)({_KEY})({_VALUE})(?: # (.*))?\Z")
"""Indentation, key, value and comment of a line."""
_WORDS = re.compile(r"\S+(?: {2,}\S+)* ?")
_PLACES = re.compile(rf"{_STRING}|[\[\]{{}}]|, ")


def folded(line: str) -> Iterator[str]:
    """Lines of at most 120 characters in place of a longer one; a key, and a text without spaces, stays whole."""
    parts = _PARTS.match(line)
    if len(line) <= WIDTH:
        yield line
    elif parts is None:
        indent = line[: len(line) - len(line.lstrip())]
        yield from _words(line.lstrip().removeprefix("# "), f"{indent}# ")
    else:
        indent, key, value, comment = parts.groups(default="")
        first, *rest = _rows(f"{indent}{key}{value}".rstrip(), len(indent) + len(key), indent + _STEP)
        beside = f"{first} # {comment}" if comment else first
        # Beside a row that ends amid a text, the comment would be part of that text.
        if len(beside) > WIDTH or '"' in re.sub(_STRING, "", first):
            yield from _words(comment, f"{indent}# ")
            beside = first
        yield beside
        yield from rest


def _words(text: str, start: str) -> list[str]:
    lines = textwrap.wrap(text, WIDTH - len(start), break_long_words=False, break_on_hyphens=False)
    return [f"{start}{one}" for one in lines]


def _rows(text: str, key: int, indent: str) -> list[str]:
    """A key with its value, cut after commas of the outer mapping; an item that is too long, at any single space."""
    depth, cuts = 0, []
    for found in _PLACES.finditer(text, key):
        mark = found[0]
        depth += (mark in ("[", "{")) - (mark in ("]", "}"))
        cuts += [found.end()] if mark == ", " and depth == 1 else []
    items = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    pieces = list[str]()
    for item in items:
        long = len(indent) + len(item.rstrip()) > WIDTH
        pieces += _spaced(item, 0 if pieces else key + 1) if long else [item]
    rows = [""]
    for piece in pieces:
        if rows[-1].strip() and len(rows[-1]) + len(piece.rstrip()) > WIDTH:
            rows.append(indent)
        rows[-1] += piece
    return [row.rstrip(" ") for row in rows]


def _spaced(item: str, kept: int) -> list[str]:
    """An item by its words, each with the space after it; its first characters, a key's, stay together."""
    return [*filter(None, [item[:kept]]), *_WORDS.findall(item[kept:])]

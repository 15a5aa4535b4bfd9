"""Defaults that a request does not state, as lines of text that fit a terminal."""

import textwrap
from collections.abc import Iterable, Iterator

from reports.document import Block
from tasks.request.defaults import Unsaid

_WIDTH = 80
_INDENT = "    "


def explained_defaults(defaults: Iterable[Unsaid]) -> Iterator[Block]:
    """Each term with its value and, below, its meaning, in lines of 80 characters; a key is never broken."""
    for number, one in enumerate(defaults):
        if number == 0:
            yield "\nThe request does not state these terms; each has its default:\n"
        head = f"{one.term}: {one.value}"
        stated = [head] if len(head) <= _WIDTH else [f"{one.term}:", *_lines(one.value)]
        of = _lines(f"of {', '.join(one.of)}") if one.of else []
        yield "\n".join([*stated, *_lines(one.meaning), *of])


def _lines(words: str) -> list[str]:
    return textwrap.wrap(
        words,
        _WIDTH,
        initial_indent=_INDENT,
        subsequent_indent=_INDENT,
        break_long_words=False,
        break_on_hyphens=False,
    )

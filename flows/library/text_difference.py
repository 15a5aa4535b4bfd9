"""Two versions of a text, line by line."""

import difflib
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

LONGEST_COMPARED = 5_000
"""Lines of a text that is compared."""
_AROUND = 3
"""Lines shown before and after a difference."""


@dataclass(frozen=True)
class ComparedLine:
    """A line of two texts side by side."""

    kind: Literal["same", "changed", "removed", "added", "left out"]
    before: str
    after: str
    before_number: int
    """From 1; 0 where there is no such line."""
    after_number: int


def compared(before: str, after: str) -> list[ComparedLine] | None:
    """Two texts side by side: lines that differ, with some around them; None where one is too long to compare."""
    left, right = before.splitlines(), after.splitlines()
    if max(len(left), len(right)) > LONGEST_COMPARED:
        return None
    matcher = difflib.SequenceMatcher(None, left, right, autojunk=False)
    lines: list[ComparedLine] = []
    for group in matcher.get_grouped_opcodes(_AROUND):
        if lines:
            lines.append(ComparedLine("left out", "", "", 0, 0))
        for tag, from_left, to_left, from_right, to_right in group:
            pairs = zip_longest(range(from_left, to_left), range(from_right, to_right), fillvalue=-1)
            lines += [_line(tag, left, right, *pair) for pair in pairs]
    return lines


def _line(tag: str, left: list[str], right: list[str], at: int, over: int) -> ComparedLine:
    kind: Literal["same", "changed", "removed", "added"] = "same" if tag == "equal" else "changed"
    if kind == "changed" and -1 in {at, over}:
        kind = "added" if at < 0 else "removed"
    return ComparedLine(kind, left[at] if at >= 0 else "", right[over] if over >= 0 else "", at + 1, over + 1)

"""Marks on delivered text that a spreadsheet would run as a formula: a leading apostrophe.

Text that looks as if it were marked gets one more, so that no two texts are marked alike and each can be recovered.
"""

import re

import pyarrow as pa
import pyarrow.compute as pc

_FORMULA = r"^'*[=+\-@\t\r\n＝＋－＠]"
_NEGATIVE_NUMBER = r"^-(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"


def harmless(column: pa.Array) -> pa.Array:
    """Put an apostrophe before text that a spreadsheet would run; it runs ``-2+3+cmd|…`` too, but not a number."""
    number = pc.match_substring_regex(column, _NEGATIVE_NUMBER)
    risky = pc.and_not(pc.match_substring_regex(column, _FORMULA), number)
    empty = pa.scalar("", column.type)
    marked = pc.binary_join_element_wise(pa.scalar("'", column.type), column, empty)
    return pc.if_else(risky, marked, column)


def marked(text: str) -> str:
    """One text as ``harmless`` writes it.

    >>> marked("=1+1"), marked("'=1"), marked("-5"), marked("-5--1")
    ("'=1+1", "''=1", '-5', "'-5--1")
    """
    return f"'{text}" if re.match(_FORMULA, text) and not re.fullmatch(_NEGATIVE_NUMBER, text) else text


def as_collected(text: str) -> str:
    """A text without the apostrophe that was put before it."""
    rest = text.removeprefix("'")
    return rest if rest != text and marked(rest) != rest else text

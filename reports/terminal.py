"""Blocks of the document model for a terminal, drawn by Rich; charts and signatures are left to paper."""

import re
from collections.abc import Iterable, Sequence
from html import unescape

from markupsafe import Markup
from rich.console import Console
from rich.measure import Measurement
from rich.table import Column
from rich.table import Table as Grid
from rich.text import Text

from reports.model.document import Block, Bullets, Facts, Heading, Paragraph, Table, VerdictBox

_STYLES = {
    "approved": "bold green",
    "awaiting": "bold yellow",
    "blocked": "bold red",
    "over": "bold",
    "passed": "green",
    "failed": "red",
    "strong": "bold",
    "b": "bold",
    "label": "italic",
    "note": "dim",
}
"""Styles of verdicts, paragraphs and inline elements."""
_TAG = re.compile(r'<(/?)(\w+)(?: class="(\w+)")?[^>]*>')
_MANY_COLUMNS, _FIGURES, _SHORT = 6, 0.75, len("✓ passed")


def styled(text: str, style: str = "") -> Text:
    """Text with its inline markup as styles."""
    drawn = Text(style=style)
    if not isinstance(text, Markup):
        return drawn.append(text)
    styles, place = [""], 0
    for tag in _TAG.finditer(text):
        drawn.append(unescape(text[place : tag.start()]), styles[-1])
        place, (closes, name, css) = tag.end(), tag.groups()
        if name == "br":
            drawn.append("\n")
        elif closes:
            styles.pop()
        else:
            drawn.append("_" if name == "sub" else "")
            styles.append(_STYLES.get(css or name, ""))
    return drawn.append(unescape(text[place:]))


def show(blocks: Iterable[Block], console: Console) -> None:
    """Print blocks in their order."""
    for block in blocks:
        if isinstance(block, VerdictBox):
            words = Text.assemble((f"{block.sign} ", _STYLES[block.css]), styled(block.words, _STYLES[block.css]))
            console.print(Text.assemble(words, ": ", styled(block.meaning)), soft_wrap=True)
        elif isinstance(block, Heading):
            console.print(styled(block.text, "bold"))
        elif isinstance(block, str):
            # It may hold a path, which stays whole; paragraphs break between words.
            console.print(styled(block), soft_wrap=True)
        elif isinstance(block, Paragraph):
            console.print(_hanging(styled(block.text, _STYLES.get(block.style, "")), console))
        elif isinstance(block, Bullets):
            console.print(Text("\n").join(Text.assemble("• ", styled(item)) for item in block.items), soft_wrap=True)
        elif isinstance(block, Facts | Table):
            if block.caption:
                console.print(styled(block.caption, "italic"))
            console.print(_grid(block, console))


def _hanging(paragraph: Text, console: Console) -> Text:
    """A paragraph whose lines are indented as its first is; those below an arrow, as its words are."""
    indent = paragraph.plain.removesuffix(paragraph.plain.lstrip(" →"))
    parts = paragraph[len(indent) :].split("\n")
    lines = [line for part in parts for line in part.wrap(console, console.width - len(indent))]
    for line in lines:
        line.rstrip()
    return Text("\n").join(
        Text.assemble(" " * len(indent) if place else indent, line) for place, line in enumerate(lines)
    )


def _grid(block: Facts | Table, console: Console) -> Grid:
    columns = block.columns if isinstance(block, Table) else ()
    grid = Grid(box=None, pad_edge=False, padding=(0, 1 if len(columns) > _MANY_COLUMNS else 2, 0, 0))
    grid.show_header = any(column.title for column in columns)
    for column in columns:
        grid.add_column(styled(column.title), justify="left" if column.style == "words" else "right", overflow="fold")
    groups = (block.groups or (block.rows,)) if isinstance(block, Table) else (block.rows,)
    for row in (row for rows in groups for row in rows):
        grid.add_row(*map(styled, row))
    if console.measure(grid).maximum >= console.width:
        words = [column for column in grid.columns if column.justify == "left"]
        longest = sum(_size(column, console).minimum for column in words)
        room = console.width - longest - grid.padding[1] * (len(grid.columns) - 1)
        _narrow([column for column in grid.columns if column.justify == "right"], console, room)
        _keep_words(words, grid, console)
    return grid


def _narrow(figures: Sequence[Column], console: Console, room: int) -> None:
    """Break titles of figures between words, and figures only where too little is left for the words beside them.

    ``room`` is left for the figures where no word is broken.
    """
    titles = [console.measure(column.header).minimum for column in figures]
    cells = [[console.measure(cell) for cell in column.cells] for column in figures]
    for sizes in (
        [[one.maximum for one in column] for column in cells],
        [[one.minimum for one in column] for column in cells],
    ):
        widths = [max(title, *column) for title, column in zip(titles, sizes, strict=True)]
        if sum(widths) <= min(_FIGURES * console.width, room):
            for column, width in zip(figures, widths, strict=True):
                column.width = width
            return


def _keep_words(columns: Sequence[Column], grid: Grid, console: Console) -> None:
    """Where a word would be broken, make columns as wide as their longest word and share out the rest, if that fits.

    Those that need least get it first.
    """
    gap = grid.padding[1]
    *before, last = grid._calculate_column_widths(console, console.options)
    drawn = zip(grid.columns, [*(width - gap for width in before), last], strict=True)
    if all(width >= _size(one, console).minimum for one, width in drawn if one.justify == "left"):
        return
    sizes = sorted(((_size(column, console), column) for column in columns), key=lambda one: one[0].span)
    others = [column for column in grid.columns if column not in columns]
    taken = sum(column.width or _size(column, console).maximum for column in others)
    left = console.width - taken - gap * len(before) - sum(size.minimum for size, _ in sizes)
    for place, (size, column) in enumerate(sizes if left >= 0 else ()):
        more = min(size.span, left // (len(sizes) - place))
        column.width, left = size.minimum + more, left - more


def _size(column: Column, console: Console) -> Measurement:
    """The widths of a column's longest word, or short cell, which stays whole, and of its longest cell."""
    sizes = [console.measure(cell) for cell in (column.header, *column.cells)]
    whole = (one.maximum if one.maximum <= _SHORT else one.minimum for one in sizes)
    return Measurement(max(whole), max(one.maximum for one in sizes))

"""Tables as ``releasegate assess`` prints them: a title, plain columns, a caption."""

from collections.abc import Iterable, Sequence

from rich.console import Group
from rich.table import Table
from rich.text import Text

_HUNDREDTH, _TEN = 0.01, 10


def titled_table(title: str, words: Sequence[str], figures: Sequence[str], caption: str = "") -> Table:
    """An empty table, its title and caption no wider than itself.

    Parameters
    ----------
    title : str
    words : sequence of str
        Headings of the first columns, set flush left.
    figures : sequence of str
        Headings of the columns after them, set flush right.
    caption : str
        What to know to read it; empty for none.
    """
    table = untitled_table(words, figures)
    table.title, table.title_justify = title, "left"
    table.caption, table.caption_justify = caption or None, "left"
    return table


def untitled_table(words: Sequence[str], figures: Sequence[str]) -> Table:
    """An empty table; headings as in ``titled_table``."""
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in words:
        table.add_column(heading, overflow="fold")
    for heading in figures:
        table.add_column(heading, justify="right", overflow="fold")
    return table


def listing(
    title: str, words: Sequence[str], figures: Sequence[str], rows: Iterable[Sequence[str]], caption: str = ""
) -> Group:
    """A narrow table of some rows between a title and a caption that may be wider than it."""
    table = untitled_table(words, figures)
    for row in rows:
        table.add_row(*row)
    return between(title, table, caption)


def between(title: str, table: Table, caption: str = "") -> Group:
    """A narrow table between a title and a caption that may be wider than it."""
    notes = [Text(caption, style="dim italic")] if caption else []
    return Group(Text(title, style="italic"), table, *notes)


def seconds(value: float) -> str:
    """A time in seconds, to hundredths below ten."""
    if value < _HUNDREDTH:
        return "<.01"
    return f"{value:.2f}" if value < _TEN else f"{value:,.0f}"

"""Blocks of the document model for a terminal, drawn by Rich; charts and signatures are left to paper."""

from collections.abc import Iterable

from markupsafe import Markup
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from reports.document import Block, Bullets, Facts, Heading, Paragraph, Table, VerdictBox

_STYLES = {"approved": "bold green", "awaiting": "bold yellow", "blocked": "bold red"}


def plain(text: str) -> str:
    """Text without its inline markup.

    >>> plain(Markup("<b>3</b> of<br>4 &lt; 5")), plain("a <b> c")
    ('3 of 4 < 5', 'a <b> c')
    """
    return text.replace("<br>", " ").striptags() if isinstance(text, Markup) else text


def show(blocks: Iterable[Block], console: Console) -> None:
    """Print blocks in their order."""
    for block in blocks:
        if isinstance(block, VerdictBox):
            words = (f"{block.sign} {plain(block.words)}", _STYLES[block.css])
            console.print(Text.assemble(words, f": {plain(block.meaning)}"), soft_wrap=True)
        elif isinstance(block, Heading):
            console.print(Text(plain(block.text), style="bold"))
        elif isinstance(block, str | Paragraph):
            console.print(Text(plain(block if isinstance(block, str) else block.text)), soft_wrap=True)
        elif isinstance(block, Bullets):
            console.print("\n".join(f"• {plain(item)}" for item in block.items), markup=False, soft_wrap=True)
        elif isinstance(block, Facts | Table):
            console.print(_grid(block))


def _grid(block: Facts | Table) -> Grid:
    grid = Grid(
        box=None, pad_edge=False, padding=(0, 2, 0, 0), title=plain(block.caption) or None, title_justify="left"
    )
    grid.show_header = isinstance(block, Table)
    columns = block.columns if isinstance(block, Table) else ()
    for column in columns:
        grid.add_column(plain(column.title), justify="left" if column.style == "words" else "right", overflow="fold")
    groups = (block.groups or (block.rows,)) if isinstance(block, Table) else (block.rows,)
    for row in (row for rows in groups for row in rows):
        grid.add_row(*(Text(plain(cell)) for cell in row))
    return grid

"""Blocks that results share: the first line, a table with its title above, and notes."""

from collections.abc import Iterable, Sequence

from reports.model.document import Block, Paragraph, Table, text


def outcome(word: str, rest: str = "", style: str = "approved", aside: str = "") -> Paragraph:
    """The first line of a result: one emphasized word, what it applies to, and an aside."""
    words = text(f'<span class="{style}">{{}}</span>{{}}<span class="note">{{}}</span>', word, rest, aside)
    return Paragraph(words, "lead")


def table(title: str, headings: Sequence[str], rows: Iterable[Sequence[str]], note: str = "") -> list[Block]:
    """A table with its title above and a note below; headings of figures begin with “>”, empty ones take no line."""
    head = " | ".join(f"{one.removeprefix('>')} 0{'r' if one.startswith('>') else ''}" for one in headings)
    return [Table(title, head, tuple(rows)), *noted(note)]


def noted(*notes: str) -> list[Block]:
    """Notes below a table; empty ones are left out."""
    return [Paragraph(note, "note") for note in notes if note]

"""The document model: sections of statements, lists, tables of figures and charts, whatever draws them.

Text is a plain string, or a `Markup` with inline elements alone (``b``, ``code``, ``sub``, ``br``, ``span``). A string
among blocks is a paragraph that explains; a `Paragraph` without a style says what was found. Figures are formatted, and
counts of people have passed the disclosure rule, before they come here: a renderer computes nothing.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import groupby
from typing import ClassVar, Literal, TypeVar

from markupsafe import Markup

from reports.model.charts import Chart

DASH = "–"
_INLINE = (
    (re.compile(r"\*\*(.+?)\*\*"), r"<b>\1</b>"),
    (re.compile(r"`(.+?)`"), r"<code>\1</code>"),
    (re.compile(r"\b([A-Za-z]{1,2})_([A-Za-z0-9]{1,4})\b"), r"\1<sub>\2</sub>"),
)

_NUMBER = re.compile(r"[0-9]+$")
_SHORT_RUN, _MOST_NAMES, _FIRST_NAMES = 2, 14, 10
"""Numbered columns that are named one by one, columns that are, and those that are where there are more."""
_MOST_ROWS, _MOST_TEXT = 9, 600
"""Rows and characters of the longest table that is kept on one page."""
_STYLES: dict[str, Literal["figure", "pair"]] = {"r": "figure", "p": "pair"}
_Item = TypeVar("_Item")

ParagraphStyle = Literal["", "lead", "intro", "note", "label", "formula", "quote", "strong", "failed", "code"]
Row = Sequence[str]


@dataclass(frozen=True)
class Paragraph:
    """One or more sentences."""

    kind: ClassVar = "paragraph"
    text: str
    style: ParagraphStyle = ""
    """“intro” stays with what follows; “code” is a block of commands."""


@dataclass(frozen=True)
class Heading:
    """A heading inside of a section."""

    kind: ClassVar = "heading"
    text: str
    level: Literal[3, 4] = 3


@dataclass(frozen=True)
class Bullets:
    """A list."""

    kind: ClassVar = "bullets"
    items: Sequence[str]
    style: Literal["", "ordered", "reasons", "assumptions", "references"] = ""


@dataclass(frozen=True)
class Facts:
    """A list of names and values."""

    kind: ClassVar = "facts"
    rows: Sequence[tuple[str, str]]
    caption: str = ""


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    title: str
    width: int
    """In percent of the table's."""
    style: Literal["words", "figure", "pair"] = "words"
    """Figures are aligned on the right and never broken; pairs of them may be."""


@dataclass(frozen=True)
class Table:
    """A table of figures and words; the first cell of a row names it."""

    kind: ClassVar = "table"
    caption: str
    head: str
    """Titles with widths in percent, such as ``Gate 60 | Measured 40r``: r for figures, p for pairs of them."""
    rows: Sequence[Row] = ()
    groups: Sequence[Sequence[Row]] = ()
    """Rows that belong together, in place of single ones; a row of one cell goes across all columns."""

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The columns."""
        parts = (part.strip().rpartition(" ")[::2] for part in self.head.split("|"))
        return tuple(
            Column(text(title), int(width.rstrip("rp")), _STYLES.get(width[-1], "words")) for title, width in parts
        )

    @property
    def whole(self) -> bool:
        """Whether it stays on one page; where there are groups, whether each of them does."""
        return all(
            len(rows) <= _MOST_ROWS and sum(len(cell) for row in rows for cell in row) <= _MOST_TEXT
            for rows in self.groups or (self.rows,)
        )


@dataclass(frozen=True)
class VerdictBox:
    """The verdict in print: a sign, the words, and what they mean for the file."""

    kind: ClassVar = "verdict"
    sign: str
    words: str
    css: Literal["approved", "awaiting", "blocked", "over"]
    meaning: str


@dataclass(frozen=True)
class Signatures:
    """Lines to sign on, side by side; each with what is written below it."""

    kind: ClassVar = "signatures"
    parties: Sequence[Sequence[str]]


Block = str | Paragraph | Heading | Bullets | Facts | Table | VerdictBox | Signatures | Chart


@dataclass(frozen=True)
class Section:
    """A section; its key names its anchor."""

    key: str
    title: str
    blocks: Sequence[Block]
    number: str = ""
    parts: "Sequence[Section]" = ()


@dataclass(frozen=True)
class Document:
    """A report: what stands on its first page and in its margins, and its sections."""

    kind: str
    """Kind of the document, such as “Determination report”."""
    title: str
    name: str
    """Title of the file."""
    author: str
    description: str
    head: str
    foot: str
    moment: datetime
    """The one time that is written anywhere into the file."""
    version: str
    """Of the program."""
    sections: Sequence[Section]
    compact: bool = False
    """Whether it is a matter of a page or two, with plain headings."""
    guide: Sequence[Block] | None = None
    """Text below the table of contents on the second page; None for a document without one."""

    @property
    def charts(self) -> dict[str, Chart]:
        """All charts by name, in order."""
        return {chart.name: chart for section in self.sections for chart in charts_of(section)}


def charts_of(section: Section) -> Iterator[Chart]:
    """The charts of a section and of its parts."""
    yield from (block for block in section.blocks if isinstance(block, Chart))
    for part in section.parts:
        yield from charts_of(part)


def findings(blocks: Iterable[Block]) -> Iterator[Block]:
    """Findings: without the paragraphs and formulas that explain it, and without charts."""
    for block in blocks:
        explains = isinstance(block, Paragraph) and block.style == "formula"
        if not isinstance(block, str | Chart) and not explains:
            yield block


def text(template: str, *values: object) -> Markup:
    """Text with inline markup: ``**strong**``, code between backticks, symbols such as n_p; the values are escaped.

    >>> text("**{}** holds n_T people", "<b>")
    Markup('<b>&lt;b&gt;</b> holds n<sub>T</sub> people')
    """
    for pattern, replacement in _INLINE:
        template = pattern.sub(replacement, template)
    return Markup(template).format(*values)  # noqa: S704  (the template is ours)


def strong(value: str) -> Markup:
    """Text that stands out."""
    return text("**{}**", value)


def small(value: str) -> Markup:
    """Text that stands back."""
    return text('<span class="note">{}</span>', value)


def failed(value: str) -> Markup:
    """Text that warns."""
    return text('<span class="failed">{}</span>', value)


def passed(*, yes: bool, overridden: bool = False) -> Markup:
    """The outcome of a gate or a check."""
    if overridden:
        return failed(text("✗ failed,<br>overridden"))
    return text('<span class="passed">✓ passed</span>') if yes else failed("✗ failed")


def digest_text(digest: str) -> Markup:
    """A hash, which may be broken anywhere."""
    return text('<code class="hash">{}</code>', digest)


def lines(*parts: str | None) -> Markup:
    """Texts one below the other; those that are None or empty are left out."""
    return Markup("<br>").join(part for part in parts if part)


def kept(*items: _Item | None) -> list[_Item]:
    """The items that there are."""
    return [item for item in items if item is not None]


def said(*sentences: str | None) -> str:
    """Sentences as one text; those that are None or empty are left out.

    >>> said("A file was made.", None, "It holds decoys.")
    'A file was made. It holds decoys.'
    """
    words = [one for one in sentences if one]
    return Markup(" ").join(words) if any(isinstance(one, Markup) for one in words) else " ".join(words)


def named(columns: Iterable[str], *, every: bool = False) -> str:
    """Names of columns: numbered ones that follow each other as a range, and unless ``every``, of very many the first.

    >>> named(["age", *(f"item_{number}" for number in range(1, 41))])
    'age, item_1 to item_40'
    >>> named("abcdefghijklmno")
    'a, b, c, d, e, f, g, h, i, j and 5 others'
    """
    runs: list[list[str]] = []
    for name in columns:
        if runs and name == _NUMBER.sub(lambda found: f"{int(found[0]) + 1:0{len(found[0])}d}", runs[-1][-1]):
            runs[-1].append(name)
        else:
            runs.append([name])
    parts: list[tuple[str, int]] = []
    for run in runs:
        parts += [(f"{run[0]} to {run[-1]}", len(run))] if len(run) > _SHORT_RUN else [(name, 1) for name in run]
    shown = parts if every or len(parts) <= _MOST_NAMES else parts[:_FIRST_NAMES]
    others = sum(size for _, size in parts[len(shown) :])
    return ", ".join(name for name, _ in shown) + (f" and {others:,d} others" if others else "")


def alike(rows: Iterable[Row]) -> list[Row]:
    """Rows of columns, each beginning with its name; those that follow each other and say the same are one row."""
    by_cells = groupby(rows, lambda row: tuple(row[1:]))
    return [(named((row[0] for row in own), every=True), *cells) for cells, own in by_cells]


def sentence_start(clause: str) -> str:
    """A clause with a capital letter."""
    return clause[:1].upper() + clause[1:]

"""Blocks of the document model as a terminal shows them."""

from typing import get_args, get_type_hints

import pytest
from rich.console import Console

from reports.model.document import Block, Paragraph, Table, VerdictBox, digest_text, failed, lines, strong, text
from reports.terminal import show, styled


def shown(*blocks: Block, width: int = 40) -> str:
    console = Console(width=width, highlight=False, markup=False)
    with console.capture() as captured:
        show(blocks, console)
    return captured.get()


def test_inline_markup_becomes_style_and_text_stays_text() -> None:
    drawn = styled(text("**{}** of {}, {}", "<b>3</b>", failed("[4]"), digest_text("ab")))
    assert drawn.plain == "<b>3</b> of [4], ab"
    assert [(drawn.plain[span.start : span.end], span.style) for span in drawn.spans] == [
        ("<b>3</b>", "bold"),
        ("[4]", "red"),
    ]
    assert styled("a <b> c & [red]").plain == "a <b> c & [red]"
    assert styled(lines("one", strong("two"))).plain == "one\ntwo"


@pytest.mark.parametrize("css", get_args(get_type_hints(VerdictBox)["css"]))
def test_every_verdict_is_shown(css: str) -> None:
    assert shown(VerdictBox("–", "Its gates", css, "would pass."), width=80) == "– Its gates: would pass.\n"


def test_a_path_is_never_broken_and_paragraphs_break_between_words() -> None:
    path = "/a/very/long/path/" + "x" * 60
    assert path in shown(path)
    assert max(map(len, shown(Paragraph("a word " * 20)).splitlines())) <= 40


def test_lines_of_a_paragraph_are_indented_as_its_first_and_below_an_arrow_as_its_words() -> None:
    two = text("  {}", lines("Information kept: 97%, where sex counts for nothing.", "Lost most: sex."))
    assert shown(Paragraph(two)).splitlines() == [
        "  Information kept: 97%, where sex",
        "  counts for nothing.",
        "  Lost most: sex.",
    ]
    remedy = Paragraph("  → Larger groups to hide in, or another method.", "lead")
    assert shown(remedy).splitlines() == ["  → Larger groups to hide in, or another", "    method."]


def test_a_title_may_be_wider_than_its_table() -> None:
    said = shown(Table("A title wider than the table", "name 60 | figure 40r", [("one", "1"), (strong("two"), "22")]))
    assert [line.rstrip() for line in said.splitlines()] == [
        "A title wider than the table",
        "name  figure",
        "one        1",
        "two       22",
    ]


def test_a_table_of_few_words_has_no_line_of_headings() -> None:
    assert shown(Table("", "0 | 0", [("a", "b")])).split() == ["a", "b"]


def test_keys_and_short_outcomes_stay_whole_in_eighty_columns() -> None:
    key = "singling_out.population_share"
    said = shown(
        Table(
            "Gates",
            "Gate 44 | Then 13r | Today 13r | Allowed 16r | Gate today 14",
            [
                (
                    lines("Estimated records that a few known columns single out", key),
                    "0%",
                    "0%",
                    "at most 9%",
                    "✓ passed",
                ),
                ("Revealing columns", "0 columns", "0 columns", "at most 0 columns", "✓ passed"),
            ],
        ),
        width=80,
    )
    assert key in said.split()
    assert sum(line.rstrip().endswith("✓ passed") for line in said.splitlines()) == 2
    assert max(map(len, said.splitlines())) <= 80

"""Phrases that the style guide replaced stand in no document, template or text of the program."""

import ast
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
REPLACED = {
    r"what (?:the )?gates judged": "gate results",
    r"\bgot: (?:another|others)\b": "the thing that is there",
    r"taken to be held by an intruder": "assumed known to an attacker",
    r"\bstays? back\b": "it is withheld",
    r"\brecords worth an attempt\b": "records worth attacking",
    r"\ba recipient who plans\b|who plans a series": "an attacker who makes repeated attempts",
    r"\bholds the source file\b": "an intruder who holds the original file",
    r"as written is the recorded one": "risk recomputed from the written file matches the record",
    r"\bturns the verdict\b": "what would change the verdict",
    r"\bcounted without a verdict\b": "for information only",
    r"\blaid bare\b": "what is disclosed",
    r"\brecord of nobody\b": "the copy contains no decoys",
    r"\bvotes are in\b": "votes cast",
    r"\bnot for you to do\b": "you don't have permission to do this",
    r"(?-i:^Asked for$|\bAsked for by\b)": "Required, Requested by",
    r"\bthe release is released\b": "the release is now approved and delivered",
    r"\bgive no value of the data\b": "do not include any data values",
    r"\bfor good\b": "permanently",
    r"\bopen it alone\b": "open full size",
    r"\bthe ledger is whole\b": "the ledger is intact",
    r"^told; what\b": "notification sent",
    r"\bthis person is no reviewer\b": "the policy does not name you as a reviewer",
    r"\ba path outside the workspace\b": "the file is outside the allowed folders",
    r"\bways in\b": "submitting requests",
}
"""Pattern of each phrase, and what stands in its place."""
ANY_REPLACED = re.compile("|".join(f"(?:{phrase})" for phrase in REPLACED), re.IGNORECASE)
RIDDLES = re.compile(r"(?:What|How|Whose|Those|Which)\b")
"""Openings of docstrings and descriptions in which a clause stands for a noun."""
MOST_RIDDLES = 23
"""Only to be lowered."""


def documents() -> Iterator[tuple[str, str]]:
    """Documents, examples and templates, with their names."""
    pages = (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md"))
    others = (
        *(ROOT / "examples").rglob("*.yaml"),
        *(ROOT / "templates").rglob("*"),
        *(ROOT / "schemas").glob("*.json"),
    )
    for path in (*pages, *others):
        if path.name != "CHANGELOG.md" and path.suffix in {".md", ".yaml", ".html", ".json", ".txt", ".j2"}:
            yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")


@cache
def nodes() -> tuple[tuple[Path, ast.AST], ...]:
    """Every node of the program that may hold text, with its file."""
    return tuple(
        (path.relative_to(ROOT), node)
        for folder in ("flows", "reports", "tasks", "releasegate", "deployments")
        for path in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant | ast.Expr | ast.keyword)
    )


def texts() -> Iterator[tuple[str, str]]:
    """Every string of the program, docstrings and so the help of commands among them, with its place."""
    for path, node in nodes():
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield f"{path}:{node.lineno}", node.value


def descriptions() -> Iterator[tuple[str, str]]:
    """Docstrings of the program, those of fields among them, and descriptions of the models' terms."""
    for path, node in nodes():
        if isinstance(node, ast.Expr) or (isinstance(node, ast.keyword) and node.arg == "description"):
            value = node.value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield f"{path}:{value.lineno}", value.value


def replaced(text: str) -> list[str]:
    """Phrases of a text that are no longer used, each with what stands in its place."""
    said = " ".join(text.split())
    if not ANY_REPLACED.search(said):
        return []
    return [
        f"{found[0]!r}: {better}" for phrase, better in REPLACED.items() if (found := re.search(phrase, said, re.I))
    ]


@pytest.mark.parametrize("source", [documents, texts], ids=["documents", "texts of the program"])
def test_replaced_phrases_are_not_used(source: Callable[[], Iterator[tuple[str, str]]]) -> None:
    found = [(place, phrases) for place, text in source() if (phrases := replaced(text))]
    assert found == []


@pytest.mark.parametrize(
    "said",
    [
        "It stays back",
        "Asked for",
        "0 of 1 votes are\n    in",
        "What turns the verdict",
        "Ways in",
        "told; what: released",
    ],
)
def test_they_are_found_wherever_a_line_breaks(said: str) -> None:
    assert replaced(said)


def test_descriptions_begin_with_a_noun_or_a_verb() -> None:
    found = [(place, text.partition("\n")[0]) for place, text in descriptions() if RIDDLES.match(text)]
    assert len(found) <= MOST_RIDDLES, found

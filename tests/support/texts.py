"""What a reader sees of an HTML report: its words, its alternative texts, and the words inside its figures."""

import html
import re
from collections.abc import Iterable

from reports.charting import Figure

_HIDDEN = re.compile(r"<(style|script|head)\b.*?</\1>", re.DOTALL)
_COMMENT = re.compile(r"<!--(.*?)-->", re.DOTALL)


def seen(document: str, figures: Iterable[Figure] = ()) -> str:
    """All text of a document with its alternative texts, and of the figures (which carry it in comments)."""
    title = re.findall(r"<title>(.*?)</title>", document)
    named = re.findall(r'(?:alt|content|data-head|data-foot)="([^"]*)"', document)
    body = re.sub(r"<[^>]+>", " ", re.sub(r"</?(wbr|sub)[^>]*>", "", _HIDDEN.sub(" ", document)))
    drawn = [text for figure in figures for text in _COMMENT.findall(figure.svg.decode())]
    return re.sub(r"\s+", " ", html.unescape(" ".join([*title, *named, body, *drawn])))


def sections(document: str) -> dict[str, str]:
    """Text of each section of a determination by its key."""
    found = re.findall(r'<section class="(\w+)[^"]*">(.*?)</section>', document, re.DOTALL)
    return {key: seen(part) for key, part in found}

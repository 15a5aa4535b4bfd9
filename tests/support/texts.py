"""What a reader sees of an HTML report: its words, its alternative texts, and the words inside its figures."""

import html
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable

from reports.model.charts import Chart

_HIDDEN = re.compile(r"<(style|script|head)\b.*?</\1>", re.DOTALL)


def seen(document: str, figures: Iterable[Chart] = ()) -> str:
    """All text of a document with its alternative texts, and of the figures."""
    title = re.findall(r"<title>(.*?)</title>", document)
    named = re.findall(r'(?:alt|content|data-head|data-foot)="([^"]*)"', document)
    body = re.sub(r"<[^>]+>", " ", re.sub(r"</?(wbr|sub)[^>]*>", "", _HIDDEN.sub(" ", document)))
    drawn = [text for figure in figures for text in drawn_texts(figure.svg)]
    return re.sub(r"\s+", " ", html.unescape(" ".join([*title, *named, body, *drawn])))


def drawn_texts(svg: bytes) -> list[str]:
    """The labels of a figure."""
    labels = ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")  # noqa: S314  (our own)
    return [" ".join("".join(label.itertext()).split()) for label in labels]


def sections(document: str) -> dict[str, str]:
    """Text of each section of a determination, and of each part of one by itself, by its key."""
    found = re.findall(r'<section class="(\w+)[^"]*">(.*?)</section>', document, re.DOTALL)
    return {key: seen(part) for key, part in found}

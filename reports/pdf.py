"""HTML to tagged PDF/A-3a, the same bytes each time, without a network and without the system's own fonts.

The fonts are the DejaVu files that matplotlib ships. The versions of Pango and HarfBuzz still depend on the machine:
the digest of the decision record is a report's identity, and the hash of its PDF belongs to one environment.
"""

import ctypes.util
import logging
import os
import sys
import threading
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from reports.model import numbers
from reports.model.document import Document
from reports.templating import TEMPLATES, document_html
from tasks.core.collector import collector_paused
from tasks.core.errors import StageFailed

SCHEME = "asset:"
_FONTS = (
    "DejaVuSans.ttf",
    "DejaVuSans-Bold.ttf",
    "DejaVuSans-Oblique.ttf",
    "DejaVuSerif.ttf",
    "DejaVuSerif-Bold.ttf",
    "DejaVuSansMono.ttf",
)
_TYPES = {".ttf": "font/ttf", ".svg": "image/svg+xml", ".css": "text/css"}
_PACKAGES = "libpango-1.0-0, libpangoft2-1.0-0, libharfbuzz-subset0, fontconfig"
_one_at_a_time = threading.Lock()


@dataclass(frozen=True)
class Attachment:
    """A file inside the PDF."""

    name: str
    content: bytes
    description: str
    relationship: str = "Data"
    """Its relation to the document, one of ISO 19005-3's: Source, Data, Alternative, Supplement, Unspecified."""


def write_pdf(
    html: str, *, assets: Mapping[str, bytes], attachments: Sequence[Attachment], moment: datetime, identifier: str
) -> bytes:
    """A document as tagged PDF/A-3a; it may refer to its assets (figures) only, as ``asset:<name>``.

    ``moment`` is the one time that is written anywhere into the file: ``SOURCE_DATE_EPOCH`` is set meanwhile, for the
    dates inside embedded fonts. The PDF's permanent identifier is made of ``identifier``.

    Raises StageFailed if the rendering libraries are missing, or the document refers to something that is not available
    or has a figure without alternative text.
    """
    weasyprint, fonts, style = _style()
    from weasyprint.urls import FatalURLFetchingError  # noqa: PLC0415  (loads native libraries)

    at = numbers.utc(moment).replace(tzinfo=None)
    embedded = [
        weasyprint.Attachment(
            string=one.content,
            name=one.name,
            description=one.description,
            created=at,
            modified=at,
            relationship=one.relationship,
        )
        for one in sorted(attachments, key=lambda one: one.name)
    ]
    with _one_at_a_time, collector_paused(), _epoch(moment), _failures() as failures:
        try:
            document: bytes = weasyprint.HTML(string=html, url_fetcher=_fetcher(assets)).write_pdf(
                pdf_variant="pdf/a-3a",
                pdf_identifier=identifier.encode("ascii"),
                attachments=embedded,
                stylesheets=[style],
                font_config=fonts,
                finisher=_finish,
            )
        except FatalURLFetchingError:
            raise StageFailed(
                "the report refers to something outside itself",
                where="report",
                expected="embedded figures only",
                fix="remove the reference from the template",
            ) from None
    if failures:
        raise StageFailed(
            "the report could not be rendered in full",
            where="report",
            expected="a rendering without complaints",
            got="; ".join(failures),
            fix="nothing is released; report this message",
        )
    return document


def write_document(document: Document, attachments: Sequence[Attachment], identifier: str) -> bytes:
    """A document of the model as a PDF, which raises as ``write_pdf`` does."""
    assets = {f"{name}.svg": chart.svg for name, chart in document.charts.items()}
    html = document_html(document)
    return write_pdf(html, assets=assets, attachments=attachments, moment=document.moment, identifier=identifier)


def prepare_renderer() -> None:
    """Read fonts and style sheets, and load what the renderer needs for any document, ahead of the first one."""
    html = "<!doctype html><html lang='en'><head><title>None</title></head><body><p>None</p></body></html>"
    write_pdf(html, assets={}, attachments=(), moment=datetime.fromtimestamp(0, UTC), identifier="0")


@cache
def _style() -> tuple[Any, Any, Any]:
    """The renderer with fonts and style sheet, which are read once a process; native libraries are loaded here."""
    try:
        with _named_libraries():
            import weasyprint  # noqa: PLC0415
        from weasyprint.text.fonts import FontConfiguration  # noqa: PLC0415
    except OSError:
        raise StageFailed(
            "the report cannot be rendered: native libraries are missing",
            where="WeasyPrint",
            expected="Pango, HarfBuzz and Fontconfig",
            got="a library that cannot be loaded",
            fix=f"install them (Debian: {_PACKAGES})",
        ) from None
    package = find_spec("matplotlib")
    folder = Path(str(package and package.origin)).parent / "mpl-data" / "fonts" / "ttf"
    fonts, files = FontConfiguration(), {name: (folder / name).read_bytes() for name in _FONTS}
    sheet = (TEMPLATES / "print.css").read_text(encoding="utf-8")
    return weasyprint, fonts, weasyprint.CSS(string=sheet, url_fetcher=_fetcher(files), font_config=fonts)


@contextmanager
def _named_libraries() -> Iterator[None]:
    """Let native libraries on Linux be found by their names alone.

    The renderer tries each library under the names that it has on other systems first, and Python looks for those with
    the help of compilers: dozens of processes.
    """
    find = ctypes.util.find_library
    if sys.platform == "linux":
        ctypes.util.find_library = lambda name: None  # noqa: ARG005
    try:
        yield
    finally:
        ctypes.util.find_library = find


def _fetcher(assets: Mapping[str, bytes]) -> Any:
    """A fetcher that hands out the assets and stops the rendering at anything else."""
    from weasyprint.urls import FatalURLFetchingError, URLFetcher, URLFetcherResponse  # noqa: PLC0415

    class Assets(URLFetcher):  # type: ignore[misc]
        def fetch(self, url: str, headers: object = None) -> Any:  # noqa: ARG002
            name = url.removeprefix(SCHEME)
            if not url.startswith(SCHEME) or name not in assets:
                raise FatalURLFetchingError("refused")
            return URLFetcherResponse(url, assets[name], {"Content-Type": _TYPES[Path(name).suffix]})

    return Assets()


@contextmanager
def _epoch(moment: datetime) -> Iterator[None]:
    before = os.environ.get("SOURCE_DATE_EPOCH")
    os.environ["SOURCE_DATE_EPOCH"] = str(int(numbers.utc(moment).timestamp()))
    try:
        yield
    finally:
        if before is None:
            del os.environ["SOURCE_DATE_EPOCH"]
        else:
            os.environ["SOURCE_DATE_EPOCH"] = before


@contextmanager
def _failures() -> Iterator[list[str]]:
    """Messages that the renderer logs as errors, which it does in place of failing."""
    found: list[str] = []

    class Collect(logging.Handler):
        def emit(self, entry: logging.LogRecord) -> None:
            found.append(entry.getMessage())

    collector = Collect(level=logging.ERROR)
    logger = logging.getLogger("weasyprint")
    before = logger.level, logger.disabled
    # A quietened logger must not silence a failure.
    logger.setLevel(min(logger.getEffectiveLevel(), logging.ERROR))
    logger.disabled = False
    logger.addHandler(collector)
    try:
        yield found
    finally:
        logger.removeHandler(collector)
        logger.setLevel(before[0])
        logger.disabled = before[1]


def _finish(_document: object, pdf: Any) -> None:
    """Name each attachment once, and compress each stream once: the renderer does both twice or more."""
    if "AF" in pdf.catalog:
        once = list(dict.fromkeys(pdf.catalog["AF"]))
        pdf.catalog["AF"].clear()
        pdf.catalog["AF"].extend(once)
    for one in pdf.objects:
        if getattr(one, "compress", False):
            one.compress, extra, one.extra = False, one.extra, {}
            content = one.data.partition(b"\nstream\n")[2].removesuffix(b"\nendstream")
            one.stream, one.extra = [zlib.compress(content, 9)], {**extra, "Filter": "/FlateDecode"}

"""Structure of the PDFs, opened with another library than the one that wrote them."""

import hashlib
import importlib.util
import io
import itertools
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pikepdf
import pytest

import reports.pdf
from reports import determination as report
from reports.determination import charts as figures
from reports.pdf import Attachment, write_pdf
from tasks.core.canonical import canonical_json
from tasks.core.errors import StageFailed
from tasks.decision.record import DecisionRecord
from tests.support import records

ROOT = Path(__file__).resolve().parents[2]
MOMENT = datetime(2026, 3, 9, 14, 30, 12, tzinfo=UTC)
Document = tuple[str, pikepdf.Pdf]


@pytest.fixture(scope="module")
def determination(approved_pdf: bytes) -> Iterator[pikepdf.Pdf]:
    with pikepdf.open(io.BytesIO(approved_pdf)) as pdf:
        yield pdf


@pytest.fixture(scope="module")
def evidence(evidence_pdf: bytes) -> Iterator[pikepdf.Pdf]:
    with pikepdf.open(io.BytesIO(evidence_pdf)) as pdf:
        yield pdf


def elements(node: pikepdf.Object) -> Iterator[pikepdf.Dictionary]:
    """All elements of the structure tree below a node."""
    kids = node.get("/K", [])
    for kid in kids if isinstance(kids, pikepdf.Array) else [kids]:
        if isinstance(kid, pikepdf.Dictionary) and "/S" in kid:
            yield kid
            yield from elements(kid)


def outline(items: object) -> list[str]:
    return [title for item in items for title in (str(item.title), *outline(item.children))]  # type: ignore[attr-defined]


def test_it_declares_itself_pdf_a_3a_and_is_tagged(document: Document) -> None:
    _, pdf = document
    packet = pdf.Root.Metadata.read_bytes()
    assert b'pdfaid:part="3"' in packet
    assert b'pdfaid:conformance="A"' in packet
    assert pdf.Root.MarkInfo.Marked
    assert pdf.Root.StructTreeRoot.Type == "/StructTreeRoot"
    assert str(pdf.Root.Lang) == "en"
    assert pdf.Root.ViewerPreferences.DisplayDocTitle
    assert pdf.Root.OutputIntents[0].S == "/GTS_PDFA1"
    assert b"acsp" in pdf.Root.OutputIntents[0].DestOutputProfile.read_bytes()[:64], "a colour profile"
    assert "/ParentTree" in pdf.Root.StructTreeRoot
    assert not pdf.is_encrypted


@pytest.mark.parametrize("further", [0, 9])
def test_lines_to_sign_on_are_on_the_page_of_what_is_signed(further: int) -> None:
    """However many reasons fill the first page: release, hashes and validity go to the next page with the lines."""
    record = records.blocked()
    reasons = (
        *record.reasons,
        *[f"Check {number} of the data failed. {'It names a column. ' * 14}" for number in range(further)],
    )
    content = report.render_determination(record.model_copy(update={"reasons": reasons}))
    with pikepdf.open(io.BytesIO(content)) as pdf:
        pages = {page.objgen: number for number, page in enumerate(pdf.pages, start=1)}
        tables = (one for one in elements(pdf.Root.StructTreeRoot) if one.S == "/Table")
        facts, lines = ({pages[part.Pg.objgen] for part in elements(next(tables)) if "/Pg" in part} for _ in range(2))
    assert facts == lines == {1 if further == 0 else 2}


def test_title_author_and_dates_come_from_the_record(document: Document) -> None:
    kind, pdf = document
    assert str(pdf.docinfo["/Title"]).endswith("Income and work of adults in Tennessee")
    assert str(pdf.docinfo["/Creator"]) == "releasegate 0.1.0"
    assert str(pdf.docinfo["/Author"]).startswith("Office" if kind == "certificate" else "A. Lindqvist")
    packet = pdf.Root.Metadata.read_bytes()
    for field in ("CreateDate", "ModifyDate"):
        assert f"<xmp:{field}>2026-03-09T14:30:12Z</xmp:{field}>".encode() in packet
    assert str(pdf.docinfo["/CreationDate"]).startswith("D:20260309143012")


def test_every_font_is_embedded_and_is_one_of_ours(document: Document) -> None:
    _, pdf = document
    fonts = {
        str(font.BaseFont): font
        for page in pdf.pages
        for font in page.Resources.get("/Font", pikepdf.Dictionary()).values()
    }
    assert fonts
    for name, font in fonts.items():
        descriptor = font.DescendantFonts[0].FontDescriptor
        assert "/FontFile2" in descriptor or "/FontFile3" in descriptor
        assert "/ToUnicode" in font
        assert "+Report-" in name


def test_nothing_in_it_reaches_outside_or_runs(document: Document) -> None:
    _, pdf = document
    for thing in pdf.objects:
        if isinstance(thing, pikepdf.Dictionary):
            assert "/URI" not in thing
            assert "/JS" not in thing
    assert "/OpenAction" not in pdf.Root
    assert "/AA" not in pdf.Root


def test_pages_are_a4_and_none_is_empty(document: Document) -> None:
    kind, pdf = document
    pages = len(pdf.pages)
    assert pages <= {"determination": 6, "evidence": 28, "validation failed": 12, "certificate": 2}[kind]
    for page in pdf.pages:
        assert [round(float(edge)) for edge in page.MediaBox] == [0, 0, 595, 842]
        shown = [part for part in pikepdf.parse_content_stream(page) if str(part.operator) in {"Tj", "TJ"}]
        assert len(shown) > 12


@pytest.mark.slow
def test_a_determination_has_six_pages_at_most_and_its_signatures_on_the_first(any_record: DecisionRecord) -> None:
    with pikepdf.open(io.BytesIO(report.render_determination(any_record))) as pdf:
        assert len(pdf.pages) <= 6
        tables = [part for part in elements(pdf.Root.StructTreeRoot) if part.S == "/Table"]
        signatures = next(one for one in tables if all(part.S != "/TH" for part in elements(one)))
        assert {part.Pg.objgen for part in elements(signatures) if "/Pg" in part} == {pdf.pages[0].objgen}


def test_every_table_has_header_cells(document: Document) -> None:
    kind, pdf = document
    tables = [part for part in elements(pdf.Root.StructTreeRoot) if part.S == "/Table"]
    assert tables
    headed = [table for table in tables if any(part.S == "/TH" for part in elements(table))]
    signatures = 0 if kind in {"evidence", "validation failed"} else 1
    assert len(tables) - len(headed) == signatures, "only the signature lines have none"


def test_rows_of_a_table_are_as_wide_as_its_head(document: Document) -> None:
    _, pdf = document

    def width(row: pikepdf.Dictionary) -> int:
        return sum(_span(cell) for cell in elements(row) if str(cell.S) in {"/TH", "/TD"})

    for table in (part for part in elements(pdf.Root.StructTreeRoot) if part.S == "/Table"):
        widths = [width(row) for row in elements(table) if row.S == "/TR"]
        assert len(set(widths)) == 1


def test_every_cell_names_the_headers_that_it_stands_under(document: Document) -> None:
    _, pdf = document
    for table in (part for part in elements(pdf.Root.StructTreeRoot) if part.S == "/Table"):
        cells = list(elements(table))
        heads = {bytes(part.ID) for part in cells if part.S == "/TH"}
        for cell in cells if heads else ():
            if cell.S == "/TD" and "/A" in cell:
                named = [bytes(name) for name in _attributes(cell)["/Headers"]]
                assert named
                assert set(named) <= heads


def _attributes(cell: pikepdf.Dictionary) -> dict[str, pikepdf.Object]:
    given = cell.get("/A", pikepdf.Dictionary())
    return {
        key: value for part in (given if isinstance(given, pikepdf.Array) else [given]) for key, value in part.items()
    }


def _span(cell: pikepdf.Dictionary) -> int:
    return int(_attributes(cell).get("/ColSpan", 1))


def test_the_record_is_attached_as_data_byte_for_byte(determination: pikepdf.Pdf) -> None:
    attached = determination.attachments
    assert attached["decision.json"].get_file().read_bytes() == canonical_json(records.approved())
    assert attached["decision.json"].get_file().mime_type == "application/json"
    relations = [str(file.AFRelationship) for file in determination.Root.AF]
    assert relations == ["/Data"]
    assert list(attached) == ["decision.json"]


@pytest.mark.parametrize("which", ["determination", "evidence"])
def test_bookmarks_name_every_section_and_part(request: pytest.FixtureRequest, which: str) -> None:
    with request.getfixturevalue(which).open_outline() as marks:
        titles = outline(marks.root)
    sections = getattr(report, which)(records.approved()).sections
    expected = [f"{one.number} {one.title}".strip() for part in sections for one in (part, *part.parts)]
    assert [title for title in titles if title in expected] == expected
    assert ("Contents" in titles) == (which == "evidence")


def test_every_figure_has_its_alternative_text(evidence: pikepdf.Pdf) -> None:
    found = [str(part.get("/Alt", "")) for part in elements(evidence.Root.StructTreeRoot) if part.S == "/Figure"]
    assert found == [figure.alt for figure in figures(records.approved()).values()]


@pytest.mark.parametrize(("which", "sections", "deepest"), [("determination", 6, 3), ("evidence", 19, 4)])
def test_headings_follow_each_other_in_the_structure(
    request: pytest.FixtureRequest, which: str, sections: int, deepest: int
) -> None:
    """The evidence has seventeen sections, one about itself, and the contents."""
    tree = request.getfixturevalue(which).Root.StructTreeRoot
    levels = [int(str(part.S)[2]) for part in elements(tree) if re.fullmatch(r"/H\d", str(part.S))]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert levels.count(2) == sections
    assert max(levels) == deepest
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))


def test_no_heading_stands_at_the_foot_of_a_page(document: Document) -> None:
    _, pdf = document
    blocks = [
        part
        for part in elements(pdf.Root.StructTreeRoot)
        if "/Pg" in part and re.fullmatch(r"/(H\d|P|LI|TR|Caption|Figure|BlockQuote)", str(part.S))
    ]
    headings = [(one, following) for one, following in itertools.pairwise(blocks) if re.fullmatch(r"/H\d", str(one.S))]
    assert len(headings) >= 5
    assert all(one.Pg.objgen == following.Pg.objgen for one, following in headings)


@pytest.mark.slow
def test_another_process_writes_the_same_bytes(approved_pdf: bytes, evidence_pdf: bytes, tmp_path: Path) -> None:
    program = (
        "import hashlib\n"
        "import tests.support.arithmetic\n"
        "from reports.determination import render_determination, render_evidence\n"
        "from tests.support import records\n"
        "for render in (render_determination, render_evidence):\n"
        "    print(hashlib.sha256(render(records.approved())).hexdigest())\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo", "HOME": str(tmp_path), "LANG": "C"},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    assert result.stdout.split() == [hashlib.sha256(one).hexdigest() for one in (approved_pdf, evidence_pdf)]


def small(body: str, **assets: bytes) -> bytes:
    return write_pdf(
        f'<html lang="en"><head><title>t</title></head><body>{body}</body></html>',
        assets={f"{name}.svg": content for name, content in assets.items()},
        attachments=(Attachment("b.txt", b"b", "b"), Attachment("a.txt", b"a", "a")),
        moment=MOMENT,
        identifier="0" * 32,
    )


@pytest.mark.parametrize(
    "body",
    [
        '<img alt="x" src="https://example.org/x.png">',
        '<img alt="x" src="file:///etc/passwd">',
        '<img alt="x" src="asset:missing.svg">',
        '<img alt="x" src="data:image/svg+xml,<svg/>">',
        '<link rel="stylesheet" href="http://example.org/x.css">',
        '<p style="background: url(https://example.org/x.png)">x</p>',
    ],
)
def test_nothing_is_fetched(body: str) -> None:
    with pytest.raises(StageFailed, match="outside itself"):
        small(body)


@pytest.mark.parametrize("body", ['<img src="asset:x.svg">', '<a href="#nowhere">x</a>'])
def test_what_the_renderer_only_complains_of_stops_the_report(body: str) -> None:
    figure = b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>'
    with pytest.raises(StageFailed, match="could not be rendered in full"):
        small(body, x=figure)


def test_a_broken_figure_stops_the_report() -> None:
    with pytest.raises(StageFailed, match="could not be rendered in full"):
        small('<img alt="x" src="asset:x.svg">', x=b"not a figure")


def test_attachments_are_in_the_order_of_their_names() -> None:
    with pikepdf.open(io.BytesIO(small("<p>text</p>"))) as pdf:
        assert [str(name) for name in pdf.Root.Names.EmbeddedFiles.Names[::2]] == ["a.txt", "b.txt"]


def test_missing_native_libraries_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A renderer that cannot load Pango raises OSError while it is imported."""
    (tmp_path / "weasyprint.py").write_text("raise OSError('cannot load library')\n")
    monkeypatch.delitem(sys.modules, "weasyprint", raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    # A module of its own: reloading would leave other tests with objects of the module before, which cannot be pickled.
    spec = importlib.util.spec_from_file_location("reports.pdf_without_pango", reports.pdf.__file__)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    with pytest.raises(StageFailed, match="native libraries are missing") as caught:
        module.write_pdf("", assets={}, attachments=(), moment=MOMENT, identifier="0")
    assert "libpango-1.0-0" in caught.value.fix

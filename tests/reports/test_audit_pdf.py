"""The audit in print and as tables: structure, words, bounds, and what a broken ledger looks like."""

import csv
import io
import re
from datetime import date, datetime
from typing import Any

import pikepdf
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reports.audit import audit, render_audit, verdict_box
from reports.audit_csv import csv_files, harmless
from reports.audit_tables import MOST_ROWS, listing
from reports.pdf import _style
from tasks.audit.build import audit_report
from tasks.audit.history import Period
from tasks.audit.report import AuditReport, ChainProblem, ChainResult, Contradiction
from tasks.core.canonical import canonical_json
from tasks.core.errors import TamperingFound
from tasks.delivery import formula_marks
from tasks.ledger.chain import Examination
from tasks.ledger.entry import Head
from tests.support.audited import NOW, QUARTER, START, Chronicle, busy_quarter, policy
from tests.support.examples import examples
from tests.support.rendered import audit_html

BROKEN = ChainProblem(entry=30, what="an entry of the ledger was edited", expected="its SHA-256", got="a different one")


@pytest.fixture(scope="module")
def report() -> AuditReport:
    return busy_quarter().audit()


@pytest.fixture(scope="module")
def content(report: AuditReport) -> bytes:
    return render_audit(report)


@pytest.fixture(scope="module")
def pdf(content: bytes) -> Any:
    with pikepdf.open(io.BytesIO(content)) as opened:
        yield opened


def broken(problem: ChainProblem) -> AuditReport:
    error = TamperingFound(problem.what, expected=problem.expected, got=problem.got)
    head = Head((problem.entry or 44) - 1, "0" * 64)
    examined = Examination(tuple(busy_quarter().rows), head, 0, 0, error, problem.entry)
    return audit_report(examined, QUARTER, noted_outside=0, made_at=NOW, program="0.1.0")


def text(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html.replace("<wbr>", "")))


def elements(node: Any) -> Any:
    kids = node.get("/K", [])
    for kid in kids if isinstance(kids, pikepdf.Array) else [kids]:
        if isinstance(kid, pikepdf.Dictionary) and "/S" in kid:
            yield kid
            yield from elements(kid)


def test_it_is_tagged_pdf_a_3a_with_the_report_attached(pdf: pikepdf.Pdf, report: AuditReport) -> None:
    packet = pdf.Root.Metadata.read_bytes()
    assert b'pdfaid:part="3"' in packet
    assert b'pdfaid:conformance="A"' in packet
    assert pdf.Root.MarkInfo.Marked
    assert pdf.attachments["audit.json"].get_file().read_bytes() == canonical_json(report)
    assert [str(file.AFRelationship) for file in pdf.Root.AF] == ["/Data"]
    assert str(pdf.docinfo["/CreationDate"]).startswith("D:20260410083000")


def test_bookmarks_name_every_section_and_figures_have_their_texts(pdf: pikepdf.Pdf, report: AuditReport) -> None:
    with pdf.open_outline() as marks:
        titles = [str(item.title) for item in marks.root] + [
            str(child.title) for item in marks.root for child in item.children
        ]
    expected = [f"{one.number} {one.title}" for one in audit(report).sections]
    assert [title for title in titles if title in expected] == expected
    assert "Contents" in titles
    tree = list(elements(pdf.Root.StructTreeRoot))
    assert [str(part.get("/Alt")) for part in tree if part.S == "/Figure"] == [
        figure.alt for figure in audit(report).charts.values()
    ]
    tables = [part for part in tree if part.S == "/Table"]
    headed = [table for table in tables if any(part.S == "/TH" for part in elements(table))]
    assert len(tables) - len(headed) == 1, "only the signature lines have none"


def test_no_page_is_empty(pdf: pikepdf.Pdf) -> None:
    assert 8 <= len(pdf.pages) <= 12
    for page in pdf.pages:
        shown = [part for part in pikepdf.parse_content_stream(page) if str(part.operator) in {"Tj", "TJ"}]
        assert len(shown) > 12


def test_the_same_report_gives_the_same_bytes(report: AuditReport, content: bytes) -> None:
    assert render_audit(report) == content
    assert csv_files(report) == csv_files(report)


def test_every_item_is_in_print(report: AuditReport) -> None:
    shown = text(audit_html(report))
    for words in (
        "The ledger is unchanged",
        "3 released, 1 awaiting review, 1 blocked, 1 failed",
        "expiring within 30 days: 1, within 60: 2, within 90: 3",
        "Re-assessments of delivered copies: none recorded",
        "override of reviewers",
        "same version, different contents",
        "revoked 2026-03-11 15:00, after 30.0 h",
        "No confirmations are recorded",
        "No exception.",
        "0 of these came from the login that made the request",
    ):
        assert words in shown, words
    assert "None" not in shown.replace("None recorded", "")
    assert not re.search(r"\b\d+\.\d{6,}", shown), "no figure is printed as the machine holds it"


def test_a_broken_ledger_is_told_loudly_and_from_where() -> None:
    html = audit_html(broken(BROKEN))
    first = text(html[: html.index('id="contents"')])
    assert "✗ The ledger is broken from entry 30 on" in first
    assert "An entry of the ledger was edited." in first
    shown = text(html)
    assert "#31 †" in shown
    assert "#29 †" not in shown
    assert "#43" not in shown.replace("#43 †", "")
    assert "The ledger is unchanged" not in shown


def test_broken_guards_leave_nothing_proven() -> None:
    told = verdict_box(broken(BROKEN.model_copy(update={"entry": None})).chain)
    assert told.words == "The ledger is broken"
    assert "nothing in this report is proven" in told.meaning


def test_contradictions_are_told_on_the_first_page() -> None:
    log = Chronicle()
    log.request("one")
    log.decide("one", verdict="blocked")
    log.deliver("one")
    html = audit_html(log.audit())
    assert "contradicts itself" in text(html[: html.index('id="contents"')])
    assert "Entries that contradict each other" in text(html)


def test_an_empty_audit_says_in_each_section_that_there_is_nothing() -> None:
    empty = Chronicle().audit()
    html = audit_html(empty)
    assert audit(empty).charts == {}
    for one in audit(empty).sections:
        start = html.index(f'id="{one.key}"')
        assert len(text(html[start : html.index("</section>", start)])) > len(one.title) + 30, one.key
    assert "<tbody>\n</tbody>" not in html
    assert render_audit(empty).startswith(b"%PDF")


def test_long_tables_are_cut_in_print_alone() -> None:
    log = Chronicle()
    for number in range(MOST_ROWS + 5):
        log.after(minutes=5).publish(f"r{number}", reasons=("long " * 100,))
    report = log.audit()
    for name in ("requests", "files", "certificates", "attacks"):
        table, which = listing(report, name), "first" if name == "certificates" else "latest"
        assert len(table.rows) == MOST_ROWS
        rest = f"The {which} {MOST_ROWS} of {MOST_ROWS + 5} rows; all are in {name}.csv and audit.json."
        assert table.caption.endswith(rest)
    requests = listing(report, "requests").rows
    assert requests[-1][0].startswith(f"#{len(log.rows) - 2} ")
    assert requests[0][-1].endswith("…")
    assert len(list(csv.reader(io.StringIO(csv_files(report)["files.csv"].decode())))) == MOST_ROWS + 6


def test_a_table_is_a_csv_file_with_all_its_fields(report: AuditReport) -> None:
    files = csv_files(report)
    assert set(files) == {
        "requests.csv", "recipients.csv", "files.csv", "certificates.csv", "reassessed.csv", "overdue.csv",
        "blocked_today.csv",
        "renewals.csv", "past_due.csv",
        "interventions.csv", "policies.csv", "keys.csv", "signed.csv", "gates.csv", "near.csv", "attacks.csv",
        "traces.csv", "agreements.csv", "destructions.csv", "duty_exceptions.csv", "contradictions.csv",
        "summary.csv",
    }  # fmt: skip
    rows = list(csv.DictReader(io.StringIO(files["files.csv"].decode(), newline="")))
    assert [(row["records_low"], row["records_high"]) for row in rows] == [
        ("400", "400"), ("400", "400"), ("900", "900"), ("400", "400"), ("1", "10"), ("1200", "1200"),
    ]  # fmt: skip
    assert rows[3]["released_at"] == "2026-01-05T09:02:00Z"
    assert rows[0]["in_period"] == "no"
    left = [row["days_left"] for row in csv.DictReader(io.StringIO(files["agreements.csv"].decode(), newline=""))]
    assert left == ["-11", "50"]
    summary = dict(csv.reader(io.StringIO(files["summary.csv"].decode())))
    assert (summary["first_day"], summary["intact"], summary["requests released"]) == ("2026-01-01", "yes", "3")


@settings(max_examples=examples(200), deadline=None)
@given(st.text(st.sampled_from("'=+-@\t\r\n＝1a "), max_size=6))
def test_cells_are_as_harmless_as_those_of_released_files(cell: str) -> None:
    released = formula_marks.harmless(pa.array([cell]))[0].as_py()
    made = harmless(cell)
    assert made == released or re.fullmatch(r"-[\d.]+(e\d+)?", cell)
    assert not made or made[0] not in "=+-@\t\r\n＝"


def test_formulas_in_names_are_harmless_in_every_table() -> None:
    log = Chronicle()
    log.request("one", by="=HYPERLINK(1)", title="@SUM(A1)")
    log.decide("one", reasons=("+1",), organisation="=cmd|x", purpose="-2+3", requested_by="=HYPERLINK(1)")
    log.deliver("one")
    log.revoke("one", by="=HYPERLINK(1)")
    for name, file in csv_files(log.audit()).items():
        for row in csv.reader(io.StringIO(file.decode(), newline="")):
            risky = [cell for cell in row if cell[:1] in set("=+@\t\r\n")]
            assert risky == [], name


def test_markup_in_names_is_printed_and_not_run() -> None:
    log = Chronicle()
    log.request("one", title="<script>alert(1)</script>", by="<b>A</b>")
    html = audit_html(log.audit())
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


@pytest.mark.parametrize(
    ("changes", "sign"),
    [
        ({}, "✓"),
        ({"unreadable": (3,)}, "!"),
        ({"contradictions": (Contradiction(release_id="r", recipient="a", where="", what=""),)}, "!"),
        ({"problem": BROKEN, "intact": False}, "✗"),
    ],
)
def test_the_box_on_the_first_page(report: AuditReport, changes: dict[str, Any], sign: str) -> None:
    assert verdict_box(ChainResult.model_validate(report.chain.model_copy(update=changes).model_dump())).sign == sign


def test_an_unfinished_day_is_told() -> None:
    log = Chronicle()
    made = datetime.combine(date(2026, 3, 31), START.timetz())
    assert "that day has not ended" in text(audit_html(log.audit(made_at=made)))
    assert "that day has not ended" not in text(audit_html(log.audit()))


def test_no_table_leaves_the_page_however_long_its_names_are() -> None:
    """Unbroken names of eighty letters in every text; the right edge of the print is 190 mm from the left."""
    log, long = busy_quarter(), "W" * 80
    terms = {"agreement": {"id": f"DUA-{long}", "expires": date(2026, 4, 30)}, "valid_until": date(2026, 4, 20)}
    names = {"organisation": long, "dataset": long, "requested_by": long, "policy": policy(f"2026.9-{long}")}
    log.publish("long", long.casefold()[:60], **terms, **names)
    html = audit_html(log.audit(Period(date(2026, 1, 1), date(2026, 4, 9))))
    weasyprint, fonts, style = _style()
    rendered = weasyprint.HTML(string=html).render(stylesheets=[style], font_config=fonts)
    edge, words = 190 * 96 / 25.4, 0
    for page in rendered.pages:
        for box in page._page_box.descendants():
            if getattr(box, "text", "").strip():
                words += 1
                assert box.position_x + box.width <= edge + 1, box.text
    assert words > 500

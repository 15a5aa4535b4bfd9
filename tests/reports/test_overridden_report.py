"""What a determination and a certificate say of gates that failed and are overridden."""

import io

import pikepdf

from reports.certificate import render_certificate
from reports.determination import render_determination
from tasks.decision.record import Verdict
from tests.reports.test_certificate import TELLING
from tests.support import records, texts
from tests.support.brief_reports import brief_reports
from tests.support.overridden_records import GATE, OFFICER, REASON, overridden
from tests.support.rendered import certificate_html, determination_html


def test_the_first_page_says_that_it_is_an_exception_and_whose() -> None:
    record = overridden()
    page = texts.sections(determination_html(record))["decision"]
    for part in (
        "✓ Approved, by exception",
        "Exception: 1 of 14 gates has failed and is overridden by P. Officer, for the reasons below",
        "FAILED, OVERRIDDEN: Highest risk of a record from a recipient who knows the method: 0.125 measured; at most",
        "The policy's limit on “Highest risk of a record from a recipient who knows the method” was exceeded: 0.125, "
        "at most 0.09; P. Officer accepted this.",
        REASON,
        f"release {record.supersedes}",
    ):
        assert part in page, part
    told = texts.sections(determination_html(record))
    assert "✗ failed, overridden" in told["judged"]
    assert ", except those that are overridden. The person who signs" in told["statement"]
    waiting = records.changed(record, decision=Verdict.AWAITING_REVIEW, reviews_required=2)
    assert "◔ Awaiting review, by exception" in texts.sections(determination_html(waiting))["decision"]


def test_the_gate_table_shows_the_figure_as_failed_and_the_history_tells_by_whom() -> None:
    record = overridden()
    told = texts.sections(determination_html(record))
    assert f"{GATE} 0.125 at most 0.09 probability ✗ failed, overridden" in told["gates"]
    history = told["history"]
    for part in (OFFICER, REASON, "8 March 2026, 10:30", records.sha("entry"), records.sha("inputs"), "7 April 2026"):
        assert part in history, part


def test_nothing_of_it_stands_where_every_gate_passed() -> None:
    text = texts.seen(determination_html(records.approved()))
    for part in ("overrid", "was exceeded", "exception:", "by exception", "takes the place of"):
        assert part not in text.replace("overridden by", ""), part


def test_the_certificate_says_that_there_is_an_exception_and_not_which() -> None:
    record = overridden()
    text = texts.seen(certificate_html(record))
    assert "It was approved by way of exception: P. Officer, for the releasing organisation, is responsible" in text
    assert f"Supersedes release {record.supersedes}" in text
    assert TELLING.search(text) is None
    assert REASON not in text
    plain = records.changed(record, gates=records.approved().gates, supersedes=None)
    assert "exception" not in texts.seen(certificate_html(plain))


def test_both_are_rendered_as_pdf() -> None:
    record = overridden()
    with brief_reports():
        rendered = (render_determination(record), render_certificate(record))
    for content in rendered:
        with pikepdf.open(io.BytesIO(content)) as document:
            assert document.Root.MarkInfo.Marked

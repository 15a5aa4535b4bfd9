"""Reports that are brief: the first lines of the determination, of its evidence and of the certificate, without charts.

Laying out all sections takes seconds a recipient. Tests that run the gate use these; the renderer, the PDFs with
tags and attachments are the real ones, their words are one paragraph. Tests that ask what a whole report tells look at
what it is made of.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from itertools import islice

import pytest

import reports.certificate
import reports.determination
import reports.pdf
from reports.model.document import Document, Section
from reports.model.record_view import RecordView
from reports.sections.contents import determination_sections, evidence_sections
from reports.sections.overview import decision
from reports.sections.summary import about
from reports.templating import document_html
from tasks.decision.record import DecisionRecord

_whole_certificate = reports.certificate.certificate


def _brief_determination(view: RecordView) -> tuple[Section, ...]:
    return (Section("decision", "Decision", tuple(islice(decision(view), 1)), "1"),)


def _brief_evidence(view: RecordView) -> tuple[Section, ...]:
    return (Section("about", "About this document", tuple(about(view))),)


def _brief_certificate(record: DecisionRecord, approved_at: datetime | None = None) -> Document:
    whole = _whole_certificate(record, approved_at)
    return replace(whole, sections=whole.sections[:2])


def _plain_html(document: Document) -> str:
    """The words of a document, without layout."""
    head, body = document_html(document).split("<body", 1)
    return f"{head}<body><p>{re.sub('<[^>]+>', ' ', body.partition('>')[2])}</p></body></html>"


@contextmanager
def brief_reports() -> Iterator[None]:
    """Make the reports of this process brief, for a while."""
    with _reports_of(_brief_determination, _brief_evidence), pytest.MonkeyPatch.context() as patch:
        patch.setattr(reports.certificate, "certificate", _brief_certificate)
        patch.setattr(reports.pdf, "document_html", _plain_html)
        yield


def whole_report(record: DecisionRecord) -> bytes:
    """What determination and evidence of a record are made of: their HTML and their charts."""
    with _reports_of(determination_sections, evidence_sections):
        documents = [reports.determination.determination(record), reports.determination.evidence(record)]
    charts = [chart.svg for document in documents for chart in document.charts.values()]
    return b"\n".join([*(document_html(document).encode() for document in documents), *charts])


def whole_certificate(record: DecisionRecord) -> bytes:
    """The HTML of the certificate that goes with a record."""
    return document_html(_whole_certificate(record)).encode()


@contextmanager
def _reports_of(determination: object, evidence: object) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reports.determination, "determination_sections", determination)
        patch.setattr(reports.determination, "evidence_sections", evidence)
        yield

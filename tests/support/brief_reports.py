"""Reports that are brief: the decision page alone, without charts.

Laying out all twenty sections takes seconds a recipient. Tests that run the gate use these; the renderer, the PDF, its
tags and its attachments are the real ones. Tests that ask what a whole report tells look at what it is made of.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest

import reports.determination
from reports.document import Section
from reports.record_view import RecordView
from reports.sections.contents import determination_sections
from reports.sections.overview import decision
from reports.templating import document_html
from tasks.decision.record import DecisionRecord


def _brief_sections(view: RecordView, _evidence: Mapping[str, bytes]) -> tuple[Section, ...]:
    return (Section("decision", "Decision", tuple(decision(view)), "1"),)


@contextmanager
def brief_reports() -> Iterator[None]:
    """Make the reports of this process brief, for a while."""
    with _reports_of(_brief_sections):
        yield


def whole_report(record: DecisionRecord) -> bytes:
    """What the whole report of a record is made of: its HTML and its charts."""
    with _reports_of(determination_sections):
        document = reports.determination.determination(record, {})
    return b"\n".join([document_html(document).encode(), *(chart.svg for chart in document.charts.values())])


@contextmanager
def _reports_of(sections: object) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reports.determination, "determination_sections", sections)
        yield

"""Reports that are brief: the decision page alone, without figures.

Laying out all twenty sections takes seconds a recipient. Tests that run the gate use these; the renderer, the PDF, its
tags and its attachments are the real ones. Tests that ask what a whole report tells look at what it is made of.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest

import reports.determination
from reports.charting import Figure
from reports.figures import figures
from reports.sections import Section, sections
from tasks.decision.record import DecisionRecord

WHOLE = frozenset({"decision"})


def _brief_sections(record: DecisionRecord) -> tuple[Section, ...]:
    return tuple(section for section in sections(record) if section.key in WHOLE)


def _no_figures(_record: DecisionRecord) -> Mapping[str, Figure]:
    return {}


@contextmanager
def brief_reports() -> Iterator[None]:
    """Make the reports of this process brief, for a while."""
    with _reports_of(_brief_sections, _no_figures):
        yield


def whole_report(record: DecisionRecord) -> bytes:
    """What the whole report of a record is made of: its HTML and its figures."""
    with _reports_of(sections, figures):
        html = reports.determination.determination_html(record)
    return b"\n".join([html.encode(), *(figure.svg for figure in figures(record).values())])


@contextmanager
def _reports_of(parts: object, drawn: object) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reports.determination, "sections", parts)
        patch.setattr(reports.determination, "figures", drawn)
        yield

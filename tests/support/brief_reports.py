"""Reports that are brief: the decision page in full, every other section a line, no charts.

Rendering all twenty sections takes seconds a recipient. Tests that ask nothing of a report's words, but run the gate
many times, use these; the renderer, the PDF, its tags and its attachments are the real ones.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

import pytest

import reports.determination
from reports.document import Paragraph, Section
from reports.record_view import RecordView
from reports.sections.overview import decision


def _brief_sections(view: RecordView, _evidence: Mapping[str, bytes]) -> tuple[Section, ...]:
    first = Section("decision", "Decision", tuple(decision(view)), "1")
    return (
        first,
        *(
            replace(first, key=f"brief{number}", number=str(number), title="Brief", blocks=(Paragraph("Left out."),))
            for number in range(2, 21)
        ),
    )


@contextmanager
def brief_reports() -> Iterator[None]:
    """Make the reports of this process brief, for a while."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reports.determination, "determination_sections", _brief_sections)
        yield

"""Reports that are brief: the decision page in full, every other section a line, no figures.

Rendering all twenty sections takes seconds a recipient. Tests that ask nothing of a report's words, but run the gate
many times, use these; the renderer, the PDF, its tags and its attachments are the real ones.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

import pytest

import reports.determination
from reports.charting import Figure
from reports.sections import Section, sections
from tasks.decision.record import DecisionRecord

WHOLE = frozenset({"decision"})


def _brief_sections(record: DecisionRecord) -> tuple[Section, ...]:
    return tuple(part if part.key in WHOLE else replace(part, template="absent", parts=()) for part in sections(record))


def _no_figures(_record: DecisionRecord) -> Mapping[str, Figure]:
    return {}


@contextmanager
def brief_reports() -> Iterator[None]:
    """Make the reports of this process brief, for a while."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reports.determination, "sections", _brief_sections)
        patch.setattr(reports.determination, "figures", _no_figures)
        yield

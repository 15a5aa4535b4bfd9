"""Changes that may open a blocked release's gates, as the terminal shows them."""

from collections.abc import Iterator

from reports.document import Block, Paragraph
from tasks.decision.record import DecisionRecord
from tasks.decision.remedies import remedies


def recorded_remedies(record: DecisionRecord) -> Iterator[Block]:
    """The remedies that follow from a record; commands on lines of their own, to be copied."""
    for sentence in remedies(record):
        said, _, command = sentence.partition(": releasegate ")
        yield Paragraph(f"  → {said}:" if command else f"  → {said}", "lead")
        if command:
            yield f"    releasegate {command}"

"""Changes that may open a blocked release's gates, as the terminal shows them."""

from collections.abc import Iterator

from reports.model.document import Block, Paragraph
from tasks.decision.record import DecisionRecord
from tasks.decision.remedies import ALL_GATES, remedies


def recorded_remedies(record: DecisionRecord, *, in_vain: bool = False) -> Iterator[Block]:
    """The remedies that follow from a record; commands on lines of their own, to be copied.

    ``in_vain`` says that to withhold the columns was tried and is not enough, which a record cannot tell.
    """
    for told in remedies(record):
        sentence = told.replace(ALL_GATES, "") if in_vain else told
        said, _, command = sentence.partition(": releasegate ")
        yield Paragraph(f"  → {said}:" if command else f"  → {said}", "lead")
        if command:
            yield f"    releasegate {command}"

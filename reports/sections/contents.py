"""The sections of a determination and of its evidence, in an order and with numbers that never change.

The determination is what a board reads and an expert signs: six sections on at most six pages. The evidence has every
figure. A section whose stage did not run says so, so that “section E10” is the risk in every evidence.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from reports.model.document import Block, Section
from reports.model.record_view import RecordView
from reports.model.statements import missing_reasons
from reports.sections import (
    attribute,
    columns,
    combined,
    dates,
    decoys,
    events,
    gates,
    identity,
    linkage,
    method,
    overview,
    reference,
    release,
    sequential,
    singling_out,
    summary,
    text,
    threats,
    utility,
    validation,
)
from tasks.request.model import Role

Writer = Callable[[RecordView], Iterable[Block]]
_Fact = TypeVar("_Fact")
_Entry = tuple[str, str, Writer, *tuple[tuple[str, str, Writer], ...]]


def determination_sections(view: RecordView) -> tuple[Section, ...]:
    """The six sections of the determination."""
    return _sections(view, "", _determination())


def evidence_sections(view: RecordView) -> tuple[Section, ...]:
    """Its subject, and its seventeen sections; parts of E10 and E11 as far as something was measured."""
    about = Section("about", "About this document", tuple(summary.about(view)))
    return (about, *_sections(view, "E", _evidence(view)))


def _sections(view: RecordView, prefix: str, contents: Iterable[_Entry]) -> tuple[Section, ...]:
    return tuple(
        Section(
            key,
            title,
            tuple(writer(view)),
            f"{prefix}{number}",
            tuple(
                Section(own, name, tuple(write(view)), f"{prefix}{number}.{place}")
                for place, (own, name, write) in enumerate(parts, start=1)
            ),
        )
        for number, (key, title, writer, *parts) in enumerate(contents, start=1)
    )


def _determination() -> Iterator[_Entry]:
    yield "decision", "Decision", overview.decision
    yield "statement", "Determination statement and legal basis", overview.statement
    yield "judged", "Risks and gates", summary.judged
    yield "loss", "What the copy keeps", summary.loss
    yield "assumed", "Assumptions that matter", summary.assumed
    yield "conditions", "Conditions, re-certification, monitoring", release.conditions


def _evidence(view: RecordView) -> Iterator[_Entry]:
    measured = view.record.risk is not None
    yield "limitations", "Limitations and assumptions", overview.limitations
    yield "context", "Context of the release", release.context
    yield "data", "Data", release.data
    yield "fields", "Field inventory", release.fields
    yield "safeharbor", "Safe Harbor checklist", validation.safe_harbor
    yield "validation", "Validation", validation.validation
    yield "threats", "Threat model", threats.threats
    yield "threshold", "Thresholds and their precedents", threats.thresholds
    yield "method", "Method", method.method
    risks: tuple[tuple[str, str, Writer], ...] = (
        ("sequential", "Sequential adversary", _part("sequential", view.sequential, sequential.sequential)),
        ("combined", "Identity and attributes in one score", _part("combined", view.combined, combined.combined)),
        ("criteria", "Singling out, linkability, inference", threats.criteria),
        (
            "singling_out",
            "Records that a few columns single out",
            _part("singling_out", view.singling_out, singling_out.singling_out),
        ),
        ("attribute", "What classes disclose", _part("attribute", view.attribute, attribute.attribute)),
        ("columns", "What released columns reveal", _part("columns", view.columns, columns.columns)),
    )
    if view.record.dataset.rows is not None:
        risks += (("events", "Rows of people", _part("events", view.events, events.events)),)
    if view.moves_dates:
        risks += (("dates", "Shifted and relative dates", _part("dates", view.dates, dates.dates)),)
    if view.fields(Role.TEXT):
        risks += (("text", "Released text", _part("text", view.text, text.text)),)
    yield "risk", "Risk before and after", identity.risk_section, *(risks if measured else ())
    attacks = (
        ("transparency", "Transparency", identity.transparency),
        ("linkage", "Record linkage", _part("linkage", view.linkage, linkage.linkage)),
    )
    yield "tests", "Adversarial tests beside their baselines", identity.tests, *(attacks if measured else ())
    yield "decoys", "Decoys", decoys.decoys
    yield "utility", "Utility before and after", utility.utility
    yield "gates", "Gates", gates.gates
    yield "reproduction", "Reproducibility", release.reproduction
    yield "history", "Approval history", release.history
    yield "reference", "Qualification, definitions, references", reference.reference


def _part(key: str, fact: _Fact | None, write: Callable[[RecordView, _Fact], Iterable[Block]]) -> Writer:
    """The part of an assessment; where it did not finish, why."""

    def writer(view: RecordView) -> Iterable[Block]:
        if fact is not None:
            return write(view, fact)
        return [
            f"Not measured for this release. {missing_reasons(view.record, key)} No figure of this kind exists, before "
            "or after, and none should be inferred from the others. A stage that did not finish blocks the release."
        ]

    return writer

"""Sensitive values of rows that the classes of their persons disclose, to whoever knows that a person is in the file.

The recipient is taken to see which rows are of one person.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tasks.assessments.assessment import Assessment, Effort, Finding
from tasks.assessments.attribute.assessment import class_table, informed_presence
from tasks.assessments.attribute.class_values import Bools, Floats, OrderedValues, Ranks
from tasks.assessments.events.disclosed import DisclosedEvents, disclosed_events
from tasks.assessments.events.facts import EventColumnFact, EventsFact
from tasks.candidate.candidate import Candidate
from tasks.candidate.coalition import Coalition, worst
from tasks.core.errors import StageFailed
from tasks.microdata.coded import CodedColumn, Events, sensitivities
from tasks.request.model import Measure, MissingReading, ReleaseRequest, ValueType


@dataclass(frozen=True)
class EventValues:
    """Released persons by class, and the sensitive values of their rows."""

    classes: Ranks
    """Class of each person, from 0 without gaps; shape (n_persons,)."""
    persons: NDArray[np.int64]
    """Person of each row, shape (n_rows,)."""
    columns: Mapping[str, OrderedValues]

    @classmethod
    def of(
        cls,
        classes: Ranks,
        persons: NDArray[np.int64],
        columns: Mapping[str, CodedColumn],
        missing: MissingReading = MissingReading.ANY_VALUE,
    ) -> "EventValues":
        """Some persons and their rows; `persons` is −1 for rows of others, which are left out."""
        rows = np.flatnonzero(persons >= 0)
        return cls(
            classes, persons[rows], {name: OrderedValues.of(one, rows, missing) for name, one in columns.items()}
        )

    @cached_property
    def found(self) -> dict[str, DisclosedEvents]:
        """What classes disclose, by attribute."""
        tests = sum(len(one.ends) for one in self.columns.values()) * int(self.classes.max(initial=0) + 1)
        return {name: disclosed_events(self.classes, self.persons, one, tests) for name, one in self.columns.items()}

    @property
    def disclosed(self) -> Bools:
        """Whether the class of each person discloses something of the person's rows, shape (n_persons,)."""
        nothing = np.zeros(len(self.classes), dtype=np.bool_)
        found: Bools = np.logical_or.reduce([nothing, *(one.disclosed for one in self.found.values())])
        return found

    def figures(self, presence: Floats) -> dict[Measure, float]:
        """Figures of gates; `presence` is the share in the file of the people whom each class could be."""
        return {
            Measure.ATTRIBUTE_DISCLOSED: float(self.disclosed.mean()),
            Measure.ATTRIBUTE_HOMOGENEOUS: max(
                (float(one.homogeneous.mean()) for one in self.found.values()), default=0.0
            ),
            Measure.ATTRIBUTE_RISE: max(
                (float((one.rises * presence).max()) for one in self.found.values()), default=0.0
            ),
        }


def judged_events(request: ReleaseRequest) -> tuple[str, ...]:
    """Released attributes of rows that are sensitive."""
    weights = sensitivities(request)
    return tuple(name for name in request.events if name in weights and weights[name].attribute > 0)


def events_of(candidate: Candidate) -> Events:
    """The rows of a candidate's persons; StageFailed where each row is a record."""
    if candidate.prepared.events is None:
        raise StageFailed("the file has one row a person", where="events", expected="the persons of rows")
    return candidate.prepared.events


def event_values(candidate: Candidate, coalition: Coalition | None = None) -> tuple[EventValues, Floats]:
    """The persons of a copy alone, or as a coalition sees them, and their rows; and the presence of each class."""
    events, table = events_of(candidate), class_table(candidate, coalition)
    place = np.full(len(candidate.prepared.tuple_of_record), -1, dtype=np.int64)
    place[candidate.rows] = np.arange(len(candidate.rows))
    columns = {name: events.columns[name] for name in judged_events(candidate.request)}
    missing = candidate.request.policy.missing.sensitive
    found = EventValues.of(table.classes, place[events.of_row], columns, missing)
    return found, informed_presence(candidate, table, coalition)


class EventsAssessment(Assessment[EventsFact]):
    """Values of rows that classes disclose; gates on attribute.* judge them as they judge those of people."""

    id = "events"
    stage = "rows of people"
    fact = EventsFact

    def applies(self, request: ReleaseRequest) -> bool:
        """Where a person can have several rows."""
        return request.dataset.person is not None

    def _assess(self, candidate: Candidate, effort: Effort) -> Finding[EventsFact]:
        """Judge a candidate; the counts are of the copy alone."""
        request, events = candidate.request, events_of(candidate)
        found, presence = event_values(candidate)
        figures = worst(found.figures(presence), self._pooled(candidate))
        fact = EventsFact(
            person=str(request.dataset.person),
            people_in=len(candidate.prepared.tuple_of_record),
            rows_in=len(events.of_row),
            people=len(found.classes),
            rows=len(found.persons),
            attributes=request.events,
            columns=tuple(_column(request, name, found, presence) for name in found.columns),
            disclosed_people=int(found.disclosed.sum()),
            figures={measure.value: figure for measure, figure in figures.items()},
        )
        return Finding(fact, {})

    def figures(self, candidate: Candidate) -> dict[Measure, float]:
        """Figures that gates on attributes of people judge too, the worst of the copy alone and in any coalition."""
        found, presence = event_values(candidate)
        return worst(found.figures(presence), self._pooled(candidate))

    def _pooled(self, candidate: Candidate) -> Iterator[dict[Measure, float]]:
        """The figures as each coalition sees the copy."""
        for coalition in candidate.coalitions:
            found, presence = event_values(candidate, coalition)
            yield found.figures(presence)


def _column(request: ReleaseRequest, name: str, found: EventValues, presence: Floats) -> EventColumnFact:
    values, disclosed = found.columns[name], found.found[name]
    return EventColumnFact(
        column=name,
        values=len(values.ends),
        judged=int(values.judged.sum()),
        width=None if request.attributes[name].type is ValueType.DATE else values.width,
        largest_share=disclosed.largest_share,
        informed_rise=float((disclosed.rises * presence).max()),
        homogeneous_people=int(disclosed.homogeneous.sum()),
        disclosed_people=int(disclosed.disclosed.sum()),
    )

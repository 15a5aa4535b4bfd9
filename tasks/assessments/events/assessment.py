"""Rows of people: people found by rows that others know, and sensitive rows that classes disclose.

The recipient is assumed to see which rows are of one person, and to know that a person is in the file. The people who
match known rows are counted in the file, from below: no table of the population tells of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tasks.assessments.attribute.assessment import class_table, informed_presence
from tasks.assessments.events.facts import EventColumnFact, EventsFact, KnownRowsFact
from tasks.assessments.identity.outcome import risk_view, transparent_risk
from tasks.assessments.identity.score import risk_figures
from tasks.assessments.sequential.assessment import gate_figures, judged_belief
from tasks.candidate.assessment import Assessment, Effort, Finding
from tasks.candidate.candidate import Candidate
from tasks.candidate.class_values import Disclosed, Floats, OrderedValues, Ranks
from tasks.candidate.coalition import Coalition, worst
from tasks.candidate.groups import groups
from tasks.candidate.item_values import item_values
from tasks.candidate.several_values import disclosed_of_several
from tasks.candidate.value_counts import JudgedClasses
from tasks.core.errors import ParameterError, StageFailed
from tasks.generalization.game.sequential_follower import SequentialFollower
from tasks.generalization.known_rows import KnownEvents, event_numbers, known_events
from tasks.microdata.coded import CodedColumn, Events, sensitivities
from tasks.microdata.tables import RowTables
from tasks.request.model import Measure, MissingReading, ReleaseRequest, ValueType


@dataclass(frozen=True)
class EventValues(JudgedClasses):
    """Released persons by class, as records, and of the sensitive attributes the values of the rows of their tables."""

    persons: NDArray[np.int64]
    """Person of each row, shape (n_rows,)."""
    owners: Mapping[str, NDArray[np.int64]]
    """Person of each of these rows, by attribute."""
    events: NDArray[np.int64] | None
    """Number of the knowable values of each row that others may know; None where nothing may be known."""
    known_of: NDArray[np.int64]
    """Person of each row that others may know."""
    known: int
    """Most rows of a person that are known together."""

    @classmethod
    def of(
        cls,
        classes: Ranks,
        persons: NDArray[np.int64],
        columns: Mapping[str, CodedColumn],
        tables: RowTables | None,
        request: ReleaseRequest,
    ) -> "EventValues":
        """Some persons and their rows; ``persons`` is −1 for rows of others, which are left out.

        What others may know of a row of several tables is its table, and what they may know of the rows that it is
        within as well. A missing value is one more value of what is known: it makes nobody match who might not. Of what
        is withheld where too few people match, an empty cell of the dataset may be a withheld value, which is none of
        those that others share.
        """
        rows, names, own_rows = np.flatnonzero(persons >= 0), request.known_events, dict[str, NDArray[np.intp]]()
        knowable, of_table = rows, list[NDArray[np.int8]]()
        if tables is not None:
            knowable = rows[tables.known(request)[rows]]
            of_table = [tables.of_row[knowable]]
        for name in judged_events(request):
            own_rows[name] = rows if tables is None else rows[tables.of_row[rows] == request.number_of(name)]
        known, missing = request.policy.events.known, request.policy.missing.sensitive
        own = {name for name in names if request.policy.events.withholds and request.table_of(name) is None}
        owners = {name: persons[of_name] for name, of_name in own_rows.items()}
        return cls(
            classes,
            {
                name: OrderedValues.of(columns[name], of_name, MissingReading.OWN_GROUP if name in own else missing)
                for name, of_name in own_rows.items()
            },
            persons[rows],
            owners,
            event_numbers([*(columns[name].codes[knowable] for name in names), *of_table]) if names else None,
            persons[knowable],
            1 if known == "all" else known,
            items=item_values({name: columns[name] for name in own_rows}, own_rows, owners),
        )

    @cached_property
    def matched(self) -> KnownEvents | None:
        """People who match each person by the rows that are known; None where nothing may be known."""
        if self.events is None:
            return None
        return known_events(self.classes, self.known_of, self.events, self.known)

    @cached_property
    def found(self) -> dict[str, Disclosed]:
        """Disclosure by classes, by attribute."""
        columns, tests = self.columns.items(), self.tests
        values = {name: disclosed_of_several(self.classes, self.owners[name], one, tests) for name, one in columns}
        disclosed = self.with_items(self.classes, {name: one.disclosed for name, one in values.items()})
        return {name: replace(one, disclosed=disclosed[name]) for name, one in values.items()}


def judged_events(request: ReleaseRequest) -> tuple[str, ...]:
    """Released attributes of rows that are sensitive."""
    weights = sensitivities(request)
    return tuple(name for name in request.events if name in weights and weights[name].attribute > 0)


def read_events(request: ReleaseRequest) -> tuple[str, ...]:
    """Released attributes of rows that are judged: those that are sensitive or that others may know."""
    return tuple(dict.fromkeys((*judged_events(request), *request.known_events)))


def events_of(candidate: Candidate) -> Events:
    """The rows of a candidate's persons; StageFailed where each row is a record."""
    if candidate.prepared.events is None:
        raise StageFailed("the file has one row a person", where="events", expected="the persons of rows")
    return candidate.prepared.events


def event_values(candidate: Candidate, coalition: Coalition | None = None) -> tuple[EventValues, Floats]:
    """The persons of a copy alone, or as a coalition sees them, and their rows; and the presence of each class."""
    table, events = class_table(candidate, coalition), events_of(candidate)
    if coalition is None and candidate.released_events is not None:  # another copy may show what this one withholds
        events = candidate.released_events
    place = np.full(len(candidate.prepared.tuple_of_record), -1, dtype=np.int64)
    place[candidate.rows] = np.arange(len(candidate.rows))
    persons = place[events.of_row]
    if coalition is None:
        persons[~candidate.leaves] = -1
    found = EventValues.of(table.classes, persons, events.columns, events.tables, candidate.request)
    return found, informed_presence(candidate, table, coalition)


def disclosed_events(candidate: Candidate) -> tuple[str, ...]:
    """Attributes of rows whose values classes of a copy alone disclose."""
    return tuple(name for name, one in event_values(candidate)[0].found.items() if one.disclosed.any())


def people_matched(request: ReleaseRequest, matched: KnownEvents) -> NDArray[np.int64]:
    """The people who match each person by as many rows as the policy takes to be known."""
    return matched.all if request.policy.events.known == "all" else matched.some


def known_figures(candidate: Candidate, people: NDArray[np.int64]) -> dict[Measure, float]:
    """Figures of gates on identity where each person is one of so many people at least, shape (n_persons,).

    Raises StageFailed if the recipient's plan cannot be solved.
    """
    sizes, persons = np.unique(people, return_counts=True)
    policy, payoffs = candidate.request.policy, candidate.payoffs
    if isinstance(payoffs, SequentialFollower):
        payoffs = replace(payoffs, from_below=True)
    risk = risk_view(sizes, sizes, persons, policy.risk_threshold, policy.small_cell)
    try:
        profile = candidate.adversary.profile
        index = replace(candidate.index, from_below=True)
        belief = judged_belief(profile, groups(index, sizes, None, persons, profile.prior))
        return {
            **risk_figures(risk, transparent_risk(sizes, sizes, persons, payoffs)),
            **gate_figures((belief,), candidate.recipient.stakes.loss),
        }
    except ParameterError as error:
        raise StageFailed(**error.fields()) from None


class EventsAssessment(Assessment[EventsFact]):
    """Known rows and values of rows that classes disclose; gates judge the worse of people's figures and these."""

    id = "events"
    stage = "rows of people"
    fact = EventsFact

    def applies(self, request: ReleaseRequest) -> bool:
        """Whether a person can have several rows."""
        return request.dataset.person is not None

    def _assess(self, candidate: Candidate, effort: Effort) -> Finding[EventsFact]:
        """Judge a candidate; the counts are of the copy alone."""
        request, events = candidate.request, events_of(candidate)
        found, presence = event_values(candidate)
        figures = _worst(candidate, found, presence)
        fact = EventsFact(
            person=str(request.dataset.person),
            tables=tuple(request.tables),
            people_in=len(candidate.prepared.tuple_of_record),
            rows_in=len(events.of_row),
            people=len(found.classes),
            rows=len(found.persons),
            attributes=request.events,
            dated=tuple(name for name in request.events if name in request.dated),
            levels={name: one.level for name in request.events if (one := request.attributes[name]).level is not None},
            known=known_rows(request, found),
            withheld_rows=int(candidate.withheld_rows.sum()) if candidate.withheld_rows is not None else 0,
            too_few=request.policy.events.people is not None,
            most_rows=request.policy.events.most_rows,
            columns=tuple(_column(request, name, found, presence) for name in found.columns),
            disclosed_people=int(found.disclosed.sum()),
            figures={measure.value: figure for measure, figure in figures.items()},
        )
        return Finding(fact, {})

    def figures(self, candidate: Candidate) -> dict[Measure, float]:
        """Figures that gates on people judge too, the worst of the copy alone and in any coalition."""
        return _worst(candidate, *event_values(candidate))


def _worst(candidate: Candidate, found: EventValues, presence: Floats) -> dict[Measure, float]:
    """Figures of the copy alone or as any coalition sees it, whichever are worse."""
    pooled = (_figures(candidate, *event_values(candidate, one)) for one in candidate.coalitions)
    return worst(_figures(candidate, found, presence), pooled)


def _figures(candidate: Candidate, found: EventValues, presence: Floats) -> dict[Measure, float]:
    known = {} if found.matched is None else known_figures(candidate, people_matched(candidate.request, found.matched))
    return {**found.figures(presence), **known}


def known_rows(request: ReleaseRequest, found: EventValues) -> KnownRowsFact | None:
    """People who match known rows; None where nothing may be known."""
    matched = found.matched
    if matched is None:
        return None
    people = people_matched(request, matched)
    return KnownRowsFact(
        attributes=request.known_events,
        known=request.policy.events.known,
        fewest=int(people.min()),
        unique_people=int((people == 1).sum()),
        mean_risk=float((1.0 / people).mean()),
        unique_by_all=int((matched.all == 1).sum()),
        long_histories=int(matched.long.sum()),
    )


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

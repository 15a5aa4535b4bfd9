"""Linkage by dates: known true dates of a person against the shifted or relative ones of a copy.

The attacker knows that the person is in the file, some true dates with the column that each is of, and the largest
shift, not the offset. A person is a candidate whose released dates could be the known ones, moved by one offset; the
attacker guesses among them. A shift keeps the intervals between dates, so they are a fingerprint.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tasks.assessments.attribute.assessment import class_table
from tasks.assessments.dates.calendar import offset_knowledge
from tasks.assessments.dates.facts import STAGE, DatesFact, FoundFact, OffsetFact
from tasks.assessments.dates.histories import Histories
from tasks.assessments.dates.matching import Matches, matches_of_all, matches_of_known
from tasks.candidate.assessment import Assessment, Effort, Finding
from tasks.candidate.candidate import Candidate
from tasks.core.errors import StageFailed
from tasks.dates.offsets import Days
from tasks.request.dates import counts_from, largest_shift
from tasks.request.model import Measure, ReleaseRequest


def histories_of(
    candidate: Candidate, released: Mapping[str, Days], rows: NDArray[np.intp], persons: NDArray[np.int64], people: int
) -> Histories:
    """Dates of some rows of a candidate's file, as it releases them; parameters as of ``Histories.of``."""
    if not candidate.dates.columns:
        raise StageFailed("the dates of the copy are not at hand", where="dates", expected="the dates as released")
    return Histories.of(candidate.request, candidate.dates, released, rows=rows, persons=persons, people=people)


def released_histories(candidate: Candidate) -> Histories:
    """Dates of the released people of a candidate."""
    place = np.full(len(candidate.prepared.tuple_of_record), -1, dtype=np.int64)
    place[candidate.rows] = np.arange(len(candidate.rows))
    persons = place[candidate.dates.person_of_row]
    rows = np.flatnonzero(persons >= 0)
    released = {name: column.released[rows] for name, column in candidate.dates.columns.items()}
    return histories_of(candidate, released, rows, persons[rows], len(candidate.rows))


def found_by(histories: Histories, classes: NDArray[np.int64], known: int) -> dict[str, Matches]:
    """People who match the known dates of each person, by kind of knowledge."""
    nobody = np.zeros(histories.people, dtype=np.int64)
    return {
        "with_class": matches_of_known(histories, classes, known),
        "by_dates": matches_of_known(histories, nobody, known),
        "whole": matches_of_all(histories, classes),
    }


def found_fact(matches: Matches) -> FoundFact:
    """The expected share of people whom a guess finds, and those whom nobody else matches."""
    return FoundFact(share=float((1 / matches.fewest).mean()), alone=int((matches.fewest == 1).sum()))


class DatesAssessment(Assessment[DatesFact]):
    """Linkage by true dates, where dates are shifted or relative; nobody is found where none is."""

    id = "dates"
    stage = STAGE
    fact = DatesFact

    def applies(self, request: ReleaseRequest) -> bool:
        """Whether dates are shifted or relative, or a gate judges the linkage by dates."""
        return bool(request.dated) or any(gate.measure in self.gate_measures for gate in request.policy.gates)

    def _assess(self, candidate: Candidate, effort: Effort) -> Finding[DatesFact]:
        """Find each person by the dates that are released."""
        request, known = candidate.request, candidate.request.policy.dates.known
        if not request.dated:
            return Finding(_without_dates(len(candidate.rows), known), dict.fromkeys(self.gate_measures, 0.0))
        histories, days = released_histories(candidate), largest_shift(request)
        matches = found_by(histories, class_table(candidate, None).classes.astype(np.int64), known)
        found = {name: found_fact(one) for name, one in matches.items()}
        index = counts_from(request, request.dated[0])
        offset = OffsetFact(days=days, **vars(offset_knowledge(histories))) if days else None
        relative = tuple(name for name in request.dated if (t := request.attributes[name].date) and t.relative_to)
        fact = DatesFact(
            shifted=tuple(name for name in request.dated if name not in relative),
            relative=relative,
            index=index,
            known=known,
            people=histories.people,
            dates=len(histories.persons),
            uncounted=matches["by_dates"].uncounted,
            offset=offset,
            **found,
        )
        return Finding(
            fact,
            {
                Measure.DATES_LINKED: fact.with_class.share,
                Measure.DATES_ALONE: fact.by_dates.share,
                Measure.DATES_PATTERN: fact.whole.share,
                Measure.DATES_OFFSET: 0.0 if offset is None else offset.guessed,
            },
        )


def _without_dates(people: int, known: int) -> DatesFact:
    found = dict.fromkeys(("with_class", "by_dates", "whole"), FoundFact(share=0.0, alone=0))
    told = {"shifted": (), "relative": (), "index": None, "offset": None, "dates": 0, "uncounted": 0}
    return DatesFact.model_validate({"known": known, "people": people, **told, **found})

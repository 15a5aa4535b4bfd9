"""Sensitive values of a copy's records that their classes disclose, to whoever knows that a person is in the file.

An informed recipient sees a person in the one class that the rule gives them: the records with that released cell and,
in a coalition, with the same cells in all copies. Somebody who does not know the rule sees several classes together,
whose shares are means of these and never larger.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tasks.assessments.attribute.facts import AttributeFact, ColumnDisclosureFact
from tasks.candidate.assessment import Assessment, Effort, Finding
from tasks.candidate.candidate import Candidate
from tasks.candidate.class_values import Bools, Floats
from tasks.candidate.coalition import Coalition, worst
from tasks.candidate.value_counts import ValueCounts, any_of, judged_columns, value_counts
from tasks.generalization.game.transparency import cell_numbers
from tasks.microdata.coded import certain_columns
from tasks.request.model import Measure, ReleaseRequest, ValueType


def class_table(candidate: Candidate, coalition: Coalition | None = None) -> ValueCounts:
    """The classes of a copy alone, or as a coalition sees them."""
    request, coded, rows = candidate.request, candidate.as_masked, candidate.rows
    if coalition is not None:
        return value_counts(request, coded, coalition.numbers, rows)
    cells = candidate.generalization.cells
    return value_counts(request, coded, cell_numbers(cells, candidate.index.axis_sizes), rows, cells)


def _presence(
    candidate: Candidate, table: ValueCounts, people: NDArray[np.int64], coalition: Coalition | None = None
) -> Floats:
    """Share in the file of the people whom the records of each class could be, by tuple."""
    shares = np.zeros(int(table.classes.max(initial=-1)) + 1)
    np.maximum.at(shares, table.classes, candidate.presence(people, coalition))
    return shares


class AttributeAssessment(Assessment[AttributeFact]):
    """Values that classes disclose; gates use the worst of the copy alone and in any coalition."""

    id = "attribute"
    stage = "attribute disclosure"
    fact = AttributeFact

    def _assess(self, candidate: Candidate, effort: Effort) -> Finding[AttributeFact]:
        """Judge a candidate; the fact is of the copy alone."""
        table, made = class_table(candidate), candidate.generalization
        plain, informed = (_presence(candidate, table, people) for people in (made.people, made.effective))
        fact = AttributeFact(
            classes=len(informed),
            records=len(table.classes),
            known=certain_columns(candidate.request),
            columns=tuple(
                _column(candidate.request, name, table, plain, informed) for name in judged_columns(candidate.request)
            ),
            disclosed_classes=len(np.unique(table.classes[table.disclosed])),
            disclosed_records=int(table.disclosed.sum()),
        )
        return Finding(fact, _worst(candidate, table))

    def measures(self, candidate: Candidate) -> Mapping[Measure, float]:
        """Gate figures alone."""
        return _worst(candidate, class_table(candidate))


def _column(
    request: ReleaseRequest, name: str, table: ValueCounts, plain: Floats, informed: Floats
) -> ColumnDisclosureFact:
    values, found = table.columns[name], table.found[name]
    homogeneous, disclosed = table.classes[found.homogeneous], table.classes[found.disclosed]
    return ColumnDisclosureFact(
        column=name,
        values=len(values.ends),
        judged=int(values.judged.sum()),
        width=None if request.attributes[name].type is ValueType.DATE else values.width,
        largest_share=found.largest_share,
        plain_rise=float((found.rises * plain).max()),
        informed_rise=float((found.rises * informed).max()),
        homogeneous_classes=len(np.unique(homogeneous)),
        homogeneous_records=len(homogeneous),
        homogeneous_by_chance=found.by_chance,
        disclosed_classes=len(np.unique(disclosed)),
        disclosed_records=len(disclosed),
        by=found.by,
    )


def disclosed_records(
    candidate: Candidate, measure: Measure, threshold: float, coalition: Coalition | None = None
) -> tuple[Bools, tuple[str, ...]]:
    """Whether each released record is among those that a measure counts, and the columns that do it."""
    table = class_table(candidate, coalition)
    if measure is Measure.ATTRIBUTE_RISE:
        presence = informed_presence(candidate, table, coalition)
        counted = {name: (one.rises * presence > threshold)[table.classes] for name, one in table.found.items()}
    elif measure is Measure.ATTRIBUTE_HOMOGENEOUS:
        counted = {name: one.homogeneous for name, one in table.found.items()}
    else:
        counted = {name: one.disclosed for name, one in table.found.items()}
    columns = tuple(name for name, flags in counted.items() if flags.any())
    return any_of(counted.values(), len(table.classes)), columns


def informed_presence(candidate: Candidate, table: ValueCounts, coalition: Coalition | None) -> Floats:
    """Share in the file of the people whom an informed recipient takes the records of each class for."""
    seen = candidate.generalization if coalition is None else coalition.copy
    return _presence(candidate, table, seen.effective, coalition)


def _worst(candidate: Candidate, alone: ValueCounts) -> dict[Measure, float]:
    pooled = ((one, class_table(candidate, one)) for one in candidate.coalitions)
    figures = (table.figures(informed_presence(candidate, table, one)) for one, table in pooled)
    return worst(alone.figures(informed_presence(candidate, alone, None)), figures)

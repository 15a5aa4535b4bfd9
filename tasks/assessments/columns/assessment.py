"""Places of the released columns in the attack, judged on all records of the file with masked values as released."""

from collections.abc import Iterator
from math import log2

import numpy as np

from tasks.assessments.assessment import Assessment, Effort, Finding
from tasks.assessments.columns.dependence import Codes, entropy
from tasks.assessments.columns.facts import ColumnFact, ColumnFinding, ColumnsFact, Sign
from tasks.assessments.columns.places import ColumnTable, distinct_share, places
from tasks.assessments.columns.whole_row import telling, whole_row_figures
from tasks.candidate.candidate import Candidate
from tasks.masking.masked_columns import MaskedColumns
from tasks.microdata.coded import Prepared
from tasks.microdata.withheld import with_date_parts
from tasks.request.model import NUMERIC, Measure, ReleaseRequest


def column_table(request: ReleaseRequest, prepared: Prepared, masked: MaskedColumns) -> ColumnTable:
    """The columns of a request's file."""
    leaves = prepared.data.codes[prepared.tuple_of_record]
    quasi: dict[str, Codes] = {}
    for axis, (name, hierarchy) in enumerate(prepared.hierarchies.items()):
        quasi |= with_date_parts(name, request.attributes[name].type, leaves[:, axis], hierarchy.labels[0])
    released: dict[str, Codes] = {name: column.codes for name, column in prepared.columns.items()}
    collected: dict[str, Codes] = {}
    for place, name in enumerate(masked.names):
        values, collected[name] = np.unique(masked.original[:, place], return_inverse=True)
        released[name] = np.searchsorted((values[1:] + values[:-1]) / 2, masked.masked[:, place])
    return ColumnTable(released, collected, quasi, prepared.withheld, prepared.listed)


def column_places(request: ReleaseRequest, prepared: Prepared, masked: MaskedColumns) -> ColumnsFact:
    """Places of the released columns other than the quasi-identifiers, in the order of the request."""
    table = column_table(request, prepared, masked)
    found = places(table)
    released = (
        ColumnFact(
            name=name,
            distinct_share=round(distinct_share(table.released[name]), 2),
            entropy=round(entropy(table.released[name]), 2),
            masked=name in masked.names,
            numeric=request.attributes[name].type in NUMERIC and _complete(prepared, name),
            excused=str(request.attributes[name].excused or ""),
            findings=found[name],
        )
        for name in table.released
    )
    return ColumnsFact(columns=(*released, *_linking(request, prepared)))


def _linking(request: ReleaseRequest, prepared: Prepared) -> Iterator[ColumnFact]:
    """Columns whose pseudonyms link records: they reveal nothing else, since no pseudonym tells of its value."""
    for name in request.linking:
        distinct, records = prepared.distinct_values[name], prepared.data.total
        if distinct < records:
            share = round(distinct / records, 2)
            yield ColumnFact(
                name=name,
                distinct_share=share,
                entropy=round(log2(max(distinct, 1)), 2),
                masked=False,
                numeric=False,
                excused=str(request.attributes[name].excused or ""),
                findings=(ColumnFinding(sign=Sign.LINKS, columns=(name,), share=share),),
            )


def _complete(prepared: Prepared, name: str) -> bool:
    """Whether every record has a value in a column."""
    column = prepared.columns[name]
    return int(column.codes.max(initial=0)) < len(column.weights) - 1


PLACES = "places of the released columns"


class ColumnsAssessment(Assessment[ColumnsFact]):
    """Revealing columns that nobody has excused: the same for every recipient."""

    id = "columns"
    stage = "released columns"
    fact = ColumnsFact

    def _assess(self, candidate: Candidate, effort: Effort) -> Finding[ColumnsFact]:
        """Judge the columns."""
        request, prepared, masked = candidate.request, candidate.prepared, candidate.masked
        fact = candidate.known.get(PLACES)
        if not isinstance(fact, ColumnsFact):
            fact = column_places(request, prepared, masked)
        pairs = telling(fact, request.quasi_identifiers)
        if pairs:
            figures = whole_row_figures(candidate, pairs, column_table(request, prepared, masked).released)
            fact = fact.model_copy(update={"whole_row": {name.value: figure for name, figure in figures.items()}})
        return Finding(fact, {Measure.COLUMNS_UNPLACED: float(len(fact.unplaced))})

"""Records of an attribute by level of generalization, as far as the disclosure rule lets them be shown."""

from dataclasses import dataclass

from reports import numbers
from reports.document import DASH
from reports.record_view import RecordView
from reports.smallcell import HIDDEN
from tasks.assessments.identity.facts import FieldFact
from tasks.core.errors import StageFailed


@dataclass(frozen=True)
class LevelRow:
    """One level of an attribute, or the records that were suppressed."""

    name: str
    groups: str
    shown: str
    records: int
    is_hidden: bool
    """Whether its number of records may not be shown."""


def level_rows(view: RecordView, field: FieldFact) -> tuple[LevelRow, ...]:
    """An attribute's levels and the suppressed records, which together are the records that came in.

    Suppressed records belong to the breakdown: from the levels alone and the number that came in they would follow.

    Raises
    ------
    StageFailed
        If the record lists different numbers of levels, of groups or of records.
    """
    if not len(field.levels) == len(field.groups_per_level) == len(field.records_per_level):
        raise StageFailed(
            "the decision record does not describe every level alike",
            where=f"fields, {field.name}",
            expected="a name, a number of groups and a number of records for each level",
            got=f"{len(field.levels)}, {len(field.groups_per_level)} and {len(field.records_per_level)} of them",
            fix="render the record with the version of the program that wrote it",
        )
    decoys, suppressed = view.record.decoys, view.rows_in - view.released
    counts = (*field.records_per_level, suppressed)
    names = (*field.levels, "record left out" if decoys and decoys.missing else "record suppressed")
    groups = (*map(numbers.integer, field.groups_per_level), DASH)
    rows = tuple(
        LevelRow(name, group, shown, count, view.cells.hides(count) or shown == HIDDEN)
        for name, group, count, shown in zip(names, groups, counts, view.cells.breakdown(counts), strict=True)
    )
    return rows if suppressed else rows[:-1]

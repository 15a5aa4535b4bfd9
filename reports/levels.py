"""Records of an attribute by level of generalization, as far as the small-cell rule lets them be shown."""

from dataclasses import dataclass

from reports import numbers
from reports.gates import released_records
from reports.smallcell import HIDDEN, SmallCellRule
from tasks.assessments.identity.facts import FieldFact
from tasks.core.errors import StageFailed
from tasks.decision.record import DecisionRecord


@dataclass(frozen=True)
class LevelRow:
    """One level of an attribute, or the records that were suppressed."""

    name: str
    groups: str
    shown: str
    records: int
    is_hidden: bool
    """Whether its number of records may not be shown."""


def level_rows(record: DecisionRecord, field: FieldFact) -> tuple[LevelRow, ...]:
    """An attribute's levels and the suppressed records, which together are the records that came in.

    Suppressed records belong to the breakdown: from the levels alone and the number that came in they would follow.

    Raises
    ------
    StageFailed
        If the record lists other numbers of levels, of groups or of records.
    """
    if not len(field.levels) == len(field.groups_per_level) == len(field.records_per_level):
        raise StageFailed(
            "the decision record does not say the same of every level",
            where=f"fields, {field.name}",
            expected="a name, a number of groups and a number of records for each level",
            got=f"{len(field.levels)}, {len(field.groups_per_level)} and {len(field.records_per_level)} of them",
            fix="render the record with the version of the program that wrote it",
        )
    suppressed = record.dataset.rows_in - released_records(record)
    counts = (*field.records_per_level, suppressed)
    named = [(name, numbers.integer(groups)) for name, groups in zip(field.levels, field.groups_per_level, strict=True)]
    cells = SmallCellRule(record.policy.small_cell)
    left_out = "record left out" if record.decoys and record.decoys.missing else "record suppressed"
    rows = [
        LevelRow(name, groups, shown, count, cells.hides(count) or shown == HIDDEN)
        for (name, groups), count, shown in zip((*named, (left_out, "–")), counts, cells.breakdown(counts), strict=True)
    ]
    return tuple(rows if suppressed else rows[:-1])

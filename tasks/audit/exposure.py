"""Deliveries since the ledger began: one row for each file, with the cumulative exposure to its recipient."""

from collections import defaultdict
from collections.abc import Sequence

from tasks.audit import cells
from tasks.audit.cases import AuditCase
from tasks.audit.history import Period, text
from tasks.audit.report import FileRow, RecipientRow
from tasks.ledger.entry import Event


def file_rows(cases: Sequence[AuditCase], period: Period) -> tuple[FileRow, ...]:
    """Every delivered file, by recipient and time."""
    left = ((case, entry) for case in cases for entry in case.entries if entry.event is Event.RELEASED)
    so_far: dict[str, list[FileRow]] = defaultdict(list)
    for case, entry in sorted(left, key=lambda pair: (pair[0].recipient, pair[1].sequence)):
        kept, earlier = case.kept, so_far[case.recipient]
        before = earlier[-1] if earlier else None
        shown = None if kept.records is None else cells.records(kept.records, kept.policy.small_cell)
        row = FileRow(
            entry=entry.sequence,
            released_at=entry.at,
            in_period=period.holds(entry.at),
            recipient=case.recipient,
            organisation=kept.organisation,
            release_id=case.release_id,
            dataset=kept.dataset,
            source_sha256=kept.source_sha256,
            file_sha256=text(entry, "output_sha256") or "not recorded",
            delivered_sha256=text(entry, "delivered_sha256"),
            purpose=kept.purpose,
            records=shown,
            highest_risk=kept.risk.highest if kept.risk else None,
            expected=kept.risk.expected if kept.risk else None,
            state=case.outcome.state,
            overridden=tuple(gate.id for gate in kept.gates if not gate.passed),
            number=len(earlier) + 1,
            copy_of_data=1 + sum(one.source_sha256 == kept.source_sha256 for one in earlier),
            cumulative_records=cells.total(one for one in (before and before.cumulative_records, shown) if one),
            cumulative_expected=(before.cumulative_expected if before else 0.0)
            + (kept.risk.expected if kept.risk else 0.0),
        )
        earlier.append(row)
    return tuple(row for rows in so_far.values() for row in rows)


def recipient_rows(files: Sequence[FileRow]) -> tuple[RecipientRow, ...]:
    """One row for each recipient, in order of expected re-identifications, records, name."""
    grouped: dict[str, list[FileRow]] = defaultdict(list)
    for row in files:
        grouped[row.recipient].append(row)
    rows = [
        RecipientRow(
            recipient=recipient,
            organisation=own[-1].organisation,
            files=len(own),
            files_in_period=sum(row.in_period for row in own),
            datasets=len({row.source_sha256 for row in own}),
            records=own[-1].cumulative_records,
            expected=own[-1].cumulative_expected,
            highest_risk=max((row.highest_risk for row in own if row.highest_risk is not None), default=None),
            last_released_at=own[-1].released_at,
        )
        for recipient, own in grouped.items()
    ]
    return tuple(sorted(rows, key=lambda row: (-row.expected, -row.records.high, row.recipient)))

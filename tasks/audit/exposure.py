"""Deliveries since the ledger began: one row for each file, with the cumulative exposure to its recipient."""

from collections import defaultdict
from collections.abc import Sequence

from tasks.audit import cells
from tasks.audit.cases import AuditCase
from tasks.audit.history import Period, text
from tasks.audit.report import FileRow, RecipientRow, RecordRange
from tasks.ledger.entry import Event


def file_rows(cases: Sequence[AuditCase], period: Period) -> tuple[FileRow, ...]:
    """Every delivered file, by recipient and time."""
    left = sorted(
        ((case, entry) for case in cases for entry in case.entries if entry.event is Event.RELEASED),
        key=lambda pair: (pair[0].recipient, pair[1].sequence),
    )
    so_far: dict[str, list[FileRow]] = defaultdict(list)
    for case, entry in left:
        earlier = so_far[case.recipient]
        kept, source = case.kept, case.source_sha256
        risk = kept.risk if kept else None
        rows = kept.records if kept else None
        shown = None if rows is None else cells.records(rows, case.small_cell)
        before = earlier[-1] if earlier else None
        earlier.append(
            FileRow(
                entry=entry.sequence,
                released_at=entry.at,
                in_period=period.holds(entry.at),
                recipient=case.recipient,
                organisation=kept.organisation if kept else None,
                release_id=case.release_id,
                dataset=kept.dataset if kept else None,
                source_sha256=source,
                file_sha256=text(entry, "output_sha256") or "not recorded",
                delivered_sha256=text(entry, "delivered_sha256"),
                purpose=kept.purpose if kept else None,
                records=shown,
                highest_risk=risk.highest if risk else None,
                expected=risk.expected if risk else None,
                state=case.outcome.state,
                overridden=tuple(gate.id for gate in kept.gates if not gate.passed) if kept else (),
                number=len(earlier) + 1,
                copy_of_data=1 + sum(one.source_sha256 == source for one in earlier) if source else None,
                cumulative_records=cells.total(
                    [before.cumulative_records if before else RecordRange(low=0, high=0), *([shown] if shown else [])]
                ),
                cumulative_expected=(before.cumulative_expected if before else 0.0) + (risk.expected if risk else 0.0),
                not_recorded=(before.not_recorded if before else 0) + (shown is None or risk is None),
            )
        )
    return tuple(row for recipient in sorted(so_far) for row in so_far[recipient])


def recipient_rows(files: Sequence[FileRow]) -> tuple[RecipientRow, ...]:
    """One row for each recipient, in order of expected re-identifications, records, name."""
    grouped: dict[str, list[FileRow]] = defaultdict(list)
    for row in files:
        grouped[row.recipient].append(row)
    rows = []
    for recipient, own in grouped.items():
        last = own[-1]
        risks = [row.highest_risk for row in own if row.highest_risk is not None]
        rows.append(
            RecipientRow(
                recipient=recipient,
                organisation=next((row.organisation for row in reversed(own) if row.organisation), None),
                files=len(own),
                files_in_period=sum(row.in_period for row in own),
                datasets=len({row.source_sha256 for row in own}),
                records=last.cumulative_records,
                expected=last.cumulative_expected,
                highest_risk=max(risks, default=None),
                not_recorded=last.not_recorded,
                last_released_at=last.released_at,
            )
        )
    return tuple(sorted(rows, key=lambda row: (-row.expected, -row.records.high, row.recipient)))

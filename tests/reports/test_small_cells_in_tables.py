"""No table of a determination tells a small count of people, whatever the record holds: random records, read back.

Read as an outsider does: by the heads of columns and rows, the units, and the totals that the report itself shows.
"""

import html
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tasks.decision.record import DecisionRecord
from tests.reports.test_kanonymity_report import made
from tests.support import records
from tests.support.examples import examples
from tests.support.linkage_records import figure
from tests.support.rendered import determination_html

LIMIT = 11
PEOPLE_COLUMNS = {
    "Records", "Checked", "Failed", "People attacked", "Certain matches", "Learned from", "Records learned from",
}  # fmt: skip
PEOPLE_ROWS = {"Records in", "Records out", "People", "Records suppressed by these demands",
               "Records released by local recoding"}  # fmt: skip
SHARE_COLUMNS = {
    "Linked", "Narrowed by the rule", "People linked", "Records attacked", "Worth attacking", "Uninformed", "Informed",
    "Linked, uninformed", "Linked, informed", "Share", "Whole cells",
}  # fmt: skip
SHARE_UNITS = {"share of records"}
COUNT_UNITS = {"records", "people"}
few = st.integers(0, 25)
Row = list[str]


@st.composite
def drawn(draw: st.DrawFn) -> DecisionRecord:
    """A record most of whose counts are small, or leave a small rest."""
    suppressed = draw(st.one_of(few, st.integers(90, 120)))
    record = made(draw(st.integers(0, suppressed)), lifted_records=draw(few))
    risk = record.risk
    assert risk is not None
    assert risk.linkage is not None
    assert risk.combined is not None
    rows = record.dataset.rows_in
    kept = rows - suppressed

    def count(total: int) -> int:
        number = draw(few)
        return total - number if draw(st.booleans()) else number

    def view(part: Any, total: int) -> Any:
        bins = tuple(one.model_copy(update={"records": draw(few)}) for one in part.histogram[:-1])
        rest = part.histogram[-1].model_copy(update={"records": total - sum(one.records for one in bins)})
        return part.model_copy(update={"records": total, "over_threshold": count(total), "histogram": (*bins, rest)})

    def level_counts(levels: int) -> tuple[int, ...]:
        others = [draw(few) for _ in range(levels - 1)]
        return (kept - sum(others), *others)

    def attacked(one: Any) -> Any:
        shares = {name: count(rows) / rows for name in ("naive_attacked_share", "transparent_attacked_share")}
        return one.model_copy(update=shares)

    residual = risk.residual.model_copy(
        update={
            "prosecutor": view(risk.residual.prosecutor, kept),
            "journalist": view(risk.residual.journalist, kept),
            "smallest_class": draw(st.integers(1, 25)),
            "below_small_cell": count(kept) / kept,
        }
    )
    transparent = risk.transparent.model_copy(
        update={
            "attacked_share": count(kept) / kept,
            "naive_attacked_share": count(kept) / kept,
            "smallest_effective_group": draw(st.integers(1, 25)),
        }
    )
    found = tuple(
        one.model_copy(update={"figure": figure(linked := count(kept), kept, min(linked, count(kept)))})
        for one in risk.linkage.attacks
    )
    scored = risk.combined.residual.model_copy(update={"records": kept, "share_above": count(kept) / kept})
    checks = tuple(
        one.model_copy(update={"passed": False, "failed": count(one.checked)}) if place < 4 else one
        for place, one in enumerate(record.validation.checks)
    )
    return records.changed(
        record,
        dataset=record.dataset.model_copy(update={"rows_out": kept}),
        fields=tuple(
            one.model_copy(update={"records_per_level": level_counts(len(one.levels))})
            if one.records_per_level
            else one
            for one in record.fields
        ),
        validation=record.validation.model_copy(
            update={
                "checks": checks,
                "observed": tuple(
                    one.model_copy(update={"records": count(rows)}) for one in record.validation.observed
                ),
            }
        ),
        risk=risk.model_copy(
            update={
                "residual": residual,
                "transparent": transparent,
                "linkage": risk.linkage.model_copy(update={"attacks": found, "records": kept}),
                "combined": risk.combined.model_copy(update={"residual": scored}),
                "game": risk.game.model_copy(
                    update={
                        "suppressed_records": suppressed,
                        "minimum_class_size": 5,
                        "outcomes": tuple(attacked(one) for one in risk.game.outcomes),
                    }
                ),
            }
        ),
    )


def text(part: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", re.sub(r"</?(wbr|sub)[^>]*>", "", part))).split())


def tables(document: str) -> Iterator[tuple[Row, list[Row]]]:
    """Heads of the columns, none where there are none, and the rows of each table."""
    for table in re.findall(r"<table.*?</table>", document, re.DOTALL):
        head = re.search(r"<thead>(.*?)</thead>", table, re.DOTALL)
        body = table.replace(head.group(0), "") if head else table
        rows = [
            [text(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL)]
            for row in re.findall(r"<tr.*?</tr>", body, re.DOTALL)
        ]
        yield (
            [text(cell) for cell in re.findall(r"<th[^>]*>(.*?)</th>", head.group(1) if head else "", re.DOTALL)],
            rows,
        )


def count_cells(head: Row, rows: list[Row]) -> Iterator[str]:
    """Cells that hold counts of people or records."""
    for row in rows:
        if len(row) == 2 and row[0] in PEOPLE_ROWS:
            yield row[1]
        if len(row) == len(head):
            unit = row[1] if len(row) > 2 and head[1] == "Unit" else ""
            for title, cell in list(zip(head, row, strict=True))[1:]:
                if title in PEOPLE_COLUMNS or (unit in COUNT_UNITS and title in {"Before", "After", "As released"}):
                    yield cell


def share_cells(head: Row, rows: list[Row]) -> Iterator[str]:
    """Cells that hold shares of people or records."""
    for row in rows:
        if len(row) == len(head):
            unit = row[1] if len(row) > 2 and head[1] == "Unit" else ""
            for title, cell in list(zip(head, row, strict=True))[1:]:
                if title in SHARE_COLUMNS or (unit in SHARE_UNITS and title not in {"Threshold", "Unit"}):
                    yield cell


@settings(
    max_examples=examples(10), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(drawn())
def test_no_table_tells_a_small_count(record: DecisionRecord) -> None:
    read = list(tables(determination_html(record)))
    counts = [cell for head, rows in read for cell in count_cells(head, rows)]
    shares = [cell for head, rows in read for cell in share_cells(head, rows)]
    assert len(counts) > 40
    assert len(shares) > 30
    for cell in counts:
        number = re.match(r"(?:all, |sample, )?([\d,]+)\b(?![.%])", cell)
        if number:
            assert not 0 < int(number.group(1).replace(",", "")) < LIMIT, cell
    total = record.dataset.rows_in
    rounding = 0.5 + 0.00005 * total
    for cell in shares:
        for bound, figures in re.findall(r"([<>]?)([\d.]+)%", cell):
            people = float(figures) / 100 * total
            if not bound:
                assert people < rounding or people > LIMIT - rounding, cell
                assert total - people < rounding or total - people > LIMIT - rounding, cell


@pytest.mark.slow
@settings(
    max_examples=examples(10), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(drawn())
def test_no_small_count_follows_by_subtraction(record: DecisionRecord) -> None:
    """Levels and suppressed records add up to the records that came in, and so do records out and suppressed."""
    document = determination_html(record)
    (levels,) = [rows for head, rows in tables(document) if head[:4] == ["Attribute", "Level", "Groups", "Records"]]
    blocks: list[list[str]] = []
    for row in levels:
        if row[0]:
            blocks.append([])
        blocks[-1].append(row[3])
    assert len(blocks) == 4
    for shown in blocks:
        numbers = [int(cell.replace(",", "")) for cell in shown if cell[0].isdigit()]
        rest = record.dataset.rows_in - sum(numbers)
        hidden = len(shown) - len(numbers)
        assert (hidden == 0) == (rest == 0)
        assert hidden != 1
        assert hidden == 0 or rest >= LIMIT
    facts = {row[0]: row[1] for _, rows in tables(document) for row in rows if len(row) == 2}
    out = re.match(r"([\d,]+) in", facts["Records out"])
    if out:
        assert not 0 < record.dataset.rows_in - int(out.group(1).replace(",", "")) < LIMIT
    by_demands = facts["Records suppressed by these demands"]
    told = re.search(r"are suppressed: ([\d,]+) of them", text(document))
    if told and by_demands[0].isdigit():
        rest = int(told.group(1).replace(",", "")) - int(by_demands.replace(",", ""))
        assert not 0 < rest < LIMIT

"""The page of the audit lists the tables that there are, and says what holds."""

import re
from pathlib import Path

from reports.audit_csv import csv_files
from reports.audit_tables import MOST_ROWS
from tasks.audit.figures import NEAR_FROM
from tasks.audit.validity import LAPSES
from tests.support.audited import Chronicle

PAGE = (Path(__file__).parents[2] / "docs" / "audit.md").read_text(encoding="utf-8")


def first_cells(heading: str) -> set[str]:
    """Names in the first column of the table with a heading."""
    match = re.search(rf"^\| {heading} \|.*\n\|[-| ]+\|\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    assert match, heading
    return {name for line in match[1].splitlines() for name in re.findall(r"`([^`]+)`", line.split("|")[1])}


def test_every_table_is_listed() -> None:
    assert {f"{name}.csv" for name in first_cells("table")} == set(csv_files(Chronicle().audit()))


def test_the_figures_of_the_page_hold() -> None:
    assert f"at most {MOST_ROWS} rows" in PAGE
    assert f"at {NEAR_FROM:.0%} or more" in PAGE
    assert "within {}, {} and {} days".format(*LAPSES) in PAGE

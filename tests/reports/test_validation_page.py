"""The page of validation results, read back as a browser would."""

import re
from html.parser import HTMLParser

import pytest

from reports.validation_page import by_column, render_validation_page
from tasks.decision.record import CheckFact, ObservedCount, SkippedCheck, ValidationFact

VOID = {"meta"}


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.rows, self.headings = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("th", "td"):
            self.rows[-1].append("")
        if tag == "h3":
            self.headings.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "tr" in self.open and self.open[-1] in ("th", "td", "span"):
            self.rows[-1][-1] = " ".join(f"{self.rows[-1][-1]} {data}".split())
        if self.open and self.open[-1] == "h3":
            self.headings[-1] += data


def check(kind, column, passed=True, failed=0, checked=500):
    return CheckFact(
        id=f"{kind}/{column}", expectation=f"no {kind}", column=column, passed=passed, checked=checked, failed=failed
    )


@pytest.fixture
def blocked():
    return ValidationFact(
        passed=False,
        checks=(
            check("columns", "", checked=16),
            check("email", "note"),
            check("phone", "note", passed=False, failed=3),
            check("missing", "weight", failed=495),
            check("type", "<age>", passed=False, failed=40),
        ),
        skipped=(SkippedCheck(id="scan/zip", expectation="no pattern", column="zip", reason="scan: false"),),
        observed=(ObservedCount(id="age/years", description="ages over 89", column="years", records=7),),
        evidence_sha256="ab" * 32,
    )


def test_counts_below_the_small_cell_are_not_shown(blocked):
    rows = {row[0]: row[1:] for row in Page(render_validation_page(blocked, "Clinic")).rows}
    assert rows["no phone"] == ["✗ failed", "<11", "500"]
    assert rows["no type"] == ["✗ failed", "40", "500"]
    assert rows["no missing"] == ["✓ passed", ">489", "500"]
    assert rows["no email"] == ["✓ passed", "0", "500"]
    assert "&lt;11 ages over 89" in render_validation_page(blocked, "Clinic")


def test_a_number_of_columns_is_no_count_of_people():
    columns = CheckFact(
        id="release columns/expect_table_columns_to_match_set", expectation="no direct identifier", passed=True,
        checked=4, failed=0,
    )  # fmt: skip
    found = ValidationFact(passed=True, checks=(columns,), evidence_sha256="ab" * 32)
    rows = {row[0]: row[1:] for row in Page(render_validation_page(found, "Clinic")).rows}
    assert rows["no direct identifier"] == ["✓ passed", "0", "4 columns"]


def test_the_small_cell_is_a_parameter(blocked):
    rows = {row[0]: row[1:] for row in Page(render_validation_page(blocked, "Clinic", small_cell=50)).rows}
    assert rows["no type"] == ["✗ failed", "<50", "500"]
    rows = {row[0]: row[1:] for row in Page(render_validation_page(blocked, "Clinic", small_cell=1)).rows}
    assert rows["no phone"] == ["✗ failed", "3", "500"]


def test_columns_with_failures_come_first_and_failures_first_within(blocked):
    assert Page(render_validation_page(blocked, "Clinic")).headings == [
        "note",
        "<age>",
        "Whole table",
        "weight",
        "years",
    ]
    _, checks, _ = by_column(blocked)[0]
    assert [fact.expectation for fact in checks] == ["no phone", "no email"]


def test_the_summary_says_the_verdict(blocked):
    assert "Blocked: 2 of 5 checks failed." in render_validation_page(blocked, "Clinic")
    passed = ValidationFact(passed=True, checks=blocked.checks[:2], evidence_sha256="ab" * 32)
    page = render_validation_page(passed, "Clinic")
    assert "Passed: all 2 checks." in page
    assert "Not checked" not in page


def test_what_was_left_out_is_listed_with_its_reason(blocked):
    assert ["zip", "no pattern", "scan: false"] in Page(render_validation_page(blocked, "Clinic")).rows


def test_names_and_title_are_escaped(blocked):
    page = render_validation_page(blocked, "<script>alert(1)</script> & co")
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; co" in page
    assert "&lt;age&gt;" in page


def test_the_page_needs_nothing_from_elsewhere(blocked):
    page = render_validation_page(blocked, "Clinic")
    assert not re.search(r"https?:|url\(|@import|src=|<link|<script|javascript:", page)
    assert "default-src 'none'" in page


def test_the_page_can_be_read_by_everyone(blocked):
    page = Page(render_validation_page(blocked, "Clinic"))
    assert page.open == []
    assert ("html", {"lang": "en"}) in page.tags
    assert any(attrs.get("name") == "viewport" for tag, attrs in page.tags if tag == "meta")
    assert {attrs.get("scope") for tag, attrs in page.tags if tag == "th"} == {"col", "row"}
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(set(ids)) == len(ids)
    tables = [attrs for tag, attrs in page.tags if tag == "table"]
    assert all(attrs["aria-labelledby"] in ids for attrs in tables)


@pytest.mark.parametrize(
    ("foreground", "background"),
    [("#1b1f24", "#ffffff"), ("#545c66", "#ffffff"), ("#0b6638", "#f0f8f3"), ("#a31621", "#fdf2f2")],
)
def test_colours_have_the_contrast_of_wcag_aa(blocked, foreground, background):
    page = render_validation_page(blocked, "Clinic")
    assert foreground in page
    assert background in page or background == "#ffffff"
    light, dark = sorted((luminance(foreground), luminance(background)), reverse=True)
    assert (light + 0.05) / (dark + 0.05) >= 4.5


def luminance(colour):
    channels = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_the_same_results_give_the_same_page(blocked):
    assert render_validation_page(blocked, "Clinic") == render_validation_page(blocked, "Clinic")

"""Pages of determinations are full: text stands on the lower part of every page but the last."""

import re
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import pikepdf
import pytest

from reports.determination import render_determination
from tasks.decision.record import DecisionRecord

EXPECTED = Path(__file__).parents[1] / "golden" / "expected"
RECORDS = sorted(EXPECTED.glob("*/*/decision/*.json"))
FOOT, FULL = 0.08, 0.7
"""Share of a page's height that the footer takes, and that text must reach down to."""


def reached(page: pikepdf.Page) -> float:
    """Share of the page's height down to which its text reaches, the footer's aside."""
    height = float(page.mediabox[3])
    matrix, kept, found = pikepdf.Matrix(), list[pikepdf.Matrix](), [0.0]
    for one in pikepdf.parse_content_stream(page):
        match str(one.operator):
            case "q":
                kept.append(matrix)
            case "Q":
                matrix = kept.pop()
            case "cm":
                matrix = pikepdf.Matrix(*map(float, one.operands)) @ matrix
            case "Tm":
                down = 1 - (pikepdf.Matrix(*map(float, one.operands)) @ matrix).f / height
                found.append(down if down < 1 - FOOT else 0.0)
    return max(found)


@pytest.mark.slow
@pytest.mark.parametrize("path", RECORDS, ids=lambda path: f"{path.parents[1].name}-{path.stem}")
def test_no_page_of_a_determination_is_half_empty(path: Path) -> None:
    named = re.compile(r'"<([^"]*)>"')
    text = named.sub(lambda name: f'"{sha256(name[1].encode()).hexdigest()}"', path.read_text(encoding="utf-8"))
    record = DecisionRecord.model_validate_json(text)
    with pikepdf.open(BytesIO(render_determination(record))) as pdf:
        filled = [round(reached(page), 2) for page in pdf.pages]
    assert 2 <= len(filled) <= 6
    assert min(filled[:-1]) >= FULL, filled

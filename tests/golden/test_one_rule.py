"""The terminal tells a gate's figure by one rule: where its reason gives a bound, no table gives the figure."""

import re
from pathlib import Path

import pytest

EXPECTED = Path(__file__).parent / "expected"
REASON = re.compile(r"^  (?P<title>[^:]+): (?P<measured>.+) measured; at (?:most|least) .+ (?:allowed|required)\.$")


@pytest.mark.parametrize("name", ["gated", "overridden"])
def test_reasons_and_tables_tell_the_same_figures(name: str) -> None:
    lines = (EXPECTED / name / "terminal.txt").read_text().splitlines()
    reasons = [found for line in lines if (found := REASON.match(line))]
    assert reasons
    for reason in reasons:
        rows = [
            line
            for line in lines
            if line.startswith("✗") and re.search(rf"^✗\s+{re.escape(reason['title'])} {{2}}", line)
        ]
        assert not rows or any(re.search(rf" {{2}}{re.escape(reason['measured'])} {{2}}", row) for row in rows), reason[
            0
        ]
    bounded = [reason for reason in reasons if reason["measured"].startswith(("under", "over", "fewer"))]
    assert bounded or name != "gated"

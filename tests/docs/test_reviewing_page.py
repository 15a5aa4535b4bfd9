"""The page about the reviewer's page says what holds."""

import re
from datetime import UTC, datetime
from pathlib import Path

from flows.people.account import Duty
from flows.people.accounts import SHORTEST_PASSWORD
from flows.web.authentication import LARGEST_FORM
from flows.web.provider import SECRET
from flows.web.provider_pages import ANSWER
from flows.web.rate_limits import Limiter, RateLimits
from flows.web.site import AUDITS, REVOKES, SEES_ALL
from tasks.service.settings import SCHEMA_VERSION, load_settings

ROOT = Path(__file__).parents[2]
PAGE = " ".join((ROOT / "docs" / "reviewing.md").read_text(encoding="utf-8").split())
NOON = datetime(2026, 3, 16, 12, 0, tzinfo=UTC)


def rows() -> dict[str, tuple[str, str]]:
    """What each role sees and does."""
    text = (ROOT / "docs" / "reviewing.md").read_text(encoding="utf-8")
    (table,) = re.findall(r"^\| role \|.*\n\|[-|]+\n((?:\|.*\n)+)", text, re.MULTILINE)
    cells = [[cell.strip() for cell in line.strip("|\n ").split("|")] for line in table.splitlines()]
    return {role: (sees, does) for role, sees, does in cells}


def test_every_role_is_told_with_what_it_sees_and_does() -> None:
    table = rows()
    assert table.keys() == {duty.value for duty in Duty}
    for duty in Duty:
        sees, does = table[duty.value]
        assert ("all releases, the ledger" in sees) == (duty in SEES_ALL)
        assert ("audits" in sees) == (duty in AUDITS)
        assert ("revokes" in does) == (duty in REVOKES)
        assert ("votes" in does) == (duty is Duty.REVIEWER)


def allowed(limiter: Limiter) -> tuple[int, int]:
    """How often something is allowed, and how many minutes the wait is then."""
    count = 0
    while not (wait := limiter.take("somebody", NOON)):
        count += 1
    return count, wait // 60


def test_the_figures_of_the_page_hold() -> None:
    limits = RateLimits()
    assert f"The password has {SHORTEST_PASSWORD} characters or more" in PAGE
    assert f"at most {LARGEST_FORM // 1024} KiB" in PAGE
    login, address, everybody = allowed(limits.login), allowed(limits.address), allowed(limits.everybody)
    assert login[1] == address[1] == 15
    assert f"{login[0]} wrong ones for a login and {address[0]} from an address in 15 minutes" in PAGE
    assert f"{everybody[0]} attempts of everybody in a minute" in PAGE
    assert everybody[1] == 1
    deeds, audits = allowed(limits.actions), allowed(limits.audits)
    assert f"{deeds[0]} votes and revocations, and {audits[0]} audits, of one account in 10 minutes" in PAGE
    assert deeds[1] == audits[1] == 10


def test_the_provider_that_is_shown_can_be_used(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "reviewing.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^```yaml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    path = tmp_path / "service.yaml"
    path.write_text(f"schema_version: {SCHEMA_VERSION}\n{shown}")
    provider = load_settings(path).page.provider
    assert provider is not None
    assert f"`{provider.login_claim}`" in PAGE
    assert f"`{provider.groups_claim}`" in PAGE
    assert ANSWER in PAGE
    assert SECRET in PAGE


def test_the_pictures_are_small() -> None:
    names = re.findall(r'src="images/([^"]+)"', PAGE)
    assert names
    for name in names:
        assert (ROOT / "docs" / "images" / name).stat().st_size < 100_000

"""A workspace with releases and accounts for each test of the page."""

from pathlib import Path

import pytest

import flows.people.accounts
from tests.support.pages import QUICK, Pages, make_pages


@pytest.fixture
def quick_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hashes of passwords that take no time: most tests need some, and few are about them."""
    monkeypatch.setattr(flows.people.accounts, "HASHER", QUICK)


@pytest.fixture
def pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pages:
    monkeypatch.setattr(flows.people.accounts, "HASHER", QUICK)
    return make_pages(tmp_path / "workspace")

"""A workspace with releases and accounts for each test of the page."""

from pathlib import Path

import pytest
from argon2 import PasswordHasher

import flows.accounts
from tests.support.pages import Pages, make_pages


@pytest.fixture
def pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pages:
    """With quick hashes of passwords: there are many sign-ins, and accounts have tests of their own."""
    monkeypatch.setattr(flows.accounts, "HASHER", PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
    return make_pages(tmp_path / "workspace")

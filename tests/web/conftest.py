"""A workspace with releases and accounts for each test of the page."""

from pathlib import Path

import pytest

from tests.support.pages import Pages, make_pages


@pytest.fixture
def pages(tmp_path: Path) -> Pages:
    return make_pages(tmp_path / "workspace")

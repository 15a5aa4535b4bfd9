"""What commands on the same examples work out alike is kept."""

from collections.abc import Iterator

import pytest

from tests.support.remembered import remembered


@pytest.fixture(scope="module", autouse=True)
def _quick() -> Iterator[None]:
    with remembered():
        yield

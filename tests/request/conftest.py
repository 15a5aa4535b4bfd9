"""A small valid request, and the error that a changed one is refused with."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tasks.core.errors import RequestError
from tasks.request.load import load_request
from tests.support.good_request import GOOD


@pytest.fixture
def good() -> str:
    return GOOD


@pytest.fixture
def refused(tmp_path: Path) -> Callable[[str], RequestError]:
    """The error that a document is refused with."""

    def refuse(text: str) -> RequestError:
        path = tmp_path / "request.yaml"
        path.write_text(text, encoding="utf-8")
        with pytest.raises(RequestError) as caught:
            load_request(path)
        return caught.value

    return refuse

"""All that the board does, as people do it, at a real service; and the pictures of it in the documents are there."""

import re
from pathlib import Path

import pytest

from tests.web.two_hours import IMAGES, WIDTHS, begun, walk

PAGE = IMAGES.parent / "board.md"


@pytest.mark.slow
@pytest.mark.timeout(900)  # two minutes where nothing else runs
def test_two_hours_at_the_board(tmp_path: Path) -> None:
    with begun(tmp_path, None) as one:
        walk(one)


def test_every_picture_is_shown_at_both_widths_and_all_are_small() -> None:
    shown = set(re.findall(r"\(images/(board-[a-z-]+)-(\d+)\.png\)", PAGE.read_text()))
    files = {tuple(path.stem.rsplit("-", 1)) for path in IMAGES.glob("board-*.png")}
    assert shown == files
    assert {int(width) for _, width in shown} == set(WIDTHS)
    assert sum(path.stat().st_size for path in IMAGES.glob("board-*.png")) < 1_500_000

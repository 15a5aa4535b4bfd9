"""A few kills at random moments, one of each kind of release; ``make crashes`` does fifty."""

import os
import sys
from pathlib import Path

import pytest

from tests.crashes.campaign import campaign
from tests.crashes.cases import CASES

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems end servers later")
SEED = 3


def test_what_a_kill_leaves_is_finished_by_the_same_command(tmp_path: Path) -> None:
    told = campaign(tmp_path, len(CASES), SEED)
    assert told.wrong == []
    assert told.kills.total() == len(CASES)
    assert told.bundles >= len(CASES)
    assert os.listdir(tmp_path / "workspace" / ".releasegate" / "staging") == []

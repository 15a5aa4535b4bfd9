"""A kill at a random moment of the kind of release that nothing else kills on its way; more by ``make crashes``."""

import os
import sys
import tempfile
from pathlib import Path

import pytest

from tests.crashes.campaign import campaign

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="other systems end servers later")]
SEED = 3
KINDS = ("decoys",)


def test_what_a_kill_leaves_is_finished_by_the_same_command() -> None:
    folder = Path(tempfile.mkdtemp(prefix="kills-"))  # short, so that sockets of those killed lie in it
    told = campaign(folder, len(KINDS), SEED, cases=KINDS)
    assert told.wrong == []
    assert told.kills.total() == len(KINDS)
    assert told.bundles >= len(KINDS)
    assert os.listdir(folder / "workspace" / ".releasegate" / "staging") == []

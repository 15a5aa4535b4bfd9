"""A kill at a random moment of the kind of release that nothing else kills on its way; more by ``make crashes``."""

import os
import sys
import tempfile
from pathlib import Path

import pytest

from tests.crashes.campaign import campaign
from tests.crashes.cases import CASES
from tests.support.enrolled import enrol_for

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


def test_all_kinds_of_releases_share_a_workspace(tmp_path: Path) -> None:
    """What a longer campaign enrols, one kind after the other."""
    for number, (name, case) in enumerate(CASES.items()):
        enrol_for(case.write(tmp_path / name, number).request, tmp_path / "workspace")

"""The page on the studio: the command prints what is shown, and its address lets one browser in."""

import re
import signal
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from flows.web.connections import LONGEST_REQUEST
from flows.web.uploads import LARGEST_UPLOAD
from tasks.audit.cells import LIMIT
from tests.support.studio import small_file
from tests.support.world import ROOT, command

PAGE = (ROOT / "docs" / "studio.md").read_text(encoding="utf-8")
LINE, SHOWN = re.findall(r"^```text\n\$ releasegate (.+)\n((?:.*\n)*?)```", PAGE, re.MULTILINE)[0]


def test_the_page_has_the_limits_of_the_program() -> None:
    assert f"takes {LARGEST_UPLOAD // 2**20} MiB, within {LONGEST_REQUEST:.0f} seconds" in PAGE
    assert f"smallest cell ({LIMIT} by default)" in PAGE


@pytest.mark.slow
def test_the_command_prints_what_is_shown(tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_text(small_file())
    line, environment = command(*LINE.split(), "--workspace", tmp_path / "workspace")
    with subprocess.Popen(line, env=environment, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as studio:
        assert studio.stdout is not None
        printed = studio.stdout.readline() + studio.stdout.readline()
        address = re.search(r"http://127\.0\.0\.1:\d+/open/\S+", printed)
        assert address is not None
        assert re.sub(r":\d+/open/\S+", ":PORT/open/TOKEN", printed) == SHOWN
        with urllib.request.urlopen(address[0]) as answer:
            assert answer.status == 200
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(address[0])
        studio.send_signal(signal.SIGINT)
        assert studio.wait(20) in (0, 130)
    assert (tmp_path / "request.yaml").is_file()

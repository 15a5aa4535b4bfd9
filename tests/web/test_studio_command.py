"""The command ``releasegate studio`` before its server starts: what it opens, and what it refuses."""

import socket
import sys
from pathlib import Path

import pytest

from flows.cli.app import main
from flows.cli.output import ExitCode
from tests.support.studio import small_file


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """What the command says as it refuses its arguments."""
    sys.argv = ["releasegate", "studio", *map(str, arguments)]
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == ExitCode.BAD_INPUT
    return capsys.readouterr().err


def test_a_file_that_is_not_there_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    workspace = ("--workspace", tmp_path / "workspace")
    assert "no such request" in refused(capsys, tmp_path / "request.yaml", *workspace)
    assert "no such file" in refused(capsys, tmp_path / "visits.csv", *workspace)
    assert not (tmp_path / "workspace").exists()


def test_a_draft_replaces_no_request(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "visits.csv").write_text(small_file())
    (tmp_path / "request.yaml").write_text("title: Mine\n")
    said = refused(capsys, tmp_path / "visits.csv", "--workspace", tmp_path / "workspace")
    assert "this request has been begun" in said
    assert f"releasegate studio {tmp_path / 'request.yaml'}" in " ".join(said.split())
    assert (tmp_path / "request.yaml").read_text() == "title: Mine\n"


def test_a_port_that_is_taken_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert "cannot listen" in refused(capsys, "--port", port, "--workspace", tmp_path / "workspace")
    assert "less than or equal to 65535" in refused(capsys, "--port", 99999, "--workspace", tmp_path / "workspace")

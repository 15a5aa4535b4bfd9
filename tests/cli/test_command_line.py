"""The command line's own mistakes: a usage error is the user's, with exit code 2, and never a fault of the program."""

import json
import sys

import pytest

from flows.cli.app import main


def left(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["releasegate", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["relase", "x"], "No such command"),
        (["release"], "Missing argument"),
        (["check", "request.yaml", "--nothing"], "No such option"),
        (["assess", "nothing", "request.yaml"], "'nothing' is not one of"),
        (["verify"], "name a bundle, or ask for --ledger"),
    ],
)
def test_a_misused_command_is_bad_input(
    arguments: list[str], told: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert left(monkeypatch, *arguments) == 2
    captured = capsys.readouterr()
    assert told in captured.err
    assert "--help" in captured.err
    assert captured.out == ""


def test_a_misused_command_answers_in_json_where_that_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert left(monkeypatch, "check", "--json") == 2
    answer = json.loads(capsys.readouterr().out)
    assert answer["ok"] is False
    assert "Missing argument" in answer["error"]["what"]


def test_nothing_asked_for_shows_the_help_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert left(monkeypatch) == 2
    captured = capsys.readouterr()
    assert "Commands" in captured.out + captured.err
    assert "error:" not in captured.err

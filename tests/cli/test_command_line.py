"""The command line's own mistakes: a usage error is the user's, with exit code 2, and never a fault of the program."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from flows.cli.app import app, main
from flows.cli.output import console
from tests.support.tiny import DATA, POPULATION, ZIP_HIERARCHY, tiny_document, tiny_request


def left(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["releasegate", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["relase", "x"], "did you mean “release”?"),
        (["check", "request.yaml", "--jsn"], "did you mean “--json”?"),
        (["review"], "releasegate review [OPTIONS] {release}"),
        (["review", "0" * 64, "--vote", "aprove"], "'aprove' is not one of 'approve', 'reject'"),
        (["review", "0" * 64, "--vote", "aprove"], "did you mean “approve”?"),
        (["relase", "x"], "No such command"),
        (["release"], "Missing argument"),
        (["check", "request.yaml", "--nothing"], "No such option"),
        (["assess", "nothing", "request.yaml"], "'nothing' is not one of"),
        (["verify"], "Missing argument"),
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


def test_names_with_brackets_are_shown_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    document = tiny_document()
    document["attributes"]["[/red]"] = document["attributes"].pop("diagnosis") | {"allowed_values": ["cold"]}
    document["recipients"][0]["prior_release_ids"] = ["one"]
    (tmp_path / "request.yaml").write_text(json.dumps(document), encoding="utf-8")
    for name, text in (("data.csv", DATA.replace("diagnosis", "[/red]")), ("population.csv", POPULATION)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "zip.csv").write_text(ZIP_HIERARCHY, encoding="utf-8")
    assert left(monkeypatch, "check", str(tmp_path / "request.yaml")) == 3
    captured = capsys.readouterr()
    assert "✗ [/red]: values of the declared list: not so for 4 of 6, rows 1, 3, 5, 6" in captured.out
    assert "recipients[university].prior_release_ids is shown" in captured.err


def test_a_bundle_that_is_not_there_is_what_verify_complains_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert left(monkeypatch, "verify", str(tmp_path / "nothing"), "--workspace", str(tmp_path)) == 2
    assert "there is no bundle to verify" in capsys.readouterr().err


def test_the_list_of_commands_repeats_the_help_of_each() -> None:
    group = typer.main.get_command(app)
    context = typer.Context(group)
    for name in group.list_commands(context):
        _, command, _ = group.resolve_command(context, [name])
        own = " ".join(command.help.split("\n\n")[0].split())
        assert group.get_command(context, name).help == own, name


def test_the_help_imports_no_command() -> None:
    code = (
        "import sys; from flows.cli.app import app; sys.argv[1:] = ['--help']; app(standalone_mode=False);"
        "sys.exit(any(name in sys.modules for name in ('numpy', 'pandas', 'prefect', 'pydantic')))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


def test_the_service_and_its_runner_do_without_numerical_libraries() -> None:
    """NumPy alone takes 15 MiB of an idle process."""
    code = (
        "import sys; import flows.service.threads, flows.service.deployments;"
        "sys.exit(any(name in sys.modules for name in ('numpy', 'scipy', 'pandas', 'pyarrow')))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


def test_the_process_that_publishes_imports_no_methods_of_assessments() -> None:
    """Workers have them; here they would take as long as Prefect does."""
    code = (
        "import sys, flows.cli.release_json, flows.gate.publishing; "
        "print([one for one in ('tasks.assessments.registry', 'scipy.special', 'sklearn') if one in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n", run.stdout


def test_a_command_uses_one_thread_for_linear_algebra_unless_told_otherwise(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    assert left(monkeypatch, "--help") == 0
    assert "check" in capsys.readouterr().out
    assert (os.environ["OPENBLAS_NUM_THREADS"], os.environ["OMP_NUM_THREADS"]) == ("1", "4")


def test_check_explains_the_sizes_of_groups_within_eighty_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """37010 has 7 people, 37011 five and 37201 fifteen; 10 are F and 17 M. Counts below 11 are hidden."""
    path = str(tiny_request(tmp_path).path)
    Path(path).write_text(json.dumps(tiny_document()), encoding="utf-8")
    monkeypatch.setattr(console, "width", 80)
    assert left(monkeypatch, "check", path, "--explain") == 0
    lines = capsys.readouterr().out.splitlines()
    start = lines.index("Levels, each attribute by itself:")
    shown = [line.split() for line in lines[start + 1 : lines.index("", start)]]
    assert shown[0] == ["quasi-identifier", "level", "groups", "people", "in", "the", "smallest"]
    assert shown[1:4] == [["zip", "values", "3", "<11"], ["level", "1", "2", "12"], ["all", "1", "27"]]
    assert shown[-2:] == [["sex", "values", "2", "<11"], ["all", "1", "27"]]
    *lines, following = lines
    assert following.startswith("Next: run `releasegate release ")  # one line, to be copied
    assert max(map(len, lines)) <= 80
    assert left(monkeypatch, "check", path, "--explain", "--json") == 0
    found = json.loads(capsys.readouterr().out)["levels"]
    assert found["zip"][1] == {"level": "level 1", "groups": 2, "smallest": "12"}
    assert left(monkeypatch, "check", path, "--json") == 0
    assert "levels" not in json.loads(capsys.readouterr().out)

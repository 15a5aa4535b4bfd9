"""The package that notebooks and scripts use: it imports fast, assesses a frame as the gate would, and releases."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import releasegate
from tasks.assessments.registry import IDENTITY
from tasks.microdata.read import read_microdata
from tests.support.shared_workers import BRIEFLY
from tests.support.stages import candidate_of
from tests.support.tiny import tiny_document, tiny_request

ROOT = Path(__file__).parents[2]
SECOND = {**tiny_document()["recipients"][0], "id": "hospital"}


def test_the_import_alone_loads_no_library() -> None:
    script = "import sys, releasegate; print(sorted({'numpy', 'pandas', 'tasks', 'flows'} & sys.modules.keys()))"
    loaded = subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert loaded == "[]\n"


@pytest.mark.parametrize(
    ("name", "module"), [("flows", "flows/__init__.py"), ("tasks", "tasks.py"), ("reports", "reports/__init__.py")]
)
def test_a_package_of_somebody_else_under_one_of_our_names_is_told(tmp_path: Path, name: str, module: str) -> None:
    """As users of Prefect have them, in the folder that Python is run in."""
    other = tmp_path / module
    other.parent.mkdir(exist_ok=True)
    other.write_text("print('theirs')\n")
    script = "import releasegate; releasegate.ReleasegateError; print('ours')"
    ways: dict[str, list[str]] = {"shadowed": [], "by -P": ["-P"]}
    ran = {
        way: subprocess.run(
            [sys.executable, *options, "-c", script],
            cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
        )
        for way, options in ways.items()
    }  # fmt: skip
    error = ran["shadowed"].stderr
    assert f"ImportError: releasegate cannot be used here: Python finds another package {name} before its own" in error
    assert f"where: {other}" in error
    assert f"expected: {ROOT / name}" in error
    assert "python -P" in error
    assert ran["shadowed"].stdout == "", "nothing of theirs was run"
    assert (ran["by -P"].stdout, ran["by -P"].stderr) == ("ours\n", "")


def test_a_folder_that_is_no_package_is_no_other_package(tmp_path: Path) -> None:
    (tmp_path / "flows").mkdir()
    script = "import releasegate; releasegate.ReleasegateError; print('ours')"
    ran = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.stdout == "ours\n", ran.stderr


def test_every_name_is_there() -> None:
    for name in releasegate.__all__:
        module = getattr(releasegate, name)
        assert all(hasattr(module, one) for one in getattr(module, "__all__", ()))
    assert set(releasegate.__all__) <= set(dir(releasegate))
    with pytest.raises(AttributeError, match="nothing_of_it"):
        _ = releasegate.nothing_of_it


def test_a_frame_is_assessed_by_hand_and_from_a_file_alike(tmp_path: Path) -> None:
    loaded = tiny_request(tmp_path)
    text = read_microdata(tmp_path / "data.csv", loaded.request)
    (tmp_path / "request.yaml").write_text(json.dumps(tiny_document()), encoding="utf-8")
    by_hand = candidate_of(loaded, text)
    (tmp_path / "data.csv").unlink()
    found = releasegate.assess(text, loaded.request, folder=tmp_path)
    first = ["identity", "sequential", "combined", "linkage"]
    assert list(found) == [*first, "singling_out", "attribute", "columns", "utility"]
    numbers = text.astype({"age": "int64"})[[*reversed(text.columns)]]
    again = releasegate.assess(numbers, tmp_path / "request.yaml", "university")
    assert {name: one.measures for name, one in again.items()} == {name: one.measures for name, one in found.items()}
    own = releasegate.assess(text, loaded.request, folder=tmp_path, compare=False)
    assert own["identity"].measures == found["identity"].measures
    assert found["identity"].measures == IDENTITY.assess(by_hand).measures


@pytest.mark.parametrize("wanted", [None, "clinic"])
def test_a_recipient_is_named_where_there_are_several(tmp_path: Path, wanted: str | None) -> None:
    loaded = tiny_request(tmp_path, lambda document: document["recipients"].append(SECOND))
    with pytest.raises(releasegate.ReleasegateError, match="one of university, hospital"):
        releasegate.assess(pd.DataFrame(), loaded.request, wanted, folder=tmp_path)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda frame: frame.drop(columns="sex"), "missing: sex"),
        (lambda frame: frame.iloc[:0], "no records"),
        (lambda frame: frame.assign(diagnosis=[b"\xff", 1, "x", None, 2.5, ["y"]]), "cannot be read as text"),
        (lambda frame: frame.assign(diagnosis=[["secret"]] * 6), "cannot be read as text"),
        (lambda frame: frame.assign(age=88.5), "values are missing from a hierarchy"),
    ],
)
def test_a_frame_that_is_not_the_requests_is_refused(tmp_path: Path, spoil, message: str) -> None:
    loaded = tiny_request(tmp_path)
    frame = read_microdata(tmp_path / "data.csv", loaded.request)
    with pytest.raises(releasegate.ReleasegateError, match=message) as refused:
        releasegate.assess(spoil(frame), loaded.request, folder=tmp_path)
    assert "secret" not in str(refused.value)
    assert "88.5" not in str(refused.value)


def test_a_request_is_made_from_keywords_or_yaml() -> None:
    terms = tiny_document()
    by_keywords = releasegate.request(**{name: part for name, part in terms.items() if name != "schema_version"})
    assert by_keywords == releasegate.request(json.dumps(terms))
    again = releasegate.request(by_keywords.model_dump_json(exclude_unset=True))
    assert again == by_keywords


@pytest.mark.parametrize(
    ("given", "terms", "message"),
    [
        (None, {}, "from YAML or from keywords"),
        ("title: Tiny", {"title": "Tiny"}, "from YAML or from keywords"),
        (None, {**tiny_document(), "recipients": []}, "recipients"),
        (None, {**tiny_document(), "titel": "Tiny"}, "titel"),
        (None, {"title": {("a", "key"): 1}}, "not terms of a request"),
    ],
)
def test_a_request_that_is_not_valid_is_refused(given: str | None, terms: dict, message: str) -> None:
    with pytest.raises(releasegate.ReleasegateError, match=message):
        releasegate.request(given, **terms) if given else releasegate.request(**terms)


def test_yaml_in_place_of_a_path_is_told_as_such_and_not_repeated() -> None:
    with pytest.raises(releasegate.ReleasegateError, match=r"use releasegate\.request\(text\)") as refused:
        releasegate.check(pd.DataFrame(), "title: Tiny\ndataset: {}\n")
    assert "Tiny" not in str(refused.value)


def test_a_check_of_a_frame_finds_what_a_check_of_its_file_does(tmp_path: Path) -> None:
    from flows.actions.checking import checked_request

    loaded = tiny_request(tmp_path)
    (tmp_path / "request.yaml").write_text(json.dumps(tiny_document()), encoding="utf-8")
    frame = read_microdata(tmp_path / "data.csv", loaded.request)
    of_file = checked_request(tmp_path / "request.yaml", [], tmp_path)
    found = releasegate.check(frame, loaded.request, folder=tmp_path)
    assert (found.passed, found.failed, found.notes) == (of_file.passed, (), of_file.notes)
    assert "✗" not in found._repr_html_()
    spoilt = releasegate.check(frame.assign(id="7"), loaded.request, folder=tmp_path)
    assert not spoilt.passed
    assert len(spoilt.failed) == 1
    assert "of 6" in spoilt.failed[0]
    assert '<span class="failed">✗</span> id: ' in spoilt._repr_html_()


def test_gates_are_judged_on_what_was_measured_and_drawn(tmp_path: Path) -> None:
    def gated(document: dict) -> None:
        document["policy"]["gates"] = [
            {"measure": "prosecutor.maximum_risk", "at_most": 0.2, "because": "any"},
            {"measure": "released.information_kept", "at_least": 0.99, "because": "any"},
            {"measure": "released.smallest_class", "at_least": 1, "because": "any"},
            {"measure": "transparent.maximum_risk", "at_most": 1, "because": "any"},
        ]

    loaded = tiny_request(tmp_path, gated)
    found = releasegate.assess(read_microdata(tmp_path / "data.csv", loaded.request), loaded.request, folder=tmp_path)
    measures = found["identity"].measures
    assert [(gate.id, gate.measured) for gate in found.gates] == [
        (gate.measure.value, measures[gate.measure]) for gate in loaded.request.policy.gates
    ]
    assert [gate.passed for gate in found.gates] == [True, False, True, True]
    assert not found.passed
    html = found._repr_html_()
    assert "university: 3 of 4 gates" in html
    assert html.count("✗ failed") == 1
    assert html.count("<rect x=") == 3 + 2  # a bar for each figure between 0 and 1, and two in the legend


@pytest.mark.slow
def test_a_plain_script_releases(tmp_path: Path) -> None:
    tiny_request(tmp_path)
    (tmp_path / "request.yaml").write_text(json.dumps(tiny_document()), encoding="utf-8")
    script = tmp_path / "script.py"
    script.write_text(
        "import releasegate\n"
        f"request, workspace = {str(tmp_path / 'request.yaml')!r}, {str(tmp_path / 'workspace')!r}\n"
        "outcome = releasegate.release(request, workspace, enrol=True)\n"
        "print(len(outcome.records), outcome.records[0].decision, (outcome.bundle / 'manifest.json').exists())\n",
        encoding="utf-8",
    )
    environment = BRIEFLY | {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "1 blocked True\n"), done.stderr

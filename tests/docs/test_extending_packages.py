"""Patches of “Extending releasegate” that are applied to a copy of the packages and run."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
REQUESTS = ROOT / "tests" / "golden" / "requests"
RELEASE = """
import sys
from pathlib import Path
from tests.golden.doors import opened
with opened(Path(sys.argv[2])) as door:
    print(door.release(Path(sys.argv[1]), Path(sys.argv[2]) / "workspace")[1])
"""
COMMANDS = """
import sys
from contextlib import suppress
from flows.cli.app import main
for line in sys.argv[1:]:
    sys.argv = ["releasegate", *line.split(), "--json"]
    with suppress(SystemExit):
        main()
"""


class Extended:
    """The packages with one patch applied."""

    def __init__(self, folder: Path, patch: str) -> None:
        self.folder, self.home = folder / "product", folder / "home"
        self.home.mkdir()
        for package in ("flows", "reports", "tasks", "templates", "releasegate"):
            shutil.copytree(ROOT / package, self.folder / package)  # compiled modules too: compiling takes seconds
        shutil.copy(ROOT / "requirements.lock", self.folder)
        self.requests = folder / "requests"
        shutil.copytree(REQUESTS, self.requests)
        patch_file = ROOT / "examples" / "extending" / f"{patch}.patch"
        environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(folder)}  # else a repository around it counts
        subprocess.run(["git", "apply", "-C1", patch_file], cwd=self.folder, env=environment, check=True)

    def request(self, change: Callable[[dict[str, Any]], object]) -> Path:
        """A golden request with other terms, and without the attacks that take long."""
        path = self.requests / "masked.yaml"
        document = yaml.safe_load(path.read_text("utf-8"))
        document["policy"].setdefault("linkage", {})["learned"] = False
        change(document)
        path.write_text(yaml.safe_dump(document), "utf-8")
        return path

    def run(self, *arguments: str) -> str:
        environment = {**os.environ, "PYTHONPATH": f"{self.folder}{os.pathsep}{ROOT}", "PYTHONDONTWRITEBYTECODE": ""}
        done = subprocess.run(
            [sys.executable, *arguments],
            capture_output=True,
            text=True,
            cwd=self.requests,
            env=environment,
            check=False,
        )
        assert done.returncode in (0, 3), done.stderr
        return done.stdout

    def commands(self, *lines: str) -> list[dict[str, Any]]:
        """The JSON document of each command, all in one process: each would import for seconds."""
        documents: list[dict[str, Any]] = list(map(json.loads, self.run("-c", COMMANDS, *lines).splitlines()))
        assert {one["exit_code"] for one in documents} <= {0, 3}, documents
        return documents

    def released(self, request: Path) -> Path:
        """The bundle of a release."""
        return Path(self.run("-c", RELEASE, str(request), str(self.home)).split()[-1])


@pytest.mark.slow
def test_a_masking_method(tmp_path: Path) -> None:
    product = Extended(tmp_path, "masking-method")
    rounding = {"attributes": ["stay", "charge"], "method": "rounding", "step": 7}
    path = product.request(lambda document: document.update(masking=[rounding]))
    checked, linkage, utility = product.commands(
        f"check {path.name}", f"assess linkage {path.name}", f"assess utility {path.name}"
    )
    (masking,) = checked["masking"]
    assert (masking["method"], masking["parameters"]) == ("rounding", {"step": 7.0})
    (found,) = linkage["recipients"].values()
    attacks = {attack["id"]: attack for attack in found["attacks"]}
    assert attacks["numbers-candidates"]["figure"]["share"] > 0
    (found,) = utility["recipients"].values()
    assert [curve["parameter"] for curve in found["curves"]] == ["step"]
    assert "each value is within half a step of its own" in _report(product.released(path))


@pytest.mark.slow
def test_a_measure_of_an_assessment(tmp_path: Path) -> None:
    product = Extended(tmp_path, "measure")
    gate = {"measure": "utility.largest_loss", "at_most": 1, "because": "everything may be lost"}
    bundle = product.released(product.request(lambda document: document["policy"]["gates"].append(gate)))
    (record,) = (json.loads(path.read_text("utf-8")) for path in (bundle / "decision").glob("*.json"))
    (judged,) = (one for one in record["gates"] if one["id"] == "utility.largest_loss")
    assert judged["passed"]
    assert 0 < judged["measured"] <= 1
    assert "Largest loss of a generalized attribute" in _report(bundle)


@pytest.mark.slow
def test_an_assessment_with_its_report_section(tmp_path: Path) -> None:
    product = Extended(tmp_path, "assessment")
    bundle = product.released(product.request(lambda _: None))
    (record,) = (json.loads(path.read_text("utf-8")) for path in (bundle / "decision").glob("*.json"))
    fact = record["further"]["singletons"]
    assert 0 <= fact["alone"] <= fact["records"] == record["risk"]["linkage"]["records"]
    assert "released records are alone in their group" in _report(bundle)


def test_a_command(tmp_path: Path) -> None:
    product = Extended(tmp_path, "command")
    records = len((product.requests / "measured.csv").read_text("latin-1").splitlines()) - 1
    (found,) = product.commands("count masked.yaml")
    assert found["records"] == records


def _report(bundle: Path) -> str:
    """The text of the determination and of its evidence, before they are drawn."""
    pages = [*(bundle / "report").glob("*.pdf"), *(bundle / "evidence").glob("*.pdf")]
    return " ".join(" ".join(page.read_text("utf-8").split()) for page in pages)

"""Patches of “Extending releasegate” that are applied to one copy of the packages, after one another, and run."""

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
PATCHES = ("masking-method", "measure", "assessment", "command")
RELEASES = """
import sys
from pathlib import Path
from tests.golden.doors import opened
home = Path(sys.argv[1])
with opened(home) as door:
    for request in map(Path, sys.argv[2:]):
        print(door.release(request, home / request.stem)[1])
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
    """The packages with all patches applied."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.home = folder / "product", folder / "home"
        self.home.mkdir()
        for package in ("flows", "reports", "tasks", "templates", "releasegate"):
            shutil.copytree(ROOT / package, self.folder / package)  # compiled modules too: compiling takes seconds
        shutil.copy(ROOT / "requirements.lock", self.folder)
        self.requests = folder / "requests"
        shutil.copytree(REQUESTS, self.requests)
        environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(folder)}  # else a repository around it counts
        for patch in PATCHES:
            patch_file = ROOT / "examples" / "extending" / f"{patch}.patch"
            subprocess.run(["git", "apply", "-C1", patch_file], cwd=self.folder, env=environment, check=True)

    def request(self, name: str, change: Callable[[dict[str, Any]], object]) -> Path:
        """A golden request with other terms, and without the attacks that take long."""
        document = yaml.safe_load((self.requests / "masked.yaml").read_text("utf-8"))
        document["policy"].setdefault("linkage", {})["learned"] = False
        change(document)
        path = self.requests / f"{name}.yaml"
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

    def released(self, *requests: Path) -> list[Path]:
        """The bundles of releases, each in a workspace of its own, all made in one process."""
        return [Path(line) for line in self.run("-c", RELEASES, str(self.home), *map(str, requests)).splitlines()]


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> Extended:
    return Extended(tmp_path_factory.mktemp("extended"))


@pytest.fixture(scope="module")
def bundles(product: Extended) -> dict[str, Path]:
    """A release with the method, one with a gate on the measure, and one with neither."""
    rounding = {"attributes": ["stay", "charge"], "method": "rounding", "step": 7}
    gate = {"measure": "utility.largest_loss", "at_most": 1, "because": "everything may be lost"}
    requests = [
        product.request("rounded", lambda document: document.update(masking=[rounding])),
        product.request("gated", lambda document: document["policy"]["gates"].append(gate)),
        product.request("assessed", lambda _: None),
    ]
    return {path.stem: bundle for path, bundle in zip(requests, product.released(*requests), strict=True)}


@pytest.mark.slow
def test_a_masking_method(product: Extended, bundles: dict[str, Path]) -> None:
    checked, linkage, utility = product.commands(
        "check rounded.yaml", "assess linkage rounded.yaml", "assess utility rounded.yaml"
    )
    (masking,) = checked["masking"]
    assert (masking["method"], masking["parameters"]) == ("rounding", {"step": 7.0})
    (found,) = linkage["recipients"].values()
    attacks = {attack["id"]: attack for attack in found["attacks"]}
    assert attacks["numbers-candidates"]["figure"]["share"] > 0
    (found,) = utility["recipients"].values()
    assert [curve["parameter"] for curve in found["curves"]] == ["step"]
    assert "each value is within half a step of its own" in _report(bundles["rounded"])


@pytest.mark.slow
def test_a_measure_of_an_assessment(bundles: dict[str, Path]) -> None:
    bundle = bundles["gated"]
    (record,) = (json.loads(path.read_text("utf-8")) for path in (bundle / "decision").glob("*.json"))
    (judged,) = (one for one in record["gates"] if one["id"] == "utility.largest_loss")
    assert judged["passed"]
    assert 0 < judged["measured"] <= 1
    assert "Largest loss of a generalized attribute" in _report(bundle)


@pytest.mark.slow
def test_an_assessment_with_its_report_section(bundles: dict[str, Path]) -> None:
    bundle = bundles["assessed"]
    (record,) = (json.loads(path.read_text("utf-8")) for path in (bundle / "decision").glob("*.json"))
    fact = record["further"]["singletons"]
    assert 0 <= fact["alone"] <= fact["records"] == record["risk"]["linkage"]["records"]
    assert "released records are alone in their group" in _report(bundle)


def test_a_command(product: Extended) -> None:
    records = len((product.requests / "measured.csv").read_text("latin-1").splitlines()) - 1
    (found,) = product.commands("count masked.yaml")
    assert found["records"] == records


def _report(bundle: Path) -> str:
    """The text of the determination and of its evidence, before they are drawn."""
    pages = [*(bundle / "report").glob("*.pdf"), *(bundle / "evidence").glob("*.pdf")]
    return " ".join(" ".join(page.read_text("utf-8").split()) for page in pages)

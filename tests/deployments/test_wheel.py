"""The program as people install it: from a built wheel, into an empty environment, used in an empty folder."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import time
import urllib.error
import urllib.request
import zipfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from deployments.pip_settings import pip_settings, uv_environment
from flows.releases.program import _sources_digest
from tasks.core.files import file_sha256

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
UV = Path(sys.executable).with_name("uv")
EVERYWHERE = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "RELEASEGATE_"))}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source distribution, and the wheel that was built of it."""
    folder = tmp_path_factory.mktemp("dist")
    line = [UV, "build", "--quiet", "--no-build-isolation", "--python", sys.executable, "--out-dir", folder, ROOT]
    done = subprocess.run(line, env=EVERYWHERE, capture_output=True, text=True, check=False, timeout=280)
    assert done.returncode == 0, done.stderr
    return folder


@dataclass(frozen=True)
class Installed:
    """The command, installed as a tool in an environment of its own."""

    command: Path
    folder: Path
    """Where it is used; nothing of the checkout is there."""

    def run(self, *arguments: str | Path) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [self.command, *arguments],
            cwd=self.folder,
            env=EVERYWHERE,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=280,
        )

    def document(self, *arguments: str | Path, code: int = 0) -> Any:
        done = self.run(*arguments, "--json")
        assert done.returncode == code, done.stdout + done.stderr
        return json.loads(done.stdout)


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    home = tmp_path_factory.mktemp("tools")
    (wheel,) = built.glob("*.whl")
    tools = {"UV_TOOL_DIR": str(home / "tools"), "UV_TOOL_BIN_DIR": str(home / "bin"), "UV_PYTHON_DOWNLOADS": "never"}
    line = [UV, "tool", "install", "--quiet", "--python", sys.executable, "--constraints", ROOT / "requirements.lock"]
    environment = EVERYWHERE | uv_environment(pip_settings(), os.environ) | tools
    done = subprocess.run([*line, wheel], env=environment, capture_output=True, text=True, check=False, timeout=280)
    assert done.returncode == 0, done.stderr
    (packages,) = (home / "tools").glob("*/lib/python*/site-packages")
    compiled_as_here(packages)
    return Installed(home / "bin" / "releasegate", tmp_path_factory.mktemp("elsewhere"))


def compiled_as_here(packages: Path) -> None:
    """Give packages of the same versions the compiled modules of this environment, which name a source's time and size.

    Compiling them takes ten seconds of a processor. Where a size differs, Python compiles the module itself.
    """
    here = sysconfig.get_path("purelib")
    for folder, _, _ in os.walk(here):
        place = os.path.join(packages, os.path.relpath(os.path.dirname(folder), here))
        if not folder.endswith("__pycache__") or not os.path.isdir(place):
            continue
        shutil.copytree(folder, os.path.join(place, "__pycache__"), copy_function=shutil.copyfile, dirs_exist_ok=True)
        for source in os.scandir(os.path.dirname(folder)):
            if source.name.endswith(".py"):
                with suppress(FileNotFoundError):
                    os.utime(os.path.join(place, source.name), ns=(0, source.stat().st_mtime_ns))


def test_wheel_and_source_distribution_hold_what_the_program_needs(built: Path) -> None:
    (wheel,), (source,) = built.glob("*.whl"), built.glob("*.tar.gz")
    names = zipfile.ZipFile(wheel).namelist()
    assert wheel.stat().st_size < 5_000_000
    own = f"{wheel.name.removesuffix('-py3-none-any.whl')}.dist-info"
    assert {name.partition("/")[0] for name in names} == {"flows", "releasegate", "reports", "tasks", own}
    shipped = files_below("templates", "schemas", "examples/adult-tn", "examples/clinic")
    data = [path for path in files_below("tasks", "flows") if path.suffix in {".txt", ".gz", ".pem", ".yml"}]
    wanted = {f"releasegate/shipped/{path.relative_to(ROOT)}" for path in shipped}
    assert len(shipped) > 40
    assert len(data) >= 6
    assert (wanted | {str(path.relative_to(ROOT)) for path in data}) - set(names) == set()
    with tarfile.open(source) as archive:
        files = {name.partition("/")[2] for name in archive.getnames()}
    assert {
        "pyproject.toml",
        "requirements.lock",
        "LICENSE",
        "templates/document.html",
        "deployments/setup.sh",
    } <= files


def files_below(*folders: str) -> list[Path]:
    found = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()]
    return [path for path in found if "__pycache__" not in path.parts]


def test_the_installed_program_takes_its_example_to_a_determination(installed: Installed) -> None:
    assert "Exit codes" in installed.run("--help").stdout
    found = {one["name"]: one for one in installed.document("doctor")["conditions"]}
    assert found["PDF reports"]["found"] == "can be rendered"
    assert found["packages"]["remedy"] == ""
    assert found["extra readers"]["remedy"] == "pip install 'releasegate[readers]'"
    told = installed.document("demo", "example", "--example", "clinic")
    assert (installed.folder / "example" / "request.schema.json").is_file()
    assert installed.run(*told["commands"][0].split()[1:]).returncode == 3  # two notes hold identifiers
    clean = ("example/request-clean.yaml", "--enrol", "--workspace", "example/workspace")
    made = installed.document("release", *clean)
    (recipient,) = made["recipients"]
    assert (installed.folder / recipient["report"]).read_bytes().startswith(b"%PDF-1.7")
    record = json.loads((installed.folder / recipient["record"]).read_bytes())
    assert record["code"]["commit"] == f"sources.{_sources_digest()}"
    assert record["code"]["lock_sha256"] == file_sha256(ROOT / "requirements.lock")
    assert installed.run("verify", recipient["release_id"], "--workspace", "example/workspace").returncode == 0


def test_the_installed_program_serves_from_any_folder(installed: Installed) -> None:
    log = installed.folder / "serve.log"
    line = [installed.command, "serve", "--workspace", "served", "--listen", "127.0.0.1:0", "--json-logs"]
    with log.open("wb") as output:
        process = subprocess.Popen(line, cwd=installed.folder, env=EVERYWHERE, stdout=output, stderr=output)
    try:
        deadline = time.monotonic() + 240
        while not _is_healthy(log):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.2)
    finally:
        process.terminate()
    assert process.wait(60) == 0


def _is_healthy(log: Path) -> bool:
    told = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    addresses = [one["address"] for one in told if one["event"] == "the service answers"]
    if not addresses:
        return False
    try:
        with urllib.request.urlopen(f"{addresses[0]}/health", timeout=10) as answer:
            return bool(answer.status == 200)
    except urllib.error.URLError:
        return False

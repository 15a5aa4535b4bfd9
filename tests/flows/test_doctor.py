"""The doctor names what is missing, and how to get it; only what no release can do without makes it fail."""

import re
import webbrowser
from pathlib import Path
from typing import Any

import pytest

from flows.actions import doctor
from flows.actions.doctor import conditions
from flows.releases.packages import not_as_locked
from reports import pdf
from tasks.core.errors import StageFailed
from tests.support.world import World


def named(workspace: Path) -> dict[str, doctor.Condition]:
    return {one.name: one for one in conditions(workspace)}


def test_a_machine_that_has_everything_is_healthy(world: World, releasegate: Any) -> None:
    world.enrol()
    told = releasegate("doctor", "--workspace", world.workspace.root)
    assert (told.code, told.err) == (0, "")
    lines = {line.split("  ")[0].strip(): line for line in told.out.splitlines()}
    assert "can be rendered" in lines["✓ PDF reports"]
    assert "entries in the ledger" in lines["✓ workspace"]
    assert {f"✓ extra {one}" for one in ("dask", "postgres", "readers")} <= lines.keys()
    found = releasegate("doctor", "--json", "--workspace", world.workspace.root).document["conditions"]
    assert [one["name"] for one in found][:4] == ["program", "packages", "PDF reports", "workspace"]


def test_nothing_is_written(tmp_path: Path) -> None:
    found = named(tmp_path / "new" / "workspace")["workspace"]
    assert (found.found.startswith("none yet"), found.remedy) == (True, "")
    assert list(tmp_path.iterdir()) == []


def test_missing_libraries_fail_with_the_packages_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, releasegate: Any
) -> None:
    def missing() -> None:
        raise StageFailed("no report", got="a library that cannot be loaded", fix="install libpango")

    monkeypatch.setattr(pdf, "prepare_renderer", missing)
    told = releasegate("doctor", "--workspace", tmp_path)
    assert told.code == 1
    assert "✗ PDF reports     a library that cannot be loaded; to do: install libpango" in told.out


def test_a_missing_extra_is_named_and_fails_only_where_it_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "installed", lambda package: None if package in ("psycopg", "pyreadstat") else "1")
    found = named(tmp_path)
    assert found["extra readers"].found == "missing; for files of Excel, SAS, Stata and SPSS"
    assert found["extra readers"].remedy == "pip install 'releasegate[readers]'"
    assert found["extra dask"].remedy == ""
    assert not any(one.fails for one in found.values())
    monkeypatch.setenv("RELEASEGATE_LEDGER", "postgresql://gate@nowhere/releasegate")
    assert named(tmp_path)["extra postgres"].fails


def test_a_missing_package_fails_and_is_named_with_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "installed", lambda package: None if package in ("ortools", "psycopg") else "1")
    found = named(tmp_path)["packages"]
    assert (found.found, found.fails) == ("missing: ortools", True)
    assert re.fullmatch(r"pip install 'ortools[<>=.,0-9]+'", found.remedy)


def test_packages_in_other_versions_are_named_with_those_that_were_tested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not_as_locked() == {}
    lock = tmp_path / "lock"
    lock.write_text("numpy==0.1 ; python_version < '3'\nnumpy==0.2\nnever-there==1.0\n", encoding="utf-8")
    monkeypatch.setattr("flows.releases.packages.lock_file", lambda: lock)
    assert [tested for _, tested in not_as_locked().values()] == ["0.2"]
    found = named(tmp_path)["packages"]
    assert (found.found, found.remedy) == ("1 in other versions than were tested", "pip install numpy==0.2")


def test_a_ledger_that_cannot_be_used_and_a_closed_folder_fail(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.enrol()
    monkeypatch.setattr("flows.actions.doctor.os.access", lambda path, _mode: Path(path) != world.workspace.releases)
    found = named(world.workspace.root)["workspace"]
    assert found.fails
    assert found.found == f"{world.workspace.releases} cannot be written"
    monkeypatch.undo()
    world.workspace.ledger.write_bytes(b"no ledger at all")
    assert named(world.workspace.root)["workspace"].fails


def test_a_machine_without_a_browser_is_told_how_to_reach_the_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none() -> None:
        raise webbrowser.Error

    monkeypatch.setattr(webbrowser, "get", none)
    found = named(tmp_path)["browser"]
    assert "ssh -L" in found.remedy
    assert not found.fails

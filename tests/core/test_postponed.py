"""Modules that libraries import and a release does not use."""

import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tasks.core.postponed import postpone

NAME = "postponed_for_a_test"
CONTENT = """
import sys
sys.loaded_for_a_test.append(__name__)

class Rule:
    ends = 2, 5

    def __call__(self, number):
        return number + 1

rule = Rule()
"""


@pytest.fixture
def loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    package = tmp_path / NAME
    package.mkdir()
    (package / "__init__.py").write_text(CONTENT)
    (package / "part.py").write_text("own = 3")
    monkeypatch.syspath_prepend(tmp_path)
    names: list[str] = []
    monkeypatch.setattr(sys, "loaded_for_a_test", names, raising=False)
    yield names
    for name in (NAME, f"{NAME}.part"):
        sys.modules.pop(name, None)


def of_module(code: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    exec(code, found)  # noqa: S102 - import statements as libraries have them
    return found


def test_a_postponed_module_is_imported_when_something_of_it_is_used(loaded: list[str]) -> None:
    postpone(NAME)
    first = of_module(f"import {NAME} as it")["it"]
    second = of_module(f"import {NAME} as it")["it"]
    assert loaded == []
    assert first.rule(1) == second.rule(1) == 2
    assert loaded == [NAME]
    assert import_module(NAME).Rule.ends == (2, 5)
    assert loaded == [NAME]


@pytest.mark.parametrize("use", [lambda rule: rule(1) == 2, lambda rule: rule.ends == (2, 5)])
def test_a_member_imported_by_its_name_is_the_real_one_once_it_is_used(
    loaded: list[str], use: Callable[[Any], bool]
) -> None:
    postpone(NAME, ("rule",))
    rule = of_module(f"from {NAME} import rule")["rule"]
    assert loaded == []
    assert use(rule)
    assert loaded == [NAME]


def test_a_module_within_is_imported_by_itself(loaded: list[str]) -> None:
    postpone(NAME)
    assert import_module(f"{NAME}.part").own == 3
    assert loaded == []


def test_a_postponed_part_is_found_in_its_package(loaded: list[str]) -> None:
    postpone(f"{NAME}.part")
    assert loaded == [NAME]
    part = import_module(NAME).part
    assert "own" not in vars(part)
    assert part.own == 3
    assert import_module(NAME).part is import_module(f"{NAME}.part") is not part


def test_what_is_imported_already_stays(loaded: list[str]) -> None:
    real = import_module(NAME)
    postpone(NAME)
    assert sys.modules[NAME] is real
    assert loaded == [NAME]


def test_a_postponed_module_has_no_members_of_its_own_making(loaded: list[str]) -> None:
    postpone(NAME)
    with pytest.raises(AttributeError):
        _ = import_module(NAME).nothing
    assert loaded == [NAME]

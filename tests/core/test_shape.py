"""The shape that every change keeps."""

import ast

import pytest

from tests import shape


def test_no_two_folders_import_each_other() -> None:
    assert shape.mutual_imports() == []


def test_folders_that_import_each_other_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {
        "flows.gate": "",
        "flows.gate.call": "from flows.people import persons",
        "flows.people.persons": "def enrolled():\n    from flows.gate.call import Call",
        "tasks.core.errors": "import os",
    }
    monkeypatch.setattr(shape, "modules", lambda: ((name, text, ast.parse(text)) for name, text in texts.items()))
    assert shape.mutual_imports() == [("flows.gate", "flows.people")]

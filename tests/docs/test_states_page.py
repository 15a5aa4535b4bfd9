"""The page of states shows the table as it is."""

import re
from pathlib import Path

from flows.cli.release_json import exit_code
from tasks.decision.states import State, diagram

PAGE = (Path(__file__).parents[2] / "docs" / "states.md").read_text(encoding="utf-8")


def test_the_diagram_is_that_of_the_table() -> None:
    (shown,) = re.findall(r"^```mermaid\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert shown == diagram(), "put tasks.decision.states.diagram() into docs/states.md"


def test_the_exit_codes_are_those_of_the_command() -> None:
    rows = re.findall(r"^\| ([a-z, ]+) \|.*\| (?:exit code )?(\d) \|$", PAGE, re.MULTILINE)
    told = {State(name): int(code) for names, code in rows for name in names.split(", ")}
    assert told == {state: int(exit_code([state])) for state in told}
    assert set(State) - told.keys() == {State.REQUESTED, State.VALIDATED, State.ASSESSED}

"""Output of the commands: lines and tables for people, one JSON document for programs."""

import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from enum import IntEnum
from typing import Annotated, Any

import typer
from rich.console import Console, RenderableType
from rich.text import Text

from tasks.core.errors import ReleasegateError, RequestError

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]


class ExitCode(IntEnum):
    """Exit codes of every command."""

    APPROVED = 0
    INTERNAL = 1
    BAD_INPUT = 2
    BLOCKED = 3
    AWAITING_REVIEW = 4


# Names of columns and paths may hold brackets, which are no markup.
console = Console(highlight=False, markup=False)
notices = Console(stderr=True, highlight=False, markup=False)


def print_json(document: Mapping[str, Any]) -> None:
    """Write a document to standard output, one line."""
    sys.stdout.write(json.dumps(document, ensure_ascii=False, allow_nan=False, default=str) + "\n")


def answer(
    document: Mapping[str, Any],
    lines: Iterable[RenderableType],
    *,
    as_json: bool,
    code: ExitCode = ExitCode.APPROVED,
) -> ExitCode:
    """Print the result of a command: one JSON document for programs, or lines and tables for people.

    Parameters
    ----------
    document : mapping
        Fields of the JSON document after ``ok`` and ``exit_code``.
    lines : iterable of rich renderables
        Not evaluated where JSON is asked for, if it is a generator.
    as_json : bool
    code : ExitCode

    Returns
    -------
    ExitCode
        `code`.
    """
    if as_json:
        print_json({"ok": code == ExitCode.APPROVED, "exit_code": int(code), **document})
        return code
    for line in lines:
        console.print(line, soft_wrap=isinstance(line, str | Text))
    return code


def outcome(word: str, rest: str = "", style: str = "bold green") -> Text:
    """The first line of a result: one emphasized word, and what it applies to."""
    return Text.assemble((word, style), rest)


def show_error(error: ReleasegateError, *, as_json: bool) -> None:
    """Show what is wrong, where, what was expected and got, and what to do."""
    if as_json:
        fields: dict[str, object] = {**error.fields()}
        if isinstance(error, RequestError):
            fields["problems"] = [asdict(problem) for problem in error.problems]
        print_json({"ok": False, "exit_code": error.exit_code, "error": fields})
        return
    notices.print(Text.assemble(("error: ", "bold red"), str(error)), soft_wrap=True)


def show_internal_error(error: BaseException, place: str, *, as_json: bool) -> None:
    """Show a fault of the program by its type and place; its message might quote a data value."""
    failure = ReleasegateError(
        "the program failed; nothing was released",
        where=place,
        got=type(error).__name__,
        fix="run the command again, and report this message if it comes back",
    )
    show_error(failure, as_json=as_json)

"""Output of the commands: blocks of the document model for people, one JSON document for programs."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict
from enum import IntEnum
from typing import Any

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from reports.model.document import Block
from reports.terminal import show
from tasks.core.errors import ReleasegateError, RequestError

Blocks = Iterable[Block]
_HUNDREDTH, _TEN, _LONG = 0.01, 10, 10_000

as_json: ContextVar[bool] = ContextVar("as_json", default=False)
"""Whether the command that runs prints a JSON document."""
says_it_stopped = ContextVar("says_it_stopped", default=False)
"""Whether the command itself has said that it was interrupted."""


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
    document: Mapping[str, Any], blocks: Blocks, *, code: ExitCode = ExitCode.APPROVED, notes: Iterable[str] = ()
) -> ExitCode:
    """Print the result of a command and return its code: one JSON document for programs, or blocks for people.

    Blocks are not evaluated where JSON is required, if they are a generator. Notes are for people, on standard error.
    """
    if as_json.get():
        print_json({"ok": code == ExitCode.APPROVED, "exit_code": int(code), **document})
        return code
    show(blocks, console)
    for note in notes:
        notices.print(f"note: {note}")
    return code


def figure(value: float | None) -> str:
    """A figure with four significant digits, or all of its whole part; a dash for none."""
    if value is None:
        return "–"
    return f"{value:,.4g}" if abs(value) < _LONG else f"{value:,.0f}"


def seconds(value: float) -> str:
    """A time in seconds, to hundredths below ten."""
    if value < _HUNDREDTH:
        return "<.01"
    return f"{value:.2f}" if value < _TEN else f"{value:,.0f}"


@contextmanager
def progress(begun: str = "", *, lines: bool = False) -> Iterator[Callable[[str], None]]:
    """Show the step in progress while a block runs; nothing beside JSON, or where standard error is no terminal.

    ``lines`` prints a line for each step there.
    """
    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    disable = as_json.get() or not notices.is_terminal
    with Progress(*columns, console=notices, transient=True, disable=disable) as shown:
        task = shown.add_task(begun, total=None)

        def show(step: str) -> None:
            shown.update(task, description=step)
            if lines and not notices.is_terminal and not as_json.get():
                notices.print(f"· {step}")

        yield show


def show_error(error: ReleasegateError) -> None:
    """Show what is wrong, where, what was expected and got, and what to do."""
    if as_json.get():
        fields: dict[str, object] = {**error.fields()}
        if isinstance(error, RequestError):
            fields["problems"] = [asdict(problem) for problem in error.problems]
        print_json({"ok": False, "exit_code": error.exit_code, "error": fields})
    else:
        notices.print(Text.assemble(("error: ", "bold red"), str(error)), soft_wrap=True)

"""The command line's entry: its commands, and the exit code of whatever happens in them."""

import gc
import io
import os
import sys
import traceback
from contextvars import copy_context
from importlib import import_module
from typing import Any, Final

import typer
from typer.core import TyperCommand, TyperGroup
from typer.exceptions import TyperException

from flows.cli.misuse import misused
from flows.cli.output import ExitCode, as_json, notices, says_it_stopped, show_error
from tasks.core.errors import ReleasegateError
from tasks.core.modes import owner_only
from tasks.core.secret_variables import secrets_taken

_INTERRUPTED = 130
_COLLECTOR = (50_000, 20, 50)
"""Thresholds of Python's garbage collector; by default it takes an eighth of the time of a large import."""


_COMMANDS = {
    "demo": "Write an example into a folder: data, population, hierarchies and requests.",
    "init": "Draft a request: suggest a role and a hierarchy for every column, and say why.",
    "studio": "Write a request in a page on this machine: columns, terms, risk, the run and its decision.",
    "enrol": "Enrol policies, populations and persons, which requests may then name.",
    "check": "Validate a request and its data; release nothing and write nothing.",
    "assess": "Assess one method alone and release nothing.",
    "release": "Run the gate on a request: decide for every recipient and write the bundle.",
    "explain": "Say why a release was approved or blocked, and the smallest change that would reverse the verdict.",
    "review": "Vote on a release that awaits review, or show the state of its review.",
    "revoke": "Revoke a release permanently: nothing more is delivered under it.",
    "override": "Override failed gates of a blocked release, or put a rejected one before its reviewers again.",
    "sign": "Sign the determination of a release with an expert's X.509 certificate.",
    "reassess": "Assess earlier releases again: the same bytes under today's population, policy, prices and program.",
    "audit": "Write the audit of a period: PDF, JSON and CSV, from the ledger alone.",
    "trace": "Find the recipient that a leak came from, by the decoys in their copy.",
    "identify": "Find the recipient whose pseudonyms are in a leak, and the people that they stand for.",
    "verify": "Verify a bundle, a signed determination, or the ledger.",
    "serve": "Run the gate unattended: accept requests, decide them, wait for reviewers, follow schedules.",
    "key": "Keys that people sign with, and keys that seal decoy manifests.",
    "account": "Accounts of the reviewer's page.",
    "doctor": "Say what is missing on this machine, and how to get it.",
    "token": "Tokens with which people and systems submit requests over HTTP.",
}
"""Every command, in the order of the help, with the first paragraph of its own help.

A command is the function, or the group, of its name in the module of its name.
"""

_MODULES = {"override": "revoke"}
"""Modules of commands that share one."""
_WITHOUT_JSON = frozenset({"serve", "studio", "text"})
"""Commands without an answer that a program could read."""
_MARKUP: Final = "markdown"  # folds paragraphs to the width of the terminal


class _Commands(TyperGroup):
    """Commands whose modules are imported when they are run, as solvers and report writers take seconds to import."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """Names of all commands."""
        return list(_COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """A command as the help lists it, or None; its module is not imported."""
        return TyperCommand(cmd_name, help=_COMMANDS[cmd_name]) if cmd_name in _COMMANDS else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command to run, from its module."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, None if name is None else _imported(ctx, name), rest


def _print_json(context: typer.Context, wanted: bool) -> None:
    before = as_json.set(wanted)
    context.call_on_close(lambda: as_json.reset(before))


def _json_option() -> Any:
    """The option of every command that prints an answer, made as Typer makes it of a function's parameter."""
    carrier = typer.Typer(add_completion=False)
    told = "Print one JSON document instead of text."

    @carrier.command()
    def _take(*, _: bool = typer.Option(False, "--json", callback=_print_json, help=told)) -> None: ...

    option: Any
    (option,) = typer.main.get_command(carrier).params
    option.expose_value = False
    return option


def _imported(ctx: Any, name: str) -> Any:
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=_MARKUP)
    command = getattr(import_module(f"flows.cli.{_MODULES.get(name, name)}"), name)
    if isinstance(command, typer.Typer):
        alone.add_typer(command, name=name)
    else:
        alone.command(name)(command)
    made: Any = typer.main.get_command(alone)
    found: Any = made.get_command(ctx, name) if isinstance(made, TyperGroup) else made
    for one in found.commands.values() if isinstance(found, TyperGroup) else [found]:
        one.params += [] if one.name in _WITHOUT_JSON else [_json_option()]
    return found


app = typer.Typer(
    name="releasegate",
    cls=_Commands,
    help="The gate that every outbound release of person-level data passes.",
    epilog="Exit codes: 0 approved or done, 2 bad request or data, 3 blocked, 4 awaiting review, 1 internal error.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=_MARKUP,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib import metadata  # noqa: PLC0415

        typer.echo(metadata.version("releasegate"))
        raise typer.Exit


@app.callback()
def _root(
    *, version: bool = typer.Option(False, "--version", callback=_show_version, is_eager=True, help="Show the version.")
) -> None:
    """The gate that every outbound release of person-level data passes."""


def main() -> None:
    """Run a command and leave with its exit code; no traceback reaches the terminal."""
    sys.exit(copy_context().run(_run))  # in a context of its own: what it sets ends with the command


def _run() -> int:
    gc.set_threshold(*_COLLECTOR)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # more threads wait for each other longer than they work
        os.environ.setdefault(name, "1")
    as_json.set("--json" in sys.argv)
    says_it_stopped.set(False)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A character that the terminal does not know is written as its code and does not end the command.
            stream.reconfigure(errors="backslashreplace")
    try:
        with owner_only(), secrets_taken():
            result = app(standalone_mode=False)
        code = result if isinstance(result, int) else 0
    except ReleasegateError as error:
        show_error(error)
        code = error.exit_code
    except TyperException as error:
        if error.format_message():  # empty where the help was shown because no command was given
            show_error(misused(error))
        code = ExitCode.BAD_INPUT
    except (typer.Abort, KeyboardInterrupt):
        code = _INTERRUPTED
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        failure = ReleasegateError(  # the message of the error might quote a data value
            "the program failed; nothing was released",
            where=f"{place.name}, line {place.lineno}",
            got=type(error).__name__,
            fix="run the command again, and report this message if it comes back",
        )
        show_error(failure)
        code = ExitCode.INTERNAL
    if code == _INTERRUPTED and not says_it_stopped.get():
        notices.print("stopped; the same command can be run again")
    gc.freeze()  # the interpreter need not search a million objects for cycles as it ends
    return int(code)

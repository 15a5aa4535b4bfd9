"""The command line's entry: its commands, and the exit code of whatever happens in them."""

import io
import sys
import traceback
from importlib import import_module, metadata
from typing import Any, Final

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException

from flows.cli.output import ExitCode, show_error, show_internal_error
from tasks.errors import BadInput, ReleasegateError

_INTERRUPTED = 130

_MODULES = {
    "init": "init",
    "check": "check",
    "assess": "assess",
    "release": "release",
    "explain": "explain",
    "review": "review",
    "revoke": "revoke",
    "override": "revoke",
    "sign": "sign",
    "reassess": "reassess",
    "audit": "audit",
    "trace": "trace",
    "verify": "verify",
    "serve": "serve",
    "key": "key",
    "account": "account",
}
"""The module of each command, in the order of the help."""

_MARKUP: Final = "markdown"  # folds paragraphs to the width of the terminal


class _Commands(TyperGroup):
    """Commands whose modules are imported when they are run, for solvers and report writers take seconds to import."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """Names of all commands."""
        return list(_MODULES)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command by its name, or None."""
        if cmd_name not in _MODULES:
            return None
        alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=_MARKUP)
        import_module(f"flows.cli.{_MODULES[cmd_name]}").register(alone)
        made = typer.main.get_command(alone)
        return made.get_command(ctx, cmd_name) if isinstance(made, TyperGroup) else made


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


def _version(*, wanted: bool) -> None:
    if wanted:
        typer.echo(metadata.version("releasegate"))
        raise typer.Exit


@app.callback()
def _root(
    *,
    version: bool = typer.Option(
        False, "--version", callback=lambda wanted: _version(wanted=wanted), is_eager=True, help="Show the version."
    ),
) -> None:
    """The gate that every outbound release of person-level data passes."""


def _misused(error: TyperException) -> BadInput:
    """A command or an option that does not exist, or an argument that is missing, as an error of the gate's own."""
    return BadInput(
        error.format_message().rstrip("."),
        expected="a command with the arguments and options that it has",
        fix="see releasegate --help, or --help after a command",
    )


def _print_anything() -> None:
    """Let a character that the terminal does not know be written as its code, not end the command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def main() -> None:
    """Run a command and leave with its exit code; no traceback reaches the terminal."""
    as_json = "--json" in sys.argv
    _print_anything()
    try:
        result = app(standalone_mode=False)
        code = result if isinstance(result, int) else 0
    except ReleasegateError as error:
        show_error(error, as_json=as_json)
        code = error.exit_code
    except TyperException as error:
        if error.format_message():  # empty where the help was shown because nothing was asked for
            show_error(_misused(error), as_json=as_json)
        code = ExitCode.BAD_INPUT
    except (typer.Abort, KeyboardInterrupt):
        code = _INTERRUPTED
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        place = f"{frames[-1].name}, line {frames[-1].lineno}" if frames else "unknown place"
        show_internal_error(error, place, as_json=as_json)
        code = ExitCode.INTERNAL
    sys.exit(int(code))

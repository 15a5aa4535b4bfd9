"""The command line's entry: its commands, and the exit code of whatever happens in them."""

import io
import sys
import traceback
from importlib import metadata

import typer
from typer.exceptions import TyperException

from flows.cli import assess, check, explain, init, key, release, trace, verify
from flows.cli.output import ExitCode, show_error, show_internal_error
from tasks.errors import BadInput, ReleasegateError

_INTERRUPTED = 130

app = typer.Typer(
    name="releasegate",
    help="The gate that every outbound release of person-level data passes.",
    epilog="Exit codes: 0 approved or done, 2 bad request or data, 3 blocked, 4 awaiting review, 1 internal error.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",  # folds paragraphs to the width of the terminal
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


for command in (init, check, assess, release, explain, trace, verify, key):
    command.register(app)


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

"""A command line that is not as a command takes it, told with the command's usage and the nearest name that it has."""

import difflib
import re

from typer.exceptions import TyperException

from tasks.core.errors import BadInput

_COMMAND = re.compile(r"No such command '(.+?)'")
_CHOICE = re.compile(r".*'(.+?)' is not one of (.+)")


def misused(error: TyperException) -> BadInput:
    """The error of the framework in the form of all others."""
    told = error.format_message().rstrip(".").replace("Value error, ", "")
    context = getattr(error, "ctx", None)
    if context is None:
        return BadInput(told, fix="see releasegate --help, or --help after a command")
    # The first word is the file that was run, which may be Python.
    path = " ".join(["releasegate", *context.command_path.split()[1:]])
    usage = " ".join(context.get_usage().split()).removeprefix(f"Usage: {context.command_path}")
    near: list[str] = []
    if option := getattr(error, "option_name", ""):
        told = error.message.rstrip(".")
        names = {one.lstrip("-"): one for one in getattr(error, "possibilities", None) or ()}
        near = [names[one] for one in difflib.get_close_matches(option.lstrip("-"), names, n=1)]
    elif command := _COMMAND.match(told):
        told = command[0]
        near = difflib.get_close_matches(command[1], context.command.list_commands(context), n=1)
    elif choice := _CHOICE.match(told):
        near = difflib.get_close_matches(choice[1], re.findall("'(.+?)'", choice[2]), n=1)
    help_of = f"see “{path} --help”"
    return BadInput(
        told, expected=f"{path}{usage}", fix=f"did you mean “{near[0]}”? Else {help_of}" if near else help_of
    )

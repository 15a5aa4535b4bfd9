"""Arguments and options that several commands share, and the values that follow from them."""

import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.workspace.folders import nearest_workspace, no_workspace
from tasks.core.errors import BadInput

if TYPE_CHECKING:
    from tasks.ledger.chain import Checkpoints

RequestArgument = Annotated[Path, typer.Argument(help="The release request, a YAML document.", show_default=False)]
DEFAULT_WORKSPACE = Path("workspace")
"""Workspace unless another is named: in the current folder, or in the nearest folder above that has one."""


def _nearest(context: typer.Context, param: typer.CallbackParam, value: Path) -> Path:
    """The workspace that is named, or else the nearest; the default itself where there is none.

    Raises BadInput if it is a file.
    """
    if value.exists() and not value.is_dir():
        raise BadInput(
            "the workspace is not a folder",
            where=f"--workspace {value}",
            expected="a folder",
            got="a file",
            fix="name the folder of the ledger and the bundles",
        )
    return value if _is_named(context, param) else nearest_workspace(Path.cwd()) or value


def _is_named(context: typer.Context, param: typer.CallbackParam) -> bool:
    """Whether the command line or the environment names it."""
    source = context.get_parameter_source(str(param.name))
    return source is None or source.name != "DEFAULT"


def _existing(context: typer.Context, param: typer.CallbackParam, value: Path) -> Path:
    """The same; BadInput where none is named and none is found."""
    found = _nearest(context, param, value)
    if found == DEFAULT_WORKSPACE and not _is_named(context, param):  # the name may be given as well
        raise no_workspace(found)
    return found


def _workspace_option(found: Callable[[typer.Context, typer.CallbackParam, Path], Path]) -> Any:
    return typer.Option(
        "--workspace",
        "-w",
        envvar="RELEASEGATE_WORKSPACE",
        help="Folder of the ledger and the bundles; else “workspace” here, or in the nearest folder above.",
        callback=found,
    )


WorkspaceOption = Annotated[Path, _workspace_option(_nearest)]
SetUpWorkspaceOption = Annotated[Path, _workspace_option(_existing)]
"""For commands that make a workspace's folders, and only where one is named."""
RELEASE = typer.Argument(help="Release id, its first digits (6 or more), or a bundle's folder.", show_default=False)
ReleaseArgument = Annotated[str, RELEASE]
RecipientOption = Annotated[
    str | None, typer.Option("--recipient", "-r", help="Id of one recipient; all of them without it.")
]
REASON_HELP = "Reason, kept permanently in the ledger. Do not include any data values."
ReasonOption = Annotated[str, typer.Option("--reason", help=REASON_HELP, show_default=False)]
RootsOption = Annotated[
    list[Path] | None,
    typer.Option("--root", help="Another folder that the request may name files in; may be repeated."),
]
FormOption = Annotated[
    list[str] | None,
    typer.Option(
        "--form",
        metavar="TERM=VALUE",
        help="Form of the file where its bytes leave it open, such as encoding=cp850 or dates=mm/dd/yyyy; may be "
        "repeated.",
    ),
]
DaskOption = Annotated[
    str | None,
    typer.Option(
        "--dask",
        metavar="ADDRESS",
        help="Running Dask scheduler, such as tcp://10.0.0.5:8786, whose workers read and check the file; same result.",
        show_default=False,
    ),
]

_SHA256 = re.compile(r"[0-9a-f]{64}")


def checkpoints_of(anchors: Sequence[str]) -> "Checkpoints":
    """Heads of the ledger (``12:3f…``) and fingerprints of keys that were noted outside it."""
    heads = {}
    for number, colon, sha256 in (text.partition(":") for text in anchors if ":" in text):
        if not (number.isdecimal() and colon and _SHA256.fullmatch(sha256)):
            raise typer.BadParameter(
                "an anchor of the ledger is the number of an entry, a colon and its SHA-256 of 64 hexadecimal digits",
                param_hint="--anchor",
            )
        heads[int(number)] = sha256
    keys = [text for text in anchors if ":" not in text]
    if not all(map(_SHA256.fullmatch, keys)):
        raise typer.BadParameter(
            "a fingerprint is 64 hexadecimal digits, as releasegate key list shows it", param_hint="--anchor"
        )
    from tasks.ledger.chain import Checkpoints  # noqa: PLC0415  commands begin sooner without it

    return Checkpoints(heads, keys)


def asked(prompt: str, otherwise: Callable[[], str], *, confirm: bool = False) -> str:
    """A secret from the terminal, which does not show it; `otherwise` gives it, or refuses, where there is none."""
    if not sys.stdin.isatty():
        return otherwise()
    typed: str = typer.prompt(prompt, hide_input=True, confirmation_prompt=confirm, err=True)
    return typed

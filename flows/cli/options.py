"""Arguments and options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

RequestArgument = Annotated[Path, typer.Argument(help="The release request, a YAML document.", show_default=False)]
WorkspaceOption = Annotated[
    Path,
    typer.Option(
        "--workspace",
        "-w",
        envvar="RELEASEGATE_WORKSPACE",
        help="Folder of the ledger and the bundles; made if absent.",
    ),
]
ReleaseArgument = Annotated[
    str, typer.Argument(help="Release id, its first digits (6 or more), or a bundle's folder.", show_default=False)
]
ReasonOption = Annotated[
    str, typer.Option("--reason", help="Why; kept in the ledger for good. No value of the data.", show_default=False)
]
RootsOption = Annotated[
    list[Path] | None,
    typer.Option("--root", help="Another folder that the request may name files in; may be repeated."),
]
DEFAULT_WORKSPACE = Path("workspace")

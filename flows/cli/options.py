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
RootsOption = Annotated[
    list[Path] | None,
    typer.Option("--root", help="Another folder that the request may name files in; may be repeated."),
]
DEFAULT_WORKSPACE = Path("workspace")

"""Work in a process of its own, which tells its progress in a file of a private folder: a JSON document a line."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from flows.workspace.actor import utc_now
from tasks.core.secret_variables import secrets_for_runs

_LONGEST_TEXT = 2000


def tell_in(path: Path, **document: object) -> None:
    """Append a document, with the time, to a file."""
    with path.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps({"at": utc_now().isoformat(), **document}) + "\n")


def told_in(path: Path) -> list[dict[str, Any]]:
    """Documents of a file, of which a line may not be whole; texts of errors are cut. Raises OSError."""
    found = list[dict[str, Any]]()
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            document = json.loads(line)
        except ValueError:
            continue
        if isinstance(document, dict):
            if "error" in document:
                document["error"] = {part: str(text)[:_LONGEST_TEXT] for part, text in document["error"].items()}
            found.append(document)
    return found


def perform(module: str, *arguments: object, begun: threading.Event) -> None:
    """Do the work of a module of the program in a child process, and wait for its end."""
    child = subprocess.Popen(  # noqa: S603  the program itself
        [sys.executable, "-P", "-m", module, *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **secrets_for_runs()},
    )
    begun.set()
    child.wait()

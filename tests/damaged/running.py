"""``init`` and ``check`` on damaged files: what they print, and how they end."""

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from flows.cli.app import main
from tests.damaged.files import CANARY, files, mutant
from tests.support.drafted import filled

FORBIDDEN = (CANARY, "Traceback", "Exception ignored", "panicked", "0xfc", "0xf6", "xfc", "ü", "ö")
"""What no output may hold: values of the data, bytes of them, and what is no message."""
ENDED = {0: "done", 2: "refused", 3: "blocked"}


@dataclass(frozen=True)
class Ended:
    """How a command ended on a mutant."""

    command: str
    file: str
    number: int
    outcome: str
    """``done``, ``refused`` or ``blocked``; WRONG for anything else, and for an output with data in it."""
    output: str = ""


@contextlib.contextmanager
def _printed_to(path: Path) -> Iterator[None]:
    """Send all that this process prints to a file, what libraries print past Python as well."""
    with path.open("w", encoding="utf-8") as stream:
        saved = [os.dup(number) for number in (1, 2)]
        try:
            for number in (1, 2):
                os.dup2(stream.fileno(), number)
            with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream):
                yield
        finally:
            stream.flush()
            for number, before in zip((1, 2), saved, strict=True):
                os.dup2(before, number)
                os.close(before)


def run(command: str, *arguments: str | Path, folder: Path) -> tuple[int, str]:
    """Exit code and output of a command in this process."""
    output, before = folder / "output.txt", sys.argv
    sys.argv = ["releasegate", command, *map(str, arguments)]
    code = 1
    try:
        with _printed_to(output):
            try:
                main()
            except SystemExit as ended:
                code = int(ended.code or 0)
    finally:
        sys.argv = before
    return code, output.read_text(encoding="utf-8", errors="replace")


def judged(command: str, name: str, number: int, ended: tuple[int, str]) -> Ended:
    code, output = ended
    wrong = code not in ENDED or any(one in output for one in FORBIDDEN)
    return Ended(command, name, number, "WRONG" if wrong else ENDED[code], output if wrong else "")


def drafted(name: str, content: bytes, folder: Path) -> str:
    """The request that ``init`` drafts of the undamaged file, filled in."""
    folder.mkdir()
    (folder / name).write_bytes(content)
    code, output = run("init", folder / name, folder=folder)
    if code != 0:
        raise AssertionError(output)
    request = folder / "request.yaml"
    request.write_text(filled(request.read_text(encoding="utf-8")), encoding="utf-8")
    return request.read_text(encoding="utf-8")


def mutants(numbers: range, seed: int) -> Iterator[Ended]:
    """Run ``init`` and ``check`` on the mutants of some numbers, each of the forms in turn."""
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        made = files(root)
        for each in made:
            drafted(each, made[each], root / each)
        for number in numbers:
            name = list(made)[number % len(made)]
            draws = np.random.default_rng([seed, number])
            content = mutant(name, made[name], draws)
            checked = root / name
            (checked / name).write_bytes(content)
            yield judged("check", name, number, run("check", checked / "request.yaml", folder=root))
            fresh = root / f"fresh-{number}"
            fresh.mkdir()
            (fresh / name).write_bytes(content)
            yield judged("init", name, number, run("init", fresh / name, "--output", fresh / "out", folder=root))


def listed(numbers: range, seed: int) -> list[Ended]:
    """The same as a list, for a process pool."""
    return list(mutants(numbers, seed))

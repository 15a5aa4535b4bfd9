"""Outputs against those that are kept, file by file."""

import fcntl
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path

from tests.golden.cases import CASES
from tests.golden.doors import opened
from tests.golden.outputs import Outputs, outputs_of

EXPECTED = Path(__file__).parent / "expected"
HOME = Path("/tmp/releasegate-golden")  # noqa: S108
"""The same in each run: the ledger keeps where a request lay, and its hashes go into records."""


@dataclass(frozen=True)
class Difference:
    """A file that is not as expected."""

    file: str
    lines: tuple[str, ...]
    """Of a unified difference, without its heading."""

    def shown(self, most: int) -> str:
        """Heading, and the first lines."""
        changed = sum(line[:1] in "+-" for line in self.lines)
        more = [f"  … {len(self.lines) - most} lines more"] if len(self.lines) > most else []
        return "\n".join([f"{self.file}: {changed} lines differ", *(f"  {line}" for line in self.lines[:most]), *more])


def made(names: Iterable[str]) -> Iterator[tuple[str, Outputs]]:
    """Outputs of the cases named, one after another."""
    with _alone(), opened(HOME) as door:
        for name in names:
            yield name, outputs_of(CASES[name], door, HOME / name)


@contextmanager
def _alone() -> Iterator[None]:
    """The home, empty, once nobody else works there."""
    with HOME.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        shutil.rmtree(HOME, ignore_errors=True)
        HOME.mkdir(mode=0o700)
        try:
            yield
        finally:
            shutil.rmtree(HOME, ignore_errors=True)


def compared(name: str, outputs: Outputs) -> Iterator[Difference]:
    """What differs from what is kept of a case."""
    kept = {
        str(path.relative_to(EXPECTED / name)): path.read_bytes().decode()
        for path in (EXPECTED / name).rglob("*")
        if path.is_file()
    }
    for file in sorted(kept.keys() | outputs.keys()):
        before, now = kept.get(file, ""), outputs.get(file, "")
        if before != now or (file in kept) is not (file in outputs):
            lines = unified_diff(before.split("\n"), now.split("\n"), lineterm="", n=0)
            yield Difference(f"{name}/{file}", tuple(lines)[2:])


def rewrite(name: str, outputs: Outputs) -> None:
    """Keep the outputs of a case, and nothing else of it."""
    shutil.rmtree(EXPECTED / name, ignore_errors=True)
    for file, text in outputs.items():
        path = EXPECTED / name / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())

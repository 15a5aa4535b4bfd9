"""The program that decides: its version, commit and dependencies."""

import hashlib
import os
import subprocess
from functools import cache
from importlib import metadata
from pathlib import Path

from flows.releases.packages import lock_file, not_as_locked
from tasks.core.canonical import digest
from tasks.core.errors import StageFailed
from tasks.core.files import file_sha256
from tasks.core.shipped import IS_PACKAGED, shipped
from tasks.decision.record import CodeFact

ROOT = Path(__file__).resolve().parents[2]
_SOURCES = ("flows", "tasks", "reports", "templates")
_SUFFIXES = frozenset({".py", ".html", ".css", ".svg", ".gz", ".txt"})


@cache
def code_fact() -> CodeFact:
    """Version, commit and dependencies of the running program.

    The commit carries a digest of the sources where they are not those of a commit, and the hash of the lock one of the
    packages that an installed wheel has in other versions, so that two programs never share an identity.

    Raises StageFailed if the lock file is missing.
    """
    lock = lock_file()
    if not lock.is_file():
        raise StageFailed(
            "the lock file of the dependencies is missing",
            where=lock.name,
            expected="the program's complete checkout, package or container image",
            fix="install the program again",
        )
    own = _git("rev-parse", "--show-toplevel") == str(ROOT)
    commit = _git("rev-parse", "HEAD") if own else ""
    clean = _git("status", "--porcelain", "--", *_SOURCES) == ""
    sources = _sources_digest()
    if not commit:
        commit = f"sources.{sources}"
    elif not clean:
        commit = f"{commit}+modified.{sources}"
    packages = file_sha256(lock)
    others = not_as_locked() if IS_PACKAGED else {}  # a checkout's environment is made from the lock
    if others:
        packages = digest({"lock": packages, **{name: version for name, (version, _) in others.items()}})
    return CodeFact(version=metadata.version("releasegate"), commit=commit, lock_sha256=packages)


def _sources_digest() -> str:
    """Digest of the sources, the same in a checkout and in a wheel made of it."""
    hasher = hashlib.sha256()
    for name in _SOURCES:
        folder = shipped(name) if name == "templates" else ROOT / name
        for path in sorted(folder.rglob("*")):
            if path.suffix in _SUFFIXES:
                place = f"{name}/{path.relative_to(folder).as_posix()}"
                hasher.update(place.encode() + b"\0" + file_sha256(path).encode())
    return hasher.hexdigest()[:16]


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(  # noqa: S603
            ["git", "-C", str(ROOT), *arguments],  # noqa: S607
            capture_output=True,
            text=True,
            timeout=20,
            check=True,
            env={name: one for name, one in os.environ.items() if not name.startswith("PREFECT_")},
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()

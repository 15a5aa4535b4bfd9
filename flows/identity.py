"""Identity of a release: the hash of its request, data, population, hierarchies and the program that decides."""

import hashlib
import subprocess
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from pathlib import Path

from tasks.core.canonical import digest
from tasks.core.errors import StageFailed
from tasks.core.files import file_sha256
from tasks.decision.record import CodeFact
from tasks.request.load import LoadedRequest
from tasks.request.snapshot import named_files

ROOT = Path(__file__).resolve().parent.parent
_SOURCES = ("flows", "tasks", "reports", "templates")
_SUFFIXES = frozenset({".py", ".html", ".css", ".svg", ".gz"})


@dataclass(frozen=True)
class Inputs:
    """The bytes that a release is made from."""

    dataset_sha256: str
    population_sha256: str
    hierarchies: dict[str, str]
    """SHA-256 of each hierarchy file, by attribute."""
    external_data_sha256: str | None = None
    """SHA-256 of the external register, where the request names one."""
    by_place: dict[str, str] = field(default_factory=dict, compare=False)
    """All of them, by the place in the request that names the file."""


def read_inputs(loaded: LoadedRequest) -> Inputs:
    """Hash every file that a request names.

    Raises
    ------
    WorkspaceError
        If one of them cannot be used.
    """
    hashes = {name: file_sha256(loaded.resolve(relative, name)) for name, relative in named_files(loaded)}
    start, end = "attributes.", ".hierarchy.file"
    return Inputs(
        dataset_sha256=hashes["dataset.path"],
        population_sha256=hashes["population.path"],
        hierarchies={
            name.removeprefix(start).removesuffix(end): sha256
            for name, sha256 in hashes.items()
            if name.startswith(start)
        },
        external_data_sha256=hashes.get("external_data.path"),
        by_place=hashes,
    )


def release_id(loaded: LoadedRequest, inputs: Inputs, code: CodeFact) -> str:
    """Name of a release: equal for equal inputs and program, and for nothing else."""
    return digest(
        {
            "request": loaded.sha256,
            "dataset": inputs.dataset_sha256,
            "population": inputs.population_sha256,
            "hierarchies": inputs.hierarchies,
            "external_data": inputs.external_data_sha256,
            "code": code.model_dump(mode="json"),
        }
    )


@cache
def code_fact() -> CodeFact:
    """Version, commit and dependencies of the running program.

    The commit carries a digest of the sources where they are not those of a commit, so that two programs never share
    an identity.

    Raises
    ------
    StageFailed
        If the lock file is missing.
    """
    lock = ROOT / "requirements.lock"
    if not lock.is_file():
        raise StageFailed(
            "the lock file of the dependencies is missing",
            where=lock.name,
            expected="the program's complete checkout or container image",
            fix="install the program again",
        )
    own = _git("rev-parse", "--show-toplevel") == str(ROOT)
    commit = _git("rev-parse", "HEAD") if own else ""
    clean = _git("status", "--porcelain", "--", *_SOURCES) == ""
    sources = sources_sha256()[:16]
    if not commit:
        commit = f"sources.{sources}"
    elif not clean:
        commit = f"{commit}+modified.{sources}"
    return CodeFact(version=metadata.version("releasegate"), commit=commit, lock_sha256=file_sha256(lock))


def sources_sha256() -> str:
    """SHA-256 over the names and bytes of the program's own files."""
    hasher = hashlib.sha256()
    for folder in _SOURCES:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in _SUFFIXES:
                hasher.update(str(path.relative_to(ROOT)).encode() + b"\0" + file_sha256(path).encode())
    return hasher.hexdigest()


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(  # noqa: S603
            ["git", "-C", str(ROOT), *arguments],  # noqa: S607
            capture_output=True,
            text=True,
            timeout=20,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()

"""Identity of a release: the hash of its request, data, population, hierarchies and the program that decides.

A release that rests on overrides of gates is named by the overrides too, one that is decided anew by what has changed.
"""

import hashlib
import os
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import cache
from importlib import metadata
from pathlib import Path

from flows.anew import no_longer_standing
from flows.packages import lock_file, not_as_locked
from tasks.core.canonical import digest
from tasks.core.errors import StageFailed
from tasks.core.files import file_sha256
from tasks.core.shipped import IS_PACKAGED, shipped
from tasks.decision.anew import anew_id
from tasks.decision.earlier_facts import EarlierDecision
from tasks.decision.overrides import GateOverrides, in_force, inputs_of, overridden_id
from tasks.decision.record import CodeFact
from tasks.decision.verdict import utc_day
from tasks.ledger.entry import Event
from tasks.ledger.store import Ledger
from tasks.request.load import LoadedRequest, named_files
from tasks.request.model import ReleaseRequest

ROOT = Path(__file__).resolve().parent.parent
_SOURCES = ("flows", "tasks", "reports", "templates")
_SUFFIXES = frozenset({".py", ".html", ".css", ".svg", ".gz", ".txt"})


@dataclass(frozen=True)
class Inputs:
    """The bytes that a release is made from."""

    dataset_sha256: str
    population_sha256: str
    """SHA-256 of the table of people; of the data where people are counted in the file."""
    hierarchies: dict[str, str]
    """SHA-256 of each hierarchy file, by attribute."""
    external_data_sha256: str | None = None
    """SHA-256 of the external register, where the request names one."""
    tables: dict[str, str] = field(default_factory=dict)
    """SHA-256 of each further table, by name."""
    by_place: dict[str, str] = field(default_factory=dict, compare=False)
    """SHA-256 of every file, by the place in the request that names it."""


def read_inputs(loaded: LoadedRequest) -> Inputs:
    """Hash every file that a request names; WorkspaceError if one of them cannot be used, BadInput if it changes."""
    hashes = {name: loaded.sha256_of(relative, name) for name, relative in named_files(loaded)}
    start, end = "attributes.", ".hierarchy.file"
    return Inputs(
        dataset_sha256=hashes["dataset.path"],
        population_sha256=hashes.get("population.path", hashes["dataset.path"]),
        hierarchies={
            name.removeprefix(start).removesuffix(end): sha256
            for name, sha256 in hashes.items()
            if name.startswith(start)
        },
        external_data_sha256=hashes.get("external_data.path"),
        tables={name: hashes[f"tables.{name}.path"] for name in loaded.request.tables},
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
            **({"tables": inputs.tables} if inputs.tables else {}),
            "code": code.model_dump(mode="json"),
        }
    )


@dataclass(frozen=True)
class Named:
    """The release that a request identifies today."""

    release_id: str
    inputs: str
    """Release id of the same inputs, first decided and without overrides."""
    overrides: tuple[GateOverrides, ...] = ()
    """Overrides in force and not used yet; with any, the release is new, or was interrupted."""
    decided_before: Mapping[str, EarlierDecision] = field(default_factory=dict)
    """By recipient, decisions that no longer stand; with any, the release is new, or was interrupted."""

    @property
    def is_new(self) -> bool:
        """Whether a recipient is to be decided for again."""
        return bool(self.overrides or self.decided_before)


def named(ledger: Ledger, inputs: str, request: ReleaseRequest, today: date) -> Named:
    """The release that a request identifies: the last one decided, unless some recipient is to be decided for again.

    That is so under overrides in force, or else where a decision no longer stands beside the copies in the same hand.
    """
    if not ledger.entries(release_id=inputs, event=Event.DECIDED):
        return Named(inputs, inputs)
    decided = ledger.entries(event=Event.DECIDED)
    waiting = in_force(ledger.entries(event=Event.OVERRIDDEN), decided, inputs, today)
    if waiting:
        return Named(overridden_id(inputs, [one.entry_sha256 for one in waiting]), inputs, waiting)
    before = no_longer_standing(ledger, request, inputs, today)
    for one in before.values():
        return Named(anew_id(inputs, one.entries), inputs, decided_before=before)
    return Named([str(entry.release_id) for entry in decided if inputs_of(entry) == inputs][-1], inputs)


def check_unused(ledger: Ledger, overrides: Iterable[GateOverrides], at: datetime) -> None:
    """Refuse a decision under overrides that are no longer in force; within the transaction that records it.

    Raises StageFailed if one was used, or its last day has passed, while the gate was running.
    """
    for one in overrides:
        entries, decided = ledger.entries(event=Event.OVERRIDDEN), ledger.entries(event=Event.DECIDED)
        if one not in in_force(entries, decided, one.inputs, utc_day(at)):
            raise StageFailed(
                "an override that the release rests on is no longer in force",
                where="ledger",
                expected="overrides that are neither used nor past their last day",
                got="one that was used, or has ended, while the gate was running",
                fix="run the command again; an officer may override the gates again",
            )


def last_decided(ledger: Ledger, inputs: str) -> dict[str, str]:
    """By recipient, the release that was last decided of some inputs."""
    decided = ledger.entries(event=Event.DECIDED)
    return {str(entry.recipient): str(entry.release_id) for entry in decided if inputs_of(entry) == inputs}


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

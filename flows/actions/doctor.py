"""Conditions of this machine that the program needs, or can use: rendering, packages, extras, workspace, browser."""

import os
import platform
import re
import shlex
import webbrowser
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from flows.releases.packages import installed, not_as_locked
from flows.workspace.folders import Workspace
from flows.workspace.ledger import VARIABLE, has_ledger, open_ledger
from tasks.core.errors import ReleasegateError

_EXTRA = re.compile(r"""^([A-Za-z0-9._-]+).*;.*\bextra == ['"]([a-z]+)['"]""")
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_USES = {
    "dask": "reading and validating on several machines",
    "oidc": "sign-in by an identity provider",
    "postgres": "a ledger in PostgreSQL",
    "readers": "files of Excel, SAS, Stata and SPSS",
}
"""Uses of the extras."""
_SHOWN = 6


@dataclass(frozen=True)
class Condition:
    """A condition of the machine."""

    name: str
    found: str
    """State of it, in a few words."""
    remedy: str = ""
    """Remedy where it does not hold; empty where it does."""
    required: bool = True
    """Whether every release needs it."""

    @property
    def fails(self) -> bool:
        """Whether it is required and does not hold."""
        return self.required and bool(self.remedy)


def conditions(workspace: Path) -> Iterator[Condition]:
    """All conditions, of a workspace too, which need not exist; nothing is written."""
    python = f"Python {platform.python_version()}, {platform.system()}"
    yield Condition("program", f"releasegate {metadata.version('releasegate')}, {python}")
    yield _packages()
    yield _rendering()
    yield _workspace(Workspace(workspace.resolve()))
    yield from _extras()
    yield _browser()


def _packages() -> Condition:
    missing = {name: wanted for name, wanted in _required() if installed(name) is None}
    if missing:
        remedy = f"pip install {' '.join(map(shlex.quote, missing.values()))}"
        return Condition("packages", f"missing: {', '.join(sorted(missing))}", remedy)
    others = not_as_locked()
    if not others:
        return Condition("packages", "in the versions that were tested", required=False)
    tested = [f"{name}=={version}" for name, (_, version) in sorted(others.items())]
    more = f" and {len(tested) - _SHOWN} more" if len(tested) > _SHOWN else ""
    return Condition(
        "packages",
        f"{len(tested)} in other versions than were tested",
        f"pip install {' '.join(tested[:_SHOWN])}{more}",
        required=False,
    )


def _required() -> Iterator[tuple[str, str]]:
    """Requirement of each package that every release needs, by name; none has a marker."""
    for requirement in metadata.requires("releasegate") or ():
        name = _NAME.match(requirement)
        if name is not None and ";" not in requirement:
            yield name[0], requirement


def _rendering() -> Condition:
    from reports.pdf import prepare_renderer  # noqa: PLC0415 - loads native libraries

    try:
        prepare_renderer()
    except ReleasegateError as error:
        return Condition("PDF reports", error.got or error.what, error.fix)
    return Condition("PDF reports", "can be rendered")


def _workspace(workspace: Workspace) -> Condition:
    name = "workspace"
    folder = next(one for one in (workspace.root, *workspace.root.parents) if one.exists())
    if not workspace.private.exists():
        if os.access(folder, os.W_OK):
            return Condition(name, f"none yet at {workspace.root}; its first enrolment begins it")
        return Condition(name, f"none, and {folder} cannot be written", "name another folder with --workspace")
    closed = [one for one in (workspace.releases, workspace.private) if not os.access(one, os.R_OK | os.W_OK | os.X_OK)]
    if closed:
        remedy = f"run as the owner of {workspace.root}, or correct its permissions"
        return Condition(name, f"{closed[0]} cannot be written", remedy)
    try:
        if has_ledger(workspace):
            with open_ledger(workspace) as ledger:
                return Condition(name, f"{workspace.root}, {ledger.head().sequence:,} entries in the ledger")
    except ReleasegateError as error:
        return Condition(name, f"{error.what}: {error.got}", error.fix)
    return Condition(name, f"{workspace.root}, no ledger yet")


def _extras() -> Iterator[Condition]:
    """Each extra whose packages the metadata of the program name."""
    packages: dict[str, list[str]] = {}
    for package, extra in filter(None, map(_parsed, metadata.requires("releasegate") or ())):
        packages.setdefault(extra, []).append(package)
    for extra in sorted(packages.keys() & _USES.keys()):
        missing = [one for one in packages[extra] if installed(one) is None]
        yield Condition(
            f"extra {extra}",
            f"{'missing' if missing else 'installed'}; for {_USES[extra]}",
            f"pip install 'releasegate[{extra}]'" if missing else "",
            required=extra == "postgres" and bool(os.environ.get(VARIABLE)),
        )


def _parsed(requirement: str) -> tuple[str, str] | None:
    match = _EXTRA.match(requirement)
    return None if match is None else (match[1].partition("[")[0], match[2])


def _browser() -> Condition:
    try:
        webbrowser.get()
    except webbrowser.Error:
        remedy = "on a server, forward the port of studio or serve to your own machine: ssh -L 8600:127.0.0.1:8600 HOST"
        return Condition("browser", "none on this machine", remedy, required=False)
    return Condition("browser", "found", required=False)

"""Audit of the dependencies that needs no network: the lock, what is installed, and its licences.

``python deployments/dependencies.py`` prints what is wrong and ends with exit code 1, or one line and ends with 0:

* every package of ``requirements.lock`` has one exact version and SHA-256 hashes, and nothing else installs;
* what ``pyproject.toml`` asks for is in the lock, in a version that it allows;
* what is installed is what the lock names, in these versions, and nothing besides but the program and its installers;
* each package's licence is one that is known and was accepted.

Known vulnerabilities are asked for by ``make advisories``, which needs the network.
"""

import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from email.message import Message
from importlib import metadata
from pathlib import Path
from typing import Any, cast

from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
BESIDE_THE_LOCK = frozenset({"pip", "releasegate", "setuptools", "uv"})
"""Installed by the virtual environment (of Python 3.11 with setuptools), or by ``make setup`` itself and pinned in
``requirements-bootstrap.txt``."""
ACCEPTED = frozenset(
    {
        *("0BSD", "3-Clause BSD License", "BSD", "BSD License", "BSD-2-Clause", "BSD-3-Clause", "Zlib", "CC0-1.0"),
        *("Apache-2.0", "Apache Software License", "CNRI-Python", "PSF-2.0", "Python Software Foundation License"),
        *("ISC", "ISC License (ISCL)", "MIT", "MIT-0", "MIT License", "MIT-CMU", "Artistic License", "LGPL-3.0-only"),
        *("MPL-2.0", "Mozilla Public License 1.1 (MPL 1.1)", "Mozilla Public License 2.0 (MPL 2.0)"),
    }
)
"""Licences under which the program may be used and passed on; of several offered, one is enough."""
BY_HAND: Mapping[str, str] = {"axe-playwright-python": "MIT", "pyrage": "MIT", "python-stdnum": "LGPL-2.1-or-later"}
"""Licences of packages whose metadata do not name theirs, or its version, looked up in their source."""

_PINNED = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==([^\s;]+)\s*(?:;\s*(.*?))?\s*\\?$")
_HASH = re.compile(r"^--hash=sha256:[0-9a-f]{64}\s*\\?$")


@dataclass(frozen=True)
class Locked:
    """One entry of the lock file."""

    name: str
    version: str
    marker: str
    """For which systems and Pythons; empty for all."""
    hashes: int

    @property
    def is_wanted(self) -> bool:
        """Whether it is installed on this system."""
        return not self.marker or Marker(self.marker).evaluate()


def read_lock(text: str) -> tuple[list[Locked], list[str]]:
    """Entries of a lock file, and what is wrong with its lines."""
    found: list[Locked] = []
    wrong = []
    for number, line in enumerate(text.splitlines(), start=1):
        bare = line.strip()
        if not bare or bare.startswith("#"):
            continue
        pinned = _PINNED.match(bare)
        if pinned and not line.startswith(" "):
            found.append(Locked(canonicalize_name(pinned[1]), pinned[2], pinned[3] or "", 0))
        elif _HASH.match(bare) and found:
            found[-1] = replace(found[-1], hashes=found[-1].hashes + 1)
        else:
            wrong.append(f"line {number} of the lock is neither a pinned version nor a SHA-256")
    wrong += [f"{one.name} {one.version} has no hash" for one in found if not one.hashes]
    return found, wrong


def not_locked(project: Mapping[str, Any], lock: list[Locked]) -> Iterator[str]:
    """Requirements of a project that are missing from the lock."""
    table = project["project"]
    asked = list(table["dependencies"])
    for extra in table.get("optional-dependencies", {}).values():
        asked += extra
    for requirement in map(Requirement, asked):
        versions = [one.version for one in lock if one.name == canonicalize_name(requirement.name)]
        if not versions:
            yield f"{requirement.name} is asked for and not in the lock"
        elif not all(requirement.specifier.contains(version, prereleases=True) for version in versions):
            yield f"{requirement.name} is in the lock in a version that pyproject.toml does not allow"


def not_as_locked(installed: Mapping[str, str], lock: list[Locked]) -> Iterator[str]:
    """Differences between an environment and the lock."""
    wanted = {one.name: one.version for one in lock if one.is_wanted}
    for name in sorted(wanted.keys() | installed.keys()):
        if name not in installed:
            yield f"{name} is in the lock and not installed"
        elif name not in wanted and name not in BESIDE_THE_LOCK:
            yield f"{name} is installed and not in the lock"
        elif name in wanted and wanted[name] != installed[name]:
            yield f"{name} is installed in another version than the lock has"


def licences(package: Message) -> set[str]:
    """The licences that a package names: of an expression each part, or those of its classifiers, or its field."""
    expression = package.get("License-Expression")
    classified = [
        line.rsplit(" :: ", 1)[1] for line in package.get_all("Classifier", []) if line.startswith("License ::")
    ]
    classified = [name for name in classified if name != "OSI Approved"]
    field = (package.get("License") or "").strip()
    if expression or not classified:
        return set(re.split(r"\s+(?:AND|OR|WITH)\s+", (expression or field).replace("(", "").replace(")", "")))
    return set(classified)


def not_accepted(package: Message) -> str | None:
    """Fault of a package's licence; None where there is none.

    All parts of an expression with AND must be accepted; of one with OR alone, and of classifiers, one is enough.
    """
    name = canonicalize_name(package["Name"])
    if name in BY_HAND or name in BESIDE_THE_LOCK:
        return None
    named = {one for one in licences(package) if one}
    expression = package.get("License-Expression") or ""
    enough = all if " AND " in expression else any
    if not named:
        return f"{name} names no licence"
    return None if enough(one in ACCEPTED for one in named) else f"{name} has a licence that was not looked at yet"


def main() -> int:
    """Audit the environment that runs this."""
    lock, wrong = read_lock((ROOT / "requirements.lock").read_text(encoding="utf-8"))
    bootstrap, faults = read_lock((ROOT / "deployments" / "requirements-bootstrap.txt").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    packages = list(metadata.distributions())
    installed: dict[str, str] = {canonicalize_name(one.metadata["Name"]): one.version for one in packages}
    wrong += [*faults, *not_locked(project, lock), *not_as_locked(installed, lock)]
    wrong += [
        f"{one.name} is not installed in the version that is pinned"
        for one in bootstrap
        if installed.get(one.name) not in {None, one.version}
    ]
    wrong += filter(None, (not_accepted(cast("Message", one.metadata)) for one in packages))
    for line in wrong:
        sys.stderr.write(line + "\n")
    if not wrong:
        sys.stdout.write(
            f"{len(lock)} packages locked by hash, {len(packages)} installed as locked, licences accepted\n"
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

"""Installed packages, compared with the lock of those that this version of the program was tested with."""

import re
from importlib import metadata
from pathlib import Path

from tasks.core.shipped import shipped

_PINNED = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==([^\s;]+)", re.MULTILINE)


def lock_file() -> Path:
    """The lock: name, version and hashes of each package, for every system."""
    return shipped("requirements.lock")


def installed(package: str) -> str | None:
    """Version of an installed package; None where there is none."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def not_as_locked() -> dict[str, tuple[str, str]]:
    """Packages that are installed in another version than was tested: both versions, the installed one first."""
    locked: dict[str, list[str]] = {}
    for name, version in _PINNED.findall(lock_file().read_text(encoding="utf-8")):
        locked.setdefault(name, []).append(version)
    found = {name: (installed(name), versions) for name, versions in locked.items()}
    return {name: (now, tested[-1]) for name, (now, tested) in found.items() if now is not None and now not in tested}

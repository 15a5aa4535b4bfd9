"""Permissions of what the gate writes, whatever the umask is: for its owner alone, or for the group to read."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_FOR_GROUP = 0o640
_FOLDER_FOR_GROUP = 0o750


@contextmanager
def owner_only() -> Iterator[None]:
    """Let nobody but their owner reach the files and folders that this process makes in the block."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


def make_folder_for_group(path: Path) -> None:
    """Make a folder, and those above it that are missing, with mode 0750, whatever the umask is."""
    for folder in (*reversed(path.parents), path):
        if not folder.is_dir():
            folder.mkdir(mode=0o700, exist_ok=True)
            folder.chmod(_FOLDER_FOR_GROUP)


def open_to_group(path: Path) -> None:
    """Let the group read a file, or look into a folder: mode 0640 or 0750, whatever the umask is."""
    path.chmod(_FOLDER_FOR_GROUP if path.is_dir() else _FOR_GROUP)

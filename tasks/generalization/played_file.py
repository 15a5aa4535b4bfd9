"""Keeping a played method between stages."""

from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from tasks.errors import unreadable_intermediate
from tasks.generalization.play import Played
from tasks.request.model import Method


def save_played(played: Played, path: Path) -> None:
    """Write to an ``.npz`` file without pickled objects."""
    arrays = {} if played.listed is None else {"listed": played.listed}
    np.savez(
        path,
        allow_pickle=False,
        method=np.frombuffer(played.method.value.encode(), dtype=np.uint8),
        levels=played.levels,
        cells=played.cells,
        kept=played.kept,
        people=played.people,
        effective=played.effective,
        **arrays,
    )


def load_played(path: Path) -> Played:
    """Read what ``save_played`` wrote.

    Raises
    ------
    StageFailed
        If the file is missing or damaged.
    """
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return Played(
                method=Method(arrays["method"].tobytes().decode()),
                levels=arrays["levels"],
                cells=arrays["cells"],
                kept=arrays["kept"],
                people=arrays["people"],
                effective=arrays["effective"],
                listed=arrays.get("listed"),
            )
    except (OSError, ValueError, LookupError, EOFError, RuntimeError, BadZipFile) as error:
        raise unreadable_intermediate(path.name, "generalization", error) from None

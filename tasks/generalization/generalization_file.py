"""Storage of a generalization between stages."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from tasks.core.errors import unreadable_intermediate
from tasks.generalization.budget.outcome import BudgetOutcome
from tasks.generalization.budget.records import Spent
from tasks.generalization.play import DivisionOutcome, Generalization, KAnonymityOutcome
from tasks.request.model import Method


def save_generalization(played: Generalization, path: Path | IO[bytes]) -> None:
    """Write to an ``.npz`` file without pickled objects."""
    optional = {
        "listed": played.listed,
        "withheld": played.withheld,
        "own": played.own,
        "counted": played.counted,
    }
    arrays: dict[str, Any] = {name: array for name, array in optional.items() if array is not None}
    if played.k_anonymity is not None:
        arrays["k_anonymity"] = np.frombuffer(json.dumps(asdict(played.k_anonymity)).encode(), dtype=np.uint8)
    if played.division is not None:
        arrays["division"] = np.frombuffer(json.dumps(asdict(played.division)).encode(), dtype=np.uint8)
    if played.budget is not None:
        arrays["budget"] = np.frombuffer(json.dumps(asdict(played.budget)).encode(), dtype=np.uint8)
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


def load_generalization(path: Path | IO[bytes]) -> Generalization:
    """Read what ``save_generalization`` wrote.

    Raises
    ------
    StageFailed
        If the file is missing or damaged.
    """
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return Generalization(
                method=Method(arrays["method"].tobytes().decode()),
                levels=arrays["levels"],
                cells=arrays["cells"],
                kept=arrays["kept"],
                people=arrays["people"],
                effective=arrays["effective"],
                listed=arrays.get("listed"),
                withheld=arrays.get("withheld"),
                k_anonymity=_outcome(arrays.get("k_anonymity")),
                own=arrays.get("own"),
                counted=arrays.get("counted"),
                division=_division(arrays.get("division")),
                budget=_budget(arrays.get("budget")),
            )
    except (OSError, ValueError, LookupError, EOFError, RuntimeError, TypeError, BadZipFile) as error:
        name = path.name if isinstance(path, Path) else "played.npz"
        raise unreadable_intermediate(name, "generalization", error) from None


def _outcome(document: NDArray[np.uint8] | None) -> KAnonymityOutcome | None:
    if document is None:
        return None
    fields = json.loads(document.tobytes())
    return KAnonymityOutcome(**{**fields, "levels": tuple((str(name), int(level)) for name, level in fields["levels"])})


def _division(document: NDArray[np.uint8] | None) -> DivisionOutcome | None:
    return None if document is None else DivisionOutcome(**json.loads(document.tobytes()))


def _budget(document: NDArray[np.uint8] | None) -> BudgetOutcome | None:
    if document is None:
        return None
    fields = json.loads(document.tobytes())
    spent = tuple(Spent(**one) for one in fields["limits"])
    return BudgetOutcome(**{**fields, "limits": spent, "kept": tuple(fields["kept"])})

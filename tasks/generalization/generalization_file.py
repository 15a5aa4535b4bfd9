"""Storage of a generalization between stages."""

import json
from dataclasses import asdict, fields
from pathlib import Path
from typing import IO, Any
from zipfile import BadZipFile

import numpy as np

from tasks.core.errors import unreadable_intermediate
from tasks.core.fact import Fact
from tasks.generalization.budget.limits import BudgetOutcome
from tasks.generalization.count_index import DivisionOutcome, Generalization, KAnonymityOutcome
from tasks.request.model import Method

_DOCUMENTS = frozenset({"method", "k_anonymity", "division", "budget"})
"""Fields that are no arrays; kept as JSON."""


def save_generalization(generalization: Generalization, path: Path | IO[bytes]) -> None:
    """Write to an ``.npz`` file without pickled objects."""
    arrays = {field.name: getattr(generalization, field.name) for field in fields(Generalization)}
    for name in _DOCUMENTS:
        document = arrays[name]
        if document is not None:
            plain = document.model_dump() if isinstance(document, Fact) else document
            text = json.dumps(asdict(plain) if isinstance(plain, DivisionOutcome) else plain)
            arrays[name] = np.frombuffer(text.encode(), dtype=np.uint8)
    np.savez(path, allow_pickle=False, **{name: array for name, array in arrays.items() if array is not None})


def load_generalization(path: Path | IO[bytes]) -> Generalization:
    """Read what ``save_generalization`` wrote; StageFailed if the file is missing or damaged."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            found: dict[str, Any] = {name: arrays[name] for name in arrays.files}
        documents = {name: json.loads(found.pop(name).tobytes()) for name in _DOCUMENTS & found.keys()}
        found["method"] = Method(documents["method"])
        if "division" in documents:
            found["division"] = DivisionOutcome(**documents["division"])
        if "k_anonymity" in documents:
            found["k_anonymity"] = KAnonymityOutcome(**documents["k_anonymity"])
        if "budget" in documents:
            found["budget"] = BudgetOutcome(**documents["budget"])
        return Generalization(**found)
    except (OSError, ValueError, LookupError, EOFError, RuntimeError, TypeError, BadZipFile) as error:
        name = path.name if isinstance(path, Path) else "played.npz"
        raise unreadable_intermediate(name, "generalization", error) from None

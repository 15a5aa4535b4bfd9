"""Storage of a generalization between stages."""

import json
from dataclasses import fields
from pathlib import Path
from typing import IO, Any
from zipfile import BadZipFile

import numpy as np

from tasks.core.errors import unreadable_intermediate
from tasks.core.fact import Fact
from tasks.core.files import opened_arrays
from tasks.generalization.game.count_index import Generalization
from tasks.generalization.game.facts import BudgetOutcome, DivisionOutcome, KAnonymityOutcome
from tasks.request.model import Method

_FACTS = {"k_anonymity": KAnonymityOutcome, "division": DivisionOutcome, "budget": BudgetOutcome}
"""Fields that are kept as JSON, as the method is."""


def save_generalization(generalization: Generalization, path: Path | IO[bytes]) -> None:
    """Write to an ``.npz`` file without pickled objects."""
    arrays = {field.name: getattr(generalization, field.name) for field in fields(Generalization)}
    for name in ("method", *_FACTS):
        if (document := arrays[name]) is not None:
            text = json.dumps(document.model_dump() if isinstance(document, Fact) else document)
            arrays[name] = np.frombuffer(text.encode(), dtype=np.uint8)
    np.savez(path, allow_pickle=False, **{name: array for name, array in arrays.items() if array is not None})


def load_generalization(path: Path | IO[bytes]) -> Generalization:
    """Read what ``save_generalization`` wrote; StageFailed if the file is missing or damaged."""
    try:
        with opened_arrays(path) as arrays:
            found: dict[str, Any] = dict(arrays)
        found["method"] = Method(json.loads(found["method"].tobytes()))
        for name in _FACTS.keys() & found.keys():
            found[name] = _FACTS[name](**json.loads(found[name].tobytes()))
        return Generalization(**found)
    except (OSError, ValueError, LookupError, EOFError, RuntimeError, TypeError, BadZipFile) as error:
        name = path.name if isinstance(path, Path) else "played.npz"
        raise unreadable_intermediate(name, "generalization", error) from None

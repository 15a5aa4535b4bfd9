"""Keeping masked columns between the stages of a run, in its private folder."""

import json
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from pydantic import ValidationError

from tasks.core.errors import unreadable_intermediate
from tasks.masking.fact import MaskingFact
from tasks.masking.masked_columns import MaskedColumns


def save_masked(columns: MaskedColumns, path: Path) -> None:
    """Write to an ``.npz`` file without pickled objects."""
    about = {"names": columns.names, "facts": [fact.model_dump(mode="json") for fact in columns.facts]}
    np.savez(
        path,
        original=columns.original,
        masked=columns.masked,
        about=np.frombuffer(json.dumps(about).encode(), dtype=np.uint8),
    )


def load_masked(path: Path) -> MaskedColumns:
    """Read what ``save_masked`` wrote.

    Raises
    ------
    StageFailed
        If the file is missing or damaged.
    """
    try:
        with np.load(path, allow_pickle=False) as arrays:
            about = json.loads(arrays["about"].tobytes())
            return MaskedColumns(
                tuple(about["names"]),
                arrays["original"],
                arrays["masked"],
                tuple(MaskingFact.model_validate(fact) for fact in about["facts"]),
            )
    except (OSError, ValueError, LookupError, EOFError, TypeError, BadZipFile, ValidationError) as error:
        raise unreadable_intermediate(path.name, "masking", error) from None

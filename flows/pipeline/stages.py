"""The stages of a release as data. Importing this module imports none of their methods."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Inputs = Mapping[str, Any]
"""Artifacts and plain values by name; what a stage's result depends on, the run apart."""


@dataclass(frozen=True)
class Stage:
    """One step of a release."""

    name: str
    """In messages and in records."""
    work: str
    """Function of ``work`` that does it."""
    repeatable: bool = False
    """Whether it is done again when a run is resumed, since it depends on more than its inputs."""
    solves: bool = False
    """Whether it keeps a core, and much memory, busy."""


PREPARE = Stage("preparation", "prepare")
VALIDATE = Stage("validation", "validate")
MASK = Stage("masking", "mask")
SCORE_COLLECTED = Stage("combined risk", "score_collected")
PLACE_COLUMNS = Stage("released columns", "place_columns")
GENERALIZE = Stage("generalization", "generalize", solves=True)
PLACE_DECOYS = Stage("decoys", "place_decoys", solves=True)
ASSESS = Stage("assessment", "assess")
COMPARE = Stage("earlier copies", "compare_earlier")
WRITE = Stage("delivery", "write")
JUDGE = Stage("gates", "judge", repeatable=True)
DECIDE = Stage("decision", "decide", repeatable=True)
REPORT = Stage("report", "report")
EVIDENCE = Stage("evidence", "evidence")
CERTIFY = Stage("certificate", "certify")

PARTS = ("prepared", "generalization", "masked", "collected", "columns")
"""Artifacts that a candidate is made of."""

"""Keeping a score between stages: canonical JSON, value-free."""

import json
from pathlib import Path

from pydantic import ValidationError

from tasks.decision.record import FieldFact, RiskFact, canonical_json
from tasks.errors import unreadable_intermediate
from tasks.request.model import Measure
from tasks.risk.score import Score


def save_score(score: Score, path: Path) -> None:
    """Write a score as canonical JSON."""
    document = {
        "risk": score.risk.model_dump(mode="json"),
        "fields": [field.model_dump(mode="json") for field in score.fields],
        "figures": {measure.value: figure for measure, figure in score.figures.items()},
    }
    path.write_bytes(canonical_json(document))


def load_score(path: Path) -> Score:
    """Read what ``save_score`` wrote.

    Raises
    ------
    StageFailed
        If the file is missing or damaged.
    """
    try:
        document = json.loads(path.read_bytes())
        return Score(
            risk=RiskFact.model_validate(document["risk"]),
            fields=tuple(FieldFact.model_validate(field) for field in document["fields"]),
            figures={Measure(name): float(figure) for name, figure in document["figures"].items()},
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, ValidationError) as error:
        raise unreadable_intermediate(path.name, "scoring", error) from None

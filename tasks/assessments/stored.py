"""Storage of a risk stage's results between stages: a fact and the gate figures, as canonical JSON."""

import json
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from tasks.assessments.assessment import Assessment, Finding
from tasks.core.canonical import canonical_json
from tasks.core.errors import unreadable_intermediate
from tasks.core.fact import Fact
from tasks.request.model import Measure

AnyFact = TypeVar("AnyFact", bound=Fact)


def save_finding(finding: Finding[Any], path: Path) -> None:
    """Write a fact and its measures."""
    document = {
        "fact": finding.fact.model_dump(mode="json"),
        "figures": {measure.value: figure for measure, figure in finding.measures.items()},
    }
    path.write_bytes(canonical_json(document))


def save_figure(figure: Fact, path: Path) -> None:
    """Write a fact that goes into another."""
    path.write_bytes(canonical_json(figure))


def load_figure(path: Path, kind: type[AnyFact]) -> AnyFact:
    """Read what ``save_figure`` wrote.

    Raises
    ------
    StageFailed
        If the file is missing, damaged or holds another kind of fact.
    """
    try:
        return kind.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise unreadable_intermediate(path.name, "risk", error) from None


def load_finding(path: Path, assessment: Assessment[AnyFact]) -> Finding[AnyFact]:
    """Read what ``save_finding`` wrote.

    Raises
    ------
    StageFailed
        If the file is missing, damaged or holds another kind of fact.
    """
    try:
        document = json.loads(path.read_bytes())
        figures = {Measure(name): float(figure) for name, figure in document["figures"].items()}
        return Finding(assessment.fact.model_validate(document["fact"]), figures)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, ValidationError) as error:
        raise unreadable_intermediate(path.name, "risk", error) from None

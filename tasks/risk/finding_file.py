"""Keeping what a risk stage found between stages: a fact and the figures that gates judge, as canonical JSON."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from tasks.decision.fact import Fact
from tasks.decision.record import canonical_json
from tasks.errors import unreadable_intermediate
from tasks.request.model import Measure

AnyFact = TypeVar("AnyFact", bound=Fact)


def save_finding(fact: Fact, figures: Mapping[Measure, float], path: Path) -> None:
    """Write a fact and its figures."""
    document = {
        "fact": fact.model_dump(mode="json"),
        "figures": {measure.value: figure for measure, figure in figures.items()},
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


def load_finding(path: Path, kind: type[AnyFact]) -> tuple[AnyFact, dict[Measure, float]]:
    """Read what ``save_finding`` wrote.

    Raises
    ------
    StageFailed
        If the file is missing, damaged or holds another kind of fact.
    """
    try:
        document = json.loads(path.read_bytes())
        figures = {Measure(name): float(figure) for name, figure in document["figures"].items()}
        return kind.model_validate(document["fact"]), figures
    except (OSError, ValueError, KeyError, TypeError, AttributeError, ValidationError) as error:
        raise unreadable_intermediate(path.name, "risk", error) from None

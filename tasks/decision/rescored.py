"""Figures of a candidate under names of their own, to be compared one by one with those of the file as written."""

from collections.abc import Iterator, Sequence
from typing import Any

from tasks.assessments.combined.facts import ScoreFigure
from tasks.assessments.identity.facts import RiskView, TransparentRisk
from tasks.assessments.sequential.facts import BeliefFact


def flat_figures(
    residual: RiskView,
    transparent: TransparentRisk,
    sequential: Sequence[BeliefFact],
    combined: ScoreFigure,
    attacked: int,
) -> dict[str, float]:
    """Every number of a scoring under a name of its own, to be compared one by one.

    ``attacked`` is the number of rows that are as record linkage attacked them.
    """
    document: dict[str, Any] = {
        "residual": residual.model_dump(),
        "transparent": transparent.model_dump(),
        "sequential": [belief.model_dump() for belief in sequential],
        "combined": combined.model_dump(),
        "rows as attacked": attacked,
    }
    return dict(_numbers(document, ()))


def _numbers(part: object, name: tuple[str, ...]) -> Iterator[tuple[str, float]]:
    if isinstance(part, dict):
        for key, value in part.items():
            yield from _numbers(value, (*name, str(key)))
    elif isinstance(part, list | tuple):
        for position, value in enumerate(part):
            yield from _numbers(value, (*name, str(position)))
    elif isinstance(part, int | float):
        yield ".".join(name), float(part)

"""Interface and result of every assessment, and how results are kept between stages."""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import ValidationError

from tasks.candidate.candidate import Candidate
from tasks.core.canonical import canonical_json
from tasks.core.errors import unreadable_intermediate
from tasks.core.fact import Fact, Interval
from tasks.core.seed import one_thread
from tasks.request.model import Measure, ReleaseRequest

FactT = TypeVar("FactT", bound=Fact)


class Effort(StrEnum):
    """Extent of measurement beyond the gate figures."""

    FULL = "full"
    """Everything that the determination shows, other generalizations included."""
    OWN = "own"
    """The same for the candidate's own generalization alone."""


@dataclass(frozen=True)
class Finding(Generic[FactT]):
    """Result of an assessment: a fact for the record, and measures for the gates."""

    fact: FactT
    measures: Mapping[Measure, float]


class Assessment(ABC, Generic[FactT]):
    """One way to measure a candidate."""

    id: ClassVar[str]
    """Short name, for files and options."""
    stage: ClassVar[str]
    """Name in messages and in the record's list of stages."""
    fact: type[FactT]
    """Model of the fact."""

    @property
    def families(self) -> tuple[str, ...]:
        """First parts of the names of its measures."""
        return (self.id,)

    @property
    def gate_measures(self) -> frozenset[Measure]:
        """Measures that gates can use."""
        return frozenset(one for one in Measure if one.value.partition(".")[0] in self.families)

    def applies(self, request: ReleaseRequest) -> bool:  # noqa: ARG002
        """Whether a request's copies need it."""
        return True

    def assess(self, candidate: Candidate, effort: Effort = Effort.FULL) -> Finding[FactT]:
        """Measure a candidate, on one thread, so that sums have the same bits on every machine.

        Raises StageFailed or ParameterError if it cannot be measured; the candidate is then blocked.
        """
        with one_thread():
            return self._assess(candidate, effort)

    @abstractmethod
    def _assess(self, candidate: Candidate, effort: Effort) -> Finding[FactT]:
        """Measure a candidate."""

    def measures(self, candidate: Candidate) -> Mapping[Measure, float]:
        """Gate figures alone, quicker than ``assess`` where they can be; errors as of ``assess``."""
        return self.assess(candidate, Effort.OWN).measures

    def intervals(self, fact: FactT) -> Mapping[Measure, tuple[Interval, int | None]]:  # noqa: ARG002
        """Intervals of the measures that are estimates, and the people each rests on; from the fact alone."""
        return {}


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

    Raises StageFailed if the file is missing, damaged or holds another kind of fact.
    """
    try:
        return kind.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise unreadable_intermediate(path.name, "risk", error) from None


def load_finding(path: Path, assessment: Assessment[AnyFact]) -> Finding[AnyFact]:
    """Read what ``save_finding`` wrote.

    Raises StageFailed if the file is missing, damaged or holds another kind of fact.
    """
    try:
        document = json.loads(path.read_bytes())
        figures = {Measure(name): float(figure) for name, figure in document["figures"].items()}
        return Finding(assessment.fact.model_validate(document["fact"]), figures)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, ValidationError) as error:
        raise unreadable_intermediate(path.name, "risk", error) from None

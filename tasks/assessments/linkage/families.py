"""The families of learned distances of Torra 2016 by name, each learned on a release (slides 22 to 42).

Learned from half of some people, tried on the others. Matrices need signed differences and compare the masked numbers
alone; all other families weigh the distances of all known attributes.
"""

import time
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from tasks.assessments.linkage.facts import link_figure
from tasks.assessments.linkage.holdings import Holdings
from tasks.assessments.linkage.learning.comparisons import Components, scaled_components
from tasks.assessments.linkage.learning.family import MATRICES, Kind
from tasks.assessments.linkage.learning.learn import Certificate, learn
from tasks.assessments.linkage.mixed import components
from tasks.assessments.linkage.problem.figure import Linkage
from tasks.assessments.linkage.problem.files import Files, Positions
from tasks.core.errors import ParameterError

LEARNED_FROM = 200
"""Most people to learn from; as many others test the result."""
FEWEST_LEARNED_FROM = 20

DISTANCES = {
    "mean": Kind.WEIGHTED_MEAN,
    "owa": Kind.OWA,
    "choquet": Kind.CHOQUET,
    "bilinear": Kind.BILINEAR,
    "mahalanobis": Kind.MAHALANOBIS,
}
"""The families by the name that a user gives."""


@dataclass(frozen=True)
class FamilyLearned:
    """A family's distance, learned from some people and tried on others.

    Links by ``equal`` weights and by the ``learned`` ones are of both, in this order. ``shares`` are together 1;
    ``pairs`` are of a person to learn from and any of the people; nothing certifies a Mahalanobis distance; ``seconds``
    include the proof.
    """

    kind: Kind
    attributes: tuple[str, ...]
    equal: tuple[Linkage, Linkage]
    learned: tuple[Linkage, Linkage]
    shares: dict[str, float]
    parameters: int
    pairs: int
    certificate: Certificate | None
    seconds: float

    def document(self) -> dict[str, Any]:
        """The figures for programs."""
        linked = {"equal": self.equal, "learned": self.learned}
        figures = {
            name: {"in_sample": link_figure(inside).model_dump(), "out_of_sample": link_figure(outside).model_dump()}
            for name, (inside, outside) in linked.items()
        }
        return asdict(self) | figures


def learn_family(held: Holdings, name: str, generator: np.random.Generator) -> FamilyLearned:
    """Learn the distance of one of ``DISTANCES``; ParameterError if records or attributes are too few or do not fit."""
    kind = DISTANCES[name]
    people = drawn_people(held, generator)
    given = _compared(held, kind, people)
    teachers = half_of(people, generator)
    started = time.perf_counter()
    found = learn(given, kind, generator, records=teachers, certificate=True)
    seconds = time.perf_counter() - started
    others = np.setdiff1d(np.arange(len(people)), teachers)
    equal = learn(given, Kind.ARITHMETIC_MEAN, generator, records=teachers).distance
    return FamilyLearned(
        kind=kind,
        attributes=given.names,
        equal=(equal.link(given, teachers), equal.link(given, others)),
        learned=(found.in_sample, found.distance.link(given, others)),
        shares=found.distance.attribute_shares,
        parameters=len(found.distance.parameters),
        pairs=len(teachers) * len(people),
        certificate=found.certificate,
        seconds=seconds,
    )


def drawn_people(held: Holdings, generator: np.random.Generator) -> Positions:
    """People to learn from and to try on, as positions among the released records in ascending order."""
    return np.sort(generator.permutation(len(held.released))[: 2 * LEARNED_FROM])


def half_of(people: Positions, generator: np.random.Generator) -> Positions:
    """Positions of the half of some people who teach, in ascending order."""
    return np.sort(generator.permutation(len(people))[: len(people) // 2])


def mixed_components(held: Holdings, people: Positions) -> Components:
    """Distances of some people to the released records of all of them, in every known attribute that is compared."""
    return scaled_components(components(held.mixed(people)), held.compared)


def _compared(held: Holdings, kind: Kind, people: Positions) -> Files | Components:
    matrix = kind in MATRICES
    names = held.number_names if matrix else held.compared
    if len(names) < 2 or len(people) < 2 * FEWEST_LEARNED_FROM:
        raise ParameterError(
            "there is too little to learn a distance from",
            where="--algorithm",
            expected=f"at least two known {'masked numbers' if matrix else 'attributes'} that vary and "
            f"{2 * FEWEST_LEARNED_FROM} released records",
            got=f"{len(names)} and {len(people)}",
            fix="learn a weighted mean, or mask numbers that may be known" if matrix else "let the intruder know more",
        )
    if not matrix:
        return mixed_components(held, people)
    numbers = held.numbers(people)
    return replace(numbers, masked=numbers.masked[people], truth=np.arange(len(people)))

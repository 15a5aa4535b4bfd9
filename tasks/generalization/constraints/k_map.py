"""k-map: at least k people of the population match each class (Sweeney 2002; El Emam and Dankar 2008)."""

from dataclasses import dataclass

import numpy as np

from tasks.core.errors import RequestError
from tasks.generalization.constraints.constraint import Bools, Floats, PeopleConstraint, PrivacyModel, refused
from tasks.microdata.coded import Prepared
from tasks.microdata.tuples import Counts
from tasks.request.model import MissingReading


@dataclass(frozen=True)
class KMap(PeopleConstraint):
    """At least ``k`` people of the population match each class."""

    k: int
    firm = True

    def __post_init__(self) -> None:
        if self.k < 1:
            raise refused("the least number of people is outside its range", "KMap.k", "from 1", f"{self.k}")

    def met(self, records: Floats, people: Counts) -> Bools:  # noqa: ARG002
        """Whether enough people match each class."""
        return np.asarray(people >= self.k)


def _check(people: int, where: str, prepared: Prepared, _missing: MissingReading) -> None:
    everybody = prepared.population.total
    if people > everybody:
        raise RequestError(
            "no class can match so many people",
            where=where,
            expected=f"at most the population's {everybody:,} people",
            got=f"{people:,}",
            fix="ask for fewer people, or take a larger population",
        )


K_MAP = PrivacyModel(
    term="people",
    constraints=lambda people, _prepared: [KMap(None, people)],
    words=lambda people: [f"at least {people:,} people of the population who match it"],
    check=_check,
)

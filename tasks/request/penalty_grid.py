"""The map of penalties that a policy may ask for: penalties, and one other term of a sequential adversary."""

from itertools import pairwise
from typing import Annotated, ClassVar

from pydantic import Field

from tasks.core.plural import listed
from tasks.request.part import Cost, OpenProbability, RequestPart, Rule

_Share = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]

TERM_OF = {
    "detections": "detection",
    "discounts": "discount",
    "confirmations": "confirmation",
    "priors": "prior",
    "max_penalties": "max_penalties",
}
"""Term of the adversary that each list of columns holds the values of."""

OF_PENALTY = frozenset({"detection", "max_penalties"})
"""Of these terms, those without effect where there is no penalty."""


class PenaltyGrid(RequestPart):
    """Penalties, and values of one other term, for which the game is played against a sequential adversary."""

    penalties: tuple[Cost, ...] = Field(
        min_length=1, max_length=6, description="Penalties for a detected attempt, ascending."
    )
    detections: tuple[OpenProbability, ...] | None = Field(
        default=None,
        min_length=1,
        max_length=6,
        description="Probabilities that the first attempt is detected, ascending.",
    )
    discounts: tuple[_Share, ...] | None = Field(
        default=None, min_length=1, max_length=6, description="Discounts γ, ascending."
    )
    confirmations: tuple[_Share, ...] | None = Field(
        default=None,
        min_length=1,
        max_length=6,
        description="Probabilities κ that a right match is recognized, ascending.",
    )
    priors: tuple[OpenProbability, ...] | None = Field(
        default=None,
        min_length=1,
        max_length=6,
        description="Priors π, ascending; not with a register, which says how many it lists.",
    )
    max_penalties: tuple[Annotated[int, Field(ge=1, le=1_000_000)], ...] | None = Field(
        default=None,
        min_length=1,
        max_length=6,
        description="Penalties n_f after which detection costs nothing more, ascending.",
    )

    rules: ClassVar[tuple[Rule["PenaltyGrid"], ...]] = (
        Rule(
            f"a map of penalties varies one other term: {listed(list(TERM_OF), 'or')}",
            lambda one: len(one.varied) != 1,
            got=lambda one: listed(one.varied) if one.varied else "none",
            fix="give a list of values for one of them",
        ),
        Rule(
            "values of a map ascend, each one once",
            lambda one: next(
                (
                    name
                    for name in ("penalties", *one.varied)
                    if any(left >= right for left, right in pairwise(getattr(one, name)))
                ),
                None,
            ),
            got="a value that is not above the one before it",
            fix="give each value once, the smallest first",
        ),
    )

    @property
    def varied(self) -> list[str]:
        """Lists of columns that are given: one, in a grid that is allowed."""
        return [name for name in TERM_OF if getattr(self, name) is not None]

    @property
    def term(self) -> str:
        """Term of the adversary that the columns vary."""
        return TERM_OF[self.varied[0]]

    @property
    def values(self) -> tuple[float, ...]:
        """Values of the columns."""
        found: tuple[float, ...] = getattr(self, self.varied[0])
        return found

    @property
    def needs_detection(self) -> bool:
        """Whether a penalty is tried whose detection the map does not say."""
        return self.term != "detection" and self.penalties != (0,)

    @property
    def is_idle(self) -> bool:
        """Whether the columns change nothing, for there is no penalty that they would be of."""
        return self.penalties == (0,) and self.term in OF_PENALTY

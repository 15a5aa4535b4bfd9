"""A generalization method: what the registry lists, and what one more method has to provide."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from tasks.generalization.game.count_index import CountIndex
from tasks.generalization.game.exact import GameRule
from tasks.generalization.game.facts import DivisionOutcome
from tasks.generalization.game.problem import Problem
from tasks.microdata.hierarchy import Codes
from tasks.request.model import Method


@dataclass(frozen=True)
class Recoding:
    """Rule by which a method generalizes anybody, by the values of the quasi-identifiers alone."""

    levels: Callable[[Codes], Codes]
    """Levels at which leaf codes are released; both of shape (n_tuples, n_attributes)."""
    cells: Callable[[Codes], Codes] | None = None
    """Released cells of leaf codes in axis positions, where they are not the groups at these levels."""
    division: DivisionOutcome | None = None
    """Quality of a partition; None for other methods."""


@dataclass(frozen=True)
class GeneralizationMethod:
    """A way to generalize a file for one recipient."""

    name: Method
    """As a policy names it."""
    recoding: Callable[[CountIndex, Problem, str], Recoding]
    """From data and population, the game, and what cells are weighted by ("population" or "data")."""
    title: str
    """In print."""
    how: str
    """Description of how it works, for the report."""
    promise: str
    """Protection against a recipient who knows it, for the report."""
    stakes: Literal["all", "loss", "none"] = "all"
    """Stakes that the choice depends on: all, all but the benefit, or none."""
    common: bool = False
    """Whether all records have one strategy, so that each column has one grouping."""
    per_record: bool = False
    """Whether each record has a strategy of its own, so that a recipient who knows the rule can rule out people."""
    remainders: bool = False
    """Whether a class is a cell less the people released before, so that people outside a class match its cell."""
    partition: GameRule | None = None
    """The strategies that a partition of the domain may use; None for other methods."""
    safe_harbor: bool = False
    """Whether nothing is released in more detail than Safe Harbor allows."""
    plain: str = ""
    """What it does, for readers who know no term of it."""

    @property
    def in_plain_words(self) -> str:
        """What it does, with the title in brackets."""
        return f"{self.plain} ({self.title})" if self.plain else self.title

    @property
    def partitions(self) -> bool:
        """Whether the domain is partitioned, for which cells are weighted."""
        return self.partition is not None

    @property
    def whole_cells(self) -> bool:
        """Whether every person in a released cell is released as that cell, so that knowing the rule gains nothing."""
        return not (self.per_record or self.remainders)

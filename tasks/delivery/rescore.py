"""Scoring a released file again from its bytes: what leaves must carry the risk that was judged."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tasks.decision.adversary_facts import BeliefFact, ScoreFigure
from tasks.decision.record import RiskView, TransparentRisk
from tasks.generalization.game import Follower
from tasks.generalization.play import Played, Table
from tasks.generalization.suppression import class_sizes
from tasks.linkage.transparency import cell_numbers
from tasks.microdata.hierarchy import Codes
from tasks.microdata.tuples import Counts
from tasks.risk.adversary import AdversaryProfile
from tasks.risk.groups import groups
from tasks.risk.identity import risk_view, transparent_risk
from tasks.risk.sequential import beliefs


@dataclass(frozen=True)
class CellSizes:
    """People in each cell that the method releases: all who match it, and those whose own cell it is."""

    numbers: Counts
    people: Counts
    effective: Counts
    listed: Counts | None
    """Those of the last in the external register; None without one."""

    @classmethod
    def of(cls, table: Table, played: Played) -> "CellSizes":
        """Sizes of the distinct cells of a played method."""
        numbers, first = np.unique(cell_numbers(played.cells, table.axis_sizes), return_index=True)
        listed = None if played.listed is None else played.listed[first]
        return cls(numbers, played.people[first], played.effective[first], listed)


@dataclass(frozen=True)
class CellRisk:
    """What the quasi-identifiers of a file carry."""

    residual: RiskView
    transparent: TransparentRisk
    sequential: tuple[BeliefFact, ...]


def rescore(
    cells: Codes,
    table: Table,
    sizes: CellSizes,
    payoffs: Follower,
    profile: AdversaryProfile,
    *,
    threshold: float,
    small_cell: int,
) -> CellRisk | None:
    """Risk of the rows of a released file; None where a row's cell is none that the method releases.

    Parameters
    ----------
    cells : array of shape (n_rows, n_attributes)
        Cells read back from the file.
    """
    numbers, records = np.unique(cell_numbers(cells, table.axis_sizes), return_counts=True)
    place = np.minimum(np.searchsorted(sizes.numbers, numbers), len(sizes.numbers) - 1)
    if len(numbers) == 0 or (sizes.numbers[place] != numbers).any():
        return None
    counts = records.astype(np.int64)
    people, effective = sizes.people[place], sizes.effective[place]
    listed = None if sizes.listed is None else sizes.listed[place]
    return CellRisk(
        residual=risk_view(class_sizes(numbers, counts), people, counts, threshold, small_cell),
        transparent=transparent_risk(people, effective, counts, payoffs),
        sequential=beliefs(profile, groups(table, effective, listed, counts, profile.prior)),
    )


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

"""Scoring a released file again from its bytes: a released file must carry the risk that was judged."""

from dataclasses import dataclass

import numpy as np

from tasks.adversary.adversary import AdversaryProfile
from tasks.assessments.identity.facts import RiskView, TransparentRisk
from tasks.assessments.identity.identity import risk_view, transparent_risk
from tasks.assessments.sequential.facts import BeliefFact
from tasks.assessments.sequential.sequential import beliefs
from tasks.candidate.groups import groups
from tasks.generalization.game import Follower
from tasks.generalization.play import CountIndex, Generalization
from tasks.generalization.suppression import class_sizes
from tasks.generalization.transparency import cell_numbers
from tasks.microdata.hierarchy import Codes
from tasks.microdata.tuples import Counts


@dataclass(frozen=True)
class CellSizes:
    """People in each cell that the method releases: all who match it, and those whose own cell it is."""

    numbers: Counts
    people: Counts
    effective: Counts
    listed: Counts | None
    """Those of the last in the external register; None without one."""

    @classmethod
    def of(cls, table: CountIndex, played: Generalization) -> "CellSizes":
        """Sizes of the distinct cells of a generalization."""
        numbers, first = np.unique(cell_numbers(played.cells, table.axis_sizes), return_index=True)
        listed = None if played.listed is None else played.listed[first]
        return cls(numbers, played.people[first], played.effective[first], listed)


@dataclass(frozen=True)
class CellRisk:
    """Risk carried by the quasi-identifiers of a file."""

    residual: RiskView
    transparent: TransparentRisk
    sequential: tuple[BeliefFact, ...]


def rescore(
    cells: Codes,
    table: CountIndex,
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

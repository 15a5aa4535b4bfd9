"""Candidate decoy classes: people of the population in cells of their own, none of whom is in the data.

Source: Antonatos et al., *AnonTokens: Tracing Re-identification Attacks through Decoy Records* (2019), Section 5,
steps 1-3 and Algorithm 1. For each released class the people who match it are counted; the least is minLink, and the
maximum risk is 1/minLink. The people who match a released class are taken out of the population; what is left is
grouped at the same generalization, and the classes E' with k ≤ |E'| < minLink are the paper's candidates.

Departures
* A suppressed record's cell is left over too, so a “decoy” of the paper may be a person who is in the data. Here the
  strict rule holds unless the caller chooses otherwise: no original record, released or suppressed, lies in a
  candidate's cell.
* By |E'| < minLink alone every decoy would link to fewer people than any real class, and a holder of the population
  could recognise them all. All cells of at least k people are kept here, those that link to minLink people or more
  included, and a band of risk multiplication factors minLink/|E'| says which are used.
* Classes that no person of the population matches have no risk to compare with and do not count in minLink.
* Where cells overlap, a candidate's people are all who match it, as an intruder counts them, while its decoys can only
  be those who match no released class: the pool.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks.core.errors import ParameterError
from tasks.decoys.generalized_release import Classes, Flags, Floats, GeneralizedRelease, check_minimum
from tasks.microdata.hierarchy import Codes
from tasks.microdata.tuples import Counts


@dataclass(frozen=True)
class RiskBand:
    """Risk multiplication factors that decoys may have: how many times the release's maximum risk a decoy's is.

    A factor above 1 is a decoy that links to fewer people than any real class, as the paper has it; one below 1 a
    decoy that links to as many people as real classes do.
    """

    minimum: float
    """Above 0; both ends belong to the band."""
    maximum: float

    def __post_init__(self) -> None:
        if not 0 < self.minimum <= self.maximum < float("inf"):
            raise ParameterError(
                "the band of risk factors is empty or outside its range",
                where="risk band",
                expected="finite factors above 0, the minimum not above the maximum",
                got=f"{self.minimum:g} to {self.maximum:g}",
                fix="correct the factors",
            )

    def holds(self, factors: Floats) -> Flags:
        """Whether each factor lies in the band; a rounding error at its ends does not matter."""
        inside: Flags = (factors >= self.minimum * (1 - 1e-12)) & (factors <= self.maximum * (1 + 1e-12))
        return inside


@dataclass(frozen=True, eq=False, repr=False)
class Candidates:
    """Cells that decoy classes can be made of, in the order of their numbers."""

    minimum: int
    """Smallest class, k."""
    released: Classes
    least_linked: int
    """Fewest people whom a released class links to, minLink; 1/minLink is the maximum risk."""
    unlinked: int
    """Released classes that no person of the population matches."""
    cells: Codes
    """Axis positions of each candidate; shape (n_candidates, n_attributes)."""
    people: Counts
    """People who match each candidate, whom an intruder links it with; shape (n_candidates,)."""
    effective: Counts
    """People whose own cell it is; ``people`` where cells do not overlap."""
    pool: Counts
    """People who can be its decoys, from k: in no released class, and in the register where there is one."""
    originals: Counts
    """Suppressed original records in each candidate's cell; all 0 under the strict rule."""
    listed: Counts | None = None
    """People of the register who match each candidate; None without a register."""

    def __len__(self) -> int:
        return len(self.people)

    @property
    def maximum_risk(self) -> float:
        """Highest risk of a released class, 1/minLink."""
        return 1 / self.least_linked

    @property
    def risk(self) -> Floats:
        """Risk of each candidate, 1/|E'|."""
        return 1 / self.people

    @property
    def risk_factor(self) -> Floats:
        """Risk multiplication factor of each candidate, minLink/|E'|; its risk over the maximum risk."""
        return self.least_linked / self.people

    @property
    def riskier(self) -> Flags:
        """Whether each is a candidate of the paper: |E'| < minLink, k ≤ |E'| being given."""
        fewer: Flags = self.people < self.least_linked
        return fewer

    def in_band(self, band: RiskBand) -> Flags:
        """Whether the risk multiplication factor of each candidate lies in a band."""
        return band.holds(self.risk_factor)


def find_candidates(release: GeneralizedRelease, minimum: int, *, strict: bool = True) -> Candidates:
    """All cells that decoy classes can be made of.

    Parameters
    ----------
    release : GeneralizedRelease
    minimum : int
        Smallest decoy class, k, from 1.
    strict : bool
        Whether a cell with an original record, which can then only be a suppressed one, is left out.

    Raises
    ------
    ParameterError
        If the minimum is below 1, nothing is released, or no person of the population matches any released class.
    """
    check_minimum(minimum)
    classes = release.classes
    linked_classes = classes.people > 0
    if not linked_classes.any():
        raise ParameterError(
            "nobody in the population matches a released class, so no risk can be compared with a decoy's",
            where="the population",
            expected="people who match at least one released class",
            got=f"none for {len(classes)} classes",
            fix="use a population that the data comes from",
        )
    left = ~release.linked
    people = release.population.counts if release.listed is None else release.listed
    distinct, first, group = release.own_groups
    pool = np.rint(np.bincount(group[left], weights=people[left], minlength=len(distinct))).astype(np.int64)
    found = np.flatnonzero(pool >= minimum)
    cells = release.own[first[found]]
    originals = release.originals(cells)
    if strict:
        found, cells, originals = found[originals == 0], cells[originals == 0], originals[originals == 0]
    return Candidates(
        minimum=minimum,
        released=classes,
        least_linked=int(classes.people[linked_classes].min()),
        unlinked=int(np.count_nonzero(~linked_classes)),
        cells=cells,
        people=release.matching(cells, release.population.counts),
        effective=release.owning(cells, release.population.counts),
        pool=pool[found],
        originals=originals,
        listed=None if release.listed is None else release.matching(cells, release.listed),
    )


def close_to_minimum(sizes: NDArray[np.integer], minimum: int) -> int:
    """Classes Q with k ≤ |Q| ≤ k + ⌈k/10⌉, the paper's closeToK, among which a decoy of k records does not stand out.

    The bound is lost in print and restored.
    """
    return int(np.count_nonzero((sizes >= minimum) & (sizes <= minimum + -(-minimum // 10))))

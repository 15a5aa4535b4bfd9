"""Cells that decoy classes can be made of: people of the population in cells of their own, none of whom is in the data.

Source: Antonatos et al., *AnonTokens: Tracing Re-identification Attacks through Decoy Records* (2019), Section 5,
steps 1-3 and Algorithm 1. For each released class the people who match it are counted; the least is minLink, and the
maximum risk is 1/minLink. The people who match a released class are taken out of the population; what is left is
grouped at the same generalization, and the classes E' with k ≤ |E'| < minLink are the paper's candidates.

Departures
* A suppressed record's cell is left over too, so a “decoy” of the paper may be a person who is in the data. Here no
  original record, released or suppressed, lies in a decoy's cell.
* By |E'| < minLink alone every decoy would link to fewer people than any real class, and a holder of the population
  could recognise them all. A band of risk multiplication factors minLink/|E'| says which cells are used.
* Classes that no person of the population matches have no risk to compare with and do not count in minLink.
* Where cells overlap, a cell's people are all who match it, as an intruder counts them, while its decoys can only be
  those who match no released class: the pool.

Decoys are drawn where real classes are: a cell is weighed by the density ratio p(x | released) / p(x | empty) of what
an intruder with the population sees of it, the odds of a cross-fitted classifier (Bickel, Brückner & Scheffer 2009;
Sugiyama, Suzuki & Kanamori 2012, chapter 4). Cells are drawn without replacement by these weights (the exponential race
of Efraimidis & Spirakis 2006, in its Gumbel form).

Riskier decoys than any real class, the paper's own, are a choice: a band from 1 up. No real class links to as few
people, so they are like real classes in size alone, and who has the population can tell them; so the record says.

The assignment matches decoys with real classes of their bin (``tasks.decoys.classes.looks``). So a cell is offered in
the size of a real class of its own half-octave, drawn among those that its people suffice for, and no bin gets more
cells than it has real classes for. As many cells are offered as are asked for: with more the assignment would save
records by taking small decoys, which a classifier separates from real classes by their size.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from tasks.core.errors import ParameterError
from tasks.core.plural import plural
from tasks.core.seed import one_thread
from tasks.decoys.classes import ClassTable, Flags, Floats, Rows, people_bins, sums_of
from tasks.decoys.linked_release import LinkedRelease, known_groups
from tasks.microdata.hierarchy import Codes
from tasks.microdata.tuples import Counts

_FOLDS = 5
_TRAINING = 20_000
"""Cells that a classifier learns from at most."""


@dataclass(frozen=True)
class RiskBand:
    """Risk multiplication factors that decoys may have: a decoy's risk over the release's maximum risk.

    Above 1 it links to fewer people than any real class, as in the paper; below 1 to as many as real classes do.
    """

    minimum: float
    """Above 0; both ends belong to the band."""
    maximum: float

    @property
    def blends(self) -> bool:
        """Whether decoys link to as many people as real classes do; from 1 up they are like real ones in size alone."""
        return self.minimum < 1

    def holds(self, factors: Floats) -> Flags:
        """Whether each factor lies in the band; a rounding error at its ends does not matter."""
        return np.asarray((factors >= self.minimum * (1 - 1e-12)) & (factors <= self.maximum * (1 + 1e-12)))


@dataclass(frozen=True, eq=False, repr=False)
class DecoyCells:
    """Cells without an original record, in the order of their numbers."""

    release: LinkedRelease
    minimum: int
    """Smallest class, k."""
    least_linked: int
    """Fewest people whom a released class links to, minLink; 1/minLink is the maximum risk."""
    cells: Codes
    """Axis positions of each cell; shape (n_cells, n_attributes)."""
    people: Counts
    """People who match each cell, whom an intruder links it with; shape (n_cells,)."""
    inside: Counts | None
    """People whose values each cell holds, as in a ``ClassTable``."""
    pool: Counts
    """People who can be its decoys, from k: in no released class, and in the register where there is one."""

    def __len__(self) -> int:
        return len(self.people)

    def in_band(self, band: RiskBand) -> Flags:
        """Whether the risk multiplication factor of each cell, minLink/|E'|, lies in a band."""
        return band.holds(self.least_linked / self.people)

    @cached_property
    def usable(self) -> Flags:
        """Whether every group of each cell occurs in a released class, and some released class is no larger."""
        released = self.release.classes
        smallest = max(self.minimum, int(released.records.min()))
        return known_groups(self.cells, released.cells).all(axis=1) & (self.pool >= smallest)

    @cached_property
    def real(self) -> ClassTable:
        """Released classes of at least k records."""
        return self.release.classes.take(self.release.classes.records >= self.minimum)


def find_decoy_cells(release: LinkedRelease, minimum: int) -> DecoyCells:
    """All cells that decoy classes of `minimum` records, k, from 1, or more can be made of.

    A ParameterError says that no person of the population matches any released class.
    """
    linked = release.classes.people[release.classes.people > 0]
    if len(linked) == 0:
        raise ParameterError(
            "nobody in the population matches a released class, so no risk can be compared with a decoy's",
            where="the population",
            expected="people who match at least one released class",
            got=f"none for {len(release.classes)} classes",
            fix="use a population that the data comes from",
        )
    left = ~release.linked if release.counted is None else ~release.linked & release.counted
    people = release.population.counts if release.listed is None else release.listed
    distinct, first = np.unique(release.own_numbers, return_index=True)
    pool = sums_of(people[left], release.own_numbers[left], distinct)
    found = np.flatnonzero(pool >= minimum)
    found = found[~release.have_originals(release.own[first[found]])]
    cells = release.own[first[found]]
    matching, inside = release.people_of(cells)
    return DecoyCells(
        release=release,
        minimum=minimum,
        least_linked=int(linked.min()),
        cells=cells,
        people=matching,
        inside=inside,
        pool=pool[found],
    )


def ranked(
    cells: DecoyCells, band: RiskBand, generator: np.random.Generator, *, ratio: int, barred: Flags | None = None
) -> Rows:
    """Cells of a band in the order in which they are offered, drawn by their likeness to released classes.

    `ratio` is the number of kept classes a decoy, t, from 1; `barred` cells are left out. A ParameterError says that no
    cell is left, and what would give some.
    """
    barred = np.zeros(len(cells), dtype=bool) if barred is None else barred
    usable = cells.usable & ~barred
    inside = np.flatnonzero(usable & cells.in_band(band))
    eligible = inside[_Bins(cells, ratio, by_people=band.blends).fit(inside)]
    if len(eligible) == 0:
        raise _nothing_to_offer(cells, int(usable.sum()), len(inside), ratio, int((cells.usable & barred).sum()))
    keys = log_likeness(cells, eligible, generator) + generator.gumbel(size=len(eligible))
    return np.asarray(eligible[np.argsort(-keys, kind="stable")])


def log_likeness(cells: DecoyCells, eligible: Rows, generator: np.random.Generator) -> Floats:
    """Logarithm of the density ratio of released and empty cells at each eligible cell, up to a constant.

    0 throughout where there are too few cells of either kind to learn from.
    """
    empty, real = cells.release.seen(cells.cells[eligible]), cells.release.seen(cells.release.classes.cells)
    if min(len(empty), len(real)) < 2 * _FOLDS:
        return np.zeros(len(eligible))
    features = np.vstack([empty, real])
    released = np.arange(len(features)) >= len(empty)
    fold = np.concatenate([generator.permutation(len(part)) % _FOLDS for part in (empty, real)])
    weights = np.zeros(len(features))
    with one_thread():
        for number in range(_FOLDS):
            training = generator.permutation(np.flatnonzero(fold != number))[:_TRAINING]
            model = boosting()
            model.fit(features[training], released[training])
            weights[fold == number] = model.decision_function(features[fold == number])
    return weights[: len(empty)]


def boosting() -> HistGradientBoostingClassifier:
    """A classifier that separates decoys from real classes."""
    return HistGradientBoostingClassifier(
        max_iter=60, max_leaf_nodes=8, min_samples_leaf=5, early_stopping=False, random_state=0
    )


def offered(
    cells: DecoyCells,
    ordered: Rows,
    generator: np.random.Generator,
    *,
    most: int,
    ratio: int,
    by_people: bool = True,
) -> ClassTable:
    """The first cells of an order that can be had together, `most` at most, each in the size of a real class like it.

    `ratio` is the number of kept classes a decoy, t, from 1. The classes come in an order that reveals nothing; no two
    share people.
    """
    bins, release = _Bins(cells, ratio, by_people=by_people), cells.release
    spans = [release.spans[axis] for axis in range(cells.cells.shape[1])]
    middles = np.column_stack([span[0][cells.cells[ordered, axis]] for axis, span in enumerate(spans)])
    halves = np.column_stack([span[1][cells.cells[ordered, axis]] for axis, span in enumerate(spans)]) / 2
    chosen: list[int] = []
    sizes: list[int] = []
    for number, cell in enumerate(ordered.tolist()):
        if len(chosen) == most:
            break
        if release.overlapping:
            near = np.abs(middles[chosen] - middles[number]) < halves[chosen] + halves[number]
            if near.all(axis=1).any():
                continue
        size = bins.draw(cell, generator)
        if size:
            chosen.append(number)
            sizes.append(size)
    order = generator.permutation(len(chosen))
    rows = ordered[chosen][order]
    inside = None if cells.inside is None else cells.inside[rows]
    return ClassTable(cells.cells[rows], np.array(sizes, dtype=np.int64)[order], cells.people[rows], inside)


class _Bins:
    """Sizes of the real classes of each bin by people, or of all, and for how many decoys real classes are left."""

    def __init__(self, cells: DecoyCells, ratio: int, *, by_people: bool) -> None:
        self._pool, self._bin = cells.pool, people_bins(cells.people, cells.inside) * by_people
        self._sizes: dict[int, tuple[Counts, Counts, Counts]] = {}
        bins = people_bins(cells.real.people, cells.real.inside) * by_people
        for number in np.unique(bins).tolist():
            sizes, classes = np.unique(cells.real.records[bins == number], return_counts=True)
            enough = classes >= ratio
            self._sizes[number] = sizes[enough], classes[enough], classes[enough] // ratio

    def fit(self, rows: Rows) -> Flags:
        """Whether each of some cells can have the size of a real class."""
        least = {number: sizes[0] for number, (sizes, _, _) in self._sizes.items() if len(sizes)}
        return np.array([self._pool[row] >= least.get(int(self._bin[row]), np.inf) for row in rows], dtype=bool)

    def draw(self, row: int, generator: np.random.Generator) -> int:
        """Size of a real class drawn among those that a cell's people suffice for; 0 where none is left."""
        sizes, classes, free = self._sizes[int(self._bin[row])]
        weights = np.where((sizes <= self._pool[row]) & (free > 0), classes, 0)
        if not weights.any():
            return 0
        place = int(generator.choice(len(sizes), p=weights / weights.sum()))
        free[place] -= 1
        return int(sizes[place])


def _nothing_to_offer(cells: DecoyCells, usable: int, inside: int, ratio: int, barred: int) -> ParameterError:
    if barred > usable:
        fix = "release to recipients of coarser copies apart: cells in their classes cannot be used"
    elif not usable:
        fix = (
            "lower policy.generalization.minimum_class_size, or generalize less (releasegate assess decoys shows where "
            "there is room)"
        )
    else:
        fix = "lower decoys.minimum_risk_factor, or raise decoys.maximum_risk_factor"
        if not inside:
            fix += f": a decoy's factor is {cells.least_linked} divided by the people whom it links to"
        elif ratio > 1:
            fix += ", or lower policy.decoys.kept_per_decoy"
    return ParameterError(
        "no decoy can be made that looks like a real class",
        where="decoys.minimum_risk_factor, decoys.maximum_risk_factor, policy.decoys.kept_per_decoy",
        expected="a combination of values that no record has, with a factor between these two, and for it "
        f"{plural(ratio, 'real class', 'real classes')} of a like size, linked to about as many people",
        got=f"{plural(len(cells), 'combination')} that no record has; {usable:,} of groups that the copy has; "
        f"{inside:,} of these between the two factors; none with such classes"
        + (f"; {barred:,} more are in classes of other copies" if barred else ""),
        fix=fix,
    )

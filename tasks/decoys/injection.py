"""Decoy classes for each recipient, none shared, that blend with the released classes.

Cells are drawn without replacement by plausibility (``tasks.decoys.plausibility``; the exponential race of
Efraimidis & Spirakis 2006, in its Gumbel form). A recipient's decoys lie in its own band of risk factors; where bands
differ, who gets which cell is a minimum-cost matching, so that a set of decoys for all is found whenever there is one.

A decoy class takes its size from a released class: by default from one of those that link to about as many people,
because a size that is common in the file may still be odd for a cell of so few people. No size exceeds the people of
the cell who can be decoys, and none is below k.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

from tasks.decoys.candidates import Candidates, RiskBand
from tasks.decoys.generalized_release import Classes, Flags, Floats, GeneralizedRelease
from tasks.decoys.plausibility import as_classes, log_plausibility, supported
from tasks.errors import ParameterError
from tasks.microdata.hierarchy import Codes
from tasks.microdata.tuples import Counts

Places = NDArray[np.intp]

_NEAREST = 30
"""Released classes of the nearest link counts that a size is drawn from."""


class SizeRule(StrEnum):
    """Which released classes a decoy class may take its size from."""

    LINKED_ALIKE = "linked-alike"
    """Those that link to about as many people: size and links agree, as who has the population sees."""
    ALL = "all"
    """All of them that fit: the sizes by themselves agree, as who has the file alone sees."""


@dataclass(frozen=True)
class DecoysWanted:
    """What one recipient is to get."""

    recipient: str
    classes: int
    """Decoy classes, from 1."""
    band: RiskBand
    """Risk multiplication factors that they may have."""


@dataclass(frozen=True)
class DecoyClasses:
    """The decoy classes of one recipient; shows nothing of them."""

    recipient: str
    candidates: Places = field(repr=False)
    """Number of each class among the candidates; shape (n_classes,)."""
    classes: Classes = field(repr=False)


@dataclass(frozen=True)
class Injection:
    """Decoy classes of all recipients, in the order in which they were asked for; shows none."""

    minimum: int
    """k; no class is smaller."""
    decoys: tuple[DecoyClasses, ...] = field(repr=False)

    @property
    def together(self) -> Classes:
        """The decoy classes of all recipients in one."""
        parts = [part.classes for part in self.decoys]
        listed = [part.listed for part in parts if part.listed is not None]
        return Classes(
            cells=np.concatenate([part.cells for part in parts]),
            sizes=np.concatenate([part.sizes for part in parts]),
            people=np.concatenate([part.people for part in parts]),
            effective=np.concatenate([part.effective for part in parts]),
            listed=np.concatenate(listed) if len(listed) == len(parts) else None,
        )


def available(release: GeneralizedRelease, candidates: Candidates, taken: Flags | None = None) -> Places:
    """Candidates that decoy classes can be made of, whatever their risk.

    Every group occurs in a released class, a released class exists that is no larger than the pool, no original record
    lies in the cell, and nobody in it is taken.

    Parameters
    ----------
    release : GeneralizedRelease
    candidates : Candidates
    taken : array of bool, shape (n_population_tuples,), optional
        Population tuples whose people are decoys already, in an earlier release or for other recipients.

    Raises
    ------
    ParameterError
        If ``taken`` does not fit the population.
    """
    usable = supported(candidates.cells, candidates.released.cells)
    usable &= candidates.pool >= max(candidates.minimum, int(candidates.released.sizes.min()))
    usable &= candidates.originals == 0
    if taken is not None:
        if taken.shape != (len(release.population),) or taken.dtype != np.bool_:
            raise ParameterError(
                "what is taken does not fit the population",
                where="taken",
                expected=f"{len(release.population)} yes or no, one a population tuple",
                got=f"an array of shape {taken.shape} and type {taken.dtype}",
                fix="mark the population tuples of the decoys that exist already",
            )
        usable &= release.matching(candidates.cells, taken.astype(np.int64)) == 0
    return np.flatnonzero(usable)


def inject(
    release: GeneralizedRelease,
    candidates: Candidates,
    wanted: Sequence[DecoysWanted],
    generator: np.random.Generator,
    *,
    sizes: SizeRule = SizeRule.LINKED_ALIKE,
    taken: Flags | None = None,
) -> Injection:
    """Draw the decoy classes of all recipients.

    Parameters
    ----------
    release : GeneralizedRelease
    candidates : Candidates
        Of this release.
    wanted : sequence of DecoysWanted
        One a recipient.
    generator : numpy.random.Generator
        The same generator gives the same decoys.
    sizes : SizeRule
    taken : array of bool, shape (n_population_tuples,), optional
        As of ``available``.

    Raises
    ------
    ParameterError
        If nobody wants decoys, a recipient is named twice or wants none, or there are not enough cells; the message
        says how many there are and what would make it feasible.
    """
    _check_wanted(wanted)
    usable = available(release, candidates, taken)
    factors = candidates.risk_factor
    eligible = usable[np.any([want.band.holds(factors[usable]) for want in wanted], axis=0)]
    keys = np.empty(0)
    if len(eligible):
        keys = log_plausibility(release, candidates, eligible, generator) + generator.gumbel(size=len(eligible))
    order = np.argsort(-keys, kind="stable")
    chosen, keys = eligible[order], keys[order]
    if release.overlapping:
        apart = _apart(release, candidates.cells[chosen], factors[chosen], wanted)
        chosen, keys = chosen[apart], keys[apart]
    assigned = _assigned(wanted, factors[chosen], keys, generator)
    if assigned is None:
        raise _infeasible(wanted, candidates, usable, release)
    decoys = []
    for want, places in zip(wanted, assigned, strict=True):
        cells = np.sort(chosen[places])
        drawn = _sizes(candidates, cells, sizes, generator)
        decoys.append(DecoyClasses(want.recipient, cells, as_classes(candidates, cells, drawn)))
    return Injection(candidates.minimum, tuple(decoys))


def _check_wanted(wanted: Sequence[DecoysWanted]) -> None:
    names = [want.recipient for want in wanted]
    if not names or len(set(names)) < len(names) or any(want.classes < 1 for want in wanted):
        raise ParameterError(
            "the decoys that are asked for are not clear",
            where="recipients",
            expected="one entry for each recipient, from 1, with at least one decoy class",
            got=f"{len(names)} entries for {len(set(names))} recipients, "
            f"{sum(want.classes < 1 for want in wanted)} without a class",
            fix="name each recipient once and ask for one class or more",
        )


def _assigned(
    wanted: Sequence[DecoysWanted], factors: Floats, keys: Floats, generator: np.random.Generator
) -> list[Places] | None:
    """Cells of each recipient; cells in falling order of keys. None where there are not enough.

    A band's best cells as many as all want together are enough to look at: whatever the others take of them, one is
    left for every cell of the band outside.
    """
    total = sum(want.classes for want in wanted)
    slots = generator.permutation(np.repeat(np.arange(len(wanted)), [want.classes for want in wanted]))
    in_band = [np.flatnonzero(want.band.holds(factors))[:total] for want in wanted]
    if len({want.band for want in wanted}) == 1:
        if len(in_band[0]) < total:
            return None
        return [in_band[0][slots == number] for number in range(len(wanted))]
    rows = np.concatenate([np.full(len(in_band[number]), slot) for slot, number in enumerate(slots)])
    columns = np.concatenate([in_band[number] for number in slots])
    if len(columns) == 0:
        return None
    # Costs must be above 0: the matching takes 0 for “no edge”.
    costs = keys[0] - keys[columns] + 1.0
    try:
        slot, cell = min_weight_full_bipartite_matching(csr_array((costs, (rows, columns)), shape=(total, len(keys))))
    except ValueError:
        return None
    return [cell[slots[slot] == number] for number in range(len(wanted))]


def _sizes(candidates: Candidates, cells: Places, rule: SizeRule, generator: np.random.Generator) -> Counts:
    released, links = candidates.released.sizes, np.log1p(candidates.released.people)
    drawn = np.empty(len(cells), dtype=np.int64)
    for number, cell in enumerate(cells):
        fitting = np.flatnonzero((released <= candidates.pool[cell]) & (released >= candidates.minimum))
        if rule is SizeRule.LINKED_ALIKE and len(fitting) > _NEAREST:
            distance = np.abs(links[fitting] - np.log1p(candidates.people[cell]))
            fitting = fitting[np.argsort(distance, kind="stable")[:_NEAREST]]
        drawn[number] = released[generator.choice(fitting)]
    return drawn


@dataclass(frozen=True)
class Boxes:
    """Cells as boxes in the leaves of each attribute, to see which share a value combination."""

    starts: Floats = field(repr=False)
    ends: Floats = field(repr=False)

    @classmethod
    def of(cls, release: GeneralizedRelease, cells: Codes) -> "Boxes":
        """The boxes of some cells of a release."""
        middles = np.column_stack([release.middles[axis][column] for axis, column in enumerate(cells.T)])
        widths = np.column_stack([release.widths[axis][column] for axis, column in enumerate(cells.T)])
        starts = middles - (widths - 1) / 2
        return cls(starts, starts + widths)

    def meets(self, number: int, others: Sequence[int]) -> bool:
        """Whether a cell shares a value combination with any of some others."""
        kept = np.asarray(others, dtype=np.intp)
        inside = (self.starts[kept] < self.ends[number]) & (self.ends[kept] > self.starts[number])
        return bool(inside.all(axis=1).any())


def _apart(release: GeneralizedRelease, cells: Codes, factors: Floats, wanted: Sequence[DecoysWanted]) -> Places:
    """The first cells that share no value combination with one another, as many in each band as all want together."""
    boxes = Boxes.of(release, cells)
    total = sum(want.classes for want in wanted)
    members = np.column_stack([band.holds(factors) for band in dict.fromkeys(want.band for want in wanted)])
    missing = np.full(members.shape[1], total)
    kept: list[int] = []
    for number in range(len(cells)):
        if not (members[number] & (missing > 0)).any():
            continue
        if not boxes.meets(number, kept):
            kept.append(number)
            missing -= members[number]
        if (missing <= 0).all():
            break
    return np.array(kept, dtype=np.intp)


def _infeasible(
    wanted: Sequence[DecoysWanted], candidates: Candidates, usable: Places, release: GeneralizedRelease
) -> ParameterError:
    total = sum(want.classes for want in wanted)
    factors = candidates.risk_factor[usable]
    bands = {want.band for want in wanted}
    inside = np.any([band.holds(factors) for band in bands], axis=0)
    held = f"{int(np.count_nonzero(inside))} cells in the bands asked for, {len(usable)} in any"
    if release.overlapping:
        held += ", of which some share people"
    remedies = []
    fewer = int(np.count_nonzero(inside)) // len(wanted)
    if len(bands) == 1 and fewer >= 1 and not release.overlapping:
        remedies.append(f"ask for at most {fewer} classes for each recipient")
    if len(usable) >= total:
        low, high = _wider(min(band.minimum for band in bands), max(band.maximum for band in bands), factors, total)
        remedies.append(f"widen the band to {low:.3g} to {high:.3g} for everybody")
    remedies.append("release with a smaller minimum class size or a finer generalization (see the feasibility table)")
    return ParameterError(
        "there are not enough decoy classes",
        where=f"decoys of {len(wanted)} recipients",
        expected=f"{total} cells without an original record, of at least {candidates.minimum} people, none shared",
        got=held,
        fix="; or ".join(remedies),
    )


def _wider(low: float, high: float, factors: Floats, total: int) -> tuple[float, float]:
    """The least widening of a band, in ratios, that holds as many factors; the ends rounded outwards."""
    outside = np.maximum(np.maximum(np.log(low) - np.log(factors), np.log(factors) - np.log(high)), 0.0)
    nearest = factors[np.argsort(outside, kind="stable")[:total]]
    return min(low, float(nearest.min()) * 0.995), max(high, float(nearest.max()) * 1.005)

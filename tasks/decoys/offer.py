"""Candidates in the sizes in which they can be assigned.

The assignment gives each decoy t real classes of its bin: as many records, and people linked within a half-octave
(``tasks.decoys.class_table.looks``). So a candidate is offered in the size of a real class of its own half-octave,
drawn among those that its people suffice for, and no bin gets more candidates than it has real classes for. Cells are
drawn without replacement by plausibility (``tasks.decoys.plausibility``; the exponential race of Efraimidis & Spirakis
2006, in its Gumbel form).

The assignment takes the smallest of what it is offered, for that costs the fewest records. Offered as many cells as are
asked for, it has no choice, and decoys have sizes and links as real classes have them; offered more, it saves records
with small decoys, which a classifier separates from real classes by their size.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from tasks.core.errors import ParameterError
from tasks.decoys.candidates import Candidates, RiskBand
from tasks.decoys.class_table import ClassTable, half_octaves
from tasks.decoys.generalized_release import Classes, Flags, GeneralizedRelease
from tasks.decoys.injection import Boxes, Places, available
from tasks.decoys.lineage import Lineage, canonical_cells
from tasks.decoys.plausibility import as_classes, log_plausibility
from tasks.microdata.tuples import Counts


def real_classes(release: GeneralizedRelease) -> ClassTable:
    """The released classes as the assignment takes them."""
    return ClassTable(release.classes.cells, release.classes.sizes, release.classes.people)


def offered(
    release: GeneralizedRelease,
    candidates: Candidates,
    band: RiskBand,
    generator: np.random.Generator,
    *,
    most: int,
    taken: Flags | None = None,
    ratio: int = 1,
    barred: Flags | None = None,
) -> ClassTable:
    """Candidates of one file, each once and in one size, none sharing people with another.

    Parameters
    ----------
    release : GeneralizedRelease
    candidates : Candidates
        Of this release.
    band : RiskBand
        Risk multiplication factors that decoys may have.
    generator : numpy.random.Generator
        The same generator gives the same candidates.
    most : int
        Cells to offer at most, from 1; as many as are asked for blend best. Fewer are offered where there are fewer.
    taken : array of bool, shape (n_population_tuples,), optional
        As of ``tasks.decoys.injection.available``.
    ratio : int
        Kept classes a decoy, t, from 1.
    barred : array of bool, shape (n_candidates,), optional
        Candidates to leave out.

    Returns
    -------
    ClassTable
        In an order that reveals nothing.

    Raises
    ------
    ParameterError
        If a number is below 1, ``barred`` does not fit, or there is nothing to offer; says what would give some.
    """
    _check(candidates, most, ratio, barred)
    order = ranked(release, candidates, band, generator, taken=taken, ratio=ratio, barred=barred)
    return first_of(release, candidates, order, generator, most=most, ratio=ratio)


def ranked(
    release: GeneralizedRelease,
    candidates: Candidates,
    band: RiskBand,
    generator: np.random.Generator,
    *,
    taken: Flags | None = None,
    ratio: int = 1,
    barred: Flags | None = None,
) -> Places:
    """Candidates in the order in which ``offered`` takes them, drawn by plausibility; parameters as of it.

    Raises
    ------
    ParameterError
        If there is nothing to offer; says what would give some.
    """
    usable = available(release, candidates, taken)
    if barred is not None:
        usable = usable[~barred[usable]]
    inside = usable[candidates.in_band(band)[usable]]
    eligible = inside[_Bins.of(candidates, ratio).fitting(candidates, inside) > 0]
    if len(eligible) == 0:
        _refuse(candidates, len(usable), len(inside), ratio)
    keys = log_plausibility(release, candidates, eligible, generator) + generator.gumbel(size=len(eligible))
    ordered: Places = eligible[np.argsort(-keys, kind="stable")]
    return ordered


def first_of(
    release: GeneralizedRelease,
    candidates: Candidates,
    ordered: Places,
    generator: np.random.Generator,
    *,
    most: int,
    ratio: int,
) -> ClassTable:
    """The first candidates of an order that can be had together, in sizes of real classes; as of ``offered``."""
    bins = _Bins.of(candidates, ratio)
    boxes = Boxes.of(release, candidates.cells[ordered]) if release.overlapping else None
    chosen: list[int] = []
    sizes: list[int] = []
    for number, cell in enumerate(ordered.tolist()):
        if len(chosen) == most:
            break
        if boxes is not None and boxes.meets(number, chosen):
            continue
        size = bins.draw(int(candidates.people[cell]), int(candidates.pool[cell]), generator)
        if size:
            chosen.append(number)
            sizes.append(size)
    order = generator.permutation(len(chosen))
    cells = ordered[chosen][order]
    return ClassTable(candidates.cells[cells], np.array(sizes, dtype=np.int64)[order], candidates.people[cells])


def decoy_classes(candidates: Candidates, decoys: ClassTable, axes: Sequence[Lineage]) -> Classes:
    """Assigned decoys with all that is known of their cells, in the labels of the release.

    Parameters
    ----------
    candidates : Candidates
        Those that were offered.
    decoys : ClassTable
        Of a ground of these candidates, such as ``place.candidates[0].take(share.decoys)``.
    axes : sequence of Lineage

    Raises
    ------
    ParameterError
        If a decoy is none of the candidates.
    """
    known = {cell.tobytes(): number for number, cell in enumerate(canonical_cells(candidates.cells, axes))}
    chosen = np.array([known.get(cell.tobytes(), -1) for cell in canonical_cells(decoys.cells, axes)], dtype=np.intp)
    if (chosen < 0).any():
        raise ParameterError(
            "decoys are not among the candidates",
            where="decoys",
            expected=f"cells of {len(candidates)} candidates",
            got=f"{int((chosen < 0).sum())} of {len(chosen)} others",
            fix="give the candidates that the decoys were assigned from",
        )
    return as_classes(candidates, chosen, decoys.records)


@dataclass(frozen=True)
class _Bins:
    """Real classes by half-octave and size, and how many decoys each bin still has real classes for."""

    sizes: dict[int, Counts]
    """Sizes of each half-octave, growing."""
    classes: dict[int, Counts]
    """Real classes of each of these sizes."""
    free: dict[int, Counts]

    @classmethod
    def of(cls, candidates: Candidates, ratio: int) -> "_Bins":
        released = candidates.released
        octaves, sizes, classes, free = half_octaves(released.people), {}, {}, {}
        for octave in np.unique(octaves).tolist():
            own = released.sizes[(octaves == octave) & (released.sizes >= candidates.minimum)]
            found, counts = np.unique(own, return_counts=True)
            enough = counts >= ratio
            if enough.any():
                sizes[octave], classes[octave], free[octave] = found[enough], counts[enough], counts[enough] // ratio
        return cls(sizes, classes, free)

    def fitting(self, candidates: Candidates, cells: Places) -> Counts:
        """Sizes that each of some cells can have."""
        octaves = half_octaves(candidates.people[cells])
        numbers = np.zeros(len(cells), dtype=np.int64)
        for octave, sizes in self.sizes.items():
            here = octaves == octave
            numbers[here] = np.searchsorted(sizes, candidates.pool[cells[here]], side="right")
        return numbers

    def draw(self, people: int, pool: int, generator: np.random.Generator) -> int:
        """Size of a real class drawn among those that fit and have room, which is then taken; 0 where none has."""
        octave = int(half_octaves(np.array([people]))[0])
        room = int(np.searchsorted(self.sizes[octave], pool, side="right"))
        weights = np.where(self.free[octave][:room] > 0, self.classes[octave][:room], 0)
        if not weights.any():
            return 0
        place = int(generator.choice(room, p=weights / weights.sum()))
        self.free[octave][place] -= 1
        return int(self.sizes[octave][place])


def _check(candidates: Candidates, most: int, ratio: int, barred: NDArray[np.bool_] | None) -> None:
    if most < 1 or ratio < 1:
        raise ParameterError(
            "what is to be offered is outside its range",
            where="most" if most < 1 else "ratio t",
            expected="a whole number from 1",
            got=str(most if most < 1 else ratio),
            fix="offer as many cells as all recipients want decoys, each with one real class or more",
        )
    if barred is not None and (barred.shape != (len(candidates),) or barred.dtype != np.bool_):
        raise ParameterError(
            "what is barred does not fit the candidates",
            where="barred",
            expected=f"{len(candidates)} yes or no",
            got=f"an array of shape {barred.shape} and type {barred.dtype}",
            fix="mark the candidates to leave out",
        )


def _refuse(candidates: Candidates, usable: int, inside: int, ratio: int) -> NoReturn:
    if not usable:
        fix = "release with a smaller minimum class size or a finer generalization (see the feasibility table)"
    elif not inside:
        fix = f"widen the band of risk factors; a factor is {candidates.least_linked} over the people of a cell"
    else:
        fix = "widen the band of risk factors towards those of real classes" + (
            ", or lower the ratio" if ratio > 1 else ""
        )
    raise ParameterError(
        "there is no candidate that looks like a real class",
        where=f"{len(candidates)} candidates, ratio {ratio}",
        expected=f"cells without an original record, in the band, with {ratio} real classes of a half-octave of people "
        "and of a size that their people suffice for",
        got=f"{usable} usable cells, {inside} of them in the band, none with such classes",
        fix=fix,
    )

"""Decoy classes drawn by plausibility for one recipient, to see whether they can be told from real classes."""

from collections.abc import Sequence

import numpy as np

from tasks.decoys.candidates import Candidates, RiskBand
from tasks.decoys.generalized_release import Classes, GeneralizedRelease
from tasks.decoys.injection import Boxes, Places, available
from tasks.decoys.plausibility import as_classes, log_plausibility

_NEAREST = 30
"""Released classes of the nearest link counts that a size is drawn from."""


def drawn_decoys(
    release: GeneralizedRelease,
    candidates: Candidates,
    number: int,
    band: RiskBand,
    generator: np.random.Generator,
    *,
    linked_alike: bool = True,
) -> Classes:
    """So many candidates of a band, without replacement, apart from one another, in sizes of released classes.

    Where they are linked alike, a size is that of a class that links to about as many people.
    """
    usable = available(release, candidates)
    eligible = usable[band.holds(candidates.risk_factor[usable])]
    keys = log_plausibility(release, candidates, eligible, generator) + generator.gumbel(size=len(eligible))
    order = eligible[np.argsort(-keys, kind="stable")]
    cells = np.sort(_apart(release, candidates, order)[:number] if release.overlapping else order[:number])
    if len(cells) < number:
        raise ValueError("there are not enough candidates")
    return as_classes(candidates, cells, _sizes(candidates, cells, generator, linked_alike=linked_alike))


def _apart(release: GeneralizedRelease, candidates: Candidates, order: Places) -> Places:
    boxes, kept = Boxes.of(release, candidates.cells[order]), list[int]()
    for place in range(len(order)):
        if not boxes.meets(place, kept):
            kept.append(place)
    return order[kept]


def _sizes(
    candidates: Candidates, cells: Sequence[int] | Places, generator: np.random.Generator, *, linked_alike: bool
) -> np.ndarray:
    released, links = candidates.released.sizes, np.log1p(candidates.released.people)
    drawn = np.empty(len(cells), dtype=np.int64)
    for number, cell in enumerate(cells):
        fitting = np.flatnonzero((released <= candidates.pool[cell]) & (released >= candidates.minimum))
        if linked_alike and len(fitting) > _NEAREST:
            distance = np.abs(links[fitting] - np.log1p(candidates.people[cell]))
            fitting = fitting[np.argsort(distance, kind="stable")[:_NEAREST]]
        drawn[number] = released[generator.choice(fitting)]
    return drawn

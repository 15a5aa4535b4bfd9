"""Grounds for decoys of several generalizations."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tasks.decoys.candidates import Candidates, RiskBand
from tasks.decoys.generalized_release import Flags, GeneralizedRelease
from tasks.decoys.lineage import Lineage, canonical_cells
from tasks.decoys.offer import offered, real_classes
from tasks.decoys.removal import Ground, ground
from tasks.decoys.same_origin import of_same_origin


@dataclass(frozen=True, eq=False)
class Offer:
    """What decoys of the recipients of one generalization are taken from."""

    release: GeneralizedRelease = field(repr=False)
    candidates: Candidates = field(repr=False)
    """Of this release."""
    band: RiskBand
    most: int
    """Cells to offer at most, from 1: the decoys of all recipients, or more to save records; see ``offered``."""


def ground_of(
    offers: Sequence[Offer],
    axes: Sequence[Lineage],
    generator: np.random.Generator,
    *,
    ratio: int = 1,
    taken: Flags | None = None,
) -> Ground:
    """Files and candidates of all generalizations that recipients have.

    A candidate of one file is offered only if it is of the same origin as no real class of any file.

    Parameters
    ----------
    offers : sequence of Offer
        One a generalization, over the same hierarchies and population.
    axes : sequence of Lineage
        Of the hierarchies, and of groups outside them where a file has such.
    generator : numpy.random.Generator
        The same generator gives the same ground.
    ratio : int
        Kept classes a decoy, t, from 1.
    taken : array of bool, shape (n_population_tuples,), optional
        As of ``tasks.decoys.injection.available``.

    Raises
    ------
    ParameterError
        If a file has no candidate to offer, or there is no file; says what would give some.
    """
    files = [real_classes(offer.release) for offer in offers]
    held = [canonical_cells(table.cells, axes, f"file {number}") for number, table in enumerate(files, start=1)]
    tables = []
    for offer in offers:
        cells = canonical_cells(offer.candidates.cells, axes, "candidates")
        barred = np.zeros(len(cells), dtype=bool)
        for others in held:
            barred |= of_same_origin(cells, others, axes)
        made = offered(
            offer.release,
            offer.candidates,
            offer.band,
            generator,
            most=offer.most,
            ratio=ratio,
            taken=taken,
            barred=barred,
        )
        tables.append(made)
    return ground(files, tables, axes)

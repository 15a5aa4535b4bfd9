"""Learn the distance that links most of the intruder's records correctly: the worst case of distance-based linkage.

Source: Torra 2016, slides 22 to 42. The intruder of the worst case knows which masked record each original one became
and picks the distance with hindsight, so that no intruder who has to guess it does better within the family. The share
on the records that were learned from is therefore an upper bound; the share on others says what the distance is worth.

Departures: records that tie with their own masked record whatever the distance share the link, and are weighted so
while learning; the search is by lines and random, from a linear program's start, where the paper solves one large
integer program. The work is limited by counts, never by time, so that the result is the same on any machine.
"""

from dataclasses import dataclass

import numpy as np

from tasks.assessments.linkage.figure import Linkage, linkage
from tasks.assessments.linkage.files import Files, Positions, Scale
from tasks.assessments.linkage.learning.distance import LearnedDistance, checked_records
from tasks.assessments.linkage.learning.family import Kind
from tasks.assessments.linkage.learning.fit import Certificate, fitted
from tasks.assessments.linkage.learning.pairs import Components, pairs_of
from tasks.core.errors import ParameterError

MOST_PAIRS = 2**25
"""Pairs of a record to learn from and a distinct masked record."""


@dataclass(frozen=True)
class Learned:
    """A distance that was learned, and how well it links."""

    distance: LearnedDistance
    """The distance; its ``link`` says what it is worth elsewhere."""
    in_sample: Linkage
    """Links of the records that it was learned from: the worst case."""
    out_of_sample: Linkage | None
    """Links of the intruder's other records, None where it was learned from all."""
    certificate: Certificate | None
    """How far from the best of its family it may be, None where that was not asked for or nothing is learned."""


def learn(
    given: Files | Components,
    kind: Kind,
    generator: np.random.Generator,
    *,
    records: Positions | None = None,
    certificate: bool = False,
    scale: Scale | None = None,
) -> Learned:
    """Learn the distance of a family that links most records to their own masked one.

    Parameters
    ----------
    given : Files or Components
        Two numeric files, or distances that are ready, of which all but matrices can be learned.
    kind : Kind
    generator : numpy Generator
        The only source of chance.
    records : array of int, optional
        Positions among the intruder's records to learn from; all where not given. The rivals are all masked records.
    certificate : bool
        Whether to say how far from the best of the family the parameters may be, which takes longer.
    scale : {"own", "masked"}, optional
        See ``common_scale``; only for files.

    Raises
    ------
    ParameterError
        If there are fewer than two records to learn from, or positions that do not fit, or more than ``MOST_PAIRS``
        pairs; if an attribute of a numeric file is constant; if there are too many attributes for a Choquet integral;
        if a matrix is wanted of distances; if no Mahalanobis distance exists.
    """
    whole = pairs_of(given, kind, scale)
    everyone = np.arange(len(whole.own))
    chosen = checked_records(everyone if records is None else records, len(everyone), 2)
    pairs = whole.only(chosen)
    size = len(pairs.own) * len(pairs.counts)
    if size > MOST_PAIRS:
        raise ParameterError(
            "there are too many records to learn a distance from",
            where="records to learn from",
            expected=f"at most {MOST_PAIRS:,} pairs with distinct masked records",
            got=f"{size:,}",
            fix="learn from some of the records; the distance can then link all of them",
        )
    parameters, proof = fitted(kind, pairs, generator, certify=certificate)
    distance = LearnedDistance(kind, parameters, given.names)
    n_masked, others = int(whole.counts.sum()), np.setdiff1d(everyone, chosen)
    return Learned(
        distance,
        linkage(distance.credit(pairs), n_masked),
        linkage(distance.credit(whole.only(others)), n_masked) if len(others) else None,
        proof,
    )

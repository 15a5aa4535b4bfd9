"""A learned distance: its parameters, what they say about the attributes, and linkage by it."""

from dataclasses import dataclass
from math import comb

import numpy as np
import scipy

from tasks.assessments.linkage.learning.comparisons import Components, Pairs, distances, pairs_of
from tasks.assessments.linkage.learning.family import ADDITIVE, MATRICES, Kind, features, matrix_of
from tasks.assessments.linkage.problem.figure import Floats, Linkage, linkage
from tasks.assessments.linkage.problem.files import (
    NEAREST,
    Files,
    Positions,
    Scale,
    cheapest_credit,
    known_positions,
    nearest_credit,
)
from tasks.core.errors import ParameterError

_NEGATIVE = -1e-9


@dataclass(frozen=True)
class LearnedDistance:
    """A squared distance between standardised records, with parameters in the order of ``features``, the largest 1."""

    kind: Kind
    parameters: Floats
    names: tuple[str, ...]

    @property
    def weights(self) -> Floats:
        """The parameters of a mean or an OWA as weights that add up to 1, of any other family as they are."""
        if self.kind in MATRICES | {Kind.CHOQUET}:
            return self.parameters
        weights: Floats = self.parameters / self.parameters.sum()
        return weights

    @property
    def matrix(self) -> Floats:
        """The matrix of a bilinear form, for a mean diagonal; ParameterError for an OWA or a Choquet integral."""
        if self.kind in MATRICES:
            return matrix_of(self.parameters)
        if self.kind in ADDITIVE:
            return np.diag(self.parameters)
        raise ParameterError(
            "a distance that is no bilinear form has no matrix",
            where="kind of distance",
            expected="a mean or a bilinear form",
            got=self.kind.value,
            fix="read the parameters",
        )

    @property
    def attribute_shares(self) -> dict[str, float]:
        """Share of each attribute in identifying people: 0 to 1, together 1.

        The weights of a mean; the Shapley values of a Choquet integral's measure, which for an OWA are all the same; of
        a matrix, the sizes of an attribute's row, so that an interaction counts half for either attribute. Two
        attributes that say the same share theirs in any proportion.
        """
        if self.kind is Kind.OWA:
            worth = np.ones(len(self.names))
        elif self.kind is Kind.CHOQUET:
            worth = shapley_values(self.parameters)
        else:
            worth = np.abs(self.matrix).sum(axis=1)
        return dict(zip(self.names, (worth / worth.sum()).tolist(), strict=True))

    def link(self, given: Files | Components, records: Positions | None = None, scale: Scale | None = None) -> Linkage:
        """Link records, all where not given, to the nearest masked one; ParameterError if the attributes are others."""
        if given.names != self.names:
            raise ParameterError(
                "the learned distance does not fit what is to be linked",
                where="known attributes",
                expected="the attributes that it was learned with, in the same order",
                got=f"{len(given.names)} attributes for its {len(self.names)}, or others",
                fix="give records with the attributes that it was learned with",
            )
        pairs = pairs_of(given, self.kind, scale)
        pairs = pairs.only(np.sort(known_positions(records, len(pairs.own), "records to link")))
        return linkage(self.credit(pairs), int(pairs.counts.sum()))

    def link_near(self, given: Files, records: Positions) -> Linkage:
        """Link records of files that hold everybody; without coordinates, to one of the ``NEAREST`` by the shares."""
        if self.coordinates is not None:
            return self.link(given, records)
        pairs = pairs_of(given, self.kind).only(records)
        points = pairs.points
        if points is None:
            raise ValueError("link_near needs files")
        root = np.sqrt(list(self.attribute_shares.values()))
        tree, count = scipy.spatial.cKDTree(points.rows * root), min(NEAREST, len(points.rows))
        near = np.asarray(tree.query(pairs.original * root, k=np.arange(1, count + 1), workers=-1)[1], dtype=np.intp)
        compared = pairs.compared(self.kind, np.repeat(np.arange(len(records)), count), near.ravel())
        cost = (features(self.kind, compared) @ self.parameters).reshape(near.shape)
        credit = np.zeros(len(records))
        for who in np.flatnonzero((near == pairs.own[:, None]).any(axis=1)):
            own = int(np.flatnonzero(near[who] == pairs.own[who])[0])
            credit[who] = cheapest_credit(cost[who][None], own, points.counts[near[who]])[0]
        return linkage(credit, int(points.counts.sum()))

    def credit(self, pairs: Pairs) -> Floats:
        """1/size of the tie of nearest masked records that holds a record's own, 0 where it does not."""
        coordinates = self.coordinates
        if coordinates is not None and pairs.points is not None:
            masked = (pairs.points.rows @ coordinates)[pairs.points.of]
            return nearest_credit(pairs.original @ coordinates, masked, pairs.points.first[pairs.own])
        credit = np.zeros(len(pairs.own))
        for part, apart in distances(self.kind, self.parameters, pairs):
            credit[part] = cheapest_credit(apart, pairs.own[part], pairs.counts)
        return credit

    @property
    def coordinates(self) -> Floats | None:
        """A matrix that turns records into points whose Euclidean distance it is; None where there is none."""
        if self.kind not in ADDITIVE | MATRICES:
            return None
        values, vectors = np.linalg.eigh(self.matrix)
        if values[0] < _NEGATIVE * np.abs(values).max():
            return None
        coordinates: Floats = vectors * np.sqrt(np.maximum(values, 0))
        return coordinates


def shapley_values(measure: Floats) -> Floats:
    """Mean rise of a measure when an attribute joins, over all orders of joining (Shapley 1953); shape (m,).

    ``measure``, of shape (2^m − 1,), holds μ of the set with the bits of A at A − 1; the values add up to μ of all.

    >>> shapley_values(np.array([1.0, 2.0, 5.0])).tolist()
    [2.0, 3.0]
    """
    m = len(measure).bit_length()
    full = np.concatenate([[0.0], measure])
    sets = np.arange(2**m)
    before = np.bitwise_count(sets)
    values = np.empty(m)
    for attribute in range(m):
        without = sets[sets >> attribute & 1 == 0]
        orders = np.array([m * comb(m - 1, int(size)) for size in before[without]], dtype=np.float64)
        values[attribute] = np.sum((full[without | 1 << attribute] - full[without]) / orders)
    return values

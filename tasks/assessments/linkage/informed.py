"""The informed intruder on a whole release: rule, maskings and their parameters known, and the original file held.

The rule of generalization is deterministic, so a person's record is among those with the person's own cell
(``tasks.generalization.transparency``). A value released unchanged must be equal. Each masking bounds its attributes or
says how likely a move is (``method_knowledge``). A record's candidates satisfy all of these conditions.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tasks.assessments.linkage.figure import Linkage
from tasks.assessments.linkage.files import Files, Positions
from tasks.assessments.linkage.joint import joint_linkage
from tasks.assessments.linkage.method_knowledge import Derived, MaskedPart, SummedScore, exact_bounds, side_by_side
from tasks.assessments.linkage.within import Bounds, Score, linkage_within
from tasks.core.errors import ParameterError
from tasks.generalization.problem import fold

_MOST_PAIRS = 2**22
_FEWEST_PEOPLE = 30


@dataclass(frozen=True)
class Release:
    """A file as an intruder with the original one sees it; all records of the file, released or not."""

    released: Positions
    """Position in the file of each released record."""
    equal: NDArray[np.int64]
    """Numbers from 0 that a person's own record must share: of the own cell, and of values released unchanged.

    Shape (n_records, n_equal).
    """
    parts: tuple[MaskedPart, ...] = ()

    @property
    def known(self) -> tuple[Derived, ...]:
        """Knowledge that follows from each masking."""
        return tuple(part.derived for part in self.parts)

    @cached_property
    def class_of(self) -> NDArray[np.int64]:
        """Number of the class of each released record: those equal in all that must be equal."""
        if self.equal.shape[1] == 0:
            return np.zeros(len(self.released), dtype=np.int64)
        number, _ = fold(list(self.equal[self.released].T.astype(np.intp, copy=False)))
        return number.astype(np.int64)

    def files(self, people: Positions, candidates: Positions, truth: Positions) -> Files:
        """Two files of some people and some released records, by position among the released."""
        before = np.hstack([self.equal.astype(np.float64), *(part.original for part in self.parts)])
        after = np.hstack([self.equal.astype(np.float64), *(part.masked for part in self.parts)])
        places = tuple(range(before.shape[1]))
        names = tuple(f"attribute {place + 1}" for place in places)
        return Files(before[self.released[people]], after[self.released[candidates]], truth, places, names, len(places))

    def bounds(self, people: Positions) -> Bounds:
        """Bounds of some people, by position among the released."""
        parts = [exact_bounds(self.equal), *(known.bounds for known in self.known)]
        return side_by_side(parts, self.released[people])

    def score(self, people: Positions, candidates: Positions, truth: Positions, *, likelihood: bool) -> Score:
        """Sum of the maskings' scores of a pair."""
        parts = tuple(known.likelihood if likelihood else known.inside for known in self.known)
        none = np.empty((len(candidates), 0))
        masked = np.hstack([none, *(part.masked[self.released[candidates]] for part in self.parts)])
        return SummedScore(parts, self.released[people], self.released[candidates], truth, masked)


def candidate_linkage(release: Release, people: Positions) -> Linkage:
    """Link each of some people to the best of the candidates that rule and maskings leave.

    Parameters
    ----------
    release : Release
    people : array of int
        Positions among the released records.

    Raises
    ------
    ParameterError
        If the masked values are not those of the method.
    """
    everybody = np.arange(len(release.released))
    files = release.files(people, everybody, people)
    score = release.score(people, everybody, people, likelihood=False)
    return linkage_within(files, release.bounds(people), score)


@dataclass(frozen=True)
class JointOutcome:
    """An attack on everybody at once, or on whole classes of them."""

    linkage: Linkage
    complete: bool
    """Whether it took in everybody."""


def joint_candidate_linkage(release: Release, generator: np.random.Generator) -> JointOutcome:
    """Link everybody at once: what is one person's record is nobody else's.

    Records of different classes cannot be each other's, so that a sample of whole classes is attacked as hard as all of
    them; classes that are too large by themselves are left out.

    Parameters
    ----------
    release : Release
    generator : Generator
        Draws the classes where there are too many pairs.

    Raises
    ------
    ParameterError
        If no class is small enough, or too few people are in those that are.
    """
    sizes = np.bincount(release.class_of)
    chosen = np.zeros(len(sizes), dtype=np.bool_)
    order = generator.permutation(len(sizes))
    order = order[sizes[order] ** 2 <= _MOST_PAIRS]
    pairs = np.cumsum(sizes[order] ** 2)
    if len(sizes) == 1:
        chosen[:] = True
    else:
        chosen[order[pairs <= _MOST_PAIRS]] = True
    people = np.flatnonzero(chosen[release.class_of])
    if len(people) < min(_FEWEST_PEOPLE, len(release.released)):
        raise ParameterError(
            "everybody cannot be attacked at once",
            where="classes of records that may be each other's",
            expected=f"at least {_FEWEST_PEOPLE} people in classes of together at most {_MOST_PAIRS} pairs",
            got=f"{len(people)} people",
            fix="let the intruder know more attributes, or attack records one by one",
        )
    own = np.arange(len(people))
    files = release.files(people, people, own)
    score = release.score(people, people, own, likelihood=True)
    found = joint_linkage(files, release.bounds(people), score, _MOST_PAIRS)
    return JointOutcome(found, len(people) == len(release.released))
